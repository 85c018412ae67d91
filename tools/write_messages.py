#!/usr/bin/env python3
"""Write _kernels/perfetto/messages.pxd: the fields of Perfetto's messages, and what reads them.

The table below says which fields of which messages the kernels read. Numbers and types come from
the descriptors of the `perfetto` package, and from docs/tracetime_extension.proto.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "src" / "tracetime" / "_kernels" / "perfetto" / "messages.pxd"
PROTO = ROOT / "docs" / "tracetime_extension.proto"
KERNELS = [path for path in PAGE.parents[1].rglob("*.p[yx][xdi]") if path != PAGE]
USED = {name for path in KERNELS for name in re.findall(r"\.(\w+)", path.read_text())}
"""The members of structs that kernels read: the readers fill no others."""

HEAD = '''\
# Fields of Perfetto's messages, and what reads them. Written by tools/write_messages.py.
#
# A reader takes a message up to its first malformed field, and returns whether that is its end. Of
# a field that comes several times the last value counts, as in Perfetto. A number may have any wire
# type but bytes. Of a repeated field: `n_`, how many fields there are; `packed_`, whether one of
# them holds several; its value is the last number, or the first of bytes.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tracetime._kernels.common.memory cimport clear
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED64, Field, Span, is_number, read_field, span_of,
)

cdef extern from *:
    """
    /* An assignment: what a function that reads a message does not use of it is never stored. */
    #define tt_empty(m) (*(m) = (__typeof__(*(m))) {0})
    """
    void empty "tt_empty"(void *m) noexcept nogil
'''


@dataclass(frozen=True)
class Message:
    """A message that the kernels read.

    name: Perfetto's. prefix: of the numbers of its fields. read: the fields that its reader takes,
    the most frequent first. named: fields that have a number only. oneof: the payloads, of which a
    message has one at most: its reader says which, and how many there are. view: what a second
    reader is called that takes less, and for whom that pays. A field that the package
    does not know has its number here: NAME=NUMBER.
    """

    name: str
    prefix: str
    read: str = ""
    named: str = ""
    oneof: str = ""
    view: str = ""

    @property
    def struct(self) -> str:
        """The name of its struct."""
        return self.name.replace(".", "") + self.view

    @property
    def snake(self) -> str:
        """Its name as part of a function's."""
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.struct).lower()


@dataclass(frozen=True)
class Wanted:
    """A field of a message: its number, the C type of its value, and whether it is repeated.

    Values that are packed are bytes.
    """

    name: str
    number: int
    c_type: str
    repeated: bool
    payload: bool


