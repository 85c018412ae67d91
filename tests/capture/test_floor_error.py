"""The error of floor between snapshots is reported, because a target for bars does not bound it."""

from __future__ import annotations

from pathlib import Path

import pytest
from simulated import GPU, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockId, open_trace
from tracetime.capture import sampling

S = 10**9
BOOTTIME, REALTIME = ClockId(6), ClockId(1)


def test_floor_is_off_by_no_more_than_is_reported(tmp_path: Path):
    """And by about as much: what each clock drifts against trace time in a second."""
    path = tmp_path / "out.pftrace"
    machine = Machine(usual_clocks())
    boot = machine.clocks[BOOTTIME]
    truth, clocks = [], list(machine.clocks)
    with tt.record(path, interval=None, sampler=machine) as rec:
        for n in range(200):
            clock = clocks[n % len(clocks)]
            # Just before the next snapshot.
            machine.now_ns += S
            rec.instant("e", timestamp=machine.clocks[clock].raw(machine.now_ns), clock=clock)
            truth.append((clock, boot.ns(machine.now_ns)))
            rec.snapshot()
        errors_ns = rec.floor_error_ns
    assert "BOOTTIME" not in errors_ns
    with open_trace(path) as trace:
        found = trace.read_all()["trace_time"].to_pylist()
    worst: dict[str, int] = {}
    for (clock, true_ns), found_ns in zip(truth, found, strict=True):
        name = machine.names[clock]
        worst[name] = max(worst.get(name, 0), abs(found_ns - true_ns))
    assert worst.pop("BOOTTIME") == 0
    assert all(ns <= errors_ns[name] for name, ns in worst.items())
    # 12 ppm, and 33 ppm with the device.
    assert worst["MONOTONIC_RAW"] == pytest.approx(12_000, abs=300)
    assert errors_ns["MONOTONIC_RAW"] == pytest.approx(12_000, abs=500)
    assert errors_ns[GPU] == pytest.approx(33_000, abs=500)


def test_a_step_is_no_drift(tmp_path: Path):
    machine = Machine(usual_clocks())
    machine.clocks[REALTIME].steps.append((machine.now_ns + 3 * S // 2, -3_600 * S))
    with tt.record(tmp_path / "out.pftrace", interval=None, sampler=machine) as rec:
        for _ in range(4):
            machine.now_ns += S
            rec.snapshot()
        assert rec.floor_error_ns["REALTIME"] < 1_000


@pytest.mark.parametrize(("target", "reported"), [("5us", True), ("1ms", False), (None, False)])
def test_record_tells_where_floor_misses_the_target(
    tracetime, tmp_path: Path, monkeypatch, target, reported
):
    """The clocks of another machine, in which the time passes with each look at it."""

    class Drifting(Machine):
        def __init__(self, *_: object, **__: object) -> None:
            super().__init__(usual_clocks())

        def sample(self):
            self.now_ns += S
            return super().sample()

    monkeypatch.setattr(sampling, "Sampler", Drifting)
    options = () if target is None else ("--target-error", target)
    path = tmp_path / "out.pftrace"
    code, out, err = tracetime("record", "-o", path, *options, "--duration", "100ms")
    assert (code, out) == (0, "")
    assert ("it is off by up to 33" in err) == reported
    assert ("dev.tracetime.vulkan" in err.split("\n", 1)[1]) == reported
