"""`BakedTrace`: what `bake` wrote, with its source in it.

Perfetto's rule places the events of the file; clocks and bars are the source's, whose packets are
made from those of the file (`UnbakedFile`).
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Iterator
from copy import copy
from functools import partial
from typing import IO, TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.perfetto.bake import Unbaker
from tracetime._kernels.perfetto.importer import Rows
from tracetime.errors import AS_IS, TraceError
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.formats.perfetto.schema import KINDS
from tracetime.formats.trace_file import BEGINNING, Budget, TraceFile
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.info import FlowCounts
from tracetime.graph.tube.results import Bars
from tracetime.trace.events_table import SOURCE_STATUS, SOURCE_TIME, Columns
from tracetime.trace.facts import TraceWarning
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import SliceReading
from tracetime.trace.trace import TraceReading

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver


class BakedTrace(PerfettoTrace):
    """A trace that `bake` wrote, whose packets hold their source times.

    Where they do not any more, because something has changed the file, it is a trace without bars,
    and `warnings` say why.
    """

    def __init__(self, file: TraceFile, options: OpenOptions) -> None:
        super().__init__(file, options)
        self._source: PerfettoTrace | None = None
        self._damage: TraceWarning | None = None

    @property
    def source(self) -> PerfettoTrace:
        """The trace that this one was baked from; this one where that is not in the file."""
        if self._source is None:
            home, machines, policy = self.trace_clock, self.machines, self.baked_by
            file = UnbakedFile(self._file)
            found = PerfettoTrace(file, self.options)
            why = None
            try:
                # The tube puts machines on BOOTTIME whose trace clock is another.
                same = found.trace_clock.machine == home.machine and found.machines == machines
                if not same or (policy == "floor" and found.trace_clock != home):
                    why = "its trace clock or its machines were others in its source"
                error = file.damage or (found.truncated if self.truncated is None else None)
            except TraceError as raised:
                error = raised
            if error is not None:
                why = str(error)
            if why is not None:
                packet = 0 if error is None else error.packet or 0
                self._damage = TraceWarning(f"no bars of the source: {why}", 0, packet)
            self._source = found if why is None else self
        return self._source

    @property
    def clocks(self) -> ClockGraph:
        """The clock graph of the source; reads the file if necessary."""
        return self._own_graph() if self.source is self else self.source.clocks

    @property
    def flows(self) -> FlowCounts | None:
        """The flows between machines that are orders, those of the source."""
        return super().flows if self.source is self else self.source.flows

    @property
    def warnings(self) -> list[TraceWarning]:
        """The reason why the file lacks the source, and snapshots that could not be taken whole."""
        source, own = self.source, super().warnings
        return [self._damage, *own] if source is self and self._damage else own

    @property
    def n_warnings(self) -> int:
        """The number of all warnings."""
        return super().n_warnings + (self.source is self)

    def columns(
        self,
        progress: Callable[[int], None] | None = None,
        *,
        names: bool = False,
        written: int = 0,
    ) -> TraceReading:
        """Read the file from its start, with what each row reads in the source."""
        reading = super().columns(progress, names=names, written=written)
        reading.batches = self._with_source(reading.batches)
        return reading

    def _with_source(self, batches: Iterator[Columns]) -> Iterator[Columns]:
        if self.source is self:
            yield from batches
            return
        packets: list[npt.NDArray[np.uint64]] = []
        # Readings at once each have a file of their own.
        source = copy(self.source)
        source._file = UnbakedFile(self._file, packets.append)
        source._unused = None
        rows = SourceRows(iter(source.columns()), packets)
        for columns in batches:
            yield rows.add(columns)

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        from tracetime.formats.perfetto.read.slices import read_slices

        if bars is None or self.source is self:
            observed = partial(self._observed, progress)
            return read_slices(self.as_written(), observed, reading, bars, args)

        def read(observer: PacketObserver) -> Iterator[Columns]:
            return self._with_source(self._observed(progress, observer))

        return read_slices(self, read, reading, bars, args)

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where slices begin and end; see `Trace.slice_ends`."""
        return self.as_written().slice_ends(progress)

    def as_written(self) -> PerfettoTrace:
        """The trace without its source, of the same file: it has no bars."""
        made = PerfettoTrace(self._file, self.options)
        made.on_read = self.on_read
        return made


Numbers = npt.NDArray[np.int64]

_READ: Final = ("clock", "sequence", "timestamp", "source_ns", "snapshots")
_PLACED: Final = (("trace_time", SOURCE_TIME), ("status", SOURCE_STATUS))
_NEEDED: Final = ("packet", "kind", *_READ, "trace_time", "status")
_PACKET, _LEGACY = (
    next(n for n, kind in enumerate(KINDS) if kind.name == name)
    for name in ("packet", "track_event_legacy")
)
_KINDS: Final = 64
"""More than there are: packet * _KINDS + kind is another number for each pair."""