MESSAGES = [
    Message("Trace", "TRACE", named="packet"),
    Message(
        "TracePacket",
        "PACKET",
        read="timestamp trusted_packet_sequence_id timestamp_clock_id sequence_flags "
        "incremental_state_cleared previous_packet_dropped machine_id first_packet_on_sequence "
        "trace_packet_defaults interned_data tracetime_snapshot "
        "track_event ftrace_events clock_snapshot track_descriptor process_tree thread_descriptor "
        "process_descriptor remote_clock_sync service_event extension_descriptor chrome_events "
        "chrome_metadata system_info profile_packet perf_sample compressed_packets "
        "zstd_compressed_packets synchronization_marker trace_config",
        named="trusted_uid trusted_pid android_log power_rails packages_list "
        "chrome_benchmark_metadata streaming_profile_packet cpu_info ui_state translation_table "
        "statsd_atom track_event_range_of_interest etw_events user_list trace_provenance gpu_info "
        "interrupt_info trace_uuid trace_stats ftrace_stats frame_timeline_event=76",
        oneof="data",
    ),
    Message("TraceConfig", "TRACE_CONFIG", named="data_sources"),
    Message("TraceConfig.DataSource", "DATA_SOURCE", named="config"),
    Message("DataSourceConfig", "DATA_SOURCE_CONFIG", named="ftrace_config"),
    Message("FtraceConfig", "FTRACE_CONFIG", named="preserve_ftrace_buffer"),
    Message("SystemInfo", "SYSTEM_INFO", named="utsname machine_name"),
    Message("Utsname", "UTSNAME", named="sysname"),
    Message("TraceStats", "TRACE_STATS", named="writer_stats"),
    Message("TraceStats.WriterStats", "WRITER_STATS", named="sequence_id"),
    Message("TraceProvenance", "PROVENANCE", named="buffers"),
    Message("TraceProvenance.Buffer", "PROVENANCE_BUFFER", named="sequences"),
    Message("TraceProvenance.Sequence", "PROVENANCE_SEQUENCE", named="id"),
    Message("ChromeEventBundle", "CHROME_EVENTS", named="metadata"),
    Message("ChromeMetadata", "CHROME_METADATA", named="name string_value"),
    Message("TracePacketDefaults", "DEFAULTS", named="timestamp_clock_id track_event_defaults"),
    Message(
        "TrackEventDefaults",
        "TRACK_EVENT_DEFAULTS",
        named="track_uuid extra_counter_track_uuids extra_double_counter_track_uuids",
    ),
    Message("ClockSnapshot", "SNAPSHOT", named="clocks primary_trace_clock"),
    Message(
        "ClockSnapshot.Clock",
        "SNAPSHOT_CLOCK",
        read="clock_id timestamp is_incremental unit_multiplier_ns",
    ),
    Message("RemoteClockSync", "REMOTE_SYNC", named="synced_clocks"),
    Message("RemoteClockSync.SyncedClocks", "SYNCED", named="client_clocks host_clocks"),
    Message(
        "FtraceEventBundle",
        "BUNDLE",
        read="cpu compact_sched ftrace_clock ftrace_timestamp boot_timestamp "
        "last_read_event_timestamp previous_bundle_end_timestamp lost_events",
        named="event",
    ),
    Message(
        "FtraceEventBundle.CompactSched",
        "SCHED",
        read="switch_timestamp switch_prev_state switch_next_pid switch_next_prio "
        "switch_next_comm_index waking_timestamp waking_pid waking_target_cpu waking_prio "
        "waking_comm_index intern_table",
    ),
    Message(
        "FtraceEvent",
        "FTRACE_EVENT",
        named="timestamp pid print sched_switch sched_waking binder_transaction "
        "binder_transaction_received tracing_mark_write task_newtask task_rename "
        "sched_process_free generic zero sde_tracing_mark_write dpu_tracing_mark_write "
        "g2d_tracing_mark_write mali_tracing_mark_write dma_fence_init dma_fence_emit "
        "dma_fence_signaled dma_fence_wait_start dma_fence_wait_end lwis_tracing_mark_write "
        "samsung_tracing_mark_write gpu_work_period thermal_exynos_acpm_bulk param_set_value_cpm "
        "fwtp_perfetto_counter fwtp_perfetto_slice",
    ),
    Message("PrintFtraceEvent", "PRINT", named="buf"),
    Message("SchedWakingFtraceEvent", "SCHED_WAKING_EVENT", read="comm pid target_cpu"),
    Message(
        "SchedSwitchFtraceEvent",
        "SCHED_SWITCH_EVENT",
        read="prev_comm prev_pid prev_state next_comm next_pid",
    ),
    Message("SchedProcessFreeFtraceEvent", "SCHED_PROCESS_FREE", named="pid"),
    Message("TaskNewtaskFtraceEvent", "TASK_NEWTASK", read="pid comm clone_flags"),
    Message("TaskRenameFtraceEvent", "TASK_RENAME", read="pid newcomm"),
    Message("ZeroFtraceEvent", "ZERO", named="flag name pid value"),
    Message(
        "TracingMarkWriteFtraceEvent", "TRACING_MARK_WRITE", named="pid trace_name trace_begin"
    ),
    Message(
        "SdeTracingMarkWriteFtraceEvent",
        "SDE_MARK",
        named="pid trace_name trace_type value trace_begin",
    ),
    Message("DpuTracingMarkWriteFtraceEvent", "DPU_MARK", named="pid name type value"),
    Message("G2dTracingMarkWriteFtraceEvent", "G2D_MARK", named="pid name type value"),
    Message("MaliTracingMarkWriteFtraceEvent", "MALI_MARK", named="name pid type value"),
    Message("LwisTracingMarkWriteFtraceEvent", "LWIS_MARK", named="type pid func_name value"),
    Message(
        "SamsungTracingMarkWriteFtraceEvent",
        "SAMSUNG_MARK",
        named="pid trace_name trace_type value",
    ),
    Message("BinderTransactionFtraceEvent", "BINDER", read="debug_id reply flags"),
    Message("DmaFenceInitFtraceEvent", "DMA_FENCE", read="context seqno timeline"),
    Message("GenericFtraceEvent", "GENERIC", named="event_name"),
    Message("GpuWorkPeriodFtraceEvent", "GPU_WORK_PERIOD", named="start_time_ns"),
    Message("ThermalExynosAcpmBulkFtraceEvent", "THERMAL_EXYNOS_ACPM_BULK", named="timestamp"),
    Message("ParamSetValueCpmFtraceEvent", "PARAM_SET_VALUE_CPM", named="timestamp"),
    Message("FwtpPerfettoCounterFtraceEvent", "FWTP_PERFETTO_COUNTER", named="timestamp"),
    Message("FwtpPerfettoSliceFtraceEvent", "FWTP_PERFETTO_SLICE", named="timestamp"),
    Message("AndroidLogPacket", "LOG_PACKET", named="events"),
    Message("AndroidLogPacket.LogEvent", "LOG_EVENT", read="pid tid timestamp tag"),
    Message("StatsdAtom", "ATOM", named="atom timestamp_nanos"),
    Message("PowerRails", "RAILS", named="energy_data"),
    Message("PowerRails.EnergyData", "ENERGY", named="timestamp_ms"),
    Message("StreamingProfilePacket", "STREAMING", named="callstack_iid timestamp_delta_us"),
    Message("ProfilePacket", "PROFILE", named="process_dumps"),
    Message(
        "ProfilePacket.ProcessHeapSamples", "HEAP_SAMPLES", read="pid timestamp start_timestamp"
    ),
    Message("ProcessTree", "TREE", named="processes threads"),
    Message("ProcessTree.Thread", "TREE_THREAD", read="tid name tgid"),
    Message(
        "ProcessTree.Process",
        "TREE_PROCESS",
        read="pid ppid cmdline cmdline_is_comm process_start_from_boot",
    ),
    Message(
        "TrackEvent",
        "TRACK_EVENT",
        read="type track_uuid name_iid category_iids legacy_event debug_annotations "
        "timestamp_delta_us timestamp_absolute_us name categories counter_value "
        "double_counter_value thread_time_delta_us thread_instruction_count_delta "
        "extra_counter_values extra_counter_track_uuids extra_double_counter_values flow_ids "
        "terminating_flow_ids flow_ids_old terminating_flow_ids_old",
        named="extra_double_counter_track_uuids",
    ),
    # Reading no more of each event than its time takes a tenth off a pass over track events.
    Message(
        "TrackEvent",
        "TRACK_EVENT",
        read="timestamp_delta_us timestamp_absolute_us",
        view="Time",
    ),
    Message(
        "TrackEvent.LegacyEvent",
        "LEGACY_EVENT",
        read="name_iid phase duration_us unscoped_id id_scope bind_id local_id global_id "
        "flow_direction instant_event_scope pid_override tid_override",
    ),
    Message(
        "DebugAnnotation",
        "DEBUG",
        named="name_iid bool_value uint_value int_value double_value string_value pointer_value "
        "nested_value legacy_json_value name dict_entries array_values string_value_iid",
    ),
    Message(
        "DebugAnnotation.NestedValue",
        "NESTED",
        named="nested_type dict_keys dict_values array_values int_value double_value bool_value "
        "string_value",
    ),
    Message(
        "InternedData",
        "INTERNED_DATA",
        named="event_categories event_names debug_annotation_names debug_annotation_string_values",
    ),
    Message("InternedString", "INTERNED_STRING", named="iid str"),
    Message(
        "TrackDescriptor",
        "TRACK_DESCRIPTOR",
        read="uuid parent_uuid name static_name atrace_name thread process counter chrome_thread "
        "chrome_process child_ordering disallow_merging_with_system_tracks "
        "sibling_merge_behavior sibling_merge_key sibling_merge_key_int state",
    ),
    Message(
        "ThreadDescriptor",
        "THREAD_DESCRIPTOR",
        read="pid tid chrome_thread_type thread_name reference_timestamp_us",
    ),
    Message("ProcessDescriptor", "PROCESS_DESCRIPTOR", read="pid chrome_process_type process_name"),
    Message("ChromeThreadDescriptor", "CHROME_THREAD", read="thread_type is_sandboxed_tid"),
    Message("ChromeProcessDescriptor", "CHROME_PROCESS", named="process_type"),
    Message("CounterDescriptor", "COUNTER", named="type unit_name"),
    # Of Android's extension, protos/third_party/android/frameworks/native/tracing/.
    Message(
        "FrameTimelineEvent",
        "FRAME",
        named="expected_display_frame_start=1 actual_display_frame_start=2 "
        "expected_surface_frame_start=3 actual_surface_frame_start=4 frame_end=5",
    ),
    Message("FrameTimelineEvent.FrameEnd", "FRAME_END", named="cookie=1"),
    Message("FrameTimelineEvent.DisplayFrame", "DISPLAY_FRAME", named="cookie=1 token=2 pid=3"),
    Message(
        "FrameTimelineEvent.SurfaceFrame",
        "SURFACE_FRAME",
        named="display_frame_token=3 pid=4",
    ),
    Message("PerfSample", "PERF_SAMPLE", read="cpu pid tid"),
    Message("EtwTraceEventBundle", "ETW", named="cpu event"),
    Message("EtwTraceEvent", "ETW_EVENT", read="timestamp cpu thread_id"),
    Message(
        "TracingServiceEvent",
        "SERVICE",
        named="tracing_started all_data_sources_flushed read_tracing_buffers_completed",
    ),
    Message(
        "TracetimeSnapshot",
        "EXT",
        named="reference centre_ns half_width_ns raw_minus_reading kernel_clock domains "
        "events_dropped baked boot_id carries_source rounds_ns wall_bound suspended_ns "
        "carried",
    ),
    Message(
        "KernelClock",
        "EXT_KERNEL",
        named="frequency_scaled tick_us maxerror_us esterror_us status state tai_s",
    ),
    Message("WallBound", "EXT_BOUND", named="earliest_ns latest_ns source"),
    Message(
        "Domain",
        "EXT_DOMAIN",
        named="clock_id name ns_per_tick_numerator ns_per_tick_denominator valid_bits oscillator "
        "tick_ns max_drift_ppm wander_ppm disciplined",
    ),
]

