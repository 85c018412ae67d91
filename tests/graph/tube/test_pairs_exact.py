"""What a pair of clocks rests on: bars, ticks, limits and far snapshots, by exact values."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from pair_graphs import BOOT, FAR_BOOT, MONO, A, B, C, S, measured, pair_of

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    TraceError,
)
from tracetime.graph.tube.messages import Between

FAR = (1 << 61) - (1 << 57)
AT = np.arange(1, 13) * 10 * S


# Bars


@pytest.mark.parametrize(
    ("n", "bar_ns"),
    [(1, 5), (2, 1922), (3, 1671), (255, 1847), (256, 1834), (257, 1830), (300, 1715.5)],
)
def test_the_median_bar_is_of_snapshots_and_half_way_between_them_512_at_most(
    n: int, bar_ns: float
) -> None:
    at = np.arange(n) * S
    halves = np.array([(k * k * 7919) % 3001 + 5 for k in range(n)])
    assert pair_of(measured(at, at, halves)).bar_ns == bar_ns


def sparse_at_the_end() -> Snapshot:
    at = np.array([10, 11, 12, 13, 14, 15, 16, 100]) * S
    return measured(at, at + 5 * S, 40)


def bars_from(*others: Snapshot) -> list[float]:
    graph = ClockGraph()
    graph.add_snapshot(sparse_at_the_end())
    for other in others:
        graph.add_snapshot(other)
    policy = graph._graph.tubes
    pair = policy.pair(A, B)
    return [policy.pairs.bar_from(clock, pair) for clock in (A, B)]


def test_bars_of_a_clock_that_was_read_where_its_pair_was_are_those_of_the_pair() -> None:
    (own, same) = bars_from()
    assert own == same
    for first, last in ((10, 100), (11, 100), (10, 99), (50, 60)):
        at = np.array([first, last]) * S
        assert bars_from(measured(at, at, 40, A, C)) == [own, own]
        assert bars_from(measured(at + 5 * S, at, 40, B, C)) == [own, own]


@pytest.mark.parametrize(
    ("first", "last", "bar_ns"),
    [(-1, 0, 38_343.5), (0, 1, 38_343.5), (-30 * S, 0, 35_961.5), (0, 30 * S, 36_247.0)],
)
def test_bars_of_a_clock_that_was_read_beyond_its_pair_are_those_of_all_that_time(
    first: int, last: int, bar_ns: float
) -> None:
    at = np.array([10 * S + first, 100 * S + last])
    assert bars_from(measured(at, at, 40, A, C)) == [bar_ns, 40.0]
    # The readings of the other clock of the pair are within 40 ns.
    assert bars_from(measured(at + 5 * S + 40 * np.sign([first, last]), at, 40, B, C))[0] == 40.0
    within = np.clip([first, last], -1, 1) * 40
    assert bars_from(measured(np.array([15, 105]) * S + within, at, 40, B, C)) == [40.0, 40.0]
    assert bars_from(measured(at + 5 * S + within, at, 40, B, C)) == [40.0, bar_ns]


def test_a_snapshot_beyond_what_a_tube_holds_is_an_outlier() -> None:
    at = np.arange(1, 6) * S
    pair = pair_of(measured(at, at, 7), measured(6 * S, 6 * S + FAR, 7))
    assert pair.far == [(5, 6 * S, 6 * S + FAR)]
    assert pair.snapshots.tolist() == [0, 1, 2, 3, 4]
    near = pair_of(measured(at, at, 7), measured(6 * S, 6 * S + FAR - 256, 7))
    assert near.far == []
    assert near.snapshots.tolist() == [0, 1, 2, 3, 4, 5]
    graph = ClockGraph()
    graph.add_snapshot(measured(at, at, 7))
    graph.add_snapshot(measured(6 * S, 6 * S + FAR, 7))
    (found,) = graph.discontinuities()
    assert (found.src, found.dst, found.kind) == (A, B, "outlier")
    assert (found.a_from, found.a_to, found.rate_ppm, found.snapshots) == (6 * S, 6 * S, None, (5,))
    assert found.size_ns is not None
    low, high = found.size_ns
    bar = graph.convert(6 * S, A, B, policy="tube", bounds=True)
    assert (low, high) == (6 * S + FAR - bar.latest, 6 * S + FAR - bar.earliest)


# What is read, and what is not


def test_zeros_of_two_machines_count_where_they_have_half_widths() -> None:
    def numbers(half: Any, **other: Any) -> list[int]:
        graph = ClockGraph()
        graph.add_snapshot({BOOT: 5, MONO: 5})
        reads = {BOOT: 0, FAR_BOOT: 0}
        halves = None if half is None else {FAR_BOOT: half}
        graph.add_snapshot(Snapshot(reads, half_width_ns=halves, **other))
        return list(graph._graph.tubes.pairs.shared(BOOT, FAR_BOOT)[0])

    assert numbers(None) == []
    assert numbers(0, reference=BOOT) == [1]
    assert numbers(300, reference=BOOT) == [1]
    assert numbers(0, reference=FAR_BOOT) == [1]


def test_snapshots_that_were_worked_out_are_not_read() -> None:
    graph = ClockGraph()
    graph.add_snapshot({BOOT: AT, FAR_BOOT: AT + 5, MONO: AT})
    graph._graph.state.between = Between(worked_out=[2, 3, 4])
    policy = graph._graph.tubes
    snapshots, one, other = policy.pairs.shared(BOOT, FAR_BOOT)
    assert snapshots.tolist() == [0, 1, *range(5, 12)]
    assert one.tolist() == [10 * S, 20 * S, *range(60 * S, 130 * S, 10 * S)]
    assert (other - one).tolist() == [5] * 9
    assert policy.pairs.shared(BOOT, MONO)[0].tolist() == list(range(12))
    # What another machine's clock read alone is in no span.
    assert policy.pairs._span(BOOT) == (10 * S, 120 * S)
    assert policy.pairs._span(FAR_BOOT) is None
    assert policy.pairs._span(C) is None


def test_the_span_of_a_clock_is_what_it_read_but_0() -> None:
    def span(clock: ClockId, **reads: Any) -> Any:
        graph = ClockGraph()
        graph.add_snapshot({A: reads["a"], B: reads["b"]})
        return graph._graph.tubes.pairs._span(clock)

    assert span(A, a=[5, -3, 9], b=[1, 2, 3]) == (-3, 9)
    assert span(A, a=[0, 1, 9], b=[1, 2, 3]) == (1, 9)
    assert span(A, a=[-9, -1, 0], b=[1, 2, 3]) == (-9, -1)
    assert span(B, a=[5], b=[7]) == (7, 7)
    assert span(B, a=[5], b=[0]) is None


# Ticks


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1, 1, 2_000), (999, 1_000, 2_000), (1_000, 1_000, 2_000), (1_000, 1_001, 2_001), (0.5, 2_000, 2_001),
     (2_000.5, 2.5, 2_004)],
)  # fmt: skip
def test_a_half_width_is_assumed_to_hold_both_ticks(
    one: float, other: float, expected: int
) -> None:
    at = np.arange(1, 4) * S
    pair = pair_of(
        {A: at, B: at}, domains=[ClockDomain(A, tick_ns=one), ClockDomain(B, tick_ns=other)]
    )
    assert (pair.half_width_ns, pair.assumed) == (expected, True)


def test_the_unit_of_a_clock_is_a_tick_at_the_least() -> None:
    at = np.arange(1, 4) * S
    for tick_ns, expected in ((1, 3_001), (2_999.5, 3_001), (3_000.5, 3_002)):
        domain = ClockDomain(ClockId(64, 1), tick_ns=tick_ns)
        pair = pair_of(
            {A: at, ClockId(64, 1): Reading(at // 3_000, 3_000)},
            domains=[domain],
            other=ClockId(64, 1),
        )
        assert pair.half_width_ns == expected


@pytest.mark.parametrize(
    ("one", "other", "expected"), [(None, 70, 70), (70, None, 70), (30, 50, 80), (0, 0, 0), (0, None, 0)]
)  # fmt: skip
def test_half_widths_that_are_declared_are_assumed_in_sum(
    one: int | None, other: int | None, expected: int
) -> None:
    at = np.arange(1, 4) * S
    pair = pair_of(
        {A: at, B: at},
        domains=[ClockDomain(c, assumed_half_width_ns=w) for c, w in ((A, one), (B, other))],
    )
    assert (pair.half_width_ns, pair.assumed) == (expected, True)


def ticking(tick: int, n: int = 60) -> tuple[Any, Any]:
    """Readings at uneven times, and such as show a tick."""
    at = 5_000 * S + np.array([k * S + k * k * 7_919_333 % 200_000_000 for k in range(n)])
    return at, at // tick * tick


def test_a_tick_that_readings_show_widens_what_is_declared_but_not_what_holds_it() -> None:
    at, read = ticking(1_000_000)
    for declared, expected in ((5, 1_000_000), (999_999, 1_000_000), (1_000_001, 1_000_001)):
        domain = ClockDomain(B, assumed_half_width_ns=declared)
        pair = pair_of({A: at, B: read}, domains=[domain])
        assert list(pair.ticks) == [B]
        assert pair.ticks[B].period_ns == 1_000_000
        assert pair.half_width_ns == expected


def test_a_tick_is_observed_where_it_is_longer_than_declared() -> None:
    at, read = ticking(1_000_000)

    def observed(**domain: Any) -> Any:
        graph = ClockGraph(domains=[ClockDomain(B, **domain)])
        graph.add_snapshot({A: at, B: read})
        found = graph._graph.tubes.pairs.observed_tick(B)
        return None if found is None else tuple(found)

    assert observed() == observed(tick_ns=999_999) == (1_000_000, 1_000_000)
    assert observed(tick_ns=1_000_000) is None
    assert observed(ns_per_tick=2) == (2_000_000, 2_000_000)
    assert observed(ns_per_tick=None) is None
    assert observed(valid_bits=48) is None
    graph = ClockGraph()
    graph.add_snapshot({A: at, B: read})
    assert graph._graph.tubes.pairs.observed_tick(A) is None


# Frequencies


def test_a_clock_that_nothing_steers_is_steered_by_nothing() -> None:
    """Only one clock has a recorded correction: the other's is 0, or unknown."""
    at = np.arange(1, 4) * S

    def correction(disciplined: bool) -> Any:
        graph = ClockGraph(domains=[ClockDomain(B, disciplined=disciplined)])
        graph.add_snapshot(Snapshot({A: at, B: at}, frequency_scaled_ppm={A: 65_536}))
        graph.add_snapshot({A: 9 * S, B: 9 * S})
        pair = graph._graph.tubes.pair(A, B)
        found = pair.tube.evidence.correction
        return None if found is None else [round(c / 2**52 * 1e9) for c in found[:3].tolist()]

    assert correction(disciplined=False) == [-1_000] * 3
    assert correction(disciplined=True) is None


