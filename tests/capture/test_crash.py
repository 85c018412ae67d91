"""Recordings that end badly: killed, cut off, out of disk, on a disk that is slow.

What was flushed is never lost, and every whole packet can be read.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest
from live import Live
from reading import opened, rows_of
from recorded import extensions_of, names_of, packets_of, waiting
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import TraceError, UsageError, open_trace
from tracetime._kernels.perfetto.packets import whole_packets

KILLS, IN_BIG_FLUSHES, MOST_BIG = 200, 50, 150
S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


@pytest.fixture(scope="module")
def nursery() -> Iterator[subprocess.Popen[str]]:
    script = Path(__file__).with_name("crashing.py")
    with subprocess.Popen(
        [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill_one(nursery: subprocess.Popen[str], path: Path, mode: str, seed: int) -> tuple[int, bool]:
    """Record, kill; returns how many events were flushed, and whether a flush was under way."""
    assert nursery.stdin is not None
    assert nursery.stdout is not None
    random = Random(seed)
    nursery.stdin.write(f"{path} {mode} {seed}\n")
    nursery.stdin.flush()
    pid = int(nursery.stdout.readline().split()[1])
    rounds = random.randrange(2)
    flushed = flushing = 0
    for line in nursery.stdout:
        what, number = line.split()
        if what == "flushed":
            flushed = int(number)
            rounds -= 1
            if rounds < 0 and mode == "small":
                break
        else:
            flushing = int(number)
            if rounds <= 0 and mode == "big":
                # Into the flush: megabytes take some milliseconds.
                break
    time.sleep(random.random() * (0.004 if mode == "big" else 0.03))
    os.kill(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        while True:
            os.kill(pid, 0)
            time.sleep(0.001)
    # What it had said before it died; the next child's lines come later.
    os.set_blocking(nursery.stdout.fileno(), False)
    try:
        for line in nursery.stdout:
            what, number = line.split()
            flushed, flushing = (
                (int(number), flushing) if what == "flushed" else (flushed, int(number))
            )
    finally:
        os.set_blocking(nursery.stdout.fileno(), True)
    return flushed, flushing > flushed


@pytest.mark.sweep
def test_killed_at_any_moment_nothing_that_was_flushed_is_lost(nursery, tmp_path):
    in_flush = split_flushes = 0
    for seed in range(KILLS):
        path = tmp_path / f"{seed}.pftrace"
        # Until enough have hit a flush: how many that takes is a matter of the machine's load.
        mode = "big" if in_flush < IN_BIG_FLUSHES and seed < MOST_BIG else "small"
        flushed, during = kill_one(nursery, path, mode, seed)
        data = path.read_bytes()
        whole = whole_packets(data, len(data))
        split_flushes += whole < len(data)
        in_flush += during and mode == "big"
        with open_trace(path, partial=True) as trace:
            events = trace.read_all()
            assert events.num_rows >= flushed, f"seed {seed}"
            assert pc.unique(events["status"]).to_pylist() in (["resolved"], [])
            assert (trace.truncated is None) == (whole == len(data))
            if trace.truncated is not None:
                assert trace.truncated.offset == whole
            last = events["packet"][-1].as_py() if len(events) else 0
            assert last < trace._known().packets
        path.unlink()
    print(f"{in_flush} kills in a big flush; {split_flushes} files end in mid-packet")
    assert in_flush >= IN_BIG_FLUSHES, f"{in_flush} hit a flush, of which {split_flushes} were cut"


@pytest.mark.sweep
def test_cut_at_every_byte_of_the_last_three_packets(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        for n in range(5):
            rec.instant(f"event {n}", timestamp=machine.now_ns, clock="MONOTONIC")
            machine.now_ns += S
            rec.snapshot()
    data = path.read_bytes()
    ends = [end for end in range(len(data) + 1) if whole_packets(data, end) == end]
    with opened(data) as trace:
        rows = rows_of(trace.read_all())
    packets = len(ends) - 1
    for cut in range(ends[-4], len(data) + 1):
        whole = max(end for end in ends if end <= cut)
        with opened(data[:cut], partial=True) as trace:
            found = rows_of(trace.read_all())
            assert found == [row for row in rows if row.packet < ends.index(whole)]
            assert (trace.truncated is None) == (cut == whole)
            assert trace._known().packets == ends.index(whole) <= packets
            # Domains and half-widths of what came before are there.
            assert trace.clocks.explain(machine.now_ns, 5, 6, policy="tube")
        if cut != whole:
            with opened(data[:cut]) as trace, pytest.raises(TraceError, match="cut off"):
                trace.read_all()


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """A disk that is full after so many bytes: Python ignores the signal that comes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.filterwarnings("ignore:recording")
def test_a_full_disk_is_a_clear_error_and_leaves_whole_packets(path):
    machine = Machine(usual_clocks())
    limit = 300_001
    rec = tt.record(path, interval=None, sampler=machine)
    with file_size_limit(limit):
        for n in range(30_000):
            rec.instant("event", timestamp=machine.now_ns + n, clock=5)
        with pytest.raises(UsageError, match=r"cannot write .*out.pftrace.*; make room"):
            rec.flush()
        assert isinstance(rec.error, UsageError)
        data = path.read_bytes()
        assert limit - 100 < len(data) == rec.size <= limit
        assert whole_packets(data, len(data)) == len(data)
        # It goes on: what is recorded now waits with the rest.
        machine.now_ns += S
        with pytest.raises(UsageError):
            rec.snapshot()
        rec.instant("later", timestamp=machine.now_ns, clock=5)
        assert len(rec.problems) == 1
    rec.close()
    assert rec.error is None
    data = path.read_bytes()
    assert names_of(data) == {"event": 30_000, "later": 1}
    assert rec.events_dropped == 0
    assert sum(p.HasField("clock_snapshot") for p in packets_of(data)) == 3


