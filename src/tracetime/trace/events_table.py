"""The events table: its columns, what their codes mean, and batches of it.

Every format gives `Columns`; here they become Arrow.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.errors import AS_IS, ONE_SIDED, OPEN_ENDED, REASONS
from tracetime.graph.arguments import PolicyName, check_policy

if TYPE_CHECKING:
    from tracetime.graph.clock_graph import ClockGraph
    from tracetime.graph.tube.results import Bars

Columns = dict[str, npt.NDArray[Any]]
"""Rows of a trace as NumPy arrays of one length, by name: those of `EVENTS_SCHEMA` with codes for
names (kind: index of the format's kinds, payload: uint16, status: index of `errors.REASONS`), and

    source_ns   int64   the reading in ns as it was converted (sums of an incremental clock)
    snapshots   uint32  how many snapshots had been read before

and, where the file has only part of a reading, `CUT_OFF`, and maybe `EARLY`.
"""

CUT_OFF: Final = "cut_off_ns"
"""The column, int64, of how much later than `source_ns` the clock of a row may have read, ns."""

EARLY: Final = "early_ns"
"""The column, int64, of how much earlier it may have read, ns; only beside `CUT_OFF`."""

SOURCE_TIME: Final = "source_trace_time"
"""The column of where floor puts a row of a baked trace in its source."""

SOURCE_STATUS: Final = "source_status"
"""The status that it has there; only beside `SOURCE_TIME`."""

BY_HOME: Final = "by_home"
"""The column of whether a row is placed by the trace clock of its file."""

HOME_NS: Final = "home_ns"
"""The time of that clock; only beside `BY_HOME`."""

NO_BAR: Final = "no_bar"
"""The column of whether nothing is known of what a row, which is to be placed anew, reads."""

BATCH_ROWS: Final = 1 << 16


class Kind(NamedTuple):
    """A kind of row that a format has.

    tells_of_the_past: whether such rows may be of times long before the trace began.
    """

    name: str
    tells_of_the_past: bool = False


class Vocabulary:
    """The meanings of the codes in the columns of a format.

    Args:
        kinds: by code; the first is the record itself, all others are items within one.
        payload_index: int16, from what the column "payload" holds to an index of `payloads`, -1 for
            none.
        payloads: names of what records carry.
    """

    def __init__(
        self, kinds: tuple[Kind, ...], payload_index: npt.NDArray[np.int16], payloads: pa.Array
    ) -> None:
        self.kinds = kinds
        self.payload_index = payload_index
        self.payloads = payloads

    @cached_property
    def kind_names(self) -> pa.Array:
        """The names of the kinds, as the dictionary of a column."""
        return texts_of([kind.name for kind in self.kinds])


EVENTS_SCHEMA: Final = exact_in_pandas(
    pa.schema(
        [
            pa.field("packet", pa.uint64(), nullable=False),
            pa.field("kind", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("item", pa.uint32(), nullable=False),
            pa.field("payload", pa.dictionary(pa.int16(), pa.string())),
            pa.field("packet_sequence", pa.uint32(), nullable=False),
            pa.field("sequence", pa.uint32(), nullable=False),
            pa.field("machine", pa.uint32(), nullable=False),
            pa.field("clock", pa.uint32(), nullable=False),
            pa.field("timestamp", pa.int64(), nullable=False),
            pa.field("trace_time", pa.int64()),
            pa.field("status", pa.dictionary(pa.int8(), pa.string()), nullable=False),
            pa.field("offset", pa.uint64(), nullable=False),
        ]
    )
)
"""The events table: columns and types, in order."""

BOUNDED_SCHEMA: Final = exact_in_pandas(
    pa.schema([*EVENTS_SCHEMA, pa.field("earliest", pa.int64()), pa.field("latest", pa.int64())])
)
"""The events table by the tube policy: with bounds where the tube has a bar.

That is where it resolved the row, and where two instants are possible (ambiguous_source): then they
hold both.
"""

TEXTS: Final = ("name", "category", "track_name", "process_name", "thread_name")
"""The columns of text that say what an event is. The kernels' code is the index."""

TYPES: Final = (
    "slice_begin",
    "slice_end",
    "instant",
    "counter",
    "state",
    "slice_complete",
    "async_begin",
    "async_end",
    "async_instant",
    "async_step",
    "flow_begin",
    "flow_step",
    "flow_end",
    "sample",
    "metadata",
    "object_created",
    "object_snapshot",
    "object_deleted",
    "memory_dump",
    "mark",
    "clock_sync",
    "context_begin",
    "context_end",
    "unknown",
)
"""What a track event is: TrackEvent.Type, then legacy phases. The kernels' code is the index."""

# Bits of the column "has" that the kernels make.
HAS_TRACK, HAS_VALUE, HAS_CPU, HAS_PID, HAS_TID, HAS_ARGS = (1 << i for i in range(6))

NAMES_SCHEMA: Final = exact_in_pandas(
    pa.schema(
        [
            pa.field("name", pa.dictionary(pa.int32(), pa.string())),
            pa.field("category", pa.dictionary(pa.int32(), pa.string())),
            pa.field("type", pa.dictionary(pa.int8(), pa.string())),
            pa.field("value", pa.float64()),
            pa.field("track", pa.uint64()),
            pa.field("track_name", pa.dictionary(pa.int32(), pa.string())),
            pa.field("cpu", pa.int32()),
            pa.field("pid", pa.int32()),
            pa.field("tid", pa.int64()),
            pa.field("process_name", pa.dictionary(pa.int32(), pa.string())),
            pa.field("thread_name", pa.dictionary(pa.int32(), pa.string())),
            pa.field("args", pa.string()),
        ]
    )
)
"""The columns that follow where names are requested; docs/semantics.md says what they hold.

The dictionaries with int32 are those of one batch.
"""

FINDING_EVENTS: Final = exact_in_pandas(
    pa.schema(
        [
            pa.field("finding", pa.int64(), nullable=False),
            pa.field("code", pa.string(), nullable=False),
            *(EVENTS_SCHEMA.field(name) for name in ("packet", "kind", "item")),
            NAMES_SCHEMA.field("name"),
            *(EVENTS_SCHEMA.field(name) for name in ("timestamp", "trace_time", "status")),
            pa.field("off_ns", pa.int64()),
        ]
    )
)
"""The events of findings: `finding` is the number of the finding in the order of the doctor's
report, `off_ns` how much later floor places the event than the tube does."""

_BITS: Final = {
    "value": HAS_VALUE,
    "track": HAS_TRACK,
    "cpu": HAS_CPU,
    "pid": HAS_PID,
    "tid": HAS_TID,
}


def with_names(schema: pa.Schema) -> pa.Schema:
    """Return `schema` with the columns of `NAMES_SCHEMA` after its own."""
    return exact_in_pandas(pa.schema([*schema, *NAMES_SCHEMA], schema.metadata))


def schema_of(policy: PolicyName, names: bool = False) -> pa.Schema:
    """Return the schema of the events by a policy, with names or without.

    Raises:
        UsageError: no such policy.
    """
    check_policy(policy)
    schema = BOUNDED_SCHEMA if policy == "tube" else EVENTS_SCHEMA
    return with_names(schema) if names else schema


_TYPE_NAMES: Final = texts_of(TYPES)
_STATUS_NAMES: Final = texts_of(REASONS)


def record_batch(
    columns: Columns, vocabulary: Vocabulary, schema: pa.Schema = EVENTS_SCHEMA
) -> pa.RecordBatch:
    """Return columns as a RecordBatch, sharing their memory.

    vocabulary: of the format that they come from.
    schema: `EVENTS_SCHEMA`, or `BOUNDED_SCHEMA` where the columns have bounds: no bar where
        earliest is after latest. With names where the columns have those.
    """
    if "has" in columns:
        schema = with_names(schema)
    payload = vocabulary.payload_index[columns["payload"]]
    no_payload = payload < 0
    # RESOLVED and AS_IS come first among the reasons: only they, and ONE_SIDED, have a trace time.
    unresolved = (columns["status"] > AS_IS) & (columns["status"] != ONE_SIDED)
    arrays = []
    for field in schema:
        if field.name == "args":
            missing = columns["has"] & HAS_ARGS == 0
            arrays.append(_strings(columns, field.name, missing))
            continue
        column = columns[field.name]
        if field.name == "kind":
            arrays.append(_dictionary(column, vocabulary.kind_names))
        elif field.name == "status":
            arrays.append(statuses(column))
        elif field.name == "payload":
            arrays.append(_dictionary(payload, vocabulary.payloads, no_payload))
        elif field.name == "trace_time":
            arrays.append(arrow_of(column, unresolved))
        elif field.name in ("earliest", "latest"):
            open_end = INT64_MIN if field.name == "earliest" else INT64_MAX
            is_open = np.isin(columns["status"], OPEN_ENDED) & (column == open_end)
            arrays.append(arrow_of(column, (columns["earliest"] > columns["latest"]) | is_open))
        elif field.name in TEXTS:
            arrays.append(_dictionary(column, _strings(columns, field.name), column < 0))
        elif field.name == "type":
            arrays.append(_dictionary(column, _TYPE_NAMES, column < 0))
        elif field.name in _BITS:
            arrays.append(arrow_of(column, columns["has"] & _BITS[field.name] == 0))
        else:
            arrays.append(arrow_of(column))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def statuses(
    status: npt.NDArray[np.uint8], missing: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    """Return indices of `errors.REASONS` as a column of their names, null where missing."""
    return _dictionary(status, _STATUS_NAMES, missing)


def _strings(columns: Columns, name: str, missing: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    """The text "NAME:text", UTF-8 that the kernels have checked, cut at "NAME:ends"."""
    ends = columns[f"{name}:ends"]
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    mask = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    text = pa.py_buffer(columns[f"{name}:text"])
    return pa.Array.from_buffers(pa.string(), len(ends), [mask, pa.py_buffer(offsets), text])


def _dictionary(
    indices: npt.NDArray[np.generic], names: pa.Array, missing: npt.NDArray[np.bool_] | None = None
) -> pa.Array:
    # The index of a null is 0: readers that use it, such as polars', refuse a negative one.
    if missing is not None:
        indices = np.where(missing, indices.dtype.type(0), indices)
    return pa.DictionaryArray.from_arrays(arrow_of(indices, missing), names, safe=False)


# Trace times as wall-clock time: the column `wall_time`, in UTC, whole nanoseconds.

REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])

WALL_TIME: Final = pa.field("wall_time", pa.timestamp("ns"))
"""The column. It has no time zone, as DuckDB's TIMESTAMP_NS has none; its values are UTC."""


def wall_times(
    trace_time: pa.Array, graph: ClockGraph, trace_clock: ClockId, policy: PolicyName, bars: Bars
) -> pa.Array:
    """Return the reading of REALTIME at each trace time; null where that is not known."""
    ns = graph.convert(trace_time, trace_clock, REALTIME, policy=policy, bars=bars, errors="mask")
    return ns.view(WALL_TIME.type)