# Limits


def test_limits_are_those_of_the_two_clocks_in_that_order() -> None:
    def of(one: str, other: str, *domains: ClockDomain) -> tuple[Any, ...]:
        made = ClockGraph(domains=domains)._graph.tubes.pairs.limits(
            ClockId.parse(one), ClockId.parse(other)
        )
        return (
            round(made.drift * 1e6),
            round(made.wander * 1e6, 6),
            made.wander_declared,
            made.rise,
            made.shared,
            made.one_rate,
        )

    posix = of("MONOTONIC", "BOOTTIME")
    assert posix[3:5] == ("suspend", True)
    assert of("MONOTONIC_RAW", "BOOTTIME")[3] == "suspend"
    assert of("MONOTONIC_COARSE", "BOOTTIME")[3] == "suspend"
    assert of("REALTIME", "BOOTTIME")[3] == of("BOOTTIME", "MONOTONIC")[3] == "step"
    assert of("MONOTONIC", "REALTIME")[3:] == ("step", True, True)
    assert of("REALTIME", "MONOTONIC")[3:] == ("step", True, True)
    assert of("MONOTONIC_RAW", "REALTIME")[3:] == ("step", True, False)
    assert of("TSC", "BOOTTIME")[3:] == ("step", False, False)
    # The TSC's rate is to be learnt: whatever it is declared to drift by.
    learnt = ClockDomain(ClockId(9), ns_per_tick=None, max_drift_ppm=3)
    assert of("TSC", "MONOTONIC_RAW", learnt)[0] == of("TSC", "MONOTONIC_RAW")[0] == 600
    known = ClockDomain(ClockId(9), ns_per_tick=Fraction(1, 2), max_drift_ppm=3)
    assert of("TSC", "MONOTONIC_RAW", known)[0] == 103
    both = [ClockDomain(c, max_drift_ppm=1, wander_ppm=w) for c, w in ((A, 0.25), (B, 0.5))]
    assert of("200", "201", *both) == (2, 0.75, True, "step", False, False)
    assert of("200", "201", both[0])[2] is False
    one = [ClockDomain(c, oscillator="x") for c in (A, B)]
    assert of("200", "201", *one)[4] is True
    assert of("200", "201", one[0])[4] is of("200", "201")[4] is False


