"""Snapshots that a graph takes or refuses, and what it says of them."""

from __future__ import annotations

from typing import Any

import pytest
from graphs import graph_of, refused

from tracetime import (
    ClockGraph,
    ClockId,
    Reading,
    Snapshot,
    UsageError,
)

LOW, HIGH = -(2**63), 2**63 - 1
S = 10**9
HOUR = 3600 * S


# Snapshots that are refused


def state(graph: ClockGraph) -> tuple[Any, ...]:
    return graph.series(), graph.edges(), [c for c in graph.clocks() if c.snapshots]


@pytest.mark.parametrize(
    ("snapshot", "message"),
    [
        ({"MONOTONIC": 3000, "BOOTTIME": 0}, "BOOTTIME is the trace clock, and went backwards"),
        ({"MONOTONIC": 3000, "BOOTTIME": Reading(4000, 10)}, "BOOTTIME has another unit"),
        ({"MONOTONIC": Reading(3000, 2), "BOOTTIME": 4000}, "MONOTONIC has another unit"),
        ({"REALTIME": 5, 200: Reading(1, incremental=True)}, "200 is incremental"),
        ({"REALTIME": 5, 200: Reading(2**62, 1000)}, "200 does not fit in int64"),
    ],
)
def test_a_snapshot_is_taken_whole_or_not_at_all(snapshot, message):
    graph = graph_of({"MONOTONIC": 1000, "BOOTTIME": 2000}, trace_clock="BOOTTIME")
    before = state(graph)
    with pytest.raises(UsageError, match=message):
        graph.add_snapshot(snapshot)
    assert state(graph) == before
    assert graph.convert(3000, "MONOTONIC", "BOOTTIME") == 4000
    refused("unknown_source_clock", graph, 5, "REALTIME", "BOOTTIME")
    graph.add_snapshot({"MONOTONIC": 3000, "BOOTTIME": 5000})
    assert graph.convert(3000, "MONOTONIC", "BOOTTIME") == 5000


def test_the_trace_clock_counts_nanoseconds():
    with pytest.raises(UsageError, match="BOOTTIME is the trace clock, which must count nano"):
        ClockGraph("BOOTTIME").add_snapshot({"BOOTTIME": Reading(1, 1000), "MONOTONIC": 1})


def test_of_arrays_the_snapshots_before_the_refused_one_stay():
    graph = ClockGraph("BOOTTIME")
    with pytest.raises(UsageError, match="^snapshot 2 of 4: BOOTTIME is the trace clock"):
        graph.add_snapshot({"MONOTONIC": [1, 2, 3, 4], "BOOTTIME": [10, 20, 15, 40]})
    assert graph.series() == [((ClockId(3), ClockId(6)), 2)]
    assert graph.convert([1, 2, 3, 4], 3, 6).tolist() == [10, 20, 21, 22]


def test_widths_of_refused_snapshots_are_not_those_of_later_ones():
    graph = ClockGraph("BOOTTIME")
    column = Snapshot(
        {"BOOTTIME": [10, 20, 5, 30], "MONOTONIC": [1, 2, 3, 4]},
        reference="BOOTTIME",
        half_width_ns={"MONOTONIC": [7, 8, 9, 10]},
        centre_ns={"MONOTONIC": [1, 2, 3, 4]},
        frequency_scaled_ppm={"MONOTONIC": [5, 6, 7, 8]},
    )
    with pytest.raises(UsageError):
        graph.add_snapshot(column)
    graph.add_snapshot({"BOOTTIME": [40, 50], "MONOTONIC": [10, 20]})
    boottime, monotonic = graph.readings()
    assert boottime.half_width_ns.tolist() == [0, 0, -1, -1]
    assert monotonic.half_width_ns.tolist() == [7, 8, -1, -1]
    assert monotonic.centre_ns.tolist() == [1, 2, 0, 0]
    recorded = graph._graph.state.measured.frequency(ClockId(3), monotonic.snapshots)
    assert recorded.tolist() == [5, 6, LOW, LOW]


def test_arrays_are_as_many_snapshots_in_order(suspended):
    one_by_one = ClockGraph()
    for monotonic, boottime in zip(
        [1000, 1100, 1200, 1900, 2000, 2100], [2000, 2100, 2200, 2900, 3500, 3600], strict=True
    ):
        one_by_one.add_snapshot(Snapshot({"MONOTONIC": monotonic, "BOOTTIME": boottime}))
    assert state(one_by_one) == state(suspended)


def test_no_snapshot_at_all_adds_nothing():
    graph = graph_of({"MONOTONIC": [], "BOOTTIME": []})
    assert state(graph) == ([], [], [])
    refused("unknown_source_clock", graph, 1, "MONOTONIC", "BOOTTIME")


@pytest.mark.parametrize(
    "snapshot", [{}, {64: 1}, {"MONOTONIC": 1, 3: 2}, [("MONOTONIC", 1)], None]
)
def test_what_is_no_snapshot(snapshot):
    with pytest.raises(UsageError):
        ClockGraph().add_snapshot(snapshot)


# What the graph tells


def test_the_clocks_of_a_graph(daylight_saving):
    daylight_saving.add_snapshot(
        {"64@seq1": Reading(5, 1000, incremental=True), "BOOTTIME": 3 * HOUR}
    )
    clocks = daylight_saving.clocks()
    assert [info.clock for info in clocks] == [ClockId(1), ClockId(6), ClockId(64, 1)]
    assert clocks[0] == (ClockId(1), 1, False, False, 3, HOUR, 2 * HOUR - 1)
    assert clocks[1] == (ClockId(6), 1, False, True, 4, 0, 3 * HOUR)
    assert clocks[2] == (ClockId(64, 1), 1000, True, True, 1, 5000, 5000)


def test_the_series_of_a_graph_are_ordered_lists():
    graph = graph_of({3: 1, 6: 1}, {6: 2, 3: 2}, {3: 3, 6: 3}, {3: 4})
    three, six = ClockId(3), ClockId(6)
    assert graph.series() == [((three, six), 2), ((six, three), 1), ((three,), 1)]


def test_the_edges_of_a_graph(daylight_saving):
    boottime, realtime, monotonic = ClockId(6), ClockId(1), ClockId(3)
    assert daylight_saving.edges() == [(boottime, realtime, 3)]
    daylight_saving.add_snapshot({"MONOTONIC": 1, "BOOTTIME": 3 * HOUR})
    assert daylight_saving.edges() == [
        (monotonic, boottime, 1),
        (boottime, realtime, 3),
        (boottime, monotonic, 1),
    ]


def test_the_trace_clock_of_a_graph():
    assert ClockGraph().trace_clock is None
    assert ClockGraph("MONOTONIC").trace_clock == ClockId(3)


def test_a_graph_shows_its_clocks(suspended):
    assert repr(suspended) == "<ClockGraph of 2 clocks: MONOTONIC, BOOTTIME>"


def test_converting_does_not_change_the_graph(suspended):
    before = state(suspended)
    suspended.convert([1104, 5], "MONOTONIC", "BOOTTIME")
    suspended.convert(5, "TSC", "PERF", errors="mask")
    assert state(suspended) == before
