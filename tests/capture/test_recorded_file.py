"""The file of a recording: of one recorder, replaced only on request, whole at any moment."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import pytest
from live import Live
from platforms import WITH_FDATASYNC
from recorded import names_of, packets_of, split, waiting
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import UsageError, open_trace
from tracetime.formats.perfetto.write.output import TraceOutput
from tracetime.formats.perfetto.write.writer import TraceWriter

pytest_plugins = ["cli"]

CLOCKS = ("--clock", "MONOTONIC", "--clock", "REALTIME")
REFUSED = "another recording writes it"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def opened(path, **options):
    return tt.record(path, interval=None, sampler=Machine(usual_clocks()), **options)


# One recorder to a file


def test_a_second_recording_of_one_file_is_refused(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    (tmp_path / "x").mkdir()
    with opened(path) as rec:
        os.link(path, tmp_path / "other")
        rec.instant("first", timestamp=5, clock=5)
        for same in (
            path,
            tmp_path / "link",
            tmp_path / "other",
            tmp_path / "x" / ".." / "out.pftrace",
        ):
            with pytest.raises(UsageError, match=REFUSED):
                opened(same)
    assert names_of(path.read_bytes()) == {"first": 1}
    # Once it is over, another may.
    with opened(path) as rec:
        rec.instant("second", timestamp=5, clock=5)
    assert names_of(path.read_bytes()) == {"second": 1}


def test_also_of_another_process_until_that_ends_in_whatever_way(spawn, tracetime, path):
    child = spawn("record", "-o", path, *CLOCKS, stderr=subprocess.PIPE, text=True)
    assert child.stderr.readline().startswith("Recording until")
    for force in ((), ("--force",)):
        code, out, err = tracetime("record", *force, "-o", path, *CLOCKS, "--duration", "0s")
        assert (code, out) == (2, "")
        assert REFUSED in err
    with pytest.raises(UsageError, match=REFUSED):
        opened(path)
    assert child.poll() is None
    child.kill()
    child.wait(600)
    # What it left is kept, unless one says otherwise.
    left = path.read_bytes()
    assert split(left)
    code, _, err = tracetime("record", "-o", path, *CLOCKS, "--duration", "0s")
    assert code == 2
    assert f"cannot write '{path}': it exists already" in err
    assert "--force" in err
    assert path.read_bytes() == left
    assert tracetime("record", "--force", "-o", path, *CLOCKS, "--duration", "0s")[0] == 0
    assert path.read_bytes() != left


@contextlib.contextmanager
def forked_child():
    """A child that waits for the end of the block."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    try:
        yield
    finally:
        os.close(writing)
        os.close(reading)
        os.waitpid(child, 0)


def test_the_lock_does_not_live_on_in_forked_children(path):
    """Those of Python, and those that the recording's command leaves running."""
    rec = opened(path)
    with forked_child():
        with pytest.raises(UsageError, match=REFUSED):
            opened(path)
        rec.close()
        opened(path).close()


def test_a_child_that_has_not_yet_closed_its_copy_holds_no_lock(path, monkeypatch):
    """The parent's end is the end, however late the child comes to run."""
    monkeypatch.setattr(TraceOutput, "abandon", lambda output: None)
    rec = opened(path)
    with forked_child():
        rec.close()
        opened(path).close()


def test_a_process_that_the_command_leaves_behind_holds_no_lock(tracetime, path):
    done = tracetime("record", "-o", path, *CLOCKS, "--", "sh", "-c", "sleep 5 & echo $! >&2")
    assert done[0] == 0
    assert tracetime("record", "--force", "-o", path, *CLOCKS, "--duration", "0s")[0] == 0


def test_a_forked_child_may_not_record_into_its_parents_file(path):
    with opened(path) as rec:
        child = os.fork()
        if child == 0:
            try:
                opened(path)
            except UsageError as error:
                os._exit(0 if REFUSED in str(error) else 2)
            os._exit(1)
        assert os.waitpid(child, 0)[1] == 0
        rec.instant("parents", timestamp=5, clock=5)
    assert names_of(path.read_bytes()) == {"parents": 1}


@pytest.mark.parametrize("method", ["instant", "begin", "counter"])
def test_a_forked_child_that_cannot_record_warns_once(path, method):
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        child = os.fork()
        if child == 0:
            try:
                with warnings.catch_warnings(record=True) as warned:
                    warnings.simplefilter("always")
                    rec._files.path = str(path.parent / "missing" / "out.pftrace")
                    for _ in range(3):
                        getattr(rec, method)("e", *([1] if method == "counter" else []))
                    rec.close()
                assert len(warned) == 1
                assert "this process's part" in str(warned[0].message)
            except BaseException:
                os._exit(1)
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
    assert not names_of(path.read_bytes())


