"""Declared rates and limits of clocks, and rates that are learnt."""

import math
from fractions import Fraction

import numpy as np
import pytest
from drifting import S
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId, ConversionError, Snapshot, UsageError
from tracetime.clocks.domain import ClockDomain
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.tube import Tube


def test_a_counter_of_unknown_rate_is_learnt():
    boottime = np.arange(40, dtype=np.int64) * 10 * S + 77 * S
    ticks = (boottime * 2445) // 1000 + 123_456
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": boottime, "TSC": ticks})
    at = 200 * S + 5
    bar = graph.convert(at * 2445 // 1000 + 123_456, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= at <= bar.latest
    assert abs(bar.estimate - at) < 10
    back = graph.convert(at, "BOOTTIME", "TSC", policy="tube", bounds=True)
    assert back.earliest <= at * 2445 // 1000 + 123_456 <= back.latest


def test_a_rate_learnt_from_snapshots_close_together_is_as_unsure_as_they_are():
    """Ends 1 ms apart, both off by all of their 1,000 ns: the rate is off by 2,000 ppm."""
    graph = ClockGraph()
    for at, off in ((0, -1000), (1_000_000, 1000)):
        readings = {"BOOTTIME": S + at, "TSC": (S + at + off) * 3}
        half_width_ns = {"TSC": 1001}
        graph.add_snapshot(Snapshot(readings, reference="BOOTTIME", half_width_ns=half_width_ns))
    bar = graph.convert((2 * S) * 3, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 2 * S <= bar.latest


def test_a_declared_rate_is_used():
    boottime = np.arange(2, dtype=np.int64) * 10 * S
    graph = ClockGraph(
        "BOOTTIME", [ClockDomain(ClockId(9), ns_per_tick=Fraction(1000, 2445), max_drift_ppm=1)]
    )
    graph.add_snapshot({"BOOTTIME": boottime, "TSC": boottime * 2445 // 1000})
    bar = graph.convert(2445 * 5_000_000, "TSC", "BOOTTIME", policy="tube", bounds=True)
    assert bar.earliest <= 5 * S <= bar.latest


def test_one_snapshot_of_a_counter_of_unknown_rate_is_too_few():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": 5, "TSC": 7})
    with pytest.raises(ConversionError):
        graph.convert(7, "TSC", "BOOTTIME", policy="tube")


def test_readings_close_together_say_nothing_of_the_rate():
    """Two snapshots 36 us apart, 200 ns off: a minute later the clocks are where floor has them."""
    graph = ClockGraph()
    graph.add_snapshot({5: [1000 * S, 1000 * S + 36_000], 6: [1000 * S, 1000 * S + 36_200]})
    later = 1060 * S
    got = graph.convert(later, 5, 6, policy="tube", bounds=True)
    assert abs(got.estimate - graph.convert(later, 5, 6)) < 50_000
    assert got.latest - got.estimate > 20_000_000


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("ns_per_tick", "abc"), ("ns_per_tick", float("nan")), ("ns_per_tick", "1/0"),
        ("valid_bits", 36.5), ("valid_bits", "36"), ("valid_bits", True),
        ("max_drift_ppm", "5"), ("wander_ppm", "5"), ("tick_ns", "5"), ("tick_ns", float("inf")),
        ("assumed_half_width_ns", 1.5), ("assumed_half_width_ns", -1),
        ("assumed_half_width_ns", 1 << 70), ("ns_per_tick", Fraction(1, 1 << 2048)),
        ("name", 5), ("oscillator", b"x"), ("disciplined", 1),
    ],
)  # fmt: skip
def test_limits_that_are_none_are_refused(field, value):
    with pytest.raises(UsageError, match=f"{field} of TSC"):
        ClockDomain("TSC", **{field: value})


def test_limits_are_kept_as_the_types_they_are_declared_with():
    domain = ClockDomain(
        "TSC",
        valid_bits=np.int8(36),
        wander_ppm=Fraction(1, 4),
        assumed_half_width_ns=np.int64(7),
        max_drift_ppm=np.float32(0.5),
        tick_ns=np.int64(2),
    )
    kept = (
        domain.valid_bits,
        domain.wander_ppm,
        domain.assumed_half_width_ns,
        domain.max_drift_ppm,
        domain.tick_ns,
    )
    assert [(type(value), value) for value in kept] == [
        (int, 36),
        (float, 0.25),
        (int, 7),
        (float, 0.5),
        (float, 2.0),
    ]


def test_the_widest_half_width_that_may_be_assumed_is_one_a_tube_holds(graph):
    for clock in ("MONOTONIC_RAW", "BOOTTIME"):
        graph.declare(ClockDomain(clock, assumed_half_width_ns=1 << 58))
    got = graph.convert(5, "BOOTTIME", 5, policy="tube", bounds=True)
    assert got.latest - got.earliest >= 1 << 59


def test_domains_may_be_none():
    assert ClockGraph(domains=None).declared == {}


@pytest.mark.parametrize("wrong", ["TSC", ["TSC"], [None]])
def test_domains_are_clock_domains(wrong):
    with pytest.raises(UsageError, match="ClockDomain"):
        ClockGraph(domains=wrong)
    with pytest.raises(UsageError, match="ClockDomain"):
        ClockGraph().declare(wrong)


@pytest.mark.parametrize("rate", [None, Fraction(10**30), Fraction(1, 10**30)])
def test_rates_whose_fractions_leave_int64(rate):
    graph = ClockGraph(domains=[ClockDomain("TSC", ns_per_tick=rate)])
    graph.add_snapshot({"TSC": [-1, 0], "MONOTONIC": [-(2**63), 0]})
    for source, target in (("TSC", "MONOTONIC"), ("MONOTONIC", "TSC")):
        got = graph.convert([-1, 0], source, target, policy="tube", bounds=True, errors="mask")
        assert len(got.estimate) == 2


def test_any_limits_that_a_clock_may_declare_are_of_use():
    limits = {"max_drift_ppm": 32_000, "wander_ppm": 5_000}
    graph = ClockGraph("X.a", [ClockDomain(name, **limits) for name in ("X.a", "X.b")])
    for at in range(10**12, 10**12 + 5 * S, S):
        graph.add_snapshot(Snapshot({"X.a": at, "X.b": at}))
    value = 10**12 + 123
    assert graph.convert(value, "X.b", "X.a", policy="tube", bounds=True).estimate == value
    assert not graph.discontinuities()
    for limit, most in limits.items():
        with pytest.raises(UsageError, match=rf"{limit} of .*: use 0 to {most}"):
            ClockDomain("X.a", **{limit: most + 1})


ppm = st.floats(0, 47_000) | st.integers(0, 47_000)


@given(ppm, ppm)
def test_the_drift_of_a_pair_is_what_the_fastest_and_the_slowest_rate_give(a, b):
    """(1 + b) / (1 - a) - 1, or with a and b exchanged, and no more than rounding above it.

    Of 47,619 ppm each it is 10 %, the most that a pair may drift.
    """
    one, other = (Fraction(each) / 10**6 for each in (a, b))
    most = max((1 + fast) / (1 - slow) - 1 for fast, slow in ((one, other), (other, one)))
    drift = Fraction(Limits.of(a, b).drift)
    assert most <= drift < most + Fraction(1, ONE)


@pytest.mark.parametrize(("step_ms", "kinds"), [(9, []), (11, ["step"])])
def test_a_step_is_seen_where_two_clocks_cannot_have_drifted_so_far(step_ms, kinds):
    """10 ms in 10 s at 500 ppm each."""
    at = np.arange(6, dtype=np.int64) * 10 * S
    offset = np.where(at > 25 * S, step_ms * 1_000_000, 0)
    made = Tube(Evidence.of(at, offset, 100), Limits.of(500, 500))
    assert [found.kind for found in made.discontinuities if found.kind == "step"] == kinds


def test_clocks_read_at_two_instants_are_brought_to_one_by_a_clock_that_may_be_slow():
    """The reference runs 500 ppm slow, b 100 ppm fast, and a second is a long bracket."""
    true_ns = math.ceil(S / (1 - 500e-6))
    b = math.ceil(true_ns * (1 + 100e-6))
    graph = ClockGraph(
        domains=[
            ClockDomain("com.example.a", max_drift_ppm=0),
            ClockDomain("com.example.b", max_drift_ppm=100),
            ClockDomain("com.example.reference", max_drift_ppm=500),
        ]
    )
    graph.add_snapshot(
        Snapshot(
            {"com.example.a": 0, "com.example.b": b, "com.example.reference": 0},
            reference="com.example.reference",
            half_width_ns={"com.example.a": 1, "com.example.b": 1},
            centre_ns={"com.example.b": S},
        )
    )
    for bars in ("estimated", "guaranteed"):
        found = graph.convert(
            0, "com.example.a", "com.example.b", policy="tube", bounds=True, bars=bars
        )
        assert found.earliest <= 0 <= found.latest
