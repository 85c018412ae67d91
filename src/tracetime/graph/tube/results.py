"""What the tube policy returns: values with their bars, discontinuities, contradictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import OPEN_ENDED, UsageError

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


Converted = TypeVar("Converted")
Side = TypeVar("Side")


class Bounds(NamedTuple, Generic[Converted, Side]):
    """Converted timestamps: the best estimate, and the earliest and latest possible values.

    Ints for an int; int64 arrays of one length, or Arrow arrays where errors are masked. A side
    that nothing bounds, as where all messages go one way, is None for an int, null in an Arrow
    array, and the end of int64 in an ndarray.
    """

    estimate: Converted
    earliest: Side
    latest: Side


class Margin(NamedTuple, Generic[Converted, Side]):
    """The order of two timestamps, and the time from one to the other: other less one.

    Ints for ints; arrays of one length, or Arrow arrays where errors are masked. A side that
    nothing bounds is as in `Bounds`.

    Attributes:
        order: -1 where one is before the other, 1 where it is after it, 0 where that is open.
        least_ns, most_ns: the time from one to the other is between these, below 0 where the other
            is before.
    """

    order: Converted
    least_ns: Side
    most_ns: Side


class Reached(NamedTuple):
    """Values on another clock, arrays of one length.

    Attributes:
        estimate: int64 ns, or ticks. Where status is ambiguous_source there is none, and this is 0;
            where it is overflow, the nearest int64.
        earliest, latest: int64, both included; clipped to int64. The least or the greatest int64
            where nothing bounds that side.
        status: uint8, an index in `errors.REASONS`: resolved, ambiguous_source, overflow, or
            one_sided where a side is open; the estimate is then the other side.
    """

    estimate: npt.NDArray[np.int64]
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    status: npt.NDArray[np.uint8]

    def open_sides(self) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
        """Of which values nothing bounds the earliest, and of which the latest."""
        open_ended = np.isin(self.status, OPEN_ENDED)
        return open_ended & (self.earliest == INT64_MIN), open_ended & (self.latest == INT64_MAX)

    def first_bar(self) -> tuple[int | None, int | None]:
        """Earliest and latest of the first value; None for an open side."""
        low, high = (side[0] for side in self.open_sides())
        return None if low else int(self.earliest[0]), None if high else int(self.latest[0])


class PairDiscontinuity(NamedTuple):
    """A discontinuity between two clocks; see `graph.tube.discontinuities.Discontinuity`.

    a_from, a_to are on src, the steadier clock; snapshots and orders are counted over the graph
    from 0.
    """

    src: ClockId
    dst: ClockId
    kind: str
    a_from: int
    a_to: int
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]
    orders: tuple[int, ...] = ()


class Inconsistency(NamedTuple):
    """Two paths from src to dst whose bars miss each other by gap_ns at an instant of src.

    One path is direct, the other leads over the clocks `via`.

    Attributes:
        src: the one end.
        dst: the other end.
        via: the clocks that one path leads over.
        at_ns: when, on src.
        gap_ns: by how much they miss each other.
    """

    src: ClockId
    dst: ClockId
    via: tuple[ClockId, ...]
    at_ns: int
    gap_ns: Count


# The two kinds of error bars that a tube gives.

Bars: TypeAlias = Literal["estimated", "guaranteed"]
"""What bars are to hold: as far as snapshots show, or as long as the declared limits do."""


def check_bars(bars: str) -> None:
    """Raise UsageError for an unknown kind of bars."""
    if bars not in ("estimated", "guaranteed"):
        raise UsageError(f"bars are 'estimated' or 'guaranteed', not {bars!r}")
