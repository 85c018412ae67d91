"""Pieces that forked processes make, and what becomes of the processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest
from building import BOOTTIME, REALTIME, event, snapshot, trace
from merged_traces import merged

import tracetime as tt
from tracetime.errors import TraceError
from tracetime.merging import perfetto_output
from tracetime.merging.processes import Processes
from tracetime.merging.threads import Threads

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")

S = 1_000_000_000


def silent(at):
    pass


def numbered(number, put, tell):
    for part in range(3):
        tell(10 * number + part)
        put(b"%d%d" % (number, part))
    return number, os.getpid()


def test_pieces_come_in_order_with_how_far_it_is_and_then_the_result():
    with Processes(numbered, 1) as processes:
        for number in (1, 2):
            pieces, told = [], []
            result, pid = processes.make(number, pieces.append, told.append)
            assert pieces == [b"%d%d" % (number, part) for part in range(3)]
            assert told == [10 * number + part for part in range(3)]
            assert result == number
            assert pid != os.getpid()


def test_two_are_at_work_at_once(tmp_path):
    def meet(number, put, tell):
        (tmp_path / str(number)).touch()
        deadline = time.monotonic() + 600
        while len(list(tmp_path.iterdir())) < 2 and time.monotonic() < deadline:
            time.sleep(0.001)
        return len(list(tmp_path.iterdir()))

    with Processes(meet, 2) as processes, Threads() as ahead:

        def make(number, put):
            return processes.make(number, put, silent)

        made = [ahead.start(partial(make, number)) for number in range(2)]
        assert [one.result() for one in made] == [2, 2]


def test_what_is_raised_there_is_raised_here_and_the_process_goes_on():
    def fail(number, put, tell):
        if number == 0:
            raise TraceError("corrupt", 12, 3)
        if number == 1:
            raise ZeroDivisionError("ours")
        return number

    with Processes(fail, 1) as processes:
        with pytest.raises(TraceError, match="corrupt") as caught:
            processes.make(0, [].append, silent)
        assert (caught.value.offset, caught.value.packet) == (12, 3)
        with pytest.raises(ZeroDivisionError) as ours:
            processes.make(1, [].append, silent)
        # Where it was, which a pickled error forgets.
        assert "in fail" in ours.value.__notes__[0]
        assert processes.make(2, [].append, silent) == 2


def test_a_process_that_is_killed_is_told():
    def die(number, put, tell):
        put(b"some")
        os.kill(os.getpid(), signal.SIGKILL)

    with Processes(die, 1) as processes:
        for _ in range(2):
            with pytest.raises(TraceError, match="killed: out of memory"):
                processes.make(0, [].append, silent)


def is_running(pid):
    """Whether there is such a process, and not just what is left of it until it is waited for."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def wait_until_ended(pids):
    deadline = time.monotonic() + 600
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not any(map(is_running, pids))


def test_the_processes_end_with_the_block_whatever_they_do():
    def endless(number, put, tell):
        put(b"%d" % os.getpid())
        while True:
            time.sleep(1)

    class StopError(Exception):
        pass

    pids = []

    def stop(piece):
        pids.append(int(piece))
        raise StopError

    with pytest.raises(StopError), Processes(endless, 1) as processes:
        processes.make(0, stop, silent)
    assert wait_until_ended(pids)