# What is there is kept


def test_a_file_is_kept_where_it_is_not_to_be_replaced(path, tracetime):
    path.write_bytes(b"")
    opened(path, overwrite=False).close()  # it holds nothing
    before = path.read_bytes()
    with pytest.raises(UsageError, match="exists already"):
        opened(path, overwrite=False)
    args = ("record", "-o", path, *CLOCKS, "--duration", "0s")
    assert tracetime(*args)[0] == 2
    assert path.read_bytes() == before
    path.unlink()
    assert tracetime(*args)[0] == 0


def test_what_is_there_stays_until_something_is_written(path):
    def refuse() -> None:
        raise ZeroDivisionError

    machine = Machine(usual_clocks())
    path.write_bytes(b"mine")
    with pytest.raises(ZeroDivisionError):
        tt.record(path, sampler=machine, before_writing=refuse)
    machine.fails = "no clock"
    with pytest.raises(tt.SourceError):
        tt.record(path, sampler=machine)
    assert path.read_bytes() == b"mine"
    path.unlink()
    with pytest.raises(tt.SourceError):
        tt.record(path, sampler=machine)
    assert not path.exists()


def test_a_file_that_cannot_be_written_to_is_not_left_empty(path, tmp_path):
    """And a command that had begun by then does not go on without its recording."""
    code = f"""
import resource, signal, sys
from tracetime.commands import run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
code = run(["record", "-o", {str(path)!r}, "--clock", "MONOTONIC", "--", "sleep", "600"])
sys.exit(code)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 2
    assert f"cannot write '{path}': File too large" in done.stderr
    assert not path.exists()


def test_a_longer_file_is_replaced_whole(path):
    path.write_bytes(b"x" * 100_000)
    opened(path).close()
    assert sum(p.HasField("clock_snapshot") for p in packets_of(path.read_bytes())) == 2


def test_two_that_begin_at_once_do_not_both_have_it(tmp_path):
    """One that gives its new file up removes it, while another may just have opened it."""
    code = """
import sys, time
from tracetime import UsageError
from tracetime.formats.perfetto.write.output import TraceOutput
from tracetime.formats.perfetto.write.writer import TraceWriter
had = 0
end = time.monotonic() + 1.5
while had <= 10 or time.monotonic() < end:
    try:
        output = TraceOutput(sys.argv[1], iter([b"\\n\\0", b""]).__next__, lambda size: None)
    except UsageError:
        continue
    had += 1
    if had % 2:
        output.write()
        with open(sys.argv[1], "rb") as file:
            assert file.read() == b"\\n\\0", "this is not the file that is there"
        import os
        os.unlink(sys.argv[1])
    output.close()
