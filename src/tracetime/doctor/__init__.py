"""What is wrong with the clocks of a trace, how much it matters, and what to do about it.

`diagnose` reads a trace twice, for its snapshots and then for its events, and returns findings,
worst first. Each kind of finding has a stable code and a page in docs/findings.
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
from tracetime.doctor.lost_events import lost_events
from tracetime.doctor.machines import machines
from tracetime.doctor.merging import merged
from tracetime.doctor.nesting import nested
from tracetime.doctor.noted import noted
from tracetime.doctor.orders import messages
from tracetime.doctor.placement import placement
from tracetime.doctor.recordings import recordings
from tracetime.doctor.structure import structure
from tracetime.doctor.trace_clock import moved
from tracetime.doctor.wakings import late_wakings
from tracetime.trace.trace import Trace, check_trace

__all__ = ["SEVERITIES", "TOLERANCE_NS", "Finding", "Severity", "diagnose"]

TOLERANCE_NS: Final = 1_000_000


def diagnose(trace: Trace, tolerance_ns: int = TOLERANCE_NS) -> list[Finding]:
    """Find what is wrong with the clocks of a trace.

    Args:
        trace: as `open_trace` returns it; with `partial`, a truncated trace is a finding.
        tolerance_ns: by how much events may be misplaced before that is an error.

    Returns:
        Findings, worst first, with consequences nested under their cause. More than 50 of one code
        and severity are merged into one.

    Raises:
        UsageError: the tolerance is negative, or the trace is not open.
        TraceError: nothing of the trace can be read.
    """
    check_trace(trace)
    return findings_of(Survey(trace, tolerance_ns))


def findings_of(survey: Survey) -> list[Finding]:
    """Return what `diagnose` finds, from an existing survey of the trace.

    Raises:
        TraceError: nothing of the trace could be read.
    """
    truncated = survey.trace.truncated
    nothing = not len(survey.counted.key) and not survey.infos
    # A file that ends within its first packet is still a trace.
    if truncated is not None and truncated.packet is None and nothing:
        raise truncated
    return sorted(merged(nested(list(_every(survey)), survey), survey), key=rank)


def _every(survey: Survey) -> Iterator[Finding]:
    yield from recordings(survey)
    yield from lost_events(survey)
    yield from moved(survey)
    yield from structure(survey)
    yield from exchanged(survey)
    yield from jumps(survey)
    yield from noted(survey)
    yield from rates(survey)
    yield from rate_changes(survey)
    yield from floor_cost(survey)
    yield from far_events(survey)
    yield from placement(survey)
    yield from machines(survey)
    yield from late_wakings(survey)
    yield from messages(survey)
    yield from unexamined(survey)
