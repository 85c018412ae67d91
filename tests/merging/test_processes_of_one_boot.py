"""A process of one boot is one process in the merged trace, whatever files it is in."""

from __future__ import annotations

import json

import pytest
from building import BOOTTIME, snapshot, trace
from merged_traces import merged
from platforms import WITH_ENGINE
from test_merged_trace import S, slice_of, track
from trace_engine import query

SAME = {"same": ["a,b"]}
APART = {"sync": ["a:REALTIME=b:REALTIME+0s+-1us"]}


def chrome(name, at_us, pid=77, process="python"):
    """A file of Chrome's JSON with a slice of a thread."""
    events = [
        {"ph": "M", "name": "process_name", "pid": pid, "args": {"name": process}},
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": 5, "args": {"name": "main"}},
        {"ph": "X", "name": name, "ts": at_us, "dur": 50, "pid": pid, "tid": 5},
    ]
    return json.dumps({"traceEvents": events if process else events[1:], "baseTimeNanoseconds": S})


def perfetto(name, at, process="python", uuid=7):
    """A Perfetto trace with a slice on a track within a process."""
    return trace(
        snapshot({BOOTTIME: at}),
        track(uuid, process, 77),
        track(uuid + 1, "within", 77, parent=uuid),
        *slice_of(name, at + 10, 100, uuid + 1),
    )


def processes(made):
    """The processes of the output that have slices, as trace_processor has it: pid and name."""
    on_threads = (
        "select upid from slice join thread_track t on t.id = track_id join thread using (utid)"
    )
    within = "select upid from slice join process_track t on t.id = track_id"
    path = made.paths[0].parent / "merged.pftrace"
    return query(
        path,
        f"select pid, name from process where upid in ({on_threads} union {within}) order by upid",
    )


@WITH_ENGINE
@pytest.mark.parametrize(
    ("files", "options", "expected"),
    [
        ((chrome("a", 9), chrome("b", 5_000)), SAME, [(77, "python")]),
        ((chrome("a", 9, process=""), chrome("b", 5_000, process="")), SAME, [(77, None)]),
        ((chrome("a", 9), chrome("b", 20)), SAME, [(77, "python")]),
        (
            (chrome("a", 9), chrome("b", 5_000, process="bash")),
            SAME,
            [(77, "python"), (77, "bash")],
        ),
        ((chrome("a", 9), chrome("b", 5_000, 78)), SAME, [(77, "python"), (78, "python")]),
        ((chrome("a", 9), chrome("b", 5_000)), APART, [(77, "python"), (77, "python")]),
        ((perfetto("a", S), perfetto("b", 5 * S)), SAME, [(77, "python")]),
        ((perfetto("a", S), perfetto("b", 5 * S, uuid=70)), SAME, [(77, "python")]),
        ((perfetto("a", S), chrome("b", 5 * 10**6)), None, [(77, "python")]),
    ],
)
def test_two_recordings_of_one_process_are_one_process(tmp_path, files, options, expected):
    if options is None:
        options = {"same": ["a,b"], "sync": ["a:BOOTTIME=b:0xf5e332ee+0s+-1us"]}
    made = merged(tmp_path, dict(zip("ab", files, strict=True)), **options)
    assert processes(made) == expected


@WITH_ENGINE
def test_processes_that_are_named_alone_are_not_said_to_be_one(tmp_path):
    named = {"ph": "M", "name": "process_name", "pid": 77, "args": {"name": "GPU 0"}}
    other = json.loads(chrome("b", 5_000, 78))
    other["traceEvents"].append(named)
    for files, told in (
        ({"a": chrome("a", 9), "b": json.dumps(other)}, 0),
        ({"a": chrome("a", 9), "b": chrome("b", 5_000, process="bash")}, 1),
    ):
        assert len(merged(tmp_path, files, **SAME).report.shared_pids) == told


def test_two_processes_of_one_pid_in_a_file_stay_two(tmp_path):
    """The file says so: the number was used again."""
    again = trace(
        snapshot({BOOTTIME: 5 * S}),
        *(track(uuid, "python", 77) for uuid in (7, 9)),
        *slice_of("first", 5 * S + 10, 100, 7),
        *slice_of("second", 5 * S + 200, 100, 9),
    )
    made = merged(tmp_path, {"a": perfetto("a", S), "b": again}, **SAME)
    assert processes(made) == [(77, "python"), (77, "python")]


@WITH_ENGINE
def test_threads_of_two_recordings_that_overlap_keep_their_slices(tmp_path):
    """Each recording has a track of the thread: slices of one do not cut those of the other."""
    made = merged(tmp_path, {"a": chrome("a", 9), "b": chrome("b", 30)}, **SAME)
    path = tmp_path / "merged.pftrace"
    assert query(path, "select name, ts, dur, depth from slice order by ts") == [
        ("a", 9_000, 50_000, 0),
        ("b", 30_000, 50_000, 0),
    ]
    assert len(processes(made)) == 1
