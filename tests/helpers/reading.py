"""Traces given as bytes, through the reader."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
from twin import Row

from tracetime import Trace, TraceError, open_trace


@contextmanager
def opened(data: bytes, **options: Any) -> Iterator[Trace]:
    with tempfile.NamedTemporaryFile(suffix=".pftrace") as file:
        file.write(data)
        file.flush()
        with open_trace(file.name, **options) as trace:
            yield trace


def rows_of(table: pa.Table) -> list[Row]:
    """The rows of an events table as the twin has them: without `offset`, no payload is ''."""
    columns = [table[name].to_pylist() for name in Row._fields]
    made = (Row(*values) for values in zip(*columns, strict=True))
    return [row._replace(payload=row.payload or "") for row in made]


def read(data: bytes, **options: Any) -> list[Row]:
    """Every row of a trace."""
    with opened(data, **options) as trace:
        return rows_of(trace.read_all())


class Outcome(NamedTuple):
    rows: list[Row]
    error: TraceError | None


def read_partial(data: bytes) -> Outcome:
    """What can be read of a damaged trace, and what is wrong with it.

    A file that begins as none of any format is refused: nothing of it is read.
    """
    with ExitStack() as stack:
        try:
            trace = stack.enter_context(opened(data, partial=True))
        except TraceError as error:
            # The name of the file is another each time.
            return Outcome([], TraceError(error.message.partition(": ")[2], error.offset))
        return Outcome(rows_of(trace.read_all()), trace.truncated)


def placed(data: bytes, kind: str = "packet") -> dict[int, int | str]:
    """Trace time by packet; where it has none, why."""
    return {
        row.packet: row.status if row.trace_time is None else row.trace_time
        for row in read(data)
        if row.kind == kind
    }


def items(data: bytes, kind: str) -> list[int | str]:
    """Trace times of the items of one kind, in file order; where one has none, why."""
    return [
        row.status if row.trace_time is None else row.trace_time
        for row in read(data)
        if row.kind == kind
    ]
