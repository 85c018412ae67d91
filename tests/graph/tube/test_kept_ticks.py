"""Ticks that readings of snapshots and events show, or do not: the same ones as before."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from kept import check_kept

from tracetime import ClockDomain, ClockGraph, ClockId, Reading, Snapshot
from tracetime.graph.tube.lattice import BLOCK, EventReadings

S = 1_000_000_000
APP, OTHER = ClockId.parse("com.example.app"), ClockId.parse("com.example.other")
TICKS = (1_000, 16_000, 1_000_000, S // 60, 10_000_000)


def made(seed: int) -> ClockGraph:
    """A clock that ticks, read with others, and in events at times that are even or not."""
    chance = Random(seed)
    tick = TICKS[seed % 5]
    n = [14, 15, 16, 17, 40, 1_100][seed // 2 % 6]
    jitter = [0, S // 5, S][seed // 3 % 3]
    boottime = [5_000 * S + k * S + int(chance.random() * jitter) for k in range(n)]
    app = [t // tick * tick for t in boottime]
    if seed % 7 == 1:
        app[n // 2 :] = [t + 3 * S for t in app[n // 2 :]]
    if seed % 7 == 2:
        app[3] += 12_345
    unit = 1_000 if seed % 8 == 5 else 1
    sequence_clock = ClockId(64, 3)
    clock = sequence_clock if unit > 1 else APP
    readings = {"BOOTTIME": np.array(boottime), clock: Reading(np.array(app) // unit, unit)}
    if seed % 4 == 1:
        ppm = [0, 40][seed // 4 % 2]
        coarse = [1, tick, 3 * tick][seed // 8 % 3]
        other = [(t + t * ppm // 10**6) // coarse * coarse for t in boottime]
        readings[OTHER] = np.array(other)
    domains = [ClockDomain(APP, tick_ns=[1, tick, tick - 1, tick // 2][seed % 4])]
    graph = ClockGraph(domains=domains)
    if seed % 9 == 4:
        graph.add_snapshot(
            Snapshot(readings, reference="BOOTTIME", half_width_ns={clock: tick // 2})
        )
    else:
        graph.add_snapshot(readings)
    if seed % 3 == 0:
        m = BLOCK * [1, 2, 3, 9][seed // 6 % 4]
        even = seed % 2
        at = [
            5_100 * S + k * (S // 7) + (0 if even else int(chance.random() * S)) for k in range(m)
        ]
        read = np.sort(np.array([t // tick * tick for t in at]))
        repeated = [0, m // 2, m][seed // 12 % 3]
        graph._graph.state.events = {
            clock: EventReadings(read // unit * unit, m - repeated, repeated)
        }
    return graph


@pytest.mark.parametrize("group", range(18))
def test_observed_ticks(group: int) -> None:
    results = []
    for seed in range(10 * group, 10 * group + 10):
        graph = made(seed)
        policy = graph._graph.tubes
        here = []
        for info in graph.clocks():
            tick = policy.pairs.observed_tick(info.clock)
            here.append(None if tick is None else list(tick))
        clock = ClockId(64, 3) if seed % 8 == 5 else APP
        unit = 1_000 if seed % 8 == 5 else 1
        ts = (5_003 * S + 123_456) // unit
        for bars in ("estimated", "guaranteed"):
            bar = graph.convert(
                np.array([ts]),
                clock,
                "BOOTTIME",
                policy="tube",
                bounds=True,
                bars=bars,
                errors="mask",
            )
            here.append([side.to_pylist()[0] for side in bar])
        pair = policy.pair(ClockId(6), clock)
        results.append([*here, pair.half_width_ns, pair.assumed])
    check_kept("shown", str(group), results)


def test_some_of_many_neighbours_are_compared() -> None:
    """Ticks scatter against four of those with enough snapshots in common."""
    results = []
    for n_few in (0, 3, 62, 63, 64, 70):
        chance = Random(n_few)
        graph = ClockGraph()
        boottime = np.array([k * S + int(chance.random() * S / 2) for k in range(1, 41)])
        app = ClockId(1_000)
        for k in range(n_few):
            graph.add_snapshot(
                {ClockId(200 + k): boottime[:3] + k, app: boottime[:3] // 10**6 * 10**6}
            )
        for k in range(3):
            graph.add_snapshot({ClockId(300 + k): boottime, app: boottime // 10**6 * 10**6})
        tick = graph._graph.tubes.pairs.observed_tick(app)
        results.append(None if tick is None else list(tick))
    check_kept("shown", "beside", results)
