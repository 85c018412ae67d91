"""The rows of events by number of their clock, and counted by clock and status."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import REASONS, RESOLVED
from tracetime.events_table import Columns

Values = npt.NDArray[np.int64]

_MOST_APART: Final = 1 << 18
"""So many rows of groups wait at most until they are counted together."""


@dataclass(slots=True)
class Group:
    """Events of one clock with one status.

    Attributes:
        clock: 0 where they name none.
        reason: of errors.REASONS.
        events: how many.
        first_packet, last_packet: in file order.
        low_ns, high_ns: their least and greatest reading, as it was converted.
        negative: how many have a trace time below 0.
        negative_packet: the first of these.
        least_ns: the least trace time.
    """

    clock: ClockId
    reason: str
    events: int
    first_packet: int
    last_packet: int
    low_ns: int
    high_ns: int
    negative: int
    negative_packet: int
    least_ns: int


class Rows:
    """Numbers the clocks that rows name by their columns clock, sequence and machine.

    Args:
        clocks: of the snapshots: they have the first numbers, in this order.
        machines: machine_id by index, as `Trace.machines` has them.

    Attributes:
        clocks: by number; those that rows alone name come as they appear.
    """

    def __init__(self, clocks: Iterable[ClockId], machines: list[int]) -> None:
        self.clocks = list(clocks)
        self._machines = {machine_id: index for index, machine_id in enumerate(machines)}
        # The table knows no files: sequence-scoped clocks take theirs from the snapshots.
        self._known = {(c.clock, c.sequence, c.machine): k for k, c in enumerate(self.clocks)}

    def numbers(self, columns: Columns) -> Values:
        """The number of the clock of each row of a batch."""
        keys, which = distinct(columns["clock"], columns["sequence"], columns["machine"])
        return np.array([self._number(*key) for key in keys], dtype=np.int64)[which]

    def _number(self, clock: int, sequence: int, machine: int) -> int:
        at = clock, sequence, self._machines.get(machine, machine)
        number = self._known.setdefault(at, len(self.clocks))
        if number == len(self.clocks):
            self.clocks.append(ClockId(*at))
        return number


class Groups(NamedTuple):
    """Events by clock and status, as columns of int64; see `Group`.

    Attributes:
        key: number of the clock and status, as one number.
        batch: that in which the first of them came.
    """

    key: Values
    batch: Values
    events: Values
    first_packet: Values
    last_packet: Values
    low_ns: Values
    high_ns: Values
    negative: Values
    negative_packet: Values
    least_ns: Values

    @property
    def clock(self) -> Values:
        """The number of the clock of each."""
        return self.key // len(REASONS)

    @property
    def status(self) -> Values:
        return self.key % len(REASONS)

    def each(self, rows: Values, clocks: list[ClockId]) -> list[Group]:
        """Some of them as objects; clocks: by number."""
        return [
            Group(clocks[key // len(REASONS)], REASONS[key % len(REASONS)], *told)
            for key, *told in zip(
                self.key[rows].tolist(), *(c[rows].tolist() for c in self[2:]), strict=True
            )
        ]


class Counted:
    """Counts the rows of batches by clock and status."""

    def __init__(self) -> None:
        self._parts: list[Groups] = []
        self._waiting = 0
        self._batch = 0

    def add(self, columns: Columns, numbers: Values) -> None:
        """Count a batch; numbers: of the clock of each row."""
        n = len(numbers)
        source, time = columns["source_ns"], columns["trace_time"]
        packet, status = columns["packet"].astype(np.int64), columns["status"]
        below = ((time < 0) & (status == RESOLVED)).astype(np.int64)
        self._batch += 1
        rows = Groups(
            numbers * len(REASONS) + status, np.full(n, self._batch), np.ones(n, dtype=np.int64),
            packet, packet, source, source, below, packet * below, time,
        )  # fmt: skip
        self._parts.append(_together(rows))
        self._waiting += len(self._parts[-1].key)
        if self._waiting > _MOST_APART:
            self.take()

    def take(self) -> Groups:
        """What was counted, by batch of the first, then by number of the clock and status."""
        if len(self._parts) != 1:
            nothing = np.empty((len(Groups._fields), 0), dtype=np.int64)
            every = Groups(*map(np.concatenate, zip(Groups(*nothing), *self._parts, strict=True)))
            self._parts = [_together(every)]
        # What does not get fewer by being counted together is counted so when there is twice as
        # much.
        self._waiting = -len(self._parts[0].key)
        order = np.lexsort((self._parts[0].key, self._parts[0].batch))
        return Groups(*(column[order] for column in self._parts[0]))


def _together(rows: Groups) -> Groups:
    """Rows of one clock and status as one, in order of these; the rows are in file order."""
    if not len(rows.key):
        return rows
    # Few kinds of rows fit in 16 bits, where a stable sort is a radix sort.
    kind = np.min_scalar_type(rows.key.max())
    order = np.argsort(rows.key.astype(kind), kind="stable")
    key = rows.key[order]
    starts = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    ends = np.append(starts[1:], len(key)) - 1
    negative = rows.negative[order]
    # The first that has any: those without come after all of them.
    places = np.where(negative > 0, np.arange(len(key)), len(key))
    first = np.minimum(np.minimum.reduceat(places, starts), ends)
    return Groups(
        key[starts],
        np.minimum.reduceat(rows.batch[order], starts),
        np.add.reduceat(rows.events[order], starts),
        rows.first_packet[order[starts]],
        rows.last_packet[order[ends]],
        np.minimum.reduceat(rows.low_ns[order], starts),
        np.maximum.reduceat(rows.high_ns[order], starts),
        np.add.reduceat(negative, starts),
        rows.negative_packet[order[first]],
        np.minimum.reduceat(rows.least_ns[order], starts),
    )


def places_of(numbers: Values) -> dict[int, Values]:
    """Where each number stands, ascending; the numbers are in order."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    # Nothing stands before the first.
    return dict(zip(found.tolist(), np.split(order, starts)[1:], strict=True))


def distinct(
    clock: npt.NDArray[np.integer], sequence: npt.NDArray[np.integer],
    machine: npt.NDArray[np.integer],
) -> tuple[list[tuple[int, int, int]], npt.NDArray[np.intp]]:  # fmt: skip
    """The different triples of three columns of uint32, in order, and which each row has."""
    scoped = clock.astype(np.uint64) << np.uint64(32) | sequence.astype(np.uint64)
    keys, which = np.unique(scoped, return_inverse=True)
    machines = machine[:1]
    if len(machine) and (machine != machine[0]).any():
        machines, on = np.unique(machine, return_inverse=True)
        pairs, which = np.unique(which * len(machines) + on, return_inverse=True)
        keys, machines = keys[pairs // len(machines)], machines[pairs % len(machines)]
    else:
        machines = np.repeat(machines, len(keys))
    clocks, sequences = keys >> np.uint64(32), keys & np.uint64(0xFFFFFFFF)
    return list(zip(clocks.tolist(), sequences.tolist(), machines.tolist(), strict=True)), which
