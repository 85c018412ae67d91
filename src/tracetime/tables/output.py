"""A table file in the making: batches go to a thread of its own, which writes them.

The file appears under its name when it is complete, or not at all.
"""

from __future__ import annotations

import threading
from pathlib import Path
from queue import Queue
from typing import Final

import numpy as np
import pyarrow as pa

from tracetime._version import __version__
from tracetime.atomic_file import Part, not_written
from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import arrow_of
from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.errors import UsageError
from tracetime.graph.arguments import PolicyName
from tracetime.graph.tube.results import Bars
from tracetime.tables.writers import TableWriter
from tracetime.text import printable

METADATA_KEYS: Final = ("tracetime.trace_clock", "tracetime.policy", "tracetime.version")
"""What a table file says about itself, in the metadata of its schema.

By the tube policy, also `tracetime.bars`; of a trace also `tracetime.limits`: the declared clocks,
as JSON.
"""

TRACE: Final = "trace"
"""The first column of a file that is a part of a data set: which trace its rows are of."""

_NAMES: Final = pa.dictionary(pa.int32(), pa.string())
_BATCHES_AHEAD: Final = 4


def table_metadata(clock: ClockId, policy: PolicyName, bars: Bars) -> dict[str, str]:
    """The metadata of a table file: its clock, the policy of its times, and the version."""
    facts = dict(zip(METADATA_KEYS, (str(clock), policy, __version__), strict=True))
    return facts | ({"tracetime.bars": bars} if policy == "tube" else {})


def with_trace(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with the column `TRACE` before its own."""
    return exact_in_pandas(schema.insert(0, pa.field(TRACE, _NAMES, nullable=False)))


def _of_trace(batch: pa.RecordBatch, trace: str) -> pa.RecordBatch:
    names = pa.DictionaryArray.from_arrays(
        arrow_of(np.zeros(batch.num_rows, np.int32)), pa.array([trace], pa.string())
    )
    return pa.RecordBatch.from_arrays([names, *batch.columns], schema=with_trace(batch.schema))


class TableOutput:
    """A table file in the making, written by a thread of its own.

    Leaving its `with` block without `finish` having succeeded removes what was written.

    Args:
        target: the file.
        trace: the text of the column `TRACE`, which then comes first; None for no such column.
    """

    def __init__(self, target: Path, trace: str | None = None) -> None:
        self._target = target
        self._trace = trace
        self._part = Part(target)
        self._error: BaseException | None = None
        self._is_abandoned = False
        self._may_write = threading.Event()
        self._queue: Queue[pa.RecordBatch | None] = Queue(_BATCHES_AHEAD)
        self._writer: TableWriter | None = None
        self._thread: threading.Thread | None = None

    def start(
        self, writer_class: type[TableWriter], schema: pa.Schema, metadata: dict[str, str]
    ) -> None:
        """Make the file. To be called within the block: a signal may come as soon as it exists."""
        if self._trace is not None:
            schema = with_trace(schema)
        try:
            part = self._part.make()
        except OSError as error:
            raise not_written(self._target, error) from error
        self._thread = threading.Thread(
            target=self._write_all,
            args=(writer_class, part, schema, metadata),
            name="table writer",
            daemon=True,
        )
        self._thread.start()
        self._may_write.set()

    def _write_all(
        self,
        writer_class: type[TableWriter],
        part: Path,
        schema: pa.Schema,
        metadata: dict[str, str],
    ) -> None:
        # A signal that comes while a thread starts leaves one that nobody can wait for.
        self._may_write.wait()
        if self._is_abandoned:
            return
        try:
            # Here and not before, because what it needs takes a while to load.
            self._writer = writer_class(part, schema, metadata)
            while (batch := self._queue.get()) is not None:
                self._write(self._writer, batch)
        except BaseException as error:
            self._error = error
            # The reader may be waiting for room in the queue: take what it has left.
            while self._queue.get() is not None:
                pass

    def _write(self, writer: TableWriter, batch: pa.RecordBatch) -> None:
        at_once = writer.rows_at_once
        for start in range(0, batch.num_rows, at_once):
            if not self._is_abandoned:
                writer.write(batch.slice(start, at_once))

    def put(self, batch: pa.RecordBatch) -> None:
        """Hand a batch to the writing thread; waits while it is behind."""
        self._check()
        if self._trace is not None:
            batch = _of_trace(batch, self._trace)
        self._queue.put(batch)

    def finish(self, metadata: dict[str, str]) -> None:
        """Write the rest and the metadata, and let the file appear under its name."""
        self._stop()
        self._check()
        assert self._writer is not None
        try:
            self._writer.finish(metadata)
            self._part.take_name()
        except OSError as error:
            raise not_written(self._target, error) from error

    def __enter__(self) -> TableOutput:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            if kind is not None:
                self._is_abandoned = True
                self._may_write.set()
                self._stop()
                if self._writer is not None:
                    self._writer.abandon()
        finally:
            self._part.discard()

    def _stop(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()

    def _check(self) -> None:
        if isinstance(self._error, OSError):
            raise not_written(self._target, self._error) from self._error
        if isinstance(self._error, (pa.ArrowInvalid, pa.ArrowNotImplementedError)):
            why = printable(str(self._error).partition("\n")[0], 200)
            raise UsageError(
                f"cannot write this table to {str(self._target)!r}: {why}; choose another format"
            ) from self._error
        if self._error is not None:
            raise self._error
