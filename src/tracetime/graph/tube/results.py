"""What the tube policy returns: values with their bars, discontinuities, contradictions."""

from __future__ import annotations

from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId

Converted = TypeVar("Converted")


class Bounds(NamedTuple, Generic[Converted]):
    """Converted timestamps: the best estimate, and the earliest and latest possible values.

    Ints for an int; int64 arrays of one length, or Arrow arrays where errors are masked.
    """

    estimate: Converted
    earliest: Converted
    latest: Converted


class Reached(NamedTuple):
    """Values on the target clock, int64 arrays of one length; status indexes errors.REASONS."""

    estimate: npt.NDArray[np.int64]
    earliest: npt.NDArray[np.int64]
    latest: npt.NDArray[np.int64]
    status: npt.NDArray[np.uint8]


class PairDiscontinuity(NamedTuple):
    """A discontinuity between two clocks; see `graph.tube.findings.Discontinuity`.

    a_from, a_to are on src, the steadier clock; snapshots are counted over the graph from 0.
    """

    src: ClockId
    dst: ClockId
    kind: str
    a_from: int
    a_to: int
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


class Inconsistency(NamedTuple):
    """Two paths from src to dst whose bars miss each other by gap_ns at an instant of src.

    One path is direct, the other leads over the clocks `via`.
    """

    src: ClockId
    dst: ClockId
    via: tuple[ClockId, ...]
    at_ns: int
    gap_ns: int
