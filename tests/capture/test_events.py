"""Events of a recording, and the tracks that they are on."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
from live import TRACE_TIME, Live
from recorded import packets_of
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import UsageError, open_trace


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def test_default_tracks_are_the_threads(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        rec.begin("work", timestamp=machine.now_ns, clock=5)

        def work() -> None:
            rec.instant("there", timestamp=machine.now_ns, clock=5)

        thread = threading.Thread(target=work, name="worker")
        thread.start()
        thread.join()
        rec.end(timestamp=machine.now_ns, clock=5)
        rec.counter("load", 0.5, timestamp=machine.now_ns, clock=5)
        rec.counter(rec.counter_track("load"), 2, timestamp=machine.now_ns, clock=5)
        with pytest.raises(UsageError, match="a track is"):
            rec.instant("e", timestamp=1, clock=5, track=7)  # type: ignore[arg-type]
    packets = packets_of(path.read_bytes())
    threads = {
        p.track_descriptor.uuid: p.track_descriptor.thread
        for p in packets
        if p.track_descriptor.HasField("thread")
    }
    assert [t.thread_name for t in threads.values()] == ["MainThread", "worker"]
    assert {t.pid for t in threads.values()} == {os.getpid()}
    main, worker = threads
    assert [p.track_event.track_uuid for p in packets if p.track_event.type][:3] == [
        main,
        worker,
        main,
    ]


def test_a_thread_that_is_named_later_has_that_name(tmp_path):
    with tt.record(tmp_path / "t.pftrace", ["MONOTONIC"], interval=None) as rec:
        nameless = rec.thread_track(77)
        rec.instant("before", track=nameless)
        named = rec.thread_track(77, "render")
        rec.instant("after", track=named)
        assert (named.uuid, named.name) == (nameless.uuid, "render")
        assert rec.thread_track(77).name == rec.thread_track(77, "other").name == "render"
        assert rec.process_track(7).uuid == rec.process_track(7, "game").uuid
    with open_trace(rec.path) as trace:
        rows = trace.read_all(names=True).select(["name", "thread_name"]).to_pylist()
    assert rows == [{"name": name, "thread_name": "render"} for name in ("before", "after")]


def test_a_track_that_fills_the_buffer_leaves_the_flush_to_the_next_event(path):
    sampler = Live()
    options = {"buffer_bytes": 1 << 16, "flush_bytes": 1 << 12, "sampler": sampler}
    with tt.record(path, interval=None, **options) as rec:
        for _ in range(100):
            rec.instant("e")
        rec.track("long " * 1000)
        for _ in range(10_000):
            rec.instant("e")
        assert rec.events_dropped == 0


def test_live_events_lie_within_their_bars(path):
    """The reference, read before and after each event's own clock, must meet the event's bar."""
    reads = []
    with tt.record(path, interval=0.02, sampler=Live()) as rec:
        for n in range(400):
            clock, number = ((3, time.CLOCK_MONOTONIC), (1, time.CLOCK_REALTIME))[n % 2]
            before = time.clock_gettime_ns(TRACE_TIME)
            read = time.clock_gettime_ns(number)
            after = time.clock_gettime_ns(TRACE_TIME)
            rec.instant("e", timestamp=read, clock=clock)
            reads.append((before, after))
            if n % 10 == 0:
                time.sleep(0.003)
    with open_trace(path) as trace:
        table = trace.read_all("tube")
    bars = zip(table["earliest"].to_pylist(), table["latest"].to_pylist(), strict=True)
    for (earliest, latest), (before, after) in zip(bars, reads, strict=True):
        assert earliest <= after and before <= latest
