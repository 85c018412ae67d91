"""The units of `--sync`: an offset is in time by the nominal rates of clocks, or in ticks."""

from __future__ import annotations

from fractions import Fraction

import pytest
from building import BOOTTIME, event, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st

import tracetime as tt
from tracetime.clocks.domain import ClockDomain
from tracetime.merging.merged_traces import MergedTraces

pytest_plugins = ["cli"]

S = 10**9
COUNTER = "64@seq5"
APART = 1_000 * S
"""How much more the host's BOOTTIME reads than the guest's."""


def machine(path, first, tick_ns=Fraction(1), ahead=0, unit_ns=None, incremental=False):
    """A file of six seconds from a BOOTTIME on, with a counter that counts ticks of that length.

    ahead: by so many ticks, against a counter that was 0 with the host's BOOTTIME.
    """
    of_host = APART - first
    packets = []
    for second in range(0, 7, 2):
        at = first + second * S
        value = int((at + of_host) / tick_ns) + ahead
        said = value if unit_ns is None else (value, unit_ns, incremental)
        packets.append(snapshot({64: said, BOOTTIME: at}, 5))
    packets += [event(first + k * S) for k in range(7)]
    path.write_bytes(trace(*packets))
    return path


def offset_of(paths, sync, **options):
    found = tt.merge(paths, None, sync=[sync], **options).files[1]
    return found.offset_ns, found.half_width_ns


GHZ = Fraction(5, 12)
"""A tick of 2.4 GHz, ns."""


@pytest.fixture
def pair(tmp_path):
    """A host, and its guest, whose counter is 123,456,789,012 ticks of 2.4 GHz behind."""
    host = machine(tmp_path / "host", APART, GHZ)
    guest = machine(tmp_path / "guest", 5 * S, GHZ, -123_456_789_012)
    return host, guest


RATE = [ClockDomain(COUNTER, ns_per_tick=GHZ)]


@pytest.mark.parametrize(
    "offset", ["-51440328755ns", "-51440328.755us", "-51.440328755s", "-123456789012ticks"]
)
def test_an_offset_of_clocks_that_count_ticks_is_in_time_or_in_ticks(pair, offset):
    sync = f"guest:{COUNTER}=host:{COUNTER}{offset}+-1us"
    found, half = offset_of(pair, sync, domains=RATE)
    assert found == pytest.approx(APART - 5 * S, abs=2)
    assert 1_000 < half < 20_000


def test_clocks_of_two_rates_are_tied_by_the_time_that_they_count(tmp_path):
    host = machine(tmp_path / "host", APART, GHZ)
    guest = machine(tmp_path / "guest", 5 * S)
    sync = f"guest:BOOTTIME=host:{COUNTER}-995s+-1us"
    assert offset_of((host, guest), sync, domains=RATE)[0] == pytest.approx(APART - 5 * S, abs=2)


def test_an_offset_in_time_of_a_clock_whose_rate_nothing_says_is_refused(pair):
    sync = f"guest:{COUNTER}=host:{COUNTER}%s+-1us"
    open_rate = [ClockDomain(COUNTER, ns_per_tick=None)]
    with pytest.raises(tt.UsageError, match=r"nothing says .* --clock-rate .* or the offset in"):
        offset_of(pair, sync % "-51440328755ns", domains=open_rate)
    found, half = offset_of(pair, sync % "-123456789012ticks", domains=open_rate)
    assert found == pytest.approx(APART - 5 * S, abs=half)


def test_an_offset_in_time_of_a_clock_whose_snapshots_show_another_rate_is_refused(pair):
    sync = f"guest:{COUNTER}=host:{COUNTER}-51440328755ns+-1us"
    with pytest.raises(tt.UsageError, match=r"one lasts 0\.416667 ns by the snapshots of guest"):
        offset_of(pair, sync)


@pytest.mark.parametrize(
    "sync",
    [
        "guest:BOOTTIME=host:BOOTTIME-995000000000+-1us",
        "guest:BOOTTIME=host:BOOTTIME-995s+-1000",
        "guest:BOOTTIME=host:BOOTTIME-995s+-1ticks",
        "guest:BOOTTIME=host:BOOTTIME-995GHz+-1us",
    ],
)
def test_a_number_without_a_unit_of_time_is_refused(pair, sync):
    with pytest.raises(tt.UsageError, match="both with their unit"):
        offset_of(pair, sync)


