"""Merges very many findings of one code and severity into one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.doctor.catalogue import told
from tracetime.doctor.finding import Finding, first_packets, names, rank

MOST_ALIKE: Final = 50
"""So many findings of one code and severity are listed one by one: nobody reads more."""


def merged(findings: Iterable[Finding], survey: Survey) -> list[Finding]:
    """Return findings and consequences, told, with more than `MOST_ALIKE` that are alike as one."""
    alike: dict[tuple[str, str], list[Finding]] = defaultdict(list)
    for finding in findings:
        alike[finding.code, finding.severity].append(finding)
    result = []
    for those in alike.values():
        if len(those) > MOST_ALIKE:
            result.append(_one(those, survey))
        else:
            result += [
                told(replace(one, consequences=tuple(merged(one.consequences, survey))))
                if len(one.consequences) > MOST_ALIKE
                else told(one)
                for one in those
            ]
    return result


def _one(those: list[Finding], survey: Survey) -> Finding:
    """Return the worst of some findings, with the clocks and events of all of them."""
    those = sorted(those, key=rank)
    below = merged(chain.from_iterable(one.consequences for one in those), survey)
    worst = told(replace(those[0], consequences=tuple(below)))
    shared = set(worst.clocks).intersection(*(one.clocks for one in those))
    every = dict.fromkeys(clock for one in those for clock in one.clocks)
    own = [clock for clock in every if clock not in shared] or list(every)
    of = f"{names(own)}: " if own else ""
    # Findings about one clock may concern the same events.
    affected = sum(survey.used.get(clock, 0) for clock in every)
    return replace(
        worst,
        title=f"{of}{len(those):,} findings alike, the worst: {worst.title}",
        clocks=tuple(sorted(every, key=lambda clock: clock.order())),
        packets=first_packets(chain.from_iterable(one.packets for one in those)),
        events=min(sum(one.events for one in those), affected) if every else worst.events,
        worst_ns=max((one.worst_ns for one in those if one.worst_ns is not None), default=None),
        why=f"Of the worst of them: {worst.why}",
        selections=tuple(chain.from_iterable(one.selections for one in those)),
    )
