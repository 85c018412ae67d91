"""A clock that jumped did so for all of its pairs: bars hold over what only another pair shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot, TraceError
from tracetime.graph.clock_graph import inner
from tracetime.graph.tube.machines import Tied, groups

S, MS = 10**9, 10**6
A, B, C = "BOOTTIME", "BOOTTIME@machine1", "BOOTTIME@machine2"
Values = npt.NDArray[np.int64]
Read = Callable[[Values], Values]
QUERIES = np.linspace(S, 59 * S, 60).astype(np.int64)


def graph_of(*clocks: str) -> ClockGraph:
    return ClockGraph(domains=[ClockDomain(clock, max_drift_ppm=50) for clock in clocks])


def reads(size: int, at: int = 30 * S) -> dict[str, Read]:
    """Three clocks without drift, the second of which is set."""
    return {
        A: lambda t: t + 1000 * S,
        B: lambda t: t + 2000 * S + np.where(t >= at, size, 0),
        C: lambda t: t + 3000 * S,
    }


def send(graph: ClockGraph, own: dict[str, Read], one: str, other: str, t: Values) -> None:
    """Messages that take 1 ms."""
    graph.add_order(before=(own[one](t), one), after=(own[other](t + MS), other))


def read_together(graph: ClockGraph, own: dict[str, Read], one: str, other: str, t: Values) -> None:
    half = {other: np.full(len(t), MS)}
    graph.add_snapshot(
        Snapshot({one: own[one](t), other: own[other](t)}, reference=one, half_width_ns=half)
    )


def outside(
    graph: ClockGraph, own: dict[str, Read], clocks: Sequence[str], t: Values = QUERIES
) -> int:
    """How many true readings lie outside the bars of either kind, from every clock to every one."""
    n = 0
    for src, dst in permutations(clocks, 2):
        truth = own[dst](t)
        for bars in ("estimated", "guaranteed"):
            options: dict[str, Any] = {"bars": bars, "bounds": True, "errors": "mask"}
            found = graph.convert(own[src](t), src, dst, policy="tube", **options)
            low, high = (np.asarray(side.fill_null(end)) for side, end in (
                (found.earliest, -(2**63)), (found.latest, 2**63 - 1)
            ))  # fmt: skip
            n += int(((low > truth) | (high < truth)).sum())
    return n


def median_width(graph: ClockGraph, own: dict[str, Read], src: str, dst: str, t: Values) -> float:
    found = graph.convert(own[src](t), src, dst, policy="tube", bars="guaranteed", bounds=True)
    return float(np.median(found.latest - found.earliest))


@pytest.mark.parametrize("size", [-500 * MS, -100 * MS, 5 * MS, 100 * MS, 3600 * S])
def test_a_step_that_only_a_ring_of_messages_shows(size: int) -> None:
    graph, own = graph_of(A, B, C), reads(size)
    for k, (one, other) in enumerate(((A, B), (B, C), (C, A))):
        send(graph, own, one, other, np.arange(0, 60 * S, 400 * MS) + k * 130 * MS)
    assert outside(graph, own, (A, B, C)) == 0
    # A message round the ring takes 3 ms; a step of about as much may be in many places.
    assert abs(size) < 10 * MS or median_width(graph, own, C, A, QUERIES) < 6 * MS


@pytest.mark.parametrize("size", [-100 * MS, 100 * MS, 3600 * S])
@pytest.mark.parametrize("tie", [send, read_together])
def test_a_step_before_the_first_evidence_of_a_pair(
    size: int, tie: Callable[[ClockGraph, dict[str, Read], str, str, Values], None]
) -> None:
    graph, own = graph_of(A, B, C), reads(size)
    for one, other, first in ((A, B, 0), (B, A, 0), (B, C, 32), (C, B, 32)):
        tie(graph, own, one, other, np.arange(first * S, 60 * S, 400 * MS))
    assert outside(graph, own, (A, B, C)) == 0
    # Where a pair has evidence on both sides of an instant, its tube says as much as before.
    assert median_width(graph, own, C, B, np.arange(40, 50) * S) < 5 * MS


@pytest.mark.parametrize("again", [0.2, 1000.0])
@pytest.mark.parametrize("steady", [True, False])
def test_a_clock_that_reads_less_again_after_the_last_evidence_of_a_pair(
    again: float, steady: bool
) -> None:
    """Its readings of then lie before those of the pair, or among them."""
    counter, device = "com.example.counter", "com.example.device"
    set_at, half = 50 * S, {counter: 100}
    base = int(again * S) if again < 1 else 1000 * S + set_at - 20 * S
    own: dict[str, Read] = {
        A: lambda t: t + 300 * S,
        counter: lambda t: np.where(t < set_at, t + 1000 * S, t - set_at + base),
        device: lambda t: t + 77 * S,
    }
    graph = ClockGraph()
    for other, end in ((A, 60), (device, 45)):
        t = np.arange(S, end * S, S) + (S // 2 if other == A else 0)
        graph.add_snapshot(
            Snapshot(
                {other: own[other](t), counter: own[counter](t)},
                reference=other,
                half_width_ns=half,
            )
        )
    t = np.linspace(52 * S, 58 * S, 20).astype(np.int64)
    clocks = [A, device] if steady else [A, counter, device]
    assert outside(graph, own, clocks, t) == 0


def test_explain_says_which_clock_jumped_where_the_steps_do_not_show_it() -> None:
    graph, own = graph_of(A, B, C), reads(100 * MS)
    for one, other, first in ((A, B, 0), (B, C, 32)):
        read_together(graph, own, one, other, np.arange(first * S, 60 * S, 400 * MS))
    line = "BOOTTIME@machine1 jumped where these steps do not show it: bar of all evidence"
    before, after = (
        graph.explain(int(own[C](np.array(at * S))), C, B, policy="tube") for at in (20, 50)
    )
    assert line in str(before)
    assert line not in str(after)


@pytest.mark.parametrize("most", [1, 2])
def test_tubes_of_other_pairs_do_not_count_for_the_limit(most: int) -> None:
    graph, own = graph_of(A, B, C), reads(100 * MS)
    for one, other, first in ((A, B, 0), (B, C, 32)):
        read_together(graph, own, one, other, np.arange(first * S, 60 * S, 400 * MS))
    wall, monotonic = "REALTIME@machine3", "MONOTONIC@machine3"
    graph.add_snapshot(Snapshot({monotonic: QUERIES, wall: QUERIES}))
    inner(graph).most_tubes = most
    assert median_width(graph, own, B, A, QUERIES) < 5 * MS
    with pytest.raises(TraceError) if most == 1 else nullcontext():
        assert (graph.convert(QUERIES, wall, monotonic, policy="tube") == QUERIES).all()


def test_no_certain_order_over_a_step_is_wrong() -> None:
    graph, own = graph_of(A, B, C), reads(100 * MS)
    for one, other, first in ((A, B, 0), (B, A, 0), (B, C, 32), (C, B, 32)):
        send(graph, own, one, other, np.arange(first * S, 60 * S, 400 * MS))
    t = np.linspace(20 * S, 59 * S, 60).astype(np.int64)
    for one, other in permutations((A, B, C), 2):
        order = graph.order((own[one](t), one), (own[other](t + 20 * MS), other))
        assert (np.asarray(order) <= 0).all()


@pytest.mark.parametrize("size", [-3600 * S, -56 * MS, 56 * MS])
def test_a_wall_clock_that_is_set_between_two_comparisons_with_another_machine(size: int) -> None:
    wall, boot, host = "REALTIME@machine1", "BOOTTIME@machine1", "BOOTTIME"
    own: dict[str, Read] = {
        wall: lambda t: t + 1_760_000_000 * S + np.where(t >= 30 * S, size, 0),
        boot: lambda t: t + 3000 * S,
        host: lambda t: t + 10_000 * S,
    }
    graph = graph_of(wall, boot, host)
    read_together(graph, own, boot, wall, np.arange(0, 60, 3) * S)
    read_together(graph, own, boot, host, np.arange(0, 60, 3) * S + 1)
    read_together(graph, own, wall, host, np.arange(40, 60, 9) * S)
    assert outside(graph, own, (wall, boot, host)) == 0


def test_clocks_without_a_jump_have_the_bars_of_their_tubes() -> None:
    own = reads(0)
    alone, graph = graph_of(A, B, C), graph_of(A, B, C)
    read_together(alone, own, A, B, np.arange(60) * S)
    for one, other in ((A, B), (B, C)):
        read_together(graph, own, one, other, np.arange(60) * S)
    options: dict[str, Any] = {"policy": "tube", "bounds": True}
    for one, other in zip(
        *(each.convert(own[A](QUERIES), A, B, **options) for each in (alone, graph)), strict=True
    ):
        assert (one == other).all()


def test_clocks_that_one_list_ties_and_those_of_sequences_are_no_group() -> None:
    a, b, c = (ClockId.parse(name) for name in (A, B, C))
    own = [ClockId(64, sequence) for sequence in range(1, 5)]
    assert groups([(a, b, c)]) == {}
    assert groups([(a, sequence) for sequence in own] + [(a, b)]) == {}
    found = groups([(a, b), (b, c)])
    assert found == dict.fromkeys((a, b, c), Tied(frozenset((a, b, c)), frozenset((b,)), False))
    assert groups([(a, b), (b, c), (c, a)])[a].in_loops
    assert groups([(a, b, c), (c, a)])[a].in_loops
