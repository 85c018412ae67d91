"""Ways over several clocks by exact values: their limits, ticks, ends, words and loops."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, Snapshot
from tracetime.errors import OVERFLOW
from tracetime.graph.tube.explanation import TubeExplanation, TubeHop
from tracetime.graph.tube.loops import Loops
from tracetime.graph.tube.pair import hop, to_ns, to_ticks
from tracetime.graph.tube.results import Inconsistency, Reached

S = 1_000_000_000
A, B, C, D = (ClockId(200 + k) for k in range(4))
INT64_MAX, INT64_MIN = (1 << 63) - 1, -(1 << 63)


def measured(one: ClockId, a: Any, other: ClockId, b: Any, half: Any) -> Snapshot:
    return Snapshot({one: a, other: b}, reference=one, half_width_ns={other: half})


# Ticks


@pytest.mark.parametrize(
    ("rate", "up", "ns", "expected"),
    [
        (Fraction(1), 0, [5, -5], [5, -5]),
        (Fraction(1), 0.5, [5, -5], [5, -5]),
        (Fraction(1), 1, [5, -5], [5, -5]),
        (Fraction(10), 0, [0, 9, 10, -1], [0, 0, 1, -1]),
        (Fraction(10), 0.5, [4, 5, 14, 15, -5, -6], [0, 1, 1, 2, 0, -1]),
        (Fraction(10), 1, [8, 9, 10, 19], [0, 1, 1, 2]),
        (Fraction(3), 0.5, [1, 2, 4, 5], [0, 1, 1, 2]),
        (Fraction(5, 2), 0.5, [1, 2, 3, 4], [0, 1, 1, 2]),
        (Fraction(1, 3), 0, [0, 1, 2], [0, 3, 6]),
        (Fraction(1, 3), 0.5, [0, 1, 2], [0, 3, 6]),
        (Fraction(1, 3), 1, [0, 1, 2], [3, 6, 9]),
        (
            Fraction(10),
            0.5,
            [INT64_MAX - 5, INT64_MAX - 4],
            [(INT64_MAX) // 10, 10**18 * 9223372036854775803 // 10**19],
        ),
        (Fraction(10), 1, [INT64_MAX - 1, INT64_MAX], [INT64_MAX // 10, INT64_MAX // 10]),
        (Fraction(1 << 70), 0.5, [5, INT64_MAX], [0, 0]),
        (Fraction(1 << 70), 0, [5, -5], [0, -1]),
    ],
)
def test_ns_are_the_first_the_nearest_or_the_last_tick(
    rate: Fraction, up: float, ns: list[int], expected: list[int]
) -> None:
    ticks, beyond = to_ticks(np.array(ns), rate, up)
    assert ticks.tolist() == expected
    assert beyond.tolist() == [False] * len(ns)


def test_ticks_beyond_int64_are_told() -> None:
    ticks, beyond = to_ticks(np.array([INT64_MAX // 2, INT64_MAX // 2 + 1, 5]), Fraction(1, 2), 0)
    assert ticks.tolist() == [INT64_MAX - 1, INT64_MAX, 10]
    assert beyond.tolist() == [False, True, False]
    values = np.array([4, INT64_MIN // 2, INT64_MIN // 2 - 1])
    assert to_ns(values, Fraction(1))[0] is values
    assert to_ns(values, Fraction(1))[1].tolist() == [False] * 3
    ns, beyond = to_ns(values, Fraction(2))
    assert ns.tolist() == [8, INT64_MIN, INT64_MIN]
    assert beyond.tolist() == [False, False, True]


def test_a_value_that_leaves_int64_on_its_way_is_an_overflow() -> None:
    graph = ClockGraph(
        domains=[
            ClockDomain(B, ns_per_tick=Fraction(2)),
            ClockDomain(C, ns_per_tick=Fraction(1, 2)),
        ]
    )
    at = np.arange(1, 4) * S
    graph.add_snapshot({A: at, B: at // 2})
    graph.add_snapshot({A: at, C: 2 * at})
    policy = graph._graph.tubes

    def status(pair: Any, src: ClockId, *values: int) -> list[int]:
        here = np.array(values)
        marks = np.zeros(len(here), dtype=np.uint8)
        marks[0] = 5
        reached = hop(pair, src, Reached(here, here, here, marks), "estimated")
        assert (reached.earliest <= reached.estimate).all()
        assert (reached.estimate <= reached.latest).all()
        return list(reached.status.tolist())

    # In ns they are 2 for one: the half of int64 has room.
    room = INT64_MAX // 4
    assert status(policy.pair(A, B), B, 0, S, room, 2 * room + 5) == [5, 0, 0, OVERFLOW]
    assert status(policy.pair(A, C), A, 0, S, room, 2 * room + 5) == [5, 0, 0, OVERFLOW]


# Outside of snapshots


def hop_of(graph: ClockGraph, value: int, src: Any, dst: Any, **more: Any) -> TubeHop:
    explained = graph.explain(value, src, dst, policy="tube", **more)
    assert isinstance(explained, TubeExplanation)
    (hop,) = explained.steps
    return hop


@pytest.mark.parametrize(
    ("at", "side", "outside_ns"),
    [
        (S - 7, "before first", 7),
        (S - 1, "before first", 1),
        (S, "", 0),
        (2 * S, "", 0),
        (3 * S, "", 0),
        (3 * S + 1, "after last", 1),
        (3 * S + 9, "after last", 9),
    ],
)
def test_how_far_outside_of_its_snapshots_a_value_is_brought(
    at: int, side: str, outside_ns: int
) -> None:
    graph = ClockGraph(domains=[ClockDomain(C, ns_per_tick=Fraction(4))])
    times = np.arange(1, 4) * S
    graph.add_snapshot(measured(A, times, B, times + 5, 0))
    for value, src, dst in ((at, A, B), (at + 5, B, A)):
        hop = hop_of(graph, value, src, dst)
        assert (hop.extrapolated, hop.outside_ns) == (side, outside_ns)
        expected = hop.outside
        if not side:
            assert expected is None
        else:
            assert expected is not None
            assert list(expected) == [side, outside_ns, "ns", src, dst]


# Words


def one_hop(**more: Any) -> TubeHop:
    plain: dict[str, Any] = {
        "src": A, "dst": B, "estimate": 70, "earliest": 67, "latest": 75, "snapshots": 2,
        "half_width_ns": 2.6, "assumed": False, "drift_ppm": 99.6, "wander_ppm": 0.25,
        "learnt": False, "unit": "ns", "extrapolated": "", "outside_ns": 0, "src_tick_ns": None,
        "dst_tick_ns": None,
    }  # fmt: skip
    return TubeHop(**plain | more)


def told_of(*hops: TubeHop, bars: Any = "estimated") -> TubeExplanation:
    return TubeExplanation(50, A, B, bars, list(hops), 70, 66, 79, {})


def test_a_conversion_is_told_hop_by_hop() -> None:
    assert str(told_of(one_hop(), one_hop(src=B, dst=C, snapshots=1, unit="ticks"))).split(
        "\n"
    ) == [
        "200 50 -> 201 70 ticks",
        "  between 66 and 79 (-4 +9 ticks), estimated bars",
        "  1. 200 -> 201 70, bar -3 +5 ns: 2 snapshots, half-width 3 ns (measured), "
        "drift within 100 ppm, wander within 0.25 ppm",
        "  2. 201 -> 202 70, bar -3 +5 ticks: 1 snapshot, half-width 3 ns (measured), "
        "drift within 100 ppm, wander within 0.25 ppm",
    ]


@pytest.mark.parametrize(
    ("hop", "basis", "why", "end"),
    [
        (one_hop(), "guaranteed", "", ""),
        (one_hop(assumed=True), "estimated", "half-widths are assumed", ""),
        (one_hop(learnt=True), "estimated", "a rate is learnt", ", rate learnt from these"),
        (one_hop(dst=ClockId(4)), "estimated", "a COARSE clock's lag is as far as it was seen",
         ", lag as far as it was seen"),
        (one_hop(src=ClockId(2)), "estimated", "a COARSE clock's lag is as far as it was seen",
         ", lag as far as it was seen"),
        (one_hop(dst=ClockId(4), assumed=True), "estimated",
         "half-widths are assumed and a COARSE clock's lag is as far as it was seen", ""),
        (one_hop(src_tick_ns=52.1), "guaranteed", "",
         ", 200 ticks by 52.1 ns as its readings show"),
        (one_hop(dst_tick_ns=1e6), "guaranteed", "",
         ", 201 ticks by 1 ms as its readings show"),
    ],
)  # fmt: skip
def test_what_a_bar_rests_on(hop: TubeHop, basis: str, why: str, end: str) -> None:
    expected = told_of(hop, bars="guaranteed")
    assert expected.basis == basis
    assert told_of(hop).basis == "estimated"
    _, second, third = str(expected).split("\n")
    bars = f"guaranteed bars, but estimates: {why}" if why else "guaranteed bars"
    assert second.endswith(f"), {bars}")
    assert str(told_of(hop)).split("\n")[1].endswith("), estimated bars")
    assert third.endswith(f"wander within 0.25 ppm{end}")
    assert ("(assumed)" in third) is hop.assumed


def test_the_unit_of_a_clock_itself_is_its_own() -> None:
    itself = TubeExplanation(5, A, A, "estimated", [], 5, 5, 5, {}, "ticks")
    assert itself.unit == "ticks"
    assert itself.outside is None
    assert str(itself).split("\n")[1] == "  between 5 and 5 (-0 +0 ticks), estimated bars"
    assert told_of(one_hop(), one_hop(unit="ticks")).unit == "ticks"
    assert told_of(one_hop(unit="ticks"), one_hop()).unit == "ns"


# Clocks that are not there


def test_who_is_not_known_is_named() -> None:
    graph = ClockGraph()
    graph.add_snapshot({A: 5, B: 5})
    graph.add_snapshot({C: 7})
    graph.add_snapshot({D: 7, ClockId(204): 7})
    policy = graph._graph.tubes

    def fault(call: Any, *clocks: ClockId) -> tuple[str, str]:
        with pytest.raises(ConversionError) as error:
            call(*clocks)
        return error.value.reason, error.value.message

    alone = "no snapshot or order has 202 with another clock"
    assert fault(policy.path, C, A) == ("unknown_source_clock", alone)
    assert fault(policy.path, A, C) == ("unknown_target_clock", alone)
    assert fault(policy.pair, C, A) == ("unknown_source_clock", alone)
    assert fault(policy.pair, A, C) == ("unknown_source_clock", alone)
    apart = "the snapshots do not lead from 200 to 203"
    assert fault(policy.path, A, D) == ("no_path", apart)
    assert policy.path(A, B) == [A, B]


# Loops


def tied(*groups: range) -> list[tuple[ClockId, ClockId]]:
    """Any two clocks of each group."""
    return [
        (ClockId(1000 + one), ClockId(1000 + other))
        for group in groups
        for one, other in combinations(group, 2)
    ]


def graph_of(pairs: list[tuple[ClockId, ClockId]]) -> ClockGraph:
    graph = ClockGraph()
    for one, other in pairs:
        graph.add_snapshot({one: 5, other: 5})
    return graph


def groups(*sizes: int) -> Iterator[range]:
    start = 0
    for size in sizes:
        yield range(start, start + size)
        start += size


@pytest.fixture
def gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop contradicts itself."""

    def gap(_: Any, src: ClockId, dst: ClockId, via: tuple[ClockId, ...]) -> Inconsistency:
        return Inconsistency(src, dst, via, 0, 1)

    monkeypatch.setattr(Loops, "_gap", gap)


