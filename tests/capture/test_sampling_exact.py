"""Sampling by numbers: what each part of a half-width, a prediction or an unwrapped count is."""

from __future__ import annotations

from fractions import Fraction
from types import MappingProxyType

import pytest
from test_promises_exact import Scripted

from tracetime import ClockDomain, ClockId, Sampler, Snapshot, SourceError, UsageError
from tracetime.capture import sampling
from tracetime.capture.choice import Counters, Unwrapper
from tracetime.capture.sample import Count, Sample
from tracetime.sources.fake import FakeClock, FakeDevice, FakeSource, FakeTime
from tracetime.sources.names import named

RAW, MONOTONIC, REALTIME = ClockId(5), ClockId(3), ClockId(1)
GPU = named("dev.tracetime.vulkan.scripted")
START = 10**9
# D of two clocks that may be 100 ppm off each: 300.03 ppm.


@pytest.fixture(autouse=True)
def as_many_tries_as_are_asked_for(monkeypatch):
    """However slow the machine is: to the sampler no time goes by between two tries."""
    monkeypatch.setattr(sampling.time, "perf_counter_ns", lambda: 77)


def halves(snapshot):
    return {clock: int(half[0]) for clock, half in snapshot.half_width_ns.items()}


def centres(snapshot):
    return {clock: int(centre[0]) for clock, centre in snapshot.centre_ns.items()}


# Counters


def test_a_counter_is_followed_over_its_wraps():
    """Of 8 bits, 10 ns a tick: a wrap every 2,560 ns."""
    counter = Unwrapper(8, Fraction(10))
    assert counter.follow(250, 5_000) == (250, 0)
    assert counter.follow(4, 5_100) == (260, 0)
    assert counter.follow(4, 5_100 + 2 * 2_560) == (260 + 512, 0)
    # Nearest to the 25 ticks that passed, 3 of them on: 28, and 3 of them short: 22.
    assert counter.follow(4 + 28, 5_350 + 2 * 2_560) == (772 + 28, 0)
    assert counter.follow(4 + 50, 5_600 + 2 * 2_560) == (772 + 50, 0)


@pytest.mark.parametrize(
    ("raw", "ticks", "back"),
    [(100, 100, 0), (228, 228, 0), (229, -27, 127), (99, 99, 1), (28, 28 + 256 - 256, 72)],
)
def test_up_to_half_a_wrap_is_ahead_and_more_is_back(raw, ticks, back):
    counter = Unwrapper(8, Fraction(1))
    counter.follow(100, 7_000)
    assert counter.follow(raw, 7_000) == (ticks, back)
    # From there it goes on.
    assert counter.follow((raw + 7) % 256, 7_007) == (ticks + 7, 0)


def test_time_that_goes_back_lets_nothing_be_expected():
    counter = Unwrapper(8, Fraction(1, 2))
    counter.follow(100, 7_000)
    assert counter.follow(110, 2_000) == (110, 0)
    # Two ticks a ns: 240 in the 120 ns since.
    assert counter.follow(100, 2_120) == (110 + 246, 0)


class Chosen:
    """A stand-in for a clock that was chosen."""

    def __init__(self, bits):
        self.clock, self.name = GPU, "gpu"
        self.domain = ClockDomain(GPU, "gpu", ns_per_tick=Fraction(10), valid_bits=bits)


def test_faults_of_a_counter_are_reported_with_numbers():
    one, findings = Chosen(8), []
    counters = Counters([one])
    assert counters.cut_off(one, 255, findings) == 255
    assert findings == []
    assert counters.cut_off(one, 0x1A5, findings) == 0xA5
    assert counters.follow(one, 100, 7_000, findings) == Count(100, 100)
    assert counters.follow(one, 97, 7_000, findings) == Count(97, 97)
    assert [(one.code, one.clock, one.severity, one.message) for one in findings] == [
        ("bits_above", "gpu", "error", "gpu set bits above its 8 valid ones (0x1a5); cut off"),
        (
            "went_back",
            "gpu",
            "error",
            "gpu went back by 3 ticks to 97, which is no wrap of its 8 bits: was the device reset?",
        ),
    ]