# What is no evidence


def test_clocks_that_only_a_rule_equates_are_one_clock() -> None:
    def half(a: int, b: int, width: int | None = None) -> tuple[float, bool]:
        snapshot = {A: a, B: b} if width is None else measured(a, b, width)
        pair = pair_of(snapshot)
        return pair.half_width_ns, pair.assumed

    assert half(0, 0) == (0, False)
    assert half(0, 5) == half(5, 0) == half(5, 5) == (2_000, True)
    assert half(0, 0, 0) == (0, False)
    assert half(0, 0, 7) == (7, False)
    assert half(5, 5, 7) == (7, False)


def test_readings_that_are_all_too_far_apart_are_no_tube() -> None:
    with pytest.raises(ConversionError, match="check the snapshots' units") as error:
        pair_of({A: 0, B: (1 << 61) + 5})
    assert error.value.reason == "overflow"
    # Less far, no snapshot is farther than the others.
    pair = pair_of(measured([0, S], [FAR, FAR + S], 5))
    assert pair.snapshots.tolist() == [0, 1]
    assert pair.far == [(0, 0, FAR), (1, S, FAR + S)]


def test_an_error_names_the_clocks_that_share_no_snapshot() -> None:
    graph = ClockGraph()
    graph.add_snapshot({A: 5, B: 5})
    graph.add_snapshot({C: 5, FAR_BOOT: 5})
    pairs = graph._graph.tubes.pairs

    def why(one: ClockId, other: ClockId) -> str:
        with pytest.raises(ConversionError) as error:
            pairs.pair(one, other)
        assert error.value.reason == "no_path"
        return error.value.message

    assert why(A, C) == why(C, A) == "no snapshot or order has both 200 and 202"
    assert why(A, FAR_BOOT).startswith("no reading ties BOOTTIME@machine4 to 200")


