"""Whose slices are: threads and processes by name, distinguished where an id was reused.

Rules follow Perfetto's src/trace_processor/importers/common/process_tracker.cc (PT), proto/
track_event_parser.cc (TEP) and system_probes_parser.cc (SPP).
"""

from __future__ import annotations

import pytest
from building import packet, pb, trace
from hypothesis import given
from hypothesis import strategies as st
from naming import CLOCKS, annotation, descriptor, process, rows, thread, tree
from slicing import begin, instant, kernel, mark, of_thread, phase, slices, where, who

MAIN = thread(7, 10, 11, "worker")


def test_a_thread_and_its_process_have_names():
    assert who(MAIN, process(5, 10, "app"), instant(5, "a", 7)) == [("app", "worker")]


def test_names_that_come_later_count_for_all_slices():
    assert who(instant(5, "a", 7), MAIN, process(5, 10, "app")) == [("app", "worker")]


def test_a_system_knows_processes_better_than_their_descriptors():
    packets = [MAIN, process(5, 10, "app"), tree([(10, "/bin/app")]), process(5, 10, "again")]
    assert who(*packets, instant(5, "a", 7)) == [("/bin/app", "worker")]


def test_a_descriptor_knows_threads_better_than_the_system():
    packets = [MAIN, tree(threads=[(11, 10, "comm")])]
    assert who(*packets, instant(5, "a", 7))[0][1] == "worker"


def test_the_first_argument_of_a_process_is_its_name():
    assert who(MAIN, tree([(10, "app --x")]), instant(5, "a", 7))[0][0] == "app"


def test_workers_of_the_kernel_are_called_without_their_queue():
    # SPP, MaybeTruncateKworkerName.
    made = pb.ProcessTree()
    made.processes.add(pid=10, ppid=2, cmdline=["kworker/3:1-events"], cmdline_is_comm=True)
    packets = [packet(process_tree=made), mark(5, 10, "B|10|a")]
    assert who(*packets) == [("kworker/3:1", "kworker/3:1")]


NAMES = st.sampled_from(["app", "app --x", "kworker/3:1-events", "kworker/u8:2+flush"])
PIDS = st.sampled_from([2, 10, 20])


@st.composite
def dumped_processes(draw):
    """A packet that names processes and threads, with no id of two meanings."""
    made = pb.ProcessTree()
    for pid in draw(st.lists(PIDS, max_size=2)):
        arguments = [draw(NAMES), *draw(st.sampled_from([[], ["--y"]]))]
        of_kernel = draw(st.booleans())
        made.processes.add(
            pid=pid, ppid=2 if of_kernel else 1, cmdline=arguments, cmdline_is_comm=of_kernel
        )
    for pid in draw(st.lists(PIDS, max_size=2)):
        made.threads.add(tid=pid + draw(st.integers(0, 1)), tgid=pid, name=draw(NAMES))
    return packet(process_tree=made)


@st.composite
def described(draw):
    """A thread or process has one track: a second one is another that has its number."""
    pid = draw(PIDS)
    if draw(st.booleans()):
        return process(100 + pid, pid, draw(NAMES))
    tid = pid + draw(st.integers(0, 1))
    return thread(tid, pid, tid, draw(NAMES))


@given(st.lists(st.one_of(dumped_processes(), described()), max_size=8))
def test_events_and_slices_call_threads_and_processes_alike(packets):
    tracks = [thread(10, 10, 10), thread(11, 10, 11), thread(20, 20, 20)]
    events = [instant(100 + uuid, "a", uuid) for uuid in (10, 11, 20)]
    file = [*tracks, *packets, *events]
    found = [row for row in rows(trace(CLOCKS, *file)) if row["type"] == "instant"]
    assert [(row["process_name"], row["thread_name"]) for row in found] == who(*file)


@pytest.mark.parametrize(("tid", "name"), [(10, "kworker/u8:2"), (11, "kworker/u8:2+flush")])
def test_only_main_threads_are_workers_of_the_kernel(tid, name):
    packets = [tree(threads=[(tid, 10, "kworker/u8:2+flush")]), mark(5, tid, "B|10|a")]
    assert who(*packets)[0][1] == name


