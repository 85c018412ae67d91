"""One conversion, step by step, and how far it leads outside of its snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

from tracetime.clocks.ids import ClockId
from tracetime.graph.clock_names import named
from tracetime.graph.floor import FloorHop
from tracetime.graph.ticks import Unit
from tracetime.text import duration


class Outside(NamedTuple):
    """How far a value is outside the snapshots that convert it.

    side: "before first" or "after last". distance: int64, in `unit`: ticks of a clock whose rate
    is unknown. src, dst: the clocks of those snapshots.
    """

    side: str
    distance: int
    unit: Unit
    src: ClockId
    dst: ClockId

    @property
    def ns(self) -> int | None:
        """The distance in ns; None where the length of a tick is unknown."""
        return self.distance if self.unit == "ns" else None

    def __str__(self) -> str:
        return self.of("snapshot")

    def of(self, evidence: str) -> str:
        """The same in words; evidence: what there is of the clocks."""
        far = duration(self.distance) if self.unit == "ns" else f"{self.distance:,} ticks"
        side = self.side.replace(" ", " the ")
        return f"{far} {side} {evidence} of {self.src} and {self.dst}: nothing says what was there"


class Hop(NamedTuple):
    """One step of a conversion: which snapshot's offset was added, and what it made of the value.

    All values are int64 ns, or ticks, where `src_unit` or `dst_unit` says so. `snapshot_index`
    counts from 0 within the `snapshots` of the series. `extrapolated` is "before first" or "after
    last" where no snapshot is on that side, else ""; `outside_ns` is the distance from it, None
    where the value is in ticks of unknown length.
    """

    src: ClockId
    dst: ClockId
    snapshot_src_ns: int
    snapshot_dst_ns: int
    value_ns_before: int
    value_ns_after: int
    snapshot_index: int
    snapshots: int
    extrapolated: str
    outside_ns: int | None
    src_unit: Unit
    dst_unit: Unit

    @property
    def outside(self) -> Outside | None:
        """How far outside the snapshots the value is; None within them."""
        if not self.extrapolated:
            return None
        if self.outside_ns is None:
            ticks = abs(self.value_ns_before - self.snapshot_src_ns)
            return Outside(self.extrapolated, ticks, "ticks", self.src, self.dst)
        return Outside(self.extrapolated, self.outside_ns, "ns", self.src, self.dst)


def floor_step(
    hop: FloorHop, ns: int, source_rate: Fraction | None, target_rate: Fraction | None
) -> Hop:
    """The step of a value over a hop; rates: ns per tick of its clocks, None where unknown."""
    index, n = hop.snapshot_of(ns), len(hop.readings)
    reading, offset = int(hop.readings[index]), int(hop.offsets[index])
    side = "before first" if ns < reading else "after last" if index == n - 1 else ""
    if ns == reading:
        side = ""
    ticks = abs(ns - reading) if side else 0
    return Hop(
        src=hop.source,
        dst=hop.target,
        snapshot_src_ns=reading,
        snapshot_dst_ns=reading + offset,
        value_ns_before=ns,
        value_ns_after=ns + offset,
        snapshot_index=index,
        snapshots=n,
        extrapolated=side,
        outside_ns=None if source_rate is None else int(ticks * source_rate),
        src_unit="ns" if source_rate == 1 else "ticks",
        dst_unit="ns" if target_rate == 1 else "ticks",
    )


class Step(Protocol):
    """One step of any policy."""

    @property
    def outside(self) -> Outside | None: ...


def farthest_outside(steps: Sequence[Step]) -> Outside | None:
    """The step farthest outside of its snapshots; None where all are within."""
    found = [step.outside for step in steps if step.outside is not None]
    # Ticks of unknown length come first: they may be the farthest.
    return max(found, key=lambda one: (one.unit == "ticks", one.distance), default=None)


def reading(clock: ClockId, value: int, unit: Unit) -> str:
    """A reading of a clock in words: `TSC 70 ticks`, `MONOTONIC 1104`."""
    return f"{clock} {value}" + (" ticks" if unit == "ticks" else "")


@dataclass(frozen=True, slots=True)
class Explanation:
    """A conversion and its steps; `str()` gives it in words.

    Attributes:
        value: as given, in units of `src`.
        unit_ns: nanoseconds per unit of `src`.
        steps: the hops, none where src is dst.
        result: in ns of `dst`, or in its ticks, as `unit` says.
        names: declared names, by clock.
        value_unit: whether `src` counts ns (or its units of them) or ticks.
        unit: of the result.
    """

    value: int
    unit_ns: int
    src: ClockId
    dst: ClockId
    steps: list[Hop]
    result: int
    names: Mapping[ClockId, str]
    value_unit: Unit = "ns"
    unit: Unit = "ns"

    @property
    def outside(self) -> Outside | None:
        """The step farthest outside of its snapshots; None where all are within."""
        return farthest_outside(self.steps)

    def __str__(self) -> str:
        given = reading(self.src, self.value, self.value_unit)
        lines = [f"{given} -> {self.dst} {self.result} {self.unit}"]
        if not self.steps:
            lines.append(f"  {self.src} is that clock: the value stays as it is")
        elif self.unit_ns != 1:
            lines.append(f"  {self.value} x {self.unit_ns} ns = {self.steps[0].value_ns_before} ns")
        for number, step in enumerate(self.steps, 1):
            offset = step.value_ns_after - step.value_ns_before
            lines.append(
                f"  {number}. {step.src} {step.value_ns_before} {step.src_unit} -> "
                f"{step.dst} {step.value_ns_after} {step.dst_unit}: {_added(step, offset)}, "
                f"from snapshot {step.snapshot_index + 1} of {step.snapshots} "
                f"({step.src} {step.snapshot_src_ns}, {step.dst} {step.snapshot_dst_ns})"
            )
        if self.outside is not None:
            lines.append(f"  {self.outside}")
        return named("\n".join(lines), self.names)


def _added(step: Hop, offset: int) -> str:
    if step.src_unit == step.dst_unit:
        return f"{offset:+d} {step.src_unit}"
    return f"{offset:+d}, a tick taken for 1 ns"
