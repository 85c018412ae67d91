"""The kernels' numbers against the schema of the `perfetto` package and against Python's names."""

from __future__ import annotations

import re

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from places import ROOT
from recorded import EXTENSION, EXTENSION_FIELD, PROTO
from twin.records import SOURCE

from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.errors import REASONS
from tracetime.formats.perfetto import schema
from tracetime.formats.perfetto.read import wire
from tracetime.graph import arguments
from tracetime.trace import events_table

KERNELS = ROOT / "src" / "tracetime" / "_kernels"

MESSAGES = {
    "TRACE_": pb.Trace,
    "PACKET_": pb.TracePacket,
    "SYSTEM_INFO_": pb.SystemInfo,
    "UTSNAME_": pb.Utsname,
    "CHROME_EVENTS_": pb.ChromeEventBundle,
    "CHROME_METADATA_": pb.ChromeMetadata,
    "DEFAULTS_": pb.TracePacketDefaults,
    "TRACK_EVENT_DEFAULTS_": pb.TrackEventDefaults,
    "SNAPSHOT_": pb.ClockSnapshot,
    "SNAPSHOT_CLOCK_": pb.ClockSnapshot.Clock,
    "REMOTE_SYNC_": pb.RemoteClockSync,
    "SYNCED_": pb.RemoteClockSync.SyncedClocks,
    "BUNDLE_": pb.FtraceEventBundle,
    "SCHED_": pb.FtraceEventBundle.CompactSched,
    "FTRACE_EVENT_": pb.FtraceEvent,
    "SCHED_SWITCH_EVENT_": pb.SchedSwitchFtraceEvent,
    "TASK_NEWTASK_": pb.TaskNewtaskFtraceEvent,
    "TASK_RENAME_": pb.TaskRenameFtraceEvent,
    "TRACE_CONFIG_": pb.TraceConfig,
    "TRACE_STATS_": pb.TraceStats,
    "WRITER_STATS_": pb.TraceStats.WriterStats,
    "PROVENANCE_": pb.TraceProvenance,
    "PROVENANCE_BUFFER_": pb.TraceProvenance.Buffer,
    "PROVENANCE_SEQUENCE_": pb.TraceProvenance.Sequence,
    "DATA_SOURCE_": pb.TraceConfig.DataSource,
    "DATA_SOURCE_CONFIG_": pb.DataSourceConfig,
    "FTRACE_CONFIG_": pb.FtraceConfig,
    "PRINT_": pb.PrintFtraceEvent,
    "SCHED_WAKING_EVENT_": pb.SchedWakingFtraceEvent,
    "SCHED_PROCESS_FREE_": pb.SchedProcessFreeFtraceEvent,
    "ZERO_": pb.ZeroFtraceEvent,
    "TRACING_MARK_WRITE_": pb.TracingMarkWriteFtraceEvent,
    "SDE_MARK_": pb.SdeTracingMarkWriteFtraceEvent,
    "DPU_MARK_": pb.DpuTracingMarkWriteFtraceEvent,
    "G2D_MARK_": pb.G2dTracingMarkWriteFtraceEvent,
    "MALI_MARK_": pb.MaliTracingMarkWriteFtraceEvent,
    "LWIS_MARK_": pb.LwisTracingMarkWriteFtraceEvent,
    "SAMSUNG_MARK_": pb.SamsungTracingMarkWriteFtraceEvent,
    "BINDER_": pb.BinderTransactionFtraceEvent,
    "DMA_FENCE_": pb.DmaFenceInitFtraceEvent,
    "GENERIC_": pb.GenericFtraceEvent,
    "GPU_WORK_PERIOD_": pb.GpuWorkPeriodFtraceEvent,
    "THERMAL_EXYNOS_ACPM_BULK_": pb.ThermalExynosAcpmBulkFtraceEvent,
    "PARAM_SET_VALUE_CPM_": pb.ParamSetValueCpmFtraceEvent,
    "FWTP_PERFETTO_COUNTER_": pb.FwtpPerfettoCounterFtraceEvent,
    "FWTP_PERFETTO_SLICE_": pb.FwtpPerfettoSliceFtraceEvent,
    "LOG_PACKET_": pb.AndroidLogPacket,
    "LOG_EVENT_": pb.AndroidLogPacket.LogEvent,
    "ATOM_": pb.StatsdAtom,
    "RAILS_": pb.PowerRails,
    "ENERGY_": pb.PowerRails.EnergyData,
    "STREAMING_": pb.StreamingProfilePacket,
    "PROFILE_": pb.ProfilePacket,
    "HEAP_SAMPLES_": pb.ProfilePacket.ProcessHeapSamples,
    "TREE_": pb.ProcessTree,
    "TREE_THREAD_": pb.ProcessTree.Thread,
    "PROCESS_": pb.ProcessTree.Process,
    "PROCESS_DESCRIPTOR_": pb.ProcessDescriptor,
    "CHROME_PROCESS_": pb.ChromeProcessDescriptor,
    "CHROME_THREAD_": pb.ChromeThreadDescriptor,
    "TRACK_EVENT_": pb.TrackEvent,
    "LEGACY_EVENT_": pb.TrackEvent.LegacyEvent,
    "DEBUG_": pb.DebugAnnotation,
    "NESTED_": pb.DebugAnnotation.NestedValue,
    "INTERNED_DATA_": pb.InternedData,
    "INTERNED_STRING_": pb.InternedString,
    "COUNTER_": pb.CounterDescriptor,
    "PERF_SAMPLE_": pb.PerfSample,
    "THREAD_": pb.ThreadDescriptor,
    "TRACK_DESCRIPTOR_": pb.TrackDescriptor,
    "ETW_": pb.EtwTraceEventBundle,
    "ETW_EVENT_": pb.EtwTraceEvent,
    "SERVICE_": pb.TracingServiceEvent,
    "EXT_": EXTENSION["TracetimeSnapshot"],
    "EXT_KERNEL_": EXTENSION["KernelClock"],
    "EXT_DOMAIN_": EXTENSION["Domain"],
    "EXT_BOUND_": EXTENSION["WallBound"],
}
"""The message that a prefix in fields.pxd stands for; the longest prefix counts."""


