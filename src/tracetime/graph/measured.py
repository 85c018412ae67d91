"""Half-widths, centres and frequencies of snapshots, found again by the snapshot's number."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks import ClockId
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.snapshot import Snapshot

Values = npt.NDArray[np.int64]

NONE_STEERED: Final = (np.empty(0, dtype=np.int64),) * 3
"""Where no file says how kernels steered clocks."""


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


class Corrected(NamedTuple):
    """By how much one clock was being run faster in the snapshots that say so.

    Attributes:
        snapshots: their numbers in the graph, int64, ascending.
        scaled_ppm: in 2^-16 ppm, int64, as long.
    """

    snapshots: Values
    scaled_ppm: Values


class Measured:
    """What was measured of the snapshots of a graph.

    Args:
        columns: what a file said of its snapshots, by clock.
        steered: (snapshots, machines, 2^-16 ppm) by which it says that kernels steered clocks.
        corrected: by which it says that one clock was steered.
        known: clocks of which a trace said how they were read; all of `columns` if not given.
    """

    def __init__(
        self,
        columns: Mapping[ClockId, Column] | None = None,
        steered: tuple[Values, Values, Values] = NONE_STEERED,
        corrected: Mapping[ClockId, Corrected] | None = None,
        known: Collection[ClockId] | None = None,
    ) -> None:
        self._columns = dict(columns or {})
        self._steered = steered
        self._corrected = dict(corrected or {})
        self._known = frozenset(self._columns if known is None else known)
        self._blocks: list[_Block] = []

    def add(self, first: int, end: int, snapshot: Snapshot) -> None:
        """Keep what a snapshot (or a column of them) says.

        The graph has them from number `first` up to, not with, `end`: the rest was refused.
        """
        if first < end and (snapshot.reference is not None or snapshot.frequency_scaled_ppm):
            self._blocks.append(_Block(first, end, snapshot))

    def knows(self, clock: ClockId) -> bool:
        """Whether a trace said of any of its snapshots how it was read."""
        return clock in self._known

    def reads(self, clock: ClockId, snapshots: Values) -> Read:
        """How `clock` was read in the snapshots of these numbers (ascending)."""
        centre = np.zeros(len(snapshots), dtype=np.int64)
        half = np.full(len(snapshots), -1, dtype=np.int64)
        column = self._columns.get(clock)
        if column is not None:
            at, known = _found(column.snapshots, snapshots)
            centre[known] = column.read.centre[at]
            half[known] = column.read.half[at]
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
            at, known = _found(numbers[ours], snapshots)
            scaled_ppm[known] = recorded[ours][at]
        if clock in self._corrected:
            at, known = _found(self._corrected[clock].snapshots, snapshots)
            scaled_ppm[known] = self._corrected[clock].scaled_ppm[at]
        for first, end, snapshot in self._blocks:
            if clock in snapshot.frequency_scaled_ppm:
                start, stop = np.searchsorted(snapshots, (first, end))
                rows = snapshots[start:stop] - first
                scaled_ppm[start:stop] = snapshot.frequency_scaled_ppm[clock][rows]
        return scaled_ppm


def _found(numbers: Values, snapshots: Values) -> tuple[Values, npt.NDArray[np.bool_]]:
    """Where among `numbers` (ascending, one at least) the `snapshots` stand that do, and which."""
    at = np.searchsorted(numbers, snapshots)
    at[at == len(numbers)] = 0
    known = numbers[at] == snapshots
    return at[known], known
