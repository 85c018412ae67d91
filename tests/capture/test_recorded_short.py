"""A recording that does not fit on its disk: the file itself says how much is missing."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
from pathlib import Path

import pytest
from recorded import names_of, packets_of
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import UsageError, open_trace
from tracetime._kernels.perfetto.packets import events_in, whole_packets

pytestmark = pytest.mark.filterwarnings("ignore:recording")
BOOTTIME = 6


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


class Disk:
    """A disk of so many bytes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
        self.size = size
        # What is not given back when a file is cut off.
        self.lost = 0
        self.pwrite = os.pwrite
        monkeypatch.setattr(os, "pwrite", self.write)

    def write(self, number: int, data: bytes | memoryview, offset: int) -> int:
        room = max(0, self.size - self.lost - offset)
        if not room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.pwrite(number, data[:room], offset)


def record(path: Path, n: int, *, flush_every: int = 0, **options: object) -> tuple[int, str]:
    """Record n events; returns how many the recorder says were dropped, and what close says."""
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine, **options)
    for k in range(n):
        rec.instant(f"event {k % 7}", timestamp=machine.now_ns, clock=BOOTTIME)
        machine.now_ns += 1000
        if flush_every and k % flush_every == flush_every - 1:
            with contextlib.suppress(UsageError):
                rec.snapshot()
    with pytest.raises(UsageError) as caught:
        rec.close()
    assert path.stat().st_size == rec.size
    return rec.events_dropped, str(caught.value)


def check(path: Path, n: int, dropped: int, message: str) -> None:
    data = path.read_bytes()
    assert whole_packets(data, len(data)) == len(data)
    with open_trace(path) as trace:
        assert trace.read_all().num_rows == sum(names_of(data).values()) == n - dropped
        assert trace.events_dropped == dropped > 0
        finding = next(f for f in tt.diagnose(trace) if f.code == "events-dropped")
    assert (finding.severity, finding.events) == ("error", dropped)
    assert f"the {len(data)} bytes that are there are a whole trace" in message
    assert f"{dropped:,} events among them" in message


@pytest.mark.parametrize("flush_every", [0, 20, 997])
@pytest.mark.parametrize("size", [2_000, *range(20_000, 20_012)])
def test_the_file_says_what_did_not_fit(path, monkeypatch, size, flush_every):
    disk = Disk(monkeypatch, size)
    dropped, message = record(path, 3_000, flush_every=flush_every)
    check(path, 3_000, dropped, message)
    # What makes way is a packet or two, the last of which may be a snapshot.
    assert disk.size - 1_500 < path.stat().st_size <= disk.size


def test_what_was_dropped_before_counts_too(path, monkeypatch):
    Disk(monkeypatch, 50_000)
    dropped, _ = record(path, 30_000, buffer_bytes=100_000)
    data = path.read_bytes()
    with open_trace(path) as trace:
        assert trace.events_dropped == dropped == 30_000 - sum(names_of(data).values())


def test_a_disk_that_does_not_free_what_is_cut_off_costs_more(path, monkeypatch):
    """As one that copies on writing: a few bytes that are cut off make no room."""
    disk = Disk(monkeypatch, 200_000)
    ftruncate = os.ftruncate

    def cut(number: int, size: int) -> None:
        ftruncate(number, size)
        disk.lost = 20_000 if size else 0

    monkeypatch.setattr(os, "ftruncate", cut)
    check(path, 20_000, *record(path, 20_000))
    assert 200_000 - (1 << 16) - 4_300 < path.stat().st_size < 180_000


def test_where_nothing_can_be_written_it_says_so(path, monkeypatch):
    Disk(monkeypatch, 0)
    with pytest.raises(UsageError, match="make room; nothing is there yet$"):
        tt.record(path, interval=None, sampler=Machine(usual_clocks()))
    assert not path.exists()


def test_snapshots_that_do_not_fit_are_no_events(path, monkeypatch):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    rec.instant("e", timestamp=machine.now_ns, clock=BOOTTIME)
    rec.flush()
    Disk(monkeypatch, path.stat().st_size)
    with pytest.raises(UsageError, match=r"are lost, 0 events"):
        rec.close()
    with open_trace(path) as trace:
        assert trace.events_dropped == 0
        assert trace.read_all().num_rows == 1


@pytest.mark.parametrize(
    ("n", "message"), [(1, "1 event"), (2, "2 events"), (1_234, "1,234 events")]
)
def test_lost_events_are_counted_in_the_message(path, monkeypatch, n, message):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    rec.flush()
    Disk(monkeypatch, path.stat().st_size)
    for _ in range(n):
        rec.instant("e", timestamp=machine.now_ns, clock=BOOTTIME)
    with pytest.raises(UsageError, match=rf"are lost, {message} among them$"):
        rec.close()


def interrupted(call, calls, at):
    """The same call, which is interrupted if it is number `at` of the calls."""

    def wrapped(*args):
        if next(calls) == at:
            raise KeyboardInterrupt
        return call(*args)

    return wrapped


def test_what_a_handler_raises_in_the_midst_is_gone_on_with(path, monkeypatch):
    """Wherever it comes: the file is whole, and the next call ends it."""
    for at in range(1, 12):
        calls = itertools.count(1)
        with monkeypatch.context() as patch:
            machine = Machine(usual_clocks())
            Disk(patch, 50_001)
            rec = tt.record(path, interval=None, sampler=machine)
            for _ in range(5_000):
                rec.instant("e", timestamp=machine.now_ns, clock=BOOTTIME)
            for name in ("pwrite", "ftruncate", "pread"):
                patch.setattr(os, name, interrupted(getattr(os, name), calls, at))
            for _ in range(2):
                try:
                    rec.close()
                except KeyboardInterrupt:
                    data = path.read_bytes()
                    assert whole_packets(data, len(data)) == len(data)
                except UsageError:
                    break
        with open_trace(path) as trace:
            assert trace.events_dropped + trace.read_all().num_rows == 5_000


def test_events_are_counted_by_packets(path):
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        for n in range(100):
            rec.instant(f"e{n}", timestamp=5, clock=BOOTTIME)
    data = path.read_bytes()
    events = [p.HasField("track_event") for p in packets_of(data)]
    assert events_in(data) == sum(events) == 100
    for end in range(0, len(data), 7):
        assert events_in(data[:end]) == sum(names_of(data[: whole_packets(data, end)]).values())
    assert events_in(b"") == 0
