"""What a pair of clocks rests on: bars, ticks, limits and far snapshots, each by its exact value."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    TraceError,
)
from tracetime.graph.tube import Evidence
from tracetime.graph.tube.measurements import Read
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.graph.tube.pairs import (
    Pair,
    _fell,
    _keep_step,
    _learnt_drift,
    _Together,
    _with_tick,
)
from tracetime.graph.tube.tick_periods import Tick

S = 1_000_000_000
A, B, C = ClockId(200), ClockId(201), ClockId(202)


def measured(a: Any, b: Any, half: Any, one: ClockId = A, other: ClockId = B) -> Snapshot:
    return Snapshot({one: a, other: b}, reference=one, half_width_ns={other: half})


def pair_of(*snapshots: Any, domains: Any = (), one: ClockId = A, other: ClockId = B) -> Pair:
    graph = ClockGraph(domains=domains)
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return graph._parts.tubes.pair(one, other)


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
    policy = graph._parts.tubes
    pair = policy.pair(A, B)
    return [policy._pairs.bar_from(clock, pair) for clock in (A, B)]


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
    # What the other clock of the pair read lies within 40 ns of what it said.
    assert bars_from(measured(at + 5 * S + 40 * np.sign([first, last]), at, 40, B, C))[0] == 40.0
    within = np.clip([first, last], -1, 1) * 40
    assert bars_from(measured(np.array([15, 105]) * S + within, at, 40, B, C)) == [40.0, 40.0]
    assert bars_from(measured(at + 5 * S + within, at, 40, B, C)) == [40.0, bar_ns]


# Readings


def together(
    a: list[int], b: list[int], a_half: list[int], b_half: list[int], boxed: bool = False
) -> _Together:
    columns = [np.array(column) for column in (a, b, a_half, b_half)]
    zeros = np.zeros(len(a), dtype=np.int64)
    return _Together(
        np.arange(len(a)), columns[0], columns[1], Read(zeros, columns[2]),
        Read(zeros, columns[3]), np.full(len(a), boxed),
    )  # fmt: skip


FAR = (1 << 61) - (1 << 57)
WIDE = 1 << 56


def test_a_tube_holds_what_is_less_than_69_years_apart_and_no_wider_than_two() -> None:
    # Of floats so large, 256 is between two neighbours.
    offsets = [0, FAR - 256, FAR, 256 - FAR, -FAR]
    given = together([1, 0, 0, 0, 0], offsets, [-1] * 5, [-1] * 5)
    assert given.near().tolist() == [True, True, False, True, False]
    halves = [WIDE - 1, WIDE, WIDE + 1]
    assert together([0] * 3, [0] * 3, halves, [0] * 3).near().tolist() == [True, False, False]
    assert together([0] * 3, [0] * 3, [0] * 3, halves).near().tolist() == [True, False, False]
    for centre in (WIDE - 1, WIDE, 1 - WIDE, -WIDE):
        read = Read(np.array([centre]), np.array([0]))
        one = together([0], [0], [0], [0])
        for given in (one._replace(a_read=read), one._replace(b_read=read)):
            assert given.near().tolist() == [abs(centre) < WIDE]


def test_a_snapshot_beyond_what_a_tube_holds_is_told_as_an_outlier() -> None:
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


@pytest.mark.parametrize(
    ("half", "which", "expected"),
    [(-1, True, -1), (0, True, 50), (1, True, 51), (49, True, 99), (50, True, 50), (51, True, 51),
     (0, False, 0), (49, False, 49)],
)  # fmt: skip
def test_a_half_width_below_the_tick_grows_by_it(half: int, which: bool, expected: int) -> None:
    read = Read(np.array([3]), np.array([half]))
    grown = _with_tick(read, Tick(49.5, 50), np.array([which]))
    assert (grown.centre.tolist(), grown.half.tolist()) == ([3], [expected])
    assert _with_tick(read, None, np.array([which])) is read


@pytest.mark.parametrize(
    ("a", "a_half", "b_half", "expected"),
    [
        ([0, 1000], [0, 0], [0, 0], 0.001),
        ([0, 1000], [3, 2], [4, 1], 0.011),
        ([0, 1000], [-1, 2], [4, -1], 0.007),
        ([1000, 500, 0], [1, 90, 0], [0, 90, 4], 0.006),
        ([5, 5], [0, 0], [0, 0], 0.001),
        ([5, 6], [0, 0], [0, 0], 0.001),
        ([0, 100], [4, 5], [0, 0], 0.091),
        ([0, 100], [5, 5], [0, 0], 0.1),
        ([5, 5], [1, 0], [0, 0], 0.1),
        ([0, 1], [0, 0], [1, 0], 0.1),
    ],
)
def test_a_learnt_rate_is_off_by_what_its_ends_are_unsure_of(
    a: list[int], a_half: list[int], b_half: list[int], expected: float
) -> None:
    given = together(a, a, a_half, b_half)
    assert _learnt_drift(given, 0.001) == pytest.approx(expected, rel=1e-12)


def test_half_widths_of_bounds_stretch_with_the_ticks_of_their_clock() -> None:
    given = together([10, 20], [30, 40], [5, 6], [7, 8])._replace(boxed=np.array([True, False]))
    same = given.at_rates(Fraction(1), Fraction(1))
    assert same is given
    a = given.at_rates(Fraction(3, 2), Fraction(1))
    assert (a.a_ns.tolist(), a.a_read.half.tolist()) == ([15, 30], [8, 6])
    assert (a.b_ns.tolist(), a.b_read.half.tolist()) == ([30, 40], [7, 8])
    b = given.at_rates(Fraction(1), Fraction(2, 3))
    assert (b.b_ns.tolist(), b.b_read.half.tolist()) == ([20, 26], [5, 8])
    assert (b.a_ns.tolist(), b.a_read.half.tolist()) == ([10, 20], [5, 6])


def test_bounds_stand_among_snapshots_in_file_order() -> None:
    given = together([10, 20], [30, 40], [5, 6], [7, 8])._replace(snapshots=np.array([1, 4]))
    boxes = Boxes(*(np.array(c) for c in ([0, 3, 4], [1, 3, 5], [4, 3, 6], [8, 9, 1], [8, 12, 2])))
    beside = given.beside(boxes)
    assert beside.snapshots.tolist() == [0, 1, 3, 4, 4]
    assert beside.boxed.tolist() == [True, False, True, False, True]
    assert beside.a_ns.tolist() == [2, 10, 3, 20, 5]
    assert beside.b_ns.tolist() == [8, 30, 10, 40, 1]
    assert beside.a_read.half.tolist() == [2, 5, 0, 6, 1]
    assert beside.b_read.half.tolist() == [0, 7, 2, 8, 1]
    assert beside.a_read.centre.tolist() == beside.b_read.centre.tolist() == [0] * 5
    chosen = beside.only(beside.boxed)
    assert [c.tolist() for c in chosen[:3]] == [[0, 3, 4], [2, 3, 5], [8, 10, 1]]
    assert chosen.boxed.tolist() == [True] * 3
    assert [read.half.tolist() for read in chosen[3:5]] == [[2, 0, 1], [0, 2, 1]]


# Clocks that sleep


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([3, 5, 9], [3, 5, 9], True),
        ([3, 5, 9], [4, 6, 10], True),
        ([3, 5, 9], [2, 4, 8], True),
        ([3, 5, 9], [4, 6, 11], False),
        ([3, 5, 9], [4, 6], False),
        ([3, 5], [4, 6, 10], False),
        ([3], [9], True),
        ([3], [9, 9], False),
    ],
)
def test_messages_are_the_same_where_each_snapshot_is_as_far_from_its_twin(
    one: list[int], other: list[int], expected: bool
) -> None:
    assert _keep_step(np.array(one), np.array(other)) is expected


@pytest.mark.parametrize(
    ("r", "half", "fell", "fell_by_the_middle"),
    [
        ([0, 0, 0], 0, False, False),
        ([0, -10, -20], 0, False, False),
        ([0, -11, 0], 0, True, True),
        ([0, -15, 0], 2, True, True),
        ([0, -15, 0], 3, False, True),
        ([0, -6, -22], 0, True, True),
        ([0, 90, 79], 0, True, True),
        ([0, 90, 80], 0, False, False),
    ],
)
def test_a_clock_fell_that_read_less_after_it_had_read_more(
    r: list[int], half: int, fell: bool, fell_by_the_middle: bool
) -> None:
    for assumed, expected in ((False, fell), (True, fell_by_the_middle)):
        evidence = Evidence.of(np.array([0, 10, 20]), np.array(r), half, assumed=assumed)
        assert _fell(evidence) is expected


BOOT, MONO = ClockId(6), ClockId(3)
FAR_BOOT, FAR_MONO = ClockId(6, machine=4), ClockId(3, machine=4)


def boxes_of(snapshots: list[int], here: Any, there: Any, late: int = 0) -> tuple[Any, ...]:
    """Messages that bound the one clock to 1 us and the other to 2."""
    here, there = np.array(here), np.array(there)
    return np.array(snapshots), here, here + 1_000, there + late, there + late + 2_000


def machines(boot: tuple[Any, ...], mono: tuple[Any, ...]) -> ClockGraph:
    """BOOTTIME and MONOTONIC of two machines, each bounded by messages."""
    graph = ClockGraph()
    graph.add_snapshot({BOOT: 1, MONO: 1})
    for k in range(40):
        graph.add_snapshot({FAR_BOOT: 500 + k, FAR_MONO: 1 + k})
    pairs = [(BOOT, FAR_BOOT), (MONO, FAR_MONO)]
    boxes = Boxes(*(np.concatenate(column) for column in zip(boot, mono, strict=True)))
    graph._parts.state.between = Between(pairs, boxes, np.cumsum([len(boot[0]), len(mono[0])]))
    return graph


AT = np.arange(1, 13) * 10 * S
SLEPT = np.where(AT > 60 * S, 8 * S, 0)
NUMBERS = list(range(1, 25, 2))
LATER = [number + 1 for number in NUMBERS]


def slept(boot: tuple[Any, ...], mono: tuple[Any, ...]) -> bool:
    policy = machines(boot, mono)._parts.tubes
    pair = policy.pair(MONO, FAR_MONO)
    assert (pair.a, pair.b) == (MONO, FAR_MONO)
    assert pair.tube.has_set_back
    found = policy._pairs._slept(pair)
    assert policy._pairs.was_set_back(FAR_MONO) is not found
    assert policy._pairs.only_stood_still(pair) is found
    return found


def test_monotonic_of_another_machine_was_not_set_back_where_that_slept() -> None:
    """Its BOOTTIME goes on, and the same messages say so."""
    mono = boxes_of(NUMBERS, AT, AT - SLEPT)
    assert slept(boxes_of(NUMBERS, AT, AT), mono)
    assert slept(boxes_of(LATER, AT, AT), mono)
    # Of one message BOOTTIME is not known: who knows what was then.
    assert not slept(boxes_of(NUMBERS[1:], AT[1:], AT[1:]), mono)
    assert not slept(boxes_of([*NUMBERS[:-1], 26], AT, AT), mono)
    # BOOTTIME fell, too: the machine was started anew.
    assert not slept(boxes_of(NUMBERS, AT, AT - SLEPT), mono)
    # MONOTONIC read less than before, as no clock does that stands still.
    assert not slept(boxes_of(NUMBERS, AT, AT), boxes_of(NUMBERS, AT, AT - 2 * SLEPT))


def test_no_clock_of_one_machine_slept_by_another() -> None:
    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC_RAW": AT, "MONOTONIC": AT - SLEPT, "BOOTTIME": AT})
    policy = graph._parts.tubes
    pair = policy.pair(ClockId(5), MONO)
    assert pair.tube.has_set_back
    assert not policy._pairs._slept(pair)
    assert policy._pairs.was_set_back(MONO)


def test_a_clock_stood_still_where_another_that_was_always_read_with_it_did_too() -> None:
    """Of a set-back counter: BOOTTIME jumped past both over a suspend."""

    def stood(counter: Any, *, also: Any = None) -> list[bool]:
        graph = ClockGraph()
        graph.add_snapshot({"BOOTTIME": AT + SLEPT, "MONOTONIC": AT, A: counter})
        if also is not None:
            graph.add_snapshot({"BOOTTIME": also, A: also - 8 * S})
        policy = graph._parts.tubes
        return [
            policy._pairs.only_stood_still(policy.pair(ClockId(other), A)) for other in (6, 3)
        ] + [policy._pairs.was_set_back(A)]

    assert stood(AT) == [True, False, False]
    assert stood(AT, also=AT[-1:] + 20 * S) == [False, False, False]
    assert stood(AT - SLEPT) == [False, False, True]
    assert stood(AT + SLEPT) == [False, False, False]


# What is read, and what is not


def test_zeros_of_two_machines_count_where_anybody_says_how_well_they_were_read() -> None:
    def numbers(half: Any, **other: Any) -> list[int]:
        graph = ClockGraph()
        graph.add_snapshot({BOOT: 5, MONO: 5})
        reads = {BOOT: 0, FAR_BOOT: 0}
        halves = None if half is None else {FAR_BOOT: half}
        graph.add_snapshot(Snapshot(reads, half_width_ns=halves, **other))
        return list(graph._parts.tubes.shared(BOOT, FAR_BOOT)[0])

    assert numbers(None) == []
    assert numbers(0, reference=BOOT) == [1]
    assert numbers(300, reference=BOOT) == [1]
    assert numbers(0, reference=FAR_BOOT) == [1]


def test_snapshots_that_were_worked_out_are_not_read() -> None:
    graph = ClockGraph()
    graph.add_snapshot({BOOT: AT, FAR_BOOT: AT + 5, MONO: AT})
    graph._parts.state.between = Between(worked_out=[2, 3, 4])
    policy = graph._parts.tubes
    snapshots, one, other = policy.shared(BOOT, FAR_BOOT)
    assert snapshots.tolist() == [0, 1, *range(5, 12)]
    assert one.tolist() == [10 * S, 20 * S, *range(60 * S, 130 * S, 10 * S)]
    assert (other - one).tolist() == [5] * 9
    assert policy.shared(BOOT, MONO)[0].tolist() == list(range(12))
    # What another machine's clock read alone is in no span.
    assert policy._pairs._span(BOOT) == (10 * S, 120 * S)
    assert policy._pairs._span(FAR_BOOT) is None
    assert policy._pairs._span(C) is None


def test_the_span_of_a_clock_is_what_it_read_but_0() -> None:
    def span(clock: ClockId, **reads: Any) -> Any:
        graph = ClockGraph()
        graph.add_snapshot({A: reads["a"], B: reads["b"]})
        return graph._parts.tubes._pairs._span(clock)

    assert span(A, a=[5, -3, 9], b=[1, 2, 3]) == (-3, 9)
    assert span(A, a=[0, 1, 9], b=[1, 2, 3]) == (1, 9)
    assert span(A, a=[-9, -1, 0], b=[1, 2, 3]) == (-9, -1)
    assert span(B, a=[5], b=[7]) == (7, 7)
    assert span(B, a=[5], b=[0]) is None


# Ticks


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [(1, 1, 1_000), (499, 500, 1_000), (500, 500, 1_000), (500, 501, 1_001), (0.5, 1_000, 1_001),
     (1_000.5, 2.5, 1_004)],
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
            {A: at, ClockId(64, 1): Reading(at // 3_000, 3_000)}, domains=[domain],
            other=ClockId(64, 1),
        )  # fmt: skip
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


def test_a_tick_is_shown_where_it_is_more_than_is_said() -> None:
    at, read = ticking(1_000_000)

    def shown(**domain: Any) -> Any:
        graph = ClockGraph(domains=[ClockDomain(B, **domain)])
        graph.add_snapshot({A: at, B: read})
        found = graph._parts.tubes.observed_tick(B)
        return None if found is None else tuple(found)

    assert shown() == shown(tick_ns=999_999) == (1_000_000, 1_000_000)
    assert shown(tick_ns=1_000_000) is None
    assert shown(ns_per_tick=2) == (2_000_000, 2_000_000)
    assert shown(ns_per_tick=None) is None
    assert shown(valid_bits=48) is None
    graph = ClockGraph()
    graph.add_snapshot({A: at, B: read})
    assert graph._parts.tubes.observed_tick(A) is None


# Frequencies


def test_a_clock_that_nothing_steers_is_steered_by_nothing() -> None:
    """Of the readings of one clock alone a correction is said: the other's is 0, or unknown."""
    at = np.arange(1, 4) * S

    def correction(disciplined: bool) -> Any:
        graph = ClockGraph(domains=[ClockDomain(B, disciplined=disciplined)])
        graph.add_snapshot(Snapshot({A: at, B: at}, frequency_scaled_ppm={A: 65_536}))
        graph.add_snapshot({A: 9 * S, B: 9 * S})
        pair = graph._parts.tubes.pair(A, B)
        found = pair.tube.evidence.correction
        return None if found is None else [round(c / 2**52 * 1e9) for c in found[:3].tolist()]

    assert correction(disciplined=False) == [-1_000] * 3
    assert correction(disciplined=True) is None


