"""What a graph tells of its clocks and snapshots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId


class ClockInfo(NamedTuple):
    """One clock of a graph: its properties, and its readings in the order they were added."""

    clock: ClockId
    unit_ns: int
    incremental: bool
    monotonic: bool
    snapshots: int
    first_ns: int | None
    last_ns: int | None


class SeriesInfo(NamedTuple):
    """One ordered list of clocks that snapshots have had, and how many had it."""

    clocks: tuple[ClockId, ...]
    snapshots: int


class Readings(NamedTuple):
    """What one clock said in some snapshots, in their order: int64 arrays of one length.

    Attributes:
        snapshots: numbers of the snapshots, counted over the graph from 0.
        values_ns: the readings, in ns whatever the clock's unit.
        centre_ns: when they were taken, ns of the reference after its own reading.
        half_width_ns: how far from there that may have been; -1 where the snapshot does not say.
    """

    clock: ClockId
    snapshots: npt.NDArray[np.int64]
    values_ns: npt.NDArray[np.int64]
    centre_ns: npt.NDArray[np.int64]
    half_width_ns: npt.NDArray[np.int64]


class Strays(NamedTuple):
    """How far offsets strayed on the ways of some clocks: arrays of one length.

    Attributes:
        hops: how many lead to the target, int8; -1 where none do.
        change_ns: how much an offset changed from one snapshot to the next at most, float64, of
            all hops together.
        drift_ns: how far an offset strayed over all snapshots, float64, of all hops together.
    """

    hops: npt.NDArray[np.int8]
    change_ns: npt.NDArray[np.float64]
    drift_ns: npt.NDArray[np.float64]
