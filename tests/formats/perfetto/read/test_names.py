"""What an event is: names, categories, types, tracks, threads, processes and arguments.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/process_tracker.cc (PT), where those are named.
"""

from __future__ import annotations

import json
import math
import struct

import pyarrow as pa
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    android_log,
    compressed,
    etw,
    event,
    ftrace,
    ftrace_event,
    heap_dumps,
    packet,
    pb,
    process_tree,
    snapshot,
    trace,
    varint,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened
from twin.names import TYPES, Named, names_of

from tracetime import events_table
from tracetime._kernels.perfetto.directory import Directory
from tracetime._kernels.perfetto.names import Names
from tracetime.events_table import BOUNDED_SCHEMA, EVENTS_SCHEMA, NAMES_SCHEMA
from tracetime.formats.perfetto import schema
from tracetime.formats.perfetto.read import reader

CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000})
CLEARED = {"seq": 1, "cleared": True}
BEGIN, END, INSTANT, COUNTER, STATE = 1, 2, 3, 4, 5
COLUMNS = NAMES_SCHEMA.names


def interned(names=None, categories=None, arg_names=None, strings=None, **fields):
    """A packet of interned data, each {iid: text}; it clears the state unless told otherwise."""
    data = pb.InternedData()
    for field, entries in (
        (data.event_names, names),
        (data.event_categories, categories),
        (data.debug_annotation_names, arg_names),
    ):
        for iid, text in (entries or {}).items():
            field.add(iid=iid, name=text)
    for iid, text in (strings or {}).items():
        data.debug_annotation_string_values.add(iid=iid, str=text)
    return packet(**{**CLEARED, **fields}, interned_data=data)


def track_event(ts=2100, seq=1, legacy=None, more=None, **fields):
    """A packet with a TrackEvent of these fields."""
    made = pb.TrackEvent(**fields)
    if legacy is not None:
        made.legacy_event.CopyFrom(pb.TrackEvent.LegacyEvent(**legacy))
    return packet(ts, seq=seq, track_event=made, **(more or {}))


def descriptor(uuid, **fields):
    return packet(seq=1, track_descriptor=pb.TrackDescriptor(uuid=uuid, **fields))


def thread(uuid, pid, tid, name=None, **fields):
    return descriptor(
        uuid, thread=pb.ThreadDescriptor(pid=pid, tid=tid, thread_name=name), **fields
    )


def process(uuid, pid, name=None, **fields):
    return descriptor(uuid, process=pb.ProcessDescriptor(pid=pid, process_name=name), **fields)


def rows(data, **options):
    """The rows of a trace as dictionaries, with names; every batch is checked for being sound."""
    with opened(data, **options) as opened_trace:
        batches = list(opened_trace.events(names=True))
    for batch in batches:
        batch.validate(full=True)
    return [row for batch in batches for row in batch.to_pylist()]


def column(name, *packets, kind=None):
    """One column of all rows of a trace (or those of one kind)."""
    return [row[name] for row in rows(trace(CLOCKS, *packets)) if kind in (None, row["kind"])]


def one(*packets):
    """What the last row of a trace is."""
    row = rows(trace(CLOCKS, *packets))[-1]
    return {name: row[name] for name in COLUMNS if row[name] is not None}


# The columns


def test_the_columns_come_after_the_others():
    with opened(trace(CLOCKS, event(2100))) as opened_trace:
        assert opened_trace.read_all(names=True).schema == events_table.with_names(EVENTS_SCHEMA)
        table = opened_trace.read_all("tube", names=True)
        assert table.column_names == [*BOUNDED_SCHEMA.names, *COLUMNS]
        assert opened_trace.read_all().schema == EVENTS_SCHEMA


def test_what_was_there_before_stays():
    data = trace(CLOCKS, *[event(2100 + i, seq=i % 3 + 1) for i in range(50)])
    with opened(data) as opened_trace:
        plain, named = opened_trace.read_all(), opened_trace.read_all(names=True)
    assert named.select(EVENTS_SCHEMA.names).equals(plain)


def test_where_nothing_applies_there_is_null():
    row = rows(trace(CLOCKS, packet(2100, seq=1, trace_uuid=pb.TraceUuid(msb=1))))[0]
    assert {row[name] for name in COLUMNS} == {None}


# Types (TrackEvent.Type, TEI::ParsePhaseOrType)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, None),
        (BEGIN, "slice_begin"),
        (END, "slice_end"),
        (INSTANT, "instant"),
        (COUNTER, "counter"),
        (STATE, "state"),
    ],
)
def test_type(number, name):
    assert column("type", track_event(type=number)) == [name]


@pytest.mark.parametrize("phase", [key for key in TYPES if isinstance(key, str)])
def test_the_phase_of_a_legacy_event(phase):
    found = column("type", track_event(legacy={"phase": ord(phase)}))
    assert found == [TYPES[phase]]
    assert TYPES[phase] in events_table.TYPES


