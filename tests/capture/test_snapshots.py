"""Snapshots of a recording: of its own clocks, and those that the caller gives."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from live import Live
from recorded import names_of
from simulated import GPU, TSC, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockDomain, ClockId, SourceError, UsageError, clock_id, open_trace

S = 10**9


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


def test_clocks_of_the_callers_own(path):
    """Sequence-scoped and named, in ns and in ticks of their own; tied in by hand."""
    machine = Machine(usual_clocks())
    boot = machine.clocks[ClockId(6)]
    with tt.record(path, interval=None, sampler=machine) as rec:
        assert rec.clocks[GPU] == ClockId(clock_id(GPU))
        ticking = rec.declare(ClockDomain("com.example.ticks", ns_per_tick=100, valid_bits=16))
        now = boot.ns(machine.now_ns)
        rec.snapshot({64: 1_000, "BOOTTIME": now})
        rec.snapshot({"com.example.frames": 50, "com.example.ticks": 65_530, 6: now})
        # A raw reading of a device ties in too.
        gpu = machine.clocks[ClockId.parse(GPU)]
        rec.snapshot({GPU: gpu.raw(machine.now_ns), "com.example.late": 9})
        rec.instant("a", timestamp=1_500, clock=64)
        rec.instant("b", timestamp=70, clock="com.example.frames")
        rec.instant("c", timestamp=4, clock=ticking)
        rec.instant("d", timestamp=10, clock="com.example.late")
        tsc = machine.clocks[ClockId.parse(TSC)]
        for name in ("TSC", TSC):
            rec.instant("f", timestamp=tsc.raw(machine.now_ns), clock=name)
        tai = machine.clocks[ClockId.parse("dev.tracetime.tai")]
        rec.instant("f", timestamp=tai.ns(machine.now_ns), clock="TAI")
        with pytest.raises(UsageError, match="alone ties nothing"):
            rec.snapshot({"com.example.frames": 60})
        with pytest.raises(UsageError, match="dict of clock"):
            rec.snapshot(5)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="incremental"):
            rec.snapshot({64: tt.Reading(1, 1, True), 6: now})
    with open_trace(path) as trace:
        a, b, c, d, *short = trace.read_all()["trace_time"].to_pylist()
        assert (a - now, b - now, c - now) == (500, 20, 1_000)
        assert abs(d - now) < 500
        assert all(abs(one - now) < 500 for one in short)
        names = {str(clock): domain.name for clock, domain in trace.recorded_domains.items()}
        assert names[str(ClockId.parse("com.example.frames"))] == "com.example.frames"
        assert names[str(ticking)] is None or names[str(ticking)] == "com.example.ticks"


@pytest.mark.parametrize(
    ("readings", "says"),
    [
        ({"MONOTONIC": 1, 3: 2, "com.example.gpu": 5}, "MONOTONIC appears twice"),
        ({"MONOTONIC": tt.Reading(1, unit_ns=1_000), "com.example.gpu": 5}, "units of 1 ns"),
        ({"MONOTONIC": 1, "com.example.ms": tt.Reading(5, unit_ns=1_000)}, "units of 1000000 ns"),
        ({"MONOTONIC": 1, 64: tt.Reading(5, unit_ns=1_000)}, "in ticks as declared"),
    ],
)
def test_what_perfetto_would_drop_is_refused(path, readings, says):
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        rec.declare(ClockDomain(64, ns_per_tick=Fraction(125, 3)))
        rec.snapshot({"MONOTONIC": 10**12, "com.example.ms": tt.Reading(10**6, unit_ns=10**6)})
        taken = rec.snapshots
        with pytest.raises(UsageError, match=says):
            rec.snapshot(readings)
        assert rec.snapshots == taken


def test_what_the_user_ties_in_does_not_take_over(path):
    """The sampled clocks are not converted by a caller's snapshot of two of them."""
    machine = Machine(usual_clocks())
    boot, raw = machine.clocks[ClockId(6)], machine.clocks[ClockId(5)]
    with tt.record(path, interval=None, sampler=machine) as rec:
        own = {"MONOTONIC_RAW": raw.ns(machine.now_ns), 6: boot.ns(machine.now_ns), 64: 5}
        rec.snapshot(own)
        machine.now_ns += 1_000 * S
        rec.snapshot()
        rec.instant("e", timestamp=raw.ns(machine.now_ns), clock="MONOTONIC_RAW")
        truth = boot.ns(machine.now_ns)
    with open_trace(path) as trace:
        (found,) = trace.read_all()["trace_time"].to_pylist()
        assert abs(found - truth) < 300


