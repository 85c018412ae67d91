"""A conversion by the tube, hop by hop, as columns and in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from tracetime.clocks.families import COARSE
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import as_json
from tracetime.graph.clock_names import named
from tracetime.graph.explanation import ConversionFacts, Outside, reading
from tracetime.graph.ticks import Side, Unit
from tracetime.graph.tube.binding import BindingOrder, FeasibleRates
from tracetime.graph.tube.results import Bars
from tracetime.text import count, duration

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, NotNegative


class TubeHop(NamedTuple):
    """One step of a conversion: its result, and the evidence for its bar.

    Attributes:
        src: the clock before the step.
        dst: the clock after the step.
        estimate: the value after the step, in its unit.
        earliest: the lower end of its bar; null where it is open.
        latest: the upper end of its bar; null where it is open.
        snapshots: how many snapshots have both clocks.
        half_width_ns: the median half-width of these, ns; null without any.
        assumed: whether the half-width is assumed: the trace has none.
        drift_ppm: the drift limit of the two clocks together.
        wander_ppm: the wander limit of the two together.
        learnt: whether a clock's rate was learnt from the snapshots.
        unit: what dst counts.
        extrapolated: on which side of the snapshots the value is; empty where it is among them.
        outside_ns: how far outside it is, ns.
        src_tick_ns: the tick of src, where its readings show a longer one; else null.
        dst_tick_ns: the tick of dst, where its readings show a longer one; else null.
        orders: how many orders the two clocks have.
        earliest_by: the order that sets the lower end; else null.
        latest_by: the order that sets the upper end; else null.
        rates: the rates of dst against src that the orders around the value allow, drift_ppm set
            aside; null without orders.
        rate_unproven: whether the bar takes the rate that two snapshots show, which prove none.
        gaps_apart: how many gaps between snapshots contradict that the two clocks tick alike, where
            that is more than jumps; else 0.
    """

    src: ClockId
    dst: ClockId
    estimate: int
    earliest: int | None
    latest: int | None
    snapshots: Count
    half_width_ns: NotNegative | None
    assumed: bool
    drift_ppm: NotNegative
    wander_ppm: NotNegative
    learnt: bool
    unit: Unit
    extrapolated: Side
    outside_ns: Count
    src_tick_ns: float | None
    dst_tick_ns: float | None
    orders: Count = 0
    earliest_by: BindingOrder | None = None
    latest_by: BindingOrder | None = None
    rates: FeasibleRates | None = None
    rate_unproven: bool = False
    gaps_apart: Count = 0

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


class MeshHop(NamedTuple):
    """A part of a conversion that leads over clocks which orders tie to each other.

    src, dst: its ends. clocks: how many there are. earliest, latest: the clocks of the path that
    bounds each side; waits_earliest, waits_latest: whether it waits on one of them for better
    evidence. fitted: whether the estimate is a fit over all pairs, else it is the path's.
    """

    src: ClockId
    dst: ClockId
    clocks: int
    earliest: tuple[ClockId, ...]
    latest: tuple[ClockId, ...]
    waits_earliest: bool
    waits_latest: bool
    fitted: bool


@as_json(
    "_from _to value value_unit _policy bars basis result unit earliest latest _extrapolated "
    "_outside_ns steps _value_utc? _result_utc?"
)
@dataclass(frozen=True, slots=True)
class TubeExplanation(ConversionFacts):
    """A conversion with its bar, and the evidence for it; `str()` gives it as text.

    Attributes:
        value: the reading that was converted, in units of its clock.
        bars: the bars that --bars asks for.
        steps: the steps; none where both are one clock.
        result: the reading of the other clock at that instant: with tube, the estimate.
        earliest: the lower end of the bar, in the result's unit; null: open.
        latest: the upper end of the bar, in the result's unit; null: open.
        names: by clock, its display name.
        value_unit: whether the value counts ns (or the clock's units of them) or ticks.
        meshes: the parts of the path within which bars are closed over several clocks.
        jumped: clocks that may have jumped where the steps alone do not show it: the bar is then
            that of all evidence.
    """

    value: int
    src: ClockId
    dst: ClockId
    bars: Bars
    steps: list[TubeHop]
    result: int
    earliest: int | None
    latest: int | None
    names: Mapping[ClockId, str]
    value_unit: Unit = "ns"
    meshes: Sequence[MeshHop] = ()
    jumped: Sequence[ClockId] = ()

    @property
    def _policy(self) -> Literal["tube"]:
        """The policy."""
        return "tube"

    @property
    def _outside_ns(self) -> Count:
        """How far outside it is, ns."""
        return 0 if self.outside is None else self.outside.distance

    @property
    def unit(self) -> Unit:
        """Of the result and its bar."""
        return self.steps[-1].unit if self.steps else self.value_unit

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
            f"  {self.in_words} ({_reach(self.result, self.earliest, self.latest)} {unit}), "
            f"{self._bars_and_basis()}",
            *(line for number, hop in enumerate(self.steps, 1) for line in _lines(number, hop)),
            *map(_closed, self.meshes),
        ]
        if self.jumped:
            clocks = " or ".join(map(str, self.jumped))
            lines.append(f"  {clocks} jumped where these steps do not show it: bar of all evidence")
        lines += [f"  {said}" for said in self._outside()]
        return named("\n".join(lines), self.names)

    def _outside(self) -> Iterator[str]:
        """How far the value is outside the evidence of the step where it is farthest."""
        for step in self.steps:
            if step.outside is not None and step.outside == self.outside:
                kinds = (("snapshot", step.snapshots), ("order", step.orders))
                yield step.outside.of(" or ".join(kind for kind, n in kinds if n))
                return

    @property
    def in_words(self) -> str:
        """The bar in words."""
        if self.earliest is not None and self.latest is not None:
            return f"between {self.earliest} and {self.latest}"
        if self.latest is not None:
            return f"at {self.latest} at the latest, and nothing says how much earlier"
        if self.earliest is not None:
            return f"at {self.earliest} at the earliest, and nothing says how much later"
        return "nothing says how much earlier or later"

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


def _lines(number: int, hop: TubeHop) -> Iterator[str]:
    """A hop, and the orders that set its bar."""
    yield _line(number, hop)
    for side, order in (("earliest", hop.earliest_by), ("latest", hop.latest_by)):
        if order is not None:
            when = "after" if order.away_ns < 0 else "before"
            yield (
                f"     {side}: order {order.number}, {order.before} {order.before_ts} before "
                f"{order.after} {order.after_ts}, {duration(abs(order.away_ns))} {when} the value"
            )
    if hop.rates is not None:
        by = "snapshots and orders" if hop.snapshots else "orders"
        rates = hop.rates.in_words(hop.drift_ppm)
        yield f"     rate of {hop.dst} against {hop.src} by {by} alone: {rates}"


def _reach(estimate: int, earliest: int | None, latest: int | None) -> str:
    """How far a bar reaches to either side of the estimate."""
    below = "?" if earliest is None else estimate - earliest
    above = "?" if latest is None else latest - estimate
    return f"-{below} +{above}"


def _line(number: int, hop: TubeHop) -> str:
    widths = "assumed" if hop.assumed else "measured"
    ticks = ((hop.src, hop.src_tick_ns), (hop.dst, hop.dst_tick_ns))
    parts = [
        *([count(hop.snapshots, "snapshot")] if hop.snapshots or not hop.orders else []),
        *([count(hop.orders, "order")] if hop.orders else []),
        *(
            [f"half-width {hop.half_width_ns:.0f} ns ({widths})"]
            if hop.half_width_ns is not None
            else []
        ),
        f"drift within {hop.drift_ppm:.0f} ppm",
        f"wander within {hop.wander_ppm:g} ppm",
        *(["rate learnt from these"] if hop.learnt else []),
        *(["two of them prove no rate"] if hop.rate_unproven else []),
        *(
            [f"{hop.gaps_apart} of {hop.snapshots - 1} gaps show that they do not tick alike"]
            if hop.gaps_apart
            else []
        ),
        *(["lag as far as it was seen"] if hop.lags and not hop.assumed else []),
        *(
            f"{clock} ticks by {duration(tick_ns)} as its readings show"
            for clock, tick_ns in ticks
            if tick_ns is not None
        ),
    ]
    return (
        f"  {number}. {hop.src} -> {hop.dst} {hop.estimate}, bar "
        f"{_reach(hop.estimate, hop.earliest, hop.latest)} {hop.unit}: " + ", ".join(parts)
    )


def _closed(mesh: MeshHop) -> str:
    low, high = (
        " -> ".join(map(str, path)) + (", after a wait" if waits else "")
        for path, waits in ((mesh.earliest, mesh.waits_earliest), (mesh.latest, mesh.waits_latest))
    )
    return (
        f"  {mesh.src} to {mesh.dst} among {count(mesh.clocks, 'clock')}: earliest by {low}; "
        f"latest by {high}" + ("; the estimate is a fit over all of them" if mesh.fitted else "")
    )
