"""Findings about times that a file writes as decimal numbers, and about what is not read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding
from tracetime.text import count

_MOST_NESTED: Final = 2_000_000
"""Of so many events the slices are compared: they are held in memory, twice."""


def written_times(survey: Survey) -> Iterator[Finding]:
    """Yield findings about times that Perfetto rounds, events without any, and what is not read."""
    for one in survey.trace.passed_over:
        yield finding("parts-passed-over", what=one.message)
    few = int(survey.counted.events.sum()) <= _MOST_NESTED
    ends, begins = survey.trace.halves_of_slices() if few else (0, 0)
    if ends or begins:
        yield finding("parts-passed-over", "info", what=_halves(ends, begins))
    step_ns = survey.trace.coarse_step_ns
    if step_ns:
        yield finding("times-rounded", worst_ns=step_ns, parts=("kept", "why_kept", "fix_kept"))
    times = survey.trace.written_times
    if times is None:
        return
    if times.moved:
        crossing = survey.trace.overlaps_by_rounding() if few else 0
        yield finding(
            "times-rounded",
            "warning" if crossing else "info",
            clocks=(survey.trace_clock,),
            events=times.moved,
            worst_ns=times.moved_ns,
            parts=("floor", "why_floor", "fix_floor", *(("apart",) if crossing else ())),
            slices=count(crossing, "slice"),
        )
    if times.unreadable:
        yield finding(
            "events-without-time", events=times.unreadable, parts=("json_why", "json_fix")
        )


def _halves(ends: int, begins: int) -> str:
    """What is said of events that end what has not begun, and of slices that do not end."""
    said = []
    if ends:
        said.append(f"{count(ends, 'slice end')} without a begin: in no slice")
    if begins:
        said.append(f"{count(begins, 'slice')} that did not end: dur is -1")
    return "; ".join(said)
