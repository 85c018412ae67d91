"""Bars closed over several clocks: equal to shortest paths over (clock, instant)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seeds import seeds

from tracetime.graph.tube.closing import MOST_INSTANTS, OPEN, close
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.machines import MOST_CLOCKS

# Slopes of whole 2^-10, and instants of whole 2^10 ns: nothing is rounded.
STEP = 1 << 10


def shortest_paths(at, upper, drift, steps=None):
    """The bounds by Floyd and Warshall over every (clock, instant); drift: in 2^-10 ns per ns."""
    n, _, instants = upper.shape
    cost = np.full((n, instants, n, instants), OPEN, dtype=object)
    for i in range(n):
        for k in range(instants):
            for m in range(instants):
                between = () if steps is None else steps[i, min(k, m) : max(k, m)]
                if not np.any(between):
                    cost[i, k, i, m] = int(drift[i]) * abs(int(at[k]) - int(at[m])) // STEP
    for i, j, k in np.argwhere(upper < OPEN).tolist():
        if i != j:
            cost[i, k, j, k] = int(upper[i, j, k])
    cost = cost.reshape(n * instants, n * instants)
    for m in range(n * instants):
        ways = cost[:, m : m + 1] + cost[m : m + 1]
        # A path over a bound that is open is open, whatever else it adds up.
        is_open = (cost[:, m : m + 1] == OPEN) | (cost[m : m + 1] == OPEN)
        cost = np.minimum(cost, np.where(is_open, OPEN, ways))
    cost = np.minimum(cost.reshape(n, instants, n, instants), OPEN)
    return np.diagonal(cost, axis1=1, axis2=3).astype(np.int64)


def widths(drift):
    return (drift[:, None] + drift[None]) * (ONE // STEP)


def random_bounds(seed, n, instants, known):
    """Bounds that some clocks keep to, and the clocks' readings less the instant, int64[n, K]."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.choice(1_000, instants, replace=False)).astype(np.int64) * STEP
    drift = rng.integers(1, 20, n)
    gaps = np.diff(at, prepend=at[0])
    wandered = np.floor(rng.uniform(-1, 1, (n, instants)) * drift[:, None] * gaps / STEP)
    truth = rng.integers(-(10**6), 10**6, n)[:, None] + np.cumsum(wandered, axis=1).astype(int)
    upper = np.full((n, n, instants), OPEN, dtype=np.int64)
    for _ in range(known):
        i, j = rng.choice(n, 2, replace=False)
        k = rng.integers(instants)
        slack = int(rng.exponential(3_000))
        upper[i, j, k] = min(upper[i, j, k], truth[j, k] - truth[i, k] + slack)
    return at, upper, drift, truth


@pytest.mark.parametrize("seed", seeds(20))
def test_closed_bounds_are_the_shortest_paths_over_clock_and_instant(seed):
    n = 3 + seed % 3
    at, upper, drift, truth = random_bounds(seed, n, 12, 24)
    closed = close(at, upper, widths(drift))
    expected = shortest_paths(at, upper, drift)
    assert np.array_equal(closed.upper, expected)
    assert (closed.upper >= truth[None] - truth[:, None]).all()


@pytest.mark.parametrize("seed", seeds(10))
def test_nothing_waits_on_a_clock_while_it_may_step(seed):
    at, upper, drift, _ = random_bounds(seed, 4, 12, 40)
    steps = np.zeros((4, 11), dtype=np.uint8)
    steps[1, 5] = steps[2, 8] = 1
    closed = close(at, upper, widths(drift), steps)
    # A pair's bound waits on both its clocks, a path on one at a time: never below the paths.
    assert (closed.upper >= shortest_paths(at, upper, drift, steps)).all()
    assert not np.array_equal(closed.upper, close(at, upper, widths(drift)).upper)


