"""A trace of records that are spans: `RecordTrace` with slices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Generator

import pyarrow as pa

from tracetime.formats.record_trace import RecordTrace
from tracetime.formats.replayed_slices import go_on
from tracetime.formats.span_table import SpanTable
from tracetime.graph.tube.bars import Bars
from tracetime.trace.slice_ends import SliceEnds
from tracetime.trace.slices_table import SliceReading


class SpanTrace(RecordTrace):
    """A `RecordTrace` whose format also gives `_read_spans`."""

    rows_are_of_slices = True

    @abstractmethod
    def _read_spans(self, args: bool, progress: Callable[[int], None] | None) -> SpanTable:
        """Read the file from its start: its spans, with their arguments or without."""

    def slice_ends(self, progress: Callable[[int], None] | None = None) -> SliceEnds | None:
        """Read where spans begin and end; see `Trace.slice_ends`."""
        from tracetime.formats.nested_spans import nested_spans

        self.check_open()
        table = self._read_spans(False, progress)
        nested = nested_spans(self, table, "estimated", SliceReading())
        if len([clock for clock in nested.readings.clocks if clock.clock]) < 2:
            return None
        return nested.slices.ends(self, nested.readings)

    def _slice_batches(
        self,
        reading: SliceReading,
        bars: Bars | None,
        args: bool,
        progress: Callable[[int], None] | None,
    ) -> Generator[pa.RecordBatch, None, None]:
        from tracetime.formats.nested_spans import nested_spans

        nested = nested_spans(self, self._read_spans(args, progress), bars, reading)
        go_on(self)
        found = {}
        if bars is not None:
            ends = nested.slices.ends(self, nested.readings)
            found = nested.slices.bounded(ends, self, bars)
        yield from nested.slices.batches(found, nested.args_of if args else None)
