"""Sampling of fake clocks: half-widths include the truth, whatever goes wrong."""

from __future__ import annotations

import threading
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX

from tracetime import ClockGraph, Sampler, SourceError, UsageError
from tracetime.clocks.ids import ClockId
from tracetime.sources.fake import DeviceFaults, FakeClock, FakeDevice, FakeSource, FakeTime
from tracetime.sources.local import HostSource
from tracetime.sources.names import HOST_OSCILLATOR, named
from tracetime.sources.tsc import TscSource

RAW, MONOTONIC, REALTIME = ClockId(5), ClockId(3), ClockId(1)
GPU = "dev.tracetime.vulkan.fake"
WALL = 1_787_410_120_000_000_000

rates = st.integers(-100_000, 100_000)
delays = st.lists(st.integers(0, 1_000) | st.integers(0, 10_000_000), max_size=200)
steps = st.sampled_from([1, 7, 10, 100])


def machine(time, *, raw=None, mono=None, wall=None, gpu=None, faults=None):
    """A host of three clocks and a device, which calibrates with MONOTONIC."""
    mono = mono or FakeClock("MONOTONIC", 5_000)
    clocks = [raw or FakeClock("MONOTONIC_RAW"), mono, wall or FakeClock("REALTIME", WALL)]
    sources = [FakeSource(time, clocks)]
    if gpu is not None:
        sources.append(FakeDevice(time, gpu, [mono], faults))
    return sources


def off_by_ns(sample, fake, reference, shown_ns=None):
    """How far a reading is from what the clock showed when the reference read its centre."""
    snapshot = sample.snapshot
    at = snapshot.readings[reference.clock].value + int(snapshot.centre_ns[fake.clock][0])
    value = snapshot.readings[fake.clock].value if shown_ns is None else shown_ns
    return abs(value - fake.truth(true_ns(at, reference)))


def true_ns(at_ns, fake):
    """When a clock showed what it did."""
    return (at_ns - fake.offset_ns) / (1 + Fraction(fake.rate_ppb, 10**9))


@given(delays, rates, rates, rates, steps, steps, st.integers(1, 4), st.integers(0, 10**15))
def test_half_widths_hold_the_truth_under_any_delays(
    delays_ns, raw_ppb, mono_ppb, wall_ppb, raw_step, mono_step, tries, start_ns
):
    time = FakeTime(start_ns, delays_ns)
    raw = FakeClock("MONOTONIC_RAW", 77, raw_ppb, step_ticks=raw_step)
    mono = FakeClock("MONOTONIC", 5_000, mono_ppb, step_ticks=mono_step)
    wall = FakeClock("REALTIME", WALL, wall_ppb)
    sampler = Sampler(tries=tries, sources=machine(time, raw=raw, mono=mono, wall=wall))
    for _ in range(3):
        sample = sampler.sample()
        for fake in (mono, wall):
            half_ns = int(sample.snapshot.half_width_ns[fake.clock][0])
            assert half_ns >= fake.step_ticks + raw_step
            assert off_by_ns(sample, fake, raw) <= half_ns


@given(
    delays,
    rates,
    rates,
    rates,
    st.sampled_from([Fraction(1), Fraction(625, 12), Fraction(1, 3)]),
    st.sampled_from([24, 36, 64]),
    st.integers(1, 4),
    st.sampled_from(["MONOTONIC", "MONOTONIC_RAW"]),
)
def test_half_widths_of_a_device_hold_the_truth(
    delays_ns, raw_ppb, mono_ppb, gpu_ppb, ns_per_tick, bits, tries, reference_name
):
    time = FakeTime(10**6, delays_ns)
    raw = FakeClock("MONOTONIC_RAW", 77, raw_ppb, step_ticks=10)
    mono = FakeClock("MONOTONIC", 5_000, mono_ppb, step_ticks=10)
    gpu = FakeClock(GPU, 0, gpu_ppb, ns_per_tick, 2, bits)
    sampler = Sampler(
        tries=tries, reference=reference_name, sources=machine(time, raw=raw, mono=mono, gpu=gpu)
    )
    reference = raw if reference_name == "MONOTONIC_RAW" else mono
    wrap = None
    for _ in range(5):
        sample = sampler.sample()
        assert not sample.failed and not sample.findings
        count = sample.counts[gpu.clock]
        assert count.raw == count.ticks % 2**bits
        # Readings are whole ns, rounded down, and taken back to when the reference was read.
        late_ns = count.ticks * ns_per_tick // 1 - sample.snapshot.readings[gpu.clock].value
        if wrap is None:
            # It may have wrapped before the first reading: from there on it is undone.
            snapshot = sample.snapshot
            at = snapshot.readings[reference.clock].value + int(snapshot.centre_ns[gpu.clock][0])
            read_ns = gpu.truth(true_ns(at, reference)) + late_ns
            wrap = round((read_ns / ns_per_tick - count.ticks) / 2**bits) * 2**bits
        assert late_ns == 0 or sample.snapshot.centre_ns[gpu.clock][0] == 0
        shown_ns = (count.ticks + wrap) * ns_per_tick - late_ns
        off_ns = off_by_ns(sample, gpu, reference, shown_ns)
        assert off_ns <= int(sample.snapshot.half_width_ns[gpu.clock][0])
        time.pass_ns(10**7)


