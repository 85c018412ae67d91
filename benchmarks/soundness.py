"""Is the truth inside every bar that docs/error-bars.md promises? In random worlds, from a seed.

    python -m benchmarks.soundness [--worlds 1000] [--seed 1]

Each world has random clocks (rates, limits, ticks, counters, machines) and random snapshots of
them. 1,000 timestamps are converted, within the snapshots and beyond their ends, and compared with
the truth. Exits with 1 where a truth is outside.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any, Final, NamedTuple

import numpy as np
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from benchmarks.table import Table
from benchmarks.worlds import (
    NAMES,
    Clock,
    Values,
    World,
    chained,
    clock,
    identity,
    read_together,
    times,
)
from tracetime import ClockDomain, ClockGraph, open_trace
from tracetime.graph.tube.results import Bars as Bar

S: Final = 1_000_000_000
CONVERSIONS: Final = 1_000
BOTH: Final[tuple[Bar, ...]] = ("estimated", "guaranteed")
WANDER_PPM: Final = 0.5
HALF_WIDTHS: Final = 8
"""A change of rate that moves the offset by less in a gap may be hidden (docs/error-bars.md)."""
Bars = tuple[Bar, ...]


class Drawn(NamedTuple):
    """A world, the kinds of bars that hold in it, and the pairs of clocks for which they do."""

    world: World
    bars: Bars = BOTH
    pairs: list[tuple[Clock, Clock]] | None = None


def spacing(rng: np.random.Generator) -> tuple[int, int]:
    """How far apart snapshots are (ns), and how many there are."""
    return int(10 ** rng.uniform(7, 11)), int(rng.integers(1, 200))


def any_rates(rng: np.random.Generator) -> Drawn:
    """Rates that change at any time, within the limits."""
    apart, n = spacing(rng)
    span = apart * (n + 1)
    names = NAMES[: rng.integers(2, 6)]
    clocks = [clock(rng, name, span, knees=int(rng.integers(0, 60))) for name in names]
    return Drawn(chained(rng, clocks, apart, n), ("guaranteed",))


def wandering(rng: np.random.Generator) -> Drawn:
    """Constant rates, with a wander within its limit."""
    apart, n = spacing(rng)
    names = NAMES[: rng.integers(2, 6)]
    clocks = [clock(rng, name, apart * (n + 1), wanders=True) for name in names]
    return Drawn(chained(rng, clocks, apart, n))


def bending(rng: np.random.Generator) -> Drawn:
    """A clock whose rate changes at times, by more than the half-widths can hide."""
    while True:
        apart, n = spacing(rng)
        n += 20
        names = NAMES[: rng.integers(2, 6)]
        clocks = [clock(rng, name, apart * (n + 1)) for name in names]
        one = clocks[int(rng.integers(len(clocks)))]
        most = one.domain.drift_ppm
        at = np.arange(8, n - 8, int(rng.integers(8, 30))) * apart
        at = at + rng.integers(0, apart, len(at))
        one.times = np.concatenate([one.times[:1], at])
        one.ppm = rng.uniform(-most, most, len(at) + 1)
        drawn = chained(rng, clocks, apart, n)
        least_ppm = np.abs(np.diff(one.ppm)).min() - 2 * 2 * WANDER_PPM
        if least_ppm * 1e-6 * drawn.gap_ns >= HALF_WIDTHS * drawn.half_ns:
            return Drawn(drawn)


def jumping(rng: np.random.Generator) -> Drawn:
    """Steps both ways, and resets, larger than the drift that the limits allow in a gap."""
    apart, n = spacing(rng)
    n += 20
    names = NAMES[: rng.integers(2, 5)]
    clocks = [clock(rng, name, apart * (n + 1)) for name in names]
    one = clocks[-1]
    least = 8 * apart * sum(c.domain.drift_ppm for c in clocks) * 1e-6 + 10**7
    for k in range(6, n - 6, int(rng.integers(8, 30))):
        size = int(rng.choice([-1, 1]) * least * 10 ** rng.uniform(0, 3))
        one.jumps.append((k * apart + int(rng.integers(0, apart)), size))
    return Drawn(chained(rng, clocks, apart, n))


def wrapping(rng: np.random.Generator) -> Drawn:
    """A counter of few bits, with several snapshots per wrap."""
    bits = int(rng.choice([24, 32, 36]))
    steady = clock(rng, "MONOTONIC", 1 << 50, steady=True)
    other = clock(rng, "com.example.gpu", 1 << 50, bits=bits)
    wrap_ns = int((1 << bits) * other.rate)
    apart = int(wrap_ns * rng.uniform(0.02, 0.2))
    n = int(rng.integers(3, 150))
    return Drawn(chained(rng, [steady, other], apart, n))


def of_machines(rng: np.random.Generator) -> Drawn:
    """Two machines that only messages relate, with random delays."""
    host = Clock(
        ClockDomain("BOOTTIME"),
        int(rng.integers(10**12, 10**15)),
        np.array([-S]),
        rng.uniform(-200, 200, 1),
    )
    far = Clock(
        ClockDomain("BOOTTIME@machine1"),
        int(rng.integers(10**12, 10**15)),
        np.array([-S]),
        rng.uniform(-200, 200, 1),
    )
    apart, n = int(10 ** rng.uniform(9, 11)), int(rng.integers(1, 40))
    out, back = (float(10 ** rng.uniform(3, 7)) for _ in range(2))
    trace = pb.Trace()
    _snapshot(trace, host, 0, 0)
    first = last = 0
    for at in times(rng, apart, n):
        packet = trace.packet.add(machine_id=7, trusted_packet_sequence_id=3)
        now = int(at)
        first, last = first or now, now
        for _ in range(int(rng.integers(2, 5))):
            synced = packet.remote_clock_sync.synced_clocks.add()
            _reading(synced.client_clocks, far, now)
            now += int(out * (1 + rng.pareto(2)))
            _reading(synced.host_clocks, host, now)
            now += int(back * (1 + rng.pareto(2)))
    _snapshot(trace, far, last, 7)
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as file:
        file.write(trace.SerializeToString())
        file.flush()
        with open_trace(file.name) as opened:
            graph = opened.clocks
    return Drawn(World([host, far], graph, first, last))


def _snapshot(trace: pb.Trace, one: Clock, t: int, machine: int) -> None:
    packet = trace.packet.add(trusted_packet_sequence_id=1)
    if machine:
        packet.machine_id = machine
    _reading(packet.clock_snapshot, one, t)


def _reading(snapshot: Any, one: Clock, t: int) -> None:
    value = int(one.raw(np.array([t]))[0])
    snapshot.clocks.add(clock_id=identity(one).clock, timestamp=value)


def coarse(rng: np.random.Generator) -> Drawn:
    """A clock with a coarse tick that only its readings show."""
    tick_ns = float(
        rng.choice(
            [16_000, 100_000, 10**6, 10**7, S / 60, 4e6 * (1 + 20e-6), S / 48_000, S / 32_768]
        )
    )
    steady = clock(rng, "MONOTONIC", 1 << 50, steady=True, tick_ns=1.0)
    other = clock(rng, "com.example.app", 1 << 50, steady=True, tick_ns=tick_ns)
    apart, n = int(tick_ns * 10 ** rng.uniform(1.2, 4)), int(rng.integers(20, 200))
    taken = times(rng, apart, n)
    snapshot = read_together(rng, [steady, other], taken, 50.0)
    graph = ClockGraph(domains=[_undeclared(one.domain) for one in (steady, other)])
    graph.add_snapshot(dict(snapshot.readings))
    return Drawn(World([steady, other], graph, int(taken[0]), int(taken[-1])))


def _undeclared(domain: ClockDomain) -> ClockDomain:
    return ClockDomain(domain.id, max_drift_ppm=domain.max_drift_ppm)


CLASSES: Final[dict[str, Callable[[np.random.Generator], Drawn]]] = {
    "guaranteed bars, rates that change at any time": any_rates,
    "rates that wander as declared": wandering,
    "rates that change at times": bending,
    "steps and resets": jumping,
    "counters that wrap": wrapping,
    "machines tied by messages": of_machines,
    "ticks that are not declared": coarse,
}


class Tally:
    """Counts of conversions, and of truths outside their bars."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.worst: tuple[float, str] = (0.0, "")

    def add(self, drawn: Drawn, rng: np.random.Generator, name: str) -> None:
        world = drawn.world
        pairs = drawn.pairs or list(permutations(world.clocks, 2))
        each = -(-CONVERSIONS // (len(pairs) * len(drawn.bars)))
        for (src, dst), bars in ((pair, bars) for pair in pairs for bars in drawn.bars):
            self._convert(world, src, dst, bars, instants(rng, world, each), name)
            self._order(world, src, dst, bars, rng)
            self._order(world, src, src, bars, rng)

    def _convert(
        self, world: World, src: Clock, dst: Clock, bars: Bar, t: Values, name: str
    ) -> None:
        near = {}
        if src.domain.valid_bits < 64:
            near = {"near": (dst.counted(t), identity(dst))}
        got = world.graph.convert(
            src.raw(t),
            identity(src),
            identity(dst),
            policy="tube",
            bars=bars,
            bounds=True,
            errors="mask",
            **near,
        )
        truth = dst.counted(t)
        early, late = (side.to_numpy(zero_copy_only=False) for side in got[1:])
        if dst.domain.valid_bits < 64:
            # The count may begin at any wrap: the bar must contain the truth of one of them.
            wrap = 1 << dst.domain.valid_bits
            truth = truth + np.rint((early - truth) / wrap).astype(np.int64) * wrap
        off = np.fmax(early - truth, truth - late)
        self.counts["converted"] += len(t)
        self.counts["unanswered"] += int(np.isnan(off).sum())
        out = int((off > 0).sum())
        self.counts[f"outside {bars}"] += out
        if out and np.nanmax(off) > self.worst[0]:
            self.worst = float(np.nanmax(off)), f"{name}: {src.domain.id} to {dst.domain.id}"

    def _order(
        self, world: World, src: Clock, dst: Clock, bars: Bar, rng: np.random.Generator
    ) -> None:
        wraps = min(src.domain.valid_bits, dst.domain.valid_bits) < 64
        if src != dst and wraps:
            return
        t = instants(rng, world, 50)
        later = t + rng.choice([-1, 1], len(t)) * (10 ** rng.uniform(0, 9, len(t))).astype(np.int64)
        if wraps:
            # Beyond its snapshots, which wrap a counter is in is not known.
            t, later = np.clip([t, later], world.first, world.last)
        one, other = (src.raw(t), identity(src)), (dst.raw(later), identity(dst))
        order = world.graph.order(one, other, bars=bars)
        self.counts["ordered"] += len(t)
        self.counts["certain"] += int(np.count_nonzero(order))
        wrong = int((order * np.sign(later - t) > 0).sum())
        self.counts["certain and wrong"] += wrong


def instants(rng: np.random.Generator, world: World, n: int) -> Values:
    """True times within the snapshots, and a tenth of their span beyond either end."""
    span = world.last - world.first + S
    return rng.integers(world.first - span // 10, world.last + span // 10 + 1, n)


def worlds(n: int, seed: int) -> Iterator[tuple[str, int]]:
    """(class, seed) of n worlds, the classes in turn."""
    names = list(CLASSES)
    for number in range(n):
        yield names[number % len(names)], seed * 1_000_003 + number


def rows(table: Table, n: int, seed: int) -> None:
    """A row for each class: nothing may be outside."""
    tallies = {name: Tally() for name in CLASSES}
    counts: Counter[str] = Counter()
    for name, one in worlds(n, seed):
        rng = np.random.default_rng(one)
        counts[name] += 1
        tallies[name].add(CLASSES[name](rng), rng, f"world {one}")
    for name, tally in tallies.items():
        c = tally.counts
        out = c["outside estimated"] + c["outside guaranteed"] + c["certain and wrong"]
        table.row(
            f"{counts[name]} worlds: {name}",
            "0 outside, 0 certain and wrong",
            f"{c['converted']:,} conversions, {c['unanswered']:,} without an answer; outside "
            f"{c['outside estimated']} estimated, {c['outside guaranteed']} guaranteed; "
            f"{c['certain']:,} of {c['ordered']:,} orders certain, {c['certain and wrong']} wrong",
            not out,
        )
        if tally.worst[1]:
            table.note("worst", f"{tally.worst[0]:,.0f} outside in {tally.worst[1]}")
    total = sum(tally.counts["converted"] for tally in tallies.values())
    table.note("in all", f"{total:,} conversions in {n:,} worlds")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table()
    rows(table, options.worlds, options.seed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
