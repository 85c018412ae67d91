"""Half-widths, centres and frequencies of snapshots, found again by the snapshot's number."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import Snapshot
from tracetime.graph.tube.evidence import NOT_RECORDED
from tracetime.graph.values import Mask, Values, ascending

_NOTHING: Final = (np.empty(0, dtype=np.int64),) * 3
NONE_STEERED: Final = _NOTHING
"""Where no file records how kernels steered clocks."""


class Read(NamedTuple):
    """How one clock was read in some snapshots: int64 ns arrays of one length.

    Attributes:
        centre: when, after the reference's own reading.
        half: how far from there it may have been; -1 where that is unknown.
    """

    centre: Values
    half: Values


class Column(NamedTuple):
    """How one clock was read in those snapshots of a file that record it.

    Attributes:
        snapshots: their numbers in the graph, int64, ascending.
        read: centres and half-widths, as long.
    """

    snapshots: Values
    read: Read


class Corrected(NamedTuple):
    """How much faster a clock was made to run, in the snapshots that record it.

    Attributes:
        snapshots: their numbers in the graph, int64, ascending.
        scaled_ppm: in 2^-16 ppm, int64, as long.
    """

    snapshots: Values
    scaled_ppm: Values


class Measured:
    """What was measured of the snapshots of a graph.

    Args:
        columns: how a file says that clocks were read, by clock.
        steered: (snapshots, machines, 2^-16 ppm) by which kernels steered the clocks of machines.
        corrected: corrections of single clocks.
        known: clocks whose reading a trace describes; all of `columns` if not given.
    """

    def __init__(
        self,
        columns: Mapping[ClockId, Column] | None = None,
        steered: tuple[Values, Values, Values] = NONE_STEERED,
        corrected: Mapping[ClockId, Corrected] | None = None,
        known: Collection[ClockId] | None = None,
    ) -> None:
        self._read = {
            clock: _Grown(column.snapshots, *column.read)
            for clock, column in (columns or {}).items()
        }
        self._steered = steered
        self._steers = frozenset(ascending(steered[1]).tolist())
        self._corrected = {clock: _Grown(*given) for clock, given in (corrected or {}).items()}
        self._known = frozenset(self._read if known is None else known)

    def add(self, first: int, end: int, snapshot: Snapshot) -> None:
        """Keep the measurements of a snapshot (or a column of them).

        The graph has them from number `first` up to, without, `end`: the rest was refused.
        """
        if first == end:
            return
        numbers, n = np.arange(first, end), end - first
        if snapshot.reference is not None:
            for clock in snapshot.readings:
                centre, half = snapshot.centre_ns.get(clock), snapshot.half_width_ns.get(clock)
                default = 0 if clock == snapshot.reference else -1
                if not (centre is None and half is None and default):
                    self._read.setdefault(clock, _Grown(*_NOTHING)).extend(
                        numbers,
                        0 if centre is None else centre[:n],
                        default if half is None else half[:n],
                    )
        for clock, scaled_ppm in snapshot.frequency_scaled_ppm.items():
            self._corrected.setdefault(clock, _Grown(*_NOTHING[:2])).extend(numbers, scaled_ppm[:n])

    def take(
        self, clock: ClockId, snapshots: Values, centre: Values, half: Values, scaled_ppm: Values
    ) -> None:
        """Keep what another graph has of a clock, in snapshots of later numbers, as from there.

        Args:
            snapshots: their numbers here, ascending.
            centre, half, scaled_ppm: as `reads` and `frequency` give them.
        """
        said = (half >= 0) | (centre != 0)
        if said.any():
            grown = self._read.setdefault(clock, _Grown(*_NOTHING))
            grown.extend(snapshots[said], centre[said], half[said])
        steered = scaled_ppm != NOT_RECORDED
        if steered.any():
            grown = self._corrected.setdefault(clock, _Grown(*_NOTHING[:2]))
            grown.extend(snapshots[steered], scaled_ppm[steered])

    def know(self, clock: ClockId) -> None:
        """Say that a trace tells of the clock how it was read."""
        self._known |= {clock}

    def has(self, clock: ClockId) -> bool:
        """Whether anything is recorded of how a clock was read or steered."""
        return clock in self._read or clock in self._corrected or clock.machine in self._steers

    def knows(self, clock: ClockId) -> bool:
        """Whether a trace says of any snapshot how it read the clock."""
        return clock in self._known

    def reads(self, clock: ClockId, snapshots: Values) -> Read:
        """How `clock` was read in the snapshots of these numbers (ascending)."""
        centre = np.zeros(len(snapshots), dtype=np.int64)
        half = np.full(len(snapshots), -1, dtype=np.int64)
        if clock in self._read:
            numbers, *read = self._read[clock].columns
            at, known = _found(numbers, snapshots)
            centre[known], half[known] = read[0][at], read[1][at]
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
            numbers, corrections = self._corrected[clock].columns
            at, known = _found(numbers, snapshots)
            scaled_ppm[known] = corrections[at]
        return scaled_ppm


class _Grown:
    """Columns that grow at their end; a snapshot costs the same however many there are."""

    def __init__(self, *columns: Values) -> None:
        self._rows = np.stack(columns)
        self._n = len(columns[0])

    @property
    def columns(self) -> Values:
        """A row each."""
        return self._rows[:, : self._n]

    def extend(self, first: Values, *others: Values | int) -> None:
        columns = (first, *others)
        start, self._n = self._n, self._n + len(first)
        if self._n > self._rows.shape[1]:
            room = np.empty((len(columns), 2 * self._n), dtype=np.int64)
            room[:, :start] = self._rows[:, :start]
            self._rows = room
        for row, column in zip(self._rows, columns, strict=True):
            row[start : self._n] = column


def _found(numbers: Values, snapshots: Values) -> tuple[Values, Mask]:
    """Places in `numbers` (ascending, not empty) of the `snapshots` found there, and which are."""
    at = np.searchsorted(numbers, snapshots)
    at[at == len(numbers)] = 0
    known = numbers[at] == snapshots
    return at[known], known