def test_a_disk_that_stays_full_is_an_error_at_the_end(path):
    machine = Machine(usual_clocks())
    with (
        file_size_limit(300_001),
        pytest.raises(UsageError, match="bytes of the recording are lost"),
    ):
        with tt.record(path, interval=None, sampler=machine) as rec:
            for n in range(30_000):
                rec.instant("event", timestamp=machine.now_ns + n, clock=5)
    data = path.read_bytes()
    assert whole_packets(data, len(data)) == len(data) == rec.size > 299_000
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == sum(names_of(data).values()) > 9_000


@pytest.mark.filterwarnings("ignore:recording")
def test_a_full_disk_while_threads_record(path):
    sampler = Live()
    with file_size_limit(200_000), pytest.raises(UsageError, match="make room.* are lost"):
        with tt.record(
            path, interval=0.01, sampler=sampler, flush_interval=0.01, buffer_bytes=400_000
        ) as rec:
            while not rec.error or not rec.events_dropped:
                rec.instant("event")
            assert rec.snapshots
    data = path.read_bytes()
    assert whole_packets(data, len(data)) == len(data) > 190_000


def test_a_slow_disk_drops_events_never_snapshots(path, monkeypatch):
    release = threading.Event()
    release.set()
    pwrite = os.pwrite

    def slow(*args):
        release.wait(600)
        return pwrite(*args)

    monkeypatch.setattr(os, "pwrite", slow)
    sampler = Live()
    with tt.record(
        path,
        interval=0.005,
        sampler=sampler,
        flush_interval=0.01,
        buffer_bytes=200_000,
        flush_bytes=9_000,
    ) as rec:
        release.clear()
        track = rec.track("t")
        tried = 0
        while rec.events_dropped < 1_000:
            rec.instant(f"event {tried % 7}", track=track)
            tried += 1
        before = rec.snapshots
        end = time.monotonic() + 600
        while rec.snapshots < before + 10:
            assert time.monotonic() < end
            time.sleep(0.005)
        dropped = rec.events_dropped
        release.set()
        while waiting(rec._writer) > 10_000:
            assert time.monotonic() < end
            time.sleep(0.005)
        rec.instant("after", track=track)
        rec.flush()
    data = path.read_bytes()
    names = names_of(data)
    assert names.pop("after") == 1
    assert sum(names.values()) == tried - dropped
    packets = packets_of(data)
    assert sum(p.HasField("clock_snapshot") for p in packets) == rec.snapshots == sampler.samples
    assert extensions_of(data)[-1].events_dropped == dropped
    assert any(p.previous_packet_dropped and p.sequence_flags == 1 for p in packets)