def test_an_assumption_without_a_unit_is_refused(pair):
    with pytest.raises(tt.UsageError, match="write a time with its unit"):
        tt.merge(pair, None, assume_wall_clock="20")


@pytest.mark.parametrize("incremental", [False, True])
@pytest.mark.parametrize("unit_ns", [10, 1_000, 10**6])
def test_a_clock_of_another_unit_is_tied(tmp_path, unit_ns, incremental):
    step = Fraction(unit_ns)
    host = machine(tmp_path / "host", APART, step, 0, unit_ns, incremental)
    guest = machine(tmp_path / "guest", 5 * S, step, -7, unit_ns, incremental)
    for offset in (f"-{7 * unit_ns}ns", "-7ticks"):
        found, half = offset_of((host, guest), f"guest:{COUNTER}=host:{COUNTER}{offset}+-1us")
        assert found == pytest.approx(APART - 5 * S, abs=1)
        assert half < 20_000 + 3 * unit_ns
    # The other is tied to a clock of ns, in between two of its readings.
    sync = f"guest:{COUNTER}=host:BOOTTIME-{7 * unit_ns}ns+-1us"
    found, half = offset_of((host, guest), sync)
    assert abs(found - (APART - 5 * S)) <= half < 20_000 + 9 * unit_ns


@settings(max_examples=30)
@given(
    st.fractions("0.3", 3, max_denominator=50),
    st.tuples(*[st.sampled_from([1, 7, 1_000])] * 2),
    st.integers(-(10**12), 10**12),
)
def test_the_truth_is_inside_the_bar_whatever_the_clocks_count(
    tmp_path_factory, rate, units, offset_ns
):
    """Counters of one rate and any units; both read whole ticks, so either is up to one low."""
    folder = tmp_path_factory.mktemp("units")
    host_ns, guest_ns = (rate * unit for unit in units)
    host = machine(folder / "host", APART, host_ns, 0, units[0])
    guest = machine(folder / "guest", 5 * S, guest_ns, int(offset_ns / guest_ns), units[1])
    reading = {"domains": (ClockDomain(COUNTER, ns_per_tick=rate),)}
    sync = f"guest:{COUNTER}=host:{COUNTER}{offset_ns:+d}ns+-1us"
    times = [5 * S + k * S for k in range(7)]
    with MergedTraces([host, guest], sync=[sync], reading=reading) as joined:
        ends = joined.home(1), joined.home(0)
        bounds = joined.clocks.convert(times, *ends, policy="tube", bounds=True)
    slack = 3 * max(host_ns, guest_ns)
    for k, (low, high) in enumerate(zip(bounds.earliest, bounds.latest, strict=True)):
        assert low - slack <= APART + k * S <= high + slack
        assert high - low < 40_000 + 2 * slack


def test_the_command_takes_ticks(pair, tracetime):
    sync = f"guest:{COUNTER}=host:{COUNTER}-123456789012ticks+-1us"
    code, out, _ = tracetime("merge", *pair, "--clock-rate", f"{COUNTER}=2.4GHz", "--sync", sync)
    assert code == 0
    row = next(line for line in out.splitlines() if line.startswith("guest  "))
    assert "+16 min 35 s  ± 5.34 us" in row


@pytest.mark.parametrize(
    ("days", "is_far"), [(0, False), (0.9, False), (1.1, True), (20_454.1, True)]
)
@pytest.mark.parametrize("sign", [1, -1])
def test_an_offset_that_puts_files_far_apart_is_warned_of(tmp_path, tracetime, days, is_far, sign):
    paths = [machine(tmp_path / name, APART) for name in "ab"]
    offset_s = sign * int(days * 86_400)
    words = ("merge", *paths, "--sync", f"a:BOOTTIME=b:BOOTTIME{offset_s:+}s+-10ms")
    code, out, _ = tracetime(*words, "-o", tmp_path / "m.zip")
    assert code == 0
    assert ("is it right?" in out) == is_far
    if is_far:
        [line] = [one for one in out.replace("\n  ", " ").split("\n") if "warning" in one]
        assert line.startswith("warning: the given offset a:BOOTTIME=b:BOOTTIME")
        assert f"puts their times {int(days)} d" in line