@pytest.mark.parametrize(
    ("ticks", "ns"), [(0, 0), (1, 52), (12, 625), (23, 1_197), (-1, -53)]
)  # of 52.083 ns
def test_counts_become_ns_rounded_down(ticks, ns):
    assert Count(0, ticks).ns(ClockDomain(GPU, ns_per_tick=Fraction(625, 12))) == ns


# One sample


def taken(bits=8, rate=Fraction(10), **more):
    """RAW, MONOTONIC and a device, read 80 ns after RAW, of which half was taken back."""
    domains = {
        RAW: ClockDomain(RAW),
        MONOTONIC: ClockDomain(MONOTONIC),
        GPU: ClockDomain(GPU, ns_per_tick=rate, valid_bits=bits, max_drift_ppm=100),
    }
    snapshot = Snapshot(
        {RAW: 1_000_000, MONOTONIC: 7_000, GPU: 500_000},
        reference=RAW,
        half_width_ns={MONOTONIC: 12, GPU: 25},
        centre_ns={MONOTONIC: 30, GPU: 40},
    )
    counts = {GPU: Count(50_004 % 2**bits, 50_004)}
    return Sample(snapshot, counts, MappingProxyType(domains), None, more, ())


@pytest.mark.parametrize(
    ("host", "at_ns", "estimate", "earliest", "latest"),
    [
        # Of the reference: 25 of the device's bar, 1 for 80 ns, 2,001 for 10 ms, and 1.
        (None, 11_000_000, 1_049_996, 1_049_793, 1_050_199),
        (RAW, 11_000_000, 1_049_996, 1_049_793, 1_050_199),
        (None, -9_000_000, -950_004, -950_207, -949_801),
        (None, 1_000_000, 50_004 - 8, 50_004 - 11, 50_004 - 5),
        # MONOTONIC, slewed by up to 500 ppm: D is 600.3 ppm, 6,004 ns in 10 ms; 12 + 25 + 2.
        (MONOTONIC, 10_007_000, 1_049_999, 1_049_394, 1_050_604),
    ],
)
def test_what_a_prediction_is_made_of(host, at_ns, estimate, earliest, latest):
    assert taken().predict(GPU, at_ns, host) == (estimate, earliest, latest)


def test_what_cannot_be_predicted_is_an_error():
    sample = taken()
    with pytest.raises(UsageError, match="MONOTONIC counts no ticks: what it reads is ns"):
        sample.predict(MONOTONIC, 5)
    with pytest.raises(SourceError, match="REALTIME is not in this sample: it was not requested"):
        sample.predict(GPU, 5, REALTIME)
    lost = Sample(sample.snapshot, sample.counts, sample.domains, None, {REALTIME: "gone"}, ())
    with pytest.raises(SourceError, match="REALTIME is not in this sample: gone"):
        lost.predict(GPU, 5, REALTIME)
    with pytest.raises(SourceError, match="REALTIME is not in this sample: gone"):
        lost.nominal_ns(REALTIME, 5)


@pytest.mark.parametrize(("ahead", "unwrapped"), [(0, 0), (127, 127), (128, -128), (255, -1)])
def test_raw_ticks_are_of_half_a_wrap_around_the_sample(ahead, unwrapped):
    raw = (50_004 + ahead) % 256
    assert taken().nominal_ns(GPU, raw) == (50_004 + unwrapped) * 10
    third = taken(rate=Fraction(1, 3))
    assert third.nominal_ns(GPU, raw) == (50_004 + unwrapped) // 3


# Devices


