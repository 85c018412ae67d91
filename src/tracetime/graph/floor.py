"""The floor policy: each hop adds the offset of the latest snapshot not after the value.

Perfetto's rule (src/trace_processor/util/clock_synchronizer.cc, ConvertSlowpath): before the first
snapshot, the first one's offset; nothing is interpolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tracetime._kernels.graph import hop, make_grid, scale
from tracetime.clocks.ids import ClockId
from tracetime.graph.values import Marks, Values


@dataclass(frozen=True, eq=False, slots=True)
class FloorHop:
    """One hop of a path, with the snapshots of its series as columns.

    Attributes:
        readings: of the source clock, int64 ns, ascending, one a snapshot.
        offsets: what to add from that reading on, int64 ns.
        lowest, highest: the values that take a snapshot's offset and do not overflow.
    """

    source: ClockId
    target: ClockId
    series: int
    readings: Values
    offsets: Values
    lowest: Values
    highest: Values
    grid: tuple[int, int, int, npt.NDArray[np.int32]]

    @classmethod
    def of(
        cls,
        source: ClockId,
        target: ClockId,
        series: int,
        columns: tuple[Values, Values, Values, Values],
    ) -> FloorHop:
        """Prepare a hop over `columns`: readings, offsets, lowest, highest."""
        return cls(source, target, series, *columns, make_grid(columns[0]))

    def convert(self, values: Values, out: Values, bad: Marks | None) -> bool:
        """Convert values into out, which may be values; returns whether anything overflowed.

        values, out: int64 ns, 1-d, of one length. `bad`, of that length, is marked where a result
        does not fit in int64; without it the conversion stops there.
        """
        return hop(
            values, out, self.readings, self.offsets, self.lowest, self.highest, self.grid, bad
        )

    def snapshot_of(self, value: int) -> int:
        """Index of the snapshot that a value takes."""
        return max(0, int(np.searchsorted(self.readings, np.int64(value), side="right")) - 1)


@dataclass(frozen=True, eq=False, slots=True)
class FloorRoute:
    """The path from one clock to another, ready to convert.

    Attributes:
        unit_ns: nanoseconds per unit of the source.
        hops: to the target, one at least.
    """

    unit_ns: int
    hops: list[FloorHop]

    def convert(self, values: Values) -> tuple[Values, Marks | None]:
        """Converted values, and marks where they overflow, if any does."""
        out = np.empty_like(values)
        # Most arrays do not overflow: marks are made only where the first try finds that one does.
        for bad in (None, np.zeros(len(out), dtype=np.uint8)):
            given, overflowed = values, False
            if self.unit_ns != 1:
                overflowed = scale(given, self.unit_ns, out, bad)
                given = out
            for step in self.hops:
                overflowed |= step.convert(given, out, bad)
                given = out
            if not overflowed:
                return out, None
        return out, bad
