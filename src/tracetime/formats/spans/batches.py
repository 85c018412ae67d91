"""The spans of a file, batch by batch, as columns."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from tracetime.errors import TraceError
from tracetime.formats.spans.batch import SpanLists, Spans
from tracetime.formats.spans.documents import Document, documents
from tracetime.formats.spans.resources import Resources
from tracetime.formats.spans.source import SpanSource, Wanted
from tracetime.formats.trace_file import Budget, TraceFile
from tracetime.trace.events_table import BATCH_ROWS

_BATCH_BYTES: Final = 1 << 25
"""Of the file, in a batch at most: its texts are kept until it is full."""


class SpanBatches:
    """Reads the spans of a file from its start, once.

    Args:
        file, source: which, and of what format.
        resources: takes what the spans come from.
        wanted: what to read of texts.
        most_bytes: that decompression may yield.
    """

    def __init__(
        self,
        file: TraceFile,
        source: SpanSource,
        resources: Resources,
        wanted: Wanted,
        most_bytes: int,
    ) -> None:
        self._file = file
        self._decode = source.decode
        self._resources = resources
        self._wanted = wanted
        self._budget = Budget(most_bytes)
        self._lists = SpanLists(source.unit_ns)
        self._first = 0
        self._position = 0

    def __iter__(self) -> Iterator[Spans]:
        """Yield batches.

        Raises:
            TraceError: the file is damaged; all spans before have been yielded.
        """
        begun = 0
        try:
            for document in documents(self._file, self._budget):
                self._position = document.position
                yield from self._decoded(document)
                if document.offset - begun > _BATCH_BYTES:
                    yield from self._taken()
                    begun = document.offset
        except TraceError:
            yield from self._taken()
            raise
        yield from self._taken()

    def _decoded(self, document: Document) -> Iterator[Spans]:
        """Add the spans of an object; yield batches as they are full."""
        text, offset = document.text, document.offset
        try:
            _check_utf8(text)
            text = text.removeprefix(BOM_UTF8)
            for _ in self._decode(text, offset, self._resources, self._lists, self._wanted):
                if len(self._lists) >= BATCH_ROWS:
                    yield from self._taken()
        except (ValueError, OverflowError, RecursionError) as error:
            raise TraceError(f"line {document.line}: {error}", offset) from None

    def _taken(self) -> Iterator[Spans]:
        """Yield what has been added since, if anything."""
        lists, fault = self._lists, None
        try:
            spans = lists.spans(self._first, self._position)
        except ValueError as error:
            row = lists.first_bad()
            fault = TraceError(
                f"{error}: times are whole numbers since 1970, before 2262",
                lists.offset[row],
                self._first + row,
            )
            lists.cut(row)
            spans = lists.spans(self._first, self._position)
        lists.clear()
        self._first += len(spans)
        if len(spans):
            yield spans
        if fault is not None:
            raise fault


def _check_utf8(text: bytes) -> None:
    """Raise ValueError where a text is no UTF-8: not all of it is decoded."""
    if not text.isascii():
        ends = pa.py_buffer(np.array([0, len(text)], np.int64))
        whole = pa.Array.from_buffers(pa.large_string(), 1, [None, ends, pa.py_buffer(text)])
        whole.validate(full=True)
