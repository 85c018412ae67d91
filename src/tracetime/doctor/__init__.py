"""What is wrong with the clocks of a trace, how much it matters, and what mends it.

`diagnose` reads a trace twice, for its snapshots and then for its events, and gives findings, worst
first. Each kind has a stable code and a page in docs/findings.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.doctor.coverage import unexamined
from tracetime.doctor.drift import floor_cost, rate_changes, rates
from tracetime.doctor.exchanges import exchanged
from tracetime.doctor.far_events import far_events
from tracetime.doctor.finding import SEVERITIES, Finding, Severity, rank
from tracetime.doctor.jumps import jumps
from tracetime.doctor.losses import dropped
from tracetime.doctor.lost_events import lost_events
from tracetime.doctor.machines import machines
from tracetime.doctor.merging import merged
from tracetime.doctor.nesting import nested
from tracetime.doctor.placement import placement
from tracetime.doctor.recordings import recordings
from tracetime.doctor.structure import structure
from tracetime.doctor.trace_clock import moved
from tracetime.trace import Trace, check_trace

__all__ = ["SEVERITIES", "TOLERANCE_NS", "Finding", "Severity", "diagnose"]

TOLERANCE_NS: Final = 1_000_000


def diagnose(trace: Trace, tolerance_ns: int = TOLERANCE_NS) -> list[Finding]:
    """Find what is wrong with the clocks of a trace.

    Args:
        trace: as `open_trace` gives it; with `partial`, a trace that is cut off is a finding.
        tolerance_ns: events may be misplaced by so much without that being an error.

    Returns:
        Findings, worst first, consequences nested under their cause. More than 50 of one code and
        severity, as of thousands of clocks, are one.

    Raises:
        UsageError: a negative tolerance, or no open trace.
        TraceError: nothing of the trace can be read.
    """
    check_trace(trace)
    return findings_of(Survey(trace, tolerance_ns))


def findings_of(survey: Survey) -> list[Finding]:
    """What `diagnose` finds, for those who have surveyed the trace themselves.

    Raises:
        TraceError: nothing of the trace could be read.
    """
    truncated = survey.trace.truncated
    nothing = not len(survey.counted.key) and not survey.infos
    # What breaks off in a packet is a trace, though nothing came before.
    if truncated is not None and truncated.packet is None and nothing:
        raise truncated
    return sorted(merged(nested(list(_every(survey)), survey), survey), key=rank)


def _every(survey: Survey) -> Iterator[Finding]:
    yield from recordings(survey)
    yield from lost_events(survey)
    yield from moved(survey)
    yield from dropped(survey)
    yield from structure(survey)
    yield from exchanged(survey)
    yield from jumps(survey)
    yield from rates(survey)
    yield from rate_changes(survey)
    yield from floor_cost(survey)
    yield from far_events(survey)
    yield from placement(survey)
    yield from machines(survey)
    yield from unexamined(survey)
