"""A simulated machine, from a seed: five clocks, and an hour of faults.

The truth is a function of MONOTONIC_RAW: the reading of each clock when that reads raw_ns. It,
MONOTONIC and the counter of the device do not advance while the machine sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

import numpy as np

from benchmarks.clocks import START_NS, Floats, Values, brackets, nanoseconds, oscillator, pings
from tracetime import ClockGraph, ClockId, Snapshot
from tracetime.clocks.domain import ClockDomain

RAW, MONOTONIC, BOOTTIME, REALTIME = (
    ClockId.parse(name) for name in ("MONOTONIC_RAW", "MONOTONIC", "BOOTTIME", "REALTIME")
)
COUNTER: Final = ClockId(0x8A01B2C3)
CLOCKS: Final = (RAW, MONOTONIC, BOOTTIME, REALTIME, COUNTER)
NS_PER_TICK: Final = Fraction(10**9, 19_200_000)
TICK_NS: Final = 53

SPACING_S: Final = 10.0
N_SNAPSHOTS: Final = 359
APART_S: Final = 40.0
# D of BOOTTIME and REALTIME, the widest of all pairs: 500 ppm each.
WIDEST_D: Final = 1001e-6
_KINDS: Final = ("slew",) * 3 + ("suspend",) * 3 + ("step",) * 3 + ("reset",) * 2 + ("outlier",) * 4
_HOUR_NS: Final = 3_600_000_000_000
_SLEWED: Final = frozenset((MONOTONIC, BOOTTIME, REALTIME))

Kind = Literal["slew", "suspend", "step", "reset", "outlier"]


@dataclass(frozen=True)
class Fault:
    """A fault at the time when MONOTONIC_RAW reads at_ns.

    Attributes:
        kind: slew: NTP changes the rate; suspend: the machine slept; step: REALTIME was set; reset:
            the counter restarts; outlier: one reading of one clock is wrong.
        size: ns that BOOTTIME rose, REALTIME was set by, or the reading is off; ppm that NTP slews
            by from here on.
        clock: the clock of the wrong reading.
    """

    kind: Kind
    at_ns: int
    size: float
    clock: ClockId | None = None


class Machine:
    """An hour of five clocks, with faults at least 40 s apart."""

    def __init__(self, rng: np.random.Generator, noise: str, records: bool = False) -> None:
        self._rng = rng
        self._counter = oscillator(rng, margin=100.0)
        self.faults = list(_faults(rng))
        self.raw_ns = nanoseconds(np.arange(N_SNAPSHOTS) * SPACING_S)
        self.snapshot = self._read_all(noise, records)

    def read(self, clock: ClockId, raw_ns: Values) -> Values:
        """The reading of a clock (ns; ticks for the counter) when MONOTONIC_RAW reads raw_ns."""
        if clock == COUNTER:
            ns = self.counter_ns(raw_ns)
            # Floored to ticks; in two parts, each of which fits in int64.
            whole, rest = np.divmod(ns, NS_PER_TICK.numerator)
            return whole * NS_PER_TICK.denominator + (
                rest * NS_PER_TICK.denominator // NS_PER_TICK.numerator
            )
        if clock == RAW:
            return raw_ns
        value = raw_ns + 77_000_000_000 + np.rint(self._slewed_ns(raw_ns)).astype(np.int64)
        if clock == MONOTONIC:
            return value
        value += _HOUR_NS + self._jumps_ns("suspend", raw_ns)
        if clock == BOOTTIME:
            return value
        return value + 1_700_000_000_000_000_000 + self._jumps_ns("step", raw_ns)

    def counter_ns(self, raw_ns: Values) -> Values:
        """The counter in ns of its own, before it is floored to ticks."""
        ran = self._counter.at(raw_ns) - self._counter.at(np.array([START_NS]))
        value = 300 * _HOUR_NS + ran
        for fault in self.faults:
            if fault.kind == "reset":
                at = np.array([fault.at_ns])
                begun = self._counter.at(at) - self._counter.at(np.array([START_NS]))
                value = np.where(raw_ns >= fault.at_ns, ran - begun, value)
        return value

    def effect(self, fault: Fault, clock: ClockId) -> float:
        """ns that a fault moved a clock by, or ppm that it changed its rate by."""
        if fault.kind == "slew":
            before = [f.size for f in self.faults if f.kind == "slew" and f.at_ns < fault.at_ns]
            return (fault.size - (before[-1] if before else 0)) * (clock in _SLEWED)
        if fault.kind == "reset":
            just_before = self.counter_ns(np.array([fault.at_ns - 1]))
            return -float(just_before[0]) * (clock == COUNTER)
        moved = {
            "suspend": (BOOTTIME, REALTIME),
            "step": (REALTIME,),
            "outlier": (fault.clock,),
        }[fault.kind]
        return fault.size * (clock in moved)

    def graph(self, trace_clock: ClockId | None) -> ClockGraph:
        """The clock graph of all snapshots."""
        counter = ClockDomain(COUNTER, tick_ns=TICK_NS, ns_per_tick=NS_PER_TICK, max_drift_ppm=100)
        graph = ClockGraph(trace_clock, [counter])
        graph.add_snapshot(self.snapshot)
        return graph

    def _slewed_ns(self, raw_ns: Values) -> Floats:
        seconds = (raw_ns - START_NS) * 1e-9
        total, last = np.zeros(len(raw_ns)), 0.0
        for fault in self.faults:
            if fault.kind == "slew":
                since = np.clip(seconds - (fault.at_ns - START_NS) * 1e-9, 0, None)
                total += (fault.size - last) * 1e3 * since
                last = fault.size
        return total

    def _jumps_ns(self, kind: Kind, raw_ns: Values) -> Values:
        total = np.zeros(len(raw_ns), dtype=np.int64)
        for fault in self.faults:
            if fault.kind == kind:
                total += int(fault.size) * (raw_ns >= fault.at_ns)
        return total

    def frequency_scaled_ppm(self, raw_ns: Values) -> Values:
        """The frequency that adjtimex reports when MONOTONIC_RAW reads raw_ns."""
        scaled_ppm = np.zeros(len(raw_ns), dtype=np.int64)
        for fault in self.faults:
            if fault.kind == "slew":
                scaled_ppm[raw_ns >= fault.at_ns] = round(fault.size * 65_536)
        return scaled_ppm

    def _read_all(self, noise: str, records: bool) -> Snapshot:
        """All clocks, bracketed by MONOTONIC_RAW; the counter by pings where noise says so.

        records: whether adjtimex is read with them.
        """
        readings, halves = {RAW: self.raw_ns}, {}
        for clock in CLOCKS[1:]:
            make = pings if noise == "pings" and clock == COUNTER else brackets
            half, error = make(self._rng, N_SNAPSHOTS)
            readings[clock] = self.read(clock, self.raw_ns + np.rint(error).astype(np.int64))
            # The steps of both clocks are part of the half-width.
            steps_ns = 1 + (TICK_NS if clock == COUNTER else 1)
            halves[clock] = np.ceil(half).astype(np.int64) + 1 + steps_ns
            for fault in self.faults:
                if fault.clock == clock:
                    off = Fraction(int(fault.size)) / (NS_PER_TICK if clock == COUNTER else 1)
                    readings[clock][self.raw_ns == fault.at_ns] += int(off)
        scaled_ppm = self.frequency_scaled_ppm(self.raw_ns)
        return Snapshot(
            readings,
            reference=RAW,
            half_width_ns=halves,
            frequency_scaled_ppm=dict.fromkeys(_SLEWED, scaled_ppm) if records else None,
        )


def _faults(rng: np.random.Generator) -> Iterator[Fault]:
    """All kinds in any order, at least 40 s apart; no outlier in the first or last 2 snapshots."""
    kinds = rng.permutation(_KINDS)
    # A change of rate needs three snapshots before the first fault and after the last one.
    room = (N_SNAPSHOTS - 4) * SPACING_S - 25 - (len(kinds) - 1) * APART_S - 4 * SPACING_S
    times = 25 + np.sort(rng.uniform(0, room, len(kinds))) + np.arange(len(kinds)) * APART_S
    step_ns = WIDEST_D * SPACING_S * 1e9
    later = ppm = 0.0
    for kind, when in zip(kinds.tolist(), times.tolist(), strict=True):
        at_s, clock, sign = when + later, None, rng.choice([-1, 1])
        if kind == "slew":
            change = sign * rng.uniform(50, 400)
            ppm = size = ppm + change if abs(ppm + change) <= 450 else ppm - change
        elif kind == "suspend":
            size = np.rint(10 ** rng.uniform(9, 13))
        elif kind == "step":
            size = np.rint(sign * rng.uniform(3, 300) * step_ns)
        elif kind == "outlier":
            # A fault of a reading: it moves to the next snapshot, and all later faults with it.
            rounded = np.ceil(at_s / SPACING_S) * SPACING_S
            later, at_s = later + rounded - at_s, rounded
            clock = (MONOTONIC, REALTIME, COUNTER)[rng.integers(3)]
            size = np.rint(sign * rng.uniform(3, 100) * step_ns)
        else:
            size = 0.0
        yield Fault(kind, int(nanoseconds(np.array([at_s]))[0]), float(size), clock)