# Bounds


def test_bounds_hold_the_ticks_and_the_drift_of_both_clocks() -> None:
    def half(drift_ppm: float, tick_ns: float, one_wide: int, other_wide: int) -> float:
        domains = [
            ClockDomain(c, max_drift_ppm=drift_ppm, tick_ns=tick_ns) for c in (BOOT, FAR_BOOT)
        ]
        graph = ClockGraph(domains=domains)
        graph.add_snapshot({BOOT: 1, MONO: 1})
        graph.add_snapshot({FAR_BOOT: 1, FAR_MONO: 1})
        boxes = Boxes(*(np.array([c]) for c in (1, S, S + one_wide, 5 * S, 5 * S + other_wide)))
        graph._parts.state.between = Between([(BOOT, FAR_BOOT)], boxes, np.array([1]))
        pair = graph._parts.tubes.pair(BOOT, FAR_BOOT)
        assert not pair.assumed
        assert pair.snapshots.tolist() == [1]
        return pair.half_width_ns

    plain = half(0, 1, 0, 0)
    assert plain == 6
    assert half(0, 5, 0, 0) == 14
    assert half(0, 1, 100, 0) == half(0, 1, 0, 100) == 56
    # Of 1,000 ppm over half a box; and over half of that on each side, as of any two readings.
    assert half(500, 1, 1_000_000, 0) - half(0, 1, 1_000_000, 0) == 500 + 251


