"""Recordings of a simulated machine, where the truth is known; and how they end."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from random import Random

import pyarrow.compute as pc
import pytest
from live import Live
from recorded import names_of, packets_of, split
from simulated import GPU, TSC, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockDomain, ClockId, UsageError, open_trace

S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def primary(path: Path) -> ClockId:
    with open_trace(path) as trace:
        return trace.trace_clock


def test_every_event_lies_within_its_bar(path):
    """In every clock, raw ticks included, between snapshots 1 s apart."""
    machine = Machine(usual_clocks())
    random = Random(3)
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        boot = machine.clocks[ClockId.parse("BOOTTIME")]
        for _ in range(90):
            for _ in range(30):
                true_ns = machine.now_ns + random.randrange(S)
                clock, one = random.choice(list(machine.clocks.items()))
                rec.instant("e", timestamp=one.raw(true_ns), clock=clock)
                truth.append(boot.ns(true_ns))
            machine.now_ns += S
            rec.snapshot()
    with open_trace(path) as trace:
        assert str(trace.trace_clock) == "BOOTTIME"
        table = trace.read_all("tube")
        assert len(table) == len(truth) == 2_700
        assert set(table["status"].to_pylist()) == {"resolved"}
        earliest, latest = table["earliest"].to_pylist(), table["latest"].to_pylist()
        assert all(a <= t <= b for a, t, b in zip(earliest, truth, latest, strict=True))
        # Measured, not assumed: the bars are as wide as the brackets, and what clocks may stray.
        widths = pc.subtract(table["latest"], table["earliest"])
        assert 50 < pc.quantile(widths, 0.5)[0].as_py() < 500
    # Perfetto's classes parse every packet; the floor policy agrees with the rules: the offset of
    # the latest snapshot before.
    assert len(packets_of(path.read_bytes())) > 2_700
    with open_trace(path) as trace:
        floor = trace.read_all()["trace_time"].to_pylist()
        # 33 ppm of drift over a second, and a bracket.
        assert all(abs(a - b) < 40_000 for a, b in zip(floor, truth, strict=True))


def floor_by_hand(data: bytes) -> list[int]:
    """Trace times by the rule itself: per event, the latest snapshot before it, in file order."""
    snapshots: list[dict[int, int]] = []
    defaults: dict[int, int] = {}
    found = []
    for packet in packets_of(data):
        if packet.HasField("trace_packet_defaults"):
            defaults[packet.trusted_packet_sequence_id] = (
                packet.trace_packet_defaults.timestamp_clock_id
            )
        if packet.HasField("clock_snapshot"):
            snapshots.append({c.clock_id: c.timestamp for c in packet.clock_snapshot.clocks})
        elif packet.HasField("track_event"):
            clock = packet.timestamp_clock_id or defaults[packet.trusted_packet_sequence_id]
            before = [s for s in snapshots if clock in s and s[clock] <= packet.timestamp]
            used = before[-1] if before else next(s for s in snapshots if clock in s)
            found.append(packet.timestamp + used[6] - used[clock])
    return found


def test_the_floor_policy_agrees_with_the_rule(path):
    machine = Machine(usual_clocks())
    with tt.record(path, interval=None, sampler=machine) as rec:
        for n in range(200):
            clock, one = list(machine.clocks.items())[n % 7]
            rec.instant("e", timestamp=one.raw(machine.now_ns), clock=clock)
            machine.now_ns += S // 10
            if n % 7 == 0:
                rec.snapshot()
    with open_trace(path) as trace:
        assert trace.read_all()["trace_time"].to_pylist() == floor_by_hand(path.read_bytes())


@pytest.mark.parametrize("clock", ["REALTIME", GPU, TSC])
def test_after_a_step_back_events_resolve_rightly(path, clock):
    """By the floor rule: more than the interval, twice, and for every clock that can be set."""
    machine = Machine(usual_clocks())
    stepping = machine.clocks[ClockId.parse(clock)]
    start = machine.now_ns
    stepping.steps += [(start + 5 * S, -300 * S), (start + 12 * S, -7 * S)]
    stepping.offset_ns += 4_000 * S
    if clock == GPU:
        # A step within the counter's bits is distinguished from its wrap by the elapsed time.
        stepping.domain = ClockDomain(GPU, GPU, ns_per_tick=stepping.domain.ns_per_tick)
    boot = machine.clocks[ClockId(6)]
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        for _ in range(20):
            for n in range(5):
                true_ns = machine.now_ns + n * S // 6
                rec.instant("e", timestamp=stepping.raw(true_ns), clock=clock)
                truth.append(boot.ns(true_ns))
            machine.now_ns += S
            rec.snapshot()
    with open_trace(path) as trace:
        assert len(trace.clocks.series()) == 3
        table = trace.read_all()
        assert set(table["status"].to_pylist()) == {"resolved"}
        off = [abs(a - b) for a, b in zip(table["trace_time"].to_pylist(), truth, strict=True)]
        # Only those between a step and the snapshot that shows it can be wrong.
        assert sum(one > 100_000 for one in off) <= 10
        found = [d for d in trace.clocks.discontinuities() if d.kind != "suspend"]
        assert len(found) >= 2, trace.clocks.discontinuities()
    assert floor_by_hand(path.read_bytes())[:25] == table["trace_time"].to_pylist()[:25]


def test_the_trace_is_whole_from_the_start_and_after_each_flush(path):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    assert sum(p.HasField("clock_snapshot") for p in packets_of(path.read_bytes())) == 1
    rec.instant("e", timestamp=machine.now_ns, clock=5, track="mine")
    before = rec.size
    assert path.stat().st_size == before
    rec.flush()
    assert path.stat().st_size == rec.size > before
    assert names_of(path.read_bytes()) == {"e": 1}
    rec.close()
    rec.close()
    for act in (
        lambda: rec.instant("e", timestamp=1, clock=5, track="mine"),
        lambda: rec.track("other"),
        lambda: rec.snapshot(),
    ):
        with pytest.raises(UsageError, match="closed"):
            act()


@pytest.mark.parametrize("interval", [None, 1])
def test_a_buffer_smaller_than_the_first_snapshot_is_flushed(path, interval):
    with tt.record(path, ["MONOTONIC"], interval=interval, flush_bytes=1) as rec:
        rec.instant("e")
    assert names_of(path.read_bytes()) == {"e": 1}


def test_a_recording_that_nobody_closes_is_whole(path):
    code = f"""
import tracetime as tt
rec = tt.record({str(path)!r}, clocks=["MONOTONIC"], interval=60, flush_interval=60)
rec.instant("e")
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    assert names_of(path.read_bytes()) == {"e": 1}
    with open_trace(path) as trace:
        assert sum(series.snapshots for series in trace.clocks.series()) == 2


def test_an_error_in_the_block_stays_the_error(path):
    with (
        pytest.raises(ValueError, match="mine"),
        tt.record(path, interval=None, sampler=Live()) as rec,
    ):
        rec.instant("e")
        raise ValueError("mine")
    assert names_of(path.read_bytes()) == {"e": 1}
    assert split(path.read_bytes())
