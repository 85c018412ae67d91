"""What calls between hosts say of their clocks, and what they do not say."""

import pytest
from span_files import (
    BEGIN_NS,
    as_jaeger,
    attribute,
    otlp,
    resource_spans,
    simulated_world,
    span,
    two_hosts,
)

from tracetime import ClockId, diagnose, open_trace

pytest_plugins = ["cli"]

A, B = ClockId(1), ClockId(1, machine=1)


@pytest.fixture
def opened(tmp_path):
    def open_(content, **options):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        return open_trace(path, **options)

    return open_


def orders(trace):
    return {(info.before, info.after): info.orders for info in trace.clocks.orders()}


def call(client=None, server=None, *, parent=1):
    """A client's span on host a, 1.2 ms, and a server's on host b, 1 ms, 5 s ahead."""
    one = span(1, BEGIN_NS, BEGIN_NS + 1_200_000) | (client or {})
    begin = BEGIN_NS + 5 * 10**9 + 100_000
    other = span(2, begin, begin + 1_000_000, parent=parent, kind="SERVER") | (server or {})
    return otlp(resource_spans([one], host_id="a"), resource_spans([other], host_id="b"))


def test_a_call_that_is_answered_is_an_order_each_way(opened):
    with opened(call()) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}
        table = trace.read_all("tube").to_pylist()
    # Of the call's 1.2 ms nothing says what went by before the server began.
    for row, true in zip(table[2:], (100_000, 1_100_000), strict=True):
        assert row["earliest"] <= BEGIN_NS + true <= row["latest"]
        assert 1_200_000 <= row["latest"] - row["earliest"] <= 1_205_000


def test_by_floor_the_other_hosts_have_no_time(opened):
    with opened(two_hosts(calls=2)) as trace:
        table = trace.read_all()
        assert trace.trace_clock == A
    assert table["status"].to_pylist() == ["resolved"] * 4 + ["unknown_source_clock"] * 4


ONE_WAY = {
    "the client failed": {"client": {"status": {"code": 2}}},
    "the server failed": {"server": {"status": {"code": "STATUS_CODE_ERROR"}}},
    "the client has not ended": {"client": {"endTimeUnixNano": "0"}},
    "the server has not ended": {"server": {"endTimeUnixNano": "0"}},
    "the client ends before it begins": {"client": {"endTimeUnixNano": str(BEGIN_NS - 1)}},
    "the server ends before it begins": {"server": {"endTimeUnixNano": str(BEGIN_NS)}},
    "the server lasts longer": {"server": {"endTimeUnixNano": str(BEGIN_NS + 6 * 10**9)}},
    "a producer": {"client": {"kind": 4}},
    "a consumer": {"server": {"kind": "SPAN_KIND_CONSUMER"}},
    "within a program": {"client": {"kind": 1}, "server": {"kind": 1}},
    "several messages": {
        "client": {"events": [{"timeUnixNano": "1", "name": "message"} for _ in range(3)]}
    },
}


@pytest.mark.parametrize("change", ONE_WAY.values(), ids=ONE_WAY)
def test_otherwise_only_the_begins_are_in_order(opened, change):
    with opened(call(**change)) as trace:
        assert orders(trace) == {(A, B): 1}
        row = trace.read_all("tube").to_pylist()[-1]
    assert (row["status"], row["earliest"], row["latest"] is None) == (
        "one_sided",
        row["trace_time"],
        True,
    )


@pytest.mark.parametrize("key", ["http.response.status_code", "http.status_code"])
def test_a_response_was_awaited_however_long_the_server_goes_on(opened, key):
    answered = {"attributes": [attribute(key, 200)]}
    goes_on = {"endTimeUnixNano": str(BEGIN_NS + 6 * 10**9)}
    with opened(call(client=answered, server=goes_on)) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}
    with opened(call(server=goes_on | answered)) as trace:
        assert orders(trace) == {(A, B): 1}


NOTHING = {
    "another trace": {"server": {"traceId": f"{2:032x}"}},
    "no parent": {"parent": 0},
    "a parent that is not there": {"parent": 9},
    "a client without a begin": {"client": {"startTimeUnixNano": "0"}},
    "a server without a begin": {"server": {"startTimeUnixNano": None}},
    "a consumer that polls": {
        "server": {
            "kind": 5,
            "attributes": [attribute("messaging.operation", "receive")],
        }
    },
}


@pytest.mark.parametrize("change", NOTHING.values(), ids=NOTHING)
def test_nothing_is_in_order(opened, change):
    with opened(call(**change)) as trace:
        assert orders(trace) == {}
        assert trace.read_all("tube")["status"].to_pylist()[-1] == "unknown_source_clock"


def test_links_say_nothing(opened):
    link = {"links": [{"traceId": f"{1:032x}", "spanId": f"{1:016x}"}]}
    with opened(call(server=link, parent=0)) as trace:
        assert orders(trace) == {}


def test_ids_in_either_case_are_one(opened):
    upper = {"traceId": "AB" * 16, "spanId": "CD" * 8}
    lower = {"traceId": "ab" * 16, "parentSpanId": "cd" * 8}
    with opened(call(client=upper, server=lower)) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}


