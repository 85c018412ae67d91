"""The evidence that ties two of the merged files, and sets the sides of the bar between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json
from tracetime.text import count, duration, half_width, printable, signed_duration

if TYPE_CHECKING:
    from msgspec import Meta

    from tracetime.clocks.json_types import Count, NotNegative
    from tracetime.merging.ties import TieKind


@dataclass(frozen=True, slots=True)
class Link:
    """A tie between two files.

    Attributes:
        one: the name of a file.
        other: the name of the other.
        kind: what it is: one boot, a known offset, wall clocks, messages or collectives.
        said: what it is, in words.
        ties: how many there are.
        orders: how many orders they are: messages one each, collectives two.
        live: how many of these orders bars rest on: they say what the others say.
    """

    one: str
    other: str
    kind: TieKind
    said: str
    ties: Count
    orders: Count
    live: Count


@dataclass(frozen=True, slots=True)
class SideEvidence:
    """The order that sets a side of a bar.

    Attributes:
        said: what it is one of: a tie, or the orders of a file itself.
        number: which order of that it is, from 0.
        orders: how many there are.
        before: the clock that was read first.
        before_ts: what it read.
        after: the clock that was read after it.
        after_ts: what it read.
        away_ns: how much later the instant is than this order, ns.
    """

    said: str
    number: Count
    orders: Count
    before: ClockId
    before_ts: int
    after: ClockId
    after_ts: int
    away_ns: int


@dataclass(frozen=True, slots=True)
class EvidenceStep:
    """One step of the conversion, from a clock to the next.

    Attributes:
        src: the clock before the step.
        dst: the clock after the step.
        snapshots: how many snapshots have both clocks.
        half_width_ns: the median half-width of these, ns; null without any.
        assumed: whether the half-width is assumed.
        orders: how many orders the two clocks have.
        live: how many of these bars rest on.
        sources: the files and ties that all these are of.
        earliest_by: the order that sets the lower side of the step's bar; null: snapshots do, or
            nothing.
        latest_by: the order that sets the upper side of the step's bar; null: snapshots do, or
            nothing.
    """

    src: ClockId
    dst: ClockId
    snapshots: Count
    half_width_ns: NotNegative | None
    assumed: bool
    orders: Count
    live: Count
    sources: tuple[str, ...]
    earliest_by: SideEvidence | None
    latest_by: SideEvidence | None


@dataclass(frozen=True, slots=True)
class EvidenceInstant:
    """The offset between two clocks at an instant, and the evidence for it.

    Attributes:
        where: which instant of the second file, or of its bars.
        time_ns: when, on the trace clock of the second file.
        offset_ns: the first file's trace clock less the second's: the estimate.
        least_ns: the lower end of its bar; null: open.
        most_ns: the upper end of its bar; null: open.
        steps: from the second file's clock to the first's.
        over: where orders close the bar over several clocks: the clocks that bound its lower side,
            and those that bound its upper side.
    """

    where: Annotated[str, Meta(extra_json_schema={"enum": list(_WHERE)})]
    time_ns: int
    offset_ns: int
    least_ns: int | None
    most_ns: int | None
    steps: tuple[EvidenceStep, ...]
    over: tuple[tuple[ClockId, ...], ...]


@as_json(
    "one other links over over_links path drift_ppm drift_half_ppm instants why_not contradictions"
)
@dataclass(frozen=True, slots=True)
class PairEvidence(Document):
    """The evidence between the trace clocks of two files; `str()` gives it as text.

    Attributes:
        one: the name of the first file.
        other: the name of the second.
        links: what ties the two at once.
        over: the files over which other ties lead from the one to the other.
        over_links: what ties these, each to the next.
        path: the clocks of the conversion, from the second file's; empty without.
        drift_ppm: how much faster the first file's clock runs; null: not tied, or no event.
        drift_half_ppm: half the bar of that drift; null: open, or unknown.
        instants: what the bar rests on, where.
        why_not: why there are no instants; null where there are.
        contradictions: what disagrees among these clocks.
        names: of the clocks, for the text.
    """

    one: str
    other: str
    links: tuple[Link, ...]
    over: tuple[str, ...]
    over_links: tuple[Link, ...]
    path: tuple[ClockId, ...]
    drift_ppm: float | None
    drift_half_ppm: float | None
    instants: tuple[EvidenceInstant, ...]
    why_not: str | None
    contradictions: tuple[str, ...]
    names: Mapping[ClockId, str]

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        one, other = printable(self.one), printable(self.other)
        yield f"evidence between {one} and {other}"
        if not self.links:
            yield "  nothing ties the two at once"
        yield from (f"  tied at once by {_link(link)}" for link in self.links)
        if self.over:
            yield f"  tied over {', '.join(map(printable, self.over[1:-1]))}"
            yield from (
                f"    {printable(link.one)} and {printable(link.other)}: {_link(link)}"
                for link in self.over_links
            )
        if self.why_not is not None:
            yield f"  no bar: {printable(self.why_not)}"
        elif len(self.path) < 2:
            yield "  the two have one trace clock"
        else:
            yield f"  path: {' -> '.join(map(self._name, self.path))}"
            for step in self.instants[0].steps:
                yield f"  {self._ends(step)}: {_rests_on(step)}"
            yield f"  drift over {other}: {drift_text(self.drift_ppm, self.drift_half_ppm)}"
        for instant in self.instants if len(self.path) > 1 else ():
            yield from self._of_instant(instant)
        yield from (f"  contradiction: {text}" for text in self.contradictions)

    def _of_instant(self, instant: EvidenceInstant) -> Iterator[str]:
        yield (
            f"  {_WHERE[instant.where]}, at {instant.time_ns}: "
            f"{signed_duration(instant.offset_ns)}, {_bar(instant)}"
        )
        for step in instant.steps:
            where = f"{self._ends(step)}, " if len(instant.steps) > 1 else ""
            for side, by in (("earliest", step.earliest_by), ("latest", step.latest_by)):
                yield f"    {where}{side} by {self._side(step, by)}"
        for side, clocks in zip(("earliest", "latest"), instant.over, strict=False):
            yield f"    all together, {side} over {' -> '.join(map(self._name, clocks))}"

    def _ends(self, step: EvidenceStep) -> str:
        return f"{self._name(step.src)} to {self._name(step.dst)}"

    def _side(self, step: EvidenceStep, by: SideEvidence | None) -> str:
        if by is None:
            return "snapshots" if step.snapshots else "nothing: the side is open"
        when = "before" if by.away_ns > 0 else "after"
        return (
            f"number {by.number + 1:,} of {count(by.orders, 'order')} ({printable(by.said)}): "
            f"{self._name(by.before)} "
            f"{by.before_ts} before {self._name(by.after)} {by.after_ts}, "
            f"{duration(abs(by.away_ns))} {when} that"
        )

    def _name(self, clock: ClockId) -> str:
        return printable(self.names.get(clock, str(clock)))


_WHERE = {
    "start": "at the start",
    "middle": "in the middle",
    "end": "at the end",
    "narrowest": "where the bar is narrowest",
    "worst": "at worst",
}


def drift_text(ppm: float | None, half_ppm: float | None) -> str:
    """A drift and half its bar in words; None: it is unknown, or the bar is open."""
    if ppm is None:
        return "drift unknown"
    return f"{ppm:+.3f}{'' if half_ppm is None else f' ± {half_ppm:.3f}'} ppm"


def _link(link: Link) -> str:
    live = f" ({link.live:,} of {count(link.orders, 'order')} live)" if link.orders else ""
    return f"{printable(link.said)}{live}"


def _bar(instant: EvidenceInstant) -> str:
    low, high = instant.least_ns, instant.most_ns
    if low is None or high is None:
        return "the bar is open"
    return half_width((high - low + 1) // 2)


def _rests_on(step: EvidenceStep) -> str:
    parts = []
    if step.snapshots:
        widths = "assumed" if step.assumed else "measured"
        ns = step.half_width_ns
        width = "" if ns is None else f" {half_width(ns)}, {widths}"
        parts.append(count(step.snapshots, "snapshot") + width)
    if step.orders:
        parts.append(f"{count(step.orders, 'order')}, {step.live:,} live")
    sources = f" ({'; '.join(map(printable, step.sources))})" if step.sources else ""
    return ", ".join(parts) + sources
