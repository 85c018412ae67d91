"""Times of a column that are far from all that is known of their clock: a unit may be wrong."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.clocks.instants import NS_OF_UNIT
from tracetime.graph.graph import ClockGraph
from tracetime.text import duration

_FAR_NS: Final = 24 * 3600 * 10**9
"""A day: a trace, and what was logged beside it, may be that long."""

_FAR_SPANS: Final = 10
_UNITS: Final = ("s", "ms", "us")
_LEAST_RATIO: Final = 100
"""How much greater times are, at least, that were taken for another unit's."""


class TimeRange:
    """The least and the greatest whole number of a column."""

    def __init__(self) -> None:
        self.least: int | None = None
        self.most: int | None = None

    def add(self, column: pa.Array) -> None:
        """Look at more of the column; what holds no whole numbers has a unit of its own."""
        if not pa.types.is_integer(column.type):
            return
        import pyarrow.compute as pc

        found = pc.min_max(column).as_py()
        if found["min"] is not None:
            self.least = min(found["min"], found["min"] if self.least is None else self.least)
            self.most = max(found["max"], found["max"] if self.most is None else self.most)


def why_implausible(graph: ClockGraph, clock: ClockId, times: TimeRange) -> str | None:
    """What is odd about times of a clock beside its snapshots, as one sentence; None: nothing."""
    info = next((info for info in graph.clocks() if info.clock == clock), None)
    if times.least is None or times.most is None or info is None:
        return None
    if info.first_ns is None or info.last_ns is None or graph._parts.counts_ticks(clock):
        return None
    first, last = min(info.first_ns, info.last_ns), max(info.first_ns, info.last_ns)
    away = max(first - times.most, times.least - last)
    if away <= 0:
        return None
    side = "before" if times.most < first else "after"
    said = f"all times are {duration(away)} or more {side} the snapshots of {graph.name(clock)}"
    near = last - first + 60 * NS_OF_UNIT["s"]
    for unit in _UNITS:
        factor = NS_OF_UNIT[unit]
        fits = first - near <= times.least * factor and times.most * factor <= last + near
        if fits and times.most * _LEAST_RATIO < first:
            return f"{said}: as {unit} they would fit, so multiply them by {factor:,}"
    if away > max(_FAR_NS, _FAR_SPANS * (last - first)):
        return f"{said}: check their clock and their unit, which is ns"
    return None
