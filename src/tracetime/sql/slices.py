"""The table `slices` of SQL: it has `wall_time`, that of `ts`, for statements that use it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from tracetime.sql.events import Extras, with_wall_time
from tracetime.trace import slices_table
from tracetime.trace.wall_times import WALL_TIME

if TYPE_CHECKING:
    from tracetime.sql.view import View
    from tracetime.trace.trace import Trace

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