def test_bounds_widen_no_snapshot_that_was_read() -> None:
    graph = ClockGraph(domains=[ClockDomain(c, max_drift_ppm=0) for c in (BOOT, FAR_BOOT)])
    graph.add_snapshot({BOOT: 1, MONO: 1})
    reads = {BOOT: [S, 9 * S], FAR_BOOT: [5 * S, 13 * S]}
    graph.add_snapshot(Snapshot(reads, reference=BOOT, half_width_ns={FAR_BOOT: [0, 50]}))
    boxes = Boxes(*(np.array([c]) for c in (3, 4 * S, 4 * S, 8 * S, 8 * S)))
    graph._parts.state.between = Between([(BOOT, FAR_BOOT)], boxes, np.array([1]))
    evidence = graph._parts.tubes.pair(BOOT, FAR_BOOT).tube.evidence
    assert evidence.a.tolist() == [S, 4 * S, 9 * S]
    assert evidence.half.tolist() == [0, 6, 50]
    assert evidence.r.tolist() == [4 * S] * 3


def test_bounds_count_for_clocks_that_count_ns_and_do_not_wrap() -> None:
    """As messages do."""
    boxes = Boxes(*(np.array([c]) for c in (1, S, S + 100, 5 * S, 5 * S + 100)))

    def counts(unit_ns: int, *domains: ClockDomain) -> list[bool]:
        here, there = ClockId(64, 1), ClockId(64, 1, machine=4)
        graph = ClockGraph(domains=domains)
        graph.add_snapshot({BOOT: 1, here: Reading(1, unit_ns)})
        graph.add_snapshot({FAR_BOOT: 1, there: Reading(1, unit_ns)})
        graph._parts.state.between = Between(
            [(BOOT, there), (here, FAR_BOOT)], boxes, np.array([1, 1])
        )
        pairs = graph._parts.tubes._pairs
        found = [(BOOT, there), (there, BOOT), (here, FAR_BOOT), (FAR_BOOT, here), (here, there)]
        return [pairs._boxes(*ends) is not None for ends in found]

    assert counts(1) == [True] * 4 + [False]
    assert counts(2) == counts(1_000) == [False] * 5
    assert counts(1, ClockDomain(BOOT, valid_bits=40)) == [False] * 2 + [True] * 2 + [False]
    assert counts(1, ClockDomain(FAR_BOOT, valid_bits=40)) == [True] * 2 + [False] * 3


