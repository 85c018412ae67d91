"""The tables that SQL sees: events, slices, clocks, snapshots, findings and others.

Tables are made as columns from a trace and its graph. Strings of a trace are values in them, and
never part of a statement.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from tracetime.clocks.ids import ClockId
from tracetime.sql.events import (
    EXTRAS,
    SLICES_EXTRAS,
    Extras,
    KeptRows,
    SliceReader,
    event_batches,
    events_schema,
    slices_schema,
)
from tracetime.sql.streams import Faults, Stream, View
from tracetime.text import of_file
from tracetime.trace.events_table import BATCH_ROWS, FINDING_EVENTS

if TYPE_CHECKING:
    from tracetime.doctor import Finding
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.info import Readings
    from tracetime.trace.trace import Trace

_NAME: Final = pa.dictionary(pa.int32(), pa.string())
_TRACE: Final = pa.field("trace", _NAME)
# As in the events table, so that tables join on (clock, sequence, machine).
_CLOCK: Final = (
    ("name", _NAME),
    ("clock", pa.uint32()),
    ("sequence", pa.uint32()),
    ("machine", pa.uint32()),
)

CLOCKS: Final = pa.schema(
    [
        *_CLOCK,
        ("scope", pa.string()),
        ("unit_ns", pa.int64()),
        ("incremental", pa.bool_()),
        ("monotonic", pa.bool_()),
        ("snapshots", pa.int64()),
        ("first_ns", pa.int64()),
        ("last_ns", pa.int64()),
        ("trace_clock", pa.bool_()),
    ]
)
SNAPSHOTS: Final = pa.schema(
    [
        ("snapshot", pa.int64()),
        *_CLOCK,
        ("reading", pa.int64()),
        ("unit_ns", pa.int64()),
        ("reading_ns", pa.int64()),
        ("half_width_ns", pa.int64()),
        ("centre_ns", pa.int64()),
    ]
)
DISCONTINUITIES: Final = pa.schema(
    [
        ("src", pa.string()),
        ("dst", pa.string()),
        ("kind", pa.string()),
        ("from_ns", pa.int64()),
        ("to_ns", pa.int64()),
        ("size_min_ns", pa.int64()),
        ("size_max_ns", pa.int64()),
        ("rate_min_ppm", pa.float64()),
        ("rate_max_ppm", pa.float64()),
        ("snapshots", pa.list_(pa.int64())),
    ]
)
FINDINGS: Final = pa.schema(
    [
        ("code", pa.string()),
        ("severity", pa.string()),
        ("title", pa.string()),
        ("clocks", pa.list_(pa.string())),
        ("packets", pa.list_(pa.uint64())),
        ("events", pa.int64()),
        ("worst_ns", pa.int64()),
        ("why", pa.string()),
        ("fix", pa.string()),
        ("follows_from", pa.string()),
        ("finding", pa.int64()),
    ]
)


class _Maker(NamedTuple):
    """The maker of a table: the groups of columns that it can have, its schema, its rows."""

    extras: Extras
    schema: Callable[[View, Extras], pa.Schema]
    batches: Callable[[Trace, View, Extras], Iterator[pa.RecordBatch]]


class Tables:
    """The tables of traces. Rows of several traces have a column `trace`.

    Args:
        room: bytes of rows of each table that are kept once a scan has read the table; 0 keeps
            none.
        faults: keeps errors.

    Attributes:
        slices: reads those of the traces.
    """

    def __init__(self, traces: Sequence[Trace], view: View, faults: Faults, room: int = 0) -> None:
        self._traces = traces
        self._view = view
        self._faults = faults
        self.slices = SliceReader()
        self._names_traces = view.by_trace or len(traces) > 1
        self._makers = {
            "events": _Maker(frozenset(EXTRAS), events_schema, event_batches),
            "slices": _Maker(SLICES_EXTRAS, slices_schema, self.slices.batches),
            **{name: _fixed_table(schema, maker) for name, (schema, maker) in _FIXED.items()},
        }
        self._rows = {
            name: KeptRows(self._together(maker.batches), room)
            for name, maker in self._makers.items()
        }

    @property
    def names(self) -> list[str]:
        """The names of the tables."""
        return list(self._makers)

    def extras(self, name: str) -> Extras:
        """The groups of columns that a table has only for statements that use them."""
        return self._makers[name].extras

    def stream(self, name: str, extras: Extras) -> Stream:
        """Return a table, with those of these groups that it can have."""
        maker, rows = self._makers[name], self._rows[name]
        extras = extras & maker.extras
        schema = maker.schema(self._view, extras)
        if self._names_traces:
            schema = schema.insert(0, _TRACE)
        return Stream(schema, lambda: rows.batches(extras, schema), self._faults)

    def _together(
        self, batches: Callable[[Trace, View, Extras], Iterator[pa.RecordBatch]]
    ) -> Callable[[Extras], Iterator[pa.RecordBatch]]:
        """Return a generator of the batches of all traces, of several with a column `trace`."""
        traces, view = self._traces, self._view
        if not self._names_traces:
            return lambda extras: batches(traces[0], view, extras)
        # DuckDB needs the same dictionary in all batches of a column.
        paths = pa.array([_as_utf8(trace.path) for trace in traces], pa.string())

        def chained(extras: Extras) -> Iterator[pa.RecordBatch]:
            for index, trace in enumerate(traces):
                for batch in _naming(trace, batches(trace, view, extras)):
                    which = pa.array(np.full(batch.num_rows, index, dtype=np.int32))
                    column = pa.DictionaryArray.from_arrays(which, paths)
                    schema = batch.schema.insert(0, _TRACE)
                    yield pa.RecordBatch.from_arrays([column, *batch.columns], schema=schema)

        return chained


def _as_utf8(path: str) -> str:
    """A path as a text; bytes of it that are no UTF-8 become escapes."""
    return os.fsencode(path).decode(errors="backslashreplace")


def _naming(trace: Trace, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of one of several traces; its errors name the trace."""
    with of_file(trace.path):
        yield from batches


