"""Whether the tube finds each fault of a machine, and no others."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np

from benchmarks.clocks import Values
from benchmarks.machine import BOOTTIME, CLOCKS, COUNTER, MONOTONIC, RAW, Fault, Machine
from tracetime import ClockGraph, ClockId
from tracetime.graph.tube.results import PairDiscontinuity

_KIND = {"slew": "rate_change", "suspend": "step", "step": "step", "reset": "reset"}


class Expected(NamedTuple):
    """A discontinuity that must be found between two clocks.

    zone: readings of src just before and just after it; size: ns, or ppm of a rate_change.
    """

    src: ClockId
    dst: ClockId
    kind: str
    zone: tuple[int, int]
    size: float
    slack: float

    def matches(self, found: PairDiscontinuity) -> bool:
        bounds = found.rate_ppm if self.kind == "rate_change" else found.size_ns
        return (
            (found.src, found.dst, found.kind) == (self.src, self.dst, self.kind)
            and found.a_from <= self.zone[0] <= self.zone[1] <= found.a_to
            and bounds is not None
            and bounds[0] - self.slack <= self.size <= bounds[1] + self.slack
        )


class Tally:
    """What was found, over several machines."""

    def __init__(self) -> None:
        self.due: Counter[str] = Counter()
        self.found: Counter[str] = Counter()
        self.invented = self.outside = self.converted = self.ambiguous = 0
        self.lost: list[Expected] = []

    def add(self, machine: Machine, q: Values) -> None:
        for trace_clock in (BOOTTIME, None):
            graph = machine.graph(trace_clock)
            self._match(expected(machine, trace_clock), graph.discontinuities())
        for bars in ("estimated", "guaranteed"):
            self._convert(machine, graph, q, bars)

    def _match(self, due: list[Expected], found: list[PairDiscontinuity]) -> None:
        left = list(found)
        for one in due:
            self.due[one.kind] += 1
            match = next((d for d in left if one.matches(d)), None)
            if match is None:
                self.lost.append(one)
                continue
            self.found[one.kind] += 1
            left.remove(match)
        self.invented += len(left)

    def _convert(self, machine: Machine, graph: ClockGraph, q: Values, bars: str) -> None:
        truth = {clock: machine.read(clock, q) for clock in CLOCKS}
        for src in CLOCKS:
            for dst in CLOCKS:
                if src == dst:
                    continue
                got = graph.convert(
                    truth[src], src, dst, policy="tube", bars=bars, bounds=True, errors="mask"
                )
                # A reading that means two instants has no estimate, and a bar with both.
                early, late = got.earliest.to_numpy(), got.latest.to_numpy()
                self.converted += len(q)
                self.ambiguous += got.estimate.null_count
                self.outside += int(np.sum((truth[dst] < early) | (truth[dst] > late)))

    def __str__(self) -> str:
        counts = ", ".join(
            f"{self.found[kind]}/{due} {kind}{'s' * (due != 1)}"
            for kind, due in sorted(self.due.items())
        )
        return f"{counts}, {self.invented} invented"


def expected(machine: Machine, trace_clock: ClockId | None) -> list[Expected]:
    """Everything that must be found, with or without a trace clock."""
    due = []
    for src, dst in _pairs(trace_clock):
        for fault in machine.faults:
            size = machine.effect(fault, dst) - machine.effect(fault, src)
            if size:
                due.append(_expected(machine, fault, src, dst, size))
    return due


def _pairs(trace_clock: ClockId | None) -> list[tuple[ClockId, ClockId]]:
    """Each clock with the trace clock, or with the steadiest; the steadier one comes first."""
    if trace_clock is None:
        return [(RAW, clock) for clock in CLOCKS[1:]]
    return [(RAW, BOOTTIME), (MONOTONIC, BOOTTIME)] + [(BOOTTIME, clock) for clock in CLOCKS[3:]]


def _expected(machine: Machine, fault: Fault, src: ClockId, dst: ClockId, size: float) -> Expected:
    at = fault.at_ns
    if fault.kind == "outlier":
        k = int(np.searchsorted(machine.raw_ns, at))
        reading = int(machine.snapshot.readings[src].value[k])
        return Expected(src, dst, "outlier", (reading, reading), size, 0)
    before, after = (int(machine.read(src, np.array([t]))[0]) for t in (at - 1, at))
    kind = _KIND[fault.kind]
    if fault.kind == "suspend" and dst == BOOTTIME and src != BOOTTIME:
        kind = "suspend"
    # The rates on both sides may stray by W from those that held.
    slack = (2.0 if COUNTER in (src, dst) else 0.002) if kind == "rate_change" else 0.0
    return Expected(src, dst, kind, (before, after), size, slack)
