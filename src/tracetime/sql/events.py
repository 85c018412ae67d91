"""The table `events` of SQL: its columns are those that a statement uses.

Names and wall time take longer to read than the other columns, so `events` has them only for
statements that use them. `*` stands for the other columns, and a join with `clocks`, which has a
column `name` too, is not ambiguous.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tracetime.trace import slices_table
from tracetime.trace.events_table import NAMES_SCHEMA, WALL_TIME, schema_of, wall_times

if TYPE_CHECKING:
    from tracetime.sql.streams import View
    from tracetime.trace.trace import Trace

Extras = frozenset[str]
"""Groups of columns that `events` has besides those that it always has: keys of `EXTRAS`."""

NAMES: Final = "names"
EXTRAS: Final = {NAMES: tuple(NAMES_SCHEMA.names), WALL_TIME.name: (WALL_TIME.name,)}
"""The columns of each group."""

_WORD: Final = re.compile(r"\w+")
_UNQUALIFIED: Final = re.compile(r"(?<![\w.])(?<!\.\")\w+")
"""A word that is not behind a table and a dot."""


def extras_in(*texts: str) -> Extras:
    """Return the groups with a column whose name is a word of one of the texts."""
    return _extras_of(word for text in texts for word in _WORD.findall(text))


def unqualified_extras_in(*texts: str) -> Extras:
    """Return the groups with a column whose name is in one of the texts, not behind a table's."""
    return _extras_of(word for text in texts for word in _UNQUALIFIED.findall(text))


def _extras_of(words: Iterable[str]) -> Extras:
    named = {word.lower() for word in words}
    return frozenset(group for group, columns in EXTRAS.items() if named.intersection(columns))


def events_schema(view: View, extras: Extras) -> pa.Schema:
    """Return the schema of `events` with these groups."""
    schema = schema_of(view.policy, NAMES in extras)
    return schema.append(WALL_TIME) if WALL_TIME.name in extras else schema


def event_batches(trace: Trace, view: View, extras: Extras) -> Iterator[pa.RecordBatch]:
    """Read the events of a trace with these groups."""
    batches = trace.events(view.policy, bars=view.bars, names=NAMES in extras)
    if WALL_TIME.name not in extras:
        return batches
    return with_wall_time(trace, view, batches, "trace_time", events_schema(view, extras))


def with_wall_time(
    trace: Trace, view: View, batches: Iterator[pa.RecordBatch], time: str, schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    """Append `wall_time`, that of the trace times in the column `time`."""
    graph, trace_clock = trace.clocks, trace.trace_clock
    for batch in batches:
        column = wall_times(batch[time], graph, trace_clock, view.policy, view.bars)
        yield pa.RecordBatch.from_arrays([*batch.columns, column], schema=schema)


class KeptRows:
    """The rows of a table, kept once a scan has read all of them; else read by each scan.

    Args:
        read: reads the table with these groups of columns.
        room: bytes of rows that may be kept; a table with more is read by each scan.
    """

    def __init__(self, read: Callable[[Extras], Iterator[pa.RecordBatch]], room: int) -> None:
        self._read = read
        self._room = room
        self._extras: Extras = frozenset()
        self._kept: list[pa.RecordBatch] | None = None

    def batches(self, extras: Extras, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the columns of `schema`, which are those with these groups."""
        if self._kept is None or not extras <= self._extras:
            yield from self._scan(extras, schema)
            return
        for batch in self._kept:
            yield batch.select(schema.names)

    def _scan(self, extras: Extras, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        # The groups that are kept stay, so that two statements in turn do not read each time.
        extras = extras | self._extras
        kept: list[pa.RecordBatch] | None = [] if self._room else None
        size = 0
        for batch in self._read(extras):
            if kept is not None:
                kept.append(batch)
                size += batch.nbytes
                if size > self._room:
                    kept = None
            yield batch.select(schema.names)
        if kept is not None:
            self._extras, self._kept = extras, kept


# The table `slices` of SQL: it has `wall_time`, that of `ts`, for statements that use it.

SLICES_EXTRAS: Final[Extras] = frozenset((WALL_TIME.name,))
"""The groups of columns that `slices` can have."""


def slices_schema(view: View, extras: Extras) -> pa.Schema:
    """Return the schema of `slices` with these groups."""
    schema = slices_table.slices_schema(view.policy)
    return schema.append(WALL_TIME) if extras else schema


class SliceReader:
    """Reads the slices of traces.

    Attributes:
        unresolved: by path, how many events without a trace time are in no slice.
    """

    def __init__(self) -> None:
        self.unresolved: dict[str, int] = {}

    def batches(self, trace: Trace, view: View, extras: Extras) -> Iterator[pa.RecordBatch]:
        """Read the slices of a trace with these groups."""
        slices = trace.slices(view.policy, bars=view.bars)
        batches: Iterator[pa.RecordBatch] = slices
        if extras:
            batches = with_wall_time(trace, view, slices, "ts", slices_schema(view, extras))
        for batch in batches:
            self.unresolved[trace.path] = slices.unresolved
            yield batch
        self.unresolved[trace.path] = slices.unresolved
