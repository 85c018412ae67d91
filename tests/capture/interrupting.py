"""Calls of a recording that interrupt each other: run by tests/capture/test_signals.py, not by
pytest.

A signal's handler runs in the main thread, between any two lines of what that is at. So one call is
traced line by line, and at one line after the other, each time in a recording of its own, another
call is made as a handler would. Or the handler raises: where an interpreter looks for signals, at
the beginning of functions and when calls return. Hanging is for the caller to see.

Args: a directory, the interval or `none`, at how many of the places to interrupt each call.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from live import Live
from recorded import names_of, packets_of

import tracetime
from tracetime import ClockDomain, ClockId, Recorder, UsageError, record

OURS = (str(Path(tracetime.__file__).parent), __file__)


def given(rec: Recorder, name: str) -> None:
    own = f"com.example.{name}"
    rec.snapshot({own: 5, "MONOTONIC": time.monotonic_ns()})
    WANTED.append(own)


def event(rec: Recorder, name: str) -> None:
    rec.instant(name, track=f"track of {name}")
    EVENTS.append(name)


def declare(rec: Recorder, name: str) -> None:
    assert rec.declare(ClockDomain("com.example.both")) == ClockId.parse("com.example.both")


CALLS: dict[str, Callable[[Recorder, str], object]] = {
    "snapshot": lambda rec, name: rec.snapshot(),
    "given": given,
    "flush": lambda rec, name: rec.flush(),
    "declare": declare,
    "event": event,
    "close": lambda rec, name: rec.close(),
}
WANTED: list[str] = []
EVENTS: list[str] = []


def lines_of(act: Callable[[], object], at: int, then: Callable[[], object]) -> int:
    """Do something, and something else before its `at`th line; returns how many lines it had.

    Whoever traced before, such as coverage, goes on afterwards.
    """
    seen = 0
    before = sys.gettrace()

    def trace(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal seen
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        if what == "line":
            seen += 1
            if seen == at:
                sys.settrace(None)
                try:
                    then()
                finally:
                    sys.settrace(trace)
        return trace

    sys.settrace(trace)
    try:
        act()
    finally:
        sys.settrace(before)
    return seen


class Raised(Exception):
    """By a handler."""


def raising(act: Callable[[], object], at: int) -> int:
    """Do something, and raise at the `at`th place where a signal may; how many there were."""
    seen = 0
    before = sys.getprofile()

    def profile(frame: FrameType, what: str, _: Any) -> None:
        nonlocal seen
        caller: FrameType | None = frame
        while caller is not None and not caller.f_code.co_filename.startswith(OURS[0]):
            caller = caller.f_back
        if caller is not None and what in ("call", "return", "c_return"):
            # Of what others wrote in Python, only its beginning.
            seen += what != "return" or caller is frame
            if seen == at:
                sys.setprofile(None)
                raise Raised

    sys.setprofile(profile)
    try:
        act()
    except Raised:
        pass
    finally:
        sys.setprofile(before)
    return seen


def attempt(call: str, rec: Recorder, name: str) -> None:
    """As users do: what comes after the end is refused."""
    try:
        CALLS[call](rec, name)
    except UsageError as error:
        assert "closed" in str(error), error


def once(path: Path, interval: float | None, outer: str, inner: str, at: int) -> int:
    WANTED.clear()
    EVENTS.clear()
    if path.exists():
        path.unlink()
    rec = record(path, interval=interval, sampler=Live(), flush_interval=0.002)
    event(rec, "before")
    before = rec.snapshots
    lines = lines_of(lambda: attempt(outer, rec, "outer"), at, lambda: attempt(inner, rec, "inner"))
    calls = (outer, inner) if at else (outer,)
    if "close" in calls:
        try:
            rec.instant("late")
            raise AssertionError(f"{inner} at line {at} of {outer}: it is still open")
        except UsageError:
            pass
    elif "flush" in calls:
        assert names_of(path.read_bytes())["before"] == 1
    if "snapshot" in calls:
        assert rec.snapshots > before
    rec.close()
    data = path.read_bytes()
    assert dict(names_of(data)) == dict.fromkeys(EVENTS, 1), f"{inner} at line {at} of {outer}"
    assert all(name.encode() in data for name in WANTED), f"{inner} at line {at} of {outer}"
    ids = [p.track_descriptor.uuid for p in packets_of(data) if p.HasField("track_descriptor")]
    assert len(ids) == len(set(ids))
    assert [problem for problem in rec.problems if "closed" not in problem.message] == []
    return lines


def once_raising(path: Path, interval: float | None, call: str, at: int) -> int:
    """Nothing is lost or doubled, and nothing stays locked."""
    WANTED.clear()
    EVENTS.clear()
    if path.exists():
        path.unlink()
    rec = record(path, interval=interval, sampler=Live(), flush_interval=0.002)
    event(rec, "before")
    places = raising(lambda: attempt(call, rec, "outer"), at)
    if call == "close":
        # If not now, then at the exit; but nothing is added any more.
        assert rec._snapshots.closed is rec._writer._output.closed, at
    else:
        rec.snapshot()
        event(rec, "after")
    rec.close()
    names = dict(names_of(path.read_bytes()))
    assert names.pop("outer", 1) == 1
    assert names == dict.fromkeys({*EVENTS} - {"outer"}, 1), f"at {at} of {call}"
    record(path, interval=None, sampler=Live()).close()
    left = [one.name for one in threading.enumerate() if one.name.startswith("tracetime")]
    assert not left, f"at {at} of {call}"
    return places


def main() -> None:
    folder, interval, most = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    interval_s = None if interval == "none" else float(interval)
    for outer in CALLS:
        for inner in CALLS:
            path = folder / "out.pftrace"
            lines = once(path, interval_s, outer, inner, 0)
            step = max(1, lines // most)
            for at in range(1, lines + 1, step):
                print(f"{inner} at line {at} of {outer}", flush=True)
                once(path, interval_s, outer, inner, at)
    for call in CALLS:
        path = folder / "out.pftrace"
        places = once_raising(path, interval_s, call, 0)
        for at in range(1, places + 1, max(1, places // (5 * most))):
            print(f"raised at {at} of {call}", flush=True)
            once_raising(path, interval_s, call, at)
    print("done", flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
