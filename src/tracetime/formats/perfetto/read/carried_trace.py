"""`CarriedTrace`: what `merge` or `bake` wrote, with the readings of clocks.

Perfetto's rule places the events of the file; clocks and bars are those of its sources.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tracetime._kernels.perfetto.checks import CarriedLog, places_in_groups
from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import AS_IS, PLACED, RESOLVED, TraceError
from tracetime.formats.perfetto.carried import (
    NO_CLOCK,
    Block,
    Head,
    decode_block,
    decode_groups,
    decode_head,
    groups_of,
)
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.formats.trace_file import TraceFile
from tracetime.graph.clock_graph import ClockGraph, coat
from tracetime.graph.tube.results import Bars
from tracetime.graph.values import Values
from tracetime.trace.events_table import CUT_OFF, EARLY, NO_BAR, SOURCE_STATUS, SOURCE_TIME, Columns
from tracetime.trace.facts import TraceWarning
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import SliceReading
from tracetime.trace.trace import TraceReading

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver

_ID: Final = ("clock", "sequence", "machine")


class Carried(NamedTuple):
    """What a file carries, as far as its events agree with it.

    Attributes:
        head: see `Head`.
        packets: the numbers of the packets that end blocks.
        blocks: the bytes of each.
        agreed: of each, its groups that are those of the file.
        lost: of how many events none agrees.
    """

    head: Head
    packets: Values
    blocks: list[bytes]
    agreed: list[_Agreed]
    lost: int


class _Agreed(NamedTuple):
    """The groups of a block, by ascending keys: where their places in the block begin and end."""

    keys: Values
    starts: Values
    ends: Values


class CarriedTrace(PerfettoTrace):
    """A trace whose packets say what the clocks of its sources read at its events.

    Events that something has changed since have no bar; without what is carried it is a trace
    without bars, and `warnings` say why.
    """

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._carried: Carried | str | None = None
        self._source_graph: ClockGraph | None = None
        self._is_moved = False

    def _found(self) -> Carried | None:
        """What the file carries; None where that is of no use."""
        if self._carried is None:
            self._carried = self._read_carried()
        return self._carried if isinstance(self._carried, Carried) else None

    def _read_carried(self) -> Carried | str:
        """What the file carries, or why it is of no use."""
        log = CarriedLog()
        for _ in self._observed(None, log):
            pass
        if len(log.heads) != 1:
            return "it has no graph of them" if not log.heads else "it is joined from several"
        head = decode_head(log.heads[0])
        if head is None:
            return "the graph of them is damaged"
        lost = int(log.finish()[1].sum())
        agreed = list[_Agreed]()
        for content, found, is_sealed in zip(log.blocks, log.groups, log.sealed, strict=True):
            keys, counts, sums = found
            groups = decode_groups(content) if is_sealed else None
            if groups is None:
                lost += int(counts.sum())
            # Of some groups nothing is carried.
            there = [(groups or {}).get(group, (0, -1, 0)) for group in groups_of(keys)]
            starts, n, total = np.array(there, np.int64).reshape(-1, 3).T
            is_same = (n == counts) & (total == sums)
            lost += int(counts[~is_same & (n >= 0)].sum())
            same_rows = np.flatnonzero(is_same)
            order = same_rows[np.argsort(keys[same_rows])]
            agreed.append(_Agreed(keys[order], starts[order], starts[order] + counts[order]))
        return Carried(head, np.array(log.packets, np.int64), log.blocks, agreed, lost)

    @property
    def clocks(self) -> ClockGraph:
        """The clock graph of the sources; reads the file if necessary."""
        found = self._found()
        if found is None:
            return self._own_graph()
        if self._source_graph is None:
            self._source_graph = coat(found.head.graph)
            self.apply_options(self._source_graph)
        return self._source_graph

    @property
    def trace_clock(self) -> ClockId:
        """The clock of trace time, among those of the sources."""
        found = self._found()
        return super().trace_clock if found is None else found.head.trace_clock

    @property
    def machines(self) -> list[int]:
        """The `machine_id` of each machine, which is its index."""
        found = self._found()
        if found is None:
            return super().machines
        return list(dict.fromkeys((*found.head.machines, *super().machines)))

    @property
    def boots(self) -> dict[int, bytes]:
        """The ids of the boots that the machines' clocks count from; see `Trace`."""
        found, boots = self._found(), super().boots
        if found is None:
            return boots
        ids = super().machines
        return {self.machines.index(ids[n]): boot for n, boot in boots.items()}

    @property
    def truncated(self) -> TraceError | None:
        """The error after which the rest of the file, or of one of its sources, was not read."""
        return super().truncated or self._source_error()

    def _source_error(self) -> TraceError | None:
        found = self._found()
        return TraceError(found.head.truncated) if found and found.head.truncated else None

    @property
    def warnings(self) -> list[TraceWarning]:
        """The reason why the file lacks bars, and snapshots that could not be taken whole."""
        return [*self._damage(), *super().warnings]

    @property
    def n_warnings(self) -> int:
        """The number of all warnings."""
        return super().n_warnings + len(self._damage())

    def _damage(self) -> list[TraceWarning]:
        found = self._found()
        if found is None:
            return [TraceWarning(f"no bars of the sources: {self._carried}", 0, 0)]
        if not found.lost:
            return []
        return [
            TraceWarning(
                f"no bars of {found.lost:,} events: something has changed the file since", 0, 0
            )
        ]

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start, with what each row reads in its source."""
        reading = super().columns(progress, names=names, written=written)
        reading.batches = map(self.in_source(), reading.batches)
        reading.truncated = self._source_error()
        return reading

    def in_source(self) -> Callable[[Columns], Columns]:
        """What gives the columns of each batch, in turn, what they read in the file's sources."""
        found = self._found()
        if found is None:
            return lambda columns: columns
        return _Reader(found, self._is_moved).read

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[Any, None, None]:
        from tracetime.formats.perfetto.read.slices import read_slices

        found = self._found()
        if bars is None or found is None:
            return super()._slice_batches(reading, bars, args, progress)

        return read_slices(self, partial(self._read, progress), reading, bars, args)

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where slices begin and end; see `Trace.slice_ends`."""
        from tracetime.formats.perfetto.read.slices import read_slice_ends

        self.check_open()
        return read_slice_ends(self, partial(self._read, progress))

    def _read(
        self, progress: Callable[[int], None] | None, observer: PacketObserver
    ) -> Iterator[Columns]:
        """Read the file with an observer, and what each row reads in its source."""
        return map(self.in_source(), self._observed(progress, observer))

    def as_written(self) -> PerfettoTrace:
        """The trace for who places its events anew: they are where the sources' clocks read."""
        made = CarriedTrace(self._file, self.options)
        made.on_read = self.on_read
        made._carried = self._carried
        made._is_moved = True
        return made


