"""Half-widths, centres and frequencies of snapshots, found again by the snapshot's number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks import ClockId
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.snapshot import Snapshot

Values = npt.NDArray[np.int64]


_NONE = np.empty(0, dtype=np.int64)


class Read(NamedTuple):
    """How one clock was read in some snapshots: int64 ns arrays of one length.

    Attributes:
        centre: when, after the reference's own reading.
        half: how far from there it may have been; -1 where nothing is said.
    """

    centre: Values
    half: Values


class _Block(NamedTuple):
    first: int
    end: int
    snapshot: Snapshot


class Column(NamedTuple):
    """How one clock was read in the snapshots of a file that say so.

    Attributes:
        snapshots: their numbers in the graph, int64, ascending.
        read: centres and half-widths, as long.
    """

    snapshots: Values
    read: Read


class Measured:
    """What was measured of the snapshots of a graph.

    Args:
        columns: what a file said of its snapshots, by clock.
        steered: (snapshots, machines, 2^-16 ppm) by which it says that kernels steered clocks.
    """

    def __init__(
        self,
        columns: Mapping[ClockId, Column] | None = None,
        steered: tuple[Values, Values, Values] = (_NONE, _NONE, _NONE),
    ) -> None:
        self._columns = dict(columns or {})
        self._steered = steered
        self._blocks: list[_Block] = []

    def add(self, first: int, end: int, snapshot: Snapshot) -> None:
        """Keep what a snapshot (or a column of them) says.

        The graph has them from number `first` up to, not with, `end`: the rest was refused.
        """
        if first < end and (snapshot.reference is not None or snapshot.frequency_scaled_ppm):
            self._blocks.append(_Block(first, end, snapshot))

    def knows(self, clock: ClockId) -> bool:
        """Whether a file said of any of its snapshots how it was read."""
        return clock in self._columns

    def reads(self, clock: ClockId, snapshots: Values) -> Read:
        """How `clock` was read in the snapshots of these numbers (ascending)."""
        centre = np.zeros(len(snapshots), dtype=np.int64)
        half = np.full(len(snapshots), -1, dtype=np.int64)
        column = self._columns.get(clock)
        if column is not None:
            at = np.searchsorted(column.snapshots, snapshots)
            at[at == len(column.snapshots)] = 0
            known = column.snapshots[at] == snapshots
            centre[known] = column.read.centre[at[known]]
            half[known] = column.read.half[at[known]]
        for first, end, snapshot in self._blocks:
            if clock not in snapshot.readings:
                continue
            start, stop = np.searchsorted(snapshots, (first, end))
            if start == stop:
                continue
            rows = snapshots[start:stop] - first
            if clock in snapshot.centre_ns:
                centre[start:stop] = snapshot.centre_ns[clock][rows]
            if clock in snapshot.half_width_ns:
                half[start:stop] = snapshot.half_width_ns[clock][rows]
            elif clock == snapshot.reference:
                half[start:stop] = 0
        return Read(centre, half)

    def frequency(self, clock: ClockId, snapshots: Values) -> Values:
        """What steered `clock` in the snapshots of these numbers: 2^-16 ppm, or NOT_RECORDED."""
        scaled_ppm = np.full(len(snapshots), NOT_RECORDED, dtype=np.int64)
        numbers, machines, recorded = self._steered
        ours = machines == clock.machine
        if ours.any():
            numbers, recorded = numbers[ours], recorded[ours]
            at = np.minimum(np.searchsorted(numbers, snapshots), len(numbers) - 1)
            scaled_ppm = np.where(numbers[at] == snapshots, recorded[at], scaled_ppm)
        for first, end, snapshot in self._blocks:
            if clock in snapshot.frequency_scaled_ppm:
                start, stop = np.searchsorted(snapshots, (first, end))
                rows = snapshots[start:stop] - first
                scaled_ppm[start:stop] = snapshot.frequency_scaled_ppm[clock][rows]
        return scaled_ppm
