"""A conversion by the tube, hop by hop, as columns and in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from tracetime.clocks.families import COARSE
from tracetime.clocks.ids import ClockId
from tracetime.graph.clock_names import named
from tracetime.graph.explanation import Outside, farthest_outside, reading
from tracetime.graph.ticks import Unit
from tracetime.graph.tube.bars import Bars
from tracetime.text import count, duration


class TubeHop(NamedTuple):
    """One step of a conversion: its result, and the evidence for its bar.

    estimate, earliest, latest: on dst, ns (ticks where dst counts them). snapshots: how many the
    pair shares. half_width_ns: the median of theirs; `assumed` where the trace gives none.
    learnt: the rate of a clock was learnt from these snapshots. unit: "ns" or "ticks", of the
    result and its bar. extrapolated: "before first" or "after last" of those snapshots, or ""
    among them; outside_ns: how far from them. src_tick_ns, dst_tick_ns: the tick of each clock
    where its readings show a longer one than it declares; else None.
    """

    src: ClockId
    dst: ClockId
    estimate: int
    earliest: int
    latest: int
    snapshots: int
    half_width_ns: float
    assumed: bool
    drift_ppm: float
    wander_ppm: float
    learnt: bool
    unit: Unit
    extrapolated: str
    outside_ns: int
    src_tick_ns: float | None
    dst_tick_ns: float | None

    @property
    def lags(self) -> bool:
        """Whether a clock is a COARSE one: its lag is known only as far as it was seen."""
        return bool(COARSE & {self.src.clock, self.dst.clock})

    @property
    def outside(self) -> Outside | None:
        """How far outside the snapshots the value is; None within them."""
        if not self.extrapolated:
            return None
        return Outside(self.extrapolated, self.outside_ns, "ns", self.src, self.dst)


@dataclass(frozen=True, slots=True)
class TubeExplanation:
    """A conversion with its bar, and the evidence for it; `str()` gives it as text.

    Attributes:
        bars: as requested; see `basis`.
        names: by clock, its display name.
        value_unit: whether `src` counts ns (or its units of them) or ticks.
    """

    value: int
    src: ClockId
    dst: ClockId
    bars: Bars
    steps: list[TubeHop]
    result: int
    earliest: int
    latest: int
    names: Mapping[ClockId, str]
    value_unit: Unit = "ns"

    @property
    def unit(self) -> Unit:
        """Of the result and its bar."""
        return self.steps[-1].unit if self.steps else self.value_unit

    @property
    def outside(self) -> Outside | None:
        """The step that is farthest outside its snapshots; None where all are within."""
        return farthest_outside(self.steps)

    @property
    def basis(self) -> Bars:
        """The kind of the bar: an estimate where any part is not measured or declared."""
        unsure = any(step.assumed or step.learnt or step.lags for step in self.steps)
        return "estimated" if unsure else self.bars

    def __str__(self) -> str:
        unit = self.unit
        lines = [
            f"{reading(self.src, self.value, self.value_unit)} -> "
            f"{reading(self.dst, self.result, unit)}",
            f"  between {self.earliest} and {self.latest} "
            f"(-{self.result - self.earliest} +{self.latest - self.result} {unit}), "
            f"{self._bars_and_basis()}",
            *(_line(number, hop) for number, hop in enumerate(self.steps, 1)),
        ]
        if self.outside is not None:
            lines.append(f"  {self.outside}")
        return named("\n".join(lines), self.names)

    def _bars_and_basis(self) -> str:
        if self.basis == self.bars:
            return f"{self.bars} bars"
        reasons = (
            ("half-widths are assumed", any(step.assumed for step in self.steps)),
            ("a rate is learnt", any(step.learnt for step in self.steps)),
            ("a COARSE clock's lag is as far as it was seen", any(s.lags for s in self.steps)),
        )
        return f"{self.bars} bars, but estimates: " + " and ".join(
            reason for reason, holds in reasons if holds
        )


def _line(number: int, hop: TubeHop) -> str:
    widths = "assumed" if hop.assumed else "measured"
    ticks = ((hop.src, hop.src_tick_ns), (hop.dst, hop.dst_tick_ns))
    parts = [
        count(hop.snapshots, "snapshot"),
        f"half-width {hop.half_width_ns:.0f} ns ({widths})",
        f"drift within {hop.drift_ppm:.0f} ppm",
        f"wander within {hop.wander_ppm:g} ppm",
        *(["rate learnt from these"] if hop.learnt else []),
        *(["lag as far as it was seen"] if hop.lags and not hop.assumed else []),
        *(
            f"{clock} ticks by {duration(tick_ns)} as its readings show"
            for clock, tick_ns in ticks
            if tick_ns is not None
        ),
    ]
    return (
        f"  {number}. {hop.src} -> {hop.dst} {hop.estimate}, bar "
        f"-{hop.estimate - hop.earliest} +{hop.latest - hop.estimate} {hop.unit}: "
        + ", ".join(parts)
    )
