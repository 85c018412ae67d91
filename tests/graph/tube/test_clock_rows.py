"""The rows of two clocks say the same breaks as the tube of the two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from pair_graphs import BOOT, MONO, A, S, measured

from tracetime import ClockDomain, ClockGraph
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.graph.epochs.breaks import find_breaks
from tracetime.graph.epochs.nodes import Nodes
from tracetime.graph.epochs.rows import OPEN
from tracetime.graph.tube.group import rows_of

Values = npt.NDArray[np.int64]
Cuts = list[tuple[int, int]]


def cuts(t: Values, offset: Values) -> tuple[Cuts, Cuts]:
    """The readings of BOOTTIME about each break, by the tube and by the rows."""
    graph = ClockGraph(domains=[ClockDomain(clock, max_drift_ppm=100) for clock in (BOOT, A)])
    graph.add_snapshot(measured(t, t + offset + 7 * S, np.full(len(t), 1000), BOOT, A))
    pair = graph._graph.tubes.pair(BOOT, A)
    ids, clocks, rows = rows_of([pair], graph.domain)
    nodes = Nodes(clocks, rows)
    number = ids.index(A)
    told = []
    for first, last in (tied[0].clocks[number] for tied in find_breaks(nodes).breaks):
        around = nodes.first[number] + np.array([first, last + 1])
        told.append(tuple(nodes.at[around].tolist()))
    every = pair.tube.discontinuities
    steps = every.take(np.isin([one.kind for one in every], ["step", "reset"]))
    return sorted(zip(steps.a_from.tolist(), steps.a_to.tolist(), strict=True)), sorted(told)


@pytest.mark.parametrize("seed", range(12))
def test_rows_of_two_clocks_say_the_breaks_of_their_tube(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, 600, 80)) * S + np.arange(80)
    offset = t // 50_000 + rng.integers(-400, 400, len(t))
    for at in rng.choice(np.arange(6, 74), int(rng.integers(0, 4)), replace=False):
        offset[t > t[at]] += int(rng.choice([-1, 1]) * 10 ** rng.uniform(7, 9.5))
    by_tube, by_rows = cuts(t, offset)
    assert by_rows == by_tube


def test_a_snapshot_between_two_steps_is_not_left_out() -> None:
    t = np.arange(60) * 8 * S
    offset = np.where(t > t[30], 37_000_000, 0) - np.where(t > t[31], 95_000_000, 0)
    by_tube, by_rows = cuts(t, offset)
    assert by_rows == by_tube == [(t[30], t[31]), (t[31], t[32])]


def test_an_order_bounds_one_side() -> None:
    graph = ClockGraph(domains=[ClockDomain(clock, max_drift_ppm=100) for clock in (BOOT, A)])
    graph.add_order(before=(5 * S, BOOT), after=(9 * S, A))
    _, _, rows = rows_of([graph._graph.tubes.pair(BOOT, A)], graph.domain)
    assert (rows.least_ns.tolist(), rows.most_ns.tolist()) in (([0], [OPEN]), ([-OPEN], [0]))


def test_clocks_that_stop_in_a_sleep_are_told_from_one_that_goes_on() -> None:
    graph = ClockGraph()
    graph.add_snapshot(measured(np.arange(5) * S, np.arange(5) * S, np.full(5, 1000), BOOT, MONO))
    ids, clocks, _ = rows_of([graph._graph.tubes.pair(BOOT, MONO)], graph.domain)
    known = dict(zip(ids, clocks, strict=True))
    assert not known[BOOT].jumps
    assert known[BOOT].machine is None
    assert known[MONO].machine == 0
    assert not known[MONO].back


def test_a_pair_that_learnt_a_rate_gives_no_rows() -> None:
    tsc = ClockId(BUILTIN_IDS["TSC"])
    graph = ClockGraph()
    t = np.arange(1, 6) * S
    graph.add_snapshot(measured(t, 3 * t, np.full(5, 1000), BOOT, tsc))
    pair = graph._graph.tubes.pair(BOOT, tsc)
    assert pair.learnt
    assert rows_of([pair], graph.domain)[0] == []