@pytest.mark.parametrize(
    ("type", "name"),
    [
        (1, "Browser"),
        (2, "Renderer"),
        (4, "SandboxHelper"),
        (9, "Service: network.mojom.NetworkService"),
    ],
)
def test_chromes_processes_are_called_after_what_they_do(type, name):
    one = descriptor(
        5,
        process=pb.ProcessDescriptor(pid=10),
        chrome_process=pb.ChromeProcessDescriptor(process_type=type),
    )
    assert who(MAIN, one, instant(5, "a", 7))[0][0] == name


def test_a_renderer_is_one_whatever_its_descriptor_says():
    for type, name in ((1, "app"), (2, "Renderer")):
        one = descriptor(
            5,
            process=pb.ProcessDescriptor(pid=10, process_name="app"),
            chrome_process=pb.ChromeProcessDescriptor(process_type=type),
        )
        assert who(MAIN, one, instant(5, "a", 7))[0][0] == name


def test_chromes_threads_are_called_after_what_they_do():
    one = thread(7, 10, 11, chrome_thread=pb.ChromeThreadDescriptor(thread_type=15))
    assert who(one, instant(5, "a", 7))[0][1] == "CrBrowserMain"


def test_metadata_events_name_threads_and_processes():
    # TEP, ParseMetadataEvent.
    packets = [
        of_thread(10, 11),
        phase("M", 5, "thread_name", args=[annotation("t")]),
        phase("M", 6, "process_name", args=[annotation("p")]),
        phase("M", 7, "other", args=[annotation("o")]),
        phase("I", 8, "i"),
    ]
    assert who(*packets) == [("p", "t")]


def test_a_tid_that_two_tracks_describe_was_used_again():
    # TT, ResolveDescriptorTrackImpl.
    first, second = thread(7, 10, 11, "first"), thread(8, 10, 11, "second")
    made = slices(first, second, instant(5, "a", 7), instant(6, "b", 8))
    assert [row["tid"] for row in made] == [11, 11]
    assert made[0]["track"] != made[1]["track"]


def test_a_pid_that_two_tracks_describe_was_used_again():
    first, second = process(7, 10, "first"), process(8, 10, "second")
    events = [instant(5, "a", 7), instant(6, "b", 8)]
    assert [name for name, _ in who(first, second, *events)] == ["first", "second"]


# By the kernel


def test_tasks_are_named_as_the_scheduler_does():
    packets = [
        mark(5, 11, "B|10|a"),
        kernel(
            6, 1, sched_switch={"prev_pid": 3, "prev_comm": "p", "next_pid": 11, "next_comm": "n"}
        ),
    ]
    assert who(*packets) == [(None, "n")]
    renamed = kernel(7, 1, task_rename={"pid": 11, "newcomm": "renamed"})
    assert who(*packets, renamed) == [(None, "renamed")]


def test_a_renamed_main_thread_renames_its_process():
    renamed = kernel(7, 1, task_rename={"pid": 10, "newcomm": "renamed"})
    assert who(mark(5, 10, "B|10|a"), renamed) == [("renamed", "renamed")]


def test_compact_switches_name_threads():
    bundle = pb.FtraceEventBundle(cpu=0)
    sched = bundle.compact_sched
    sched.intern_table.extend(["zero", "one"])
    sched.switch_timestamp.extend([6, 1])
    sched.switch_prev_state.extend([0, 0])
    sched.switch_next_pid.extend([11, 12])
    sched.switch_next_prio.extend([0, 0])
    sched.switch_next_comm_index.extend([1, 0])
    assert who(mark(5, 11, "B|10|a"), packet(ftrace_events=bundle)) == [(None, "one")]


def test_a_new_thread_belongs_to_the_process_of_who_made_it():
    thread_flag = 0x10000
    packets = [
        kernel(5, 11, task_newtask={"pid": 12, "comm": "new", "clone_flags": thread_flag}),
        mark(6, 12, "B|0|a"),
        mark(7, 11, "B|10|b"),
    ]
    assert [row[2:] for row in where(*packets)] == [(10, 12), (10, 11)]
    assert who(*packets)[0] == (None, "new")


