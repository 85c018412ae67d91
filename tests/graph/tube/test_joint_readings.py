"""Readings that two clocks took together: their rates, half-widths and order, by exact values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from tracetime.graph.tube.joint_readings import JointReadings, with_tick
from tracetime.graph.tube.measurements import Read
from tracetime.graph.tube.messages import Boxes
from tracetime.graph.tube.tick_periods import Tick


def together(
    a: list[int], b: list[int], a_half: list[int], b_half: list[int], boxed: bool = False
) -> JointReadings:
    columns = [np.array(column) for column in (a, b, a_half, b_half)]
    zeros = np.zeros(len(a), dtype=np.int64)
    return JointReadings(
        np.arange(len(a)),
        columns[0],
        columns[1],
        Read(zeros, columns[2]),
        Read(zeros, columns[3]),
        np.full(len(a), boxed),
    )


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


@pytest.mark.parametrize(
    ("half", "which", "expected"),
    [(-1, True, -1), (0, True, 50), (1, True, 51), (49, True, 99), (50, True, 50), (51, True, 51),
     (0, False, 0), (49, False, 49)],
)  # fmt: skip
def test_a_half_width_below_the_tick_grows_by_it(half: int, which: bool, expected: int) -> None:
    read = Read(np.array([3]), np.array([half]))
    grown = with_tick(read, Tick(49.5, 50), np.array([which]))
    assert (grown.centre.tolist(), grown.half.tolist()) == ([3], [expected])
    assert with_tick(read, None, np.array([which])) is read


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
    assert given.learnt_drift(0.001) == pytest.approx(expected, rel=1e-12)


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


def test_bounds_are_among_snapshots_in_file_order() -> None:
    given = together([10, 20], [30, 40], [5, 6], [7, 8])._replace(snapshots=np.array([1, 4]))
    boxes = Boxes(*(np.array(c) for c in ([0, 3, 4], [1, 3, 5], [4, 3, 6], [8, 9, 1], [8, 12, 2])))
    joined = given.with_boxes(boxes)
    assert joined.snapshots.tolist() == [0, 1, 3, 4, 4]
    assert joined.boxed.tolist() == [True, False, True, False, True]
    assert joined.a_ns.tolist() == [2, 10, 3, 20, 5]
    assert joined.b_ns.tolist() == [8, 30, 10, 40, 1]
    assert joined.a_read.half.tolist() == [2, 5, 0, 6, 1]
    assert joined.b_read.half.tolist() == [0, 7, 2, 8, 1]
    assert joined.a_read.centre.tolist() == joined.b_read.centre.tolist() == [0] * 5
    chosen = joined.only(joined.boxed)
    assert [c.tolist() for c in chosen[:3]] == [[0, 3, 4], [2, 3, 5], [8, 10, 1]]
    assert chosen.boxed.tolist() == [True] * 3
    assert [read.half.tolist() for read in chosen[3:5]] == [[2, 0, 1], [0, 2, 1]]
