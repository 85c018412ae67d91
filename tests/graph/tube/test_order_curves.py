"""Tubes of orders: their estimate, which starts anew at a knee, and the wander that it shows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from message_bars import asked, tube_of
from message_worlds import PPM, Clocks, Model, S, World, both_ways

from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.findings import breaks, hidden_rate_changes
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube


def stray_ppm(world: World, seconds: float) -> float:
    """Half the range of the true rate."""
    rate = np.diff(world.offset(np.arange(0, seconds, 0.1) * S)) / (0.1 * S)
    return float(rate.max() - rate.min()) / 2 / PPM


def test_the_estimate_is_the_curve() -> None:
    world = Model(100, Clocks(seconds=120.0), b_ns=10**18, **both_ways(load=0.9)).world(1)
    tube = tube_of(world)
    at, there, true = asked(world, tube, 120.0)
    missed = (there.estimate - true).astype(float)
    assert np.sqrt(np.mean(missed**2)) < 25
    back = tube.convert(there.estimate, inverse=True)
    assert np.abs(back.estimate - at).max() <= 1


def test_the_estimate_keeps_to_the_bar() -> None:
    """Past its ends the curve is a line, and the limit on the drift may bend the bar away from it."""
    world = Model(20, Clocks(seconds=20.0, knees=[(18.5 * S, 190 * PPM)])).world(1)
    tube = tube_of(world)
    at = np.array([-(10**13), 0, 10**13])
    for bars in ("estimated", "guaranteed"):
        there = tube.convert(at, bars=bars)
        assert np.all((there.earliest <= there.estimate) & (there.estimate <= there.latest))


@pytest.mark.parametrize("walk", [1e-7, 3e-7])
@pytest.mark.parametrize("rate", [10, 50])
def test_a_hidden_wander_shows_in_the_curve(rate: float, walk: float) -> None:
    seconds = 300.0
    for seed in range(1, 4):
        world = Model(rate, Clocks(seconds=seconds, walk=walk)).world(seed)
        tube = tube_of(world)
        _, there, true = asked(world, tube, seconds)
        assert np.all((there.earliest <= true) & (true <= there.latest))
        # As much as there is, and little more.
        shown = tube.wander[0] / PPM
        assert shown >= max(stray_ppm(world, seconds), 1) * 0.99
        assert shown <= max(stray_ppm(world, seconds) * 1.15 + 0.4, 1.01)


def test_bars_that_leave_no_slack() -> None:
    """One way 20 us, the other 0.2: the truth is close to a side of its bar everywhere."""
    ways = {"there": both_ways()["there"], "back": both_ways(base_ns=200.0)["back"]}
    for walk in (1e-8, 3e-7):
        world = Model(50, Clocks(seconds=200.0, walk=walk), **ways).world(1)
        _, there, true = asked(world, tube_of(world), 200.0)
        assert np.all((there.earliest <= true) & (true <= there.latest))
        assert (true - there.earliest).min() < 1_000 or (there.latest - true).min() < 1_000


def test_a_wander_within_its_limit_changes_nothing() -> None:
    world = Model(50, Clocks(seconds=200.0)).world(1)
    free, held = tube_of(world), tube_of(world, declared=True)
    assert free.wander[0] == held.wander[0] == pytest.approx(1 * PPM)


def test_a_declared_wander_is_kept() -> None:
    world = Model(50, Clocks(seconds=200.0, walk=3e-7)).world(2)
    assert tube_of(world, declared=True).wander[0] == pytest.approx(1 * PPM)
    assert tube_of(world).wander[0] > 2 * PPM


def test_the_limit_on_drift_is_enough() -> None:
    """Rates beyond it, which the paths' delay hides for ten seconds."""
    world = Model(200, Clocks(seconds=10.0, walk=2e-6, ppm=0.0)).world(4)
    assert stray_ppm(world, 10.0) > 2
    assert tube_of(world, drift=2 * PPM).wander[0] == pytest.approx(2 * PPM)


