"""A clock that was set back shows some readings twice: bars hold both instants.

Of two clocks of one kind, snapshots alone do not tell which one was set back.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pair_graphs import S, measured

from tracetime import ClockGraph, ClockId
from tracetime.graph.tube.results import Bars

BOOT, COARSE, REALTIME = ClockId(6), ClockId(4), ClockId(1)
LOW, HIGH = ClockId(200), ClockId(201)
KINDS: list[Bars] = ["estimated", "guaranteed"]


def graph_of(at_ns: list[int], read_ns: list[int], clock: ClockId, other: ClockId) -> ClockGraph:
    graph = ClockGraph()
    graph.add_snapshot(measured(np.array(at_ns), np.array(read_ns), 50, other, clock))
    return graph


@pytest.mark.parametrize(
    ("clock", "other"), [(COARSE, BOOT), (BOOT, COARSE), (LOW, HIGH), (HIGH, LOW)]
)
def test_a_reading_of_a_snapshot_that_the_clock_shows_again_is_two_instants(
    clock: ClockId, other: ClockId
) -> None:
    at = [k * S for k in range(10, 20)]
    # Set back by 1.5 s between the fifth snapshot and the sixth.
    graph = graph_of(at, [t if t < 14.5 * S else t - 3 * S // 2 for t in at], clock, other)
    for reading in (13 * S, 13 * S + 1, 13 * S + S // 4, 14 * S):
        bar = graph.convert([reading], clock, other, policy="tube", bounds=True, errors="mask")
        assert bar.estimate[0].as_py() is None
        assert bar.earliest[0].as_py() <= reading
        assert bar.latest[0].as_py() >= reading + 3 * S // 2
    bar = graph.convert([11 * S, 18 * S], clock, other, policy="tube", bounds=True)
    assert bar.estimate.tolist() == [11 * S, 19 * S + S // 2]
    assert (bar.latest - bar.earliest).max() < 1_000_000


def test_a_suspend_is_no_set_back() -> None:
    at = [k * S for k in range(10, 20)]
    graph = graph_of([t + 40 * S * (t > 14 * S) for t in at], at, COARSE, BOOT)
    bar = graph.convert([13 * S, 14 * S, 15 * S], COARSE, BOOT, policy="tube", bounds=True)
    assert bar.estimate.tolist() == [13 * S, 14 * S, 55 * S]
    assert (bar.latest - bar.earliest).max() < 1_000


def test_of_two_devices_it_is_the_one_that_restarts_near_zero_that_was_reset() -> None:
    at = [k * S for k in range(1_010, 1_020)]
    graph = graph_of(at, [t if t < 1_014 * S else t - 1_013 * S for t in at], HIGH, LOW)
    bar = graph.convert(at, LOW, HIGH, policy="tube", bounds=True)
    assert bar.estimate.tolist()[-1] == 6 * S


@st.composite
def worlds(draw: st.DrawFn, shown: bool) -> tuple[list[int], list[tuple[int, int]]]:
    """When snapshots are taken, and when a clock is set back by how much, ns.

    At most once between two snapshots: more would hide what the clock shows in between.

    shown: only by more than passes between the two: by less, it looks like a suspend.
    """
    gaps = draw(st.lists(st.integers(S // 10, 5 * S), min_size=2, max_size=10))
    at = (np.cumsum([10 * S, *gaps])).tolist()
    places = draw(st.sets(st.integers(0, len(gaps) - 1), min_size=1, max_size=2))
    sets = []
    for k in sorted(places):
        least = gaps[k] + S // 100 if shown else S // 100
        by = draw(st.integers(least, least + 20 * S))
        sets.append((draw(st.integers(at[k] + 1, at[k + 1])), by))
    return at, sets


def read(t: int, sets: list[tuple[int, int]]) -> int:
    return t + 100 * S - sum(by for at, by in sets if t >= at)


def instants(reading: int, at: list[int], sets: list[tuple[int, int]]) -> list[int]:
    """All instants between the snapshots at which the clock shows a reading."""
    total, shifts = 0, [0]
    for _, by in sets:
        total += by
        shifts.append(total)
    candidates = {reading - 100 * S + shift for shift in shifts}
    return [t for t in candidates if at[0] <= t <= at[-1] and read(t, sets) == reading]


@pytest.mark.parametrize(
    ("clock", "other"), [(COARSE, BOOT), (LOW, HIGH), (HIGH, LOW), (HIGH, BOOT), (REALTIME, BOOT)]
)
@given(data=st.data())
def test_bars_hold_every_instant_at_which_the_clock_shows_the_reading(
    clock: ClockId, other: ClockId, data: st.DataObject
) -> None:
    at, sets = data.draw(worlds(shown=clock == COARSE))
    shown = [read(t, sets) for t in at]
    graph = graph_of(at, shown, clock, other)
    others = data.draw(st.lists(st.integers(at[0], at[-1]), max_size=5))
    edges = [read(t + d, sets) for t, _ in sets for d in (-1, 0) if at[0] <= t + d <= at[-1]]
    readings = [*shown, *edges, *(read(t, sets) for t in others)]
    for bars in KINDS:
        bar = graph.convert(
            readings, clock, other, policy="tube", bounds=True, bars=bars, errors="mask"
        )
        sides = zip(bar.earliest.to_pylist(), bar.latest.to_pylist(), strict=True)
        for reading, (earliest, latest) in zip(readings, sides, strict=True):
            for t in instants(reading, at, sets):
                assert earliest is not None and earliest <= t <= latest, (reading, bars)