_MERGE = """
import os, sys, time
from pathlib import Path
from tracetime.__main__ import main
from tracetime.merging import perfetto_output
from tracetime.merging.perfetto_output import _Writer

def bake(writer, file, put):
    Path(f"pid{file.number}").write_text(str(os.getpid()))
    os.rename(f"pid{file.number}", f"at{file.number}")
    while True:
        time.sleep(1)

perfetto_output._LEAST_FORKED = 0
_Writer._bake = bake
main()
"""


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_a_merge_that_is_ended_leaves_no_process(tmp_path, number, code):
    for name in "ab":
        content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
        (tmp_path / name).write_bytes(content)
    options = ["--sync", "a:BOOTTIME=b:BOOTTIME+250ms+-1us", "-o", "out.pftrace"]
    child = subprocess.Popen(
        [sys.executable, "-c", _MERGE, "merge", "a", "b", *options],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    started = [tmp_path / "at0", tmp_path / "at1"]
    deadline = time.monotonic() + 600
    while not all(path.exists() for path in started) and time.monotonic() < deadline:
        time.sleep(0.01)
    pids = [int(path.read_text()) for path in started]
    assert child.pid not in pids
    child.send_signal(number)
    try:
        assert child.wait(timeout=600) == code
    finally:
        child.kill()
        assert child.stderr is not None
        child.stderr.close()
    if number == signal.SIGKILL:
        # They sleep: only what they would send next shows them that nobody reads it.
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
    else:
        assert not [p for p in tmp_path.iterdir() if p.suffix == ".pftrace" or "part" in p.name]
    assert wait_until_ended(pids)


def test_processes_end_where_their_parent_was_killed(tmp_path):
    program = """
import os, signal, threading
from tracetime.merging.processes import Processes

def make(number, put, tell):
    put(b"%d" % os.getpid())

pids = []
with Processes(make, 2) as processes:
    # Each takes its turn.
    for _ in range(2):
        processes.make(0, pids.append, print)
    print(*map(int, pids), flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
"""
    child = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, timeout=600)
    pids = list(map(int, child.stdout.split()))
    assert len(set(pids)) == 2
    assert wait_until_ended(pids)


def test_files_are_baked_alike_in_processes_and_in_threads(tmp_path, monkeypatch):
    content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
    files = dict.fromkeys("abcd", content)
    sync = [f"a:BOOTTIME={name}:BOOTTIME+250ms+-1us" for name in "bcd"]
    different = ["a,b", "a,c", "a,d", "b,c", "b,d", "c,d"]
    by_threads = merged(tmp_path, files, sync=sync, different=different)
    monkeypatch.setattr(perfetto_output, "_LEAST_FORKED", 0)
    own = os.getpid()
    pids = tmp_path / "pids"
    bake = perfetto_output._Writer._bake

    def bake_and_tell(writer, file, put):
        with pids.open("a") as out:
            out.write(f"{os.getpid()}\n")
        return bake(writer, file, put)

    monkeypatch.setattr(perfetto_output._Writer, "_bake", bake_and_tell)
    by_processes = merged(tmp_path, files, sync=sync, different=different, processes=2)
    assert by_processes.data == by_threads.data
    assert by_processes.report == by_threads.report
    assert str(own) not in pids.read_text().split()


def test_a_number_of_processes_that_cannot_be_is_refused(monkeypatch):
    with pytest.raises(tt.UsageError, match="processes=-1: 0, or more"):
        tt.merge(["a", "b"], "out.pftrace", processes=-1)
    monkeypatch.delattr(os, "fork")
    with pytest.raises(tt.UsageError, match="processes=2: 0, or more where"):
        tt.merge(["a", "b"], "out.pftrace", processes=2)


def test_files_of_one_machine_are_baked_one_after_the_other_here(tmp_path, monkeypatch):
    content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
    files = dict.fromkeys("ab", content)
    by_threads = merged(tmp_path, files, same=["a,b"])
    monkeypatch.setattr(perfetto_output, "_LEAST_FORKED", 0)
    assert merged(tmp_path, files, same=["a,b"], processes=2).data == by_threads.data


def test_the_file_that_is_damaged_is_named(tmp_path, monkeypatch):
    content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
    monkeypatch.setattr(perfetto_output, "_LEAST_FORKED", 0)

    def cut(writer, file, put, written):
        raise TraceError("cut off", 5)

    monkeypatch.setattr(perfetto_output._Writer, "_bake_packets", cut)
    with pytest.raises(TraceError, match="^a: cut off"):
        merged(
            tmp_path,
            dict.fromkeys("ab", content),
            sync=["a:BOOTTIME=b:BOOTTIME+250ms+-1us"],
            processes=2,
        )


def test_how_far_a_process_has_read_is_told(tmp_path, monkeypatch):
    content = trace(snapshot({BOOTTIME: S, REALTIME: 9 * S}), event(S + 10, BOOTTIME, 1))
    monkeypatch.setattr(perfetto_output, "_LEAST_FORKED", 0)
    told = []

    def follow(one):
        one.on_read.append(told.append)

    def begin(report):
        told.clear()

    merged(
        tmp_path,
        dict.fromkeys("ab", content),
        sync=["a:BOOTTIME=b:BOOTTIME+250ms+-1us"],
        processes=2,
        opened=follow,
        before_writing=begin,
    )
    assert told.count(len(content)) >= 2
