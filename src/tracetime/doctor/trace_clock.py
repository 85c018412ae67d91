"""Findings about trace time that became the clock of another machine than the host."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.arrays import known_of
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding
from tracetime.doctor.machine_ties import tied_machines
from tracetime.errors import ConversionError
from tracetime.graph.values import distances
from tracetime.text import count

MOVED: Final = "trace-clock-moved"
_TRACE_FILE: Final = BUILTIN_IDS["TRACE_FILE"]


def moved(survey: Survey) -> Iterator[Finding]:
    """Events placed before trace time moved, and messages that tie other clocks than they read."""
    moves = survey.trace.trace_clock_moves
    late = [move for move in moves if move.is_late]
    now = survey.trace_clock
    events = survey.count_placed([(0, late[-1].packet - 1)]) if late else 0
    stray = survey.trace.n_stray_syncs
    if not events and not stray:
        return
    tied = tied_machines(survey)
    # Messages of the trace clock's own machine do no harm where all else is tied without them.
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
        worst_ns=worst_ns,
        parts=(part for part, applies in applying.items() if applies),
        first=moves[0].before,
        now=now,
        times=len(moves),
        readings=count(stray, "RemoteClockSync reading"),
        machine=now.machine,
    )


def _any_beyond(survey: Survey, tied: set[int]) -> bool:
    """Whether any machine but some has events."""
    return len(survey.of_machines_not_in(tied)) > 0


def _apart(survey: Survey, clocks: Iterable[ClockId]) -> int | None:
    """How far some clocks read from the trace clock at most, ns; None where nothing says."""
    found = []
    for clock in clocks:
        info = survey.infos.get(clock)
        # That BOOTTIME is the time of the file is a rule, and tells nothing of two machines.
        if info is None or clock.clock == _TRACE_FILE:
            continue
        ends = np.array([info.first_ns, info.last_ns], dtype=np.int64)
        try:
            there = survey.graph.convert(ends, clock, survey.trace_clock, errors="mask")
        except ConversionError:
            continue
        times, known = known_of(there)
        found += distances(ends[known], times[known]).tolist()
    return max(found, default=None)
