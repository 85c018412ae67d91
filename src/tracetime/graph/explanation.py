"""The explanation of one conversion, step by step, and its distance outside of snapshots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from tracetime.clocks.families import WALL
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json
from tracetime.clocks.wall_time import format_wall_time
from tracetime.graph.clock_names import named
from tracetime.graph.floor import FloorHop
from tracetime.graph.ticks import Side, Unit
from tracetime.text import duration

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, IsoTime


class Outside(NamedTuple):
    """The distance of a value outside of the snapshots that convert it.

    side: "before first" or "after last". distance: int64, in `unit`: ticks of a clock whose rate
    is unknown. src, dst: the clocks of those snapshots.
    """

    side: Side
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
        """The distance in words; evidence: the name of the clocks' evidence."""
        far = duration(self.distance) if self.unit == "ns" else f"{self.distance:,} ticks"
        side = self.side.replace(" ", " the ")
        return f"{far} {side} {evidence} of {self.src} and {self.dst}: nothing says what was there"


class Hop(NamedTuple):
    """A step of a conversion: the snapshot whose offset was added, and the result.

    All values are int64 ns, or ticks, where `src_unit` or `dst_unit` says so.

    Attributes:
        src: the clock before the step.
        dst: the clock after the step.
        snapshot_src_ns: what src reads in the snapshot.
        snapshot_dst_ns: what dst reads in the snapshot.
        value_ns_before: the value before the step.
        value_ns_after: the value after the step.
        snapshot_index: which snapshot it is, from 0.
        snapshots: how many snapshots have both clocks.
        extrapolated: on which side of the snapshots the value is; empty where it is among them.
        outside_ns: how far outside it is, ns; null: in ticks of unknown length.
        src_unit: what src counts.
        dst_unit: what dst counts.
    """

    src: ClockId
    dst: ClockId
    snapshot_src_ns: int
    snapshot_dst_ns: int
    value_ns_before: int
    value_ns_after: int
    snapshot_index: Count
    snapshots: Count
    extrapolated: Side
    outside_ns: Count | None
    src_unit: Unit
    dst_unit: Unit

    @property
    def outside(self) -> Outside | None:
        """The distance of the value outside of the snapshots; None within them."""
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
    side: Side = "before first" if ns < reading else "after last" if index == n - 1 else ""
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
    """A step of a conversion by any policy."""

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


class ConversionFacts(Document):
    """The keys of both policies that `at --json` has of a conversion."""

    __slots__ = ()

    value: int
    src: ClockId
    dst: ClockId
    result: int
    steps: Sequence[Step]

    @property
    def outside(self) -> Outside | None:
        """The step farthest outside of its snapshots; None where all are within."""
        return farthest_outside(self.steps)

    @property
    def _from(self) -> ClockId:
        """The clock of the value."""
        return self.src

    @property
    def _to(self) -> ClockId:
        """The clock of the result."""
        return self.dst

    @property
    def _extrapolated(self) -> Side:
        """The side of the snapshots on which the value is; empty where it is among them."""
        return "" if self.outside is None else self.outside.side

    @property
    def _outside_ns(self) -> Count | None:
        """The distance outside of the snapshots, ns; null: in ticks of unknown length."""
        return 0 if self.outside is None else self.outside.ns

    @property
    def _value_utc(self) -> IsoTime | None:
        """The value as a date and time; only of a wall clock."""
        return format_wall_time(self.value) if self.src.clock in WALL else None

    @property
    def _result_utc(self) -> IsoTime | None:
        """The result as a date and time; only of a wall clock."""
        return format_wall_time(self.result) if self.dst.clock in WALL else None


@as_json(
    "_from _to value value_unit _policy unit_ns result unit _extrapolated _outside_ns steps "
    "_value_utc? _result_utc?"
)
@dataclass(frozen=True, slots=True)
class Explanation(ConversionFacts):
    """A conversion and its steps; `str()` gives it in words.

    Attributes:
        value: the reading that was converted, in units of its clock.
        unit_ns: how many ns a unit of the value is.
        steps: the steps; none where both are one clock.
        result: the reading of the other clock at that instant: with tube, the estimate.
        names: declared names, by clock.
        value_unit: whether the value counts ns (or the clock's units of them) or ticks.
        unit: what the result counts.
    """

    value: int
    unit_ns: Count
    src: ClockId
    dst: ClockId
    steps: list[Hop]
    result: int
    names: Mapping[ClockId, str]
    value_unit: Unit = "ns"
    unit: Unit = "ns"

    @property
    def _policy(self) -> Literal["floor"]:
        """The policy."""
        return "floor"

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
