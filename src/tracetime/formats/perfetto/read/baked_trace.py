"""`BakedTrace`: what `bake` wrote, with its source in it.

Perfetto's rule places the events of the file; clocks and bars are the source's, whose packets are
made from those of the file (`unbaked_file.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.errors import TraceError
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.formats.perfetto.read.source_rows import SourceRows
from tracetime.formats.perfetto.read.unbaked_file import UnbakedFile
from tracetime.formats.trace_file import TraceFile
from tracetime.graph.clock_graph import ClockGraph
from tracetime.graph.info import FlowCounts
from tracetime.graph.tube.bars import Bars
from tracetime.trace.events_table import Columns
from tracetime.trace.facts import TraceWarning
from tracetime.trace.open_options import OpenOptions
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import SliceReading
from tracetime.trace.trace import TraceReading

if TYPE_CHECKING:
    from tracetime._kernels.perfetto.importer import PacketObserver


class BakedTrace(PerfettoTrace):
    """A trace that `bake` wrote, whose packets say what they were.

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
        """Why the source is not in the file, and snapshots that could not be taken whole."""
        source, own = self.source, super().warnings
        return [self._damage, *own] if source is self and self._damage else own

    @property
    def n_warnings(self) -> int:
        """How many warnings there are in all."""
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

        return read_slices(self, read, reading, bars, args, baked=True)

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where slices begin and end; see `Trace.slice_ends`."""
        return self.as_written().slice_ends(progress)

    def as_written(self) -> PerfettoTrace:
        """The trace without its source, of the same file: it has no bars."""
        made = PerfettoTrace(self._file, self.options)
        made.on_read = self.on_read
        return made
