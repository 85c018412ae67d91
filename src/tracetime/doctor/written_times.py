"""Findings about times that a file writes as decimal numbers."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding


def written_times(survey: Survey) -> Iterator[Finding]:
    """Yield findings about times that Perfetto rounds, and about events without any."""
    times = survey.trace.written_times
    if times is None:
        return
    if times.moved:
        clock = (survey.trace_clock,)
        yield finding("times-rounded", clocks=clock, events=times.moved, worst_ns=times.moved_ns)
    if times.unreadable:
        yield finding("events-without-time", events=times.unreadable)
