"""A signal's handler may do with a recording what it likes, whatever it interrupts: never a hang."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from interrupting import lines_of
from live import Live, wait_for
from recorded import names_of, packets_of

import tracetime as tt
from tracetime import SourceError, open_trace
from tracetime.capture.calls import Calls
from tracetime.formats.perfetto.write.output import TraceOutput
from tracetime.sources.source import OneAtATime

HERE = Path(__file__).parent


@pytest.mark.sweep
@pytest.mark.parametrize(("interval", "lines"), [("none", 15), ("0.002", 6)])
def test_every_call_may_interrupt_every_call_at_any_line(tmp_path, interval, lines):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "interrupting.py", tmp_path, interval, str(lines)],
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    assert done.stdout.endswith("\ndone\n")


@pytest.mark.sweep
@pytest.mark.parametrize("given", ["interval=0.002", "interval=None"])
@pytest.mark.parametrize("call", ["snapshot", "flush"])
def test_signals_that_come_all_the_time_keep_nothing_from_going_on(tmp_path, given, call):
    path = tmp_path / "out.pftrace"
    code = f"""
import signal, time
import tracetime as tt
rec = tt.record({str(path)!r}, ["MONOTONIC"], {given})
came = 0
def handler(*_):
    global came
    came += 1
    rec.{call}()
    rec.instant("signal")
    # Not sooner: a slow machine would do nothing else.
    signal.setitimer(signal.ITIMER_REAL, 0.0002 if going_on else 0)
signal.signal(signal.SIGALRM, handler)
going_on = True
signal.setitimer(signal.ITIMER_REAL, 0.0002)
for _ in range(1000):
    rec.snapshot()
    rec.flush()
    rec.instant("usual")
going_on = False
signal.setitimer(signal.ITIMER_REAL, 0)
rec.close()
print(came)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=600, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    data = path.read_bytes()
    assert dict(names_of(data)) == {"usual": 1000, "signal": int(done.stdout)}
    assert sum(p.HasField("clock_snapshot") for p in packets_of(data)) > 1_000
    with open_trace(path) as trace:
        assert set(trace.read_all()["status"].to_pylist()) == {"resolved"}


@pytest.mark.parametrize(
    "ends", ["rec.close()", "rec.close(); sys.exit(3)", "rec.flush(); os._exit(3)"]
)
@pytest.mark.parametrize("given", ["interval=0.002", "interval=None"])
def test_a_handler_that_ends_the_recording_ends_it(tmp_path, given, ends):
    """Whatever it interrupts; the last snapshot and all events are in the file."""
    path = tmp_path / "out.pftrace"
    code = f"""
import os, signal, sys, time
import tracetime as tt
rec = tt.record({str(path)!r}, ["MONOTONIC"], {given}, flush_interval=60)
def handler(*_):
    global over
    over = True
    print(count, flush=True)
    {ends}
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.1)
over, count = False, 0
while not over:
    try:
        rec.snapshot()
        rec.instant("e")
        count += 1
        if count % 5 == 0:
            rec.flush()
    except tt.UsageError as error:
        assert over and "closed" in str(error), error
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=600, capture_output=True, text=True)
    assert done.returncode == (3 if "(3)" in ends else 0), done.stderr
    # The event that was under way may be in it, too.
    assert names_of(path.read_bytes())["e"] - int(done.stdout) in (0, 1)


@contextlib.contextmanager
def signals_that(act: Callable[[], object]) -> Iterator[list[int]]:
    """Many signals, whose handler does something; how many handlers were within one another."""
    depths, depth = [], 0

    def handler(*_: object) -> None:
        nonlocal depth
        depth += 1
        depths.append(depth)
        # The deeper the later: a slow machine piles them up only where they wait. And again: one that
        # comes right before a wait for a lock does not end it, so its handler waits for the next.
        signal.setitimer(signal.ITIMER_REAL, 0.001 * depth if going_on else 0, 0.1)
        try:
            act()
        finally:
            depth -= 1

    before = signal.signal(signal.SIGALRM, handler)
    going_on = True
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.1)
    try:
        yield depths
    finally:
        going_on = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


class Slow(Live):
    """A sampler whose first sample in another thread takes as long as is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.goes_on = threading.Event(), threading.Event()

    def sample(self):
        if threading.current_thread() is not threading.main_thread():
            self.begun.set()
            self.goes_on.wait(600)
        return super().sample()


def after(n: int, depths: list[int], event: threading.Event) -> threading.Thread:
    def wait() -> None:
        wait_for(lambda: len(depths) > n)
        event.set()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


def test_handlers_do_not_pile_up_while_another_thread_takes_its_snapshot(tmp_path):
    path = tmp_path / "out.pftrace"
    sampler = Slow()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        other = threading.Thread(target=rec.snapshot)
        other.start()
        sampler.begun.wait(600)
        with signals_that(rec.snapshot) as depths:
            ending = after(300, depths, sampler.goes_on)
            rec.snapshot()
        other.join()
        ending.join()
    assert len(depths) > 300
    assert max(depths) < 30
    # The first, the other thread's, this one's, what handlers requested meanwhile, the last.
    n = sum(p.HasField("clock_snapshot") for p in packets_of(path.read_bytes()))
    assert n >= 5


