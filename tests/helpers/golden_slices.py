"""Slices beside those of trace_processor's tables (data/README.md)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

TEXTS = ("name", "category", "track_name", "thread_name", "process_name")


def plain(table: pa.Table) -> pa.Table:
    """The compared columns as plain types; trace_processor prints no text as an empty one."""
    columns = {name: table[name] for name in golden_names(table)}
    for name in TEXTS:
        columns[name] = pc.fill_null(pc.cast(columns[name], pa.string()), "")
    for name in columns.keys() - set(TEXTS):
        columns[name] = pc.fill_null(pc.cast(columns[name], pa.int64()), -1)
    return pa.table(columns)


def golden_names(table: pa.Table) -> list[str]:
    names = ("id", "ts", "dur", "depth", "parent", *TEXTS, "tid", "pid")
    return [name for name in names if name in table.column_names]


def compare(made: pa.Table, table: pa.Table) -> None:
    """Slices are those of a table, all of them, in all its columns."""
    ours, golden = plain(made), plain(table)
    assert ours.num_rows == golden.num_rows > 0
    assert ours.column_names == golden.column_names
    for name in golden.column_names:
        where = np.flatnonzero(np.asarray(pc.not_equal(ours[name], golden[name])))
        assert not len(where), (name, ours.slice(where[0], 1), golden.slice(where[0], 1))