@pytest.mark.parametrize("most", [1, 2, 3])
def test_so_many_pairs_have_a_tube_as_may(most: int) -> None:
    graph, at = ClockGraph(), np.arange(1, 4) * S
    clocks = [ClockId(200 + k) for k in range(5)]
    for one, other in pairwise(clocks):
        graph.add_snapshot({one: at, other: at})
    graph._parts.most_tubes = most
    policy = graph._parts.tubes
    for k in range(most):
        assert policy.has_room(clocks[k], clocks[k + 1])
        made = policy.pair(clocks[k + 1], clocks[k])
        assert policy.pair(clocks[k], clocks[k + 1]) is made
    assert policy.has_room(clocks[0], clocks[1])
    assert policy.has_room(clocks[1], clocks[0])
    assert not policy.has_room(clocks[most], clocks[most + 1])
    with pytest.raises(TraceError, match=f"asked for of more than {most} pairs"):
        policy.pair(clocks[most], clocks[most + 1])
    graph._parts.most_tubes = None
    graph.declare(ClockDomain(A))
    assert graph._parts.tubes.has_room(clocks[3], clocks[4])


def test_the_steadier_clock_comes_first() -> None:
    pairs = ClockGraph()._parts.tubes._pairs
    order = [ClockId(c) for c in (5, 3, 4, 6, 9, 1, 200)]
    for k, one in enumerate(order):
        for other in order[k + 1 :]:
            if one.clock != 1:
                assert pairs.steadier_first(other, one) == [one, other]
                assert pairs.steadier_first(one, other) == [one, other]