def test_handlers_do_not_pile_up_while_another_thread_flushes(tmp_path, monkeypatch):
    path = tmp_path / "out.pftrace"
    begun, goes_on = threading.Event(), threading.Event()
    write = TraceOutput.write

    def slow(output):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            goes_on.wait(600)
        write(output)

    monkeypatch.setattr(TraceOutput, "write", slow)

    def act():
        rec.instant("signal")
        rec.flush()

    with tt.record(path, interval=None, sampler=Live(), flush_interval=60) as rec:
        other = threading.Thread(target=rec.flush)
        other.start()
        begun.wait(600)
        with signals_that(act) as depths:
            ending = after(300, depths, goes_on)
            rec.flush()
            n = len(depths)
        # What handlers recorded while this waited is in the file when it returns.
        assert names_of(path.read_bytes())["signal"] >= 300 <= n
        other.join()
        ending.join()
    assert max(depths) < 30


@pytest.mark.parametrize("place", range(1, 71))
def test_what_a_handler_flushes_is_in_the_file_when_that_returns(tmp_path, place):
    """Whatever line of a flush it interrupts: the handler may end the process."""
    path = tmp_path / "out.pftrace"

    def handler():
        rec.instant("signal")
        rec.flush()
        assert names_of(path.read_bytes()) == {"usual": 1, "signal": 1}

    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.instant("usual")
        assert lines_of(rec.flush, place, handler) >= place
    assert names_of(path.read_bytes()) == {"usual": 1, "signal": 1}


@pytest.mark.parametrize("large", [False, True])
def test_a_handlers_flush_that_finds_no_room_leaves_what_the_flush_has_written(
    tmp_path, monkeypatch, large
):
    """The signal came while bytes were written, which the flush has not counted yet."""
    path = tmp_path / "out.pftrace"
    write, room = os.pwrite, [10**9]

    def handler():
        room[0] = path.stat().st_size + 1000
        for _ in range(2000 if large else 50):
            rec.instant("late")
        with pytest.raises(tt.UsageError, match="No space left"):
            rec.flush()
        names = names_of(path.read_bytes())
        assert names["early"] == 100 and 0 < names["late"] < 50

    def into_what_is_left(number, data, at):
        # A disk may take a part.
        if at >= room[0]:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        done = write(number, data[: room[0] - at], at)
        if room[0] == 10**9 and rec is not None:
            handler()
        return done

    rec = None
    monkeypatch.setattr(os, "pwrite", into_what_is_left)
    rec = tt.record(path, interval=None, sampler=Live(), flush_interval=60)
    for _ in range(100):
        rec.instant("early")
    with pytest.raises(tt.UsageError, match="No space left"):
        rec.flush()
    room[0] = 10**12
    rec.close()
    assert names_of(path.read_bytes()) == {"early": 100, "late": 2000 if large else 50}
    assert [problem.message for problem in rec.problems if "somebody" in problem.message] == []


@pytest.mark.parametrize("place", range(1, 40))
def test_what_is_left_to_a_snapshot_may_be_done_by_a_handlers_before_it(place):
    """A handler comes between any two lines of the first one's end."""
    done = []
    calls = Calls(lambda: None, done.append)

    def handler():
        if calls.sampling:
            calls.after_snapshot(third)
        else:
            calls.alone(lambda: done.append("second"))

    def first():
        calls.after_snapshot(left)
        done.append("first")

    def left():
        done.append("left")

    def third():
        done.append("third")

    lines_of(lambda: calls.alone(first), place, handler)
    assert not calls.sampling
    assert done.count("first") == done.count("left") == 1
    assert done.count("second") + done.count("third") <= 1
    calls.alone(lambda: done.append("last"))
    assert done[-1] == "last"


def test_what_interrupts_itself_is_refused_where_it_can_only_wait():
    lock = OneAtATime("reading the clocks")
    with lock.turn(), pytest.raises(SourceError, match="interrupts reading the clocks"):
        lock.turn()
    with lock.turn():
        refused = []

        def other() -> None:
            with lock.turn():
                refused.append(False)

        # Another thread waits.
        thread = threading.Thread(target=other)
        thread.start()
        assert not refused
    thread.join()
    assert refused == [False]


@pytest.mark.sweep
@pytest.mark.parametrize("given", ["interval=60", "interval=None, flush_bytes=1"])
def test_a_signals_handler_may_record(tmp_path, given):
    """Whatever it interrupts: it waited for ever for what this thread itself was holding."""
    path = tmp_path / "out.pftrace"
    code = f"""
import signal, time
import tracetime as tt
rec = tt.record({str(path)!r}, clocks=["MONOTONIC"], {given})
came = 0
def handler(*_):
    global came
    came += 1
    rec.instant("signal", track="signals")
    rec.counter(f"count {{came % 50}}", came)
    signal.setitimer(signal.ITIMER_REAL, 0.0004 if going_on else 0)
signal.signal(signal.SIGALRM, handler)
going_on = True
signal.setitimer(signal.ITIMER_REAL, 0.0004)
end = time.monotonic() + 1
while came <= 10 or time.monotonic() < end:
    rec.instant("e", track="usual")
    rec.track(f"one more {{time.monotonic_ns()}}")
going_on = False
signal.setitimer(signal.ITIMER_REAL, 0)
rec.close()
print(came)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=600, check=True, capture_output=True, text=True
    )
    assert names_of(path.read_bytes())["signal"] == int(done.stdout) > 10
    tracks = [p.track_descriptor.uuid for p in packets_of(path.read_bytes())]
    assert len(set(tracks)) == sum(map(bool, tracks)) + 1