def _fixed_table(
    schema: pa.Schema, maker: Callable[[Trace, View], Iterator[pa.RecordBatch]]
) -> _Maker:
    """A maker of a table whose columns are always the same."""
    return _Maker(
        frozenset(), lambda view, extras: schema, lambda trace, view, extras: maker(trace, view)
    )


def _clocks(trace: Trace, view: View) -> Iterator[pa.RecordBatch]:
    infos = trace.clocks.clocks()
    columns = _clock_columns([info.clock for info in infos], np.arange(len(infos)), trace, view)
    yield pa.RecordBatch.from_arrays(
        [
            *columns,
            pa.array([info.clock.scope for info in infos], pa.string()),
            pa.array([info.unit_ns for info in infos], pa.int64()),
            pa.array([info.incremental for info in infos], pa.bool_()),
            pa.array([info.monotonic for info in infos], pa.bool_()),
            pa.array([info.snapshots for info in infos], pa.int64()),
            pa.array([info.first_ns for info in infos], pa.int64()),
            pa.array([info.last_ns for info in infos], pa.int64()),
            pa.array([info.clock == trace.trace_clock for info in infos], pa.bool_()),
        ],
        schema=CLOCKS,
    )


def _clock_columns(
    clocks: Sequence[ClockId], indices: np.ndarray[Any, Any], trace: Trace, view: View
) -> list[pa.Array]:
    """Return the columns that identify a clock: one row for each index into `clocks`."""
    machines = trace.machines
    ids = [machines[c.machine] if c.machine < len(machines) else c.machine for c in clocks]
    numbers = [
        np.array(values, dtype=np.uint32)[indices]
        for values in ([c.clock for c in clocks], [c.sequence for c in clocks], ids)
    ]
    # A dictionary of its own for each batch, which DuckDB accepts here.
    names = pa.array([view.name(clock, trace.clocks) for clock in clocks], pa.string())
    which = pa.array(indices.astype(np.int32))
    return [pa.DictionaryArray.from_arrays(which, names), *map(pa.array, numbers)]


def _snapshots(trace: Trace, view: View) -> Iterator[pa.RecordBatch]:
    graph = trace.clocks
    units = {info.clock: info.unit_ns for info in graph.clocks()}
    for readings in _chunks(graph):
        yield _snapshot_batch(readings, units, trace, view)