def with_device(*answers, delays=(), tries=1, gpu=None, wall=None, **options):
    """RAW, MONOTONIC 5 us ahead of it, which a device is calibrated with; no time goes by."""
    time = FakeTime(START, delays, usual_ns=0)
    hosts = [FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC", 5_000)]
    made = gpu or Scripted(*answers, hosts=(MONOTONIC,), **options)
    return Sampler(tries=tries, sources=[FakeSource(time, [*hosts, *(wall or ())]), made]), made


MONO_AT_START = START + 5_000


def test_a_devices_half_width_holds_its_deviation_and_all_that_ties_it():
    sampler, _ = with_device(((9_000_000, MONO_AT_START), 1_000), tick=Fraction(100), step=7)
    snapshot = sampler.sample().snapshot
    # MONOTONIC: two ticks and the rounding. The device: 1,000 and 1 of drift, its tick and
    # MONOTONIC's, and MONOTONIC's own.
    assert halves(snapshot) == {MONOTONIC: 3, GPU: 1_000 + 1 + 701 + 3}
    assert snapshot.readings[GPU].value == 900_000_000
    assert centres(snapshot) == {MONOTONIC: 0, GPU: 0}


def test_a_device_is_placed_by_when_its_host_clock_was_read_with_it():
    # RAW, MONOTONIC, RAW; a ms later MONOTONIC, the device's call, MONOTONIC.
    sampler, _ = with_device(
        ((9_000_000, MONO_AT_START + 1_000_000), 1_000),
        delays=[0, 0, 0, 1_000_000],
        tick=Fraction(100),
    )
    snapshot = sampler.sample().snapshot
    # 201 ns that MONOTONIC may drift from RAW in that ms, and 201 for taking the device back by it.
    assert halves(snapshot)[GPU] == 1_000 + 1 + 101 + 3 + 201 + 201
    assert snapshot.readings[GPU].value == 900_000_000 - 1_000_000
    assert centres(snapshot)[GPU] == 0


def test_a_device_that_is_calibrated_with_the_reference_has_only_its_own():
    time = FakeTime(START, usual_ns=0)
    made = Scripted(((9_000, START), 1_000), hosts=(RAW,))
    sampler = Sampler(sources=[FakeSource(time, [FakeClock("MONOTONIC_RAW")]), made])
    assert halves(sampler.sample().snapshot) == {GPU: 1_000 + 1 + 2}


@pytest.mark.parametrize(
    ("tries", "kept"),
    [(1, 11), (2, 11), (3, 33), (4, 44), (5, 44), (6, 44)],
)
def test_of_some_tries_that_of_the_least_deviation_is_kept_then_the_quickest(tries, kept):
    """What a driver claims counts first, then how long the host took."""
    answers = [
        ((11, MONO_AT_START + 90_000), 600),
        ((22, MONO_AT_START + 100_000), 700),
        ((33, MONO_AT_START + 300_000), 500),
        ((44, MONO_AT_START + 400_000), 500),
        ((55, MONO_AT_START + 500_000), 500),
        ((66, MONO_AT_START + 600_000), 501),
    ]
    # Each try reads MONOTONIC before and after: 100,000 ns, then 200,000, ...
    spans = [100_000, 0, 300_000, 100_000, 100_000, 0]
    # RAW, MONOTONIC, RAW: as often as there are tries; then up to each "before" and its "after".
    delays, now = [0] * 3 * tries, 0
    for (values, _), span in zip(answers, spans, strict=True):
        before = values[1] - MONO_AT_START - span // 2
        delays += [before - now, span]
        now = before + span
    sampler, made = with_device(*answers, delays=delays, tries=tries)
    sample = sampler.sample()
    assert sample.counts[GPU] == Count(kept, kept)
    assert made.requests[-tries:] == [(GPU, MONOTONIC)] * tries


@pytest.mark.parametrize(("off_ns", "kept"), [(-2, True), (2, True), (-3, False), (3, False)])
def test_a_device_whose_host_clock_is_more_than_its_tick_away_is_left_out(off_ns, kept):
    sampler, made = with_device(((9_000, MONO_AT_START + off_ns), 1_000), tries=3)
    sample = sampler.sample()
    assert (GPU in sample.snapshot.readings) == kept
    if not kept:
        message = (
            f"{made.name} says that MONOTONIC read {MONO_AT_START + off_ns}, which went from "
            f"{MONO_AT_START} to {MONO_AT_START}: its driver reads another clock; it is left out"
        )
        assert sample.failed == {GPU: message}
        assert sample.findings == (("host_clock_differs", made.name, message, "error"),)


@pytest.mark.parametrize(
    ("after_ns", "calls"),
    [([1_000_000] * 9, 9), ([1_000_000, 1_000_001], 2), ([1_000_001], 1)],
)
def test_after_a_millisecond_a_device_is_tried_no_more(monkeypatch, after_ns, calls):
    sampler, made = with_device(((9_000, MONO_AT_START), 1_000), tries=9)
    clock = iter([77, *(77 + ns for ns in after_ns)])
    monkeypatch.setattr(sampling.time, "perf_counter_ns", lambda: next(clock))
    before = len(made.requests)
    sampler.sample()
    assert len(made.requests) - before == calls


def test_a_device_that_fails_in_a_later_try_keeps_the_first():
    sampler, made = with_device(((9_000, MONO_AT_START), 1_000), tries=5)
    answer, calls = made.calibrate, []

    def failing(clocks):
        calls.append(clocks)
        if len(calls) == 2:
            raise SourceError("lost for a moment")
        return answer(clocks)

    made.calibrate = failing
    sample = sampler.sample()
    assert (sample.counts[GPU].raw, sample.failed, len(calls)) == (9_000, {}, 2)


def test_a_deviation_that_no_half_width_can_hold_is_a_failure():
    sampler, made = with_device(((9_000, MONO_AT_START), 2**63 - 1))
    sample = sampler.sample()
    assert sample.failed == {GPU: f"{made.name} claims a deviation of {2**63 - 1} ns"}
    assert GPU not in sample.snapshot.readings


def test_a_device_whose_partner_fails_is_not_there_either():
    time = FakeTime(START)
    mono = FakeClock("MONOTONIC", failing_at=frozenset({0}))
    made = Scripted(((9_000, 0), 1_000), hosts=(MONOTONIC,))
    sampler = Sampler(tries=1, sources=[FakeSource(time, [FakeClock("MONOTONIC_RAW"), mono]), made])
    sample = sampler.sample()
    assert sample.failed[GPU] == "MONOTONIC, which it is calibrated with, was not read"
    assert set(sample.failed) == {MONOTONIC, GPU}


def test_ns_that_do_not_fit_are_a_failure_of_the_clock_alone():
    # 2^40 ticks of 10^7 ns.
    sampler, made = with_device(((2**40, MONO_AT_START), 1_000), tick=Fraction(10**7))
    sample = sampler.sample()
    assert sample.failed == {
        GPU: f"{made.name} reads {2**40 * 10**7} ns, which does not fit in int64"
    }
    assert set(sample.snapshot.readings) == {RAW, MONOTONIC}


# Groups


def group(*more, delays, tries=1):
    time = FakeTime(START, delays, usual_ns=0)
    clocks = [FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC", 5_000, max_drift_ppm=30_000)]
    sampler = Sampler(tries=tries, sources=[FakeSource(time, [*clocks, *more])])
    return sampler, sampler.sample_group()


def test_a_groups_half_widths_are_made_of_its_width_drift_ticks_and_rounding():
    _, (snapshot, deviation_ns) = group(delays=[0, 3_000, 7_001])
    # D of 100 and 30,000 ppm is 31,030.9 ppm: of 10,001 ns, half of it is 155.2.
    assert halves(snapshot) == {MONOTONIC: 5_001 + 156 + 2 + 1}
    assert centres(snapshot) == {MONOTONIC: 5_000}
    assert snapshot.readings[MONOTONIC].value == START + 3_000 + 5_000
    assert deviation_ns == 10_001 + 1


def test_of_some_groups_the_shortest_is_kept():
    delays = [0, 100, 100, 0, 30, 40, 0, 50, 50]
    _, (snapshot, deviation_ns) = group(delays=delays, tries=3)
    assert deviation_ns == 70 + 1
    assert snapshot.readings[MONOTONIC].value == START + 200 + 30 + 5_000


def test_counters_of_a_group_are_in_ns_and_the_largest_tick_is_in_the_deviation():
    counter = FakeClock("dev.tracetime.tsc", 40, 0, Fraction(5, 2), step_ticks=3)
    sampler, (snapshot, deviation_ns) = group(counter, delays=[0, 10, 20, 30])
    # 10 ns after the beginning: 400,000,028 ticks and a bit; the clock reads every third.
    ticks = (START + 30 + 40) * 2 // 5
    assert snapshot.readings[counter.clock].value == (ticks - ticks % 3) * 5 // 2
    assert deviation_ns == 60 + 8
    assert halves(snapshot)[counter.clock] == 30 + 1 + 9 + 1
    assert sampler.names[counter.clock] == "dev.tracetime.tsc"


def test_a_lag_that_was_seen_is_in_the_groups_half_widths(monkeypatch):
    monkeypatch.setattr(FakeSource, "lag_ns", lambda self, clock: 500 * (clock == MONOTONIC))
    wall = FakeClock("REALTIME")
    _, (snapshot, deviation_ns) = group(wall, delays=[0, 10, 20, 30])
    assert halves(snapshot) == {MONOTONIC: 30 + 1 + 2 + 1 + 500, REALTIME: 30 + 1 + 2 + 1}
    assert deviation_ns == 60 + 501


def test_a_reference_that_goes_back_leaves_no_group():
    back = FakeClock("REALTIME", START, steps=[(START + 20, -10_000)])
    sampler = Sampler(
        reference="REALTIME",
        tries=1,
        sources=[FakeSource(FakeTime(START, usual_ns=10), [back, FakeClock("MONOTONIC")])],
    )
    with pytest.raises(SourceError, match="^REALTIME went back in all tries: try again$"):
        sampler.sample_group()


# Which clocks


def chosen(*clocks, requested=None, devices=(), **options):
    time = FakeTime(START)
    sampler = Sampler(requested, sources=[FakeSource(time, clocks), *devices], **options)
    return [sampler.names[clock] for clock in sampler.domains]


def test_the_reference_is_the_steadiest_that_is_there():
    wall, mono, raw = map(FakeClock, ("REALTIME", "MONOTONIC", "MONOTONIC_RAW"))
    qpc = FakeClock("dev.tracetime.qpc")
    assert chosen(wall, qpc, mono, raw)[0] == "MONOTONIC_RAW"
    assert chosen(wall, qpc, mono)[0] == "MONOTONIC"
    assert chosen(wall, qpc)[0] == "dev.tracetime.qpc"
    counter = FakeClock("dev.tracetime.tsc", ns_per_tick=Fraction(1, 3))
    assert chosen(counter, wall) == ["REALTIME", "dev.tracetime.tsc"]
    with pytest.raises(SourceError, match="no clock here can serve as reference"):
        chosen(counter)
    with pytest.raises(UsageError, match="tsc does not read ns by itself: take another reference"):
        chosen(counter, wall, reference="dev.tracetime.tsc")


def test_one_clock_or_several_may_be_requested():
    clocks = [FakeClock(name) for name in ("MONOTONIC_RAW", "MONOTONIC", "REALTIME", "BOOTTIME")]
    assert chosen(*clocks, requested="REALTIME") == ["MONOTONIC_RAW", "REALTIME"]
    assert chosen(*clocks, requested=1) == ["MONOTONIC_RAW", "REALTIME"]
    assert chosen(*clocks, requested=REALTIME) == ["MONOTONIC_RAW", "REALTIME"]
    assert chosen(*clocks, requested=(one for one in (1, 6))) == [
        "MONOTONIC_RAW",
        "REALTIME",
        "BOOTTIME",
    ]
    with pytest.raises(UsageError, match=r"^clocks are names, numbers or ClockIds, not 1.5$"):
        chosen(*clocks, requested=1.5)
    # A clock of `besides` that is not available is no error, and is left out.
    besides = ("BOOTTIME", "MONOTONIC_COARSE")
    assert chosen(*clocks, requested=1, besides=besides) == [
        "MONOTONIC_RAW",
        "REALTIME",
        "BOOTTIME",
    ]


def test_a_device_is_tied_by_the_reference_then_by_what_is_there_then_by_what_can_be():
    time = FakeTime(START)
    raw, mono, wall = (FakeClock(name) for name in ("MONOTONIC_RAW", "MONOTONIC", "REALTIME"))

    def partner(partners, requested, **options):
        made = FakeDevice(time, FakeClock("dev.tracetime.vulkan.one"), partners)
        sampler = Sampler(requested, sources=[FakeSource(time, [raw, mono, wall]), made], **options)
        return sampler._chosen[made.clock].partner, list(sampler.domains)

    one = named("dev.tracetime.vulkan.one")
    assert partner([mono, raw], [one]) == (RAW, [RAW, one])
    assert partner([mono, wall], [one, REALTIME]) == (REALTIME, [RAW, REALTIME, one])
    assert partner([wall, mono], [one]) == (REALTIME, [RAW, REALTIME, one])
    assert partner([FakeClock("BOOTTIME"), mono], [one]) == (MONOTONIC, [RAW, MONOTONIC, one])
    assert partner([raw, mono], [one], reference="MONOTONIC") == (MONOTONIC, [MONOTONIC, one])


def test_devices_that_cannot_be_tied_are_listed_with_the_clocks_that_they_need():
    time = FakeTime(START)
    made = FakeDevice(
        time, FakeClock("dev.tracetime.vulkan.one"), [FakeClock("BOOTTIME"), FakeClock("TSC")]
    )
    sources = [FakeSource(time, [FakeClock("MONOTONIC_RAW")]), made]
    (missing,) = Sampler(sources=sources).unavailable
    assert missing == (
        "dev.tracetime.vulkan.one",
        "dev.tracetime.vulkan.one is calibrated only with BOOTTIME, TSC, which cannot be read here",
    )
    with pytest.raises(SourceError, match="only with BOOTTIME, TSC"):
        Sampler([named("dev.tracetime.vulkan.one")], sources=sources)


def test_a_clocks_ticks_and_the_references_are_rounded_up_together():
    time = FakeTime(START, usual_ns=0)
    raw = FakeClock("MONOTONIC_RAW", ns_per_tick=Fraction(1), step_ticks=3)
    counter = FakeClock("dev.tracetime.tsc", ns_per_tick=Fraction(5, 2))
    sampler = Sampler(tries=1, sources=[FakeSource(time, [raw, counter])])
    assert halves(sampler.sample().snapshot)[counter.clock] == 6 + 1
    assert [one.tick_ns for one in sampler.snapshot_domains] == [1.0, 1.0]
    assert [one.valid_bits for one in sampler.snapshot_domains] == [64, 64]
    assert [one.ns_per_tick for one in sampler.snapshot_domains] == [1, 1]
    assert [one.ns_per_tick for one in sampler.domains.values()] == [1, Fraction(5, 2)]


def test_watching_ends_with_what_it_gave():
    ended = []

    class Watched(FakeSource):
        def watch(self, clocks):
            clocks = list(clocks)
            return lambda: ended.append(clocks)

    time = FakeTime(START)
    sampler = Sampler(
        sources=[
            Watched(time, [FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC")]),
            Watched(time, [FakeClock("REALTIME")]),
        ]
    )
    end = sampler.watch()
    assert ended == []
    end()
    assert ended == [[RAW, MONOTONIC], [REALTIME]]


def test_ten_tries_are_made_where_nobody_says_and_up_to_a_thousand():
    raw, mono = FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC")
    source = FakeSource(FakeTime(START), [raw, mono])
    with Sampler(sources=[source]) as sampler:
        sampler.sample()
    assert (raw.reads, mono.reads) == (20, 10)
    Sampler(tries=1_000, sources=[source]).sample()
    assert (raw.reads, mono.reads) == (2_020, 1_010)


def test_of_several_that_a_reference_may_mean_the_first_is_taken():
    clocks = [FakeClock(name) for name in ("REALTIME", "MONOTONIC", "BOOTTIME")]
    assert chosen(*clocks, requested="MONOTONIC", reference="host") == ["REALTIME", "MONOTONIC"]
