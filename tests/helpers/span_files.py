"""Files of spans: OTLP and Jaeger's JSON, and worlds of hosts that call each other."""

import json
from dataclasses import dataclass, field
from random import Random

BEGIN_NS = 1_700_000_000_000_000_000


def attribute(key, value):
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue"}.get(
        type(value), "stringValue"
    )
    return {"key": key, "value": {kind: str(value) if kind == "intValue" else value}}


def span(number, begin, end, *, parent=0, trace=1, kind="CLIENT", **more):
    """One span of OTLP; `begin` and `end` in ns."""
    made = {
        "traceId": f"{trace:032x}",
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "kind": f"SPAN_KIND_{kind}",
        "startTimeUnixNano": str(begin),
        "endTimeUnixNano": str(end),
    }
    if parent:
        made["parentSpanId"] = f"{parent:016x}"
    return made | more


def resource_spans(spans, **attributes):
    """Spans of one resource; `host_id` is the attribute host.id."""
    named = [attribute(key.replace("_", "."), value) for key, value in attributes.items()]
    return {"resource": {"attributes": named}, "scopeSpans": [{"spans": spans}]}


def otlp(*groups):
    """A file: a line for each of `resource_spans`."""
    return b"".join(json.dumps({"resourceSpans": [group]}).encode() + b"\n" for group in groups)


def two_hosts(*, ahead=0, calls=20, gap=10_000_000, late=0):
    """Calls from host a to host b, whose clock is ahead: file, 100 us each way, 1 ms of work.

    late: how long after its answer a server ends its span.
    """
    clients, servers = [], []
    for k in range(calls):
        # On no step: real clocks read no round times.
        begin = BEGIN_NS + k * gap + k * 618_033 % 1_000_003
        clients.append(span(2 * k + 1, begin, begin + 1_200_000, trace=k + 1))
        served = (begin + 100_000 + ahead, begin + 1_100_000 + ahead + late)
        servers.append(span(2 * k + 2, *served, parent=2 * k + 1, trace=k + 1, kind="SERVER"))
    return otlp(
        resource_spans(clients, host_id="a", service_name="shop"),
        resource_spans(servers, host_id="b", service_name="stock"),
    )


@dataclass
class World:
    """Hosts whose clocks are off and drift, and the spans that they wrote.

    truth: by the number of a span, when it began and ended on the first host's clock.
    """

    groups: list[dict]
    truth: dict[int, tuple[int, int]] = field(default_factory=dict)


class Clock:
    """A clock: what it reads at an instant, ns."""

    def __init__(self, random, first):
        self.off = 0 if first else random.randrange(-(10**10), 10**10)
        self.ppm = 0.0 if first else random.uniform(-100, 100)

    def at(self, t):
        return BEGIN_NS + t + self.off + round(t * self.ppm * 1e-6)


def simulated_world(seed, hosts=4, calls=150, unit_ns=1, late_ns=0, late_share=1.0):
    """Calls between hosts at random, nested; all readings are cut off to `unit_ns`.

    late_ns: how long after its answer a server ends its span, in the mean; late_share: of how many.
    """
    random = Random(seed)
    clocks = [Clock(random, first=k == 0) for k in range(hosts)]
    spans = [{} for _ in clocks]
    world = World([])
    numbers = iter(range(1, 10**9))

    def add(host, t0, t1, kind, parent, trace):
        number = next(numbers)
        begin, end = (clocks[host].at(t) // unit_ns * unit_ns for t in (t0, t1))
        spans[host][number] = span(number, begin, end, parent=parent, trace=trace, kind=kind)
        world.truth[number] = tuple(clocks[0].at(t) for t in (t0, t1))
        return number

    def serve(host, t, depth, parent, trace):
        """A call to a host at t: when it has answered."""
        t0 = t + delay()
        end = t0 + random.randrange(10_000, 2_000_000)
        number = add(host, t0, end, "SERVER", parent, trace)
        if depth and random.random() < 0.6:
            other = random.choice([one for one in range(hosts) if one != host])
            begun = t0 + random.randrange(1, 9_000)
            call = add(host, begun, begun, "CLIENT", number, trace)
            done = serve(other, begun, depth - 1, call, trace) + delay()
            end = max(end, done + 1_000)
            close(host, call, done)
        late = random.random() < late_share
        close(host, number, end + int(late and late_ns and random.expovariate(1 / late_ns)))
        return end

    def close(host, number, t1):
        reading = clocks[host].at(t1) // unit_ns * unit_ns
        spans[host][number]["endTimeUnixNano"] = str(reading)
        world.truth[number] = world.truth[number][0], clocks[0].at(t1)

    def delay():
        return random.randrange(20_000, 60_000) + int(random.paretovariate(1.5) * 20_000)

    t = 0
    for trace in range(1, calls + 1):
        t += random.randrange(1_000_000, 200_000_000)
        host = random.randrange(hosts)
        call = add(host, t, t, "CLIENT", 0, trace)
        other = random.choice([one for one in range(hosts) if one != host])
        close(host, call, serve(other, t, 3, call, trace) + delay())
    world.groups = [resource_spans([*one.values()], host_id=f"h{k}") for k, one in enumerate(spans)]
    return world


def jaeger_process(service, **tags):
    listed = [
        {"key": key.replace("_", "."), "type": "string", "value": tag} for key, tag in tags.items()
    ]
    return {"serviceName": service, "tags": listed}


def jaeger_span(
    number, begin_us, duration_us, *, parent=0, trace=1, kind="client", process="p1", **more
):
    made = {
        "traceID": f"{trace:032x}",
        "spanID": f"{number:016x}",
        "operationName": f"span {number}",
        "references": [],
        "startTime": begin_us,
        "duration": duration_us,
        "tags": [{"key": "span.kind", "type": "string", "value": kind}],
        "logs": [],
        "processID": process,
    }
    if parent:
        made["references"] = [
            {"refType": "CHILD_OF", "traceID": made["traceID"], "spanID": f"{parent:016x}"}
        ]
    return made | more


def jaeger(*traces):
    """A file of traces: each spans, and processes by id."""
    data = [
        {"traceID": f"{k:032x}", "spans": spans, "processes": processes}
        for k, (spans, processes) in enumerate(traces, 1)
    ]
    return json.dumps({"data": data, "total": 0}).encode()


def as_jaeger(groups):
    """The spans of OTLP groups in Jaeger's JSON, times cut off to us as it does."""
    processes, made = {}, []
    for k, group in enumerate(groups):
        (host,) = (one["value"]["stringValue"] for one in group["resource"]["attributes"])
        processes[f"p{k}"] = jaeger_process(f"s{k}", host_id=host)
        for one in group["scopeSpans"][0]["spans"]:
            begin, end = int(one["startTimeUnixNano"]), int(one["endTimeUnixNano"])
            made.append(
                jaeger_span(
                    int(one["spanId"], 16),
                    begin // 1000,
                    (end - begin) // 1000,
                    parent=int(one.get("parentSpanId", "0"), 16),
                    trace=int(one["traceId"], 16),
                    kind=one["kind"].removeprefix("SPAN_KIND_").lower(),
                    process=f"p{k}",
                )
            )
    return jaeger((made, processes))
