"""Loops of clocks whose paths contradict each other."""

from fractions import Fraction

import numpy as np
import pytest
from drifting import GPU, S, drifting

from tracetime import ClockGraph, ClockId, Snapshot
from tracetime.clocks.domain import ClockDomain
from tracetime.graph.tube import loops
from tracetime.graph.tube.loops import Triangles
from tracetime.graph.tube.pair import hop


def test_loops_that_contradict_are_found():
    boottime = np.arange(30, dtype=np.int64) * 10 * S
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": boottime})
    graph.add_snapshot({"MONOTONIC": boottime, "MONOTONIC_RAW": boottime})
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC_RAW": boottime + 50_000_000})
    found = graph.inconsistencies()
    assert {(f.src, f.dst) for f in found} == {
        (ClockId(3), ClockId(5)),
        (ClockId(3), ClockId(6)),
        (ClockId(5), ClockId(6)),
    }
    assert all(30_000_000 < f.gap_ns < 60_000_000 for f in found)


@pytest.mark.parametrize("wrong", [0, 30_000])
def test_loops_that_contradict_are_found_where_each_pair_was_read_at_other_times(wrong):
    graph = ClockGraph()
    clocks = {"BOOTTIME": 0, "com.example.a": 10, "com.example.b": -20}
    for start, one, other, off in (
        (1.0, "BOOTTIME", "com.example.a", 0),
        (4.3, "com.example.a", "com.example.b", wrong),
        (7.6, "BOOTTIME", "com.example.b", 0),
    ):
        at = np.arange(60, dtype=np.int64) * 10 * S + int(start * S)
        here, there = (at + at * clocks[clock] // 1_000_000 for clock in (one, other))
        graph.add_snapshot(
            Snapshot({one: here, other: there + off}, reference=one, half_width_ns={other: 100})
        )
    found = graph.inconsistencies()
    assert len(found) == (3 if wrong else 0)
    assert all(0 < f.gap_ns <= wrong for f in found)


def test_loops_that_agree_are_not(graph):
    boottime, raw = drifting()
    graph.add_snapshot({"MONOTONIC_RAW": raw, "MONOTONIC": boottime})
    graph.add_snapshot({"BOOTTIME": boottime, "MONOTONIC": boottime})
    assert graph.inconsistencies() == []


@pytest.mark.parametrize("n", [3, 4, 7])
def test_loops_of_any_length_are_checked(n):
    at = np.arange(20) * 10 * S
    names = [f"com.example.clock{k}" for k in range(n)]
    for wrong in (0, 12_000):
        graph = ClockGraph()
        for k, name in enumerate(names):
            other = names[(k + 1) % n]
            offset = 5 if k < n - 1 else -5 * (n - 1) + wrong
            graph.add_snapshot(
                Snapshot({name: at, other: at + offset}, reference=name, half_width_ns={other: 20})
            )
        found = graph.inconsistencies()
        if not wrong:
            assert found == []
            continue
        assert len(found) == n
        for one in found:
            assert {str(c) for c in (one.src, one.dst, *one.via)} == {
                str(ClockId.parse(name)) for name in names
            }
            assert 0 < one.gap_ns <= wrong


@pytest.fixture
def hops(monkeypatch):
    """How many values each hop converts."""
    counts = []

    def counted(pair, src, here, bars):
        counts.append(len(here.estimate))
        return hop(pair, src, here, bars)

    monkeypatch.setattr(loops, "hop", counted)
    return counts


def test_a_loop_is_followed_only_while_it_is_known_where_it_leads(hops):
    """Messages one way around leave a side of each pair open."""
    at = np.arange(20) * 10 * S
    graph, n = ClockGraph(), 12
    for k in range(n):
        graph.add_order((at, f"com.example.c{k}"), (at + 10, f"com.example.c{(k + 1) % n}"))
    assert graph.inconsistencies() == []
    assert len(hops) == 2 * n


@pytest.mark.parametrize("wrong", [-1_000_000, 1_000_000])
def test_a_loop_is_found_where_guaranteed_bars_miss_each_other_and_estimated_ones_meet(wrong):
    """One wrong reading is an outlier to estimated bars, which leave it out."""
    at = np.arange(20) * 10 * S
    ring = ("BOOTTIME", "com.example.a"), ("com.example.a", "com.example.b")
    graph = ClockGraph()
    for one, other in (*ring, ("BOOTTIME", "com.example.b")):
        off = np.where(at == at[10], wrong, 0) if (one, other) not in ring else 0
        graph.add_snapshot(
            Snapshot({one: at, other: at + off}, reference=one, half_width_ns={other: 100})
        )
    found = graph.inconsistencies()
    assert len(found) == 3
    for loop in found:
        # Four bars of 100 ns at most, and what the clocks may drift in what is wrong.
        assert abs(wrong) * 0.99 - 400 < loop.gap_ns <= abs(wrong)
        assert abs(loop.at_ns - at[10]) <= abs(wrong)


@pytest.mark.parametrize("rate", [Fraction(1), Fraction(1, 3), Fraction(125, 3)])
def test_the_gap_of_a_loop_of_clocks_that_count_ticks_is_in_ns(rate):
    """Pairs in snapshots of their own; what MONOTONIC and the GPU say is 1 ms apart."""
    graph = ClockGraph("MONOTONIC", [ClockDomain("TSC", ns_per_tick=rate)])
    at = 1000 * S + np.arange(30, dtype=np.int64) * S
    ticks = np.array([int(t / rate) for t in at.tolist()])
    graph.add_snapshot({"TSC": ticks, GPU: at})
    graph.add_snapshot({"TSC": ticks, "MONOTONIC": at})
    graph.add_snapshot({"MONOTONIC": at, GPU: at + 1_000_000})
    found = graph.inconsistencies()
    assert len(found) == 3
    for loop in found:
        assert 990_000 < loop.gap_ns <= 1_000_000
        assert at[0] - S <= loop.at_ns <= at[-1] + S


@pytest.mark.parametrize(
    ("more", "leads"), [("abc", False), ("ab", True), ("ac", True), ("bc", True), ("ad", False)]
)
def test_only_snapshots_that_lack_one_of_three_clocks_contradict_the_others(more, leads):
    clocks = dict(zip("abcd", map(ClockId, (1, 3, 5, 6)), strict=True))
    series = [tuple(clocks[name] for name in names) for names in ("abc", more)]
    found = Triangles(series).vias(clocks["a"], clocks["b"])
    assert found == ([clocks["c"]] if leads else [])
