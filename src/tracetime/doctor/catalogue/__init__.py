"""The catalogue: one row for each kind of finding, from which checks make findings.

The list and the heads of the pages in docs/findings are written from it:
`python tools/write_findings.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final

from tracetime.clocks.ids import ClockId
from tracetime.doctor.catalogue import events, files, jumps, machines, rates, snapshots
from tracetime.doctor.catalogue.row import Row
from tracetime.doctor.finding import Finding, Severity, first_packets, names
from tracetime.text import count, duration

__all__ = ["CATALOGUE", "Row", "finding"]

_ROWS: Final = (
    *events.ROWS, *files.ROWS, *jumps.ROWS, *machines.ROWS, *rates.ROWS, *snapshots.ROWS,
)  # fmt: skip

CATALOGUE: Final[Mapping[str, Row]] = MappingProxyType({row.code: row for row in _ROWS})
"""Every kind of finding, by its code."""


def finding(
    code: str,
    severity: Severity | None = None,
    *,
    clocks: tuple[ClockId, ...] = (),
    packets: Iterable[int] = (),
    events: int = 0,
    worst_ns: int | None = None,
    parts: Iterable[str] = (),
    **values: object,
) -> Finding:
    """Return a finding with the texts of its row.

    Args:
        code: of a row of the catalogue.
        severity: where it is not the row's.
        clocks, events, worst_ns: as of a `Finding`.
        packets: all that are concerned; the finding has the first few.
        parts: the names of the row's parts that apply.
        **values: what its texts ask for by name.
    """
    row = CATALOGUE[code]
    given = _Given(clocks, events, worst_ns, values)
    if row.parts:
        applying = set(parts)
        for name, text in row.parts.items():
            given[name] = text.format_map(given) if name in applying else ""
    title, why, fix = (text.format_map(given) for text in (row.title, row.why, row.fix))
    return Finding(
        code, severity or row.severity, title, clocks, first_packets(packets), events, worst_ns,
        why, fix,
    )  # fmt: skip


class _Given(dict[str, object]):
    """What texts ask for by name; of what every finding has, only what they ask for is made."""

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
