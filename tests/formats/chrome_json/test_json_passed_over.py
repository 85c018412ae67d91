"""What of a file is not read, or not as it stands: all of it is told."""

from __future__ import annotations

from importlib import import_module

import pytest
from diagnosed import findings
from json_slicing import Raw, document, event
from reading import opened

HEADER = "# tracer: nop\n#\n"
LINE = "a-1 [0] 1.000001: x: y\n"


def told(text):
    """The messages of a file; `clocks` and `convert` print the same, and so does the doctor."""
    with opened(text.encode()) as trace:
        found = [one.message for one in trace.passed_over]
        assert [one.message for one in trace.warnings] == found
    titles = [title for title, severity in told_by_doctor(text) if severity == "warning"]
    assert titles == found
    return found


def told_by_doctor(text):
    """What the doctor says of what is passed over, and how severe that is."""
    found = findings(text.encode())
    return [(one.title, one.severity) for one in found if one.code == "parts-passed-over"]


def dropped(text):
    with opened(text.encode()) as trace:
        return trace.events_dropped, trace.dropped_packet


def test_of_a_healthy_file_nothing_is_told():
    assert told(document(event("X", 1, "a", dur=1), event("C", 2, args={"v": 1}))) == []
    assert told(HEADER + LINE + "\n  \n") == []


@pytest.mark.parametrize(
    ("odd", "what"),
    [
        (event("XX", 1, dur=1), '1 event with a "ph" of several letters'),
        (event("X", 1, tid=1 << 32, dur=1), "1 event with a pid or tid below 0 or beyond 32 bits"),
        (event("X", 1, tid=-1, dur=1), "1 event with a pid or tid below 0 or beyond 32 bits"),
        (
            event("X", 1, pid=-1, dur=1) + "," + event("X", 1, pid=-2, dur=1),
            "2 events with a pid or tid below 0 or beyond 32 bits",
        ),
        (event("b", 1, "a", id=1 << 63), "1 event with a pid, tid or id beyond 64 bits"),
        (event("X", 1), "1 complete event without a duration"),
        (event("X", 1, dur="x"), "1 complete event without a duration"),
        (event("X", 1, dur=-1), "1 complete event of a duration below 0: no slice"),
    ],
)
def test_odd_events_are_counted(odd, what):
    (message,) = told(document(odd, event("i", 2)))
    assert message.startswith(what)


def test_one_pid_alone_that_is_odd_joins_no_threads():
    """PyTorch's profiler gives its own overhead to process -1."""
    overhead = event("X", 1, pid=-1, tid=0, dur=1)
    assert told(document(overhead, event("X", 2, dur=1), overhead)) == []


def test_the_greatest_numbers_that_fit_are_not_odd():
    most = (1 << 32) - 1
    assert told(document(event("X", 1, pid=most, tid=most, dur=1, id=(1 << 63) - 2))) == []


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("digits", [63, 64, 70])
def test_a_time_of_64_digits_behind_the_point_is_none_as_in_perfetto(digits):
    """There 10 to the power of 64 is 0 in 64 bits, and what is divided by it no time."""
    with opened(document(event("i", Raw("1." + "1" * digits))).encode()) as trace:
        (status,) = trace.read_all()["status"].to_pylist()
    assert status == ("overflow" if digits >= 64 else "resolved")


def test_what_is_beyond_64_bits_is_beyond_32_too():
    assert len(told(document(event("X", 1, tid=Raw("9" * 30), dur=1)))) == 2


@pytest.mark.parametrize(
    ("fields", "ts", "what"),
    [
        ({"baseTimeNanoseconds": Raw("9" * 23)}, 1, "baseTimeNanoseconds is no whole number"),
        ({"baseTimeNanoseconds": "x"}, 1, "baseTimeNanoseconds is no whole number"),
        (
            {"baseTimeNanoseconds": 1735632360 * 10**9},
            Raw("1712195495541300.987"),
            "times count from 1970, and so does baseTimeNanoseconds",
        ),
        ({"baseTimeNanoseconds": (1 << 63) - 5}, 1, "baseTimeNanoseconds and the times are beyond"),
        (
            {"baseTimeNanoseconds": 10**18, "metadata": {"clock-domain": "X"}},
            1,
            "the file has a clock-domain and baseTimeNanoseconds",
        ),
    ],
)
def test_a_base_that_is_not_added_is_told(fields, ts, what):
    text = document(event("i", ts), **fields)
    (message,) = told(text)
    assert message.startswith(what)
    with opened(text.encode()) as trace:
        assert trace.clocks.clocks() == []


@pytest.mark.parametrize("base", [0, 10**18, "1735632360000000000"])
def test_a_base_that_is_added_is_not(base):
    assert told(document(event("i", Raw("4203669603018.756")), baseTimeNanoseconds=base)) == []


def test_lines_of_another_shape_are_counted():
    text = HEADER + LINE + "bad line\nz-1 [0] 1.5: tracing_mark_wri"
    with opened(text.encode()) as trace:
        (one,) = trace.passed_over
    assert one.message == "2 lines of another shape than ftrace's: no event"
    assert one.offset == len(HEADER + LINE)
    assert told(document(event("i", 1), systemTraceEvents=text)) == [one.message]


