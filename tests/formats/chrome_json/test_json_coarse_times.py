"""Bars of times that a file cuts off: they hold every time that is written alike."""

from __future__ import annotations

import numpy as np
import pytest
from json_slicing import Raw, document, event, slices
from reading import opened

from tracetime import ClockId
from tracetime.graph.clock_graph import inner
from tracetime.trace.error_bars import ErrorBars

HEADER = "# tracer: nop\n#\n"
REALTIME = ClockId.parse("REALTIME")


def bars(text):
    """How far the bar of each event reaches below and above its time, ns."""
    with opened(text.encode()) as trace:
        rows = trace.read_all("tube").to_pylist()
    return [
        (row["timestamp"] - row["earliest"], row["latest"] - row["timestamp"])
        for row in rows
        if row["status"] == "resolved"
    ]


def instants(*times):
    return document(*(event("i", Raw(ts)) for ts in times))


@pytest.mark.parametrize(
    ("times", "margins"),
    [
        (("100", "171219549554"), (500, 999)),
        (("100.000", "7.0"), (500, 999)),
        (("100.5", "7"), (50, 99)),
        (("100.25", "7"), (5, 9)),
        (("100.125", "7"), (0, 0)),
        (("1e-3",), (0, 0)),
        (("1e3",), (500, 999)),
    ],
)
def test_the_finest_time_of_a_small_file_says_what_all_have_lost(times, margins):
    """Whether they were cut off or rounded."""
    assert bars(instants(*times)) == [margins] * len(times)


def truths(first_ns, count=2000):
    """Times to the ns, of 15 minutes."""
    return (first_ns + np.sort(np.random.default_rng(1).integers(0, 10**12, count))).tolist()


WALL = 1763900000 * 10**9
WRITERS = {
    "Date.now()": lambda ns: ns // 10**6 * 1000,
    "performance.now() of 100 us": lambda ns: ns // 100_000 * 100,
    "performance.now() of 5 us": lambda ns: ns // 5000 * 5,
    "ticks of 1/64 s": lambda ns: ns // 15_625_000 * 15_625,
    "whole us, rounded": lambda ns: f"{ns / 1000:.0f}",
    "%.1f": lambda ns: f"{ns / 1000:.1f}",
    "%g": lambda ns: f"{ns / 1000:g}",
    "%.9g": lambda ns: f"{ns / 1000:.9g}",
    "%.15g": lambda ns: f"{ns / 1000:.15g}",
    "time.time() * 1e6": lambda ns: repr(ns / 1e9 * 1e6),
    "int(time.time() * 1e6)": lambda ns: int(ns / 1e9 * 1e6),
    "time.time() * 1e6 by %.3f": lambda ns: f"{ns / 1e9 * 1e6:.3f}",
    "time.time() * 1e6 by %.6f": lambda ns: f"{ns / 1e9 * 1e6:.6f}",
    "time.time_ns() / 1000": lambda ns: repr(ns / 1000),
}


@pytest.mark.parametrize(
    ("writer", "first_ns"),
    # Near today `%g` writes one text for three hours.
    [(writer, 0) for writer in WRITERS] + [(writer, WALL) for writer in WRITERS if writer != "%g"],
)
def test_bars_hold_the_truth_whatever_a_program_keeps_of_it(writer, first_ns):
    times = truths(first_ns)
    with opened(instants(*(str(WRITERS[writer](ns)) for ns in times)).encode()) as trace:
        rows = trace.read_all("tube").to_pylist()
    missed = [
        ns
        for ns, row in zip(times, rows, strict=True)
        if not row["earliest"] <= ns <= row["latest"]
    ]
    assert missed == []


