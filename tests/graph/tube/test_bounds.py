"""Evidence of one-sided bounds: sorted, checked, merged; the open side far beyond the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.errors import ConversionError, UsageError
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, WIDEST, Evidence

LOW, HIGH, BOTH = 1, 2, 3


def columns(evidence: Evidence) -> list[list[int]]:
    return [column.tolist() for column in (evidence.a, evidence.low, evidence.high)]


def known(evidence: Evidence) -> list[int]:
    return [BOTH] * len(evidence.a) if evidence.known is None else evidence.known.tolist()


def test_a_side_that_says_nothing_lies_far_beyond_the_other() -> None:
    made = Evidence.of_bounds(
        np.array([30, 10, 20]), np.array([OPEN_LOW, -7, -3]), np.array([9, OPEN_HIGH, 5])
    )
    assert columns(made) == [[10, 20, 30], [-7, -3, 9 - WIDEST], [WIDEST - 7, 5, 9]]
    assert known(made) == [LOW, BOTH, HIGH]
    assert made.one_sided.tolist() == [True, False, True]
    assert made.order.tolist() == [1, 2, 0]


def test_bounds_of_both_sides_are_snapshots() -> None:
    a, r, h = np.array([5, 1, 9]), np.array([100, 90, -20]), np.array([3, 0, 8])
    made, snapshots = Evidence.of_bounds(a, r - h, r + h), Evidence.of(a, r, h)
    assert made.known is None and not made.one_sided.any()
    for name in ("a", "low", "high", "r", "half", "order", "group"):
        assert getattr(made, name).tolist() == getattr(snapshots, name).tolist()


def test_bounds_at_one_reading_merge_where_they_agree() -> None:
    made = Evidence.of_bounds(
        np.array([10, 10, 10, 20]),
        np.array([OPEN_LOW, 2, -5, OPEN_LOW]),
        np.array([8, OPEN_HIGH, 40, 1]),
    )
    assert columns(made) == [[10, 20], [2, 1 - WIDEST], [8, 1]]
    assert known(made) == [BOTH, HIGH]
    assert list(made.given(np.array([0, 1]))) == [(0, 1, 2), (3,)]


def test_bounds_at_one_reading_that_contradict_stay_apart() -> None:
    made = Evidence.of_bounds(
        np.array([10, 10, 10, 4, 20]),
        np.array([OPEN_LOW, 9, 12, OPEN_LOW, 0]),
        np.array([8, OPEN_HIGH, OPEN_HIGH, 3, OPEN_HIGH]),
    )
    assert columns(made)[0] == [4, 10, 10, 20]
    assert known(made) == [HIGH, HIGH, LOW, LOW]
    assert columns(made)[1][2] == 12
    assert list(made.given(np.arange(4))) == [(3,), (0,), (1, 2), (4,)]


SIDES = st.one_of(
    st.tuples(st.integers(-9, 9), st.none()),
    st.tuples(st.none(), st.integers(-9, 9)),
    st.tuples(st.integers(-9, 0), st.integers(0, 9)),
)
BOUND = st.tuples(st.integers(0, 6), SIDES)


@given(st.lists(BOUND, min_size=1, max_size=30))
def test_no_bound_is_lost_and_none_is_invented(given_bounds: list[Any]) -> None:
    a = [reading for reading, _ in given_bounds]
    lows = [OPEN_LOW if low is None else low for _, (low, _) in given_bounds]
    highs = [OPEN_HIGH if high is None else high for _, (_, high) in given_bounds]
    made = Evidence.of_bounds(np.array(a), np.array(lows), np.array(highs))
    seen: list[int] = []
    for k, numbers in enumerate(made.given(np.arange(len(made.a)))):
        seen += numbers
        assert {a[i] for i in numbers} == {int(made.a[k])}
        said = known(made)[k]
        down, up = max(lows[i] for i in numbers), min(highs[i] for i in numbers)
        assert (down != OPEN_LOW, up != OPEN_HIGH) == (bool(said & LOW), bool(said & HIGH))
        assert int(made.low[k]) == (down if said & LOW else up - WIDEST)
        assert int(made.high[k]) == (up if said & HIGH else down + WIDEST)
        assert down <= up
    assert sorted(seen) == list(range(len(given_bounds)))
    assert np.all(made.a[1:] >= made.a[:-1])


@pytest.mark.parametrize(
    ("bounds", "says"),
    [
        (([], [], []), "needs a bound"),
        (([1], [2, 3], [4]), "1 readings, 2 low sides and 1 high ones"),
        (([1], [OPEN_LOW], [OPEN_HIGH]), "one side at least"),
        (([1], [3], [2]), "not above its high side"),
    ],
)
def test_bounds_that_say_nothing_sensible_are_refused(bounds: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        Evidence.of_bounds(*(np.array(column, dtype=np.int64) for column in bounds))


@pytest.mark.parametrize("far", [(1 << 61) + 1, -(1 << 61) - 1])
def test_a_bound_beyond_73_years_is_refused(far: int) -> None:
    low, high = (far, OPEN_HIGH) if far > 0 else (OPEN_LOW, far)
    with pytest.raises(ConversionError, match="cannot be bounded"):
        Evidence.of_bounds(np.array([0]), np.array([low]), np.array([high]))