def test_a_phase_goes_before_a_type_but_for_counters_and_states():
    types = (BEGIN, COUNTER, STATE)
    events = [track_event(type=type, legacy={"phase": ord("X")}) for type in types]
    assert column("type", *events) == ["slice_complete", "counter", "state"]


def test_a_phase_nobody_knows():
    assert column("type", track_event(legacy={"phase": ord("?")})) == ["unknown"]


# Names and categories (TEI::ParseTrackEventName, ::ParseTrackEventCategory)


def test_a_name_as_it_stands():
    assert one(track_event(type=BEGIN, name="Frame", categories=["gfx"])) == {
        "name": "Frame",
        "category": "gfx",
        "type": "slice_begin",
    }


def test_interned_names():
    defined = interned({1: "Frame"}, {7: "gfx"})
    found = one(defined, track_event(type=BEGIN, name_iid=1, category_iids=[7]))
    assert found == {"name": "Frame", "category": "gfx", "type": "slice_begin"}


def test_the_packets_own_interned_data_counts_for_it():
    """Whatever the order of the fields."""
    data = pb.InternedData()
    data.event_names.add(iid=1, name="Frame")
    data = pb.TracePacket(interned_data=data).SerializeToString()
    body = track_event(type=BEGIN, name_iid=1, more={"cleared": True}).SerializeToString()
    assert column("name", body + data, data + body) == ["Frame", "Frame"]


def test_several_categories_are_joined_the_interned_ones_first():
    defined = interned(None, {1: "one", 2: "two"})
    made = pb.TrackEvent(type=3, categories=["three", "four"], category_iids=[1, 9, 2])
    both = one(defined, packet(2100, seq=1, track_event=made))
    assert both["category"] == "one,two,three,four"


def test_packed_categories():
    body = b"\x1a\x02\x01\x02" + b"\x48\x03"
    made = b"\x40\x64\x50\x01\x5a" + varint(len(body)) + body
    assert column("category", interned(None, {1: "one", 2: "two"}), made) == ["one,two"]


def test_what_was_not_interned_has_no_name():
    found = one(interned({1: "Frame"}), track_event(type=BEGIN, name_iid=2, category_iids=[3]))
    assert found == {"type": "slice_begin"}


