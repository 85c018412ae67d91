"""`calibrate` by numbers: when it samples, and what it makes of what it has read."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from test_promises_exact import Scripted

import tracetime as tt
from tracetime.capture import calibrate as module
from tracetime.sources.fake import FakeClock, FakeSource, FakeTime

START = 10**9


class Hours:
    """A time that passes where it is slept, and by `step_ns` with each look at it."""

    def __init__(self, monkeypatch, step_ns=0):
        self.now_ns, self.step_ns, self.slept = 5 * 10**9, step_ns, []
        monkeypatch.setattr(
            module,
            "time",
            SimpleNamespace(
                perf_counter=lambda: self.now_ns / 1e9, perf_counter_ns=self.look, sleep=self.sleep
            ),
        )

    def look(self):
        self.now_ns += self.step_ns
        return self.now_ns

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now_ns += round(seconds * 1e9)


def calibrate(*clocks, delays=(), n=1, seconds=0, usual_ns=0, **options):
    time = FakeTime(START, delays, usual_ns)
    source = FakeSource(time, [FakeClock("MONOTONIC_RAW"), *clocks])
    return tt.calibrate(n=n, seconds=seconds, tries=1, sources=[source], **options)


@pytest.mark.parametrize(
    ("n", "seconds", "waits"),
    [(5, 2, [0.5] * 4), (2, 3, [3.0]), (1, 3, []), (3, 0, []), (4, 3_600, [1_200.0] * 3)],
)
def test_snapshots_are_spread_from_the_first_to_the_last_second(monkeypatch, n, seconds, waits):
    hours = Hours(monkeypatch)
    result = calibrate(FakeClock("MONOTONIC"), n=n, seconds=seconds)
    assert hours.slept == pytest.approx(waits)
    assert len(result.clocks) == 2


def test_a_snapshot_that_is_late_is_not_waited_for(monkeypatch):
    """Every half second one; the first takes 0.7 s."""
    hours = Hours(monkeypatch)
    takes_ns = iter([700_000_000, 100_000_000, 100_000_000, 100_000_000, *[0] * 200])

    class Slow(FakeSource):
        def read(self, clock):
            hours.now_ns += next(takes_ns)
            return super().read(clock)

    source = Slow(FakeTime(START), [FakeClock("MONOTONIC_RAW")])
    tt.calibrate(n=4, seconds=1.5, tries=1, sources=[source])
    assert hours.slept == pytest.approx([0.2, 0.4])


def test_a_thousand_snapshots_in_a_second_where_nobody_says(monkeypatch):
    hours = Hours(monkeypatch)
    raw = FakeClock("MONOTONIC_RAW")
    tt.calibrate(sources=[FakeSource(FakeTime(START), [raw])])
    assert len(hours.slept) == 999
    assert sum(hours.slept) == pytest.approx(1.0)
    # Ten tries of each, and then what a reading costs.
    assert raw.reads == 10 * 1_000 + 200


@pytest.mark.parametrize(
    ("arguments", "fine"),
    [
        ({"n": 1}, True),
        ({"n": 0}, False),
        ({"n": 1_000_001}, False),
        ({"n": 2.0}, False),
        ({"seconds": 3_600}, True),
        ({"seconds": 3_600.1}, False),
        ({"seconds": -0.1}, False),
        ({"seconds": "1"}, False),
    ],
)
def test_the_limits_of_the_arguments(monkeypatch, arguments, fine):
    Hours(monkeypatch)
    if fine:
        calibrate(**arguments)
    else:
        with pytest.raises(tt.UsageError, match=r"use 1 to 1000000, 0 to 3600$"):
            calibrate(**arguments)


def widening(n, by_ns):
    """RAW, MONOTONIC, RAW: the bracket of each snapshot is so many ns wider, on either side."""
    return [delay for k in range(n) for delay in (1_000_000, k * by_ns, k * by_ns)]


@pytest.mark.parametrize(
    ("n", "least", "median", "p99", "most"),
    # k ns to either side are a half-width of k, two of drift, two ticks and the rounding.
    [
        (1, 3, 3, 3, 3),
        (2, 3, 3, 6, 6),
        (4, 3, 6, 8, 8),
        (5, 3, 7, 9, 9),
        (100, 3, 54, 103, 104),
        (200, 3, 104, 202, 204),
    ],
)
def test_half_widths_have_a_minimum_median_99th_percentile_and_maximum(n, least, median, p99, most):
    (raw, result) = calibrate(FakeClock("MONOTONIC"), delays=widening(n, 1), n=n).clocks
    assert result.half_width_ns == module.Spread(least, median, p99, most)
    assert raw.half_width_ns is None


def test_the_offset_is_the_median_and_of_two_the_lower():
    steps = [(START + 1_500_000, 40), (START + 2_500_000, -20), (START + 3_500_000, 500)]
    clock = FakeClock("MONOTONIC", 7_000, steps=steps)
    delays = [1_000_000, 0, 0] * 4
    # 0, 40, 20, 520 ns more than at first.
    assert calibrate(clock, delays=delays, n=4).clocks[1].offset_ns == 7_020
    clock = FakeClock("MONOTONIC", 7_000, steps=steps)
    assert calibrate(clock, delays=delays, n=3).clocks[1].offset_ns == 7_020
    clock = FakeClock("MONOTONIC", 7_000, steps=steps)
    assert calibrate(clock, delays=delays, n=2).clocks[1].offset_ns == 7_000


@pytest.mark.parametrize("rate_ppb", [-80_000, 0, 50_000])
def test_the_drift_is_the_slope_of_the_offset(rate_ppb):
    clock = FakeClock("MONOTONIC", 7_000, rate_ppb)
    result = calibrate(clock, delays=[10**8, 0, 0] * 9, n=9).clocks[1]
    assert result.drift_ppm == pytest.approx(rate_ppb / 1_000, abs=0.01)


def test_the_drift_of_uneven_times_is_by_least_squares():
    """One snapshot 100 ms after the first and one 900 ms: 0, 900 and 4,500 ns ahead."""
    steps = [(START + 10**8 + 10**7, 900), (START + 9 * 10**8, 3_600)]
    clock = FakeClock("MONOTONIC", 0, steps=steps)
    delays = [10**7, 0, 0, 10**8, 0, 0, 8 * 10**8, 0, 0]
    result = calibrate(clock, delays=delays, n=3).clocks[1]
    x, y = (0, 1e8, 9e8), (0, 900, 4_500)
    slope = sum(a * (b - 1_800) for a, b in zip(x, y, strict=True)) / (
        sum(a * a for a in x) - 1e18 / 3
    )
    assert result.drift_ppm == pytest.approx(slope * 1e6)


@pytest.mark.parametrize(("span_ns", "is_known"), [(59_990, False), (60_010, True)])
def test_a_drift_within_the_half_widths_is_none(span_ns, is_known):
    """3 ns to either side, at both ends: 100 ppm of 60 us."""
    clock = FakeClock("MONOTONIC", max_drift_ppm=100)
    result = calibrate(clock, delays=[0, 0, 0, span_ns, 0, 0], n=2).clocks[1]
    assert (result.drift_ppm is not None) == is_known


def test_a_clock_that_was_never_read_is_listed_with_the_reason():
    wall = FakeClock("REALTIME", lost_at=0)
    result = calibrate(FakeClock("MONOTONIC"), wall, n=2)
    assert [clock.name for clock in result.clocks] == ["MONOTONIC_RAW", "MONOTONIC"]
    assert result.unavailable == (("REALTIME", "REALTIME fails on demand at reading 1"),)
    assert result.findings == ()
    assert "findings" not in result.to_dict()
    assert result.to_dict()["unavailable"] == [
        {"name": "REALTIME", "reason": "REALTIME fails on demand at reading 1"}
    ]


def test_a_reading_costs_what_two_hundred_take(monkeypatch):
    Hours(monkeypatch, step_ns=200 * 37 + 199)
    raw = FakeClock("MONOTONIC_RAW")
    (result,) = tt.calibrate(n=1, sources=[FakeSource(FakeTime(START), [raw])]).clocks
    assert result.read_ns == 37
    device = Scripted(((9_000, START), 1_000), hosts=(raw.clock,))
    source = FakeSource(FakeTime(START, usual_ns=0), [raw])
    (_, result) = tt.calibrate(n=1, tries=1, sources=[source, device]).clocks
    assert result.read_ns == 37
    assert device.requests == [(device.clock, raw.clock)] * 201


def test_a_clock_that_cannot_be_read_any_more_costs_nothing():
    wall = FakeClock("REALTIME", failing_at=frozenset({1}))
    result = calibrate(wall, n=1)
    assert [(clock.name, clock.read_ns) for clock in result.clocks][1] == ("REALTIME", 0)


def test_each_finding_is_reported_once_with_its_first_message():
    device = Scripted(
        ((256 + 9, START), 1_000), ((512 + 10, START), 1_000), hosts=(tt.ClockId(5),), bits=8
    )
    source = FakeSource(FakeTime(START, usual_ns=0), [FakeClock("MONOTONIC_RAW")])
    result = tt.calibrate(n=2, seconds=0, tries=1, sources=[source, device])
    (finding,) = result.findings
    assert (finding.code, finding.clock) == ("bits_above", device.name)
    assert "(0x109)" in finding.message
    assert result.to_dict()["findings"] == [finding._asdict()]


def test_numbers_in_json_are_rounded_to_what_they_are_worth():
    spread = module.Spread(1, 2, 3, 4)
    clock = module.ClockCalibration(
        "a.b", "a.b", tt.ClockId.parse("a.b"), 52.0833333, 7, -5, -1.234567, spread, None
    )
    assert clock.to_dict() == {
        "name": "a.b",
        "id": tt.clock_id("a.b"),
        "tick_ns": 52.083,
        "read_ns": 7,
        "offset_ns": -5,
        "drift_ppm": -1.2346,
        "half_width_ns": {"min": 1, "median": 2, "p99": 3, "max": 4},
    }
    result = module.ClockCalibration("x", "x", tt.ClockId(5), 1.0, 7, 0, None, None, "so").to_dict()
    assert result["drift_ppm"] is None
    assert result["half_width_ns"] == {"min": 0, "median": 0, "p99": 0, "max": 0}
    assert result["note"] == "so"
