"""The columns of evidence about a pair: which snapshots are which, and those made to say nothing."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence

S = 1_000_000_000
FAR = 1 << 60


def marked(n: int, *which: int) -> np.ndarray:
    marks = np.zeros(n, dtype=np.uint8)
    marks[list(which)] = 1
    return marks


@pytest.mark.parametrize(
    ("blank", "r"),
    [
        ((2,), [100, 200, 230, 300, 50, 70]),
        ((1,), [100, 220, 900, 300, 50, 70]),
        ((4,), [100, 200, 900, 300, 185, 70]),
        ((3, 4), [100, 200, 900, 487, 278, 70]),
        ((0,), [200, 200, 900, 300, 50, 70]),
        ((0, 1), [900, 900, 900, 300, 50, 70]),
        ((5,), [100, 200, 900, 300, 50, -200]),
        ((), [100, 200, 900, 300, 50, 70]),
    ],
)
def test_snapshots_that_say_nothing_lie_on_the_line_between_their_neighbours(
    blank: tuple[int, ...], r: list[int]
) -> None:
    """Before the first of the others level with it; after the last one on in the same line."""
    a = np.array([-10, 20, 190, 587, 787, 987])
    evidence = Evidence.of(a, np.array([100, 200, 900, 300, 50, 70]), np.array([1, 2, 3, 4, 5, 6]))
    made = evidence.without(marked(6, *blank))
    half = [FAR if k in blank else k + 1 for k in range(6)]
    assert made.r.tolist() == r
    assert made.half.tolist() == half
    assert made.low.tolist() == [x - h for x, h in zip(r, half, strict=True)]
    assert made.high.tolist() == [x + h for x, h in zip(r, half, strict=True)]
    assert made.a is evidence.a
    assert evidence.r.tolist() == [100, 200, 900, 300, 50, 70]


def test_neighbours_may_be_further_apart_than_int64() -> None:
    a = np.array([-(2**63), 2**61, 2**63 - 1])
    made = Evidence.of(a, np.array([0, 5, 16_000]), 7).without(marked(3, 1))
    assert made.r.tolist() == [0, 10_000, 16_000]


@pytest.mark.parametrize("seed", range(12))
def test_snapshots_keep_the_numbers_that_were_given(seed: int) -> None:
    """Several that read the same are one, made of all of them."""
    chance = Random(seed)
    n = 2 + seed
    readings = [int(chance.random() * [n, 3, 100][seed % 3]) for _ in range(n)]
    evidence = Evidence.of(np.array(readings), np.zeros(n, dtype=np.int64), 5)
    places = sorted(set(readings))
    assert evidence.a.tolist() == places
    numbers = [tuple(k for k in range(n) if readings[k] == place) for place in places]
    assert list(evidence.given(np.arange(len(places)))) == numbers
    for k in range(len(places)):
        assert list(evidence.given(np.array([k]))) == [numbers[k]]
        assert list(evidence.given(np.array([k, 0]))) == [numbers[k], numbers[0]]


@pytest.mark.parametrize(
    ("readings", "which", "numbers"),
    [
        ([0, 1, 1, 2], 1, (1, 2)),
        ([0, 1, 2, 2, 2, 3], 2, (2, 3, 4)),
        ([0, 1, 2, 3, 3, 3, 3, 4], 3, (3, 4, 5, 6)),
        ([0, 0, 1], 0, (0, 1)),
        ([0, 1, 1], 1, (1, 2)),
    ],
)
def test_snapshots_of_one_reading_are_merged(
    readings: list[int], which: int, numbers: tuple[int, ...]
) -> None:
    evidence = Evidence.of(np.array(readings), np.zeros(len(readings), dtype=np.int64), 5)
    assert list(evidence.given(np.array([which]))) == [numbers]


@pytest.mark.parametrize(
    ("r", "h", "groups", "sides"),
    [
        ([5, 15], [5, 5], [0], [(10, 10)]),
        ([5, 16], [5, 5], [0, 1], [(0, 10), (11, 21)]),
        ([5, 6, 7], [5, 4, 1], [0], [(6, 8)]),
        ([5, 6, 17], [5, 2, 6], [0, 2], [(4, 8), (11, 23)]),
        ([5, 30, 36, 45], [5, 10, 1, 2], [0, 1, 3], [(0, 10), (35, 37), (43, 47)]),
        ([5, 8, 14], [0, 9, 6], [0, 2], [(5, 5), (8, 20)]),
    ],
)
def test_snapshots_of_one_reading_are_one_where_they_agree(
    r: list[int], h: list[int], groups: list[int], sides: list[tuple[int, int]]
) -> None:
    """Where each group begins, and what all of a group leave open."""
    evidence = Evidence.of(np.zeros(len(r), dtype=np.int64), np.array(r), np.array(h))
    assert evidence.group.tolist() == groups
    assert list(zip(evidence.low.tolist(), evidence.high.tolist(), strict=True)) == sides
    assert evidence.r.tolist() == [(low + high) // 2 for low, high in sides]
    assert evidence.half.tolist() == [(high - low) / 2 for low, high in sides]


@pytest.mark.parametrize(
    ("recorded", "kept"), [([5, 5], 5), ([5, 6], None), ([6, 5], None), ([0, NOT_RECORDED], None)]
)
def test_snapshots_of_one_reading_have_the_correction_that_all_record(
    recorded: list[int], kept: int | None
) -> None:
    evidence = Evidence.of(np.array([3, 3]), np.array([0, 1]), 5, correction=np.array(recorded))
    assert evidence.correction is not None
    assert evidence.correction.tolist() == [NOT_RECORDED if kept is None else kept]