C_TYPES = {
    FieldDescriptor.CPPTYPE_INT32: "int32_t",
    FieldDescriptor.CPPTYPE_ENUM: "int32_t",
    FieldDescriptor.CPPTYPE_UINT32: "uint32_t",
    FieldDescriptor.CPPTYPE_INT64: "int64_t",
    FieldDescriptor.CPPTYPE_UINT64: "uint64_t",
    FieldDescriptor.CPPTYPE_BOOL: "bint",
    FieldDescriptor.CPPTYPE_DOUBLE: "double",
    FieldDescriptor.CPPTYPE_STRING: "Span",
    FieldDescriptor.CPPTYPE_MESSAGE: "Span",
}


def extension() -> dict[str, dict[str, Wanted]]:
    """The fields of the messages of docs/tracetime_extension.proto, by message and name."""
    text = PROTO.read_text()
    (number,) = re.findall(r"field (\d+) of TracePacket", text)
    name = "tracetime_snapshot"
    found = {"TracePacket": {name: Wanted(name, int(number), "Span", False, False)}}
    for message, body in re.findall(r"^message (\w+) \{(.*?)^\}", text, re.M | re.S):
        fields = re.findall(r"^ *(?:optional|repeated) \w+ (\w+) = (\d+)", body, re.M)
        found[message] = {name: Wanted(name, int(n), "", False, False) for name, n in fields}
    return found


