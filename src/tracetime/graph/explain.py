"""One conversion told step by step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tracetime.clocks import ClockId
from tracetime.graph.shown import named


class Hop(NamedTuple):
    """One step of a conversion: which snapshot's offset was added, and what it made of the value.

    All values are int64 ns. `snapshot_index` counts from 0 within the `snapshots` of the series.
    `extrapolated` is "before first" or "after last" where no snapshot lies on that side, else "".
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


@dataclass(frozen=True, slots=True)
class Explanation:
    """A conversion and how it came about; `str()` tells it in words.

    Attributes:
        value: as given, in units of `src`.
        unit_ns: nanoseconds per unit of `src`.
        steps: the hops, none where src is dst.
        result: in ns of `dst`.
        names: what clocks are called.
    """

    value: int
    unit_ns: int
    src: ClockId
    dst: ClockId
    steps: list[Hop]
    result: int
    names: Mapping[ClockId, str]

    def __str__(self) -> str:
        lines = [f"{self.src} {self.value} -> {self.dst} {self.result} ns"]
        if not self.steps:
            lines.append(f"  {self.src} is that clock: the value stands as it is")
        elif self.unit_ns != 1:
            lines.append(f"  {self.value} x {self.unit_ns} ns = {self.steps[0].value_ns_before} ns")
        for number, step in enumerate(self.steps, 1):
            offset = step.value_ns_after - step.value_ns_before
            lines.append(
                f"  {number}. {step.src} {step.value_ns_before} ns -> {step.dst} "
                f"{step.value_ns_after} ns: {offset:+d} ns, from snapshot "
                f"{step.snapshot_index + 1} of {step.snapshots} "
                f"({step.src} {step.snapshot_src_ns}, {step.dst} {step.snapshot_dst_ns})"
                + _SIDE[step.extrapolated].format(
                    ns=abs(step.value_ns_before - step.snapshot_src_ns)
                )
            )
        return named("\n".join(lines), self.names)


_SIDE = {
    "": "",
    "before first": ", the first, {ns} ns later",
    "after last": ", the last, {ns} ns earlier",
}