def test_a_path_waits_until_a_pair_is_known_better():
    # B is known from A at 0, C from B at 2 ms: at neither instant are both.
    at = np.array([0, 2_000_000], dtype=np.int64)
    upper = np.full((3, 3, 2), OPEN, dtype=np.int64)
    upper[0, 1, 0], upper[1, 2, 1] = 500, 700
    width = np.full((3, 3), ONE // 10_000)
    closed = close(at, upper, width)
    # 200 ns for the 2 ms, and one for a slope rounded up.
    assert closed.upper[0, 2].tolist() == [500 + 700 + 200, 500 + 700 + 200]
    assert closed.upper[2, 0].tolist() == [OPEN, OPEN]
    assert closed.paths(0, 2) == [(0, 1, 2), (0, 1, 2)]


def test_two_one_way_hops_that_close_a_loop_close_the_bar():
    at = np.array([0], dtype=np.int64)
    upper = np.full((3, 3, 1), OPEN, dtype=np.int64)
    # Messages go from A to B, from B to C and from C to A, never back.
    upper[0, 1, 0], upper[1, 2, 0], upper[2, 0, 0] = 120, -30, 40
    closed = close(at, upper, np.full((3, 3), ONE // 5_000))
    low, high = -closed.upper[1, 0, 0], closed.upper[0, 1, 0]
    assert (low, high) == (-(-30 + 40), 120)
    assert (closed.upper < OPEN).all()


def test_bounds_that_contradict_close_to_nothing():
    upper = np.full((3, 3, 2), OPEN, dtype=np.int64)
    upper[0, 1], upper[1, 2], upper[2, 0] = 10, 10, -21
    assert close(np.array([0, 5]), upper, np.zeros((3, 3), dtype=np.int64)) is None
    upper[2, 0] = -20
    assert close(np.array([0, 5]), upper, np.zeros((3, 3), dtype=np.int64)) is not None


def test_offsets_of_decades_close_as_small_ones_do():
    # CLOCK_REALTIME is ahead of CLOCK_MONOTONIC by half a century.
    far = 1_790_000_000_000_000_000
    at = np.array([0, STEP], dtype=np.int64)
    upper = np.array([[0, far, 0], [50 - far, 0, 70 - far], [90, far, 0]])[..., None]
    closed = close(at, np.repeat(upper, 2, axis=2), np.zeros((3, 3), dtype=np.int64))
    assert closed.upper[0, 1, 0] == far
    assert closed.upper[0, 2, 0] == 0
    assert closed.upper[1, 2, 0] == 50 - far
    assert closed.upper[2, 0, 0] == 50


def test_bounds_that_contradict_by_decades_do_not_overflow():
    upper = np.full((20, 20, 3), -(1 << 61), dtype=np.int64)
    assert close(np.arange(3), upper, np.zeros((20, 20), dtype=np.int64)) is None


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.integers(2, 6), st.integers(1, 15))
def test_closing_again_changes_nothing(seed, n, instants):
    at, upper, drift, truth = random_bounds(seed, n, instants, 5 * n)
    closed = close(at, upper, widths(drift))
    again = close(at, closed.upper, widths(drift))
    assert again.rounds == 1
    assert np.array_equal(closed.upper, again.upper)
    assert (closed.upper <= upper).all()
    assert (closed.upper >= truth[None] - truth[:, None]).all()


def test_twenty_clocks_at_a_thousand_instants_close_in_few_rounds():
    n, instants = MOST_CLOCKS, MOST_INSTANTS
    rng = np.random.default_rng(1)
    at = np.arange(instants) * 1_000_000
    upper = rng.integers(20_000, 60_000, (n, n, instants))
    closed = close(at, upper, np.full((n, n), ONE // 5_000))
    assert 1 < closed.rounds < 5


def test_arrays_that_do_not_fit_together_are_refused():
    upper = np.zeros((3, 3, 4), dtype=np.int64)
    with pytest.raises(ValueError, match="n clocks and K instants"):
        close(np.arange(5), upper, np.zeros((3, 3), dtype=np.int64))
