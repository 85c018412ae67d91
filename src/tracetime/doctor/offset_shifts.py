"""The finding about offsets that shift as no clock drifts: what measures them is off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding, all_of

SHIFTED: Final = "offsets-shifted"


def shifted(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each clock whose measured offsets shift, at once or slowly."""
    for shift in survey.trace.shifted_offsets:
        yield finding(
            SHIFTED,
            "warning" if shift.by_ns > survey.tolerance_ns else "info",
            clocks=(shift.clock,),
            packets=(shift.packet,),
            events=survey.used.get(shift.clock, 0),
            worst_ns=shift.by_ns,
            selections=all_of([shift.clock]),
        )
