"""The finding about messages that contradict what snapshots, or a RemoteClockSync, say."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.columns.arrays import median
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.graph.tube.contradictions import Contradiction
from tracetime.graph.tube.pair import Pair
from tracetime.text import count, duration


def against_snapshots(
    survey: Survey, pair: Pair, found: Contradiction, selections: Iterable[EventSelection]
) -> Finding:
    """selections: the events at the ends of these messages."""
    assert pair.orders is not None
    worst = int(np.ceil(found.by_ns.max()))
    synced = survey.graph.state.between.of(pair.a, pair.b) is not None
    used = any(survey.used.get(clock) for clock in (pair.a, pair.b))
    return finding(
        "messages-against-snapshots",
        "error" if used and worst > survey.tolerance_ns else "warning",
        clocks=(pair.a, pair.b),
        events=2 * len(found.orders),
        worst_ns=worst,
        selections=tuple(selections),
        parts=("synced",) if synced else ("read",),
        wrong=len(found.orders),
        messages=count(len(pair.orders.a_ns), "message"),
        half=duration(median(found.by_ns)),
    )
