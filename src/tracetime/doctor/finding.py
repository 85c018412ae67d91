"""What the doctor says: findings, each with its evidence, its reason and its cure."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, Literal

from tracetime.clocks.ids import ClockId

Severity = Literal["error", "warning", "info"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
"""Worst first. error: events are lost, or misplaced by more than the tolerance; warning: they could
be; info: worth knowing, and normal."""

_SHOWN_PACKETS: Final = 10


@dataclass(frozen=True, slots=True)
class Finding:
    """Something about the clocks of a trace.

    Attributes:
        code: stable name, that of its page in docs/findings.
        severity: see `SEVERITIES`.
        title: what was seen, in one line.
        clocks: concerned, in order.
        packets: where, the first few, ascending; of snapshots where those are the matter.
        events: how many events it touches.
        worst_ns: by how much time at most; None where there is no such figure.
        why: how it comes about.
        fix: what to do.
        consequences: findings that are there because of this one.
    """

    code: str
    severity: Severity
    title: str
    clocks: tuple[ClockId, ...] = ()
    packets: tuple[int, ...] = ()
    events: int = 0
    worst_ns: int | None = None
    why: str = ""
    fix: str = ""
    consequences: tuple[Finding, ...] = field(default=())

    def to_dict(self) -> dict[str, object]:
        """The finding in the types of JSON; clocks as `str(ClockId)` writes them."""
        return {
            "code": self.code,
            "severity": self.severity,
            "title": self.title,
            "clocks": [str(clock) for clock in self.clocks],
            "packets": list(self.packets),
            "events": self.events,
            "worst_ns": self.worst_ns,
            "why": self.why,
            "fix": self.fix,
            "consequences": [finding.to_dict() for finding in self.consequences],
        }

    def leading_to(self, *consequences: Finding) -> Finding:
        """The same, with more findings that follow from it; no less severe than they are."""
        every = (*self.consequences, *consequences)
        severity = min((self.severity, *(c.severity for c in every)), key=SEVERITIES.index)
        return replace(self, consequences=every, severity=severity)


def rank(finding: Finding) -> tuple[Any, ...]:
    """Sorts findings worst first: by severity, then events, then time."""
    return (
        SEVERITIES.index(finding.severity),
        -finding.events,
        -(finding.worst_ns or 0),
        finding.code,
        [clock.order() for clock in finding.clocks],
    )


def first_packets(packets: Any) -> tuple[int, ...]:
    """The first few of some packets, ascending, each once."""
    return tuple(sorted({int(packet) for packet in packets})[:_SHOWN_PACKETS])


def names(clocks: Collection[ClockId], most: int = 4) -> str:
    """Clocks in a sentence: A, B and 3 more."""
    told = [str(clock) for clock in islice(clocks, most + 1)]
    if len(told) > most:
        return f"{', '.join(told[:most])} and {len(clocks) - most} more"
    return " and ".join([", ".join(told[:-1]), told[-1]] if len(told) > 1 else told)
