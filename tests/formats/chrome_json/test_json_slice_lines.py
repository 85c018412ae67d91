"""Slices of lines of systrace, in JSON and in a file of their own.

Rules follow Perfetto's src/trace_processor/importers/systrace/systrace_line_parser.cc.
"""

from __future__ import annotations

import json

import pytest
from json_slicing import Raw, document, event, slices

HEADER = "# tracer: nop\n#\n"


def line(seconds, what, *, task="app", tid=11, tgid="10"):
    return f"{task}-{tid} ({tgid}) [000] ...1 {seconds:.6f}: {what}\n"


def mark(seconds, text, **options):
    return line(seconds, f"tracing_mark_write: {text}", **options)


def of_text(*lines):
    return slices(HEADER + "".join(lines))


def brief(made):
    return [
        (row["name"], row["ts"], row["dur"], row["tid"], row["thread_name"], row["pid"])
        for row in made
    ]


def test_lines_of_atrace_are_slices():
    made = of_text(mark(1, "B|10|outer"), mark(1.5, "B|10|inner"), mark(2, "E|10"), mark(3, "E"))
    assert brief(made) == [
        ("outer", 10**9, 2 * 10**9, 11, "app", 10),
        ("inner", 15 * 10**8, 5 * 10**8, 11, "app", 10),
    ]


@pytest.mark.parametrize("event_name", ["tracing_mark_write", "0", "print"])
def test_events_that_are_atrace(event_name):
    assert len(of_text(line(1, f"{event_name}: I|10|now"))) == 1


def test_asynchronous_lines_match_by_cookie():
    made = of_text(mark(1, "S|10|load|7"), mark(2, "F|10|load|7", tid=12))
    assert brief(made) == [("load", 10**9, 10**9, None, None, 10)]
    assert made[0]["track_name"] == "load"


def test_the_task_names_the_thread_and_an_unknown_one_does_not():
    made = of_text(mark(1, "I|10|a"), mark(2, "I|10|b", task="<...>"))
    assert {row["thread_name"] for row in made} == {"app"}


def test_the_scheduler_names_threads():
    switch = line(
        2,
        "sched_switch: prev_comm=app prev_pid=11 prev_prio=1 prev_state=S ==> "
        "next_comm=worker next_pid=15 next_prio=2",
    )
    made = of_text(mark(1, "I|10|a", tid=15, task="<...>"), switch)
    assert [row["thread_name"] for row in made] == ["worker"]
    waking = line(2, "sched_waking: comm=other pid=15 prio=120 target_cpu=001")
    made = of_text(mark(1, "I|10|a", tid=15, task="<...>"), waking)
    assert [row["thread_name"] for row in made] == ["other"]


def test_in_systrace_pid_0_is_the_kernels():
    made = of_text(mark(1, "I|0|a", task="<idle>", tid=0, tgid="-----"))
    assert brief(made) == [("a", 10**9, 0, 0, "swapper", 0)]


def test_in_json_pid_0_is_none_in_particular():
    lines = mark(1, "I|0|a", task="idle", tid=0, tgid="-----")
    text = document(event("i", 0), systemTraceEvents=Raw(json.dumps(HEADER + lines)))
    assert [row["thread_name"] for row in slices(text)] == [None, "idle"]


def test_lines_within_json_are_taken_with_its_events():
    lines = mark(1, "B|10|line") + mark(3, "E|10")
    text = document(
        event("X", 500_000, "before", dur=100),
        event("X", 2_000_000, "within", pid=10, tid=11, dur=100),
        systemTraceEvents=Raw(json.dumps(HEADER + lines)),
    )
    made = slices(text)
    assert [(row["name"], row["depth"]) for row in made] == [
        ("before", 0),
        ("line", 0),
        ("within", 1),
    ]


def test_arguments_of_lines_are_none():
    assert [row["args"] for row in of_text(mark(1, "I|10|a"))] == [None]


def test_bars_of_lines_hold_the_microsecond():
    (row,) = slices(HEADER + mark(1.000001, "B|10|a") + mark(2, "E|10"), "tube")
    assert (row["ts"], row["dur"], row["dur_error_ns"]) == (1_000_001_000, 999_999_000, 999)
