"""Names of clocks for people, many on one line; and a graph as tables in a notebook."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Protocol

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import UsageError
from tracetime.text import count, duration, printable, table

if TYPE_CHECKING:
    from tracetime.graph.info import ClockInfo, OrdersInfo, SeriesInfo

FOLDED_FROM: Final = 4
"""From so many sequences on, the same clock of each is one line."""

_HASHED: Final = r"0x[89a-f][0-9a-f]{7}(?:@(?:machine|file)[0-9]{1,9})*"
"""A clock whose number is the hash of a name, as `str` writes it."""

_WORD: Final = re.compile(r"(?<![\w.@])(?:[A-Z_]{3,}|0x[0-9a-f]+|[0-9]+)(?:@\w+)*(?![\w@]|\.\w)")
"""What may be the id of a clock, as `str` writes it."""

_MOST_ROWS: Final = 40
"""Of a table in a notebook: a screen or two."""

_TSC: Final = BUILTIN_IDS["TSC"]


def named(
    text: str,
    names: Mapping[ClockId, str],
    fits: Callable[[ClockId, str], bool] = lambda clock, name: True,
) -> str:
    """The text with the names of clocks in place of hashes and of ids that say a machine or file.

    A word such as REALTIME gives way to a name that begins with it. Names that the text has stay;
    each is on one line. fits: whether a name may stand for its clock there.
    """

    def name_of(word: str) -> str | None:
        try:
            clock = ClockId.parse(word)
        except UsageError:
            return None
        name = names.get(clock)
        return name if name is not None and fits(clock, name) and str(clock) == word else None

    # There may be many thousand names: the text has few words.
    ids = {
        word: name
        for word in set(_WORD.findall(text))
        if (name := name_of(word)) is not None and ("@" in word or name.startswith(f"{word} "))
    }
    stay = dict.fromkeys(name for name in ids.values() if name in text)
    known = sorted((*stay, *ids), key=len, reverse=True)
    words = "|".join(map(re.escape, known))
    pattern = rf"(?<![\w.@])(?:{words})(?![\w@]|\.\w)|{_HASHED}" if words else _HASHED

    def called(found: re.Match[str]) -> str:
        if found[0] in stay or found[0] in ids:
            return printable(ids.get(found[0], found[0]))
        parts = found[0].split("@")
        for n in range(len(parts), 0, -1):
            name = name_of("@".join(parts[:n]))
            if name is not None:
                return "@".join([printable(name), *parts[n:]])
        return found[0]

    return re.sub(pattern, called, text)


def fold(clocks: Iterable[ClockId], called: Callable[[ClockId], str] = str) -> dict[ClockId, str]:
    """Name each clock for people: clocks that many sequences have share one name.

    Args:
        called: gives the name of a clock; those with a name other than their id keep it.

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
    orders: list[OrdersInfo],
    name: Callable[[ClockId], str],
    trace_clock: ClockId | None,
) -> str:
    """The clocks of a graph, the lists of clocks of its snapshots, and its orders, as HTML."""
    ends = (clock for info in orders for clock in (info.before, info.after))
    names = fold(dict.fromkeys((*(info.clock for info in infos), *ends)), name)
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
        f"<div><p>ClockGraph: {count(len(names), 'clock')}</p>"
        + table(
            ("clock", "scope", ">unit ns", ">snapshots", ">coverage", "notes"), rows[:_MOST_ROWS]
        )
        + (f"<p>{more}</p>" if more else "")
        + table(
            (">snapshots", "of these clocks together"),
            [(f"{n:,}", clocks) for clocks, n in together.most_common(_MOST_ROWS)],
        )
        + (
            table(
                (">orders", "before", "after"),
                [
                    (f"{info.orders:,}", names[info.before], names[info.after])
                    for info in sorted(orders, key=lambda info: -info.orders)[:_MOST_ROWS]
                ],
            )
            if orders
            else ""
        )
        + "</div>"
    )


class Covered(Protocol):
    """The facts of a clock's readings, from a graph or from a summary of a trace."""

    @property
    def clock(self) -> ClockId: ...
    @property
    def monotonic(self) -> bool: ...
    @property
    def first_ns(self) -> int | None: ...
    @property
    def last_ns(self) -> int | None: ...


def span_ns(info: Covered) -> int | None:
    """The time from the first to the last reading; None without, or if the clock ran backwards."""
    if not info.monotonic or info.first_ns is None or info.last_ns is None:
        return None
    # Readings may fall from one series to another, which makes no clock run backwards.
    return info.last_ns - info.first_ns if info.last_ns >= info.first_ns else None


def coverage(alike: Iterable[Covered], *, decimals: bool = False) -> str:
    """The longest span of some clocks, in the words of `duration`."""
    spans = {span: info.clock for info in alike if (span := span_ns(info)) is not None}
    if not spans:
        return "-"
    longest = max(spans)
    # The length of a TSC's tick is unknown.
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