print(had)
"""
    children = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "x")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for child in children:
        out, _ = child.communicate(timeout=600)
        assert child.returncode == 0
        assert int(out) > 10


# On its way to the disk


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("after", [False, True])
def test_an_exception_in_a_write_loses_and_doubles_nothing(path, monkeypatch, after):
    """As a signal's handler raises it, before a part is written or right after."""
    rec = opened(path)
    pwrite, left = os.pwrite, [3]

    def interrupted(number, data, offset):
        left[0] -= 1
        if left[0] == 0:
            if after:
                pwrite(number, data[: len(data) // 2 + 1], offset)
            raise Interrupted
        return pwrite(number, data, offset)

    monkeypatch.setattr(os, "pwrite", interrupted)
    for n in range(5):
        rec.instant(f"event {n}", timestamp=5, clock=5)
        try:
            rec.flush()
        except Interrupted:
            assert left[0] == 0
    rec.close()
    assert left[0] < 0
    assert names_of(path.read_bytes()) == {f"event {n}": 1 for n in range(5)}


def test_what_a_handler_raises_while_it_closes_costs_nothing(path, monkeypatch):
    rec = opened(path)
    rec.instant("event", timestamp=5, clock=5)
    pwrite, left = os.pwrite, [1]

    def interrupted(*args):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        return pwrite(*args)

    monkeypatch.setattr(os, "pwrite", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rec.close()
    assert names_of(path.read_bytes()) == {"event": 1}
    with open_trace(path) as trace:
        assert trace.clocks.clocks()[0].snapshots == 2
    opened(path).close()


@WITH_FDATASYNC
def test_with_sync_each_flush_waits_for_the_disk(path, monkeypatch, tracetime):
    synced: list[int] = []
    monkeypatch.setattr(os, "fdatasync", lambda number: synced.append(os.fstat(number).st_size))
    folders: list[int] = []
    monkeypatch.setattr(os, "fsync", folders.append)
    with opened(path, sync=True) as rec:
        assert synced == [path.stat().st_size]
        assert len(folders) == 1
        rec.instant("e", timestamp=5, clock=5)
        rec.flush()
        rec.flush()
        assert synced[1:] == [path.stat().st_size]
    assert len(synced) == 3
    assert synced[-1] == path.stat().st_size
    assert len(folders) == 1
    synced.clear()
    args = ("record", "--force", "-o", path, *CLOCKS, "--duration", "0s")
    assert tracetime(*args)[0] == 0
    assert not synced
    assert tracetime(*args, "--sync")[0] == 0
    assert synced


@WITH_FDATASYNC
def test_a_disk_that_cannot_be_waited_for_is_an_error(path, monkeypatch):
    def fails(number: int) -> None:
        raise OSError(5, "Input/output error")

    with opened(path, sync=True) as rec:
        rec.instant("e", timestamp=5, clock=5)
        monkeypatch.setattr(os, "fdatasync", fails)
        with pytest.warns(UserWarning, match="Input/output"), pytest.raises(UsageError):
            rec.flush()
        monkeypatch.undo()
    assert names_of(path.read_bytes()) == {"e": 1}


def test_a_file_system_without_locks_is_written_all_the_same(path, monkeypatch):
    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    output = TraceOutput(path, iter([b"\n\0", b""]).__next__, lambda size: None)
    output.write()
    output.close()
    assert path.read_bytes() == b"\n\0"


def test_killed_in_the_midst_its_lock_is_gone(path):
    code = f"import tracetime as tt; tt.record({str(path)!r}, ['MONOTONIC']); print(); input()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout.readline()
    with pytest.raises(UsageError, match=REFUSED):
        opened(path)
    child.send_signal(signal.SIGKILL)
    child.wait()
    end = time.monotonic() + 600
    while True:
        try:
            opened(path).close()
            break
        except UsageError:
            assert time.monotonic() < end


# Where nobody says


@WITH_FDATASYNC
def test_nobody_waits_for_the_disk_without_sync(path, tmp_path, monkeypatch):
    def waits(*_):
        raise AssertionError("it waits for the disk")

    monkeypatch.setattr(os, "fdatasync", waits)
    monkeypatch.setattr(os, "fsync", waits)
    writer = TraceWriter(path)
    writer.snapshot(tt.Snapshot({"BOOTTIME": 5}), main=True)
    writer.close()
    assert writer.size == path.stat().st_size > 0
    output = TraceOutput(tmp_path / "other", iter([b"\n\0", b""]).__next__, lambda size: None)
    output.write()
    output.close()
    assert (tmp_path / "other").read_bytes() == b"\n\0"


@pytest.mark.parametrize(("mask", "mode"), [(0, 0o666), (0o027, 0o640), (0o022, 0o644)])
def test_who_may_read_a_recording_is_the_umasks_to_say(path, mask, mode):
    before = os.umask(mask)
    try:
        opened(path).close()
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == mode


def test_the_sizes_of_a_write_and_of_what_is_cut_off_for_the_end(path, monkeypatch):
    """8 MiB at once; where it ends short, 64 bytes, 4 KiB and 64 KiB in turn make room."""
    wrote = []
    pwrite = os.pwrite
    monkeypatch.setattr(
        os, "pwrite", lambda n, data, at: wrote.append(len(data)) or pwrite(n, data, at)
    )
    block = b"\n\x80\x80\x80\x05" + bytes(10 << 20) + b"\n\0"
    sizes = []
    output = TraceOutput(path, iter([block, b""]).__next__, sizes.append)
    output.write()
    assert wrote == [8 << 20, len(block) - (8 << 20)]
    assert (output.size, sizes[-1], path.stat().st_size) == (len(block),) * 3
    output.close()


def test_once_it_is_over_nothing_more_is_taken(path):
    writer = TraceWriter(path)
    writer.discard()
    for take in (
        lambda: writer.tracks.custom("t"),
        lambda: writer.tracks.counter("c"),
        lambda: writer.snapshot(tt.Snapshot({"BOOTTIME": 5}), main=True),
    ):
        with pytest.raises(UsageError, match="the recording is closed: nothing can be added to it"):
            take()
    writer.flush()
    writer.discard()
    writer.close()
    assert not path.exists()


def test_the_next_event_requests_the_flush_of_what_a_track_has_filled(path):
    writer = TraceWriter(path, flush_bytes=4_096)
    assert writer.snapshot(tt.Snapshot({"BOOTTIME": 5}), main=True) is False
    track = writer.tracks.custom("n" * 5_000)
    assert writer.events.instant("e", 5, None, track) is True
    assert writer.events.instant("e", 5, None, track) is False
    writer.flush()
    writer.tracks.custom("m" * 5_000)
    assert writer.snapshot(tt.Snapshot({"BOOTTIME": 6}), main=True) is True
    writer.close()
    assert waiting(writer) == 0
