"""What events belong to: tracks, threads and processes; ftrace and other rows.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/process_tracker.cc (PT), where those are named.
"""

from __future__ import annotations

from building import (
    android_log,
    etw,
    ftrace,
    ftrace_event,
    heap_dumps,
    packet,
    pb,
    process_tree,
    trace,
    varint,
)
from naming import (
    BEGIN,
    CLEARED,
    CLOCKS,
    column,
    descriptor,
    one,
    process,
    rows,
    thread,
    track_event,
    tree,
)

from tracetime.formats.perfetto import schema

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


def test_tracks_in_a_circle_have_no_owner():
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
        "",
        "Browser",
        "Renderer",
        "Utility",
        "",
        "SandboxHelper",
        "Gpu",
        "PpapiPlugin",
        "PpapiBroker",
    )


def test_descriptors_of_several_machines():
    packets = [
        process(1, 10, "of the host"),
        packet(machine=5, track_descriptor=process(1, 10, "of another").track_descriptor),
        track_event(type=BEGIN, track_uuid=1),
        track_event(type=BEGIN, track_uuid=1, more={"machine": 5}),
    ]
    assert column("process_name", *packets) == ["of the host", "of another"]


# ftrace


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
        "cpu": 1,
        "pid": 10,
        "tid": 11,
        "process_name": "program",
    }
