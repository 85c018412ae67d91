"""A trace format of text, as somebody else would add one: a folder of its own, and one line.

    #! clocks and events
    snapshot,0,MONOTONIC,1000
    snapshot,0,com.example.gpu,77
    event,com.example.gpu,80
    order,MONOTONIC,1000,com.example.gpu,82

The first line is its magic. Trace time is the clock of the first reading. Clocks are as `ClockId`
parses them, values are ns.
"""

from collections import defaultdict

import numpy as np
import pyarrow as pa

from tracetime import ClockGraph, ClockId, Snapshot, Trace, TraceError, UsageError
from tracetime.formats.trace_file import Budget
from tracetime.trace.events_table import Kind, Vocabulary
from tracetime.trace.placement import placed_by_floor
from tracetime.trace.trace import TraceReading, WrittenSnapshots

MAGIC = b"#! clocks and events\n"
KINDS = (Kind("event"),)


def is_text(beginning):
    return beginning.startswith(MAGIC)


class TextTrace(Trace):
    def __init__(self, file, options):
        super().__init__(file.path, file.size, options)
        self._file = file
        self._graph = None

    def close(self):
        self._file.close()

    def check_open(self):
        self._file.check_open()

    @property
    def vocabulary(self):
        return Vocabulary(KINDS, np.array([-1], np.int16), pa.array([], pa.string()))

    @property
    def clocks(self):
        if self._graph is None:
            self._graph = ClockGraph(self.trace_clock)
            for readings in self._snapshots():
                self._graph.add_snapshot(Snapshot(readings))
            for at, row in self._rows():
                if row[0] == "order":
                    before, after = (
                        (int(ts), self._clock(clock, at)) for clock, ts in (row[1:3], row[3:5])
                    )
                    self._graph.add_order(before, after)
            self.apply_options(self._graph)
        return self._graph

    @property
    def trace_clock(self):
        return next((clock for readings in self._snapshots() for clock in readings), ClockId(6))

    def columns(self, progress=None, *, names=False, written=0):
        self.check_open()
        rows = [(n, at, *row[1:]) for n, (at, row) in enumerate(self._rows()) if row[0] == "event"]
        columns = placed_by_floor(
            {
                "packet": np.array([row[0] for row in rows], np.uint64),
                "offset": np.array([row[1] for row in rows], np.uint64),
                "clock": np.array([self._clock(row[2], row[1]).clock for row in rows], np.uint32),
                "timestamp": np.array([int(row[3]) for row in rows], np.int64),
            },
            self.clocks,
            self.trace_clock,
            self.machines,
        )
        reading = TraceReading(iter([columns] if rows else []))
        if written:
            reading.written = self._written()
        return reading

    def _snapshots(self):
        found = defaultdict(dict)
        for at, row in self._rows():
            if row[0] == "snapshot":
                found[int(row[1])][self._clock(row[2], at)] = int(row[3])
        return list(found.values())

    def _written(self):
        """The readings as they stand in the file."""
        found = [
            (n, self._clock(row[2], at).clock, 0, 0, int(row[3]), 1, False)
            for n, (at, row) in enumerate(self._rows())
            if row[0] == "snapshot"
        ]
        readings = np.array(found, np.int64).reshape(-1, 7).T
        return WrittenSnapshots(readings, np.empty((4, 0), np.int64), 0, np.empty((3, 0), np.int64))

    def _clock(self, text, at):
        try:
            return ClockId.parse(text)
        except UsageError as error:
            raise TraceError(str(error), at) from error

    def _rows(self):
        pieces = self._file.chunks(Budget(self.options.max_expansion))
        content = b"".join(piece for piece, _ in pieces)
        at = len(MAGIC)
        for line in content[at:].decode().splitlines(keepends=True):
            yield at, line.rstrip().split(",")
            at += len(line.encode())
