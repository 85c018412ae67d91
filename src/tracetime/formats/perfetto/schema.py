"""The meanings of numbers of Perfetto's kernels: kinds, payloads, import errors.

Field numbers that the kernels read are in `_kernels/perfetto/messages.pxd`; names come from the
schema of the `perfetto` package, those of payloads by way of `payload_names.py`.
"""

from __future__ import annotations

from functools import cache
from typing import Final

import numpy as np

from tracetime.columns.arrays import texts_of
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.trace.events_table import Kind, Vocabulary

KINDS: Final = (
    Kind("packet"),
    Kind("ftrace_event"),
    Kind("sched_switch"),
    Kind("sched_waking"),
    Kind("android_log", tells_of_the_past=True),
    Kind("statsd_atom", tells_of_the_past=True),
    Kind("heap_dump", tells_of_the_past=True),
    Kind("power_rail"),
    Kind("stack_sample"),
    Kind("track_event_legacy"),
    Kind("process_start", tells_of_the_past=True),
    Kind("gpu_work_period"),
    Kind("etw_event"),
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
def vocabulary() -> Vocabulary:
    """Return the kinds, and the payloads of TracePacket by field number."""
    index = np.zeros(1 << 16, dtype=np.int16)
    index[list(PAYLOAD_NAMES)] = np.arange(1, 1 + len(PAYLOAD_NAMES))
    index[0] = -1
    return Vocabulary(KINDS, index, texts_of([UNKNOWN_PAYLOAD, *PAYLOAD_NAMES.values()]))


@cache
def ftrace_names() -> dict[int, str]:
    """Return the names of ftrace events by their field number in FtraceEvent."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import FtraceEvent

    return {field.number: field.name for field in FtraceEvent.DESCRIPTOR.oneofs[0].fields}


@cache
def process_types() -> tuple[str, ...]:
    """Return Perfetto's names of processes by ChromeProcessType: "Browser", "Gpu", ..."""
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import ProcessDescriptor

    enum = ProcessDescriptor.DESCRIPTOR.enum_types_by_name["ChromeProcessType"]
    names = {value.number: value.name.removeprefix("PROCESS_").split("_") for value in enum.values}
    # Processes without a type and the zygote get no name.
    known = ["" if n in (0, 4) else "".join(map(str.title, names[n])) for n in sorted(names)]
    return tuple(known)
