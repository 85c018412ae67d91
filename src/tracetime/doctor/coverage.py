"""A finding about clocks that the doctor did not examine."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import MOST_EXAMINED, Survey
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding, all_of
from tracetime.text import count


def unexamined(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about jumps, orders and loops not examined, for too many clocks."""
    left, allowed = survey.unexamined, survey.most_examined
    parts = ["unseen"] if left else ["order"] if survey.order_unexamined else []
    if survey.loops_unexamined:
        parts += ["also", "loops"] if parts else ["loops"]
    if not parts:
        return
    if allowed < MOST_EXAMINED:
        parts.append("allow_more")
    yield finding(
        "clocks-not-examined",
        clocks=left,
        events=sum(survey.used.get(clock, 0) for clock in left),
        selections=all_of(left),
        parts=parts,
        left=count(len(left), "clock"),
        allowed=allowed,
        most=MOST_EXAMINED,
    )
