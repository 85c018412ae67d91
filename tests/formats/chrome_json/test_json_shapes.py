"""Files that are almost JSON, or almost one trace: read where that is sure, else told what it is."""

from __future__ import annotations

import json

import pytest
from diagnosed import findings
from reading import opened

from tracetime import TraceError, diagnose

EVENT = '{"ph":"i","name":"a","ts":100}'
ARRAY = f"[{EVENT}]"
OBJECT = f'{{"traceEvents":{ARRAY}}}'


def n_events(data, **options):
    with opened(data, **options) as trace:
        return trace.read_all().num_rows


@pytest.mark.parametrize("text", [ARRAY, OBJECT])
@pytest.mark.parametrize(
    ("before", "after"),
    [(b"\xef\xbb\xbf", b""), (b"", b"\0" * 5), (b"\xef\xbb\xbf\n", b"\0" * 600)],
)
def test_a_byte_order_mark_and_padding_are_passed_over(text, before, after):
    assert n_events(before + text.encode() + after) == 1


@pytest.mark.parametrize("raw", ["\x1b[31m", "\x00", "\t", "\r"])
def test_names_may_hold_raw_control_characters(raw):
    with opened(ARRAY.replace('"a"', f'"a{raw}"').encode()) as trace:
        (row,) = trace.read_all(names=True).to_pylist()
    assert row["name"] == f"a{raw}"


@pytest.mark.parametrize("size", [1, 100, 300_000])
def test_an_array_that_ends_in_padding_is_cut_off_there(size):
    data = f"[{EVENT},\n".encode()
    with opened(data + b"\0" * size) as trace:
        assert trace.read_all().num_rows == 1
        assert trace.truncated is not None
        assert trace.truncated.offset == len(data)
        assert "cut off" in trace.truncated.message


def test_zeros_between_events_are_an_error():
    with pytest.raises(TraceError, match="an event, an object in braces, is expected"):
        n_events(f"[{EVENT},\0\0{EVENT}]".encode())


@pytest.mark.parametrize(
    ("data", "what", "offset"),
    [
        (f"{ARRAY}\n{ARRAY}", "another trace follows", len(ARRAY) + 1),
        (f"{OBJECT}{OBJECT}", "another trace follows", len(OBJECT)),
        (f"{EVENT}\n{EVENT}\n", "another object follows", len(EVENT) + 1),
        (f"{ARRAY},", "something follows the end", len(ARRAY)),
        (f"[/*x*/{EVENT}]", "JSON has no comments", 1),
        (f'{{// x\n"traceEvents":{ARRAY}}}', "JSON has no comments", 1),
        (f"{ARRAY} // x", "JSON has no comments", len(ARRAY) + 1),
        (f"// x\n{ARRAY}", "begins with a comment", 0),
        ('{"traceEvents":null}', 'no key "traceEvents" with an array', 20),
        ("{}", "JSON, but of no trace", 0),
    ],
)
def test_what_is_no_trace_is_told_with_its_byte(data, what, offset):
    with pytest.raises(TraceError, match=what) as error:
        n_events(data.encode())
    assert error.value.offset == offset


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_told(encoding):
    with pytest.raises(TraceError, match="UTF-16"):
        n_events(OBJECT.encode(encoding))


def test_the_first_of_two_traces_is_read_with_partial():
    assert n_events(f"{ARRAY}\n{ARRAY}".encode(), partial=True) == 1


@pytest.mark.parametrize("text", ["[]", '{"traceEvents":[]}', '{"traceEvents":[{}]}'])
def test_an_empty_trace_is_not_in_order(text):
    with opened(text.encode()) as trace:
        assert [(one.code, one.severity) for one in diagnose(trace)] == [("no-events", "warning")]


def test_a_trace_that_is_cut_off_at_once_is_so_and_not_empty():
    assert "no-events" not in {one.code for one in findings(b'[{"ph":"i","ts')}


LINES = (
    "# tracer: nop\n"
    "a-1 [0] 100.000001: tracing_mark_write: B|1|x\n"
    "a-1 [0] 100.500000: tracing_mark_write: trace_event_clock_sync: parent_ts=50.5\n"
    "a-1 [0] 100.600001: tracing_mark_write: E|1\n"
)


def beside_lines(**more):
    events = [{"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": 50_500_100, "dur": 5}]
    return json.dumps({"traceEvents": events, "systemTraceEvents": LINES, **more}).encode()


MONOTONIC = {"metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"}}


def test_lines_that_say_what_monotonic_reads_have_a_clock_of_their_own():
    with opened(beside_lines(**MONOTONIC)) as trace:
        floor, tube = (trace.read_all(policy).to_pylist() for policy in ("floor", "tube"))
        assert trace.clocks.name(trace.trace_clock) == "MONOTONIC"
        assert [row["trace_time"] // 10**9 for row in floor] == [50, 100, 100, 100]
        assert [row["trace_time"] // 10**9 for row in tube] == [50, 50, 50, 50]
        # The line says 50.5 s; 1 ms from the reading to the line, and its microsecond.
        sync = tube[2]
        assert sync["earliest"] <= 50_499_000_000 <= 50_501_000_999 <= sync["latest"]
        begun = {
            policy: {row["name"]: row for row in trace.slices(policy).read_all().to_pylist()}
            for policy in ("floor", "tube")
        }
        assert begun["floor"]["x"]["ts"] == 100_000_001_000
        assert begun["tube"]["x"]["ts"] // 10**9 == 50
        assert begun["tube"]["x"]["clock"] == "org.kernel.ftrace"
        assert begun["tube"]["a"]["clock"] == "MONOTONIC"
        (one,) = trace.passed_over
        assert "takes both for one" in one.message


def test_beside_events_of_an_unnamed_clock_what_lines_say_is_not_used():
    with opened(beside_lines()) as trace:
        assert trace.clocks.clocks() == []
        assert {row["trace_time"] // 10**9 for row in trace.read_all("tube").to_pylist()} == {
            50,
            100,
        }
        (one,) = trace.passed_over
        assert "does not say which clock its events have" in one.message
