"""What the numbers in an events table stand for: kinds, payloads, statuses, import errors.

Field numbers that the kernels read are in `_kernels/perfetto/fields.pxd`; names come from the
schema of the `perfetto` package, those of payloads by way of `payload_names.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.arrays import arrow_of, texts_of
from tracetime.errors import AS_IS, REASONS
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.pandas_metadata import exact_in_pandas

KINDS: Final = (
    "packet",
    "ftrace_event",
    "sched_switch",
    "sched_waking",
    "android_log",
    "statsd_atom",
    "heap_dump",
    "power_rail",
    "stack_sample",
    "track_event_legacy",
    "process_start",
    "gpu_work_period",
    "etw_event",
)
"""What a row is: the packet itself, or an item within it. The kernels' code is the index."""

UNKNOWN_PAYLOAD: Final = "unknown"

IMPORT_ERRORS: Final = (
    "a field has a wire type that protobuf does not know: the trace is corrupt from here on",
    "the header of a field cannot be read: the trace is corrupt from here on",
    "a packet cannot be read to its end: it is corrupt",
    "a compressed packet holds something that is no packet: it is corrupt",
    "a compressed packet holds another compressed packet, which Perfetto does not allow",
    "a ClockSnapshot names a sequence-scoped clock (64 to 127), but its packet has no "
    "trusted_packet_sequence_id",
    "a timestamp is in a sequence-scoped clock (64 to 127), but its packet has no "
    "trusted_packet_sequence_id",
    "a packet needs incremental state, but has no trusted_packet_sequence_id",
    "a bundle of events comes from a CPU above 1023: it is corrupt",
    "an ftrace bundle was recorded with a clock that Perfetto does not know",
    "the start of an ftrace bundle does not convert to trace time",
    "the trace mixes compressed_packets and zstd_compressed_packets, which Perfetto does not allow",
    "a RemoteClockSync cannot be parsed",
)
"""Errors that end an import; all but the last end trace_processor's, too.

The kernels' code is the index.
"""


@cache
def payloads() -> tuple[npt.NDArray[np.int16], pa.Array]:
    """Return (index by field number, names): what TracePacket carries, for the payload column.

    The index is an int16 array of 65536, -1 for no payload (field number 0).
    """
    index = np.zeros(1 << 16, dtype=np.int16)
    index[list(PAYLOAD_NAMES)] = np.arange(1, 1 + len(PAYLOAD_NAMES))
    index[0] = -1
    return index, texts_of([UNKNOWN_PAYLOAD, *PAYLOAD_NAMES.values()])


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
"""The columns that follow where names are asked for; docs/semantics.md says what they hold.

The dictionaries with int32 are those of one batch.
"""

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


@cache
def ftrace_names() -> dict[int, str]:
    """Return the names of ftrace events by their field number in FtraceEvent."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEvent

    return {field.number: field.name for field in FtraceEvent.DESCRIPTOR.oneofs[0].fields}


@cache
def process_types() -> tuple[str, ...]:
    """Return what Perfetto calls processes by their ChromeProcessType: "Browser", "Gpu", ..."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import ProcessDescriptor

    enum = ProcessDescriptor.DESCRIPTOR.enum_types_by_name["ChromeProcessType"]
    names = {value.number: value.name.removeprefix("PROCESS_").split("_") for value in enum.values}
    # Of no type and of the zygote, it says nothing.
    known = ["" if n in (0, 4) else "".join(map(str.title, names[n])) for n in sorted(names)]
    return tuple(known)


_TYPE_NAMES: Final = texts_of(TYPES)
_KIND_NAMES: Final = texts_of(KINDS)
_STATUS_NAMES: Final = texts_of(REASONS)


def record_batch(
    columns: dict[str, npt.NDArray[Any]], schema: pa.Schema = EVENTS_SCHEMA
) -> pa.RecordBatch:
    """Return the kernels' columns as a RecordBatch, sharing their memory.

    schema: `EVENTS_SCHEMA`, or `BOUNDED_SCHEMA` where the columns have bounds: no bar where
        earliest is after latest. With names where the columns have those.
    """
    if "has" in columns:
        schema = with_names(schema)
    index, names = payloads()
    payload = index[columns["payload"]]
    no_payload = payload < 0
    # RESOLVED and AS_IS come first among the reasons: only they have a trace time.
    unresolved = columns["status"] > AS_IS
    arrays = []
    for field in schema:
        if field.name == "args":
            missing = columns["has"] & HAS_ARGS == 0
            arrays.append(_strings(columns, field.name, missing))
            continue
        column = columns[field.name]
        if field.name == "kind":
            arrays.append(_dictionary(column, _KIND_NAMES))
        elif field.name == "status":
            arrays.append(_dictionary(column, _STATUS_NAMES))
        elif field.name == "payload":
            arrays.append(_dictionary(payload, names, no_payload))
        elif field.name == "trace_time":
            arrays.append(arrow_of(column, unresolved))
        elif field.name in ("earliest", "latest"):
            arrays.append(arrow_of(column, columns["earliest"] > columns["latest"]))
        elif field.name in TEXTS:
            arrays.append(_dictionary(column, _strings(columns, field.name), column < 0))
        elif field.name == "type":
            arrays.append(_dictionary(column, _TYPE_NAMES, column < 0))
        elif field.name in _BITS:
            arrays.append(arrow_of(column, columns["has"] & _BITS[field.name] == 0))
        else:
            arrays.append(arrow_of(column))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _strings(
    columns: dict[str, npt.NDArray[Any]],
    name: str,
    missing: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    """The text "NAME:text", UTF-8 that the kernels have checked, cut at "NAME:ends"."""
    ends = columns[f"{name}:ends"]
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    mask = None if missing is None else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    text = pa.py_buffer(columns[f"{name}:text"])
    return pa.Array.from_buffers(pa.string(), len(ends), [mask, pa.py_buffer(offsets), text])


def _dictionary(
    indices: npt.NDArray[np.generic],
    names: pa.Array,
    missing: npt.NDArray[np.bool_] | None = None,
) -> pa.Array:
    # Under a null stands 0: readers that look there, such as polars', take no index below it.
    if missing is not None:
        indices = np.where(missing, indices.dtype.type(0), indices)
    return pa.DictionaryArray.from_arrays(arrow_of(indices, missing), names, safe=False)
