"""Times that cannot be meant: at 0, of two units; and kernels that begin before their launch."""

from __future__ import annotations

import json

import pytest
from diagnosed import findings
from json_slicing import document, event
from reading import opened

TODAY_US = 1_700_000_000_000_000


def told(text, code="odd-times"):
    return [one for one in findings(text.encode()) if one.code == code]


def trace(*groups):
    """Events at some us, of several writers in turn."""
    return document(*(event("i", ts) for times in zip(*groups, strict=True) for ts in times))


def test_events_at_0_of_a_trace_that_is_far_from_there_are_told():
    times = [TODAY_US + k for k in range(20)]
    (found,) = told(document(*(event("i", ts) for ts in [*times[:7], 0, *times[7:], 0])))
    assert (found.severity, found.events, found.packets) == ("warning", 2, (7,))
    assert found.title.startswith("2 events at 0, 19675 d 22 h before the first")
    assert found.worst_ns == TODAY_US * 1000


@pytest.mark.parametrize(
    "times",
    [
        # A trace that begins at 0, one with a long pause, one of a host that was just started.
        [0, *range(1, 100)],
        [0, 5_000_000, 5_000_100],
        [0, 10**10, 2 * 10**10],
        [0, 0, 0, 10**12],
        [0],
        [-5, 0, 7],
        [TODAY_US, TODAY_US + 10**6],
    ],
)
def test_times_that_may_be_meant_are_not_told(times):
    assert told(document(*(event("i", ts) for ts in times))) == []


@pytest.mark.parametrize("factor", [1000, 10**6])
@pytest.mark.parametrize("begin_us", [5 * 10**9, 3 * 10**6])
def test_times_of_two_units_are_told(factor, begin_us):
    times = [begin_us + 100 * k for k in range(50)]
    (found,) = told(trace(times, [ts * factor for ts in times]))
    assert found.title == (
        f"times of two units: those of 50 events are {factor:,} times those of 50 events"
    )
    few = [
        *(event("i", ts * factor) for ts in times),
        event("i", begin_us),
        event("i", begin_us + 9),
    ]
    (found,) = told(document(*few))
    assert (found.events, found.packets) == (2, (50,))


def test_times_that_are_far_apart_by_another_factor_are_not_of_two_units():
    times = [5 * 10**9 + 100 * k for k in range(50)]
    for factor in (60, 200, 1100, 10**5):
        (found,) = told(trace(times, [ts * factor for ts in times]))
        assert (found.severity, found.events) == ("info", 50)
        assert "the others: of another clock, or another run" in found.title
    # Not far from 0: a trace of some seconds that has a pause.
    times = [1000 * k for k in range(1, 50)]
    assert told(trace(times, [ts * 1000 for ts in times])) == []


def kineto(late_us, *, calls=40, decimals=3, **more):
    """Calls, and kernels that begin some us after them."""
    events = []
    for k in range(calls):
        ts = TODAY_US + 100 * k + (0.123 if decimals else 0)
        args = {"External id": k, "correlation": 7000 + k}
        shared = {"ph": "X", "args": args}
        call = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1}
        events.append({**shared, **call, "ts": round(ts, 3), "dur": 5})
        kernel = {"cat": "kernel", "name": "k", "pid": 0, "tid": 7, "dur": 9}
        events.append({**shared, **kernel, "ts": round(ts + late_us, decimals)})
    return json.dumps({"deviceProperties": [], "traceEvents": events, **more})


def test_kernels_that_begin_before_their_call_are_told():
    (found,) = told(kineto(-40), "effect-before-cause")
    assert (found.severity, found.events) == ("warning", 80)
    assert found.worst_ns == pytest.approx(40_000, abs=500)
    assert found.title == (
        "CPU and GPU disagree: 40 of 40 kernels begin up to 40 us before the call that launched them"
    )
    (found,) = told(kineto(-1500), "effect-before-cause")
    assert found.severity == "error"
    with opened(kineto(-40).encode()) as trace:
        assert trace.early_kernels().launched == 40


def test_kernels_that_begin_with_their_call_or_within_rounding_are_not():
    assert told(kineto(0), "effect-before-cause") == []
    assert told(kineto(7), "effect-before-cause") == []
    assert told(kineto(-1, decimals=0), "effect-before-cause") == []
    assert told(kineto(-4, decimals=0), "effect-before-cause") != []


def test_kernels_at_both_ends_of_int64_are_compared():
    text = json.loads(kineto(0, calls=1))
    call, kernel = text["traceEvents"]
    call["ts"], kernel["ts"] = -9.2e15, 9.2e15
    assert told(json.dumps(text), "effect-before-cause") == []
    call["ts"], kernel["ts"] = 9.2e15, -9.2e15
    assert told(json.dumps(text), "effect-before-cause") != []


def test_numbers_that_several_calls_have_say_nothing():
    text = json.loads(kineto(-40))
    again = [dict(one, ts=one["ts"] - 500) for one in text["traceEvents"] if one["pid"] == 1]
    text["traceEvents"] += again
    assert told(json.dumps(text), "effect-before-cause") == []


def test_a_trace_of_another_program_is_not_read_for_kernels():
    text = json.loads(kineto(-40))
    del text["deviceProperties"]
    for one in text["traceEvents"]:
        one["cat"] = f"my_{one['cat']}"
    assert told(json.dumps(text), "effect-before-cause") == []
    with opened(json.dumps(text).encode()) as trace:
        assert trace.early_kernels() is None