# Of n clocks, any two of which share snapshots of their own, n (n - 1) / 2 pairs have n - 2 thirds.
SIZES = (13, 7, 5, 4, 4, 3)


@pytest.mark.usefixtures("gaps")
def test_of_all_loops_1024_are_compared() -> None:
    pairs = tied(*groups(*SIZES))
    square = [ClockId(500 + k) for k in range(4)]
    pairs += [tuple(sorted((square[k - 1], square[k]))) for k in range(4)]  # type: ignore[misc]
    found, more = graph_of(pairs)._graph.tubes.inconsistencies(list(pairs))
    assert (len(found), more) == (858 + 105 + 30 + 12 + 12 + 3 + 4, False)
    assert len(found) == 1024
    pairs += tied(range(100, 103))
    found, more = graph_of(pairs)._graph.tubes.inconsistencies(list(pairs))
    assert (len(found), more) == (1024, True)


@pytest.mark.usefixtures("gaps")
@pytest.mark.parametrize(("n", "expected"), [(256, 256), (257, 256)])
def test_of_longer_loops_256_are_looked_for(n: int, expected: int) -> None:
    clocks = [ClockId(1000 + k) for k in range(n)]
    ring = [tuple(sorted((clocks[k - 1], clocks[k]))) for k in range(n)]
    found, more = graph_of(ring)._graph.tubes.inconsistencies(list(ring))  # type: ignore[arg-type]
    assert (len(found), more) == (expected, False)
    assert {len(loop.via) for loop in found} == {n - 2}


