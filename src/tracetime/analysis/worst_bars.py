"""The widest error bar of the events of a trace, by the tube."""

from __future__ import annotations

from contextlib import suppress
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_types import Count
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import PLACED, REASONS, TracetimeError
from tracetime.graph.values import ascending, distances

Values = npt.NDArray[np.int64]

_MOST_POINTS: Final = 2048
"""Readings of a clock at which its bar is worked out."""


class WorstBar(NamedTuple):
    """The widest error bar of events.

    Attributes:
        clock: the clock that they were read in.
        half_width_ns: how far an event may be from the tube's estimate, ns; null: nothing says.
    """

    clock: ClockId
    half_width_ns: Count | None


def worst_bar(survey: Survey) -> WorstBar | None:
    """Return the widest bar of the events of a survey; None where all were read on trace time.

    Bars are worked out at the ends of the events of each clock, at the snapshots between them and
    half-way from one to the next; of very many snapshots at some.
    """
    found = [
        WorstBar(clock, _widest_ns(survey, clock, *span))
        for clock, span in _spans(survey)[: survey.most_examined]
    ]
    found = [bar for bar in found if bar.half_width_ns != -1]
    return max(found, key=lambda bar: _or_most(bar.half_width_ns), default=None)


def _or_most(width_ns: int | None) -> int:
    return INT64_MAX if width_ns is None else width_ns


def _spans(survey: Survey) -> list[tuple[ClockId, tuple[int, int]]]:
    """The clocks of events, most events first, with the first and the last that has a bar.

    Of clocks that no snapshot has, messages alone may place events.
    """
    spans = []
    for clock in sorted(survey.used, key=lambda clock: -survey.used[clock]):
        groups = survey.groups_of(clock)
        if clock in survey.infos:
            groups = [one for one in groups if REASONS.index(one.reason) in PLACED]
        if groups and clock.clock and clock != survey.trace_clock:
            low = min(group.low_ns for group in groups)
            spans.append((clock, (low, max(group.high_ns for group in groups))))
    return spans


def _widest_ns(survey: Survey, clock: ClockId, first: int, last: int) -> int | None:
    """Half the widest bar of a clock between two readings; -1 where it has none."""
    graph, home = survey.graph, survey.trace_clock
    readings = np.empty(0, dtype=np.int64)
    if clock in survey.infos:
        _, readings = graph.contents.readings_of(clock)
    within = ascending(readings[(readings > first) & (readings < last)])
    within = within[:: 1 + len(within) // _MOST_POINTS]
    points = ascending(np.concatenate(([first], within, [last])))
    middle = (points[:-1] >> 1) + (points[1:] >> 1)
    with suppress(TracetimeError):
        reached = graph.tubes.convert(
            ascending(np.append(points, middle)), clock, home, "estimated"
        )
        there = reached[0]
        barred = there.earliest <= there.latest
        low, at, high = (side[barred] for side in (there.earliest, there.estimate, there.latest))
        if not len(at):
            return -1
        is_open = (low == INT64_MIN) | (high == INT64_MAX)
        return (
            None if is_open.any() else int(max(distances(low, at).max(), distances(at, high).max()))
        )
    return -1