def descriptor(name: str) -> Descriptor:
    """The descriptor of a message of Perfetto's."""
    found: Any = pb
    for part in name.split("."):
        found = getattr(found, part)
    return found.DESCRIPTOR


def fields_of(message: Message) -> dict[str, Wanted]:
    """Every field of a message, by name."""
    own = extension().get(message.name, {})
    if message.name != "TracePacket" and (own or not hasattr(pb, message.name.split(".")[0])):
        return own
    made = descriptor(message.name)
    payloads = made.oneofs_by_name[message.oneof].fields if message.oneof else []
    found = {
        field.name: Wanted(
            field.name,
            field.number,
            "Span" if field.GetOptions().packed else C_TYPES.get(field.cpp_type, ""),
            field.is_repeated and not field.GetOptions().packed,
            field.name in {one.name for one in payloads},
        )
        for field in made.fields
    }
    return found | own


def numbers(message: Message) -> list[str]:
    """The lines of the enum: the number of each field that is read or named."""
    fields = fields_of(message)
    found = {}
    for word in f"{message.read} {message.named}".split():
        name, _, own = word.partition("=")
        found[name] = int(own) if own else fields[name].number
    in_order = sorted(found.items(), key=lambda item: item[1])
    return [f"    {message.prefix}_{name.upper()} = {number}" for name, number in in_order]


def members(fields: list[Wanted]) -> list[str]:
    """The lines of a struct: its members by their type."""
    by_type: dict[str, list[str]] = {}
    for field in fields:
        c_type = "uint64_t" if field.repeated and field.c_type != "Span" else field.c_type
        found = [(c_type, field.name), ("int64_t", f"n_{field.name}")]
        found += [("bint", f"packed_{field.name}"), ("bint", f"has_{field.name}")]
        for kind, name in found:
            if name in filled(field):
                by_type.setdefault(kind, []).append(name)
    return [
        f"    {kind} {line.rstrip(',')}"
        for kind, names in by_type.items()
        for line in wrap(", ".join(names), 100 - len(f"    {kind} "))
    ]


