"""Bars where half-widths are declared by assumption: no step that they hide leaves the truth out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, Snapshot
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.own_intervals import Hold
from tracetime.graph.tube.tube import Tube

W = 50_000
S = 1_000_000_000
FAR = 10**15


def graph_of(monotonic, realtime, drift_ppm, wide=W):
    graph = ClockGraph("MONOTONIC")
    graph.declare(ClockDomain("REALTIME", max_drift_ppm=drift_ppm))
    graph.declare(ClockDomain("MONOTONIC", max_drift_ppm=drift_ppm, assumed_half_width_ns=wide))
    graph.add_snapshot(Snapshot({"MONOTONIC": monotonic, "REALTIME": realtime}))
    return graph


def missed(graph, monotonic, truth, bars="estimated"):
    """How far bars miss the truth, ns, each way."""
    asked = {"policy": "tube", "bounds": True, "bars": bars, "errors": "mask"}
    there = graph.convert(monotonic, "MONOTONIC", "REALTIME", **asked)
    back = graph.convert(truth, "REALTIME", "MONOTONIC", **asked)
    by = []
    for bar, real in ((there, truth), (back, monotonic)):
        earliest, latest = np.array(bar.earliest), np.array(bar.latest)
        by.append(np.maximum(earliest - real, real - latest).max())
    return max(by)


class World:
    """Two clocks, one of which is stepped, read with noise within the half-width."""

    def __init__(self, seed, step_ns, share=1.0, late_ns=0, drift_ppm=0.0, n=60):
        random = np.random.default_rng(seed)
        self.a = np.sort(random.integers(S, 120 * S, n))
        self.at = int(self.a[n // 2]) + int(random.integers(1, S))
        self.step, self.rate = step_ns, drift_ppm * 1e-6
        noise = random.integers(-int(W * share), int(W * share) + 1, n)
        noise[random.choice([1, 7, n // 2 - 3, n - 1])] += late_ns
        self.read = self.truth(self.a) + noise
        gaps = np.diff(self.a)
        inside = [self.a[:-1] + (gaps * part).astype(np.int64) for part in (0.01, 0.3, 0.7, 0.99)]
        self.times = np.sort(np.concatenate([self.a, self.at + np.array([-1, 0, 1]), *inside]))

    def truth(self, a):
        drifted = np.rint(self.rate * (a - S)).astype(np.int64)
        return a + FAR + drifted + np.where(a >= self.at, self.step, 0)


STEPS = [1_000, 10_000, 30_000, 60_000, 90_000, 120_000, 300_000, 1_000_000, 10_000_000]


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("step", [sign * step for step in STEPS for sign in (1, -1)])
def test_bars_hold_both_sides_of_a_step(step, bars):
    for seed in range(4):
        for share in (0.05, 0.5, 1.0):
            world = World(seed, step, share)
            graph = graph_of(world.a, world.read, 0)
            assert missed(graph, world.times, world.truth(world.times), bars) <= 0, (seed, share)


@pytest.mark.parametrize("late", [200_000, 1_000_000, -1_000_000, 500_000_000])
@pytest.mark.parametrize("step", [0, 60_000, -400_000])
def test_bars_hold_the_truth_where_a_reading_is_late(late, step):
    for seed in range(8):
        world = World(seed, step, 0.5, late)
        graph = graph_of(world.a, world.read, 0)
        assert missed(graph, world.times, world.truth(world.times)) <= 0, seed


@pytest.mark.parametrize("step", [60_000, -90_000, 1_000_000, 5_000_000])
def test_bars_hold_both_sides_of_a_step_within_the_drift(step):
    """Crystals on two machines: 5 ms in 5 s may be drift, by the limits."""
    for seed in range(4):
        world = World(seed, step, 0.5, drift_ppm=60.0)
        graph = graph_of(world.a, world.read, 500)
        assert missed(graph, world.times, world.truth(world.times)) <= 0, seed


def column(least, most):
    return st.lists(st.integers(least, most), min_size=1, max_size=12)


@given(st.data())
def test_bars_are_no_narrower_than_the_tube(data):
    a = np.unique(np.array(data.draw(column(0, 10**10))))
    r = np.array(
        data.draw(st.lists(st.integers(-(10**6), 10**6), min_size=len(a), max_size=len(a)))
    )
    limits = Limits(data.draw(st.sampled_from([0.0, 1e-5, 1.5e-3])), 1e-9)
    evidence = Evidence.of(a, r, 1_000, assumed=True)
    plain, holding = (Tube(evidence, limits, hold=hold) for hold in (None, Hold.declared(1_000)))
    times = np.unique(np.concatenate([a, a + 1, a - 1, np.linspace(-S, 11 * S, 200).astype(int)]))
    for bars in ("estimated", "guaranteed"):
        narrow, wide = (tube.convert(times, bars=bars) for tube in (plain, holding))
        assert (wide.earliest <= narrow.earliest).all()
        assert (wide.latest >= narrow.latest).all()
    at = holding.convert(a)
    assert (at.earliest <= a + r - 1_000).all() or len(a) > 1


def test_one_snapshot_says_what_it_said():
    evidence = Evidence.of(np.array([5 * S]), np.array([7]), W, assumed=True)
    tubes = [Tube(evidence, Limits(1e-3, 1e-9), hold=hold) for hold in (None, Hold.declared(W))]
    times = np.array([0, 5 * S, 6 * S])
    plain, holding = (tube.convert(times) for tube in tubes)
    assert np.abs(plain.earliest - holding.earliest).tolist() <= [6, 0, 2]
    assert np.abs(plain.latest - holding.latest).tolist() <= [6, 0, 2]