def test_a_devices_reading_is_taken_back_to_when_the_reference_was_read():
    """It takes long to answer: readers that know no centres would be off by that."""
    time = FakeTime(10**9, [50_000] * 30)
    raw, mono = FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC")
    gpu = FakeClock(GPU, 10**12, 0, Fraction(10), 1, 48)
    sample = Sampler(tries=1, sources=machine(time, raw=raw, mono=mono, gpu=gpu)).sample()
    snapshot, count = sample.snapshot, sample.counts[gpu.clock]
    assert snapshot.centre_ns[gpu.clock][0] == 0
    late_ns = count.ticks * 10 - snapshot.readings[gpu.clock].value
    assert late_ns >= 100_000
    # What is predicted is of its count, which is as it was read.
    at_ns = snapshot.readings[raw.clock].value + late_ns
    predicted = sample.predict(gpu.clock, at_ns)
    assert abs(predicted.estimate - count.ticks) <= 1
    assert sample.nominal_ns(gpu.clock, count.raw) == count.ticks * 10


def test_of_some_brackets_the_narrowest_is_kept_unless_it_is_far_away():
    # A, B, A: 20 ns; then two of them: 610 ns, and 40.
    time = FakeTime(0, [10, 10, 10, 5, 600, 10, 7, 20, 20])
    sources = [FakeSource(time, [FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC")])]
    sample = Sampler(tries=1, sources=sources).sample()
    assert sample.snapshot.half_width_ns[MONOTONIC][0] == 10 + 1 + 2 + 1 + 1
    sample = Sampler(tries=2, sources=sources).sample()
    assert sample.snapshot.half_width_ns[MONOTONIC][0] == 20 + 1 + 2 + 1 + 1
    assert sample.snapshot.centre_ns[MONOTONIC][0] == 0
    assert sample.snapshot.readings[RAW].value == 30 + 5 + 600 + 10 + 7
    # The second sweep, the quickest, has MONOTONIC in 100 ns; the first, 1 ms before, in 80: that
    # is worth less, with rates that may be 500 ppm apart.
    time = FakeTime(0, [0, 500, 500, 40, 40, 1_000_000, 10, 10, 50, 50])
    clocks = [FakeClock("MONOTONIC_RAW"), FakeClock("REALTIME"), FakeClock("MONOTONIC")]
    sample = Sampler(tries=2, sources=[FakeSource(time, clocks)]).sample()
    assert sample.snapshot.half_width_ns[MONOTONIC][0] == 50 + 1 + 2 + 1 + 1


@given(delays, rates, rates, rates, steps, st.integers(1, 4))
def test_one_deviation_holds_for_the_whole_group(
    delays_ns, raw_ppb, mono_ppb, tsc_ppb, step, tries
):
    time = FakeTime(10**9, delays_ns)
    raw = FakeClock("MONOTONIC_RAW", 77, raw_ppb, step_ticks=step)
    mono = FakeClock("MONOTONIC", 5_000, mono_ppb)
    counter = FakeClock("dev.tracetime.tsc", 0, tsc_ppb, Fraction(5, 13), step_ticks=26)
    sampler = Sampler(tries=tries, sources=[FakeSource(time, [raw, mono, counter])])
    snapshot, deviation_ns = sampler.sample_group()
    assert set(snapshot.clocks) == {RAW, MONOTONIC, counter.clock}
    start_ns = snapshot.readings[RAW].value
    for fake in (mono, counter):
        at = start_ns + int(snapshot.centre_ns[fake.clock][0])
        off_ns = abs(snapshot.readings[fake.clock].value - fake.truth(true_ns(at, raw)))
        assert off_ns <= int(snapshot.half_width_ns[fake.clock][0])
        assert (
            int(snapshot.half_width_ns[fake.clock][0])
            <= deviation_ns // 2 + 2 * step + 40 + deviation_ns // 1000
        )


def test_tries_are_bounded():
    sources = machine(FakeTime())
    Sampler(tries=4, sources=sources).sample()
    assert sources[0].fakes[RAW].reads == 4 * 3
    for tries in (0, 1001):
        with pytest.raises(UsageError, match="tries"):
            Sampler(tries=tries, sources=sources)


def test_a_clock_that_fails_leaves_the_others():
    wall = FakeClock("REALTIME", WALL, failing_at=frozenset({3}))
    sampler = Sampler(tries=2, sources=machine(FakeTime(), wall=wall))
    assert not sampler.sample().failed
    sample = sampler.sample()
    assert "on demand" in sample.failed[REALTIME]
    assert sample.snapshot.clocks == (RAW, MONOTONIC)
    assert REALTIME in sampler.sample().snapshot.readings


def test_without_the_reference_there_is_no_snapshot():
    raw = FakeClock("MONOTONIC_RAW", lost_at=5)
    sampler = Sampler(tries=1, sources=machine(FakeTime(), raw=raw))
    sampler.sample()
    with pytest.raises(SourceError, match="the reference, MONOTONIC_RAW"):
        sampler.sample()


def test_a_lost_device_leaves_the_others():
    gpu = FakeClock(GPU)
    sources = machine(FakeTime(), gpu=gpu, faults=DeviceFaults(lost_at=10))
    sampler = Sampler(tries=10, sources=sources)
    sample = sampler.sample()
    assert gpu.clock in sample.snapshot.readings
    # How many reads a sample takes depends on how long they take.
    while gpu.clock in sample.snapshot.readings:
        sample = sampler.sample()
    assert "lost" in sample.failed[gpu.clock]
    assert gpu.clock not in sample.counts
    assert sample.snapshot.clocks == (RAW, MONOTONIC, REALTIME)


def test_a_reference_that_goes_back_in_every_bracket_says_nothing():
    # REALTIME as the reference, set back 1 ms after each of its readings.
    wall = FakeClock("REALTIME", WALL, steps=[(25 * k, -1_000_000) for k in range(2, 40)])
    sampler = Sampler(
        ["MONOTONIC"], reference="REALTIME", tries=2, sources=machine(FakeTime(), wall=wall)
    )
    sample = sampler.sample()
    assert "went back" in sample.failed[MONOTONIC]
    assert sample.snapshot.clocks == (REALTIME,)


def test_a_device_that_goes_back_is_reported_once():
    gpu = FakeClock(GPU, 10**9, valid_bits=36)
    faults = DeviceFaults(back_at=3, back_ticks=500_000)
    time = FakeTime()
    sampler = Sampler(tries=1, sources=machine(time, gpu=gpu, faults=faults))
    found = []
    for _ in range(6):
        found.append([finding.code for finding in sampler.sample().findings])
        time.pass_ns(100_000)
    assert found == [[], [], [], ["went_back"], [], []]


def test_a_device_that_wraps_is_not():
    # 24 bits of 52 ns: every 0.87 s.
    gpu = FakeClock(GPU, 0, 40_000, Fraction(625, 12), valid_bits=24)
    time = FakeTime(10**8)
    sampler = Sampler(sources=machine(time, gpu=gpu))
    first = None
    for _ in range(50):
        sample = sampler.sample()
        assert not sample.findings
        ns = sample.snapshot.readings[gpu.clock].value
        first = first or (ns, time.now_ns)
        assert ns - first[0] == pytest.approx(time.now_ns - first[1], rel=1e-4, abs=5_000)
        time.pass_ns(10**9)


def test_a_device_whose_host_clock_is_another_is_left_out():
    gpu = FakeClock(GPU)
    sources = machine(FakeTime(), gpu=gpu, faults=DeviceFaults(host_shift_ns=40_000))
    sample = Sampler(sources=sources).sample()
    assert [finding.code for finding in sample.findings] == ["host_clock_differs"]
    assert gpu.clock not in sample.snapshot.readings
    assert "another clock" in sample.failed[gpu.clock]


def test_bits_above_the_valid_ones_are_cut_off_and_reported():
    gpu = FakeClock(GPU, valid_bits=36)
    sources = machine(FakeTime(), gpu=gpu, faults=DeviceFaults(garbage_bits=40))
    sample = Sampler(tries=1, sources=sources).sample()
    assert [finding.code for finding in sample.findings] == ["bits_above"]
    assert sample.counts[gpu.clock].raw < 2**36


def test_what_ties_a_device_is_sampled_with_it():
    gpu = FakeClock(GPU)
    sampler = Sampler([GPU], sources=machine(FakeTime(), gpu=gpu))
    assert list(sampler.domains) == [RAW, MONOTONIC, gpu.clock]
    assert sampler.names[gpu.clock] == GPU
    assert "fake device" in sampler.notes[gpu.clock]


def test_a_device_without_a_host_clock_here_is_unavailable():
    time = FakeTime()
    other = FakeClock("BOOTTIME")
    sources = [*machine(time), FakeDevice(time, FakeClock(GPU), [other])]
    assert "BOOTTIME" in Sampler(sources=sources).unavailable[0].reason
    with pytest.raises(SourceError, match="BOOTTIME"):
        Sampler([GPU], sources=sources)


def test_a_reference_reads_ns_by_itself():
    sources = machine(FakeTime(), gpu=FakeClock(GPU))
    with pytest.raises(UsageError, match="another reference"):
        Sampler(reference=GPU, sources=sources)
    assert Sampler(reference="REALTIME", sources=sources).reference == REALTIME
    with pytest.raises(SourceError, match="no source"):
        Sampler(["com.example.other"], sources=sources)


@given(
    rates,
    rates,
    st.sampled_from([Fraction(1), Fraction(625, 12), Fraction(1, 3)]),
    st.integers(-(10**10), 10**10),
    st.sampled_from(["MONOTONIC_RAW", "MONOTONIC", "REALTIME"]),
)
def test_what_is_predicted_comes_true(mono_ppb, gpu_ppb, ns_per_tick, ahead_ns, host_name):
    time = FakeTime(10**12)
    gpu = FakeClock(GPU, 0, gpu_ppb, ns_per_tick)
    mono = FakeClock("MONOTONIC", 5_000, mono_ppb)
    sources = machine(time, mono=mono, gpu=gpu)
    sample = Sampler(sources=sources).sample()
    coming_ns = time.now_ns + ahead_ns
    host = next(fake for fake in sources[0].fakes.values() if fake.name == host_name)
    bars = sample.predict(gpu.clock, host.value(coming_ns), host.clock)
    assert bars.earliest <= gpu.value(coming_ns) <= bars.latest
    assert bars.earliest <= bars.estimate <= bars.latest
    # D of two crystals of 100 ppm is 200 ppm, each way.
    assert (bars.latest - bars.earliest) * ns_per_tick <= 500 + abs(
        ahead_ns
    ) * 9e-4 + 4 * ns_per_tick


def test_the_bar_of_a_prediction_grows_until_the_next_calibration():
    time = FakeTime(10**12)
    gpu = FakeClock(GPU)
    sampler = Sampler(sources=machine(time, gpu=gpu))

    def width(sample, at_ns):
        bars = sample.predict(gpu.clock, at_ns)
        return bars.latest - bars.earliest

    sample = sampler.sample()
    widths = [width(sample, time.now_ns + k * 10**9) for k in range(5)]
    assert widths == sorted(set(widths))
    time.pass_ns(4 * 10**9)
    assert width(sampler.sample(), time.now_ns) < widths[1]


@given(st.integers(-(2**22), 2**22), st.integers(0, 10**9))
def test_raw_ticks_near_a_sample_become_its_ns(ahead, offset_ns):
    gpu = FakeClock(GPU, offset_ns, 0, Fraction(625, 12), valid_bits=24)
    sampler = Sampler(tries=1, sources=machine(FakeTime(), gpu=gpu))
    sample = sampler.sample()
    count = sample.counts[gpu.clock]
    ns = sample.nominal_ns(gpu.clock, (count.raw + ahead) % 2**24)
    assert ns == (count.ticks + ahead) * Fraction(625, 12) // 1


def test_counters_convert_in_a_graph():
    """Snapshots hold ns: a graph must not scale them again."""
    time = FakeTime(10**9)
    gpu = FakeClock(GPU, 0, 50_000, Fraction(625, 12), valid_bits=24)
    sampler = Sampler([GPU], sources=machine(time, gpu=gpu))
    graph = ClockGraph(domains=sampler.snapshot_domains)
    for _ in range(6):
        sample = sampler.sample()
        graph.add_snapshot(sample.snapshot)
        time.pass_ns(10**9)
    at_ns = time.now_ns - 3 * 10**9
    stamp = sample.nominal_ns(gpu.clock, gpu.value(at_ns)) - 2 * 2**24 * 625 // 12
    for wraps in range(5):
        bars = graph.convert(
            stamp + wraps * 2**24 * 625 // 12, gpu.clock, RAW, policy="tube", bounds=True
        )
        if bars.earliest <= at_ns <= bars.latest:
            break
    else:
        raise AssertionError("not within any wrap")
    assert bars.latest - bars.earliest < 10_000


def test_a_prediction_needs_a_counter_that_was_read():
    sample = Sampler(sources=machine(FakeTime())).sample()
    with pytest.raises(UsageError, match="counts no ticks"):
        sample.predict(MONOTONIC, 0)
    with pytest.raises(SourceError, match="not requested"):
        sample.predict(named(GPU), 0)


def test_clocks_of_python_alone_are_sampled_too():
    clock = iter(range(10**6, 10**9, 50))
    source = HostSource(
        {"REALTIME": lambda: WALL + next(clock), "dev.tracetime.qpc": lambda: next(clock)}
    )
    sampler = Sampler(sources=[source])
    assert sampler.names[sampler.reference] == "dev.tracetime.qpc"
    sample = sampler.sample()
    # A bracket of 100 ns, D of 601 ppm in it and since, two ticks of 50 and the rounding.
    assert int(sample.snapshot.half_width_ns[REALTIME][0]) == 50 + 1 + 1 + 100 + 1


@LINUX
def test_real_clocks_make_a_graph():
    with Sampler(["MONOTONIC", "BOOTTIME", "REALTIME"]) as sampler:
        graph = ClockGraph(domains=sampler.snapshot_domains)
        samples = [sampler.sample() for _ in range(20)]
    for sample in samples:
        assert not sample.failed
        assert sample.adjtimex is not None
        ticks = sum(sample.domains[clock].tick_ns for clock in (RAW, MONOTONIC))
        assert int(sample.snapshot.half_width_ns[MONOTONIC][0]) >= ticks
        graph.add_snapshot(sample.snapshot)
    # Two snapshots later the same clock lies inside the bar.
    middle = samples[10].snapshot
    bars = graph.convert(
        middle.readings[MONOTONIC].value, MONOTONIC, RAW, policy="tube", bounds=True
    )
    at = middle.readings[RAW].value + int(middle.centre_ns[MONOTONIC][0])
    slack = int(middle.half_width_ns[MONOTONIC][0])
    assert bars.earliest - slack <= at <= bars.latest + slack


@LINUX
def test_the_counter_is_sampled_in_ns_with_its_raw_ticks():
    if not TscSource().clocks:
        pytest.skip(TscSource().unavailable[0].reason)
    with Sampler(["TSC"]) as sampler:
        one, other = sampler.sample(), sampler.sample()
    clock = named("dev.tracetime.tsc")
    rate = sampler.domains[clock].ns_per_tick
    for sample in (one, other):
        count = sample.counts[clock]
        assert count.raw == count.ticks
        # Taken back to when the reference was read, some microseconds away.
        read_ns = count.ticks * rate // 1
        assert abs(sample.snapshot.readings[clock].value - read_ns) < 100_000_000
        assert sample.snapshot.centre_ns[clock][0] == 0
    assert other.counts[clock].raw > one.counts[clock].raw
    assert sampler.domains[clock].oscillator in (HOST_OSCILLATOR, "dev.tracetime.tsc")


@LINUX
def test_the_group_of_real_clocks():
    with Sampler(["MONOTONIC", "REALTIME", "BOOTTIME"]) as sampler:
        snapshot, deviation_ns = sampler.sample_group()
        sample = sampler.sample()
    assert deviation_ns > 0
    for clock in (MONOTONIC, REALTIME):
        offsets, bars = [], 0
        for one in (snapshot, sample.snapshot):
            centre_ns = int(one.centre_ns[clock][0])
            offsets.append(one.readings[clock].value - one.readings[RAW].value - centre_ns)
            bars += int(one.half_width_ns[clock][0])
        # And 10 ms at 1000 ppm, in case the machine interrupted the thread.
        assert abs(offsets[1] - offsets[0]) <= bars + 10_000


@LINUX
def test_threads_may_share_a_sampler():
    with Sampler(["MONOTONIC", "REALTIME"]) as sampler:
        taken = []
        threads = [
            threading.Thread(target=lambda: taken.extend(sampler.sample() for _ in range(50)))
            for _ in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(taken) == 150
    assert not any(sample.failed for sample in taken)
