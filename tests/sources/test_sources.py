"""Sources of clocks: their ticks, rates and notes; steps, periods and wraps as functions."""

from __future__ import annotations

import ctypes
import struct
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX

from tracetime._kernels import capture as kernel
from tracetime.capture.choice import Unwrapper
from tracetime.clocks.ids import ClockId, clock_id
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.errors import SourceError, UsageError
from tracetime.sources import local, names, posix, tsc
from tracetime.sources.local import HostSource, LocalClocks
from tracetime.sources.posix import PosixSource
from tracetime.sources.tick import common_resolution
from tracetime.sources.tsc import TscSource
from tracetime.sources.vulkan import exact_period, simplest_between


def differences(*pairs):
    return np.concatenate([np.full(count, value, dtype=np.int64) for value, count in pairs])


def test_the_step_is_the_spacing_of_the_differences_and_not_the_least():
    assert common_resolution(differences((20, 300), (30, 200), (40, 100), (50, 90))) == 10


def test_a_step_that_is_no_whole_number():
    # 24 MHz: 41.67 ns, rounded down at each reading.
    readings = np.cumsum(np.random.default_rng(1).integers(1, 6, 2000)) * 125 // 3
    assert common_resolution(np.diff(readings)) == pytest.approx(125 / 3, rel=0.01)


def test_a_clock_of_every_nanosecond_steps_by_one():
    spans = np.random.default_rng(1).integers(20, 60, 2000)
    assert common_resolution(spans) == 1
    assert common_resolution(differences((24, 100), (25, 100), (26, 100), (27, 100))) == 1


def test_rare_differences_do_not_count():
    assert common_resolution(differences((20, 500), (30, 450), (10_007, 1), (123_456, 1))) == 10


def test_a_clock_that_stands_still_has_no_step():
    assert common_resolution(np.zeros(10, dtype=np.int64)) is None


@given(st.integers(5, 1000), st.integers(1, 9), st.integers(0, 10**6))
def test_the_step_of_any_counter(step, numerator, seed):
    rng = np.random.default_rng(seed)
    readings = np.cumsum(rng.integers(1, 8, 2000)) * step
    assert common_resolution(np.diff(readings)) == step


@pytest.mark.parametrize(
    ("given_ns", "exact"),
    [
        (1.0, Fraction(1)),
        (52.083333333, Fraction(625, 12)),
        (83.3333333, Fraction(250, 3)),
        (41.6666667, Fraction(125, 3)),
        (10.0, Fraction(10)),
        (38.4615384, Fraction(500, 13)),
        (0.0000001, None),
        (1e9, Fraction(10**9)),
    ],
)
def test_the_fraction_behind_a_period(given_ns, exact):
    found = exact_period(given_ns)
    assert exact is None or found == exact


@given(st.floats(2.0**-10, 2.0**30, width=32))
def test_a_period_rounds_to_the_float_it_came_from(value):
    found = exact_period(value)
    # Either end of the range may be a tie: both neighbours are as near.
    (back,) = struct.unpack("<f", struct.pack("<f", float(found)))
    assert back == value or abs(found / Fraction(value) - 1) <= Fraction(1, 2**24)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf")])
def test_a_period_that_is_none_is_an_error_of_the_machine(value):
    with pytest.raises(SourceError, match="leave it out"):
        exact_period(value)


@given(
    st.fractions(Fraction(1, 100), 100, max_denominator=10**6),
    st.fractions(0, 1, max_denominator=1000),
)
def test_the_simplest_fraction_is_inside_and_none_is_simpler(low, width):
    high = low + width
    found = simplest_between(low, high)
    assert low <= found <= high
    for denominator in range(1, min(found.denominator, 60)):
        assert (high.numerator * denominator) // high.denominator < -(
            -low.numerator * denominator // low.denominator
        )


@given(
    st.integers(8, 64),
    st.fractions(Fraction(1, 4), 100, max_denominator=12),
    st.lists(st.integers(0, 10**6), min_size=1, max_size=30),
    st.integers(0, 2**64 - 1),
)
def test_wraps_are_undone_however_many(bits, rate, steps, start):
    follower = Unwrapper(bits, rate)
    start %= 1 << bits
    ticks, host_ns = start, 0
    assert follower.follow(start, 0) == (start, 0)
    for step in steps:
        ticks += step
        host_ns += int(step * rate)
        assert follower.follow(ticks % (1 << bits), host_ns) == (ticks, 0)


@given(st.integers(20, 64), st.integers(1, 1000), st.integers(1, 10**6))
def test_going_back_is_no_wrap(bits, back, passed_ns):
    follower = Unwrapper(bits, Fraction(1000))
    follower.follow(5000, 0)
    ticks, gone = follower.follow(5000 - back, passed_ns)
    assert (ticks, gone) == (5000 - back, back)


@LINUX
def test_the_seven_clocks_of_posix():
    source = PosixSource()
    assert list(source.clocks) == [
        "MONOTONIC_RAW",
        "MONOTONIC",
        "BOOTTIME",
        "REALTIME",
        names.TAI,
        "MONOTONIC_COARSE",
        "REALTIME_COARSE",
    ]
    assert source.unavailable == ()
    for name, clock in source.clocks.items():
        domain = source.domain(clock)
        assert domain is source.domain(clock)
        assert domain.oscillator == "posix@machine0"
        assert domain.ns_per_tick == 1
        code = source.native_code(clock)
        before = time.clock_gettime_ns(code)
        assert before <= source.read(clock) <= time.clock_gettime_ns(code)
        if name.endswith("COARSE"):
            # At least its step: 1 to 10 ms, after the kernel's tick.
            assert domain.tick_ns >= time.clock_getres(code) * 1e9 >= 1_000_000
        else:
            assert 1 <= domain.tick_ns < 100_000
    tai = source.domain(source.clocks[names.TAI])
    assert tai.id == ClockId(clock_id("dev.tracetime.tai"))
    assert tai.disciplined


