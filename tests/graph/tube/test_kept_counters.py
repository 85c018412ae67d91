"""Short counters in several kinds of snapshots: on one count as before, or refused as before."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from kept import check_kept

from tracetime import ClockDomain, ClockGraph, ClockId, ConversionError, Snapshot
from tracetime.graph.tube.policy import TubePolicy

S = 1_000_000_000
SHORT = ClockId.parse("com.example.short")
OTHERS = (ClockId(6), ClockId.parse("com.example.a"), ClockId.parse("com.example.b"), ClockId(9))


def made(seed: int) -> ClockGraph:
    """A counter that wraps, read with one clock or another, now and then with several."""
    chance = Random(seed)
    bits = [20, 24, 30][seed % 3]
    rate = [Fraction(1000), Fraction(1000, 3), Fraction(52)][seed % 3]
    wrap = int((1 << bits) * rate)
    domains = [
        ClockDomain(
            SHORT, ns_per_tick=None if seed % 17 == 16 else rate, valid_bits=bits, max_drift_ppm=50
        )
    ]
    if seed % 5 == 4:
        domains.append(ClockDomain(OTHERS[1], valid_bits=30))
    if seed % 5 == 3:
        domains.append(ClockDomain(OTHERS[1], ns_per_tick=Fraction(3, 2)))
    graph = ClockGraph(domains=domains)
    gap = int(wrap * [0.1, 0.3, 0.45, 0.8, 3.0][seed // 3 % 5])
    kinds = [
        [SHORT, OTHERS[0]],
        [SHORT, OTHERS[1]],
        [SHORT, OTHERS[2]],
        [SHORT, OTHERS[1], OTHERS[2]],
        [SHORT, *OTHERS[:2]],
        [OTHERS[0], OTHERS[1]],
        [OTHERS[1], OTHERS[2]],
        [SHORT, OTHERS[3]],
    ]
    used = [kind for kind in kinds if chance.random() < 0.5] or kinds[:2]
    t, base = int(chance.random() * S), 0
    in_blocks = seed % 2 == 0
    n = [4, 9, 18][seed // 2 % 3]
    for k in range(n):
        t += int(gap * (0.4 + chance.random()))
        if chance.random() < 0.05:
            base -= int(t / rate) + base - int(chance.random() * 500)
        kind = used[(k * len(used) // n) if in_blocks else int(chance.random() * len(used))]
        reads: dict[ClockId, int] = {}
        for clock in kind:
            count = int(t / rate) + base + 77_000
            late = int(chance.random() * 2_000)
            reads[clock] = {
                SHORT: count % (1 << bits) if seed % 13 != 12 else count,
                OTHERS[0]: t + late,
                OTHERS[1]: (t + 5 * S + late) * 2 // 3 if seed % 5 == 3 else t + 5 * S + late,
                OTHERS[2]: t + t // 40_000 + late,
                OTHERS[3]: 3 * t,
            }[clock]
            if clock == OTHERS[1] and seed % 5 == 4:
                reads[clock] %= 1 << 30
        if seed % 4 == 1:
            graph.add_snapshot(Snapshot(reads, reference=kind[0], half_width_ns={kind[1]: 2_100}))
        else:
            graph.add_snapshot(reads)
    return graph


def or_fault(call: Any, *args: Any) -> Any:
    try:
        return call(*args)
    except ConversionError as error:
        return f"{error.reason}: {error.message}"


def counted(policy: TubePolicy) -> Any:
    counter = policy.pairs.counter(SHORT)
    assert counter is not None
    return [counter.modulus, counter.snapshots, counter.readings]


@pytest.mark.parametrize("group", range(16))
def test_counters_in_kinds_of_snapshots(group: int) -> None:
    results = []
    for seed in range(10 * group, 10 * group + 10):
        graph = made(seed)
        here: list[Any] = [or_fault(counted, graph._graph.tubes)]
        for other in OTHERS[:3]:
            bar = graph.convert(
                np.array([5, 300_000]),
                SHORT,
                other,
                policy="tube",
                bounds=True,
                errors="mask",
                near=(20 * S, OTHERS[0]) if seed % 3 == 1 else None,
            )
            here.append([bar.earliest.to_pylist(), bar.latest.to_pylist()])
            here.append(
                or_fault(graph.convert, 20 * S, other, SHORT, *()) if seed % 9 == 0 else None
            )
        results.append(here)
    check_kept("counters", str(group), results)