def test_each_sequence_has_its_own():
    packets = [
        interned({1: "of one"}, seq=1),
        interned({1: "of two"}, seq=2),
        track_event(seq=1, type=INSTANT, name_iid=1),
        track_event(seq=2, type=INSTANT, name_iid=1),
        track_event(seq=3, type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == ["of one", "of two", None]


def test_and_so_has_each_machine():
    packets = [
        interned({1: "of the host"}),
        interned({1: "of another"}, machine=5),
        track_event(type=INSTANT, name_iid=1),
        track_event(type=INSTANT, name_iid=1, more={"machine": 5}),
    ]
    assert column("name", *packets) == ["of the host", "of another"]


def test_clearing_the_state_ends_what_was_interned():
    """PacketSequenceStateGeneration::OnIncrementalStateCleared"""
    packets = [
        interned({1: "first", 2: "gone"}),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "second"}),
        track_event(type=INSTANT, name_iid=1),
        track_event(type=INSTANT, name_iid=2),
        packet(**CLEARED),
        track_event(type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == ["first", "second", None, None]


def test_within_a_generation_the_first_stays():
    """IncrementalState::InternMessage"""
    packets = [interned({1: "first"}), interned({1: "second", 2: "more"}, cleared=False)]
    events = [track_event(type=INSTANT, name_iid=iid) for iid in (1, 2)]
    assert column("name", *packets, *events) == ["first", "more"]


def test_lost_packets_end_it_until_the_state_is_cleared():
    """ProtoTraceReader::ParseInternedData"""
    packets = [
        interned({1: "before"}),
        packet(seq=1, dropped=1),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "in between"}, cleared=False),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "after"}),
        track_event(type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == [None, None, "after"]


def test_packets_that_were_skipped_still_say_what_stands_in_them():
    skipped = track_event(type=BEGIN, name="Frame", name_iid=None, more={"needs_state": True})
    row = rows(trace(CLOCKS, skipped))[0]
    assert row["status"] == "skipped_incremental_state"
    assert (row["name"], row["type"]) == ("Frame", "slice_begin")


def test_a_legacy_event_may_have_the_name():
    legacy = {"phase": ord("B"), "name_iid": 1}
    assert column("name", interned({1: "old", 2: "new"}), track_event(legacy=legacy),
                  track_event(legacy=legacy, name_iid=2)) == ["old", "new"]  # fmt: skip


def test_a_row_for_a_legacy_timestamp_is_named_like_its_packet():
    args = [pb.DebugAnnotation(name="n", int_value=1)]
    made = track_event(type=INSTANT, name="both", timestamp_absolute_us=3, debug_annotations=args)
    found = rows(trace(CLOCKS, made, track_event(type=INSTANT, name="next")))
    assert [row["kind"] for row in found] == ["packet", "track_event_legacy", "packet"]
    assert [row["name"] for row in found] == ["both", "both", "next"]
    assert [row["args"] for row in found] == ['{"n":1}', '{"n":1}', None]


def test_names_are_there_for_events_put_aside():
    """Their clock is known at the end of the file only; their names were known here."""
    late = [
        interned({1: "first"}),
        packet(5, 64, 1, track_event=pb.TrackEvent(type=3, name_iid=1)),
        interned({1: "second"}),
        snapshot({64: 0, BOOTTIME: 5000}, seq=1),
    ]
    (row,) = rows(trace(CLOCKS, *late))
    assert (row["trace_time"], row["name"]) == (5005, "first")


def test_names_in_compressed_packets():
    inner = [interned({1: "inside"}), track_event(type=INSTANT, name_iid=1)]
    outside = track_event(type=INSTANT, name_iid=1)
    assert column("name", compressed(inner), outside) == ["inside", "inside"]


# Counters


def test_counters():
    made = [
        track_event(type=COUNTER, counter_value=-5),
        track_event(type=COUNTER, double_counter_value=0.5),
        track_event(type=COUNTER),
        track_event(type=INSTANT, counter_value=5),
    ]
    assert column("value", *made) == [-5.0, 0.5, None, None]


def test_counter_tracks_have_the_name_of_their_type():
    packets = [
        descriptor(1, counter=pb.CounterDescriptor(type=1)),
        descriptor(2, counter=pb.CounterDescriptor(type=2)),
        descriptor(3, name="mine", counter=pb.CounterDescriptor(type=1)),
    ]
    events = [track_event(type=COUNTER, counter_value=1, track_uuid=uuid) for uuid in (1, 2, 3)]
    found = column("track_name", *packets, *events)
    assert found == ["thread_time", "thread_instruction_count", "mine"]


# Tracks, threads and processes (TEI::ParseInitialTrackAssociation)


def test_a_thread():
    packets = [process(1, 10, "program"), thread(2, 10, 11, "worker", parent_uuid=1)]
    assert one(*packets, track_event(type=BEGIN, track_uuid=2)) == {
        "type": "slice_begin",
        "track": 2,
        "pid": 10,
        "tid": 11,
        "process_name": "program",
        "thread_name": "worker",
    }


def test_a_custom_track_belongs_to_what_its_ancestors_belong_to():
    packets = [
        descriptor(4, name="leaf", parent_uuid=3),
        descriptor(3, name="branch", parent_uuid=2),
        thread(2, 10, 11, "worker"),
        descriptor(5, static_name="of the process", parent_uuid=6),
        process(6, 20, "other"),
        descriptor(7, name="of nobody", parent_uuid=8),
    ]
    events = [track_event(type=BEGIN, track_uuid=uuid) for uuid in (4, 5, 7, 9)]
    found = rows(trace(CLOCKS, *packets, *events))
    got = [
        (r["track_name"], r["pid"], r["tid"], r["thread_name"], r["process_name"]) for r in found
    ]
    assert got == [
        ("leaf", 10, 11, "worker", None),
        ("of the process", 20, None, None, "other"),
        ("of nobody", None, None, None, None),
        (None, None, None, None, None),
    ]
    assert [row["track"] for row in found] == [4, 5, 7, 9]


def test_tracks_in_a_circle_belong_to_nobody():
    packets = [
        descriptor(1, name="a", parent_uuid=2),
        descriptor(2, name="b", parent_uuid=1),
        descriptor(3, name="c", parent_uuid=1),
        descriptor(4, name="d", parent_uuid=4),
    ]
    events = [track_event(type=BEGIN, track_uuid=uuid) for uuid in (1, 2, 3, 4)]
    assert column("track_name", *packets, *events) == ["a", "b", "c", "d"]
    assert column("pid", *packets, *events) == [None] * 4


def test_a_descriptor_names_what_came_before_it():
    packets = [track_event(type=BEGIN, track_uuid=2), thread(2, 10, 11, "late")]
    assert column("thread_name", *packets) == ["late"]


def test_the_track_of_the_defaults():
    defaults = pb.TracePacketDefaults()
    defaults.track_event_defaults.track_uuid = 2
    packets = [
        thread(2, 10, 11, "worker"),
        packet(**CLEARED, trace_packet_defaults=defaults),
        track_event(type=BEGIN),
        track_event(type=BEGIN, track_uuid=9),
        packet(seq=1, trace_packet_defaults=pb.TracePacketDefaults()),
        track_event(type=BEGIN),
        packet(seq=1, trace_packet_defaults=defaults),
        packet(**CLEARED),
        track_event(type=BEGIN),
    ]
    assert column("track", *packets) == [2, 9, None, None]
    assert column("tid", *packets)[:2] == [11, None]


def test_the_first_name_of_a_track_stays():
    """TrackEventTracker::ReserveDescriptorTrack"""
    packets = [descriptor(1), descriptor(1, name="first"), descriptor(1, name="second")]
    assert column("track_name", *packets, track_event(type=BEGIN, track_uuid=1)) == ["first"]


def test_a_thread_descriptor_is_the_thread_of_its_sequence():
    made = pb.ThreadDescriptor(pid=10, tid=11, thread_name="old way")
    packets = [
        packet(**CLEARED, thread_descriptor=made),
        track_event(type=BEGIN),
        track_event(type=BEGIN, track_uuid=0),
        track_event(track_uuid=0, legacy={"phase": ord("B")}),
        track_event(type=BEGIN, legacy={"tid_override": 12}),
        track_event(type=BEGIN, legacy={"pid_override": 20}),
        track_event(type=BEGIN, seq=2),
    ]
    assert column("tid", *packets) == [11, None, 11, 12, None, None]
    assert column("pid", *packets) == [10, None, 10, 10, 20, None]
    assert column("thread_name", *packets)[0] == "old way"


def test_threads_of_one_number_in_two_processes():
    """Processes in a sandbox may count their threads from 1."""
    packets = [thread(1, 10, 1, "of ten"), thread(2, 20, 1, "of twenty")]
    events = [track_event(type=BEGIN, track_uuid=uuid) for uuid in (1, 2)]
    assert column("thread_name", *packets, *events) == ["of ten", "of twenty"]


def test_which_name_of_a_process_counts():
    """PT::UpdateProcessName: type, descriptor, renderer, system; of equal ones the last."""
    renderer = pb.ProcessDescriptor(pid=1, chrome_process_type=2)
    gpu = pb.ProcessDescriptor(pid=2, chrome_process_type=6, process_name="by name")
    tree = pb.ProcessTree()
    tree.processes.add(pid=3, cmdline=["/bin/by tree", "--flag"])
    tree.processes.add(pid=4, cmdline=["blanks in one argument"])
    chrome = pb.ChromeProcessDescriptor(process_type=1)
    packets = [
        descriptor(1, process=renderer),
        descriptor(2, process=gpu),
        process(3, 3, "by descriptor"),
        process(4, 4),
        process(5, 5, chrome_process=chrome),
        process(6, 6, "first"),
        process(6, 6, "last"),
        process(7, 7),
        packet(process_tree=tree),
    ]
    events = [track_event(type=BEGIN, track_uuid=uuid) for uuid in range(1, 8)]
    found = column("process_name", *packets, *events)
    assert found == ["Renderer", "by name", "/bin/by tree", "blanks", "Browser", "last", None]


def test_process_types_are_those_of_the_schema():
    assert schema.process_types() == (
        "", "Browser", "Renderer", "Utility", "", "SandboxHelper", "Gpu", "PpapiPlugin",
        "PpapiBroker",
    )  # fmt: skip


def test_descriptors_of_several_machines():
    packets = [
        process(1, 10, "of the host"),
        packet(machine=5, track_descriptor=process(1, 10, "of another").track_descriptor),
        track_event(type=BEGIN, track_uuid=1),
        track_event(type=BEGIN, track_uuid=1, more={"machine": 5}),
    ]
    assert column("process_name", *packets) == ["of the host", "of another"]


# ftrace


def tree(processes=(), threads=()):
    made = pb.ProcessTree()
    for pid, name in processes:
        made.processes.add(pid=pid, cmdline=[name])
    for tid, tgid, name in threads:
        made.threads.add(tid=tid, tgid=tgid, name=name)
    return packet(process_tree=made)


def test_ftrace_events():
    """A thread is what ftrace calls pid."""
    bundle = ftrace([ftrace_event(2100, pid=11), ftrace_event(2200, pid=10)], cpu=3)
    known = tree([(10, "program")], [(11, 10, "worker")])
    found = rows(trace(CLOCKS, known, packet(seq=1, ftrace_events=bundle)))
    events = [row for row in found if row["kind"] == "ftrace_event"]
    assert [(r["name"], r["cpu"], r["pid"], r["tid"]) for r in events] == [
        ("print", 3, 10, 11),
        ("print", 3, 10, 10),
    ]
    assert [r["process_name"] for r in events] == ["program", "program"]
    assert [r["thread_name"] for r in events] == ["worker", None]


def test_compact_sched_is_about_the_thread_switched_to_or_woken():
    bundle = ftrace(switches=[2100, 2200], wakings=[2150], cpu=2)
    sched = bundle.compact_sched
    sched.switch_next_pid[:] = [11, 12]
    sched.waking_pid[:] = [13]
    sched.intern_table.extend(["other", "third"])
    sched.switch_next_comm_index[:] = [0, 1]
    sched.waking_comm_index[:] = [2]
    found = rows(trace(CLOCKS, tree([], [(12, 10, "by tree")]), packet(ftrace_events=bundle)))
    assert [(r["kind"], r["name"], r["cpu"], r["tid"], r["thread_name"]) for r in found] == [
        ("sched_switch", "sched_switch", 2, 11, "thread"),
        ("sched_switch", "sched_switch", 2, 12, "by tree"),
        ("sched_waking", "sched_waking", 2, 13, "third"),
    ]


def test_threads_are_called_what_the_scheduler_calls_them():
    """PT::UpdateThreadName: ftrace, process tree, descriptor; of equal ones the last."""
    switch = pb.FtraceEvent(timestamp=2100, pid=0)
    switch.sched_switch.next_pid, switch.sched_switch.next_comm = 11, "switched"
    rename = pb.FtraceEvent(timestamp=2100, pid=12)
    rename.task_rename.pid, rename.task_rename.newcomm = 12, "renamed"
    new = pb.FtraceEvent(timestamp=2100, pid=11)
    new.task_newtask.pid, new.task_newtask.comm = 12, "made"
    bundle = packet(ftrace_events=ftrace([switch, new, rename]))
    assert column("name", bundle) == ["sched_switch", "task_newtask", "task_rename"]
    assert column("thread_name", bundle) == [None, "switched", "renamed"]


def test_the_idle_threads_are_the_swapper():
    switch = pb.FtraceEvent(timestamp=2100, pid=0)
    switch.sched_switch.next_pid, switch.sched_switch.next_comm = 0, "swapper/3"
    assert column("thread_name", packet(ftrace_events=ftrace([switch]))) == ["swapper"]


def test_generic_events_and_unknown_ones():
    generic = pb.FtraceEvent(timestamp=2100, pid=1)
    generic.generic.event_name = "my_tracepoint"
    unknown = ftrace_event(2100).SerializeToString()[:-8] + b"\xfa\x7f\x01x"
    bundle = ftrace([generic]).SerializeToString() + b"\x12" + varint(len(unknown)) + unknown
    body = b"\x0a" + varint(len(bundle)) + bundle
    assert column("name", body) == ["my_tracepoint", None]


def test_a_gpu_work_period_is_named_in_both_its_rows():
    bundle = ftrace([ftrace_event(2100), ftrace_event(2200, gpu_start=5)])
    found = rows(trace(CLOCKS, packet(ftrace_events=bundle)))
    assert [(row["kind"], row["name"]) for row in found] == [
        ("ftrace_event", "print"),
        ("ftrace_event", "gpu_work_period"),
        ("gpu_work_period", "gpu_work_period"),
    ]


# Other rows


def test_log_lines_have_their_tag_and_thread():
    message = android_log([5, 6])
    message.events[0].tag, message.events[0].pid, message.events[0].tid = "wm", 10, 11
    found = rows(trace(CLOCKS, tree([(10, "program")]), packet(android_log=message)))
    assert [(r["name"], r["pid"], r["tid"], r["process_name"]) for r in found] == [
        ("wm", 10, 11, "program"),
        (None, None, None, None),
    ]


def test_dumps_and_starts_have_their_process():
    message = heap_dumps([(5, 6), (7, None)])
    message.process_dumps[1].pid = 2
    started = process_tree([1000, None, 3000])
    found = rows(trace(CLOCKS, packet(seq=1, profile_packet=message), packet(process_tree=started)))
    assert [(r["kind"], r["pid"], r["process_name"]) for r in found] == [
        ("heap_dump", 1, "program"),
        ("heap_dump", 1, "program"),
        ("heap_dump", 2, "program"),
        ("process_start", 1, "program"),
        ("process_start", 3, "program"),
    ]


def test_etw_events_have_cpu_and_thread():
    message = etw([5, 6], cpu=2)
    message.event[1].cpu, message.event[1].thread_id = 7, 11
    found = rows(trace(CLOCKS, packet(etw_events=message)))
    assert [(r["cpu"], r["tid"]) for r in found] == [(2, None), (7, 11)]


def test_perf_samples_have_cpu_and_thread():
    sample = packet(2100, seq=1, perf_sample=pb.PerfSample(cpu=1, pid=10, tid=11))
    assert one(tree([(10, "program")]), sample) == {
        "cpu": 1, "pid": 10, "tid": 11, "process_name": "program"
    }  # fmt: skip


# Arguments


def args(*annotations, defined=None):
    made = track_event(type=BEGIN, debug_annotations=annotations)
    (text,) = column("args", *([defined] if defined else []), made, kind="packet")
    return None if text is None else json.loads(text)


def annotation(value=None, **fields):
    """A DebugAnnotation: a dictionary, a list, or of these fields."""
    if isinstance(value, dict):
        entries = [annotation(one, name=key) for key, one in value.items()]
        return pb.DebugAnnotation(dict_entries=entries, **fields)
    if isinstance(value, list):
        return pb.DebugAnnotation(array_values=[annotation(one) for one in value], **fields)
    kinds = {bool: "bool_value", int: "int_value", float: "double_value", str: "string_value"}
    if value is not None:
        fields[kinds[type(value)]] = value
    return pb.DebugAnnotation(**fields)


def test_an_event_without_annotations_has_no_args():
    assert args() is None


@pytest.mark.parametrize(
    "value",
    [True, False, 0, -1, 2**63 - 1, -(2**63), 0.1, -0.0, 1e300, 5e-324, 1e22, 3.0, 123456789.125,
     "", "text", 'quo"te', "back\\slash", "new\nline\ttab\x00\x1f\x7f", "日本 €  😀",
     {}, [], {"a": 1, "b": [1, "x", {"c": None}]}, [[0.5], [[1]]], None],
)  # fmt: skip
def test_values(value):
    # On the wire, an empty dictionary or list is nothing.
    expected = None if isinstance(value, dict | list) and not value else value
    found = args(annotation(value, name="x"))["x"]
    assert found == expected
    assert type(found) is type(expected)


def test_values_of_other_kinds():
    assert args(
        pb.DebugAnnotation(name="u", uint_value=2**64 - 1),
        pb.DebugAnnotation(name="p", pointer_value=0xDEADBEEF),
        pb.DebugAnnotation(name="nan", double_value=math.nan),
        pb.DebugAnnotation(name="inf", double_value=math.inf),
        pb.DebugAnnotation(name="low", double_value=-math.inf),
        pb.DebugAnnotation(name="json", legacy_json_value='{"a": [1, true, null]}'),
        pb.DebugAnnotation(name="proto", proto_value=b"xyz"),
    ) == {
        "u": 2**64 - 1,
        "p": "0xdeadbeef",
        "nan": "NaN",
        "inf": "Infinity",
        "low": "-Infinity",
        "json": {"a": [1, True, None]},
        "proto": None,
    }


def test_interned_args():
    defined = interned(
        None, None, {1: "key", 2: "other"}, {5: b"value", 6: b"bad \xff\xe2\x82 end"}
    )
    assert args(
        pb.DebugAnnotation(name_iid=1, string_value_iid=5),
        pb.DebugAnnotation(name_iid=2, string_value_iid=6),
        pb.DebugAnnotation(name_iid=3, int_value=1),
        pb.DebugAnnotation(int_value=1),
        pb.DebugAnnotation(name="gone", string_value_iid=9),
        defined=defined,
    ) == {"key": "value", "other": "bad �� end", "gone": None}


def test_nested_values():
    value = pb.DebugAnnotation.NestedValue
    made = value(
        nested_type=1,
        dict_keys=["a", "b", "c", "d", "missing"],
        dict_values=[
            value(int_value=-1),
            value(nested_type=2, array_values=[value(bool_value=True), value(double_value=0.5)]),
            value(string_value='"'),
            value(),
        ],
    )
    assert args(pb.DebugAnnotation(name="x", nested_value=made)) == {
        "x": {"a": -1, "b": [True, 0.5], "c": '"', "d": None, "missing": None}
    }


@pytest.mark.parametrize(
    "text",
    ["{", "[1,]", '{"a":1,}', "{'a':1}", "01", "1.", "NaN", "tru", "", '"\\ud800"', '"\\x"',
     '"a\nb"', "[" * 65 + "]" * 65, "1 2", '{"a" 1}', "-", '{1:2}', "nul", "[}", "{]"],
)  # fmt: skip
def test_json_that_is_none_is_a_string(text):
    assert args(pb.DebugAnnotation(name="x", legacy_json_value=text)) == {"x": text}


@pytest.mark.parametrize(
    "text",
    [" {} ", "[]", '{"a":[],"b":{"c":[[{}]]}}', "-0.5e+10", "1E5", '"\\ud83d\\ude00\\n\\/"',
     "true", "false", "null", "[" * 64 + "]" * 64, '[1, 2,\t{"x"\n:3}]'],
)  # fmt: skip
def test_json_stays_json(text):
    assert args(pb.DebugAnnotation(name="x", legacy_json_value=text)) == {"x": json.loads(text)}


def test_args_too_deep_are_cut():
    members = elements = 1
    value = pb.DebugAnnotation.NestedValue
    nested = value(int_value=1)
    for _ in range(40):
        members, elements = {"k": members}, [elements]
        nested = value(nested_type=2, array_values=[nested])
    text = json.dumps(args(annotation(members, name="x")))
    assert "(too deep)" in text and text.count('"k"') == 32
    text = json.dumps(args(annotation(elements, name="x")))
    assert "(too deep)" in text and text.count("[") == 32
    text = json.dumps(args(pb.DebugAnnotation(name="x", nested_value=nested)))
    assert "(too deep)" in text and text.count("[") == 32


def test_args_too_long_are_cut():
    big = annotation("x" * 70_000, name="big")
    assert args(annotation(1, name="a"), big) == {"a": 1, "(cut)": True}
    assert args(big) == {"(cut)": True}
    many = [annotation("y" * 1000, name=f"k{i}") for i in range(100)]
    found = args(*many)
    assert found.pop("(cut)") is True
    assert 50 < len(found) < 70
    inside = annotation({"deep": ["z" * 70_000]}, name="big")
    assert args(annotation(1, name="a"), inside) == {"a": 1, "(cut)": True}


# Text of any kind


def raw(number, content):
    """A track event whose field `number` holds these bytes."""
    body = b"\x48\x03" + varint(number << 3 | 2) + varint(len(content)) + content
    return b"\x40\xb4\x10\x50\x01\x5a" + varint(len(body)) + body


@settings(deadline=None)
@given(content=st.binary(max_size=40))
def test_bytes_that_are_no_utf8(content):
    """As Python's own decoder replaces them."""
    expected = content.decode(errors="replace")
    data = trace(CLOCKS, raw(23, content), raw(22, content), raw(22, content + b"\xff"))
    found = rows(data)
    assert found[0]["name"] == expected
    assert found[1]["category"] == expected
    assert found[2]["category"] == (content + b"\xff").decode(errors="replace")


@settings(deadline=None)
@given(content=st.binary(max_size=40))
def test_bytes_that_are_no_utf8_in_args(content):
    inner = b"\x52\x01k\x32" + varint(len(content)) + content
    (row,) = rows(trace(CLOCKS, raw(4, inner)))
    assert json.loads(row["args"]) == {"k": content.decode(errors="replace")}


def test_names_too_long_are_cut():
    name = "é" * 10_000
    packets = [interned({1: name}), track_event(type=BEGIN, name_iid=1)]
    found = column("name", *packets, track_event(type=BEGIN, name=name), thread(1, 1, 1, name),
                   track_event(type=BEGIN, track_uuid=1, name="x"))  # fmt: skip
    assert found == ["é" * 4096 + "…"] * 2 + ["x"]


@settings(deadline=None)
@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_numbers_read_back_the_same(value):
    content = b"\x52\x01k\x29" + struct.pack("<d", value)
    (row,) = rows(trace(CLOCKS, raw(4, content)))
    assert struct.pack("<d", json.loads(row["args"])["k"]) == struct.pack("<d", value)


# Limits


def test_sequences_not_used_for_longest_lose_their_names(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    packets = [interned({1: f"{'x' * 3000} {seq}"}, seq=seq) for seq in range(1, 21)]
    events = [track_event(seq=seq, type=INSTANT, name_iid=1) for seq in (1, 19, 20)]
    data = trace(CLOCKS, *packets, *events)
    assert [row["name"] is not None for row in rows(data)] == [False, True, True]
    with opened(data) as opened_trace:
        events = opened_trace.events(names=True)
        assert list(events)
        assert 0 < events.names_left_out < 20


def test_one_sequence_keeps_what_there_is_room_for(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    defined = interned({iid: f"{'x' * 3000} {iid}" for iid in range(1, 51)})
    events = [track_event(type=INSTANT, name_iid=iid) for iid in (1, 50)]
    assert [row["name"] is not None for row in rows(trace(CLOCKS, defined, *events))] == [
        True, False
    ]  # fmt: skip


def test_descriptors_beyond_the_limit_are_left_out(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    packets = [descriptor(uuid, name=f"{'x' * 3000} {uuid}") for uuid in range(1, 51)]
    events = [track_event(type=INSTANT, track_uuid=uuid) for uuid in (1, 50)]
    with opened(trace(CLOCKS, *packets, *events)) as opened_trace:
        events = opened_trace.events(names=True)
        found = [name for batch in events for name in batch["track_name"].to_pylist()]
        assert found[0] is not None and found[1] is None
        assert events.names_left_out > 0


def test_a_batch_ends_where_it_holds_much_text():
    """Every row refers to 8 kB that are there once; who writes them out has bounded memory."""
    packets = [interned({1: "x" * 8192})]
    packets += [track_event(type=INSTANT, name_iid=1)] * 20_000
    with opened(trace(CLOCKS, *packets)) as opened_trace:
        batches = list(opened_trace.events(names=True))
    assert [batch.num_rows for batch in batches][:2] == [4096, 4096]
    assert sum(batch.num_rows for batch in batches) == 20_000
    assert all(len(batch["name"].dictionary) == 1 for batch in batches)


def test_a_dictionary_has_each_string_once():
    packets = [interned({1: "same", 2: "same"}, seq=seq) for seq in (1, 2)]
    events = [track_event(seq=seq, type=INSTANT, name_iid=iid) for seq in (1, 2) for iid in (1, 2)]
    with opened(trace(CLOCKS, *packets, *events)) as opened_trace:
        (batch,) = opened_trace.events(names=True)
    assert batch["name"].dictionary.to_pylist() == ["same"]


def test_two_readings_at_once():
    data = trace(CLOCKS, *[
        part
        for i in range(200)
        for part in (interned({1: f"name {i}"}), track_event(type=INSTANT, name_iid=1))
    ])  # fmt: skip
    with opened(data) as opened_trace:
        first, second = (opened_trace.events(names=True) for _ in range(2))
        found = [[row["name"] for row in next(part).to_pylist()] for part in (first, second)]
    assert found[0] == found[1] == [f"name {i}" for i in range(200)]


def test_a_directory_is_needed():
    with pytest.raises(TypeError):
        Names(None, {}, 0)
    with pytest.raises(ValueError, match="negative"):
        Names(Directory((), 0), {-1: "x"}, 0)


# By chance, against the twin

TEXTS = st.text(max_size=4)
IIDS = st.integers(0, 3)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    TEXTS,
)
VALUES = st.recursive(
    st.one_of(st.none(), SCALARS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(TEXTS, inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
ANNOTATIONS = st.one_of(
    st.builds(lambda value, name: annotation(value, name=name), VALUES, TEXTS),
    st.builds(lambda value, iid: annotation(value, name_iid=iid), VALUES, IIDS),
    st.builds(lambda a, b: pb.DebugAnnotation(name_iid=a, string_value_iid=b), IIDS, IIDS),
    st.builds(
        lambda t: pb.DebugAnnotation(name="j", legacy_json_value=t),
        st.text('[]{}",:1e. \\u', max_size=8),
    ),
)
EVENTS = st.builds(
    lambda kind, name, iid, categories, iids, uuid, phase, found: pb.TrackEvent(
        type=kind,
        **({"name_iid": iid} if iid is not None else {} if name is None else {"name": name}),
        categories=categories,
        category_iids=iids,
        track_uuid=uuid,
        debug_annotations=found,
        legacy_event=None if phase is None else pb.TrackEvent.LegacyEvent(phase=phase),
    ),
    st.integers(0, 5),
    st.one_of(st.none(), TEXTS),
    st.one_of(st.none(), IIDS),
    st.lists(TEXTS, max_size=2),
    st.lists(IIDS, max_size=2),
    st.one_of(st.none(), st.integers(0, 3)),
    st.one_of(st.none(), st.sampled_from("BEXiCbn?").map(ord)),
    st.lists(ANNOTATIONS, max_size=3),
)
SEQUENCES = st.integers(1, 2)
ENTRIES = st.dictionaries(IIDS, TEXTS, max_size=3)
PACKETS = st.one_of(
    st.builds(lambda made, seq: packet(2100, seq=seq, track_event=made), EVENTS, SEQUENCES),
    st.builds(
        lambda a, b, c, d, seq, cleared: interned(
            a, b, c, {k: v.encode() for k, v in d.items()}, seq=seq, cleared=cleared
        ),
        ENTRIES, ENTRIES, ENTRIES, ENTRIES, SEQUENCES, st.booleans(),
    ),
    st.builds(lambda seq: packet(seq=seq, dropped=1), SEQUENCES),
    st.builds(
        lambda seq, uuid: packet(
            seq=seq,
            trace_packet_defaults=pb.TracePacketDefaults(
                track_event_defaults=pb.TrackEventDefaults(track_uuid=uuid)
            ),
        ),
        SEQUENCES,
        st.one_of(st.none(), st.integers(0, 3)),
    ),
)  # fmt: skip


def assert_as_the_twin(packets):
    with opened(trace(*packets)) as opened_trace:
        table = opened_trace.read_all(names=True)
    table.validate(full=True)
    expected = dict(names_of(packets))
    for row in table.to_pylist():
        found = Named(*(row[name] for name in Named._fields))
        if found.args is not None:
            found = found._replace(args=json.loads(found.args))
        assert repr(found) == repr(expected[row["packet"]])


@settings(max_examples=300, deadline=None)
@given(st.lists(PACKETS, max_size=12))
def test_by_chance_events_are_what_the_twin_reads(packets):
    assert_as_the_twin([CLOCKS, *packets])


@settings(max_examples=300, deadline=None)
@given(st.lists(PACKETS, min_size=1, max_size=4), st.data())
def test_broken_bytes_give_sound_batches(packets, data):
    """Whatever the bytes are: rows with valid text and JSON, or an error that says what is wrong."""
    content = bytearray(trace(CLOCKS, interned({1: "a"}, {1: "b"}, {1: "c"}, {1: b"d"}), *packets))
    start = len(trace(CLOCKS))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(start, len(content) - 1))] = data.draw(st.integers(0, 255))
    with opened(bytes(content), partial=True) as opened_trace:
        batches = list(opened_trace.events(names=True))
        for batch in batches:
            batch.validate(full=True)
            for text in batch["args"].to_pylist():
                assert text is None or isinstance(json.loads(text), dict)
        plain = opened_trace.read_all()
        named = pa.Table.from_batches(batches, schema=events_table.with_names(EVENTS_SCHEMA))
        assert named.select(EVENTS_SCHEMA.names).equals(plain.combine_chunks())


@settings(deadline=None)
@given(st.binary(max_size=60), st.sampled_from((1, 2, 11, 12, 39, 43, 44, 59, 60, 66, 95)))
def test_broken_messages(content, number):
    body = varint(number << 3 | 2) + varint(len(content)) + content
    rows(trace(CLOCKS, b"\x40\xb4\x10\x50\x01\x68\x01" + body, event(2100)))
