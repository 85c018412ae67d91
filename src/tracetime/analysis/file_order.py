"""Where groups of events stand in a file, against the snapshots that its recorder wrote.

A recorder writes a snapshot as soon as it has read it, after the data that it had before: what
stands before a snapshot in the file happened before it. Snapshots that hold the clock of a sequence
are the producers' own. They lie in buffers that are read one after another, and say nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import AS_IS
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values, ascending
from tracetime.trace.event_clocks import run_starts
from tracetime.trace.events_table import Columns

NEVER_NS: Final = 1 << 62
"""No time is taken for later than this, nor for earlier than as much before 0: differences fit in
int64."""
_MOST_APART: Final = 1 << 18
"""So many runs of single batches wait at most until they are merged."""
_KEYS: Final = 5
"""The first rows of a run: what the events of a group have in common, and the gap."""
_ROWS: Final = _KEYS + 8

FLOAT_UNITS: Final = (1, 1_000, 1_000_000, 1_000_000_000)
"""ns of the units in which programs keep times as 32-bit floats: ns, us, ms, s."""
_SAMPLED: Final = 8
"""Of so many readings one is compared with floats, and the first of each run."""
_FINE_NS: Final = 1_000
"""A rounding to less is within the half-width that is assumed of every reading."""


class PlacedGroup(NamedTuple):
    """Events of one packet sequence, clock, kind and payload, by gap between two snapshots.

    Attributes:
        sequence: of the packets.
        clock: number of the clock that they were read in.
        gap: int64, ascending: how many snapshots of the recorder stand before the events.
        events: int64: how many stand there.
        packet: int64, the first.
        least, most: int64: their least and greatest time on the trace clock, ns.
        offset_ns: how far the clock's reading is ahead of trace time.
        step: the greatest that all their readings, as written, are multiples of; 0 of none but 0.
        even: how many follow the one before as that follows the one before it.
        steps: how many different steps there are between the least and greatest, as read.
        float_ns: the longest of `FLOAT_UNITS` in which 32-bit floats give all of them, if they are
            in ns; 0 where none does, or with steps below 1 us.
    """

    sequence: int
    clock: int
    gap: Values
    events: Values
    packet: Values
    least: Values
    most: Values
    offset_ns: int
    step: int
    even: int
    steps: int
    float_ns: int


class FileOrder:
    """The places of groups of events among the recorder's snapshots; empty where it wrote none.

    Args:
        graph: with all snapshots of the trace.
        home: its trace clock.
        packets: uint64, that hold the snapshots, by number.

    Attributes:
        before, after: int64, by gap: what the trace clock read at the latest snapshot that stands
            before it, and at the earliest that stands after it, ns; minus
            `NEVER_NS` and that where there is none.
    """

    def __init__(self, graph: Graph, home: ClockId, packets: npt.NDArray[np.uint64]) -> None:
        numbers, readings = graph.contents.readings_of(home)
        of_recorder = np.ones(len(packets), dtype=bool)
        for info in graph.clocks():
            if info.clock.is_sequence_scoped:
                of_recorder[graph.contents.readings_of(info.clock)[0]] = False
        kept = of_recorder[numbers]
        numbers, readings = numbers[kept], readings[kept]
        order = np.argsort(packets[numbers], kind="stable")
        readings, self._packets = readings[order], packets[numbers][order]
        readings = _within(readings)
        self.before = np.append(-NEVER_NS, np.maximum.accumulate(readings))
        self.after = np.append(np.minimum.accumulate(readings[::-1])[::-1], NEVER_NS)
        self._runs: list[Values] = []
        self._waiting = 0

    def add(self, columns: Columns, numbers: Values) -> None:
        """Take in the rows of a batch; numbers: of the clock of each."""
        if not len(self._packets):
            return
        placed = columns["status"] <= AS_IS
        gap = np.searchsorted(self._packets, columns["packet"])
        keys = [columns["packet_sequence"], numbers, columns["kind"], columns["payload"], gap]
        starts = run_starts(*keys, placed.view(np.uint8))
        if not len(starts):
            return
        time = columns["trace_time"]
        source, written = columns["source_ns"], columns["timestamp"]
        runs = np.empty((_ROWS, len(starts)), dtype=np.int64)
        for row, key in enumerate(keys):
            runs[row] = key[starts]
        runs[5] = np.diff(np.append(starts, len(time)))
        runs[6] = columns["packet"][starts]
        runs[7] = _within(np.minimum.reduceat(time, starts))
        runs[8] = _within(np.maximum.reduceat(time, starts))
        runs[9] = source[starts] - time[starts]
        runs[10] = np.gcd.reduceat(written, starts)
        rows = ascending(np.append(starts, np.arange(0, len(source), _SAMPLED)))
        runs[11] = np.bitwise_and.reduceat(_as_floats(written[rows]), np.searchsorted(rows, starts))
        apart = np.diff(written, prepend=written[:1])
        even = apart == np.append(apart[:1], apart[:-1])
        runs[12] = np.add.reduceat(even, starts, dtype=np.int64)
        self._runs.append(_sums(runs[:, placed[starts]]))
        self._waiting += self._runs[-1].shape[1]
        if self._waiting > _MOST_APART:
            self._take()

    def _take(self) -> Values:
        every = np.concatenate([np.empty((_ROWS, 0), dtype=np.int64), *self._runs], axis=1)
        self._runs = [_sums(every)]
        # Runs that merging does not make fewer are merged again when there are twice as many.
        self._waiting = -self._runs[0].shape[1]
        return self._runs[0]

    def groups(self) -> Iterator[PlacedGroup]:
        """Yield the groups of all that was added."""
        runs = self._take()
        starts = run_starts(*runs[: _KEYS - 1])
        for own in np.split(runs, starts[1:], axis=1) if len(starts) else ():
            sequence, clock = own[:2, 0].tolist()
            gap, events, packet, least, most = own[4:9]
            read = ascending(np.append(least, most) + np.tile(own[9], 2))
            as_floats = int(np.bitwise_and.reduce(own[11]))
            yield PlacedGroup(
                sequence,
                clock,
                gap,
                events,
                packet,
                least,
                most,
                offset_ns=int(own[9, 0]),
                step=int(np.gcd.reduce(own[10])),
                even=int(own[12].sum()),
                steps=len(ascending(np.diff(read))),
                float_ns=FLOAT_UNITS[as_floats.bit_length() - 1] if as_floats else 0,
            )


def _within(times: Values) -> Values:
    """Times, none of them beyond `NEVER_NS`."""
    return np.clip(times, -NEVER_NS, NEVER_NS)


def float_step_ns(reading: int, unit_ns: int) -> int:
    """How far apart 32-bit floats of a unit are at a reading, ns; 0 of no unit."""
    return round(float(np.spacing(np.float32(reading / unit_ns))) * unit_ns) if unit_ns else 0


def _as_floats(readings: Values) -> Values:
    """In which of `FLOAT_UNITS` each reading is a 32-bit float, to the ns: a bit of each."""
    found = np.zeros(len(readings), dtype=np.int64)
    for k, unit in enumerate(FLOAT_UNITS):
        floats = (readings / unit).astype(np.float32)
        there = floats.astype(np.float64) * unit
        coarse = np.spacing(np.abs(floats)).astype(np.float64) * unit > _FINE_NS
        found |= (coarse & (np.abs(there - readings) <= 1)).astype(np.int64) << k
    return found


def _sums(runs: Values) -> Values:
    """The sums of runs that have the same keys, in order of these."""
    if not runs.shape[1]:
        return runs
    runs = runs[:, np.lexsort(runs[_KEYS - 1 :: -1])]
    starts = run_starts(*runs[:_KEYS])
    found = runs[:, starts]
    found[5] = np.add.reduceat(runs[5], starts)
    found[6] = np.minimum.reduceat(runs[6], starts)
    found[7] = np.minimum.reduceat(runs[7], starts)
    found[8] = np.maximum.reduceat(runs[8], starts)
    found[10] = np.gcd.reduceat(runs[10], starts)
    found[11] = np.bitwise_and.reduceat(runs[11], starts)
    found[12] = np.add.reduceat(runs[12], starts)
    return found