def numbers_in(file: str) -> dict[str, int]:
    """Every NAME = number of a kernel's declarations."""
    text = (KERNELS / file).read_text()
    return {name: int(n) for name, n in re.findall(r"^    ([A-Z0-9_]+) = (\d+)", text, re.M)}


def enum_in(file: str, prefix: str) -> list[str]:
    """The names of an enum without their prefix, by number, which must run from 0."""
    found = {n: name for name, n in numbers_in(file).items() if name.startswith(prefix)}
    assert sorted(found) == list(range(len(found)))
    return [found[n].removeprefix(prefix).lower() for n in range(len(found))]


FIELDS = numbers_in("perfetto/fields.pxd")


OWN = {"PACKET_TRACETIME_SNAPSHOT": EXTENSION_FIELD, "PACKET_TRACETIME_SOURCE": SOURCE}
"""Fields of packets that are not Perfetto's."""


def schema_number(name: str) -> int | None:
    """The number that the schema gives a field of fields.pxd."""
    if name in OWN:
        assert f"field {FIELDS[name]} of TracePacket" in PROTO.read_text()
        return OWN[name]
    for prefix in sorted(MESSAGES, key=len, reverse=True):
        fields = MESSAGES[prefix].DESCRIPTOR.fields_by_name
        if name.startswith(prefix):
            # PROCESS_START_FROM_BOOT is the name of the field as a whole.
            field = fields.get(name.removeprefix(prefix).lower()) or fields.get(name.lower())
            if field is not None:
                return int(field.number)
    return None


def test_there_are_field_numbers():
    assert len(FIELDS) > 80
    assert {"TRACE_PACKET", "PACKET_TIMESTAMP", "ETW_EVENT_CPU"} <= FIELDS.keys()


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_number_is_the_schemas(name):
    assert schema_number(name) == FIELDS[name]


def test_a_wrong_number_would_be_noticed():
    assert schema_number("PACKET_TIMESTAMP") == 8
    assert schema_number("PACKET_NO_SUCH_FIELD") is None


def test_no_field_number_stands_in_the_code():
    """House rule 6: one place per fact."""
    sources = {".pyx", ".pxd", ".pxi"}
    files = [file for file in (KERNELS / "perfetto").rglob("*") if file.suffix in sources]
    assert len(files) > 20
    for file in files:
        assert re.findall(r"\.number == \d+", file.read_text()) == [], file


