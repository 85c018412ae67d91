"""Estimated bars where orders say too little of the rate: they claim no more than they can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from message_bars import asked, tube_of
from message_worlds import PPM, Clocks, Messages, Model, S, World

from tracetime._kernels.evidence import likelihoods, smooth_pings, smooth_walk
from tracetime.graph.tube.order_doubt import Pings, rates_left
from tracetime.graph.tube.tube import Tube


def outside(world: World, tube: Tube, seconds: float) -> int:
    _, there, true = asked(world, tube, seconds)
    return int(np.sum((true < there.earliest) | (true > there.latest)))


def thin(walk: float, back: int, seed: int) -> World:
    """Ten minutes, 20 messages a second one way, and so many in all the other."""
    return Model(40, Clocks(walk=walk), share_back=back / 12_000).world(seed)


@pytest.mark.parametrize(
    ("walk", "back", "seed"),
    [(1e-7, 5, 10), (3e-7, 5, 5), (1e-6, 5, 7), (1e-6, 20, 10), (3e-6, 40, 3), (3e-6, 300, 6)],
)
def test_a_wander_that_a_thin_direction_hides(walk: float, back: int, seed: int) -> None:
    world = thin(walk, back, seed)
    assert outside(world, tube_of(world), 600.0) == 0


def test_a_thin_direction_that_does_not_hide_it() -> None:
    """Clocks that hardly wander: 40 messages one way are enough, and W is as assumed."""
    for seed in (1, 2, 3):
        world = thin(1e-9, 40, seed)
        tube = tube_of(world)
        assert tube.wander[0] == pytest.approx(1 * PPM)
        _, there, true = asked(world, tube, 600.0)
        assert np.sqrt(np.mean((there.estimate - true).astype(float) ** 2)) < 1_500


@pytest.mark.parametrize(("seed", "at", "ppm", "rate"), [(1, 54.1, 3.4, 5), (2, 71.4, -3.33, 90)])
def test_a_knee_that_a_declared_wander_would_hide(
    seed: int, at: float, ppm: float, rate: float
) -> None:
    clocks = Clocks(seconds=120.0, walk=1e-9, knees=[(at * S, ppm * PPM)])
    world = Model(rate, clocks).world(seed)
    tube = tube_of(world, declared=True)
    assert len(tube.runs.first) == 2
    assert outside(world, tube, 120.0) == 0


def with_lows(seed: int, back_s: list[float], clocks: Clocks) -> World:
    """Messages there at random, and back at some seconds."""
    model = Model(60, clocks)
    world = model.world(seed)
    at = np.array(back_s) * S
    got = at + model.back.draw(np.random.default_rng(seed), len(at))
    sent = np.floor(at + world.offset(at)).astype(np.int64)
    return replace(world, back=Messages(sent, np.floor(got).astype(np.int64)))


@pytest.mark.parametrize("declared", [False, True])
@pytest.mark.parametrize(
    "knees", [(-12.0, 14.0), (-31.0, 11.0), (12.0, -18.0), (-20.0, 24.0), (22.0, 16.0)]
)
def test_two_changes_between_neighbouring_lows(knees: tuple[float, float], declared: bool) -> None:
    """Nothing tells how often the rate changed there: any rate within the limits may have held.

    Slow messages and a rise look alike, though: a rise that falls again may be hidden.
    """
    for seed in range(1, 5):
        changes = [(104.0 * S, knees[0] * PPM), (110.0 * S, knees[1] * PPM)]
        clocks = Clocks(seconds=220.0, walk=1e-9, knees=changes)
        lows = [*np.arange(2.0, 102.0, 4.0), *np.arange(114.0, 218.0, 4.0)]
        world = with_lows(seed, lows, clocks)
        assert outside(world, tube_of(world, declared), 220.0) == 0


def pings(n: int, window: float = 1.0, noise: float = 25.0) -> Pings:
    x = (np.arange(n) + 0.5) * window
    return Pings(x, np.zeros(n), np.full(n, noise), 0.0, n * window, window)


def test_two_pings_exclude_no_walk() -> None:
    for n in (1, 2):
        assert rates_left(pings(n, window=50.0), 1_000.0).density == pytest.approx(1e6)


def test_rates_whose_variances_cancel_one_another_are_not_known() -> None:
    """A rate that does not walk, and pings days apart: float64 has no room for the variances."""
    for gap, noise in ((175_268.0, (637, 270, 41, 17)), (415_384.0, (829, 10, 365, 79))):
        far = Pings(gap * np.arange(4), np.zeros(4), np.array(noise, float), 0.0, 3 * gap, gap)
        assert rates_left(far, 0.0) is None
        assert rates_left(far, 1_000.0) is not None


def test_many_pings_exclude_a_walk_that_they_do_not_show() -> None:
    rates = rates_left(pings(300), 1_000.0)
    assert rates.density < 100
    assert -40 < rates.least.min() < 0 < rates.most.max() < 40


def test_a_walk_that_is_quicker_than_usual() -> None:
    rng = np.random.default_rng(1)
    rate = np.cumsum(rng.normal(0, 5_000.0, 300))
    some = pings(300)._replace(offset=np.cumsum(rate))
    rates = rates_left(some, 1_000.0)
    assert 1e7 <= rates.density <= 1e8
    assert np.mean((rates.least < rate) & (rate < rates.most)) > 0.98


def test_likelihoods_count_what_a_message_may_stray_in_its_window() -> None:
    """As if each density came with more noise."""
    rng = np.random.default_rng(2)
    x, y, noise = np.arange(20.0), rng.normal(0, 30.0, 20), rng.uniform(10, 90, 20)
    found, densities, factors = likelihoods(x, y, noise, 50.0, 0.25)
    for step in (0, 5):
        more = 0.25 * densities[step]
        plain, *_ = likelihoods(x, y, (noise * factors[1] + more) / factors[1], 50.0, 0.0)
        assert found[step, 1] == pytest.approx(plain[step, 1])
        state = smooth_walk(x, y, noise, factors[1], densities[step], 0.25)
        same = smooth_walk(x, y, noise * factors[1] + more, 1.0, densities[step], 0.0)
        np.testing.assert_allclose(state, same)


def test_the_likeliest_walk_is_the_smoother_s() -> None:
    rng = np.random.default_rng(3)
    x, y, noise = np.arange(50.0), np.cumsum(rng.normal(0, 30.0, 50)), np.full(50, 25.0)
    found, densities, factors = likelihoods(x, y, noise, 100.0, 0.0)
    step, scale = np.unravel_index(np.argmax(found), found.shape)
    state, density = smooth_pings(x, y, noise, 100.0)
    assert density == densities[step]
    np.testing.assert_array_equal(
        state, smooth_walk(x, y, noise, factors[scale], densities[step], 0.0)
    )
