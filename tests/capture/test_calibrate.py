"""`calibrate`: on clocks whose truth is known, and on this machine's."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from platforms import LINUX

import tracetime as tt
from tracetime.sources.fake import DeviceFaults, FakeClock, FakeDevice, FakeSource, FakeTime

KEYS = ["name", "id", "tick_ns", "read_ns", "offset_ns", "drift_ppm", "half_width_ns"]


def sources(*clocks, usual_ns=25):
    return [FakeSource(FakeTime(10**9, usual_ns=usual_ns), clocks)]


def test_offset_drift_and_half_widths_of_known_clocks():
    made = sources(
        FakeClock("MONOTONIC_RAW"),
        FakeClock("MONOTONIC", 250, 100_000, max_drift_ppm=500),
        usual_ns=1_000,
    )
    # 300 snapshots of 21 reads of 1 us: 6.3 ms, in which 4 us of bracket are little.
    result = tt.calibrate(n=300, tries=10, seconds=0, sources=made)
    assert result.reference == "MONOTONIC_RAW"
    raw, mono = result.clocks
    assert (raw.name, raw.offset_ns, raw.drift_ppm, raw.half_width_ns) == (
        "MONOTONIC_RAW",
        0,
        None,
        None,
    )
    assert mono.offset_ns == pytest.approx(250 + 100e-6 * 1.003e9, abs=500)
    # The bracket is wide for so short a time: a drift within 500 ppm cannot be measured...
    # (The last 1: of the 1 us since the reference was read.)
    assert mono.half_width_ns.min == mono.half_width_ns.max == 1_000 + 2 + 1 + 1 + 1
    assert mono.drift_ppm == pytest.approx(100, abs=0.1) or mono.drift_ppm is None


def test_a_drift_that_cannot_be_measured_is_none():
    coarse = FakeClock("MONOTONIC_COARSE", step_ticks=4_000_000)
    (_, result) = tt.calibrate(
        n=20, seconds=0, sources=sources(FakeClock("MONOTONIC_RAW"), coarse)
    ).clocks
    assert result.drift_ppm is None
    (_, one) = tt.calibrate(
        n=1, seconds=0, sources=sources(FakeClock("MONOTONIC_RAW"), FakeClock("REALTIME"))
    ).clocks
    assert one.drift_ppm is None


def test_json_is_that_of_the_interface():
    time = FakeTime(10**9)
    mono = FakeClock("MONOTONIC")
    gpu = FakeClock("dev.tracetime.vulkan.fake", 0, 0, Fraction(625, 12), valid_bits=36)
    lost = FakeDevice(time, FakeClock("dev.tracetime.vulkan.lost"), [mono], DeviceFaults(lost_at=0))
    alone = FakeDevice(time, FakeClock("dev.tracetime.vulkan.alone"), [])
    made = [
        FakeSource(time, [FakeClock("MONOTONIC_RAW"), mono]),
        FakeDevice(time, gpu, [mono], DeviceFaults(back_at=3, back_ticks=999_999)),
        lost,
    ]
    result = tt.calibrate(n=5, seconds=0, sources=made)
    data = json.loads(json.dumps(result.to_dict()))
    assert list(data) == ["reference", "clocks", "unavailable", "findings"]
    for clock in data["clocks"]:
        assert [key for key in clock if key not in ("note", "time_domains")] == KEYS
        assert list(clock["half_width_ns"]) == ["min", "median", "p99", "max"]
    assert [clock["name"] for clock in data["clocks"]] == ["MONOTONIC_RAW", "MONOTONIC", gpu.name]
    assert data["clocks"][2]["id"] == tt.clock_id(gpu.name)
    assert [entry["name"] for entry in data["unavailable"]] == [lost.name]
    assert "lost" in data["unavailable"][0]["reason"]
    assert [finding["code"] for finding in data["findings"]] == ["went_back"]
    assert alone.partners(alone.clock) == ()


def test_a_device_lists_its_time_domains_the_unknown_ones_by_number():
    time = FakeTime(10**9)
    raw = FakeClock("MONOTONIC_RAW")
    gpu = FakeClock("dev.tracetime.vulkan.fake", valid_bits=36)
    device = FakeDevice(time, gpu, [raw], unknown_domains=(1_000_208_000, 77))
    host, found = tt.calibrate(n=2, seconds=0, sources=[FakeSource(time, [raw]), device]).clocks
    assert found.time_domains == (
        (0, "DEVICE"),
        (2, "CLOCK_MONOTONIC_RAW"),
        (77, None),
        (1_000_208_000, None),
    )
    assert found.to_dict()["time_domains"][2] == {"number": 77, "name": None}
    assert host.time_domains == ()
    assert "time_domains" not in host.to_dict()


@pytest.mark.parametrize("arguments", [{"n": 0}, {"n": 10**7}, {"seconds": -1}, {"tries": 0}])
def test_what_cannot_be_is_refused(arguments):
    with pytest.raises(tt.UsageError, match="use"):
        tt.calibrate(sources=sources(FakeClock("MONOTONIC_RAW")), **arguments)


def test_a_clock_that_is_not_here_is_an_error_of_the_machine():
    with pytest.raises(tt.SourceError, match="no source"):
        tt.calibrate(["com.example.gpu"], n=1, sources=sources(FakeClock("MONOTONIC_RAW")))


@LINUX
def test_the_clocks_of_this_machine():
    result = tt.calibrate(n=20, seconds=0.05)
    assert result.reference == "MONOTONIC_RAW"
    names = {clock.name for clock in result.clocks}
    assert {"MONOTONIC", "BOOTTIME", "REALTIME", "dev.tracetime.tai", "REALTIME_COARSE"} <= names
    assert result.adjtimex is not None
    for clock in result.clocks:
        assert clock.tick_ns > 0
        assert 0 < clock.read_ns < 10**9
        if clock.half_width_ns is not None:
            spread = clock.half_width_ns
            assert clock.tick_ns <= spread.min <= spread.median <= spread.p99 <= spread.max
    for entry in result.unavailable:
        assert entry.reason


def test_a_reference_that_stands_still_gives_no_drift():
    """A coarse one may read the same throughout a short calibration."""
    still = FakeSource(
        FakeTime(10**9, usual_ns=0), [FakeClock("MONOTONIC_RAW"), FakeClock("MONOTONIC")]
    )
    result = tt.calibrate(n=3, seconds=0, sources=[still])
    assert [clock.drift_ppm for clock in result.clocks] == [None, None]
