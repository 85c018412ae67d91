"""Which machines snapshots relate, for floor; error bars use messages, too."""

from __future__ import annotations

from collections import defaultdict

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.messages import equated


def tied_machines(survey: Survey) -> set[int]:
    """Return the trace clock's machine, and those that snapshots lead to from it."""
    linked: dict[int, set[int]] = defaultdict(set)
    ever_0 = _ever_0(survey)
    for one, *others in survey.graph.contents.mixed_series():
        for other in others:
            known = other.machine == one.machine or other.machine in linked[one.machine]
            if not known and not ({one, other} <= ever_0 and _equated(survey, one, other)):
                linked[one.machine].add(other.machine)
                linked[other.machine].add(one.machine)
    tied, ends = {survey.trace_clock.machine}, [survey.trace_clock.machine]
    while ends:
        further = linked[ends.pop()] - tied
        tied |= further
        ends += further
    return tied


def _equated(survey: Survey, ours: ClockId, theirs: ClockId) -> bool:
    """Return whether only the rule that equates them, at 0, relates clocks of two machines."""
    _, one, other = survey.graph.shared(ours, theirs)
    return bool(equated(ours, theirs, one, other).all())


def _ever_0(survey: Survey) -> set[ClockId]:
    """Return the clocks that read 0 in any snapshot."""
    which, values = survey.graph.contents.every_reading()
    clocks = survey.graph.contents.lists().clocks
    return {clocks[k] for k in set(which[values == 0].tolist()) if k >= 0}