def filled(field: Wanted) -> set[str]:
    """The members of its struct that the reader fills with a field."""
    name = field.name
    if field.repeated and field.c_type == "Span":
        every = {name, f"n_{name}"}
    elif field.repeated:
        every = {name, f"n_{name}", f"packed_{name}"}
    else:
        every = {name} if field.c_type == "Span" else {name, f"has_{name}"}
    if not every & USED:
        raise SystemExit(f"no kernel reads {name}: take it out of the table")
    return every & USED


def take(field: Wanted) -> list[str]:
    """What a reader does with a field."""
    name, made = field.name, filled(field)
    count = [f"m.n_{name} += 1"] if f"n_{name}" in made else []
    if field.repeated and field.c_type == "Span":
        first = [f"if m.{name}.data == NULL and f.wire == BYTES:", f"    m.{name} = span_of(&f)"]
        return [*(first if name in made else []), *count]
    if field.repeated:
        last, packed = [f"    m.{name} = f.value"], [f"    m.packed_{name} = True"]
        if name in made:
            more = ["else:", *packed] if f"packed_{name}" in made else []
            return [*count, "if is_number(&f):", *last, *more]
        return [*count, *(["if not is_number(&f):", *packed] if f"packed_{name}" in made else [])]
    if field.c_type == "Span":
        return ["if f.wire == BYTES:", f"    m.{name} = span_of(&f)"]
    value = "f.value != 0" if field.c_type == "bint" else f"<{field.c_type}>f.value"
    value = f"    m.{name} = {value}"
    if field.c_type == "double":
        value = f"    memcpy(&m.{name}, &f.value, 8)"
    return [
        "if f.wire == FIXED64:" if field.c_type == "double" else "if is_number(&f):",
        *([value] if name in made else []),
        *([f"    m.has_{name} = True"] if f"has_{name}" in made else []),
    ]


def branches(prefix: str, fields: list[Wanted], indent: str) -> list[str]:
    """A branch for each field."""
    found = []
    for i, field in enumerate(fields):
        word = "elif" if i else "if"
        found.append(f"{indent}{word} number == {prefix}_{field.name.upper()}:")
        found += [f"{indent}    {line}" for line in take(field)]
    return found


def payloads(message: Message, fields: dict[str, Wanted]) -> list[str]:
    """What a reader does with fields that the branches before it do not take."""
    read = [fields[name] for name in message.read.split()]
    rest = sorted(name for name, field in fields.items() if not field.payload and field not in read)
    lines = []
    for name in rest:
        lines += [f"        elif number == {message.prefix}_{name.upper()}:", "            pass"]
    lines += [
        "        elif number:",
        f"            m.n_{message.oneof} += 1",
        f"            if m.{message.oneof} == 0:",
        f"                m.{message.oneof} = number",
        "            if f.wire != BYTES:",
        "                continue",
        "            m.payload = span_of(&f)",
    ]
    for i, field in enumerate(field for field in read if field.payload):
        word = "elif" if i else "if"
        lines += [
            f"            {word} number == {message.prefix}_{field.name.upper()}:",
            f"                m.{field.name} = m.payload",
        ]
    return lines


def reader(message: Message) -> list[str]:
    """The struct of a message and the function that reads it."""
    fields = fields_of(message)
    read = [fields[name] for name in message.read.split()]
    name = message.struct
    lines = ["", f"cdef struct {name}:"]
    lines += members(read)
    if message.oneof:
        lines += [
            f"    uint32_t {message.oneof}           # the number of the first payload, 0: none",
            "    Span payload            # the last one of bytes",
            f"    int64_t n_{message.oneof}           # how many",
        ]
    lines += ["", ""]
    if len(read) > 12:
        lines.append("# long: a branch for each field")
    lines += [
        f"cdef inline bint read_{message.snake}(Span s, {name} *m) noexcept nogil:",
        "    cdef const uint8_t *at = s.data",
        "    cdef Field f",
        "    cdef uint32_t number",
        f"    clear(m, sizeof({name}))" if message.oneof else "    empty(m)",
        "    while at < s.end:",
        "        at = read_field(at, s.end, &f)",
        "        if at == NULL:",
        "            return False",
        "        number = f.number",
    ]
    lines += branches(message.prefix, [field for field in read if not field.payload], " " * 8)
    if message.oneof:
        lines += payloads(message, fields)
    return [*lines, "    return True", ""]


def page() -> str:
    """The text of the file."""
    lines = ["cdef enum:"]
    for message in MESSAGES:
        if not message.view:
            lines += [f"    # {message.name}", *numbers(message), ""]
    for message in MESSAGES:
        if message.read:
            lines += reader(message)
    return HEAD + "\n" + "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page())