# Limits


def test_limits_are_those_of_the_two_clocks_in_that_order() -> None:
    def of(one: str, other: str, *domains: ClockDomain) -> tuple[Any, ...]:
        made = ClockGraph(domains=domains)._parts.tubes.limits(
            ClockId.parse(one), ClockId.parse(other)
        )
        return (
            round(made.drift * 1e6), round(made.wander * 1e6, 6), made.wander_declared, made.rise,
            made.shared, made.one_rate,
        )  # fmt: skip

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
    assert of("TSC", "MONOTONIC_RAW", learnt)[0] == of("TSC", "MONOTONIC_RAW")[0] == 1_101
    known = ClockDomain(ClockId(9), ns_per_tick=Fraction(1, 2), max_drift_ppm=3)
    assert of("TSC", "MONOTONIC_RAW", known)[0] == 203
    both = [ClockDomain(c, max_drift_ppm=1, wander_ppm=w) for c, w in ((A, 0.25), (B, 0.5))]
    assert of("200", "201", *both) == (3, 0.75, True, "step", False, False)
    assert of("200", "201", both[0])[2] is False
    one = [ClockDomain(c, oscillator="x") for c in (A, B)]
    assert of("200", "201", *one)[4] is True
    assert of("200", "201", one[0])[4] is of("200", "201")[4] is False


