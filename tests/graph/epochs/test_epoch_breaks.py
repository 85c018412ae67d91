"""What clocks did is the cheapest that explains all rows; what explains as much as well is told, too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pytest

from benchmarks.exact_bars import between, guaranteed_bars, together
from tracetime.graph.epochs import breaks
from tracetime.graph.epochs.breaks import Findings, explanations, find_breaks
from tracetime.graph.epochs.nodes import Nodes
from tracetime.graph.epochs.rows import OPEN, Clock, Rows

S, MS = 10**9, 10**6
SET = Clock(50e-6)
STEADY = Clock(50e-6, jumps=False, back=False)
Values = npt.NDArray[np.int64]
Read = Callable[[Values], Values]


def jumps(start: int, size: int = 0, at: int = 30 * S) -> Read:
    """A clock without drift that jumps once."""
    return lambda t: t + start + np.where(t >= at, size, 0)


def snapshots(clocks: Sequence[Clock], reads: Sequence[Read], t: Values, half: int = 1000) -> Rows:
    """Rows of clocks that are all read together."""
    pairs = [(i, j) for j in range(len(reads)) for i in range(j)]
    return Rows.all(*(together(clocks, (i, j), (reads[i](t), reads[j](t)), half) for i, j in pairs))


def messages(
    clocks: Sequence[Clock], reads: Sequence[Read], pair: tuple[int, int], t: Values
) -> Rows:
    """Rows of messages that take 1 ms."""
    return between(clocks, pair, (reads[pair[0]](t), reads[pair[1]](t + MS)))


def blamed(found: Findings) -> list[list[tuple[int, ...] | int | None]]:
    """Of each break the clocks, or the row, and those of its alternatives."""
    return [[tuple(one.clocks) or one.row for one in tied] for tied in found.breaks]


def outside(found: Findings, reads: Sequence[Read], t: Values) -> int:
    """How many true readings lie outside the bars, from every clock to every other."""
    n = 0
    for source in range(len(reads)):
        for target in set(range(len(reads))) - {source}:
            bars = guaranteed_bars(found, source, reads[source](t), target)
            truth = reads[target](t)
            n += int(((bars.earliest > truth) | (bars.latest < truth)).sum())
    return n


T = np.arange(0, 60 * S, S)
ANY = np.linspace(S, 59 * S, 41).astype(np.int64)


@pytest.mark.parametrize("culprit", range(3))
@pytest.mark.parametrize("size", [-10 * S, -5 * MS, 5 * MS, 3600 * S, -(10**18)])
def test_of_three_clocks_the_one_that_jumped_is_blamed_alone(culprit: int, size: int) -> None:
    clocks = [SET] * 3
    reads = [jumps((k + 1) * 1000 * S, size if k == culprit else 0) for k in range(3)]
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, T)))
    assert blamed(found) == [[(culprit,)]]
    assert outside(found, reads, ANY) == 0


def test_of_two_clocks_either_may_have_jumped() -> None:
    clocks, reads = [SET] * 2, [jumps(1000 * S), jumps(5 * S, 50 * MS)]
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, T)))
    assert sorted(map(str, blamed(found)[0])) == ["(0,)", "(1,)"]
    assert len(found.models) == 2
    assert outside(found, reads, ANY) == 0


def test_a_clock_that_says_that_it_does_not_jump_is_not_blamed() -> None:
    clocks, reads = [STEADY, SET], [jumps(1000 * S), jumps(5 * S, 50 * MS)]
    assert blamed(find_breaks(Nodes(clocks, snapshots(clocks, reads, T)))) == [[(1,)]]


def test_a_second_clock_that_jumps_is_found_too() -> None:
    clocks = [SET] * 4
    reads = [jumps(0), jumps(5 * S, -S), jumps(7 * S, 20 * MS, 45 * S), jumps(9 * S)]
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, T)))
    assert sorted(map(str, blamed(found))) == ["[(1,)]", "[(2,)]"]
    assert outside(found, reads, ANY) == 0


def test_a_late_reading_among_others_is_left_out_alone() -> None:
    clocks, reads = [SET] * 2, [jumps(1000 * S), jumps(5 * S)]
    late = np.where(T == 30 * S, 50 * MS, 0)
    rows = together(clocks, (0, 1), (reads[0](T), reads[1](T) + late), 1000)
    found = find_breaks(Nodes(clocks, rows))
    assert blamed(found) == [[30]]
    assert outside(found, reads, ANY) == 0


@pytest.mark.parametrize("late", [0, 59])
def test_the_last_reading_may_be_late_or_after_a_step(late: int) -> None:
    clocks, reads = [STEADY, SET], [jumps(1000 * S), jumps(5 * S)]
    off = np.where(late * S == T, 50 * MS, 0)
    rows = together(clocks, (0, 1), (reads[0](T), reads[1](T) + off), 1000)
    found = find_breaks(Nodes(clocks, rows))
    assert sorted(map(str, blamed(found)[0])) == ["(1,)", str(late)]


@pytest.mark.parametrize("size", [-500 * MS, 500 * MS, 5 * MS, 3600 * S])
def test_a_step_in_a_one_way_ring_is_found(size: int) -> None:
    clocks = [SET] * 3
    reads = [jumps(1000 * S), jumps(2000 * S, size), jumps(3000 * S)]
    t = np.arange(0, 60 * S, 200 * MS)
    ring = [messages(clocks, reads, (k, (k + 1) % 3), t + k * 66 * MS) for k in range(3)]
    found = find_breaks(Nodes(clocks, Rows.all(*ring)))
    assert blamed(found) == [[(1,)]]
    assert outside(found, reads, ANY) == 0


@pytest.mark.parametrize("size", [100 * MS, -100 * MS, 3600 * S])
def test_a_step_that_one_pair_shows_holds_for_the_clock_s_other_pairs(size: int) -> None:
    clocks = [SET] * 3
    reads = [jumps(1000 * S), jumps(2000 * S, size), jumps(3000 * S)]
    rows = [
        messages(clocks, reads, pair, np.arange(first * S, 60 * S, 200 * MS))
        for pair, first in (((0, 1), 0), ((1, 0), 0), ((1, 2), 32), ((2, 1), 32))
    ]
    found = find_breaks(Nodes(clocks, Rows.all(*rows)))
    # Nothing tells whether the first or the second was set.
    assert sorted(map(str, blamed(found)[0])) == ["(0,)", "(1,)"]
    assert outside(found, reads, ANY) == 0


def test_of_two_clocks_with_many_steps_none_that_did_not_jump_is_blamed_alone() -> None:
    rng = np.random.default_rng(3)
    ends = np.sort(rng.choice(np.arange(1, 62), 20, replace=False)) * 600 * S // 63
    steps = [
        (int(rng.integers(2)), at, int(rng.choice([-1, 1]) * 10 ** rng.uniform(7, 9)))
        for at in ends.tolist()
    ]

    def reads(clock: int) -> Read:
        return lambda t: t + sum(np.where(t >= at, size, 0) for c, at, size in steps if c == clock)

    clocks, both, sent = [SET] * 2, [reads(0), reads(1)], np.random.default_rng(3)
    nodes = Nodes(
        clocks,
        Rows.all(
            *(
                messages(clocks, both, pair, np.sort(sent.integers(0, 600 * S, 3000)))
                for pair in ((0, 1), (1, 0))
            )
        ),
    )
    for tied in find_breaks(nodes).breaks:
        if len(tied) == 1 and tied[0].row is None:
            ((clock, (first, last)),) = tied[0].clocks.items()
            seen = nodes.at[nodes.first[clock] + np.array([first, last + 1])] - nodes.at[0]
            near = [c for c, at, _ in steps if seen[0] - 3 * S <= at <= seen[1] + 3 * S]
            assert near == [clock]


def test_a_suspend_is_one_event_of_all_clocks_that_stop_in_it() -> None:
    stops = Clock(100e-6, back=False, machine=0)
    clocks = [Clock(100e-6, jumps=False, back=False), stops, stops, stops]

    def awake(t: Values) -> Values:
        return np.minimum(t, 51 * S) + np.maximum(t - 54 * S, 0)

    reads: list[Read] = [
        lambda t: t,
        lambda t: awake(t) + 5,
        lambda t: awake(t) + awake(t) // 50_000,
        lambda t: awake(t) + 17 * S - awake(t) // 30_000,
    ]
    t = np.arange(0, 100 * S, 5 * S)
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, t)))
    assert blamed(found) == [[(1, 2, 3)]]
    assert outside(found, reads, np.linspace(0, 95 * S, 41).astype(np.int64)) == 0


def test_a_counter_that_starts_anew_and_shares_no_reading_is_placed_by_its_readings() -> None:
    clocks = [STEADY, Clock(500e-6)]
    reads: list[Read] = [
        lambda t: t + 5000 * S,
        lambda t: np.where(t < 11 * S, t + 123 * S, t - 11 * S),
    ]
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, np.arange(0, 21) * S)))
    t = np.array([3, 11, 19, 25, 39]) * S // 2
    bars = guaranteed_bars(found, 1, reads[1](t), 0)
    assert ((bars.earliest <= reads[0](t)) & (reads[0](t) <= bars.latest)).all()
    assert (bars.latest - bars.earliest).max() < MS


def test_events_after_the_last_reading_of_a_clock_set_back_may_be_of_either_epoch() -> None:
    clocks, reads = [STEADY, SET], [jumps(1000 * S), jumps(0, -10 * S, 55 * S)]
    found = find_breaks(Nodes(clocks, snapshots(clocks, reads, T)))
    assert outside(found, reads, np.arange(55, 75) * S) == 0


def test_the_order_of_rows_does_not_matter() -> None:
    clocks, reads = [SET] * 3, [jumps(0), jumps(5 * S, -40 * S), jumps(7 * S)]
    rows = snapshots(clocks, reads, T)
    shuffled = rows.only(np.random.default_rng(1).permutation(len(rows.one)))
    one, other = (find_breaks(Nodes(clocks, each)) for each in (rows, shuffled))
    assert one.models == other.models
    for bars in zip(*(guaranteed_bars(f, 1, reads[1](ANY), 0) for f in (one, other)), strict=True):
        assert (bars[0] == bars[1]).all()


@pytest.mark.parametrize("off", [MS, 3600 * S])
def test_half_widths_that_do_not_hold_are_told_once(off: int) -> None:
    clocks, n = [SET] * 2, 5_000
    t = np.arange(n) * 10 * MS
    late = np.random.default_rng(1).integers(-off, off, n)
    rows = together(clocks, (0, 1), (t, t + 7 * S + late), 1000)
    found = find_breaks(Nodes(clocks, rows))
    assert found.not_believed.keys() == {(0, 1)}
    assert found.not_believed[0, 1] <= 2 * off
    assert found.solved
    assert not found.breaks


def test_what_nothing_connects_has_open_bars() -> None:
    clocks = [SET] * 4
    tied = [together(clocks, pair, (T, T), 1000) for pair in ((0, 1), (2, 3))]
    found = find_breaks(Nodes(clocks, Rows.all(*tied)))
    assert (guaranteed_bars(found, 0, T[:2], 1).latest < OPEN).all()
    assert (guaranteed_bars(found, 0, T[:2], 2).latest == OPEN).all()


def test_what_few_breaks_do_not_explain_has_open_bars(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaks, "MOST_ROUNDS", 4)
    clocks, rng = [SET] * 16, np.random.default_rng(1)
    rows = []
    for pair in combinations(range(16), 2):
        t = rng.integers(0, 100 * S, 6)
        # Each is ahead of all before it, by as much.
        rows.append(together(clocks, pair, (t, t + 5 * S), 1000))
    found = find_breaks(Nodes(clocks, Rows.all(*rows)))
    assert not found.solved
    bars = guaranteed_bars(found, 0, T[:2], 1)
    assert (bars.earliest == -OPEN).all()
    assert (bars.latest == OPEN).all()


def test_clocks_set_back_where_other_pairs_were_not_read_are_found() -> None:
    """Each of two clocks falls while the pair with its other neighbour is not read."""
    clocks = [STEADY, SET, SET, SET]
    reads = [
        jumps(0),
        jumps(1000 * S, -39 * S, 80 * S),
        jumps(2000 * S, -56 * S, 30 * S),
        jumps(3000 * S),
    ]
    rows = [
        together(clocks, (k, k + 1), (reads[k](t), reads[k + 1](t)), 1000)
        for k, (first, last) in enumerate([(33, 68), (4, 99), (61, 95)])
        for t in [np.arange(first * S, last * S, 2100 * MS)]
    ]
    every = explanations(clocks, Rows.all(*rows))
    assert [sorted(map(str, blamed(found))) for found in every] == [["[(1,)]", "[(2,)]"]]
    assert outside(every[0], reads, np.linspace(5 * S, 98 * S, 9).astype(np.int64)) == 0
