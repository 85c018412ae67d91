"""Findings about a trace clock that changed to another machine's clock."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import known_of
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.doctor.machine_ties import tied_machines
from tracetime.errors import ConversionError
from tracetime.graph.values import distances
from tracetime.text import count

MOVED: Final = "trace-clock-moved"
_TRACE_FILE: Final = BUILTIN_IDS["TRACE_FILE"]


def moved(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about events converted before the trace clock changed, and stray messages."""
    moves = survey.trace.trace_clock_moves
    late = [move for move in moves if move.is_late]
    now = survey.trace_clock
    before_last: list[tuple[int, int | None]] = [(0, late[-1].packet - 1)] if late else []
    events = survey.count_placed(before_last) if late else 0
    stray = survey.trace.n_stray_syncs
    if not events and not stray:
        return
    tied = tied_machines(survey)
    # Messages of the trace clock's own machine do no harm if all else is related without them.
    if not events and stray == survey.trace.n_own_syncs and not _any_beyond(survey, tied):
        return
    before = list(dict.fromkeys(move.before for move in late if move.before != now))
    worst_ns = _apart(survey, [clock for clock in before if clock.machine in tied])
    applying = {
        "often": len(moves) > 1,
        "in_the_end": len(moves) > 1,
        "unknown": events and worst_ns is None,
        "known": events and worst_ns is not None,
        "stray": stray,
    }
    yield finding(
        MOVED,
        "error" if events and (worst_ns or 0) > survey.tolerance_ns else "warning",
        clocks=tuple(dict.fromkeys((*before, now))),
        packets=(move.packet for move in moves),
        events=events,
        selections=[EventSelection(placed_in=before_last)],
        worst_ns=worst_ns,
        parts=(part for part, applies in applying.items() if applies),
        first=moves[0].before,
        now=now,
        times=len(moves),
        readings=count(stray, "RemoteClockSync reading"),
        machine=now.machine,
    )


def _any_beyond(survey: Survey, tied: set[int]) -> bool:
    """Return whether any machine outside of `tied` has events."""
    return len(survey.of_machines_not_in(tied)) > 0


def _apart(survey: Survey, clocks: Iterable[ClockId]) -> int | None:
    """Return how far some clocks are from the trace clock at most, ns; None if unknown."""
    found = []
    for clock in clocks:
        info = survey.infos.get(clock)
        # A rule equates TRACE_FILE with BOOTTIME: it says nothing about two machines.
        if info is None or clock.clock == _TRACE_FILE:
            continue
        ends = np.array([info.first_ns, info.last_ns], dtype=np.int64)
        try:
            there = survey.trace.clocks.convert(ends, clock, survey.trace_clock, errors="mask")
        except ConversionError:
            continue
        times, known = known_of(there)
        found += distances(ends[known], times[known]).tolist()
    return max(found, default=None)