def test_an_exact_time_does_not_speak_for_the_others():
    times = truths(0)
    exact = f"{times[-1] // 1000}.{times[-1] % 1000:03}"
    found = bars(instants(*(str(ns // 1000) for ns in times[:-1]), exact))
    assert set(found[:-1]) == {(500, 999)}
    assert found[-1] == (0, 0)


def test_two_programs_in_a_file_are_told_apart():
    times = truths(0)
    texts = [
        str(ns // 1000) if i % 2 else f"{ns // 1000}.{ns % 1000:03}" for i, ns in enumerate(times)
    ]
    found = bars(instants(*texts))
    assert set(found[1::2]) == {(500, 999)}
    assert found[::2].count((0, 0)) > 990


def test_floor_and_the_best_estimate_stay():
    with opened(instants("100", "2").encode()) as trace:
        floor, tube = (trace.read_all(policy).to_pylist() for policy in ("floor", "tube"))
    assert [row["trace_time"] for row in floor] == [row["trace_time"] for row in tube]
    assert [row["trace_time"] for row in tube] == [100_000, 2_000]


def test_times_below_0_are_cut_off_towards_0():
    assert bars(instants("-3", "0", "5")) == [(999, 999), (999, 999), (500, 999)]


def test_a_bar_ends_with_int64():
    (least, most) = bars(instants("-9223372036854775", "9223372036854775"))
    assert (least[0], most[1]) == (808, 807)


def test_times_that_went_through_a_double_are_off_either_way():
    # Python writes 1712195495541300.987, 250 ns apart from the next, as ...301.0; time.time()
    # was rounded twice before (128 and 120 ns), and that text is up to 50 ns off.
    assert bars(instants("1712195495541301.0", "1712195495541301.2")) == [(473, 522)] * 2
    assert bars(instants("1712195495541301")) == [(923, 1422)]
    assert bars(instants("171219549554.2")) == [(50, 99)]


def test_a_complete_event_has_the_loss_of_time_and_duration():
    (row,) = slices(document(event("X", 100, "a", dur=50)), "tube")
    assert (row["earliest"], row["latest"]) == (99_500, 100_999)
    assert (row["end_earliest"], row["end_latest"]) == (149_000, 151_998)
    assert (row["dur"], row["dur_error_ns"]) == (50_000, 2498)


def test_a_duration_that_is_cut_to_0_may_have_been_longer():
    fields = ("end_latest", "dur_error_ns")
    (row,) = slices(document(event("X", 100, "a", dur=0)), "tube")
    assert [row[name] for name in fields] == [101_998, 2498]
    (row,) = slices(document(event("i", 100, "a", s="t")), "tube")
    assert [row[name] for name in fields] == [100_999, 0]
    (row,) = slices(document(event("X", 100, "a", dur=0), event("X", 200, dur=0.125)), "tube")[:1]
    assert [row[name] for name in fields] == [100_999, 0]


def test_ends_of_their_own_lose_once():
    (row,) = slices(document(event("B", 1, "a"), event("E", 3)), "tube")
    assert (row["end_earliest"], row["end_latest"], row["dur_error_ns"]) == (2500, 3999, 1499)


def test_lines_have_their_own_digits():
    lines = "a-1 [0] 1.000002: x: y\na-1 [0] 2.5: x: y\n"
    assert bars(HEADER + lines) == [(0, 999)] * 2
    assert bars(HEADER + lines.replace("2.5", "2.500000001")) == [(0, 0)] * 2
    inside = document(event("i", 1.125), systemTraceEvents=HEADER + lines)
    assert bars(inside) == [(0, 0), (0, 999), (0, 999)]


def test_metadata_events_have_no_bar():
    assert bars(document(event("M", None, "process_name", args={"name": "x"}))) == []


@pytest.mark.parametrize(("ts", "late"), [("1", 999), ("1.125", 0)])
def test_what_a_base_ties_is_as_wide_on_other_clocks(ts, late):
    base = 10**18
    text = document(event("i", Raw(ts)), event("i", 5_000_000), baseTimeNanoseconds=base)
    with opened(text.encode()) as trace:
        columns = next(trace.columns().batches)
        placed = ErrorBars(inner(trace.clocks), REALTIME, [0], "estimated", {}).place(columns)
    there = base + columns["timestamp"]
    assert placed["trace_time"].tolist() == there.tolist()
    early = (late + 1) // 2
    assert all(early <= width <= early + 3 for width in (there - placed["earliest"]).tolist())
    assert all(late <= width <= late + 3 for width in (placed["latest"] - there).tolist())


@pytest.mark.parametrize(("ts", "tick"), [("1", 1000), ("1.5", 100), ("1.125", 1)])
def test_the_clock_is_declared_with_what_it_is_written_in(ts, tick):
    for more in ({}, {"metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"}}):
        with opened(document(event("i", Raw(ts)), **more).encode()) as trace:
            assert trace.clocks.domain(trace.trace_clock).tick_ns == tick
