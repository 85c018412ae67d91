"""A signal's handler may do with a recording what it likes, whatever it interrupts: never a hang."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from recorded import names_of, packets_of

from tracetime import SourceError, open_trace
from tracetime.sources.once import OneAtATime

HERE = Path(__file__).parent


@pytest.mark.parametrize(("interval", "lines"), [("none", 15), ("0.002", 6)])
def test_every_call_may_interrupt_every_call_at_any_line(tmp_path, interval, lines):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", HERE / "interrupting.py", tmp_path, interval, str(lines)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout[-300:] + done.stderr
    assert done.stdout.endswith("\ndone\n")


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
signal.signal(signal.SIGALRM, handler)
signal.setitimer(signal.ITIMER_REAL, 0.0004, 0.0004)
for _ in range(1000):
    rec.snapshot()
    rec.flush()
    rec.instant("usual")
signal.setitimer(signal.ITIMER_REAL, 0)
# One that is late would come when the interpreter has given the handler up, and kill it.
signal.signal(signal.SIGALRM, signal.SIG_IGN)
rec.close()
print(came)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], timeout=60, check=True, capture_output=True, text=True
    )
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
    done = subprocess.run([sys.executable, "-c", code], timeout=60, capture_output=True, text=True)
    assert done.returncode == (3 if "(3)" in ends else 0), done.stderr
    # The event that was under way may be in it, too.
    assert names_of(path.read_bytes())["e"] - int(done.stdout) in (0, 1)


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
