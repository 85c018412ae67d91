"""Small parts of graphs against slow ones, or at their limits: counters, ticks, pictures, lists."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from seeds import seeds

from tracetime import ClockId
from tracetime.clocks.families import steadiness
from tracetime.graph.contents import ClockLists
from tracetime.graph.curves import _offsets, _points, _within, ppm_of, since
from tracetime.graph.tube.counters import _ANYWHERE, _apart, _Known, _nearest, _turns
from tracetime.graph.tube.graph_data import GraphData
from tracetime.graph.tube.lattice import EventReadings, Lattice
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.tick_periods import Residuals, Ticks, _rises, _some
from tracetime.graph.tube.wraps import Counter, open_wraps
from tracetime.reporting.drift import robust_range
from tracetime.reporting.plot import _pieces

S = 1_000_000_000
INT64 = np.iinfo(np.int64)
APP = ClockId.parse("com.example.app")


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


# Counters


@pytest.mark.parametrize("seed", seeds(20))
def test_the_nearest_of_some_values(seed: int) -> None:
    """Of two as near, the later one."""
    chance = Random(seed)
    values = sorted({int(chance.random() * 30) for _ in range(1 + seed % 7)})
    wanted = np.arange(-3, 34)
    near = [max(range(len(values)), key=lambda k: (-abs(values[k] - w), k)) for w in wanted]
    assert _nearest(np.array(values), wanted).tolist() == near


def test_values_as_far_apart_as_int64_reaches() -> None:
    one, other = ints(INT64.min, 5, -5, INT64.max), ints(INT64.max, -3, 3, INT64.min)
    assert _apart(one, other).tolist() == [2**64 - 1, 8, 8, 2**64 - 1]
    assert _nearest(ints(INT64.min, INT64.max), ints(-2, 1)).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("least", "most", "turns"),
    [
        (8, 12, 1), (10, 10, 1), (10, 19, 1), (11, 20, 2), (10, 20, None), (8, 21, None),
        (-12, -8, -1), (0, 0, 0), (0, 9, 0), (-9, 0, 0),
        # None is between: that which misses by less, and by less than half.
        (1, 9, None), (1, 8, 0), (2, 9, 1), (4, 5, 0), (5, 6, 1), (5, 5, None), (4, 4, 0),
        (6, 6, 1), (-1, -1, 0), (-6, -6, -1), (5, 4, None), (6, 5, None), (7, 6, 1), (4, 3, 0),
        (5, 3, None),
    ],
)  # fmt: skip
def test_how_many_wraps_of_ten_lie_between(least: int, most: int, turns: int | None) -> None:
    assert _turns(least, most, 10) == turns


def test_what_is_known_of_a_counter_is_added_to_once() -> None:
    known = _Known(ints(2, 9), ints(10, 25))
    known.add(ints(9, 5, 2), ints(77, 40, 78))
    assert known.snapshots.tolist() == [2, 5, 9]
    assert known.readings.tolist() == [10, 40, 25]
    assert known.has(ints(1, 2, 5, 10)).tolist() == [False, True, True, False]
    assert known.at(ints(9, 2)).tolist() == [25, 10]
    low, high = known.around(ints(0, 2, 3, 5, 7, 9, 11))
    some = _ANYWHERE
    assert low.tolist() == [-some, -some, 10, 10, -some, -some, 25]
    assert high.tolist() == [10, 10, 40, 40, some, some, some]
    low, high = _Known(ints(2, 5), ints(10, 10)).around(ints(1, 3, 6))
    assert [low.tolist(), high.tolist()] == [[-some, 10, 10], [10, 10, some]]


@pytest.mark.parametrize(
    ("readings", "here", "there"),
    [
        ((100, 130, 190), [55, 55, 100, 100, 130, 130, 190], [100, 100, 130, 130, 190, 190, 235]),
        ((100, 20, 50), [70, 70, 100, 100, 20, 20, 50], [100, 100, 100, 100, 50, 50, 80]),
        ((5, 5, 8), [4, 4, 5, 5, 5, 5, 8], [5, 5, 5, 5, 8, 8, 9]),
        ((9, 7, 5), [9, 9, 9, 9, 7, 7, 5], [9, 9, 9, 9, 7, 7, 5]),
    ],
)
def test_the_span_that_timestamps_lie_in(
    readings: tuple[int, ...], here: list[int], there: list[int]
) -> None:
    counter = Counter(1_000, ints(4, 7, 10), ints(*readings))
    spans = counter.around(ints(0, 4, 5, 7, 9, 10, 11))
    assert [side.tolist() for side in spans] == [here, there]


def test_spans_end_at_int64() -> None:
    least, most = int(INT64.min), int(INT64.max)
    low = Counter(9, ints(1, 2), ints(least + 5, least + 105)).around(ints(0, 3))
    assert [side.tolist() for side in low] == [[least, least + 105], [least + 5, least + 205]]
    high = Counter(9, ints(1, 2), ints(most - 105, most - 5)).around(ints(0, 3))
    assert [side.tolist() for side in high] == [[most - 205, most - 5], [most - 105, most]]
    one = Counter(9, ints(1), ints(7))
    assert [side.tolist() for side in one.around(ints(0, 1, 2))] == [[7, 7, 7], [7, 7, 7]]
    places = one.at(ints(0, 1, 2))
    assert [side.tolist() for side in places] == [[7, 7, 7], [False, True, False]]


@pytest.mark.parametrize("seed", seeds(30))
def test_what_a_folded_value_can_have_been(seed: int) -> None:
    """The first and last within its span; where it is in none, next to the nearer end."""
    chance = Random(seed)
    m = 5 + seed % 8
    low = int((chance.random() - 0.5) * 60)
    high = low + int(chance.random() * [m, 3 * m][seed % 2])
    values = np.arange(-2, m + 3)
    counter = Counter(m, ints(0), ints(0))
    first, last = counter.unfold(values, np.full(len(values), low), np.full(len(values), high))
    for k, value in enumerate(values.tolist()):
        every = range(value - 40 * m, value + 40 * m, m)
        inside = [x for x in every if low <= x <= high]
        if not 0 <= value < m:
            inside = [value]
        elif not inside:
            inside = [min(every, key=lambda x: (max(low - x, x - high), x))]
        assert (first[k], last[k]) == (inside[0], inside[-1])


def test_snapshots_further_apart_than_a_wrap_are_said() -> None:
    def message(rate: Fraction | None, *readings: int) -> str | None:
        return open_wraps(APP, Counter(1_000, np.arange(len(readings)), ints(*readings)), rate)

    assert message(None, 5) is message(None, 5, 1_004) is message(None, 0, 999, 1_998, 0) is None
    rest = (
        "between two of its snapshots, and which of these wraps a reading belongs to is open: "
        "take a snapshot of it more often than it wraps"
    )
    assert message(None, 5, 1_005) == f"{APP} wraps, up to 1.0 times {rest}"
    assert message(Fraction(5, 2), 0, 7, 2_507) == (
        f"{APP} wraps every 2.5e-06 s, up to 2.5 times {rest}"
    )


# Ticks


def test_steps_of_a_lattice_are_whole_within_rounding() -> None:
    readings = ints(0, 100, 201, 303, 403, 303, 52, 252)
    assert Lattice(100.0, 0).steps(readings).tolist() == [1, 1, 0, 1, 1, 0, 2]
    assert Lattice(100.0, 1).steps(readings).tolist() == [1, 1, 0, 1, 1, 0, 2]
    assert Lattice(100.0, 2).steps(readings).tolist() == [1, 1, 1, 1, 1, 0, 2]
    assert Lattice(100.0, 2).steps(ints(0, 103, 207)).tolist() == [1, 0]
    far = Lattice(1.0, 0).steps(ints(0, 2**52 - 1, 2**53 - 1, -(2**62)))
    assert far.tolist() == [2**52 - 1, 0, 0]


@pytest.mark.parametrize(
    ("steps", "uneven"),
    [
        ([1, 2, 3, 4, 5, 6, 7], True),
        ([1, 2, 3, 4, 5, 6, 5], True),
        ([1, 2, 3, 4, 1, 2, 1], False),
        # What two blocks are apart says nothing, nor what is off the lattice.
        ([1, 2, 3, 4, 1, 2, 3, 9, 1, 1, 1, 1, 1, 1, 1], False),
        ([1, 2, 3, 4, 1, 2, 3, 9, 1, 1, 1, 1, 1, 1, 2], False),
        ([1, 2, 3, 4, 1, 2, 3, 9, 1, 1, 1, 1, 1, 1, 3], True),
        ([1, 2, 3, 4, 1, 2, 3, 9, 3, 1, 1, 1, 1, 1, 1], True),
        ([1, 2, 3, 4, 5, 6, 6.5], False),
        ([6.5, 2, 3, 4, 5, 6, 7], False),
        ([1, 2, 3, 6.5, 4, 5, 6], False),
    ],
)
def test_events_are_uneven_by_six_kinds_of_neighbours(steps: list[float], uneven: bool) -> None:
    readings = np.cumsum(np.array([0, *steps]) * 1_000).astype(np.int64)
    lattice = Lattice(1_000.0, 0)
    assert EventReadings(readings, 10, 9).are_uneven(lattice) == uneven
    assert EventReadings(readings, 10, 10).are_uneven(lattice)


@pytest.mark.parametrize(
    ("steps", "off", "known", "is_visible"),
    [
        ([2, 3, *[1] * 13], 0, 0, True),
        ([2, 3, *[1] * 12], 0, 0, False),
        # What is off the lattice, or was read in snapshots, too, does not count.
        ([2, 3, *[1] * 12], 9, 0, False),
        ([2, 3, *[1] * 13], 9, 0, True),
        ([2, 3, *[1] * 13], 0, 1, False),
        ([2, 3, *[1] * 14], 0, 1, True),
        # Nor are they on it if they are on a longer one.
        ([2] * 15, 0, 0, False),
        ([2] * 14 + [3], 0, 0, True),
    ],
)
def test_fifteen_steps_of_events_alone_show_a_tick(
    steps: list[int], off: int, known: int, is_visible: bool
) -> None:
    all_steps = [*steps, *([0.5] * off)]
    readings = np.cumsum(np.array([0, *all_steps]) * 1_000).astype(np.int64)
    events = {APP: EventReadings(readings, 10, 10)}
    unused: Any = None
    data = GraphData(
        shared=unused,
        readings=lambda _: readings[:known],
        unit_ns=lambda _: 1,
        domain=unused,
        neighbours=unused,
        measured=unused,
        between=unused,
        orders=unused,
        events=events,
    )
    ticks = Ticks(data)
    assert ticks._events_show(APP, Lattice(1_000.0, 0)) == is_visible
    assert not ticks._events_show(ClockId(64), Lattice(1_000.0, 0))


def test_of_many_readings_blocks_of_neighbours_are_looked_at() -> None:
    assert _some(np.arange(1_024)).tolist() == list(range(1_024))
    for n in (1_025, 9_000):
        blocks = _some(np.arange(n)).reshape(-1, 8)
        assert len(blocks) == 128
        assert (np.diff(blocks, axis=1) == 1).all()
        assert blocks[:, 0].tolist() == [int(k * ((n - 8) / 127)) for k in range(127)] + [n - 8]


@pytest.mark.parametrize(
    ("n", "strides"),
    [(15, 0), (16, 1), (19, 1), (20, 2), (39, 2), (40, 3), (79, 3), (80, 4), (200, 4)],
)
def test_neighbours_are_so_far_off_as_there_are_enough_snapshots(n: int, strides: int) -> None:
    times = np.arange(n, dtype=np.int64) * S
    left = Residuals.of(times, times + 5)
    assert left == Residuals([0.0] * strides, [0.0] * strides)


@pytest.mark.parametrize(("more", "expected"), [(0, True), (1_000, False), (-1_000, True)])
@pytest.mark.parametrize("sign", [1, -1])
def test_units_that_are_not_the_same_say_nothing_of_ticks(
    more: int, expected: bool, sign: int
) -> None:
    """One in ten more than the other, or less."""
    k = np.arange(30, dtype=np.int64)
    left = Residuals.of(k * S, k * (S + sign * (S // 10 + more)))
    assert bool(left.median) == expected


def test_three_readings_rise_if_the_middle_one_is_no_further_than_the_last() -> None:
    past = np.array([0.0, 1.0, 5.0, 0.0, -1.0, 2.0, -1.0, 0.5])
    span = np.array([1.0, 1.0, 9.0, 0.0, 1.0, 1.0, -1.0, 0.5])
    assert _rises(past, span).tolist() == [True, True, True, False, False, False, False, True]


@pytest.mark.parametrize(
    ("median", "most", "scatters", "steady"),
    [
        ([1.0], [6.0], True, False),
        ([0.999], [6.0], False, True),
        ([1.0], [6.001], False, False),
        ([0.5, 2.0], [1.0, 9.0], False, False),
        ([0.5, 2.0], [9.0, 1.0], True, False),
        ([0.5, 0.6], [1.0, 1.0], False, True),
        ([], [], False, False),
    ],
)
def test_what_is_left_scatters_over_a_tick_of_ten(
    median: list[float], most: list[float], scatters: bool, steady: bool
) -> None:
    """A tenth of it in the middle, and most of it no more than one and a half of what may be: 4."""
    left = Residuals(median, most)
    assert left.scatters(10.0, 4.0) == scatters
    assert left.is_steady(10.0) == steady


# Pictures


@pytest.mark.parametrize("seed", seeds(20))
def test_points_within_zones(seed: int) -> None:
    chance = Random(seed)
    froms = [int(chance.random() * 30) for _ in range(seed % 5)]
    tos = [x + int(chance.random() * 5) for x in froms]
    points = np.arange(-2, 40)
    inside = [any(x < p < y for x, y in zip(froms, tos, strict=True)) for p in points]
    assert _within(points, ints(*froms), ints(*tos)).tolist() == inside


def test_points_of_a_curve() -> None:
    """Snapshots, half-way, just before; eight parts of each gap, and of what is past the ends."""
    past = [*range(-700, 0, 100), -803, *range(1_100, 1_800, 100), 1_805]
    steps = [-101 * k for k in range(8)] + [1_000 + 100 * k for k in range(8)]
    got = _points(ints(0, 1_000), (-803, 1_805)).tolist()
    assert got == sorted({*steps, *range(0, 1_001, 125), 500, 999, past[7], past[-1]})
    alone = _points(ints(50), (50 - 16, 50 + 16)).tolist()
    assert alone == list(range(34, 67, 2))


def test_offsets_are_exact_before_they_are_floats() -> None:
    a, b = ints(INT64.min + 7, 2**62, 5), ints(INT64.min + 9, 2**62 + 2**61 + 3, -2)
    assert _offsets(b, a, 1).tolist() == [1.0, 2.0**61, -8.0]
    assert _offsets(ints(INT64.max), ints(INT64.min), 5).tolist() == [2.0**64]
    assert since(ints(2**62 + 3), 2**62).tolist() == [3.0]
    assert since(ints(INT64.max), int(INT64.max) - 2).tolist() == [2.0]
    assert since(ints(INT64.max), -(2**63)).tolist() == [2.0**64]


def test_between_which_values_all_but_a_few_lie() -> None:
    """A fiftieth by weight is left out on either side; at least 0.1 ppm is the width."""
    every = np.arange(101.0)
    chance = np.random.default_rng(5).permutation(101)
    assert robust_range(every[chance], np.ones(101), 0.02) == (2.0, 98.0)
    nan = float("nan")
    assert robust_range(
        np.array([nan, 5.0, 7.0]), np.array([1.0, 0.0, 2.0]), 0.02
    ) == pytest.approx((6.95, 7.05))
    weights = np.array([1.0, 98.0, 1.0])
    assert robust_range(np.array([3.0, 1.0, 2.0]), weights, 0.02) == pytest.approx((0.95, 1.05))
    assert robust_range(np.array([3.0, 1.0]), np.array([3.0, 97.0]), 0.02) == (1.0, 3.0)
    assert (
        robust_range(np.array([nan]), np.ones(1), 0.02)
        == robust_range(np.ones(1), np.zeros(1), 0.02)
        == (-1.0, 1.0)
    )


def test_outlines_of_a_band_with_gaps() -> None:
    nan = float("nan")
    time = np.arange(7.0)
    low = np.array([nan, 1, 2, nan, 4, 5, nan])
    high = np.array([9, 11, 12, 13, nan, 15, 16])
    xs, ys = _pieces(time, low, high)
    assert [x.tolist() for x in xs] == [[1, 2, 2, 1], [5, 5]]
    assert [y.tolist() for y in ys] == [[1, 2, 12, 11], [5, 15]]
    xs, ys = _pieces(time[:3], np.array([1.0, 2.0, nan]), np.array([5.0, 6.0, 7.0]))
    assert [[x.tolist() for x in xs], [y.tolist() for y in ys]] == [[[0, 1, 1, 0]], [[1, 2, 6, 5]]]
    assert _pieces(time, low + nan, high) == ([], [])


# Lists


@pytest.mark.parametrize("seed", seeds(60))
def test_clocks_that_no_way_leads_round_over(seed: int) -> None:
    chance = Random(seed)
    clocks = [ClockId(200 + k) for k in range(3 + seed % 6)]
    lists = []
    for _ in range(1 + int(chance.random() * 6)):
        size = [1, 2, 2, 2, 3][int(chance.random() * 5)]
        lists.append(chance.sample(range(len(clocks)), size))
    apart = ClockId(900)
    messages = [(clocks[0], apart), (apart, clocks[1])][: seed % 3]
    listed = ClockLists(clocks, lists, np.arange(len(clocks)), None)
    tied: dict[ClockId, set[ClockId]] = {clock: set() for clock in clocks}
    pairs = [tuple(clocks[k] for k in members) for members in lists if len(members) == 2]
    for one, other in [*pairs, *messages]:
        tied.setdefault(one, set()).add(other)
        tied.setdefault(other, set()).add(one)
    stay = {clocks[k] for members in lists if len(members) > 2 for k in members}
    found: set[ClockId] = set()
    while loose := {c for c in tied if c not in found | stay and len(tied[c] - found) < 2}:
        found |= loose
    assert listed.loopless(messages) == found


@pytest.mark.parametrize("seed", seeds(30))
def test_clocks_are_compared_with_the_steadiest_of_their_lists(seed: int) -> None:
    """The trace clock first; clocks of CPU time are compared with none."""
    chance = Random(seed)
    clocks = sorted((ClockId(k) for k in (1, 3, 5, 6, 7, 8, 64, 200)), key=ClockId.order)
    chance.shuffle(clocks)
    clocks = clocks[: 3 + seed % 6]
    trace_clock = clocks[-1] if seed % 3 == 0 else None
    lists = [
        chance.sample(range(len(clocks)), 1 + int(chance.random() * 3)) for _ in range(seed % 5)
    ]
    listed = ClockLists(clocks, lists, np.arange(len(clocks)), trace_clock)

    def rank(k: int) -> Any:
        return clocks[k] != trace_clock, steadiness(clocks[k])[0], k

    partners = [
        min((o for some in lists if k in some for o in some if o != k), key=rank, default=-1)
        for k in range(len(clocks))
    ]
    firsts = {(min(some, key=rank), k) for some in lists for k in some}
    assert listed.references().tolist() == partners
    pairs = sorted((h, k) for h, k in firsts if h != k and clocks[k].clock not in (7, 8))
    assert list(zip(*(side.tolist() for side in listed.compared()), strict=True)) == pairs


def test_no_clocks_are_compared_with_none() -> None:
    none = ClockLists([], [], ints(), None)
    assert none.loopless([]) == set()
    assert [side.tolist() for side in none.compared()] == [[], []]
    assert none.references().tolist() == []


def test_against_a_reference_that_stands_still_a_rate_is_infinite():
    assert ppm_of(-ONE, forward=False) == float("inf")
    assert ppm_of(-ONE, forward=True) == -1e6
