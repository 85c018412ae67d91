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


def slice_batches(trace: Trace, view: View, extras: Extras) -> Iterator[pa.RecordBatch]:
    """Read the slices of a trace with these groups."""
    batches = trace.slices(view.policy, bars=view.bars)
    if not extras:
        return batches
    return with_wall_time(trace, view, batches, "ts", slices_schema(view, extras))
