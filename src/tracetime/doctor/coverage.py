"""The finding that says which clocks the doctor did not look at closely."""

from __future__ import annotations

from collections.abc import Iterator

from tracetime.analysis.survey import MOST_EXAMINED, Survey
from tracetime.doctor.finding import Finding, count


def unexamined(survey: Survey) -> Iterator[Finding]:
    """Clocks whose jumps, events whose order, and loops that nobody looked at: too many clocks."""
    left, most = survey.unexamined, survey.most_examined
    what = []
    if left:
        what.append(
            f"{count(len(left), 'clock')} not looked at for steps, resets, suspends and changes of "
            "rate: too many clocks move against the one they were read with"
        )
    elif survey.order_unexamined:
        what.append(
            "nobody looked whether events stand in the order they had: there are too many clocks"
        )
    if survey.loops_unexamined:
        what.append(
            "not all ways from clock to clock were compared: too many clocks are tied in rings"
        )
    if what:
        yield Finding(
            "clocks-not-examined",
            "warning",
            "; ".join(what),
            left, (), sum(survey.used.get(clock, 0) for clock in left), None,
            "Looking at a pair of clocks takes about 1 ms, so only those with the most events were "
            "looked at. Of the others, nothing that happened between two snapshots is told, nor "
            "whether events stand in another order than they had, nor whether snapshots contradict "
            "each other.",
            "Take a part of the trace with fewer clocks"
            + (f", or raise `--max-tubes`: it allows {most:,} pairs, and {MOST_EXAMINED:,} are "
               "looked at at most." if most < MOST_EXAMINED else "."),
        )  # fmt: skip
