"""The clock graph of a table of snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId, ClockLike
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.errors import TraceError, UsageError
from tracetime.formats.record_trace import FileClocks
from tracetime.formats.table.layouts import TICKS, ReadingRows, SnapshotRows
from tracetime.formats.table.row_columns import Rows
from tracetime.graph.clock_graph import ClockGraph, inner
from tracetime.trace.event_clocks import distinct, machine_indexes

_FIRST_CHOICE: Final = ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW", "REALTIME")
"""Clocks that are trace time where a table has several, the first of them first."""

_MOST_WIDTH_NS: Final = 10**18


def clocks_of_columns(table: pa.Table, layout: SnapshotRows) -> FileClocks:
    """The clocks of a table whose rows are snapshots; widths are relative to the first column.

    Raises:
        TraceError: readings that are no snapshots.
    """
    domains = [
        ClockDomain(clock, ns_per_tick=None if name.endswith(TICKS) else 1)
        for name, clock in layout.clocks.items()
        if name.endswith(TICKS) or clock == "TSC"
    ]
    options: dict[str, Any] = {}
    if layout.width is not None:
        first, *others = layout.clocks
        options["reference"] = layout.clocks[first]
        options["half_width_ns"] = dict.fromkeys(others, layout.width)
    return _file_clocks(table, layout.clocks, domains, [0], options)


def clocks_of_rows(table: pa.Table, layout: ReadingRows) -> FileClocks:
    """The clocks of a table whose rows are readings; the clock without widths is their reference.

    Raises:
        TraceError: readings that are no snapshots.
    """
    whole = table.combine_chunks().to_batches(max_chunksize=None)
    rows = Rows(whole[0] if whole else pa.RecordBatch.from_pylist([], table.schema), 0)
    clock, sequence, machine = rows.clocks(layout.clock, known=True)
    if not clock.all():
        row = int(np.flatnonzero(clock == 0)[0])
        raise TraceError(f"row {row} has a reading of no clock: name it in column {layout.clock!r}")
    triples, which = distinct(clock, sequence, machine)
    machines = sorted({0, *(machine for _, _, machine in triples)})
    indexes = machine_indexes(machines)
    ids = [ClockId(clock, sequence, indexes[machine]) for clock, sequence, machine in triples]
    readings = {
        "clock": pa.DictionaryArray.from_arrays(arrow_of(which), texts_of(map(str, ids))),
        "snapshot": rows.batch["snapshot"],
        "value": rows.batch[layout.reading],
    }
    options: dict[str, Any] = {"clock": "clock", "snapshot": "snapshot"}
    if layout.width is not None:
        widths = rows.whole(layout.width, _MOST_WIDTH_NS)
        reference = _reference(ids, which, widths)
        if reference is not None:
            readings["width"] = arrow_of(widths)
            options |= {"reference": reference, "half_width_ns": "width"}
    known = _file_clocks(pa.table(readings), "value", [], machines, options)
    texts = rows.text(layout.clock)
    if texts is not None:
        inner(known.graph).state.take_names(*texts.dictionary.to_pylist())
    return known


def _reference(
    clocks: list[ClockId], which: npt.NDArray[np.intp], widths: npt.NDArray[np.int64]
) -> ClockId | None:
    """The clock that half-widths are relative to: the one that has none; None without any."""
    if not widths.any():
        return None
    wide = np.bincount(which, widths != 0, len(clocks)) > 0
    if wide.all() or np.count_nonzero(~wide) > 1:
        raise TraceError(
            "half_width_ns is relative to one clock: leave it out in the rows of that clock, and "
            "give it in all others"
        )
    return clocks[int(np.flatnonzero(~wide)[0])]


def _file_clocks(
    table: pa.Table,
    readings: Mapping[str, ClockLike] | str,
    domains: list[ClockDomain],
    machines: list[int],
    options: dict[str, Any],
) -> FileClocks:
    try:
        graph = ClockGraph.from_table(table, readings, domains=domains, **options)
        trace_clock = _trace_clock(graph)
        if not table.num_rows:
            raise TraceError("the table of snapshots has no rows: no clock was read")
        if trace_clock is None:
            raise TraceError("no clock of the snapshots counts ns and never falls: add one")
        # What trace time is cannot be said of a graph that has snapshots.
        graph = ClockGraph.from_table(
            table, readings, domains=domains, trace_clock=trace_clock, **options
        )
    except UsageError as error:
        raise TraceError(f"the snapshots of the table: {error}") from error
    return FileClocks(graph, trace_clock, machines)


def _trace_clock(graph: ClockGraph) -> ClockId | None:
    """The clock of trace time: one of ns that never falls."""
    able = [
        info.clock
        for info in graph.clocks()
        if info.monotonic and not inner(graph).counts_ticks(info.clock)
    ]
    return preferred_clock(able) if able else None


def preferred_clock(clocks: list[ClockId]) -> ClockId:
    """The clock of trace time among several: BOOTTIME where it is one of them."""
    numbers = [BUILTIN_IDS[name] for name in _FIRST_CHOICE]
    by_choice = {number: place for place, number in enumerate(numbers)}
    return min(clocks, key=lambda one: (one.machine, by_choice.get(one.clock, len(numbers))))