class _Reader:
    """The reader of what is carried, batch by batch.

    is_moved: whether the rows are placed anew; else they stay where the file has them.
    """

    def __init__(self, carried: Carried, is_moved: bool) -> None:
        self._carried = carried
        self._is_moved = is_moved
        self._number = -1
        self._block: Block | None = None
        self._agreed: _Agreed | None = None
        self._free = np.zeros(0, np.int64)
        machines = carried.head.machines
        ids = [(one.clock, one.sequence, machines[one.machine]) for one in carried.head.clocks]
        # The last is that of `NO_CLOCK`.
        self._ids = np.array([*ids, (0, 0, 0)], np.uint32)

    def read(self, columns: Columns) -> Columns:
        """The columns of a batch with what its rows read in their sources."""
        n = len(columns["status"])
        made = dict(columns)
        clock = np.full(n, NO_CLOCK, np.int64)
        for name in ("source_ns", "snapshots"):
            made[name] = columns[name].copy()
        parts = dict[str, Values]()
        number = np.searchsorted(self._carried.packets, columns["packet"].astype(np.int64))
        starts = np.flatnonzero(np.diff(number, prepend=-1))
        for begin, end in pairwise([*starts.tolist(), n]):
            block = self._enter(int(number[begin]))
            if block is None or self._agreed is None:
                continue
            places = places_in_groups(
                self._agreed.keys, self._free, self._agreed.ends, columns, begin, end
            )
            rows = slice(begin, end)
            clock[rows] = block.clock[places]
            made["source_ns"][rows] = block.readings(places, columns["trace_time"][rows])
            made["snapshots"][rows] = block.snapshots[places]
            for name, values in ((CUT_OFF, block.cut_off_ns), (EARLY, block.early_ns)):
                if values.any():
                    parts.setdefault(name, np.zeros(n, np.int64))[rows] = values[places]
        if EARLY in parts:
            parts.setdefault(CUT_OFF, np.zeros(n, np.int64))
        return self._with_clocks(made | parts, columns, clock)

    def _enter(self, number: int) -> Block | None:
        if number != self._number and number < len(self._carried.blocks):
            self._agreed = self._carried.agreed[number]
            self._free = self._agreed.starts.copy()
            self._block = decode_block(self._carried.blocks[number])
        elif number != self._number:
            self._block = None
        self._number = number
        return self._block

    def _with_clocks(self, made: Columns, columns: Columns, clock: Values) -> Columns:
        clock[clock >= len(self._ids) - 1] = NO_CLOCK
        known = clock >= 0
        made |= {name: ids[clock] for name, ids in zip(_ID, self._ids.T, strict=True)}
        if not known.all():
            # What is placed and nothing bounds names no clock: the file's are none of the sources'.
            is_placed = is_any_of(columns["status"], PLACED)
            own = ~known & ~is_placed & ~np.isin(columns["clock"], self._ids[:-1, 0])
            for name in ("clock", "sequence"):
                made[name] = np.where(own, columns[name], made[name])
            for name in ("machine", "source_ns", "snapshots"):
                made[name] = np.where(known, made[name], columns[name])
        made["timestamp"] = np.where(known, made["source_ns"], columns["timestamp"])
        status = np.where(known, RESOLVED, AS_IS).astype(columns["status"].dtype)
        if self._is_moved:
            made["status"] = np.where(columns["status"] == RESOLVED, status, columns["status"])
            made[NO_BAR] = ~known
        else:
            made |= {SOURCE_TIME: columns["trace_time"], SOURCE_STATUS: status}
        return made
