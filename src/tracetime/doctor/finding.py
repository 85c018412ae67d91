"""Findings: what the doctor reports, each with its evidence, its reason and its remedy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json
from tracetime.graph.clock_names import named
from tracetime.text import count

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, FindingCode

Severity = Literal["error", "warning", "info"]

SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "info")
"""Worst first. error: events are lost, or misplaced by more than the tolerance; warning: they can
be; info: worth knowing, and normal."""

_MOST_PACKETS: Final = 10


class EventSelection(NamedTuple):
    """Events of a trace that a finding is about: those that fit all that is given.

    Attributes:
        clock: that they were read in; None: any.
        reason: their status, of `errors.REASONS`; empty: any.
        spans: of readings of the clock in ns, ends included; None: any.
        before_zero: only those whose trace time is below 0.
        placed_in: spans of packets, ends included, with an end of None for that of the file: only
            those that snapshots placed there; None: anywhere.
        moved_ns: only those that floor would place farther off than this with all snapshots of the
            file; a selection of one clock.
        readings: of the clock in ns, each exactly; None: any.
        packets: that hold them; None: any.
        sequence: of their packets; None: any.
    """

    clock: ClockId | None = None
    reason: str = ""
    spans: npt.NDArray[np.int64] | Sequence[tuple[int, int]] | None = None
    before_zero: bool = False
    placed_in: Sequence[tuple[int, int | None]] | None = None
    moved_ns: int | None = None
    readings: npt.NDArray[np.int64] | None = None
    packets: npt.NDArray[np.int64] | None = None
    sequence: int | None = None


@as_json("code severity title clocks packets events worst_ns why fix consequences")
@dataclass(frozen=True, slots=True)
class Finding(Document):
    """Something about the clocks of a trace.

    Attributes:
        code: its kind.
        severity: how bad it is.
        title: what was seen, in one line.
        clocks: the clocks concerned.
        packets: the indexes of the first few packets where it is, ascending.
        events: how many events it touches.
        worst_ns: by how much time at most, ns; null where there is no such figure.
        why: its cause.
        fix: what to do.
        consequences: findings that this one leads to.
        selections: which events it touches; empty where they are only counted.
    """

    code: FindingCode
    severity: Severity
    title: str
    clocks: tuple[ClockId, ...] = ()
    packets: tuple[Count, ...] = ()
    events: Count = 0
    worst_ns: int | None = None
    why: str = ""
    fix: str = ""
    consequences: tuple[Finding, ...] = field(default=())
    selections: tuple[EventSelection, ...] = field(default=(), repr=False, compare=False)

    def with_names(self, names: Mapping[ClockId, str]) -> Finding:
        """Return the finding with the names of clocks in its texts, in place of their ids.

        A word such as REALTIME is a clock only where the finding is about that clock. An option of
        a command has no name with spaces.
        """

        def is_own(clock: ClockId, name: str) -> bool:
            return clock in self.clocks or clock.scope != "builtin" or "@" in str(clock)

        def is_typed(clock: ClockId, name: str) -> bool:
            return is_own(clock, name) and " " not in name

        return replace(
            self,
            title=named(self.title, names, is_own),
            why=named(self.why, names, is_own),
            fix=named(self.fix, names, is_typed),
            consequences=tuple(one.with_names(names) for one in self.consequences),
        )

    def leading_to(self, *consequences: Finding) -> Finding:
        """Return the finding with more consequences, and at least as severe as they are."""
        every = (*self.consequences, *consequences)
        severity = min((self.severity, *(c.severity for c in every)), key=SEVERITIES.index)
        return replace(self, consequences=every, severity=severity)


def rank(finding: Finding) -> tuple[Any, ...]:
    """Return a key that sorts findings worst first: by severity, then events, then time.

    That nothing relates the clocks of a file comes last of its kind: most files have one clock.
    """
    return (
        SEVERITIES.index(finding.severity),
        finding.code == "no-snapshots",
        -finding.events,
        -(finding.worst_ns or 0),
        finding.code,
        [clock.order() for clock in finding.clocks],
    )


def in_order(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield each finding, and after it its consequences."""
    for finding in findings:
        yield finding
        yield from in_order(finding.consequences)


def all_of(clocks: Iterable[ClockId]) -> tuple[EventSelection, ...]:
    """Select all events of some clocks."""
    return tuple(map(EventSelection, clocks))


def first_packets(packets: Any) -> tuple[int, ...]:
    """Return the first few packets, ascending, each once."""
    return tuple(sorted({int(packet) for packet in packets})[:_MOST_PACKETS])


def names(clocks: Collection[ClockId], most: int = 4) -> str:
    """Return clocks for a sentence: A, B and 3 more."""
    listed = [str(clock) for clock in islice(clocks, most + 1)]
    if len(listed) > most:
        return f"{', '.join(listed[:most])} and {len(clocks) - most} more"
    return " and ".join([", ".join(listed[:-1]), listed[-1]] if len(listed) > 1 else listed)


# All findings of a trace in one sentence.

FAULTS: Final = frozenset(
    {
        "clock-ran-backwards",
        "clock-reset",
        "clock-stands-still",
        "clock-stepped",
        "counter-wraps",
        "drift-beyond-healthy",
        "events-of-another-clock",
        "odd-times",
        "paths-disagree",
        "rate-not-nominal",
        "realtime-set-back",
        "recorder-lost-data",
        "snapshot-outlier",
        "threads-off-cpu",
    }
)
"""Codes of findings that a clock is wrong, times are odd or events are lost, also as an info."""


def faults(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings of severity info that speak against a trace."""
    return [f for f in findings if f.severity == "info" and f.code in FAULTS]


NOTHING_TO_CHECK: Final = "nothing to check: no snapshot"
"""The verdict on a trace whose clocks nothing relates."""


def verdict(findings: Sequence[Finding]) -> str:
    """Return the findings in a sentence, without its full stop: "1 error and 2 warnings"."""
    counts = Counter[str](finding.severity for finding in findings)
    bad = [count(n, severity) for severity in ("error", "warning") if (n := counts[severity])]
    if bad:
        return " and ".join(bad)
    if wrong := faults(findings):
        more = f", and {len(wrong) - 1:,} more" if len(wrong) > 1 else ""
        return f"no errors or warnings, but {wrong[0].title}{more}"
    return "the clocks are in order"
