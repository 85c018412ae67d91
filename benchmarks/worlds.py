"""Random worlds of simulated clocks, in which the truth is known to the tick.

True time is int64 ns. The reading of a clock is true time at its nominal rate, plus its drift,
floored to its tick and cut to its bits. Only the drift, which is small, is a float.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

S: Final = 1_000_000_000
NAMES: Final = ("MONOTONIC", "com.example.gpu", "com.example.nic", "com.example.dsp", "200")
RATES: Final = (
    Fraction(1),
    Fraction(1),
    Fraction(625, 12),
    Fraction(10**9, 32_768),
    Fraction(1, 3),
)


@dataclass
class Clock:
    """One clock of a world.

    Attributes:
        domain: its declaration.
        start_ns: its reading at true time 0.
        times, ppm: its rate is off by ppm from each true time on (ns, ascending, the first at or
            before every query).
        wander: (ppm, period in ns, phase) of a sine around that rate.
        jumps: (true ns, ns): from that true time on it reads ns more.
    """

    domain: ClockDomain
    start_ns: int
    times: Values
    ppm: Floats
    wander: tuple[float, float, float] = (0.0, 1.0, 0.0)
    jumps: list[tuple[int, int]] = field(default_factory=list)

    @property
    def rate(self) -> Fraction:
        """ns a tick."""
        assert self.domain.ns_per_tick is not None
        return self.domain.ns_per_tick

    @property
    def tick_ns(self) -> int:
        """Its longest step, in whole ns."""
        assert self.domain.tick_ns is not None
        return int(np.ceil(max(self.domain.tick_ns, float(self.rate))))

    def ns(self, t: Values) -> Values:
        """Its reading in ns, before it is floored."""
        piece = np.clip(np.searchsorted(self.times, t, side="right") - 1, 0, None)
        ends = np.concatenate([[0.0], np.cumsum(np.diff(self.times) * self.ppm[:-1] * 1e-6)])
        drift = ends[piece] + (t - self.times[piece]) * (self.ppm[piece] * 1e-6)
        ppm, period, phase = self.wander
        turn = 2 * np.pi / period
        drift += ppm * 1e-6 / turn * (np.sin(turn * t + phase) - np.sin(phase))
        jumped = sum((np.where(t >= at, size, 0) for at, size in self.jumps), np.zeros_like(t))
        return self.start_ns + t + np.floor(drift).astype(np.int64) + jumped

    def counted(self, t: Values) -> Values:
        """Its count of ticks, before it is cut to its bits."""
        step = Fraction(self.domain.tick_ns).limit_denominator(10**6)
        step = max(step, self.rate)
        # Floored to its step, and that to ticks: in two parts, each of which fits in int64.
        ns = self.ns(t)
        if step != self.rate:
            ns = _multiples(ns, step)
            ns = -_scaled(-ns, step)
        return _scaled(ns, 1 / self.rate)

    def raw(self, t: Values) -> Values:
        """Its reading."""
        bits = self.domain.valid_bits
        counted = self.counted(t)
        return counted if bits == 64 else counted & ((1 << bits) - 1)


def _multiples(values: Values, step: Fraction) -> Values:
    """The number of whole steps in each value."""
    return _scaled(values, 1 / step)


def _scaled(values: Values, factor: Fraction) -> Values:
    """Each value times a factor, floored."""
    whole, rest = np.divmod(values, factor.denominator)
    return whole * factor.numerator + rest * factor.numerator // factor.denominator


@dataclass
class World:
    """Clocks, and a graph of the snapshots that were taken of them.

    Attributes:
        first, last: true times of the first snapshot and the last.
        gap_ns: the shortest time between two snapshots of the same clocks.
        half_ns: the widest half-width.
    """

    clocks: list[Clock]
    graph: ClockGraph
    first: int
    last: int
    gap_ns: int = 0
    half_ns: int = 0


def limits(rng: np.random.Generator) -> float:
    """A random limit of drift, ppm."""
    return float(10 ** rng.uniform(0.5, 3))


def clock(  # noqa: PLR0913  each way in which a clock may differ
    rng: np.random.Generator,
    name: str,
    span: int,
    *,
    knees: int = 0,
    wanders: bool = False,
    steady: bool = False,
    bits: int = 64,
    tick_ns: float | None = None,
) -> Clock:
    """A random clock: its rate is within its limits, and changes `knees` times, or wanders.

    steady: of 1 ns a tick.
    """
    most = limits(rng)
    rate = Fraction(1) if steady else RATES[rng.integers(len(RATES))]
    ppm_wander = float(10 ** rng.uniform(-2, 0.5)) if wanders else 0.0
    # A part of a sine strays from its mean by 1.22 of what the whole one does.
    room = most - ppm_wander
    if room <= 0:
        most, room = most + ppm_wander, most
    if tick_ns is None:
        # It steps by whole units.
        tick_ns = float(max(1, round(int(rng.choice([1, 1, 1, 10, 100, 16_000])) / rate)) * rate)
    domain = ClockDomain(
        name,
        ns_per_tick=rate,
        tick_ns=max(tick_ns, float(rate)),
        max_drift_ppm=most,
        wander_ppm=ppm_wander if wanders else None,
        valid_bits=bits,
        oscillator=name,
    )
    times = np.sort(rng.integers(0, span, knees))
    return Clock(
        domain,
        int(rng.integers(1, 10**15)),
        np.concatenate([[-span], times]),
        rng.uniform(-room, room, knees + 1),
        (ppm_wander * 0.82, float(rng.uniform(0.05, 3) * span), float(rng.uniform(0, 6))),
    )


def read_together(
    rng: np.random.Generator, clocks: list[Clock], t: Values, noise_ns: float
) -> Snapshot:
    """Snapshots at true times t, the first clock the reference, with measured half-widths.

    noise_ns: half of the time that a bracket takes, about; with heavy tails.
    """
    reference, *others = clocks
    readings = {reference.domain.id: reference.raw(t)}
    halves = {}
    most = reference.domain.drift_ppm * 1e-6
    for one in others:
        half = noise_ns * (1 + np.minimum(rng.pareto(2, len(t)), 50))
        error = rng.uniform(-half, half)
        readings[one.domain.id] = one.raw(t + np.rint(error).astype(np.int64))
        d = most + one.domain.drift_ppm * 1e-6
        halves[one.domain.id] = (
            np.ceil(half * (1 + 2 * d)).astype(np.int64) + reference.tick_ns + one.tick_ns + 2
        )
    return Snapshot(readings, reference=reference.domain.id, half_width_ns=halves)


def times(rng: np.random.Generator, spacing: int, n: int) -> Values:
    """When n snapshots are taken: nearly even, or irregular."""
    even = np.arange(n) * spacing + rng.integers(0, spacing)
    jitter = rng.uniform(0, rng.choice([0.01, 0.9]), n) * spacing
    return even + jitter.astype(np.int64)


def chained(rng: np.random.Generator, clocks: list[Clock], spacing: int, n: int) -> World:
    """A world with snapshots of all clocks, or of neighbours in a chain, or both."""
    graph = ClockGraph(domains=[one.domain for one in clocks])
    noise_ns = float(10 ** rng.uniform(1, 4.5))
    kind = rng.integers(3)
    groups = []
    if kind != 0 or len(clocks) == 2:
        groups += [list(pair) for pair in pairwise(clocks)]
    if kind != 1 and len(clocks) > 2:
        groups.append(clocks)
    world = World(clocks, graph, 1 << 62, 0, spacing)
    for group in groups:
        t = times(rng, spacing, n)
        snapshot = read_together(rng, group, t, noise_ns)
        graph.add_snapshot(snapshot)
        world.first, world.last = min(world.first, int(t[0])), max(world.last, int(t[-1]))
        world.gap_ns = min(world.gap_ns, int(np.diff(t).min(initial=spacing)))
        halves = snapshot.half_width_ns.values()
        world.half_ns = max(world.half_ns, *(int(np.max(half)) for half in halves))
    return world


def identity(one: Clock) -> ClockId:
    return ClockId.parse(one.domain.id)