def _chunks(graph: ClockGraph) -> Iterator[list[Readings]]:
    """Yield the readings of a graph, as many clocks at once as make a batch."""
    held: list[Readings] = []
    rows = 0
    for read in graph.readings():
        for start in range(0, len(read.snapshots), BATCH_ROWS):
            part = slice(start, start + BATCH_ROWS)
            held.append(type(read)(read.clock, *(column[part] for column in read[1:])))
            rows += len(held[-1].snapshots)
            if rows >= BATCH_ROWS:
                yield held
                held, rows = [], 0
    if held:
        yield held


def _snapshot_batch(
    readings: list[Readings], units: Mapping[ClockId, int], trace: Trace, view: View
) -> pa.RecordBatch:
    lengths = [len(read.snapshots) for read in readings]
    indices = np.repeat(np.arange(len(readings)), lengths)
    snapshots, values_ns, centre, half = (
        np.concatenate([read[i] for read in readings]) for i in range(1, 5)
    )
    unit_ns = np.array([units[read.clock] for read in readings], dtype=np.int64)[indices]
    unknown = half < 0
    return pa.RecordBatch.from_arrays(
        [
            pa.array(snapshots),
            *_clock_columns([read.clock for read in readings], indices, trace, view),
            # Exact: the graph's ns are the reading times the unit.
            pa.array(values_ns // unit_ns),
            pa.array(unit_ns),
            pa.array(values_ns),
            pa.array(half, mask=unknown),
            pa.array(centre, mask=unknown),
        ],
        schema=SNAPSHOTS,
    )


def _discontinuities(trace: Trace, view: View) -> Iterator[pa.RecordBatch]:
    listed = trace.clocks.discontinuities()
    # Of readings at both ends of int64 a size may be beyond it, and is unknown here.
    sizes = [tuple(map(_in_int64, d.size_ns or (None, None))) for d in listed]
    found = [
        {
            "src": view.name(d.src, trace.clocks),
            "dst": view.name(d.dst, trace.clocks),
            "kind": d.kind,
            "from_ns": d.a_from,
            "to_ns": d.a_to,
            "size_min_ns": least,
            "size_max_ns": most,
            "rate_min_ppm": None if d.rate_ppm is None else d.rate_ppm[0],
            "rate_max_ppm": None if d.rate_ppm is None else d.rate_ppm[1],
            "snapshots": list(d.snapshots),
        }
        for d, (least, most) in zip(listed, sizes, strict=True)
    ]
    yield pa.RecordBatch.from_pylist(found, schema=DISCONTINUITIES)


def _in_int64(ns: int | None) -> int | None:
    return None if ns is None or not -(1 << 63) <= ns < 1 << 63 else ns


def _findings(trace: Trace, view: View) -> Iterator[pa.RecordBatch]:
    # Imported here: it takes a while to load, and few queries use it.
    from tracetime.doctor import diagnose

    yield findings_batch(diagnose(trace))


def findings_batch(findings: Iterable[Finding]) -> pa.RecordBatch:
    """Return findings and their consequences, by `FINDINGS`."""
    rows = list(_finding_rows(findings))
    for number, row in enumerate(rows):
        row["finding"] = number
    return pa.RecordBatch.from_pylist(rows, schema=FINDINGS)


def _finding_rows(
    findings: Iterable[Finding], follows_from: str | None = None
) -> Iterator[dict[str, Any]]:
    """Yield each finding as a row, and after it its consequences."""
    for finding in findings:
        yield {**finding.to_dict(), "follows_from": follows_from}
        yield from _finding_rows(finding.consequences, finding.code)


def _finding_events(trace: Trace, view: View) -> Iterator[pa.RecordBatch]:
    from tracetime.doctor import diagnose
    from tracetime.doctor.finding import in_order
    from tracetime.doctor.finding_events import finding_events

    yield from finding_events(trace, dict(enumerate(in_order(diagnose(trace)))))


_FIXED: Final[dict[str, tuple[pa.Schema, Callable[[Trace, View], Iterator[pa.RecordBatch]]]]] = {
    "clocks": (CLOCKS, _clocks),
    "snapshots": (SNAPSHOTS, _snapshots),
    "discontinuities": (DISCONTINUITIES, _discontinuities),
    "findings": (FINDINGS, _findings),
    "finding_events": (FINDING_EVENTS, _finding_events),
}
"""The tables whose columns are always the same."""
