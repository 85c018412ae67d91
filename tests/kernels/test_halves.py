"""The smallest half-width that some slope of a window agrees with, against its definition."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime._kernels.evidence import least_halves

DRIFT, WANDER, STEPS = 1e-3, 1e-6, 30


def missed(a, r, slope):
    """Half of how far the worst two readings are from a line of that slope, ns."""
    return max(
        (abs(r[k] - r[j] - slope * (a[k] - a[j])) - WANDER * (a[k] - a[j])) / 2
        for j, k in combinations(range(len(a)), 2)
    )


@given(
    st.lists(st.tuples(st.integers(1, 10**9), st.integers(-(10**6), 10**6)), min_size=3, max_size=8)
)
def test_no_slope_misses_less_and_one_misses_as_little(window):
    a = np.cumsum([step for step, _ in window])
    r = np.array([offset for _, offset in window])
    (half,) = least_halves(a[None], r[None], DRIFT, WANDER, STEPS)
    least = min(missed(a, r, slope) for slope in np.linspace(-DRIFT, DRIFT, 401))
    # Between two slopes of the grid, a line turns by so much over the window.
    turned = DRIFT / 200 * (a[-1] - a[0]) / 2
    assert max(0.0, least - turned) - 0.01 <= half <= max(0.0, least) + 0.01


def test_each_window_has_its_own():
    a = np.array([[0, 10**9, 2 * 10**9]] * 3)
    r = np.array([[0, 0, 0], [0, 5_000, 0], [0, 100_000, 200_000]])
    assert least_halves(a, r, DRIFT, 0.0, STEPS) == pytest.approx([0, 2_500, 0], abs=1)


def test_windows_may_span_all_of_int64():
    a = np.array([[-(2**63), 0, 2**63 - 1]])
    r = np.array([[0, 2 * 10**6, 0]])
    assert least_halves(a, r, 0.0, 0.0, 0) == pytest.approx([10**6])
    assert least_halves(a, r, 0.0, 1.0, 0) == pytest.approx([0])


@pytest.mark.parametrize("n", [1, 9])
def test_other_sizes_are_refused(n):
    window = np.zeros((1, n), np.int64)
    with pytest.raises(ValueError, match=f"windows of {n} snapshots"):
        least_halves(window, window, DRIFT, WANDER, STEPS)