# What is no evidence


def test_clocks_that_are_equated_at_0_alone_are_one_clock() -> None:
    def half(a: int, b: int, width: int | None = None) -> tuple[float, bool]:
        snapshot = {A: a, B: b} if width is None else measured(a, b, width)
        pair = pair_of(snapshot)
        return pair.half_width_ns, pair.assumed

    assert half(0, 0) == (0, False)
    assert half(0, 5) == half(5, 0) == half(5, 5) == (1_000, True)
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


def test_who_has_no_snapshot_with_whom_is_told() -> None:
    graph = ClockGraph()
    graph.add_snapshot({A: 5, B: 5})
    graph.add_snapshot({C: 5, FAR_BOOT: 5})
    pairs = graph._parts.tubes._pairs

    def why(one: ClockId, other: ClockId) -> str:
        with pytest.raises(ConversionError) as error:
            pairs.pair(one, other)
        assert error.value.reason == "no_path"
        return error.value.message

    assert why(A, C) == why(C, A) == "no snapshot has both 200 and 202"
    assert why(A, FAR_BOOT).startswith("nothing that was read ties BOOTTIME@machine4 to 200")


def test_rates_that_are_learnt_are_told_and_those_declared_are_not() -> None:
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
        assert pair.tube.limits.drift == pytest.approx(0.00150075, rel=1e-6)
