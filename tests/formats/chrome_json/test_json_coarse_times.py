"""Bars of times that a file cuts off: they hold every time that is written alike."""

from __future__ import annotations

import pytest
from json_slicing import Raw, document, event, slices
from reading import opened

from tracetime import ClockId
from tracetime.error_bars import ErrorBars

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
    ("times", "late"),
    [
        (("100", "1712195495541301"), 999),
        (("100.000", "7.0"), 999),
        (("100.5", "7"), 99),
        (("100.25", "7"), 9),
        (("100.125", "7"), 0),
        (("1e-3",), 0),
        (("1e3",), 999),
    ],
)
def test_the_finest_time_of_a_file_says_what_all_have_lost(times, late):
    assert bars(instants(*times)) == [(0, late)] * len(times)


def test_floor_and_the_best_estimate_stay():
    with opened(instants("100", "2").encode()) as trace:
        floor, tube = (trace.read_all(policy).to_pylist() for policy in ("floor", "tube"))
    assert [row["trace_time"] for row in floor] == [row["trace_time"] for row in tube]
    assert [row["trace_time"] for row in tube] == [100_000, 2_000]


def test_times_below_0_are_cut_off_towards_0():
    assert bars(instants("-3", "0", "5")) == [(999, 999), (999, 999), (0, 999)]


def test_a_bar_ends_with_int64():
    (least, most) = bars(instants("-9223372036854775", "9223372036854775"))
    assert (least[0], most[1]) == (808, 807)


def test_times_that_went_through_a_double_are_off_either_way():
    # Python writes 1712195495541300.987, 250 ns apart from the next, as ...301.0.
    assert bars(instants("1712195495541301.0", "1712195495541301.2")) == [(175, 175)] * 2
    assert bars(instants("1712195495541301.05")) == [(0, 9)]
    assert bars(instants("171219549554.2")) == [(0, 99)]


def test_a_complete_event_has_the_loss_of_time_and_duration():
    (row,) = slices(document(event("X", 100, "a", dur=50)), "tube")
    assert (row["earliest"], row["latest"]) == (100_000, 100_999)
    assert (row["end_earliest"], row["end_latest"]) == (150_000, 151_998)
    assert (row["dur"], row["dur_error_ns"]) == (50_000, 1998)


def test_a_duration_that_is_cut_to_0_may_have_been_longer():
    fields = ("end_latest", "dur_error_ns")
    (row,) = slices(document(event("X", 100, "a", dur=0)), "tube")
    assert [row[name] for name in fields] == [101_998, 1998]
    (row,) = slices(document(event("i", 100, "a", s="t")), "tube")
    assert [row[name] for name in fields] == [100_999, 0]
    (row,) = slices(document(event("X", 100, "a", dur=0), event("X", 200, dur=0.125)), "tube")[:1]
    assert [row[name] for name in fields] == [100_999, 0]


def test_ends_of_their_own_lose_once():
    (row,) = slices(document(event("B", 1, "a"), event("E", 3)), "tube")
    assert (row["end_earliest"], row["end_latest"], row["dur_error_ns"]) == (3000, 3999, 999)


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
        placed = ErrorBars(trace.clocks, REALTIME, [0], "estimated", {}).place(columns)
    there = base + columns["timestamp"]
    assert placed["trace_time"].tolist() == there.tolist()
    assert all(0 <= width <= 1 for width in (there - placed["earliest"]).tolist())
    assert all(late <= width <= late + 3 for width in (placed["latest"] - there).tolist())


@pytest.mark.parametrize(("ts", "tick"), [("1", 1000), ("1.5", 100), ("1.125", 1)])
def test_the_clock_is_declared_with_what_it_is_written_in(ts, tick):
    for more in ({}, {"metadata": {"clock-domain": "LINUX_CLOCK_MONOTONIC"}}):
        with opened(document(event("i", Raw(ts)), **more).encode()) as trace:
            assert trace.clocks.domain(trace.trace_clock).tick_ns == tick
