"""A finding about events far from all others, in a file whose times are all of one clock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracetime.analysis.survey import Survey
from tracetime.analysis.time_clusters import Cluster
from tracetime.clocks.families import WALL
from tracetime.clocks.known_offsets import UNIX_NS
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding
from tracetime.text import count, duration

_DAY_NS: Final = 86_400_000_000_000
_UNITS: Final = {1: "us", 1_000: "ms", 1_000_000: "s"}
"""Of Unix times, by the factor between them and the us in which the format counts."""
_FEW: Final = 3
"""Fewer events are no part of a trace."""
_NOTED: Final = ("zero", "units")
"""Notes of the format that say more."""


def clusters(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each cluster of events but the largest."""
    trace = survey.trace
    if trace.perfetto_reads != "json":
        return
    # What has no time stands at 0.
    found = [one for one in survey.clusters.clusters() if one.most]
    noted = any(note.kind in _NOTED for note in trace.notes("odd-times"))
    if len(found) < 2 or noted:
        return
    largest = max(found, key=lambda one: one.events)
    for one in found:
        if one is not largest and one.events >= _FEW:
            yield _told(survey, one, largest)


def _told(survey: Survey, one: Cluster, largest: Cluster) -> Finding:
    before = one.most < largest.least
    away_ns = largest.least - one.most if before else one.least - largest.most
    where = f"{duration(away_ns)} {'before' if before else 'after'} the others"
    events, meant = count(one.events, "event"), _meant(survey, one, largest)
    return finding(
        "odd-times",
        "info",
        packets=(one.packet,),
        events=one.events,
        worst_ns=away_ns,
        what=(
            f"{events} in {meant}, {where}: of another clock"
            if meant
            else f"{events} {where}: of another clock, or another run"
        ),
        kind_why=(
            "Nothing lies between them, for far longer than either lasts. The file may hold two "
            "runs of a program; where it does not, a part of the events was stamped by another "
            "clock, or by one that counts from another time."
        ),
        kind_fix=(
            "Stamp all events by one clock, or read the two apart: "
            f"`where trace_time {'>' if before else '<'} "
            f"{(one.most if before else one.least):_}`."
        ),
    )


def _meant(survey: Survey, one: Cluster, largest: Cluster) -> str:
    """The unit and the zero that the times show; empty where they show none."""
    for clock in survey.infos:
        _, home, wall = survey.together(survey.trace_clock, clock)
        if clock.clock not in WALL or not len(home):
            continue
        now = largest.least + int(wall[0]) - int(home[0])
        for factor, unit in _UNITS.items():
            if abs(one.least * factor - now) < _DAY_NS:
                return f"{unit} since 1970"
    if one.least in UNIX_NS and largest.least not in UNIX_NS:
        return "us since 1970"
    return ""