def test_kinds():
    assert enum_in("perfetto/importer.pxd", "KIND_") == [kind.name for kind in schema.KINDS]


def test_texts_and_types():
    numbers = numbers_in("perfetto/names.pxd")
    assert [numbers[f"TEXT_{name.upper()}"] for name in events_table.TEXTS] == list(range(5))
    types = {name: n for name, n in numbers.items() if name.startswith("TYPE_")}
    assert [types.pop(f"TYPE_{name.upper()}") for name in events_table.TYPES] == list(range(24))
    assert types == {}
    # The first ones are TrackEvent.Type's.
    first = [f"TYPE_{name.upper()}" for name in events_table.TYPES[:5]]
    assert [pb.TrackEvent.Type.Value(name) for name in first] == [1, 2, 3, 4, 5]


def test_what_a_row_has():
    numbers = numbers_in("perfetto/names.pxd")
    has = {name: n for name, n in numbers.items() if name.startswith("HAS_")}
    assert len(has) == 6
    assert has == {name: getattr(events_table, name) for name in has}


def test_statuses():
    """A bar that is open on one side is no failure: kernels leave that status to their callers."""
    numbers = numbers_in("graph.pxd")
    statuses = {name.upper(): i for i, name in enumerate(REASONS) if name != "one_sided"}
    assert statuses.items() <= numbers.items()


def test_snapshot_faults():
    assert len(enum_in("graph.pxd", "FAULT_")) == len(arguments.SNAPSHOT_FAULTS)


def test_import_errors():
    assert len(enum_in("perfetto/importer.pxd", "ERROR_")) == len(schema.IMPORT_ERRORS)


def test_stops():
    names = enum_in("perfetto/importer.pxd", "STOP_")
    assert [getattr(wire, f"_{name.upper()}") for name in names] == list(range(len(names)))


def test_codecs():
    assert enum_in("perfetto/packet.pxd", "CODEC_") == ["none", "zlib", "zstd"]
    assert wire._ZLIB == 1


def test_the_most_hops():
    assert numbers_in("graph.pxd")["MAX_HOPS"] == arguments.MAX_HOPS == 4


def test_builtin_clocks():
    numbers = numbers_in("perfetto/clock_ids.pxd")
    assert {name: numbers[name] for name in numbers if name in BUILTIN_IDS} == {
        name: BUILTIN_IDS[name]
        for name in (
            "REALTIME",
            "REALTIME_COARSE",
            "MONOTONIC",
            "MONOTONIC_COARSE",
            "MONOTONIC_RAW",
            "BOOTTIME",
            "TRACE_FILE",
        )
    }


def test_flags():
    numbers = numbers_in("perfetto/packet.pxd")
    flags = pb.TracePacket.SequenceFlags
    assert numbers["FLAG_INCREMENTAL_STATE_CLEARED"] == flags.Value("SEQ_INCREMENTAL_STATE_CLEARED")
    assert numbers["FLAG_NEEDS_INCREMENTAL_STATE"] == flags.Value("SEQ_NEEDS_INCREMENTAL_STATE")


def test_every_payload_has_its_name():
    index, names = schema.vocabulary().payload_index, schema.vocabulary().payloads
    names = names.to_pylist()
    by_number = {
        field.number: field.name
        for field in pb.TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields
    }
    assert {n: names[index[n]] for n in by_number} == by_number
    assert index[0] == -1
    assert names[index[9876]] == schema.UNKNOWN_PAYLOAD


def test_payloads_have_the_names_that_perfetto_gives_them():
    """A field that is not there comes with a newer package: run tools/write_payload_names.py."""
    fields = pb.TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields
    assert dict(schema.PAYLOAD_NAMES) == {field.number: field.name for field in fields}
    index, names = schema.vocabulary().payload_index, schema.vocabulary().payloads
    assert {n: names[int(index[n])].as_py() for n in schema.PAYLOAD_NAMES} == schema.PAYLOAD_NAMES
    assert (int(index[0]), names[int(index[65535])].as_py()) == (-1, schema.UNKNOWN_PAYLOAD)
