"""Clocks of the caller's: an event uses one only when snapshots lead from it to trace time."""

from __future__ import annotations

import time
import warnings
from pathlib import Path

import pytest
from live import TRACE_TIME, Live
from recorded import packets_of
from simulated import Machine, usual_clocks

import tracetime as tt
from tracetime import ClockDomain, ClockId, UsageError, clock_id, open_trace

S = 10**9
GPU = "com.example.gpu"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def statuses(path: Path) -> list[str]:
    with open_trace(path) as trace:
        return trace.read_all()["status"].to_pylist()


@pytest.mark.parametrize("ns_per_tick", [1, 10])
def test_a_clock_that_no_snapshot_has_is_refused(path, ns_per_tick):
    """Its events would be lost: nothing says when they are."""
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.declare(ClockDomain(GPU, ns_per_tick=ns_per_tick))
        for _ in range(2):
            with pytest.raises(
                UsageError, match=r'no snapshot has com\.example\.gpu yet: .*"BOOTTIME": ns'
            ):
                rec.instant("lost", timestamp=100, clock=GPU)
        rec.snapshot({GPU: 100, "BOOTTIME": time.clock_gettime_ns(TRACE_TIME)})
        rec.instant("placed", timestamp=100, clock=GPU)
    assert statuses(path) == ["resolved"]


def test_a_clock_whose_snapshots_lead_nowhere_is_refused(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.snapshot({"a.one": 5, "a.two": 7})
        rec.snapshot({"a.two": 8, "a.three": 9})
        message = r"the snapshots of a\.one have a\.three, a\.two alone, which lead nowhere: take"
        with pytest.raises(UsageError, match=message):
            rec.instant("lost", timestamp=6, clock="a.one")
        rec.snapshot({"a.three": 10, "REALTIME": time.time_ns()})
        rec.instant("placed", timestamp=9, clock="a.three")
        rec.instant("placed", timestamp=6, clock="a.one")
    assert statuses(path) == ["resolved", "resolved"]


def test_a_full_file_drops_the_events_of_a_clock_that_it_has_no_room_to_tie(path):
    with tt.record(path, interval=None, sampler=Live(), max_size=1 << 14) as rec:
        for name in ("e" * 100, "e"):
            dropped = rec.events_dropped
            while rec.events_dropped == dropped:
                rec.instant(name)
        rec.snapshot({GPU: 100, "MONOTONIC": time.monotonic_ns()})
        dropped = rec.events_dropped
        rec.instant("e", timestamp=100, clock=GPU)
        assert rec.events_dropped == dropped + 1


def test_numbers_that_any_producer_may_take_are_warned_of(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        for number in (128, (1 << 31) - 1):
            with pytest.warns(UserWarning, match=f"clock {number} is every producer's"):
                rec.declare(ClockDomain(ClockId(number)))
        with pytest.warns(UserWarning, match="clock 200 is every"):
            rec.snapshot({"200": 5, "MONOTONIC": 7})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rec.declare(ClockDomain(ClockId(200)))
            rec.declare(ClockDomain(ClockId(127)))
            rec.declare(ClockDomain(ClockId(1 << 31)))
            rec.declare(ClockDomain(GPU))


def test_a_clock_that_can_be_read_is_in_every_snapshot_with_trace_time(path):
    reads = []

    def read() -> int:
        reads.append(time.clock_gettime_ns(TRACE_TIME) // 10 % (1 << 40))
        return reads[-1]

    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.declare(ClockDomain(GPU, ns_per_tick=10, valid_bits=40), read)
        before = time.clock_gettime_ns(TRACE_TIME)
        rec.instant("first", timestamp=read(), clock=GPU)
        after = time.clock_gettime_ns(TRACE_TIME)
        rec.snapshot()
        rec.complete("draw", read(), 5, clock=GPU)
    packets = packets_of(path.read_bytes())
    found = [[c.clock_id for c in packet.clock_snapshot.clocks] for packet in packets]
    tied = [clocks for clocks in found if clock_id(GPU) in clocks]
    assert len(tied) == 3 and all(6 in clocks for clocks in tied)
    assert found.index(tied[0]) < [p.HasField("track_event") for p in packets].index(True)
    with open_trace(path) as trace:
        table = trace.read_all("tube")
    assert set(table["status"].to_pylist()) == {"resolved"}
    assert table["earliest"][0].as_py() <= after and before - 10 <= table["latest"][0].as_py()


def test_a_clock_that_fails_to_be_read_is_a_problem_of_the_recording(path):
    working = True

    def read() -> int:
        if working:
            return 5
        raise OSError("unplugged")

    with tt.record(path, interval=None, sampler=Live()) as rec:
        rec.declare(ClockDomain(GPU), read)
        working = False
        with pytest.warns(UserWarning, match="unplugged"):
            rec.snapshot()
        (problem,) = rec.problems
        assert problem.what == GPU and "unplugged" in problem.message
        with pytest.raises(OSError, match="unplugged"):
            rec.declare(ClockDomain("com.example.other"), read)


@pytest.mark.parametrize("reading", [-5, 1.5, None, True, "5", 1 << 63])
def test_a_reading_that_is_no_count_of_ticks_is_named(path, reading):
    with (
        tt.record(path, interval=None, sampler=Live()) as rec,
        pytest.raises(UsageError, match=f"com.example.counter was read as {reading!r}: "),
    ):
        rec.declare(ClockDomain("com.example.counter"), lambda: reading)


def test_without_a_trace_clock_that_can_be_read_the_caller_ties_its_clocks_in(path):
    machine = Machine([clock for clock in usual_clocks() if clock.domain.id.clock > 127])
    with (
        tt.record(path, interval=None, sampler=machine) as rec,
        pytest.raises(UsageError, match="leave `read` out"),
    ):
        rec.declare(ClockDomain(GPU), lambda: 5)
