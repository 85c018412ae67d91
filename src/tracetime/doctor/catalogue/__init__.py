"""The catalogue: one row for each kind of finding, from which checks make findings.

The list and the heads of the pages in docs/findings are written from it:
`python tools/write_findings.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tracetime.clocks.ids import ClockId
from tracetime.doctor.catalogue import (
    events,
    files,
    jumps,
    machines,
    odd_times,
    orders,
    rates,
    snapshots,
)
from tracetime.doctor.catalogue.by_format import fix_in
from tracetime.doctor.catalogue.row import Row
from tracetime.doctor.finding import EventSelection, Finding, Severity, first_packets, names
from tracetime.text import count, duration

__all__ = ["CATALOGUE", "Row", "finding", "told"]

_ROWS: Final = (
    *events.ROWS,
    *files.ROWS,
    *jumps.ROWS,
    *machines.ROWS,
    *odd_times.ROWS,
    *orders.ROWS,
    *rates.ROWS,
    *snapshots.ROWS,
    *odd_times.SPAN_ROWS,
)

CATALOGUE: Final[Mapping[str, Row]] = MappingProxyType({row.code: row for row in _ROWS})
"""Every kind of finding, by its code."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Untold(Finding):
    """A finding without its texts: of very many that are alike, only the worst is told.

    Attributes:
        parts, values: as `finding` takes them.
    """

    parts: tuple[str, ...]
    values: Mapping[str, object]


def kind_of(found: Finding) -> object:
    """The kind of the note that made a finding that is not told yet; None of others."""
    return found.values.get("kind") if isinstance(found, _Untold) else None


def finding(  # noqa: PLR0913  the attributes of a finding
    code: str,
    severity: Severity | None = None,
    *,
    clocks: tuple[ClockId, ...] = (),
    packets: Iterable[int] = (),
    events: int = 0,
    worst_ns: int | None = None,
    parts: Iterable[str] = (),
    selections: Iterable[EventSelection] = (),
    **values: object,
) -> Finding:
    """Return a finding to which `told` gives the texts of its row.

    Args:
        code: of a row of the catalogue.
        severity: one of the row's; the first of them if None.
        clocks, events, worst_ns, selections: as of a `Finding`.
        packets: all that are concerned; the finding has the first few.
        parts: the names of the row's parts that apply.
        **values: the values that its texts name.
    """
    return _Untold(
        code=code,
        severity=severity or CATALOGUE[code].severity,
        title="",
        clocks=clocks,
        packets=first_packets(packets),
        events=events,
        worst_ns=worst_ns,
        selections=tuple(selections),
        parts=tuple(parts),
        values=values,
    )


def told(found: Finding, format_name: str = "") -> Finding:
    """Return a finding with its texts; so is each of its consequences.

    format_name: of the trace, as `Trace.format` has it.
    """
    if not isinstance(found, _Untold):
        return found
    row = CATALOGUE[found.code]
    texts = _Values(found.clocks, found.events, found.worst_ns, found.values)
    for name, text in row.parts.items():
        texts[name] = text.format_map(texts) if name in found.parts else ""
    return Finding(
        code=found.code,
        severity=found.severity,
        title=row.title.format_map(texts),
        clocks=found.clocks,
        packets=found.packets,
        events=found.events,
        worst_ns=found.worst_ns,
        why=row.why.format_map(texts),
        fix=fix_in(found.code, format_name) or row.fix.format_map(texts),
        consequences=tuple(told(one, format_name) for one in found.consequences),
        selections=found.selections,
    )


class _Values(dict[str, object]):
    """The values that texts name. Those that every finding has are made when a text names them."""

    def __init__(
        self,
        clocks: tuple[ClockId, ...],
        events: int,
        worst_ns: int | None,
        values: Mapping[str, object],
    ) -> None:
        super().__init__(values)
        self._facts = clocks, events, worst_ns

    def __missing__(self, name: str) -> str:
        clocks, events, worst_ns = self._facts
        match name:
            case "clock":
                text = str(clocks[0]) if clocks else ""
            case "clocks":
                text = names(clocks)
            case "events":
                text = count(events, "event")
            case "worst":
                text = duration(worst_ns or 0)
            case _:
                raise KeyError(name)
        self[name] = text
        return text