@pytest.mark.parametrize(
    ("lines", "lost"),
    [
        ("CPU:0 [LOST 5123 EVENTS]\n", (5123, 1)),
        ("CPU:1 [LOST 2 EVENTS]\nCPU:0 [LOST 3 EVENTS]\n", (5, 1)),
        ("CPU:12 [LOST EVENTS]\n", (1, 1)),
        ("CPU:0 [17 EVENTS DROPPED]\n", (17, 1)),
        ("CPU:0 [LOST 99999999999999999999999 EVENTS]\n", (9999999999, 1)),
        ("a-1 [0] 1.5: print: CPU:0 [LOST 5 EVENTS]\n", (0, None)),
    ],
)
def test_lost_events_are_counted(lines, lost):
    assert dropped(HEADER + LINE + lines + LINE) == lost
    assert dropped(document(event("i", 1), systemTraceEvents=HEADER + LINE + lines)) == lost


def test_lost_events_are_an_error_of_the_doctor():
    text = HEADER + LINE + "CPU:0 [LOST 5123 EVENTS]\n" + LINE
    assert told(text) == []
    (one,) = (one for one in findings(text.encode()) if one.code == "events-dropped")
    assert (one.severity, one.events, one.packets) == ("error", 5123, (1,))


def test_events_of_fuchsias_kernel_are_counted():
    kernel = {"type": "fuchsia", "events": [{"ph": "k", "ts": 1}, {"a": [1, {}]}, 5]}
    text = document(event("i", 1), systemTraceEvents=kernel)
    assert told(text) == ["3 events of Fuchsia's kernel (systemTraceEvents as an object) not read"]
    assert told(document(event("i", 1), systemTraceEvents={"events": []}, x={"events": [1]})) == []


@pytest.mark.parametrize("kernel", ['{"events":[1 2]}', '{"events":[,]}', '{"events":5}', "{}"])
def test_a_kernels_object_may_be_malformed(kernel):
    assert len(told(document(event("i", 1), systemTraceEvents=Raw(kernel)))) <= 1


def test_keys_may_have_escapes():
    text = (
        r'{"tr\u0061ceEvents":[{"\u0070h":"\u0058","t\u0073":1,"\u0064ur":2,'
        r'"p\u00e9":3,"\n":4,"a\u":5,"name":"n"}]}'
    )
    with opened(text.encode()) as trace:
        (row,) = trace.read_all(names=True).to_pylist()
        assert (row["type"], row["timestamp"], row["name"]) == ("slice_complete", 1000, "n")
        assert trace.passed_over == []


def test_a_long_key_with_escapes_is_none():
    text = '[{"ph":"i","ts":1,"' + "\\u0070" * 40 + '":2}]'
    with opened(text.encode()) as trace:
        assert trace.read_all().num_rows == 1


@pytest.mark.parametrize(
    ("value", "number"), [('"12.5"', 12.5), ("7", 7.0), ('"x"', None), ('"1x"', None), ('""', None)]
)
def test_a_counter_may_be_a_text(value, number):
    with opened(document(event("C", 1, "c", args=Raw(f'{{"v": {value}}}'))).encode()) as trace:
        assert trace.read_all(names=True)["value"].to_pylist() == [number]


def test_slices_that_cannot_nest_are_counted():
    deep = document(*(event("X", i, dur=5000 - 2 * i) for i in range(600)))
    with opened(deep.encode()) as trace:
        made = trace.slices()
        assert (made.read_all().num_rows, made.not_nested) == (512, 88)
    with opened(document(event("X", 1, dur=5), event("X", 3, dur=5)).encode()) as trace:
        made = trace.slices()
        assert (made.read_all().num_rows, made.not_nested) == (2, 0)


ENDS = "{} without a begin: in no slice"
OPEN = "{} that did not end: dur is -1"
HALVES = {
    "ends": ("E" * 5, 5, ENDS.format("5 slice ends")),
    "begins": ("BBB", 0, OPEN.format("3 slices")),
    # As a buffer that is written round: as many of either.
    "both": ("EB", 1, f"{ENDS.format('1 slice end')}; {OPEN.format('1 slice')}"),
    "asynchronous": ("eb", 1, f"{ENDS.format('1 slice end')}; {OPEN.format('1 slice')}"),
}


@pytest.mark.parametrize(("phases", "unmatched", "title"), HALVES.values(), ids=HALVES)
def test_halves_of_slices_are_counted(phases, unmatched, title):
    text = document(*(event(ph, i, "a", id=7) for i, ph in enumerate(phases)))
    assert told_by_doctor(text) == [(title, "info")]
    with opened(text.encode()) as trace:
        made = trace.slices()
        rows = made.read_all()
    assert made.unmatched == unmatched
    assert rows["dur"].to_pylist() == [-1] * phases.lower().count("b")


def test_marks_in_systrace_lack_their_begins_too():
    line = "a-1 [0] 1.00000{}: tracing_mark_write: {}\n"
    marks = line.format(1, "E|1") + line.format(2, "B|1|x")
    (found,) = told_by_doctor(HEADER + marks)
    assert found == (HALVES["both"][2], "info")


def test_whole_slices_are_no_finding():
    text = document(event("B", 1, "a"), event("E", 2, "a"), event("X", 3, "b", dur=1))
    assert told_by_doctor(text) == []


def test_in_very_many_events_halves_are_not_looked_for(monkeypatch):
    text = document(event("B", 1, "a"), event("i", 2, "b"))
    monkeypatch.setattr(import_module("tracetime.formats.chrome_json.reader"), "MOST_NESTED", 1)
    assert told_by_doctor(text) == []


def test_times_below_0_have_an_advice_of_their_own():
    (one,) = (
        one
        for one in findings(document(event("X", -3, dur=1)).encode())
        if one.code == "negative-trace-time"
    )
    assert one.fix.startswith("Add one offset to all times of the file")