class SourceRows:
    """The rows of the source, in the order of the baked ones.

    Args:
        batches: columns of the source.
        packets: of each packet of the source, the number of the baked one, as far as it is known:
            a batch's are known when it is there.
    """

    def __init__(self, batches: Iterator[Columns], packets: list[npt.NDArray[np.uint64]]) -> None:
        self._batches = batches
        self._packets = packets
        self._first = 0  # packet of the source that `_packets` begin with
        self._rows = Rows(1).take()

    def add(self, columns: Columns) -> Columns:
        """The columns of a batch of the baked trace with what its rows read in the source.

        Where Perfetto's rule puts them there is in `SOURCE_TIME` and `SOURCE_STATUS`. A row that
        the source does not have, or not for sure, is one that names no clock there: nothing bounds
        it.
        """
        made = dict(columns)
        n = len(columns["packet"])
        source = self._until(int(columns["packet"][-1]) if n else -1)
        ours, theirs = _match_rows(columns, source)
        for name in _READ:
            made[name] = columns[name].copy()
            made[name][ours] = source[name][theirs]
        for name, there in _PLACED:
            made[there] = columns[name].copy()
        made[SOURCE_STATUS][:] = AS_IS
        for name, there in _PLACED:
            made[there][ours] = source[name][theirs]
        return made

    def _until(self, packet: int) -> Columns:
        """Take the rows of the packets up to a number of the baked trace."""
        parts = [self._rows]
        while not len(parts[-1]["packet"]) or int(parts[-1]["packet"][-1]) <= packet:
            batch = next(self._batches, None)
            if batch is None:
                break
            parts.append(batch | {"packet": self._baked_packets(batch["packet"])})
        rows = {name: np.concatenate([part[name] for part in parts]) for name in _NEEDED}
        end = int(np.searchsorted(rows["packet"], packet, side="right"))
        self._rows = {name: column[end:] for name, column in rows.items()}
        return {name: column[:end] for name, column in rows.items()}

    def _baked_packets(self, packets: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        known = np.concatenate(self._packets)
        found = known[packets.astype(np.int64) - self._first]
        if len(packets):
            last = int(packets[-1])
            known = known[last - self._first :]
            self._first = last
        self._packets[:] = [known]
        return found


def _match_rows(columns: Columns, source: Columns) -> tuple[Numbers, Numbers]:
    """The matching rows of a baked trace and of its source.

    Rows of one kind in one packet are the same in order, where there are as many: items that were
    set aside leave no trace of which they were. A packet that took the time of its legacy timestamp
    is that row.
    """
    kinds = source["kind"].astype(np.int64)
    ours = _keys(columns["packet"], columns["kind"].astype(np.int64))
    theirs = _keys(source["packet"], kinds)
    legacy = np.flatnonzero(kinds == _LEGACY)
    if len(legacy):
        packets = source["packet"][legacy]
        moved = ~np.isin(_keys(packets, kinds[legacy]), ours)
        # The legacy row stands for the packet's own.
        gone = _keys(packets[moved], np.full(moved.sum(), _PACKET))
        theirs[np.isin(theirs, gone)] = -1
        theirs[legacy[moved]] = gone
    order_ours, order_theirs = (np.argsort(keys, kind="stable") for keys in (ours, theirs))
    ours, theirs = ours[order_ours], theirs[order_theirs]
    keys, first, count = np.unique(ours, return_index=True, return_counts=True)
    begin = np.searchsorted(theirs, keys, side="left")
    same = np.searchsorted(theirs, keys, side="right") - begin == count
    inside = np.arange(len(ours)) - np.repeat(first, count)
    taken = np.repeat(same, count)
    found = np.repeat(begin, count) + inside
    return order_ours[taken], order_theirs[found[taken]]


def _keys(packets: npt.NDArray[np.uint64], kinds: Numbers) -> Numbers:
    return packets.astype(np.int64) * _KINDS + kinds


class UnbakedFile(TraceFile):
    """The source of a baked trace, made from that while it is read.

    Attributes:
        compressed: True: what is read is no part of the file as it lies there.
        damage: why it could not be read to its end, where it does not say what it was.

    Args:
        file: the baked trace, which stays open when this is closed.
        on_packets: takes, with each piece, the number of the baked packet of each of its packets.
    """

    def __init__(
        self, file: TraceFile, on_packets: Callable[[npt.NDArray[np.uint64]], None] | None = None
    ) -> None:
        self.path, self.size = file.path, file.size
        self.compressed = True
        self.on_read = ()
        self.damage: TraceError | None = None
        self._baked = file
        self._on_packets = on_packets

    def close(self) -> None:
        """The file belongs to the baked trace."""

    def check_open(self) -> None:
        """Raise UsageError once the baked trace is closed."""
        self._baked.check_open()

    def fileno(self) -> int:
        """The baked file's descriptor."""
        return self._baked.fileno()

    def beginning(self, n: int = BEGINNING) -> bytes:
        """The first n bytes, or as many as there are."""
        found = b""
        for piece, _ in self.chunks(Budget(1 << 62)):
            found += piece
            if len(found) >= n:
                break
        return found[:n]

    def chunks(self, budget: Budget) -> Iterator[tuple[bytes, int]]:
        """Yield the packets of the source, with the position reached in the baked file.

        Raises:
            TraceError: a packet does not say what it was.
        """
        unbaker = Unbaker()
        unread = bytearray()
        needed = 1
        for piece, at in self._baked.chunks(budget):
            unread += piece
            if len(unread) < needed:
                continue
            try:
                found, taken, needed = unbaker.feed(unread)
            except ValueError as error:
                self.damage = TraceError(f"the trace has {error}", None, unbaker.packets)
                raise self.damage from error
            del unread[:taken]
            if self._on_packets is not None:
                self._on_packets(unbaker.take_numbers())
            if found:
                yield found, at
        if unread:
            yield bytes(unread), self.size

    def uncompressed(self, budget: Budget, partial: bool) -> IO[bytes]:
        """The source as a temporary file."""
        content = tempfile.TemporaryFile()  # noqa: SIM115
        for piece, _ in self.chunks(budget):
            content.write(piece)
        content.flush()
        return content