def test_what_is_not_known_shows_no_wander() -> None:
    for seed in range(1, 11):
        world = Model(1_000, Clocks(seconds=0.1)).world(seed)
        assert tube_of(world).wander[0] == pytest.approx(1 * PPM)


def test_a_wrong_order_does_not_bend_the_curve() -> None:
    world = Model(50, Clocks(seconds=60)).world(1)
    there = world.there._replace(got=world.there.got.copy())
    there.got[len(there.got) // 2] -= 3_000_000
    tube = tube_of(replace(world, there=there))
    _, converted, true = asked(world, tube, 60.0)
    assert [found.kind for found in tube.discontinuities] == ["wrong_order"]
    assert np.abs(converted.estimate - true).max() < 60


@pytest.mark.parametrize("ppm", [2.2, -4, 30])
def test_knees(ppm: float) -> None:
    """Whether a run hides the knee or not: bars hold it, and the estimate turns there."""
    for seed in (1, 2):
        clocks = Clocks(seconds=200.0, walk=1e-9, knees=[(100.3 * S, ppm * PPM)])
        world = Model(50, clocks).world(seed)
        tube = tube_of(world)
        _, there, true = asked(world, tube, 200.0)
        assert np.all((there.earliest <= true) & (true <= there.latest))
        assert np.abs(there.estimate - true).max() < 60
        assert np.median(there.latest - there.earliest) / 2 < 21_500


@pytest.mark.parametrize("declared", [False, True])
def test_a_run_that_would_hide_a_knee_is_cut_there(declared: bool) -> None:
    clocks = Clocks(seconds=200.0, walk=1e-9, knees=[(100.3 * S, 2.6 * PPM)])
    tube = tube_of(Model(50, clocks).world(1), declared)
    assert len(tube.runs.first) == 2
    assert tube.wander[0] == pytest.approx(1 * PPM)


@pytest.mark.parametrize("ppm", [2.2, -30])
def test_every_knee_is_located_once(ppm: float) -> None:
    """By the runs, which are cut where the curve shows what they would hide."""
    clocks = Clocks(seconds=200.0, walk=1e-9, knees=[(100.3 * S, ppm * PPM)])
    for seed in (1, 2):
        world = Model(50, clocks, a_ns=5 * S, b_ns=9 * S).world(seed)
        tube = tube_of(world)
        assert len(tube.runs.first) == 2
        (found,) = tube.discontinuities
        assert found.kind == "rate_change"
        assert found.a_from <= 105.3 * S <= found.a_to < found.a_from + 20 * S
        assert found.rate_ppm is not None
        assert found.rate_ppm[0] < ppm < found.rate_ppm[1]
        # The orders on both sides of the zone, as numbered when given.
        a = np.sort(np.concatenate([world.there.sent, world.back.got]))
        assert a[found.snapshots[0]] <= found.a_from and found.a_to <= a[found.snapshots[-1]]


def test_few_orders_have_the_middle_of_their_bar() -> None:
    a = np.array([0, 40 * S, 80 * S])
    low, high = np.array([OPEN_LOW, 100, OPEN_LOW]), np.array([300, OPEN_HIGH, 300])
    tube = Tube(Evidence.of_bounds(a, low, high), Limits(0.0, 0.0))
    there = tube.convert(np.array([20 * S]))
    assert there.estimate - 20 * S == 200


def test_a_knee_whose_rates_may_be_the_same_is_not_told() -> None:
    clocks = Clocks(seconds=200.0, walk=1e-9, knees=[(100.3 * S, 2.2 * PPM)])
    tube = tube_of(Model(50, clocks).world(1))
    sure = tube._curves[0]
    assert sure is not None
    doubtful = replace(sure, rate_variance=np.full_like(sure.rate_variance, (2 * PPM) ** 2))
    none = breaks(tube._segments, tube.evidence, tube.limits)
    told = [
        hidden_rate_changes(tube._segments, [curve], tube.evidence, [none])
        for curve in (sure, doubtful)
    ]
    assert [len(found) for found in told] == [1, 0]
    least, most = told[0][0].rate_ppm or (0.0, 0.0)
    assert 0 < least <= most
