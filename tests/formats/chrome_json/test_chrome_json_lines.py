"""Lines of systrace: what they say, and what atrace's own lines say of other clocks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockId, diagnose, open_trace
from tracetime.formats.chrome_json.file_clocks import LineSync, line_syncs

HEAD = "# tracer: nop\n#\n"
COLUMNS = ("thread_name", "tid", "pid", "cpu", "timestamp", "trace_time", "name", "args")


@pytest.fixture
def trace(tmp_path):
    opened = []

    def of(*lines):
        path = tmp_path / "t.txt"
        path.write_text(HEAD + "\n".join(lines) + "\n")
        opened.append(open_trace(path))
        return opened[-1]

    yield of
    for one in opened:
        one.close()


@pytest.mark.parametrize(
    ("line", "row"),
    [
        (
            "     kworker/u16:1-77    (   77) [004] ....   316.196720: 0: B|77|f|0",
            ("kworker/u16:1", 77, 77, 4, 316196720000, 316196720000, "0", '"B|77|f|0"'),
        ),
        (
            "<idle>-0     [000] ...2     0.002188: task_newtask: pid=1 comm=a:",
            ("<idle>", 0, None, 0, 2188000, 2188000, "task_newtask", '"pid=1 comm=a:"'),
        ),
        (
            "<idle>-0     [000]  0.002188: x:",
            ("<idle>", 0, None, 0, 2188000, 2188000, "x", None),
        ),
        (
            "a-b-7-8 (-----) [010] d..31  12.000000001: a:b: c",
            ("a-b-7", 8, None, 10, 12000000001, 12000000001, "a:b", '"c"'),
        ),
        # The double nearest to the seconds is a little less, and its ns are cut.
        (
            "a-1 [0] 263184.170848: x: \t",
            ("a", 1, None, 0, 263184170848000, 263184170847999, "x", None),
        ),
    ],
)
def test_a_line_is_taken_apart(trace, line, row):
    (found,) = trace(line).read_all(names=True).to_pylist()
    assert tuple(found[name] for name in COLUMNS) == row
    assert found["kind"] == "systrace_line"
    assert found["offset"] == len(HEAD)


@pytest.mark.parametrize(
    "line",
    [
        "a-1 [0] 12: x: y",
        "a-1 [0] 1.5 x: y",
        "a-1 [0] 1.5: x y",
        "a-99999999999 [0] 1.5: x: y",
        "a 1 [0] 1.5: x: y",
        "a-1 (0] 1.5: x: y",
        "-",
    ],
)
def test_what_is_no_line_is_passed_over(trace, line):
    assert trace(line, "a-1 [0] 1.5: x: y").read_all().num_rows == 1


@given(whole=st.integers(0, 10**9), part=st.text("0123456789", min_size=1, max_size=9))
def test_trace_time_is_the_double_of_the_seconds_cut(tmp_path_factory, whole, part):
    path = tmp_path_factory.mktemp("t") / "t.txt"
    path.write_text(f"{HEAD}a-1 [0] {whole}.{part}: x: y\n")
    with open_trace(path) as opened:
        (row,) = opened.read_all().to_pylist()
    assert row["timestamp"] == whole * 10**9 + int(part.ljust(9, "0"))
    if len(f"{whole}{part}") <= 15:
        assert row["trace_time"] == int(float(f"{whole}.{part}") * 1e9)


def test_atraces_lines_tie_the_clock_to_others(trace):
    opened = trace(
        "a-7 [0] 50258.0: x: y",
        "atrace-9 [0] 50260.647: tracing_mark_write: trace_event_clock_sync: parent_ts=50260.644531",
        "atrace-9 [0] 50260.648: tracing_mark_write: trace_event_clock_sync: "
        "realtime_ts=1416429213123",
    )
    ftrace = ClockId.parse("org.kernel.ftrace")
    assert opened.trace_clock == ftrace
    realtime = opened.clocks.convert(50260648000000, ftrace, ClockId(1))
    assert int(realtime) == 1416429213123500000
    monotonic = opened.clocks.convert(
        50260647000000, ftrace, ClockId(3), policy="tube", bounds=True
    )
    assert int(monotonic.estimate) == 50260644531000
    # Half a step of a float of 32 bits near 50,260 (2^-8 s), and 1 ms.
    assert 0 <= int(monotonic.estimate - monotonic.earliest) - (1953125 + 1000000) < 10_000
    assert diagnose(opened) == []


def test_readings_that_cannot_be_are_passed_over():
    def sync(ns, text):
        return ns, b"trace_event_clock_sync: " + text

    found = line_syncs(
        [
            sync(5, b"realtime_ts=9999999999999"),
            sync(7, b"parent_ts=1.5x"),
            sync(8, b"name=x"),
            sync(9, b"parent_ts=1.123456"),
            sync(8, b"parent_ts=1.2"),
        ]
    )
    (one,) = found
    assert one[:3] == LineSync(9, ClockId(3), 1123456000, 0)[:3]
    assert one.half_width_ns == 1_000_000 + 60


def test_a_text_of_a_double_is_off_by_its_last_digit():
    text = b"trace_event_clock_sync: parent_ts=50260.644532"
    ((*_, half),) = line_syncs([(1, text)])
    assert half == 1_000_000 + 501
