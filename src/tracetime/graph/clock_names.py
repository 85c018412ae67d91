"""How clocks are shown: by name, many on one line; and a graph in a notebook, as small tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from tracetime.clocks.ids import BUILTIN_IDS, FIRST_HASHED_CLOCK
from tracetime.text import count, duration, table

if TYPE_CHECKING:
    from tracetime.clocks.ids import ClockId
    from tracetime.graph.info import ClockInfo, SeriesInfo

FOLDED_FROM: Final = 4
"""From so many sequences on, the same clock of each is shown as one line."""

_MOST_ROWS: Final = 40

_TSC: Final = BUILTIN_IDS["TSC"]


def named(text: str, names: Mapping[ClockId, str]) -> str:
    """A text in which clocks that are numbered by a hash are called by their names."""
    for clock, name in names.items():
        if clock.clock >= FIRST_HASHED_CLOCK:
            text = text.replace(str(clock), name)
    return text


def fold(clocks: Iterable[ClockId], called: Callable[[ClockId], str] = str) -> dict[ClockId, str]:
    """Name each clock as it is to be shown: alike on many sequences, they share one name.

    Args:
        called: what a clock is called; those that have a name other than their id keep it.

    Returns:
        {clock: name}, in the order given.
    """
    kinds: dict[tuple[int, int, int], list[ClockId]] = {}
    names = {}
    for clock in clocks:
        names[clock] = called(clock)
        if clock.sequence and names[clock] == str(clock):
            kinds.setdefault((clock.clock, clock.machine, clock.file), []).append(clock)
    for alike in kinds.values():
        if len(alike) >= FOLDED_FROM:
            for clock in alike:
                name = str(clock).replace(f"@seq{clock.sequence}", "@seq*")
                names[clock] = f"{name} ({len(alike)})"
    return names


def graph_table(
    infos: list[ClockInfo],
    series: list[SeriesInfo],
    name: Callable[[ClockId], str],
    trace_clock: ClockId | None,
) -> str:
    """The clocks of a graph, and which were read together, as HTML."""
    names = fold((info.clock for info in infos), name)
    lines: dict[str, list[ClockInfo]] = {}
    for info in infos:
        lines.setdefault(names[info.clock], []).append(info)
    rows = [
        (
            line,
            alike[0].clock.scope,
            ", ".join(f"{unit_ns:,}" for unit_ns in sorted({info.unit_ns for info in alike})),
            f"{sum(info.snapshots for info in alike):,}",
            coverage(alike),
            ", ".join(_notes(trace_clock, alike)),
        )
        for line, alike in lines.items()
    ]
    together = Counter[str]()
    for clocks, snapshots in series:
        together[", ".join(dict.fromkeys(names[clock] for clock in clocks))] += snapshots
    more = count(len(rows) - _MOST_ROWS, "more line") if len(rows) > _MOST_ROWS else ""
    return (
        f"<div><p>ClockGraph: {count(len(infos), 'clock')}</p>"
        + table(
            ("clock", "scope", ">unit ns", ">snapshots", ">coverage", "notes"), rows[:_MOST_ROWS]
        )
        + (f"<p>{more}</p>" if more else "")
        + table(
            (">snapshots", "of these clocks together"),
            [(f"{n:,}", clocks) for clocks, n in together.most_common(_MOST_ROWS)],
        )
        + "</div>"
    )


class Covered(Protocol):
    """What is known of a clock's readings, in a graph or in a summary of a trace."""

    @property
    def clock(self) -> ClockId: ...
    @property
    def monotonic(self) -> bool: ...
    @property
    def first_ns(self) -> int | None: ...
    @property
    def last_ns(self) -> int | None: ...


def span_ns(info: Covered) -> int | None:
    """From the first to the last reading; None of a clock that ran backwards, or has none."""
    if not info.monotonic or info.first_ns is None or info.last_ns is None:
        return None
    # One may run backwards from one series to another, which counts for neither.
    return info.last_ns - info.first_ns if info.last_ns >= info.first_ns else None


def coverage(alike: Iterable[Covered], *, decimals: bool = False) -> str:
    """The longest span of some clocks, as `duration` says it."""
    spans = {span: info.clock for info in alike if (span := span_ns(info)) is not None}
    if not spans:
        return "-"
    longest = max(spans)
    # Of the TSC nothing says how long a tick is.
    if spans[longest].clock == _TSC:
        return f"{longest:.3g} ticks"
    return duration(longest, decimals=decimals)


def _notes(trace_clock: ClockId | None, alike: list[ClockInfo]) -> list[str]:
    notes = []
    if any(info.clock == trace_clock for info in alike):
        notes.append("trace time")
    if any(info.incremental for info in alike):
        notes.append("incremental")
    if not all(info.monotonic for info in alike):
        notes.append("ran backwards")
    return notes