def test_a_pair_says_whether_its_rates_are_learnt() -> None:
    at = np.arange(1, 4) * S
    for domains, learnt, rates in (
        ([], False, (1, 1)),
        ([ClockDomain(B, ns_per_tick=Fraction(1, 2))], False, (1, Fraction(1, 2))),
        ([ClockDomain(B, ns_per_tick=None)], True, (1, Fraction(1, 2))),
        ([ClockDomain(A, ns_per_tick=None)], True, (2, 1)),
    ):
        pair = (
            pair_of({A: at, B: 2 * at}, domains=domains)
            if rates != (1, 1)
            else pair_of({A: at, B: at})
        )
        assert (pair.learnt, pair.a_rate, pair.b_rate) == (learnt, *rates)
        assert (pair.rate_of(A), pair.rate_of(B)) == rates
        # Of 500 ppm each, whether one is so learnt or taken of its kind.
        assert pair.tube.limits.drift == pytest.approx(0.0010005, rel=1e-6)


# Pairs


@pytest.mark.parametrize("most", [1, 2, 3])
def test_as_many_pairs_have_a_tube_as_the_limit_allows(most: int) -> None:
    graph, at = ClockGraph(), np.arange(1, 4) * S
    clocks = [ClockId(200 + k) for k in range(5)]
    for one, other in pairwise(clocks):
        graph.add_snapshot({one: at, other: at})
    graph._graph.most_tubes = most
    policy = graph._graph.tubes
    for k in range(most):
        assert policy.pairs.has_room(clocks[k], clocks[k + 1])
        made = policy.pair(clocks[k + 1], clocks[k])
        assert policy.pair(clocks[k], clocks[k + 1]) is made
    assert policy.pairs.has_room(clocks[0], clocks[1])
    assert policy.pairs.has_room(clocks[1], clocks[0])
    assert not policy.pairs.has_room(clocks[most], clocks[most + 1])
    with pytest.raises(TraceError, match=f"requested of more than {most} pairs"):
        policy.pair(clocks[most], clocks[most + 1])
    graph._graph.most_tubes = None
    graph.declare(ClockDomain(A))
    assert graph._graph.tubes.pairs.has_room(clocks[3], clocks[4])


def test_the_steadier_clock_comes_first() -> None:
    pairs = ClockGraph()._graph.tubes.pairs
    order = [ClockId(c) for c in (5, 3, 4, 6, 9, 1, 200)]
    for k, one in enumerate(order):
        for other in order[k + 1 :]:
            if one.clock != 1:
                assert pairs.steadier_first(other, one) == [one, other]
                assert pairs.steadier_first(one, other) == [one, other]
