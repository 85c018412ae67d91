"""What floor costs: distances, order, and the readings that are compared."""

from __future__ import annotations

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace
from reading import opened

from tracetime import ClockId
from tracetime.analysis import floor_cost
from tracetime.analysis.floor_cost import FloorCost
from tracetime.graph.clock_graph import inner
from tracetime.graph.values import distances

A, B = ClockId(MONOTONIC), ClockId(REALTIME)
S = 10**9


def test_nothing_was_looked_at_yet():
    cost = FloorCost()
    assert cost.to_dict() == {
        "clock": None,
        "at_most_ns": 0,
        "events_reordered": None,
        "clocks_left_out": 0,
        "clocks_untied": 0,
        "is_limit": True,
    }
    flags = cost.drift_ns, cost.ended_early, cost.other_ways, cost.leaves_bars, cost.drifts_on
    assert flags == (0, False, False, False, False)


def test_the_first_of_the_clocks_that_are_farthest_off_is_named():
    cost = FloorCost()
    cost.note(A, 0)
    assert (cost.clock, cost.at_most_ns) == (A, 0)
    cost.note(B, 0)
    assert cost.clock == A
    cost.note(B, 5)
    cost.note(A, 5)
    assert (cost.clock, cost.at_most_ns) == (B, 5)
    cost.note(A, 6)
    cost.note(B, 1)
    assert (cost.clock, cost.at_most_ns) == (A, 6)


@pytest.mark.parametrize(
    ("settled", "untied", "is_limit"),
    [(True, set(), True), (False, set(), False), (True, {A}, False), (False, {A}, False)],
)
def test_it_is_a_limit_where_all_is_settled_and_tied(settled, untied, is_limit):
    cost = FloorCost(reordered=7)
    cost.settled, cost.untied, cost.clocks_left_out = settled, untied, 3
    assert cost.is_limit == is_limit
    assert cost.to_dict() == {
        "clock": None,
        "at_most_ns": 0,
        "events_reordered": 7,
        "clocks_left_out": 3,
        "clocks_untied": len(untied),
        "is_limit": is_limit,
    }


@pytest.mark.parametrize(
    ("drift_ns", "at_most_ns", "drifts_on"),
    [
        (10_000, 0, False),
        (10_001, 0, True),
        (50_000, 50_000, False),
        (50_001, 50_000, True),
        (20_000, 9_999, True),
        (10_001, 10_001, False),
    ],
)
def test_an_old_offset_matters_beyond_ten_microseconds_and_what_was_seen(
    drift_ns, at_most_ns, drifts_on
):
    cost = FloorCost()
    cost.drift_ns, cost.at_most_ns = drift_ns, at_most_ns
    assert cost.drifts_on == drifts_on


def test_what_was_seen_of_every_event_counts_in_place_of_what_was_sampled():
    for seen in (None, A):
        sampled, events = FloorCost(), FloorCost(reordered=4)
        sampled.note(B, 9)
        sampled.settled, sampled.clocks_left_out, sampled.untied = False, 5, {B}
        if seen is not None:
            events.note(seen, 3)
        events.untied = {A}
        sampled.join(events)
        expected = (B, 9) if seen is None else (A, 3)
        assert (sampled.clock, sampled.at_most_ns) == expected
        rest = sampled.events_reordered, sampled.clocks_left_out, sampled.untied, sampled.settled
        assert rest == (4, 0, {A}, True)


@pytest.mark.parametrize(
    ("floor", "earliest", "latest", "reordered"),
    [
        # One is later than two behind it, or earlier than two before it.
        ([0, 1, 2], [10, 1, 2], [10, 1, 2], 1),
        ([0, 1, 2], [0, 1, -5], [0, 1, -5], 1),
        # Two turned round; and out of order in the file.
        ([0, 1], [2, 1], [2, 1], 1),
        ([1, 0], [1, 2], [1, 2], 1),
        # At one instant nothing is certain.
        ([0, 1], [1, 1], [1, 1], 0),
        ([0, 1], [2, -1], [3, 2], 0),
        ([0, 1], [3, -1], [4, 2], 1),
        ([5, 5], [9, 1], [9, 1], 1),
        # All of three, the other way round: each stands behind a later one but the first.
        ([0, 1, 2], [9, 5, 1], [9, 5, 1], 2),
        # Within their bars.
        ([0, 1], [0, 0], [0, 1], 0),
        ([7], [9], [9], 0),
        ([], [], [], 0),
    ],
)
def test_events_on_the_wrong_side_of_another(floor, earliest, latest, reordered):
    cost = FloorCost()
    columns = [np.array(column, dtype=np.int64) for column in (floor, earliest, latest)]
    cost.count_order(*columns)
    assert cost.events_reordered == reordered
    cost.count_order(*columns)
    assert cost.events_reordered == 2 * reordered


def test_distances_fit_in_uint64():
    one = np.array([-(2**63), 2**63 - 1, 5, -3, 7], dtype=np.int64)
    other = np.array([2**63 - 1, -(2**63), -4, -9, 7], dtype=np.int64)
    assert distances(one, other).tolist() == [2**64 - 1, 2**64 - 1, 9, 6, 0]
    assert distances(one, other).dtype == np.uint64


def points(monkeypatch, readings, unit=1, most=2048, others=None):
    monkeypatch.setattr(floor_cost, "_GAPS_SAMPLED", most)
    others = readings if others is None else others
    packets = [
        snapshot({BOOTTIME: S + other * unit, 64: (reading, unit)}, 7)
        for reading, other in zip(readings, others, strict=True)
    ]
    with opened(trace(*packets, event(S))) as read:
        return floor_cost._points(inner(read.clocks), ClockId(64, 7), ClockId(BOOTTIME)).tolist()


def test_floor_is_looked_at_at_snapshots_half_way_and_just_before_the_next(monkeypatch):
    assert points(monkeypatch, [10, 20, 31]) == [10, 15, 19, 20, 25, 30, 31]
    assert points(monkeypatch, [11, 21], unit=1000) == [11, 16, 20, 21]
    assert points(monkeypatch, [7, 8, 11]) == [7, 8, 9, 10, 11]
    assert points(monkeypatch, [5]) == [5]
    # Of very many gaps, in those in which the offset changes most; and at the last reading.
    times = [10, 20, 30, 40, 50]
    assert points(monkeypatch, times, most=4) == [
        10, 15, 19, 20, 25, 29, 30, 35, 39, 40, 45, 49, 50,
    ]  # fmt: skip
    others = [10, 20, 37, 47, 60]
    assert points(monkeypatch, times, most=2, others=others) == [20, 25, 29, 40, 45, 49, 50]
    assert points(monkeypatch, times, most=1, others=others) == [20, 25, 29, 50]


def test_how_much_is_looked_at_at_once_and_at_most():
    """As the documentation of `FloorCost.events_reordered` has it: a million of events together."""
    assert floor_cost._ORDERED_TOGETHER == 1_048_576
    assert (floor_cost._GAPS_SAMPLED, floor_cost.CLOCKS_SAMPLED, floor_cost._MOST_CONSTANT) == (
        2048,
        200,
        1000,
    )