def test_threads_of_a_process_that_is_known_later():
    # PT, AssociateThreads and ResolvePendingAssociations.
    thread_flag = 0x10000
    made = [
        kernel(5 + i, parent, task_newtask={"pid": tid, "comm": "t", "clone_flags": thread_flag})
        for i, (parent, tid) in enumerate([(11, 12), (12, 13), (21, 22), (11, 14)])
    ]
    marks = [mark(20 + i, tid, "B|0|a") for i, tid in enumerate((11, 12, 13, 14, 22))]
    known = mark(30, 13, "B|10|b")
    assert [row[2] for row in where(*made, *marks)] == [None] * 5
    assert [row[2] for row in where(*made, *marks, known)] == [10, 10, 10, 10, None, 10]


def test_a_new_process_is_another_than_who_had_its_pid():
    packets = [
        mark(5, 10, "B|10|old"),
        kernel(6, 1, task_newtask={"pid": 10, "comm": "fork", "clone_flags": 0}),
        mark(7, 10, "B|10|new"),
    ]
    assert who(*packets) == [(None, None), ("fork", "fork")]
    made = slices(*packets)
    assert made[0]["track"] != made[1]["track"]


def test_threads_of_a_process_that_was_replaced_are_gone():
    # PT, InvalidateProcessThreads: what their tid means now nobody knows.
    packets = [
        mark(5, 11, "B|10|old"),
        kernel(6, 1, task_newtask={"pid": 10, "comm": "fork", "clone_flags": 0}),
        mark(7, 11, "B|0|new"),
    ]
    assert [row[2:] for row in where(*packets)] == [(10, 11), (None, 11)]


def test_a_tid_alone_is_of_the_process_that_used_it_last():
    packets = [mark(5, 11, "B|10|a"), mark(6, 11, "B|20|b"), mark(7, 11, "B|0|c")]
    assert [row[2] for row in where(*packets)] == [10, 20, 20]
    packets.insert(2, mark(6, 11, "B|10|a"))
    assert [row[2] for row in where(*packets)] == [10, 20, 10, 10]


def test_a_task_that_ended_leaves_its_tid_to_others():
    packets = [
        mark(5, 11, "B|10|a"),
        kernel(6, 1, sched_process_free={"pid": 11}),
        mark(7, 11, "B|20|b"),
    ]
    assert [row[2:] for row in where(*packets)] == [(10, 11), (20, 11)]


def test_with_its_main_thread_a_process_ends():
    packets = [
        mark(5, 10, "B|10|a"),
        mark(6, 11, "B|10|b"),
        kernel(7, 1, sched_process_free={"pid": 10}),
        mark(8, 11, "B|0|c"),
    ]
    assert [row[2:] for row in where(*packets)] == [(10, 10), (10, 11), (None, 11)]


def test_pid_0_is_the_idle_process():
    assert who(mark(5, 0, "B|0|a")) == [(None, "swapper")]


def test_machines_are_apart():
    packets = [
        packet(
            1,
            machine=m,
            seq=m,
            cleared=True,
            track_descriptor=pb.TrackDescriptor(
                uuid=7, thread=pb.ThreadDescriptor(pid=10, tid=11, thread_name=f"of {m}")
            ),
        )
        for m in (1, 2)
    ]
    events = [
        packet(5 + m, machine=m, seq=m, track_event=begin(0, "a", 7).track_event) for m in (1, 2)
    ]
    assert [name for _, name in who(packet(seq=9, timestamp=1), *packets, *events)] == [
        "of 1",
        "of 2",
    ]


def test_a_thread_that_a_sequence_names_late_counts_until_its_state_is_cleared():
    # The thread is part of the state of the sequence (incremental_state.h).
    packets = [
        phase("X", 5, "early", duration_us=0),
        of_thread(10, 11),
        phase("X", 6, "next", duration_us=0),
        packet(seq=1, cleared=True),
        phase("X", 7, "kept", duration_us=0),
    ]
    assert where(*packets) == [(0, None, 10, 11)] * 3
    assert where(*packets, of_thread(10, 12)) == [(0, None, 10, 11)] * 2 + [(1, None, 10, 12)]
