"""Half-widths that are declared by assumption: readings beyond them make bars wider, not narrower."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, Snapshot
from tracetime.graph.tube.assumed_widths import MOST_WIDTHS, widened

W = 50_000
S = 1_000_000_000
DRIFT = 1e-3


def graph_of(late_ns):
    """REALTIME beside MONOTONIC each second; the second was read so much later."""
    a = np.arange(1, len(late_ns) + 1) * S
    graph = ClockGraph("REALTIME")
    graph.declare(ClockDomain("MONOTONIC", assumed_half_width_ns=W))
    graph.add_snapshot(Snapshot({"MONOTONIC": a + np.array(late_ns), "REALTIME": a + 10**15}))
    return graph


@pytest.mark.parametrize("late_ns", [60_000, 100_000, 150_000, 400_000])
def test_one_late_reading_does_not_leave_a_sliver_beside_the_truth(late_ns):
    delays = [0] * 200
    delays[100] = late_ns
    times = np.arange(2, 199, 3) * S + S // 2
    bar = graph_of(delays).convert(times, "MONOTONIC", "REALTIME", policy="tube", bounds=True)
    truth = times + 10**15
    assert (bar.earliest <= truth).all()
    assert (truth <= bar.latest).all()
    assert (bar.latest - bar.earliest >= W).all()


def test_readings_that_agree_have_the_declared_half_width():
    a = np.arange(1, 50) * S
    assert set(widened(a, 3 * np.arange(49), W, DRIFT).tolist()) == {W}


def test_a_reading_far_off_is_not_noise():
    a, r = np.arange(1, 50) * S, np.zeros(49, np.int64)
    r[20] = MOST_WIDTHS * W
    assert widened(a, r, W, DRIFT)[20] == W + MOST_WIDTHS * W
    r[20] += 1
    assert set(widened(a, r, W, DRIFT).tolist()) == {W}


def test_a_step_widens_nothing():
    a, r = np.arange(100) * S, np.where(np.arange(100) < 50, 0, 4 * W)
    assert set(widened(a, r, W, DRIFT).tolist()) == {W}


def test_neighbours_that_scatter_know_it_no_better():
    a, r = np.arange(100) * S, np.zeros(100, np.int64)
    r[20:80] = np.random.default_rng(0).integers(0, 8 * W, 60)
    assert (widened(a, r, W, 0.0)[45:55] > 2 * W).all()


@pytest.mark.parametrize("n", range(4))
def test_few_readings(n):
    assert widened(np.arange(n) * S, np.zeros(n, np.int64), W, DRIFT).tolist() == [W] * n


@given(st.permutations(range(30)), st.lists(st.integers(0, 300_000), min_size=30, max_size=30))
def test_the_order_of_the_readings_does_not_matter(order, late_ns):
    a, r = np.arange(30) * S, np.array(late_ns)
    order = np.array(order)
    assert widened(a[order], r[order], W, DRIFT).tolist() == widened(a, r, W, DRIFT)[order].tolist()
