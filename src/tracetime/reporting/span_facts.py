"""What the report says of slices under error bars; `spans.py` writes it as HTML."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.analysis.undecided_overlaps import UndecidedOverlaps, undecided_overlaps
from tracetime.errors import TraceError
from tracetime.text import printable

_MOST_PLACES: Final = 6
"""Places that are drawn: two screens."""


_LONGEST: Final = 60
"""Characters of a name: that of a process may be its whole command."""


@dataclass(frozen=True, slots=True)
class SpanFacts:
    """What the report says of slices.

    Attributes:
        found: None where there are too many clocks.
        names: of the slices of its places, by row: what each is, and whose.
    """

    found: UndecidedOverlaps | None
    names: dict[int, tuple[str, str]]


def measure_spans(survey: Survey) -> SpanFacts | None:
    """Compare the slices of a trace; None where no two are of different clocks.

    Raises:
        TraceError: the trace cannot be read.
    """
    placed = [clock for clock in survey.used if survey.used[clock] > survey.lost.get(clock, 0)]
    if len(placed) < 2:
        return None
    if len(placed) > survey.most_examined:
        return SpanFacts(None, {})
    ends = survey.trace.slice_ends()
    if ends is None:
        return None
    try:
        found = undecided_overlaps(ends, survey.trace_clock, _MOST_PLACES)
    except TraceError:
        # There may be no more tubes.
        return SpanFacts(None, {})
    if len(found.by_clock) < 2 and not found.left_out:
        return None
    rows = [side.row for place in found.places for side in (place.one, place.other)]
    listed = ends.table(np.array(rows, dtype=np.intp)).to_pylist()
    names = {}
    for row, one in zip(rows, listed, strict=True):
        name = one["name"] or "(no name)"
        owners = dict.fromkeys(one[of] for of in ("track_name", "thread_name", "process_name"))
        others = [printable(owner, _LONGEST) for owner in owners if owner and owner != name]
        names[row] = printable(name, _LONGEST), ", ".join(others)
    return SpanFacts(found, names)