def test_a_domain_has_the_name_that_it_was_declared_by(tmp_path):
    assert ClockDomain("com.example.gpu@machine1").name == "com.example.gpu"
    assert ClockDomain("com.example.gpu", "GPU").name == "GPU"
    assert [ClockDomain(clock).name for clock in ("TSC", "64@seq7", 0x8A01B2C3)] == [None] * 3
    path = tmp_path / "named.pftrace"
    with tt.record(path, interval=None, sampler=Machine(usual_clocks())) as rec:
        rec.declare(ClockDomain("com.example.gpu", ns_per_tick=Fraction(125, 3), valid_bits=36))
        rec.snapshot({"com.example.gpu": 24_000_000, "MONOTONIC": 10**12})
    with open_trace(path) as trace:
        assert "com.example.gpu" in trace.clocks.names.values()


def test_nothing_is_declared_once_it_is_closed(path):
    with tt.record(path, interval=None, sampler=Live()) as rec:
        pass
    with pytest.raises(UsageError, match="closed"):
        rec.declare(ClockDomain("com.example.late"))


def test_after_the_end_nothing_is_sampled(path):
    sampler = Live()
    with tt.record(path, interval=None, sampler=sampler) as rec:
        pass
    sampled = sampler.samples
    for readings in (None, {"MONOTONIC": 1, "com.example.gpu": 2}):
        with pytest.raises(UsageError, match="closed"):
            rec.snapshot(readings)
    assert sampler.samples == sampled


@pytest.mark.filterwarnings("ignore:recording")
def test_a_device_that_vanishes_is_a_problem_and_the_others_go_on(path):
    machine = Machine(usual_clocks())
    boot = machine.clocks[ClockId(6)]
    raw = machine.clocks[ClockId(5)]
    truth = []
    with tt.record(path, interval=None, sampler=machine) as rec:
        for second in range(10):
            machine.clocks[ClockId.parse(GPU)].lost = 4 <= second < 7
            rec.snapshot()
            rec.instant("e", timestamp=raw.ns(machine.now_ns + 5), clock="MONOTONIC_RAW")
            truth.append(boot.ns(machine.now_ns + 5))
            machine.now_ns += S
        assert [(p.what, p.times) for p in rec.problems] == [(GPU, 3)]
    with open_trace(path) as trace:
        # With and without it; the latest snapshot counts, whatever clocks it has.
        assert [info.snapshots for info in trace.clocks.series()] == [5, 3, 4]
        found = trace.read_all()["trace_time"].to_pylist()
        assert all(abs(a - b) < 300 for a, b in zip(found, truth, strict=True))


def test_a_sampler_that_fails_leaves_what_was_written(path):
    machine = Machine(usual_clocks())
    rec = tt.record(path, interval=None, sampler=machine)
    rec.instant("e", timestamp=machine.now_ns, clock=5)
    machine.fails = "the reference cannot be read"
    with pytest.raises(SourceError, match="cannot be read"):
        rec.snapshot()
    with pytest.warns(UserWarning, match="the last snapshot"):
        rec.close()
    assert names_of(path.read_bytes()) == {"e": 1}
    # A sampler that fails at once leaves no recording.
    with pytest.raises(SourceError):
        tt.record(path, interval=None, sampler=machine)
