"""Events counted by clock and status, batch by batch.

What is kept grows with the number of clocks, never with the number of events.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from tracetime._kernels.common.columns import count_between, sum_within
from tracetime.analysis.event_bars import EventSample
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import known_of
from tracetime.errors import REASONS, RESOLVED
from tracetime.graph.values import Values, ascending, distances
from tracetime.trace.event_clocks import ClockNumbers, Rows, run_starts
from tracetime.trace.events_table import Columns

_MOST_APART: Final = 1 << 18
"""So many groups of single batches wait at most until they are merged."""


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
        least_ns, most_ns: the least and greatest trace time; anything where they have none.
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
    most_ns: int


class Groups(NamedTuple):
    """The columns of many groups, int64; see `Group`.

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
    most_ns: Values

    @property
    def clock(self) -> Values:
        """The number of each group's clock."""
        return self.key // len(REASONS)

    @property
    def status(self) -> Values:
        return self.key % len(REASONS)

    def each(self, rows: Values, clocks: list[ClockId]) -> list[Group]:
        """The groups of some rows as objects; clocks: by number."""
        return [
            Group(clocks[key // len(REASONS)], REASONS[key % len(REASONS)], *counts)
            for key, *counts in zip(
                self.key[rows].tolist(), *(c[rows].tolist() for c in self[2:]), strict=True
            )
        ]


class GroupCounter:
    """A counter of rows of batches by clock and status."""

    def __init__(self) -> None:
        self._batches: list[Groups] = []
        self._waiting = 0
        self._batch = 0

    def add(self, columns: Columns, numbers: Values) -> None:
        """Count a batch; numbers: of the clock of each row."""
        starts = run_starts(numbers, columns["status"])
        self.add_runs(columns, starts, numbers[starts])

    def add_runs(self, columns: Columns, starts: Rows, numbers: Values) -> None:
        """Count a batch whose rows of one clock and status follow each other.

        Args:
            columns: of the batch.
            starts: the rows at which the clock or the status changes.
            numbers: of the clock of each of these.
        """
        self._batch += 1
        if not len(starts):
            return
        source, time = columns["source_ns"], columns["trace_time"]
        packet, status = columns["packet"].view(np.int64), columns["status"]
        ends = np.append(starts[1:], len(status)) - 1
        least = np.minimum.reduceat(time, starts)
        negative = negative_packet = np.zeros(len(starts), dtype=np.int64)
        if least.min() < 0:
            below = ((time < 0) & (status == RESOLVED)).astype(np.int64)
            negative, first_negative = _negative_in_runs(below, starts, ends)
            negative_packet = np.where(negative > 0, packet[first_negative], 0)
        rows = Groups(
            key=numbers * len(REASONS) + status[starts],
            batch=np.full(len(starts), self._batch),
            events=ends - starts + 1,
            first_packet=packet[starts],
            last_packet=packet[ends],
            low_ns=np.minimum.reduceat(source, starts),
            high_ns=np.maximum.reduceat(source, starts),
            negative=negative,
            negative_packet=negative_packet,
            least_ns=least,
            most_ns=np.maximum.reduceat(time, starts),
        )
        self._batches.append(_sum_groups(rows))
        self._waiting += len(self._batches[-1].key)
        if self._waiting > _MOST_APART:
            self.take()

    def take(self) -> Groups:
        """The counts, by batch of the first row, then by number of the clock and status."""
        if len(self._batches) != 1:
            nothing = np.empty((len(Groups._fields), 0), dtype=np.int64)
            every = Groups(*map(np.concatenate, zip(Groups(*nothing), *self._batches, strict=True)))
            self._batches = [_sum_groups(every)]
        # Rows that merging does not make fewer are merged again when there are twice as many.
        self._waiting = -len(self._batches[0].key)
        order = np.lexsort((self._batches[0].key, self._batches[0].batch))
        return Groups(*(column[order] for column in self._batches[0]))


def _sum_groups(rows: Groups) -> Groups:
    """The sums of rows of one clock and status, in order of these; the rows are in file order."""
    if not len(rows.key):
        return rows
    # Few kinds of rows fit in 16 bits, where a stable sort is a radix sort.
    kind = np.min_scalar_type(rows.key.max())
    order = np.argsort(rows.key.astype(kind), kind="stable")
    return _runs(Groups(*(column[order] for column in rows)))


def _runs(rows: Groups) -> Groups:
    """The sums of rows of one key that follow each other."""
    starts = run_starts(rows.key)
    ends = np.append(starts[1:], len(rows.key)) - 1
    negative, first_negative = _negative_in_runs(rows.negative, starts, ends)
    return Groups(
        key=rows.key[starts],
        batch=rows.batch[starts],
        events=np.add.reduceat(rows.events, starts),
        first_packet=rows.first_packet[starts],
        last_packet=rows.last_packet[ends],
        low_ns=np.minimum.reduceat(rows.low_ns, starts),
        high_ns=np.maximum.reduceat(rows.high_ns, starts),
        negative=negative,
        negative_packet=rows.negative_packet[first_negative],
        least_ns=np.minimum.reduceat(rows.least_ns, starts),
        most_ns=np.maximum.reduceat(rows.most_ns, starts),
    )


def _negative_in_runs(negative: Values, starts: Values, ends: Values) -> tuple[Values, Values]:
    """The sum of `negative` in each run, and the first row of it that has any."""
    if not negative.any():
        return np.zeros(len(starts), dtype=np.int64), starts
    # Rows without any come after all that have some.
    places = np.where(negative > 0, np.arange(len(negative)), len(negative))
    first = np.minimum(np.minimum.reduceat(places, starts), ends)
    return np.add.reduceat(negative, starts), first


def places_of(numbers: Values) -> dict[int, Values]:
    """The places of each number, ascending; the numbers are in order."""
    order = np.argsort(numbers, kind="stable")
    found, starts = np.unique(numbers[order], return_index=True)
    # Nothing comes before the first.
    return dict(zip(found.tolist(), np.split(order, starts)[1:], strict=True))


# Counts of the events that are written to a table, batch by batch.

_CLOCK: Final = ("clock", "sequence", "machine")
"""The columns that name the clock of a row."""


@dataclass(slots=True)
class TargetCounts:
    """Counts of the column to_time, batch by batch.

    Attributes:
        unresolved: rows with a trace_time, but without a to_time.
        cost_ns: how far to_time is at most from where the tube puts that trace time; None where
            nothing was compared.
        uncompared: rows whose to_time was not compared, because the tube has no answer.
    """

    unresolved: int = 0
    cost_ns: int | None = None
    uncompared: int = 0

    def add(self, to_time: pa.Array, trace_time: pa.Array) -> None:
        """Count the rows of a batch."""
        self.unresolved += to_time.null_count - trace_time.null_count

    def compare(self, floor: pa.Array, tube: pa.Array) -> None:
        """Compare to_time of a batch with what the tube makes of the same trace times."""
        (at, here), (estimate, there) = known_of(floor), known_of(tube)
        both = here & there
        self.uncompared += int(np.count_nonzero(here & ~there))
        if both.any():
            largest = int(distances(at[both], estimate[both]).max())
            self.cost_ns = max(self.cost_ns or 0, largest)


class EventCounts:
    """Counts of the rows of a trace.

    Attributes:
        rows: how many there are.
        kinds: rows by codes of kind and status.
        to_time: what is counted of that column.
        sample: some of the rows.
    """

    def __init__(self) -> None:
        self.rows = 0
        self.sample = EventSample()
        self.kinds: Counter[tuple[int, int]] = Counter()
        self.to_time = TargetCounts()
        # The trace names its clocks and machines at its end: until then, by machine_id.
        self._numbers = ClockNumbers()
        self._groups = GroupCounter()

    def add(self, columns: Columns) -> None:
        """Count the rows of a batch."""
        self.rows += len(columns["status"])
        self.sample.add(columns)
        codes = columns["kind"].astype(np.intp) * len(REASONS) + columns["status"]
        counts = np.bincount(codes)
        for code in np.flatnonzero(counts).tolist():
            self.kinds[divmod(code, len(REASONS))] += int(counts[code])
        starts = run_starts(*(columns[name] for name in (*_CLOCK, "status")))
        clocks = {name: columns[name][starts] for name in _CLOCK}
        self._groups.add_runs(columns, starts, self._numbers.of_rows(clocks))

    def groups(self, clocks: Sequence[ClockId], machines: list[int]) -> list[Group]:
        """Events by clock and status, in order of the status.

        Args:
            clocks: of the snapshots of the trace.
            machines: as `Trace.machines` has them.
        """
        counted = self._groups.take()
        by_id = self._numbers.clocks
        named = ClockNumbers(clocks, machines)
        numbers = [named.of(clock.clock, clock.sequence, clock.machine) for clock in by_id]
        found = [named.clocks[number] for number in numbers]
        key = [(c.machine, c.sequence, c.clock) for c in by_id]
        status, clock = counted.status.tolist(), counted.clock.tolist()
        order = sorted(range(len(clock)), key=lambda k: (status[k], key[clock[k]]))
        return counted.each(np.array(order, dtype=np.int64), found)


# Counts of events by their place between marks, from which those of any span follow.


class Counts:
    """The numbers of values at each of some marks, and between each two; for several lists.

    Args:
        marks: int64, list by list, ascending and each once within a list.
        starts: int64, where each list begins, and where the last one ends.
    """

    def __init__(self, marks: Values, starts: Values) -> None:
        self._marks, self._starts = marks, starts
        self._counts = np.zeros(2 * len(marks) + len(starts) - 1, dtype=np.int64)

    def add(self, which: Values, values: Values) -> None:
        """Count some values, each among the marks of one list."""
        count_between(self._marks, self._starts, which, values, self._counts)

    def within(self, which: int, spans: Values | Iterable[tuple[int, int]]) -> int:
        """The number of a list's values within any of some spans, their ends included.

        An end is a mark, the last number before one or the first after one, or has no value
        beyond it on its side.
        """
        if not isinstance(spans, np.ndarray):
            spans = np.array(list(spans), dtype=np.int64).reshape(-1, 2)
        start, end = self._starts[which : which + 2].tolist()
        counts = self._counts[2 * start + which : 2 * end + which + 1]
        return sum_within(self._marks[start:end], counts, np.ascontiguousarray(spans))


class Between:
    """`Counts` of one list of marks, int64, in any order."""

    def __init__(self, marks: Values) -> None:
        marks = ascending(marks)
        self._counts = Counts(marks, np.array([0, len(marks)]))

    def add(self, values: Values) -> None:
        """Count some values."""
        self._counts.add(np.zeros(len(values), dtype=np.int64), values)

    def within(self, spans: Iterable[tuple[int, int]]) -> int:
        """The number of values within any of some spans; see `Counts.within`."""
        return self._counts.within(0, spans)