@LINUX
def test_tai_that_equals_realtime_has_a_note():
    source = PosixSource()
    tai = source.clocks[names.TAI]
    apart = source.read(tai) - time.clock_gettime_ns(time.CLOCK_REALTIME)
    note = source.note(tai)
    if abs(apart) < 500_000_000:
        assert "equals REALTIME" in note
    else:
        assert note is None
    assert source.note(source.clocks["REALTIME"]) is None


@LINUX
def test_tai_of_a_kernel_with_an_offset(monkeypatch):
    state = KernelClock(0, 10_000, 0, 0, 0, 0, 0, 37)
    monkeypatch.setattr(posix, "read_adjtimex", lambda: state)
    assert posix.tai_note() is None
    monkeypatch.setattr(posix, "read_adjtimex", lambda: None)
    monkeypatch.setattr(posix, "read_one", {11: 10**18 + 37 * 10**9, 0: 10**18}.__getitem__)
    assert posix.tai_note() is None
    monkeypatch.setattr(posix, "read_one", {11: 10**18 + 37, 0: 10**18}.__getitem__)
    assert "equals REALTIME" in posix.tai_note()


def test_other_systems_have_no_posix_source(monkeypatch):
    monkeypatch.setattr(posix.sys, "platform", "darwin")
    source = PosixSource()
    assert not source.clocks
    assert {entry.name for entry in source.unavailable} == set(posix.CODES)


@LINUX
def test_a_clock_of_another_source_is_an_error():
    with pytest.raises(SourceError, match="is no clock of this source"):
        PosixSource().read(ClockId(99))


def test_the_time_stamp_counter():
    source = TscSource()
    if not source.clocks:
        assert source.unavailable[0].reason
        with pytest.raises(SourceError, match="no time stamp counter"):
            source.read(names.named(names.TSC))
        return
    clock = source.clocks[names.TSC]
    domain = source.domain(clock)
    assert domain.valid_bits == 64
    assert not domain.disciplined
    one, other = source.read(clock), source.read(clock)
    assert one < other
    again = tsc.RateMeasurement().end()
    # Bracketed over 50 ms: a part in 1000 is far more than they can be apart.
    assert abs(again / domain.ns_per_tick - 1) < Fraction(1, 1000)


def test_the_counters_rate_is_measured_while_other_things_go_on(monkeypatch):
    source = TscSource()
    if not source.clocks:
        pytest.skip(source.unavailable[0].reason)
    time.sleep(tsc.RATE_SECONDS)
    monkeypatch.setattr(tsc.time, "sleep", None)  # nothing is left to wait for
    rate = source.domain(source.clocks[names.TSC]).ns_per_tick
    monkeypatch.undo()
    assert abs(tsc.RateMeasurement().end() / rate - 1) < Fraction(1, 1000)


def test_a_missing_counter_has_a_reason(monkeypatch):
    monkeypatch.setattr(tsc, "tsc_is_steady", lambda: False)
    monkeypatch.setattr(tsc, "has_tsc", lambda: True)
    source = TscSource()
    assert not source.clocks
    assert source.native_code(names.named(names.TSC)) is None
    assert "one rate" in source.unavailable[0].reason
    monkeypatch.setattr(tsc, "has_tsc", lambda: False)
    assert "x86-64" in TscSource().unavailable[0].reason
    assert kernel.TSC_CODE == -(2**31)


@LINUX
def test_adjtimex_is_only_read():
    assert ctypes.sizeof(posix._Timex) == 208
    state = posix.read_adjtimex()
    assert state is not None
    assert abs(state.frequency_ppm) <= 100_000 + 500
    assert state.synchronized == (not state.status & 0x40 and state.state != 5)


def test_frequency_is_in_ppm():
    state = KernelClock(-65_536 * 12, 10_001, 0, 0, 0, 0x40, 5, 0)
    assert state.frequency_ppm == 100 - 12
    assert not state.synchronized


def test_clocks_that_python_reads():
    values = iter(range(100, 10**9, 100))
    source = HostSource({"REALTIME": lambda: next(values), names.QPC: lambda: next(values)})
    clock = source.clocks[names.QPC]
    assert source.domain(clock).tick_ns == 100
    assert source.domain(clock).disciplined is False
    assert "not tested" in source.note(clock)
    assert source.read(ClockId(1)) > 100
    with pytest.raises(SourceError, match="REALTIME"):
        source.read(ClockId(77))
    assert set(local.readers_of("win32")) == {names.QPC, "REALTIME"}
    assert "REALTIME" in local.readers_of("darwin")


def test_clocks_are_found_by_name():
    local = LocalClocks()
    try:
        (found,) = local.find("realtime")
        assert found.clock == ClockId(1)
        with pytest.raises(UsageError, match="no clock"):
            local.find("nonsense")
        with pytest.raises(SourceError, match="REALTIME"):
            local.find("com.example.gpu")
        with pytest.raises(SourceError, match="no clock vulkan:999 here: "):
            local.find("vulkan:999")
    finally:
        local.close()


@LINUX
def test_tai_and_the_counter_by_their_short_names():
    local = LocalClocks()
    assert local.find("TAI")[0].name == names.TAI
    assert local.short_name(names.TAI) == "TAI"
    assert local.short_name("REALTIME") == "REALTIME"
    if TscSource().clocks:
        assert local.find("tsc")[0].clock == names.named(names.TSC)
    local.close()
