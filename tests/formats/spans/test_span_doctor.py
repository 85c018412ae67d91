"""What the doctor, and the summaries, say of spans that are odd and of hosts that disagree."""

import pytest
from span_files import BEGIN_NS, otlp, resource_spans, span, two_hosts

from tracetime import diagnose, open_trace

pytest_plugins = ["cli"]


@pytest.fixture
def opened(tmp_path):
    def open_(content, **options):
        path = tmp_path / "t.json"
        path.write_bytes(content)
        return open_trace(path, **options)

    return open_


def findings(trace):
    return [one for one in diagnose(trace) if one.code == "hosts-disagree"]


def odd(trace):
    return [one for one in diagnose(trace) if one.code == "odd-spans"]


def test_hosts_whose_clocks_contradict_calls_are_told(opened):
    with opened(two_hosts(ahead=-3_000_000)) as trace:
        (found,) = findings(trace)
    # Sent 2.9 ms after it was received: 3 ms behind, less the 100 us that it took.
    assert (found.severity, found.worst_ns, found.events) == ("warning", 2_900_000, 40)
    assert found.title == (
        "20 of 20 messages from REALTIME to REALTIME@machine1 arrive up to 2.9 ms before they "
        "were sent, as the two clocks read"
    )


def test_the_way_back_shows_a_clock_that_is_ahead(opened):
    with opened(two_hosts(ahead=1_500_000, calls=1)) as trace:
        (found,) = findings(trace)
    assert (found.severity, found.worst_ns) == ("info", 400_000)
    assert found.title.startswith("1 of 1 message from REALTIME@machine1 to REALTIME arrives up to")


def test_hosts_that_calls_allow_to_be_one_are_no_finding(opened):
    for ahead in (0, 99_999, -99_999):
        with opened(two_hosts(ahead=ahead)) as trace:
            assert findings(trace) == []


HOUR = 3_600_000_000_000
ODD = {
    "with the id of another one": ([span(1, BEGIN_NS, BEGIN_NS + 1)] * 2, "info"),
    "whose parent is not in the file": ([span(1, BEGIN_NS, BEGIN_NS + 1, parent=9)], "info"),
    "that are their own ancestors": (
        [span(1, BEGIN_NS, BEGIN_NS + 1, parent=2), span(2, BEGIN_NS, BEGIN_NS + 1, parent=1)],
        "info",
    ),
    "that end before they begin, by up to 1 ns": ([span(1, BEGIN_NS, BEGIN_NS - 1)], "warning"),
    "without an end": ([span(1, BEGIN_NS, 0)], "info"),
    "without a begin": ([span(1, None, BEGIN_NS) | {"startTimeUnixNano": None}], "warning"),
    "that begin before 1973": ([span(1, BEGIN_NS // 1000, BEGIN_NS // 1000 + 1)], "warning"),
    "that begin before their parent, by up to 1 h": (
        [span(1, BEGIN_NS - HOUR, BEGIN_NS, parent=7)],
        "warning",
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_odd_spans_are_counted(opened, what):
    good = otlp(resource_spans([span(7, BEGIN_NS, BEGIN_NS + 1)], host_id="a"))
    spans, severity = ODD[what]
    with opened(good + otlp(resource_spans(spans, host_id="a"))) as trace:
        (one,) = trace.warnings
        (found,) = odd(trace)
        assert trace.read_all().num_rows == 2 + sum(
            1 + (each["endTimeUnixNano"] != "0") for each in spans
        )
    n = len(spans)
    assert one.message.startswith(f"{n} span{'s' if n > 1 else ''} {what}")
    assert (one.offset, one.packet) == (len(good), 1)
    assert (found.severity, found.title, found.packets) == (severity, one.message, (1,))


def test_ticks_of_a_millisecond_are_not_odd(opened):
    parent, child = BEGIN_NS + 999_999, BEGIN_NS
    spans = [span(1, parent, parent + 1), span(2, child, child + 1, parent=1)]
    with opened(otlp(resource_spans(spans, host_id="a"))) as trace:
        assert odd(trace) == []


def test_servers_that_end_their_spans_late_are_told(opened):
    """The server's span ends 1 ms after the client has the answer."""
    with opened(two_hosts(late=1_000_000)) as trace:
        (found,) = odd(trace)
    assert found.title == "20 spans of servers that outlast the calls of them, by up to 800 us"
    assert (found.severity, found.events, found.worst_ns) == ("info", 20, 800_000)


def test_hosts_that_only_their_service_names_may_be_several(opened):
    nameless = two_hosts().replace(b'"host.id"', b'"other"')
    with opened(nameless) as trace:
        (one,) = trace.warnings
        assert [found.severity for found in odd(trace)] == ["warning"]
    assert one.message == (
        "40 spans without an id of a host: those of one service are taken for one host"
    )


def test_healthy_spans_are_left_in_peace(opened):
    with opened(two_hosts()) as trace:
        assert trace.warnings == []


def test_commands_print_what_is_odd(opened, tmp_path, tracetime):
    opened(otlp(resource_spans([span(1, BEGIN_NS, 0)], host_id="a"))).close()
    printed = tracetime("convert", tmp_path / "t.json", "-o", tmp_path / "o.parquet")
    assert "warning: 1 span without an end (byte 0, packet 0)" in "".join(map(str, printed))


@pytest.mark.parametrize("most", [100, 1000])
def test_hosts_beyond_the_limits_of_the_tube_are_not_called_apart(tmp_path, most):
    spans = [[] for _ in range(100)]
    for k in range(300):
        begin, here, there = BEGIN_NS + k * 10_000_000, k % 100, (k + 1) % 100
        spans[here].append(span(2 * k + 1, begin, begin + 1_200_000, trace=k + 1))
        served = (begin + 100_000, begin + 1_100_000)
        spans[there].append(span(2 * k + 2, *served, parent=2 * k + 1, trace=k + 1, kind="SERVER"))
    path = tmp_path / "ring.json"
    path.write_bytes(otlp(*(resource_spans(on, host_id=f"h{k}") for k, on in enumerate(spans))))
    with open_trace(path, max_tubes=most) as trace:
        apart = [one for one in diagnose(trace) if one.code == "machine-not-synchronised"]
    assert apart
    for one in apart:
        assert "nothing relates" not in one.title
        assert ("refuses the trace" in one.why, "--max-tubes" in one.fix) == (
            most == 100,
            most == 100,
        )


def ring_of_hosts(n):
    """Each host calls the next one, and is called by it."""
    parts = []
    for k in range(n):
        client, server = (span(2 * k + side, BEGIN_NS, BEGIN_NS + 10**6) for side in (1, 2))
        parts.append((k, client))
        parts.append(((k + 1) % n, server | {"parentSpanId": client["spanId"], "kind": 2}))
    return otlp(*(resource_spans([one], host_id=f"h{host}") for host, one in parts))


@pytest.mark.parametrize("most", [1, 5, 19, 3000])
def test_more_hosts_than_may_have_tubes_are_told(opened, most):
    with opened(ring_of_hosts(20), orders="flows", max_tubes=most) as trace:
        codes = {found.code for found in diagnose(trace)}
    assert ("clocks-not-examined" in codes) == (most < 20)
