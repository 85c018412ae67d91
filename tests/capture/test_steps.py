"""When a recording takes its snapshots: from start to start, and at once when a clock is set."""

from __future__ import annotations

import ctypes
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from live import Live, wait_for
from platforms import LINUX, WITH_BOOTTIME
from simulated import START_NS, Machine, usual_clocks

import tracetime as tt
from tracetime import ClockId, open_trace
from tracetime.capture import steps
from tracetime.capture.steps import StepWatch
from tracetime.sources.posix import STA_NANO, _call, _Timex

S = 10**9
ADJ_SETOFFSET, ADJ_MICRO, ADJ_NANO = 0x0100, 0x1000, 0x2000


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "out.pftrace"


class Hours:
    """A time that passes where it is waited for, and where clocks are read; ends the test's."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, until_s: float) -> None:
        self.now_s = 5.0
        self.until_s = self.now_s + until_s
        self.late_s = 0.0
        self.set_at_s: float | None = None
        self.steps: list[tuple[int, int]] = []
        self.over = threading.Event()
        self.woken = threading.Event()
        now = SimpleNamespace(monotonic=lambda: self.now_s)
        for module in ("recorder", "background"):
            monkeypatch.setattr(f"tracetime.capture.{module}.time", now)
        monkeypatch.setattr("tracetime.capture.background.StepWatch", lambda: self)

    def wait(self, seconds: float) -> bool:
        if self.set_at_s is not None and self.now_s + seconds > self.set_at_s:
            self.now_s, self.set_at_s = max(self.now_s, self.set_at_s), None
            return True
        self.end_at(self.now_s + seconds)
        self.now_s += seconds + self.late_s
        return False

    def end_at(self, now_s: float) -> None:
        if now_s > self.until_s + 1e-6:
            self.over.set()
            self.woken.wait()

    def wake(self) -> None:
        self.woken.set()

    def close(self) -> None:
        pass


def recorded(
    path: Path, hours: Hours, interval_s: float, takes_s: Sequence[float], **options: Any
) -> list[float]:
    """When each snapshot was begun, s; `takes_s`: what they take, the last of these all others."""
    machine = Machine(usual_clocks())
    machine.clocks[ClockId(1)].steps += hours.steps
    begun, sample = [], machine.sample

    def slowly():
        hours.end_at(hours.now_s)
        begun.append(hours.now_s - 5.0)
        hours.now_s += takes_s[min(len(begun), len(takes_s)) - 1]
        machine.now_ns = START_NS + round((hours.now_s - 5.0) * S)
        return sample()

    machine.sample = slowly
    with tt.record(path, interval=interval_s, sampler=machine, **options):
        assert hours.over.wait(600)
        taken = len(begun)
    return begun[:taken]


@pytest.mark.parametrize("late_s", [0.0, 0.001])
@pytest.mark.parametrize("takes_s", [0.0001, 0.004, 0.009])
def test_an_interval_is_from_start_to_start(path, monkeypatch, takes_s, late_s):
    """10 ms gives 100 a second, whatever one takes, and however late a thread is woken."""
    hours = Hours(monkeypatch, 1.005)
    hours.late_s = late_s
    begun = recorded(path, hours, 0.01, [takes_s])
    assert len(begun) == 101
    assert begun[-1] == pytest.approx(1.0, abs=0.0011)


def test_snapshots_that_cannot_keep_up_are_not_made_up_for(path, monkeypatch):
    """3 s for each: one follows the other, and nothing piles up."""
    hours = Hours(monkeypatch, 30.0)
    slow = [3.0 * n for n in range(6)]
    # The last of them is as late as one may be: another follows at once, and then they are on time.
    prompt = [15.0 + 0.5 * n for n in range(1, 31)]
    begun = recorded(path, hours, 0.5, [3.0] * 5 + [0.001])
    assert begun == pytest.approx(slow + prompt, abs=0.51)
    assert len(begun) <= len(slow) + len(prompt)


def test_a_step_brings_a_snapshot_at_once_and_leaves_the_others_where_they_were(path, monkeypatch):
    hours = Hours(monkeypatch, 40.0)
    hours.set_at_s = 5.0 + 13.0
    assert recorded(path, hours, 10.0, [0.5]) == pytest.approx([0.0, 10.0, 13.0, 20.0, 30.0, 40.0])


def test_after_a_step_the_interval_is_as_short_as_the_target_wants_it(path, monkeypatch):
    """Nothing is known of the rate of a clock that was set: not half a minute later, but at once."""
    hours = Hours(monkeypatch, 400.0)
    hours.set_at_s = 5.0 + 350.0
    hours.steps = [(START_NS + 350 * S, -3_600 * S)]
    begun = recorded(path, hours, 60.0, [0.001], target_error_ns=100_000)
    before = [at_s for at_s in begun if at_s < 350.0]
    assert before[-1] - before[-2] > 10.0
    after = [at_s - 350.0 for at_s in begun if at_s >= 350.0]
    assert after[0] == pytest.approx(0.0)
    assert after[1] < 0.5


@LINUX
def test_a_clock_that_was_set_ends_the_waiting(monkeypatch):
    timer = os.eventfd(0, os.EFD_NONBLOCK)
    monkeypatch.setattr(steps, "timer_of_the_wall_clock", lambda: os.dup(timer))
    watch = StepWatch()
    assert watch.notices
    assert not watch.wait(0.001)
    os.eventfd_write(timer, 1)
    assert watch.wait(3_600)
    assert not watch.wait(0.001), "once"
    watch.wake()
    assert not watch.wait(3_600)
    watch.close()
    os.close(timer)


@LINUX
def test_descriptors_that_others_close_are_left_alone(monkeypatch):
    """As a process does that goes on as a daemon: without a pause one snapshot followed another."""
    timer = os.eventfd(0, os.EFD_NONBLOCK)
    monkeypatch.setattr(steps, "timer_of_the_wall_clock", lambda: timer)
    watch = StepWatch()
    os.close(timer)
    start = time.monotonic()
    assert not watch.wait(0.05)
    assert time.monotonic() - start >= 0.05
    assert not watch.notices
    watch.wake()
    assert not watch.wait(3_600)
    watch.close()


def test_where_nobody_tells_it_only_waits(monkeypatch):
    monkeypatch.setattr(steps, "timer_of_the_wall_clock", lambda: -1)
    watch = StepWatch()
    assert not watch.notices
    assert not watch.wait(0.001)
    threading.Timer(0.05, watch.wake).start()
    assert not watch.wait(3_600)
    watch.close()


@LINUX
def test_this_machine_tells(path):
    """Its wall clock is set by 1 ns, and back: an hour before the next snapshot is due."""
    watch = StepWatch()
    assert watch.notices
    watch.close()
    with tt.record(path, interval=3_600, sampler=Live()) as rec:
        # Others may set it, too: of all that, there is a snapshot each.
        taken = rec.snapshots
        try:
            set_by(1)
            wait_for(lambda: rec.snapshots > taken)
            taken = rec.snapshots
        finally:
            set_by(-1)
        wait_for(lambda: rec.snapshots > taken)


def set_by(ns: int) -> None:
    """Set REALTIME, or skip the test where one must not."""
    call = _call()
    state = _Timex()
    assert call is not None
    call(ctypes.byref(state))
    change = _Timex(modes=ADJ_SETOFFSET | ADJ_NANO, time_s=-(ns < 0), time_us=ns % S)
    if call(ctypes.byref(change)) < 0:
        pytest.skip("no privilege to set the clock")
    if not state.status & STA_NANO:
        call(ctypes.byref(_Timex(modes=ADJ_MICRO)))


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


@LINUX
def test_its_descriptors_are_closed(path):
    before = open_files()
    for _ in range(3):
        with tt.record(path, interval=60, sampler=Live()):
            assert open_files() > before
    assert open_files() == before


@WITH_BOOTTIME
def test_a_recording_has_boottime_with_any_clocks(path):
    with tt.record(path, ["MONOTONIC"], interval=None) as rec:
        assert set(rec.clocks) == {"MONOTONIC_RAW", "MONOTONIC", "BOOTTIME"}
    with open_trace(path) as trace:
        assert str(trace.trace_clock) == "BOOTTIME"
    with tt.Sampler(["MONOTONIC"]) as sampler:
        assert ClockId(6) not in sampler.domains


@LINUX
def test_the_timer_is_of_the_wall_clock_never_ends_and_is_cancelled_when_that_is_set():
    timer = steps.timer_of_the_wall_clock()
    try:
        facts = dict(
            line.split(":", 1)
            for line in Path(f"/proc/self/fdinfo/{timer}").read_text().splitlines()
        )
        assert int(facts["clockid"]) == time.CLOCK_REALTIME
        # TFD_TIMER_ABSTIME and TFD_TIMER_CANCEL_ON_SET.
        assert int(facts["settime flags"], 8) == 3
        assert facts["it_interval"].strip() == "(0, 0)"
        left_s, _ = map(int, facts["it_value"].strip(" ()").split(","))
        # Some 292 years of ns are the longest that the kernel counts.
        assert left_s > 200 * 365 * 86_400
        assert not os.get_inheritable(timer)
        assert not os.get_blocking(timer)
    finally:
        os.close(timer)


@LINUX
def test_a_wait_of_less_than_nothing_is_none(monkeypatch):
    watch = StepWatch()
    assert not watch.wait(-5)
    watch.close()
    monkeypatch.setattr(steps, "timer_of_the_wall_clock", lambda: -1)
    watch = StepWatch()
    assert not watch.wait(-5)
    watch.close()


@LINUX
def test_a_wait_takes_the_given_time():
    watch = StepWatch()
    start = time.monotonic()
    assert not watch.wait(0.05)
    assert 0.05 <= time.monotonic() - start < 600
    watch.close()
    watch.close()


@LINUX
@pytest.mark.parametrize("name", ["timerfd_create", "timerfd_settime"])
def test_without_the_systems_calls_there_is_no_timer(monkeypatch, name):
    class Lacking:
        def __init__(self, _):
            self.system = ctypes.pythonapi

        def __getattr__(self, wanted):
            if wanted == name:
                raise AttributeError(wanted)
            return lambda *_: 0

    monkeypatch.setattr(ctypes, "CDLL", Lacking)
    assert steps.timer_of_the_wall_clock() == -1


@LINUX
def test_where_the_kernel_refuses_there_is_no_timer(monkeypatch):
    monkeypatch.setattr(
        ctypes,
        "CDLL",
        lambda _: SimpleNamespace(timerfd_create=lambda *_: -1, timerfd_settime=lambda *_: 1 / 0),
    )
    assert steps.timer_of_the_wall_clock() == -1
    kept = os.eventfd(0)
    monkeypatch.setattr(
        ctypes,
        "CDLL",
        lambda _: SimpleNamespace(timerfd_create=lambda *_: kept, timerfd_settime=lambda *_: -1),
    )
    assert steps.timer_of_the_wall_clock() == -1
    with pytest.raises(OSError, match="Bad file"):
        os.fstat(kept)


@LINUX
def test_without_a_descriptor_to_wake_it_only_waits(monkeypatch):
    before = open_files()

    def refuse(*_):
        raise OSError("no more")

    monkeypatch.setattr(os, "eventfd", refuse)
    watch = StepWatch()
    assert not watch.notices
    assert open_files() == before
    watch.wake()
    assert not watch.wait(3_600)
    watch.close()