@pytest.mark.usefixtures("gaps")
def test_the_search_for_longer_loops_takes_500_000_steps() -> None:
    """Each round of 1,001 clocks looks at 1,000 of them, each with two neighbours."""
    clocks = [ClockId(1000 + k) for k in range(1001)]
    ring = [tuple(sorted((clocks[k - 1], clocks[k]))) for k in range(1001)]
    found, more = graph_of(ring)._graph.tubes.inconsistencies(list(ring))  # type: ignore[arg-type]
    assert (len(found), more) == (500_000 // 3000, False)


@pytest.mark.usefixtures("gaps")
def test_a_tree_has_no_loops() -> None:
    pairs = [(A, ClockId(201 + k)) for k in range(20)] + [(ClockId(220), ClockId(221))]
    assert graph_of(pairs)._graph.tubes.inconsistencies(list(pairs)) == ([], False)


def contradicting(wrong: int, half: int = 100, n: int = 12) -> ClockGraph:
    """Three clocks, read together two by two; the third pair is off by so much."""
    graph = ClockGraph(domains=[ClockDomain(c, max_drift_ppm=0) for c in (A, B, C)])
    at = np.arange(1, n + 1) * S
    for one, other, off in ((A, B, 0), (B, C, 0), (A, C, wrong)):
        graph.add_snapshot(measured(one, at, other, at + off, half))
    return graph


@pytest.mark.parametrize(
    ("wrong", "gap_ns"), [(0, None), (300, None), (301, 1), (-300, None), (-301, 1), (1000, 700)]
)
def test_two_ways_contradict_where_their_bars_do_not_meet(wrong: int, gap_ns: int | None) -> None:
    found = contradicting(wrong).inconsistencies()
    assert [f[:3] for f in found] == (
        [] if gap_ns is None else [(A, B, (C,)), (A, C, (B,)), (B, C, (A,))]
    )
    assert all(f.gap_ns == gap_ns for f in found)


def ticking(rate: Fraction, wrong: int) -> list[Inconsistency]:
    """As above, but the last clock counts ticks."""
    domains = [ClockDomain(c, max_drift_ppm=0) for c in (A, B)]
    graph = ClockGraph(domains=[*domains, ClockDomain(C, max_drift_ppm=0, ns_per_tick=rate)])
    at = np.arange(1, 13) * S
    for one, other, off in ((A, B, 0), (B, C, 0), (A, C, wrong)):
        there = at + off if other == B else (at + off) // rate.numerator * rate.denominator
        graph.add_snapshot(measured(one, at, other, there, 100))
    return graph.inconsistencies()


@pytest.mark.parametrize(
    ("rate", "wrong", "gaps_ns"),
    [
        (Fraction(4), 1000, {(A, B): 700, (A, C): 700, (B, C): 700}),
        (Fraction(1, 4), 1000, {(A, B): 700, (A, C): 700, (B, C): 700}),
        (Fraction(4), 0, {}),
        (Fraction(1, 4), 300, {}),
    ],
)
def test_gaps_on_a_clock_that_counts_ticks_are_told_in_ns(
    rate: Fraction, wrong: int, gaps_ns: dict[Any, int]
) -> None:
    found = {(f.src, f.dst): f.gap_ns for f in ticking(rate, wrong)}
    assert found.keys() == gaps_ns.keys()
    for pair, gap_ns in gaps_ns.items():
        # Each of three hops rounds its bar outward to a tick.
        assert gap_ns - 3 * max(4, rate) <= found[pair] <= gap_ns


@pytest.mark.parametrize("k", [0, 5, 11])
def test_the_widest_gap_is_told_where_it_is(k: int) -> None:
    at = np.arange(1, 13) * S
    wrong = np.where(np.arange(12) == k, 2_000, 1_000)
    graph = ClockGraph()
    graph.add_snapshot(measured(A, at, B, at + 7, 100))
    graph.add_snapshot(measured(B, at + 7, C, at, 100))
    graph.add_snapshot(measured(A, at, C, at + wrong, 100))
    found = [(f.src, f.dst, f.at_ns, f.gap_ns) for f in graph.inconsistencies()]
    # Three bars of 100 ns on a side, and what drift they are rounded by.
    assert found == [(A, B, at[k], 1_698), (A, C, at[k], 1_699), (B, C, at[k] + 7, 1_698)]


# What hops cost


def test_hops_along_clocks_that_were_set_back_cost_more_than_any_bar() -> None:
    at = np.arange(1, 13) * 10 * S
    back = np.where(at > 60 * S, 8 * S, 0)
    boottime, monotonic = ClockId(6), ClockId(3)
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC": at, "REALTIME": at - back, A: at - 2 * back})
    policy, realtime = graph._graph.tubes, ClockId(1)
    assert policy.pairs.was_set_back(realtime)
    for ends in ((realtime, A), (A, realtime)):
        # Above all that a bar can be, which is half of int64.
        assert policy.paths.bar_ns(*ends) == 9_223_372_036_854_775_808.0
    pair = policy.pair(monotonic, realtime)
    assert (
        policy.paths.bar_ns(monotonic, realtime)
        == policy.paths.bar_ns(realtime, monotonic)
        == pair.bar_ns
    )
    slept = ClockGraph()
    slept.add_snapshot({"BOOTTIME": at + back, "MONOTONIC": at, A: at})
    policy = slept._graph.tubes
    pair = policy.pair(boottime, A)
    assert policy.paths.bar_ns(boottime, A) == pair.bar_ns
    assert policy.paths.bar_ns(A, boottime) == pair.bar_ns + 1_125_899_906_842_624
    assert policy.paths.bar_ns(A, monotonic) == policy.pair(A, monotonic).bar_ns
    assert policy.path(A, boottime) == [A, monotonic, boottime]
    assert policy.path(boottime, A) == [boottime, A]
    fault = policy.paths.bar_ns(A, ClockId(777))
    assert isinstance(fault, ConversionError)
    assert fault.message == "no snapshot or order has both 200 and 777"
    with pytest.raises(ConversionError, match="the rate of TSC is unknown"):
        one = ClockGraph()
        one.add_snapshot({"TSC": 5, A: 7})
        one.path("TSC", A, policy="tube")


@pytest.mark.parametrize(("n", "first", "second"), [(15, 63, 66), (16, 67, 70), (17, 97, 21)])
def test_the_path_from_a_clock_with_more_than_16_neighbours_is_searched_once(
    n: int, first: int, second: int
) -> None:
    """By how many steps it takes the first and the second neighbour of the centre."""
    graph, centre = ClockGraph(), ClockId(500)
    ring = [ClockId(200 + k) for k in range(n)]
    ends = [(ring[0], ClockId(600)), (ring[n // 2], ClockId(601)), (ClockId(601), ClockId(602))]
    for one, other in [*((centre, c) for c in ring), *pairwise([ring[-1], *ring]), *ends]:
        graph.add_snapshot({one: [S, 2 * S], other: [S, 2 * S]})
    graph._graph.most_tubes = 10_000
    policy = graph._graph.tubes
    taken = []
    for source in (201, 200):
        before = policy._reach.steps.left or 0
        assert len(policy.path(ClockId(source), ClockId(602))) == 5
        taken.append(before - (policy._reach.steps.left or 0))
    assert taken == [first, second]
