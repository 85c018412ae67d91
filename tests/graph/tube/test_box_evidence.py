"""Bounds from messages as evidence of a pair, by exact values."""

from __future__ import annotations

import numpy as np
from pair_graphs import BOOT, FAR_BOOT, FAR_MONO, MONO, S

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    Reading,
    Snapshot,
)
from tracetime.graph.tube.messages import Between, Boxes


def test_bounds_hold_the_ticks_and_the_drift_of_both_clocks() -> None:
    def half(drift_ppm: float, tick_ns: float, one_wide: int, other_wide: int) -> float:
        domains = [
            ClockDomain(c, max_drift_ppm=drift_ppm, tick_ns=tick_ns) for c in (BOOT, FAR_BOOT)
        ]
        graph = ClockGraph(domains=domains)
        graph.add_snapshot({BOOT: 1, MONO: 1})
        graph.add_snapshot({FAR_BOOT: 1, FAR_MONO: 1})
        boxes = Boxes(*(np.array([c]) for c in (1, S, S + one_wide, 5 * S, 5 * S + other_wide)))
        graph._graph.state.between = Between([(BOOT, FAR_BOOT)], boxes, np.array([1]))
        pair = graph._graph.tubes.pair(BOOT, FAR_BOOT)
        assert not pair.assumed
        assert pair.snapshots.tolist() == [1]
        return pair.half_width_ns

    plain = half(0, 1, 0, 0)
    assert plain == 6
    assert half(0, 5, 0, 0) == 14
    assert half(0, 1, 100, 0) == half(0, 1, 0, 100) == 56
    # Of 1,000.5 ppm over half a box, rounded up.
    assert half(500, 1, 1_000_000, 0) - half(0, 1, 1_000_000, 0) == 501


def test_bounds_widen_no_snapshot_that_was_read() -> None:
    graph = ClockGraph(domains=[ClockDomain(c, max_drift_ppm=0) for c in (BOOT, FAR_BOOT)])
    graph.add_snapshot({BOOT: 1, MONO: 1})
    reads = {BOOT: [S, 9 * S], FAR_BOOT: [5 * S, 13 * S]}
    graph.add_snapshot(Snapshot(reads, reference=BOOT, half_width_ns={FAR_BOOT: [0, 50]}))
    boxes = Boxes(*(np.array([c]) for c in (3, 4 * S, 4 * S, 8 * S, 8 * S)))
    graph._graph.state.between = Between([(BOOT, FAR_BOOT)], boxes, np.array([1]))
    evidence = graph._graph.tubes.pair(BOOT, FAR_BOOT).tube.evidence
    assert evidence.a.tolist() == [S, 4 * S, 9 * S]
    assert evidence.half.tolist() == [0, 6, 50]
    assert evidence.r.tolist() == [4 * S] * 3


def test_bounds_count_for_clocks_that_count_ns_and_do_not_wrap() -> None:
    """As messages do."""
    boxes = Boxes(*(np.array([c]) for c in (1, S, S + 100, 5 * S, 5 * S + 100)))

    def counts(unit_ns: int, *domains: ClockDomain) -> list[bool]:
        here, there = ClockId(64, 1), ClockId(64, 1, machine=4)
        graph = ClockGraph(domains=domains)
        graph.add_snapshot({BOOT: 1, here: Reading(1, unit_ns)})
        graph.add_snapshot({FAR_BOOT: 1, there: Reading(1, unit_ns)})
        graph._graph.state.between = Between(
            [(BOOT, there), (here, FAR_BOOT)], boxes, np.array([1, 1])
        )
        pairs = graph._graph.tubes.pairs
        found = [(BOOT, there), (there, BOOT), (here, FAR_BOOT), (FAR_BOOT, here), (here, there)]
        return [pairs._boxes(*ends) is not None for ends in found]

    assert counts(1) == [True] * 4 + [False]
    assert counts(2) == counts(1_000) == [False] * 5
    assert counts(1, ClockDomain(BOOT, valid_bits=40)) == [False] * 2 + [True] * 2 + [False]
    assert counts(1, ClockDomain(FAR_BOOT, valid_bits=40)) == [True] * 2 + [False] * 3
