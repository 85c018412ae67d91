"""The snapshots of a trace as they are written, whether Perfetto takes them or not."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.families import NEVER_SET, ONE_OSCILLATOR
from tracetime.clocks.ids import ClockId
from tracetime.graph.values import Values, ascending
from tracetime.trace.event_clocks import distinct
from tracetime.trace.trace import WrittenSnapshots

MOST_KEPT: Final = 1 << 20
"""Readings, and snapshots: a recorder of ten clocks takes days for so many."""
_MOST_NS: Final = 1 << 62


class Series(NamedTuple):
    """Snapshots that list the same clocks in the same order.

    Attributes:
        clocks: what they list; a sequence's clocks without the file they are in.
        packets: of each snapshot, ascending: int64 array of n.
        values_ns: what each clock read: int64 array of (n, clocks).
    """

    clocks: tuple[ClockId, ...]
    packets: Values
    values_ns: Values


class SuccessiveReadings(NamedTuple):
    """The pairs of a reading and the next of its clock, in file order: int64 arrays of one length.

    Attributes:
        packets: of the later one.
        clock: index of the clock.
        from_ns, to_ns: what it read.
        first_ns: its first reading of all.
    """

    packets: Values
    clock: Values
    from_ns: Values
    to_ns: Values
    first_ns: Values


class Written:
    """The readings by clock, snapshot and packet, those beyond int64 ns left out.

    Attributes:
        clocks: that were read.
        packets, clock, values_ns: of each reading, the index of its clock.
        named: whether its packet says which machine it is of.
        signs, firsts: see `WrittenSnapshots`.
    """

    def __init__(self, written: WrittenSnapshots) -> None:
        packets, *key, timestamps, units, named = written.readings
        fits = np.abs(timestamps.astype(np.float64)) * np.abs(units.astype(np.float64)) < _MOST_NS
        keys, which = distinct(*(column[fits] for column in key))
        self.clocks: list[ClockId] = [
            ClockId.of_trace(clock, sequence, machine, 0) for clock, sequence, machine in keys
        ]
        self.packets: Values = packets[fits]
        self.clock: Values = which.astype(np.int64)
        self.values_ns: Values = timestamps[fits] * units[fits]
        self.named: npt.NDArray[np.bool_] = named[fits] != 0
        self.signs: Values = written.signs
        self.firsts: Values = written.firsts

    def only(self, rows: npt.NDArray[np.bool_]) -> Written:
        """The readings of some rows."""
        part = copy(self)
        part.__dict__.pop("_by_clock", None)
        part.packets, part.clock = self.packets[rows], self.clock[rows]
        part.values_ns, part.named = self.values_ns[rows], self.named[rows]
        return part

    def steps(self) -> SuccessiveReadings:
        """The pairs of a reading and the next of its clock, by clock and then in file order."""
        order = np.argsort(self.clock, kind="stable")
        clock, packets, values = self.clock[order], self.packets[order], self.values_ns[order]
        same = clock[1:] == clock[:-1]
        first = values[np.searchsorted(clock, clock[1:][same])]
        return SuccessiveReadings(
            packets[1:][same], clock[1:][same], values[:-1][same], values[1:][same], first
        )

    def together(self, one: ClockId, other: ClockId) -> tuple[Values, Values, Values]:
        """(packets, one_ns, other_ns) of the snapshots that list both clocks, in file order."""
        (packets, ours), (others, theirs) = self._of(one), self._of(other)
        both, at, there = np.intersect1d(packets, others, return_indices=True)
        return both, ours[at], theirs[there]

    def _of(self, clock: ClockId) -> tuple[Values, Values]:
        """(packets, values_ns) of a clock, in file order."""
        order, ends, numbers = self._by_clock
        number = numbers.get((clock.clock, clock.sequence, clock.machine))
        if number is None:
            return (np.empty(0, np.int64),) * 2
        rows = order[ends[number] : ends[number + 1]]
        return self.packets[rows], self.values_ns[rows]

    @cached_property
    def _by_clock(self) -> tuple[Values, list[int], dict[tuple[int, int, int], int]]:
        """The rows by clock, the end of each clock's rows, and the clocks' numbers."""
        order = np.argsort(self.clock, kind="stable")
        ends = np.searchsorted(self.clock[order], np.arange(len(self.clocks) + 1)).tolist()
        numbers = {(c.clock, c.sequence, c.machine): k for k, c in enumerate(self.clocks)}
        return order, ends, numbers

    def pairs(self, one: int, other: int) -> tuple[Values, Values, Values]:
        """(machine, one_ns, other_ns) of the snapshots that list both of two clocks by number."""
        numbers = np.array([clock.clock for clock in self.clocks], dtype=np.int64)[self.clock]
        machines = np.array([clock.machine for clock in self.clocks], dtype=np.int64)
        sides = []
        for number in (one, other):
            rows = np.flatnonzero(numbers == number)
            machine = machines[self.clock[rows]]
            order = np.lexsort((self.packets[rows], machine))
            sides.append((machine[order], self.packets[rows[order]], self.values_ns[rows[order]]))
        (machine, packets, ours), (others, theirs, values) = sides
        ids, which = np.unique(np.append(machine, others), return_inverse=True)
        span = int(self.packets.max(initial=0)) + 1
        keys = which * span + np.append(packets, theirs)
        _, at, there = np.intersect1d(
            keys[: len(machine)], keys[len(machine) :], return_indices=True
        )
        return ids[which[at]], ours[at], values[there]

    def series(self, least: int = 1, *, turning: bool = False) -> list[Series]:
        """The series of snapshots that list the same clocks, the most frequent first.

        least: lists that fewer snapshots have are left out.
        turning: lists whose readings are in one order throughout are left out, too.
        """
        _, starts, sizes = np.unique(self.packets, return_index=True, return_counts=True)
        found = []
        for size in ascending(sizes).tolist():
            rows = starts[sizes == size][:, None] + np.arange(size)
            lists, which, counts = np.unique(
                self.clock[rows], axis=0, return_inverse=True, return_counts=True
            )
            order = np.argsort(which.ravel(), kind="stable")
            ends = np.append(0, np.cumsum(counts))
            wanted = counts >= least
            if turning:
                ranks = np.argsort(self.values_ns[rows[order]], axis=1, kind="stable")
                turned = (ranks != np.repeat(ranks[ends[:-1]], counts, axis=0)).any(axis=1)
                wanted &= np.logical_or.reduceat(turned, ends[:-1])
            for i in np.flatnonzero(wanted).tolist():
                ours = rows[order[ends[i] : ends[i + 1]]]
                found.append(
                    Series(
                        tuple(self.clocks[k] for k in lists[i].tolist()),
                        self.packets[ours[:, 0]],
                        self.values_ns[ours],
                    )
                )
        return sorted(found, key=lambda series: -len(series.packets))


# The beginnings of recordings in a file that has several, one after the other.
#
# A recorder describes itself once; clocks fall together where another recording begins, or an
# earlier part of the same one.

# Fields of TracePacket that a recorder writes once, when it begins; and those next to them.
_ONCE: Final = (33, 45, 89)  # trace_config, system_info, trace_uuid
_SNAPSHOT, _STATS, _MARKER = 6, 35, 36
_FIRST: Final = 87  # of tracetime's recorder: nothing but the first packet of its first sequence

# NumPy's `isin` takes no set.
_KERNEL: Final = tuple(ONE_OSCILLATOR)
_STEADY: Final = tuple(NEVER_SET)
_APART: Final = 4
_KERNEL_APART: Final = 3
_APART_NS: Final = 60_000_000_000
"""Clocks that rise by this many different times, this far apart, are those of two recordings. After
a suspend and a correction of the wall clock there are fewer."""
_ALIKE: Final = 0.01
"""Jumps within 1 % of each other are one jump: clocks drift meanwhile."""
READ_WITHIN_NS: Final = 1_000_000
"""Clocks of a snapshot are read within this time, so smaller falls mean nothing."""


class Start(NamedTuple):
    """The start of a recording.

    Attributes:
        packet, offset: its first packet, and the byte of the uncompressed file where that begins.
        is_sure: whether just these packets are another recording: all are of tracetime's recorder,
            or all begin with the same packets as the first in the file.
    """

    packet: int
    offset: int
    is_sure: bool


class Break(NamedTuple):
    """A fall of clocks, together or apart: the packet, and the greatest fall."""

    packet: int
    fall_ns: int


def starts(signs: Values) -> list[Start]:
    """Return the starts of the second and later recordings, by the packets that recorders write."""
    packets, offsets, fields, machines = signs
    # Other machines of a trace describe themselves, too.
    kinds = [packets[(fields == field) & (machines == 0)] for field in _ONCE]
    most = max(map(len, kinds))
    firsts = np.min([kind for kind in kinds if len(kind) == most], axis=0).tolist()
    own = packets[fields == _FIRST].tolist()
    marks = {
        packet: field
        for packet, field in zip(packets.tolist(), fields.tolist(), strict=True)
        if field in (_SNAPSHOT, _STATS, _MARKER)
    }
    at = dict(zip(packets.tolist(), offsets.tolist(), strict=True))
    begins = [_begin(first, marks) for first in firsts]
    usual = _marks_from(begins[0], firsts[0], marks) if begins else []
    found = {
        begin: Start(begin, at[begin], not own and _marks_from(begin, first, marks) == usual)
        for begin, first in zip(begins, firsts, strict=True)
    }
    found |= {packet: Start(packet, at[packet], own[0] == 0) for packet in own}
    # Whatever begins the file does not begin another.
    return [found[packet] for packet in sorted(found)[1:]]


def _begin(first: int, marks: Mapping[int, int]) -> int:
    """Return the packet that a recording begins with, from the first that describes it."""
    while marks.get(first - 1) in (_SNAPSHOT, _MARKER) or (
        # Statistics after the last events belong to the recording before.
        marks.get(first - 1) == _STATS and marks.get(first - 2) in (_SNAPSHOT, _MARKER)
    ):
        first -= 1
    return first


def _marks_from(begin: int, first: int, marks: Mapping[int, int]) -> list[int]:
    return [marks[packet] for packet in range(begin, first)]


def breaks(written: Written) -> list[Break]:
    """Return the snapshots in which clocks fall together, or each jump by a different time."""
    steps = written.steps()
    order = np.argsort(steps.packets, kind="stable")
    packets = steps.packets[order]
    by_ns = (steps.to_ns - steps.from_ns)[order]
    if not len(packets):
        return []
    packets, starts, clocks = np.unique(packets, return_index=True, return_counts=True)
    number = np.array([clock.clock for clock in written.clocks])[steps.clock[order]]
    steady, falls = np.isin(number, _STEADY), by_ns < -READ_WITHIN_NS
    fell = np.add.reduceat(falls, starts, dtype=np.int64)
    back = np.add.reduceat(steady & falls, starts, dtype=np.int64) > 0
    back |= np.add.reduceat(steady, starts, dtype=np.int64) == 0
    least = np.minimum.reduceat(by_ns, starts)
    spread = np.maximum.reduceat(by_ns, starts) - least
    # Where all are back at their first reading, the same recording starts again.
    first = steps.first_ns[order] == steps.to_ns[order]
    again = np.logical_and.reduceat(first, starts) & (clocks >= 2) & (least < 0)
    together = again | (back & (fell >= 2) & (2 * fell >= clocks))
    # Clocks that rise alike need no further check.
    wide = (clocks >= _APART) & (spread > _APART_NS)
    found = []
    for i in np.flatnonzero(together | wide).tolist():
        here = slice(starts[i], starts[i] + clocks[i])
        kernel = by_ns[here][np.isin(number[here], _KERNEL)]
        apart = _groups(by_ns[here]) >= _APART and _groups(kernel) >= _KERNEL_APART
        if together[i] or apart:
            found.append(Break(int(packets[i]), max(int(-least[i]), 0)))
    return found


def _groups(by_ns: Values) -> int:
    """Return the number of different times by which clocks advanced."""
    sorted_ns = np.sort(by_ns).astype(np.float64)
    return 1 + int(
        np.count_nonzero(np.diff(sorted_ns) > _APART_NS + np.abs(sorted_ns[1:]) * _ALIKE)
    )