def test_ids_that_are_not_hex_match_too(opened):
    ids = {"traceId": "WiBMqAAAAAE9cAAAAAAAAQ==", "spanId": "9cAAAAAAAAE="}
    other = {"traceId": ids["traceId"], "parentSpanId": ids["spanId"], "spanId": "x"}
    with opened(call(client=ids, server=other)) as trace:
        assert orders(trace) == {(A, B): 1, (B, A): 1}


def test_a_parent_whose_id_is_there_twice_says_nothing(opened):
    again = otlp(resource_spans([span(1, BEGIN_NS, BEGIN_NS + 9)], host_id="a"))
    with opened(call() + again) as trace:
        assert orders(trace) == {}


def test_two_answers_to_one_call_may_be_a_retry(opened):
    second = span(3, BEGIN_NS, BEGIN_NS + 9, parent=1, kind="SERVER")
    with opened(call() + otlp(resource_spans([second], host_id="b"))) as trace:
        assert orders(trace) == {(A, B): 2}


def test_calls_within_a_host_say_nothing(opened):
    with opened(call().replace(b'"b"', b'"a"')) as trace:
        assert orders(trace) == {}


def test_a_host_that_nothing_ties_stays_apart(opened):
    alone = otlp(resource_spans([span(9, BEGIN_NS, BEGIN_NS + 9)], host_id="c"))
    with opened(two_hosts() + alone) as trace:
        table = trace.read_all("tube")
        found = {finding.title: finding for finding in diagnose(trace)}
    assert table["status"].to_pylist()[-2:] == ["unknown_source_clock"] * 2
    assert table["status"].to_pylist()[-4] == "resolved"
    (apart,) = (one for title, one in found.items() if title.startswith("machine 2: nothing"))
    assert (apart.code, apart.severity) == ("machine-not-synchronised", "error")
    assert "RemoteClockSync" not in apart.why + apart.fix
    (tied,) = (one for title, one in found.items() if title.startswith("machine 1: messages"))
    assert (tied.severity, "--orders" in tied.fix) == ("warning", False)


def test_hosts_that_messages_place_twice_are_told(opened):
    """a and b agree, b and c agree, and c is 1 s ahead of a."""
    groups = [[], [], []]
    for k, (client, server, ahead) in enumerate([(0, 1, 0), (1, 2, 0), (0, 2, 10**9)]):
        for call in range(5):
            begin = BEGIN_NS + call * 10**7
            ids = {"trace": 1 + call + 10 * k}
            groups[client].append(span(1, begin, begin + 1_200_000, **ids))
            served = (begin + 100_000 + ahead, begin + 1_100_000 + ahead)
            groups[server].append(span(2, *served, parent=1, kind="SERVER", **ids))
    made = [resource_spans(spans, host_id=name) for spans, name in zip(groups, "abc", strict=True)]
    with opened(otlp(*made)) as trace:
        (found,) = (one for one in diagnose(trace) if one.code == "paths-disagree")
    assert "Different messages relate these clocks" in found.why
    assert "received before they were sent" in found.fix


def test_commands_take_it(opened, tracetime, tmp_path):
    opened(two_hosts(ahead=7 * 10**9)).close()
    path = tmp_path / "t.json"
    assert "REALTIME of b" in tracetime("clocks", path)[1]
    out = tmp_path / "out.parquet"
    code, _, _ = tracetime("convert", path, "--policy", "tube", "-o", out)
    assert (code, out.stat().st_size > 0) == (0, True)
    asked = "select count(*) as n from events where earliest is not null"
    assert "80" in tracetime("sql", path, asked, "--policy", "tube")[1]
    reading = BEGIN_NS + 7 * 10**9
    printed = tracetime("at", path, str(reading), "--from", "REALTIME@machine1", "--policy", "tube")
    assert printed[0] == 0
    assert tracetime("report", path, "-o", tmp_path / "r.html")[0] == 0


LATE = {
    "in time": {},
    "late": {"late_ns": 100_000},
    "a few late": {"late_ns": 10**6, "late_share": 0.1},
}


@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("form", ["otlp", "jaeger"])
def test_every_bar_holds_the_truth(opened, seed, form, late):
    world = simulated_world(seed, hosts=2 + seed % 4, calls=40 + 20 * seed, **late)
    content = otlp(*world.groups) if form == "otlp" else as_jaeger(world.groups)
    numbers = [
        int(one["spanId"], 16) for group in world.groups for one in group["scopeSpans"][0]["spans"]
    ]
    closed = 0
    with opened(content) as trace:
        for bars in ("estimated", "guaranteed"):
            rows = trace.read_all("tube", bars=bars).to_pylist()
            assert len(rows) == 2 * len(numbers)
            for row in rows:
                true = world.truth[numbers[row["packet"]]][row["item"]]
                earliest, latest = row["earliest"], row["latest"]
                assert earliest is None or earliest <= true
                assert latest is None or true <= latest
                closed += None not in (earliest, latest)
    assert closed > len(numbers)
