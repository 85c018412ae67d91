"""Tubes of one-sided bounds: as narrow as every cone, open where nothing bounds them, and sound."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Literal

import numpy as np
import pytest
from bound_cones import Sides, cones_at, slopes
from message_worlds import PPM, Clocks, Delays, Model, World, both_ways
from seeds import seeds

from tracetime.errors import AMBIGUOUS_SOURCE, ONE_SIDED, REASONS, RESOLVED
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.limits import Limits, slope_up
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
LIMITS = Limits(200e-6, 1e-6, False)
BARS: tuple[Literal["guaranteed", "estimated"], ...] = ("guaranteed", "estimated")


def small_mix(seed: int) -> Sides:
    """A few lows, highs and intervals about an offset that drifts within the limits."""
    rng = Random(seed)
    n = rng.randrange(1, 25)
    a = sorted(rng.randrange(0, 20 * S) for _ in range(n))
    rate = rng.uniform(-150e-6, 150e-6)
    low, high = [], []
    for x in a:
        truth = round(rate * x) + rng.randrange(-200, 201)
        kind = rng.choice(["low", "high", "both"] if seed % 3 else ["low", "high"])
        low.append(OPEN_LOW if kind == "high" else truth - 200 - int(rng.expovariate(1e-5)))
        high.append(OPEN_HIGH if kind == "low" else truth + 200 + int(rng.expovariate(1e-5)))
    return Sides(np.array(a), np.array(low), np.array(high))


def said(low: int | None, high: int | None) -> tuple[int, int]:
    return OPEN_LOW if low is None else low, OPEN_HIGH if high is None else high


@pytest.mark.parametrize("seed", seeds(200))
def test_guaranteed_bars_are_as_narrow_as_all_cones_together(seed: int) -> None:
    bounds = small_mix(seed)
    tube = Tube(Evidence.of_bounds(*bounds), LIMITS)
    rng = Random(-seed)
    x = np.array(
        [rng.randrange(-5 * S, 25 * S) for _ in range(20)] + bounds.a.tolist(), dtype=np.int64
    )
    got = tube.convert(x, bars="guaranteed")
    for t, earliest, latest, status in zip(
        x.tolist(), got.earliest.tolist(), got.latest.tolist(), got.status.tolist(), strict=True
    ):
        low, high = cones_at(bounds, LIMITS.drift, t)
        assert earliest == (OPEN_LOW if low is None else t + low)
        assert latest == (OPEN_HIGH if high is None else t + high)
        assert status == (ONE_SIDED if None in (low, high) else RESOLVED)
    assert not tube.discontinuities


@pytest.mark.parametrize("seed", seeds(40))
def test_bounds_that_others_make_needless_change_no_slope(seed: int) -> None:
    """What a run leaves open follows from the live bounds alone, where it is within the limits."""
    bounds = small_mix(1000 + seed)
    limits = replace(LIMITS, wander=20e-6, wander_declared=True)
    runs = Tube(Evidence.of_bounds(*bounds), limits).runs
    assert len(runs.segment) == 1
    least, most = slopes(bounds, limits.drift, limits.wander)
    tightest = 0.8 * limits.drift * 2**52
    if least > -tightest:
        assert least - 1 <= int(runs.slope_low[0]) <= least
    if most < tightest:
        assert most <= int(runs.slope_high[0]) <= most + 1


def sides(world: World, **rest: int) -> Sides:
    a, bound, above = world.bounds(**rest)
    return Sides(a, np.where(above, OPEN_LOW, bound), np.where(above, bound, OPEN_HIGH))


def check(world: World, tube: Tube, bars: Literal["guaranteed", "estimated"]) -> None:
    """The truth is within the bars, and there and back the other way."""
    last = int(world.there.sent[-1])
    x = np.linspace(world.a_ns - S, last + S, 500).astype(np.int64)
    truth = world.truth(x) + world.origin_ns
    there = tube.convert(x, bars=bars)
    low = np.where(there.earliest == OPEN_LOW, -np.inf, (there.earliest - x).astype(float))
    high = np.where(there.latest == OPEN_HIGH, np.inf, (there.latest - x).astype(float))
    assert np.all((low <= truth) & (truth <= high))
    assert np.all((there.earliest <= there.estimate) & (there.estimate <= there.latest))
    read = x + np.floor(truth).astype(np.int64)
    back = tube.convert(read, bars=bars, inverse=True)
    assert np.all((back.earliest <= x) & (x <= back.latest))
    inside = (back.earliest <= back.estimate) & (back.estimate <= back.latest)
    assert np.all(inside | (back.status == AMBIGUOUS_SOURCE))


SHORT = Clocks(seconds=60)
WORLDS = {
    "few": Model(rate=2, clocks=SHORT, **both_ways(load=0.9)),
    "busy": Model(rate=100, clocks=SHORT, **both_ways(kind="pareto", load=0.9)),
    "rarely back": Model(rate=50, clocks=SHORT, share_back=0.02),
    "coarse": Model(rate=50, clocks=SHORT, tick_a_ns=10_000, tick_b_ns=1_000),
    "far": Model(rate=20, clocks=SHORT, a_ns=5 * S, b_ns=1_800_000_000 * S),
    "asymmetric": Model(rate=20, clocks=SHORT, there=Delays(base_ns=45_000)),
    "a knee": Model(rate=50, clocks=replace(SHORT, walk=1e-9, knees=[(2.7e10, 2e-5)])),
    "steps": Model(rate=50, clocks=replace(SHORT, steps=[(2e10, 1e6), (4e10, -3e6)])),
}


@pytest.mark.parametrize("bars", BARS)
@pytest.mark.parametrize("name", WORLDS)
def test_the_truth_is_within_the_bars(name: str, bars: Literal["guaranteed", "estimated"]) -> None:
    model = WORLDS[name]
    tick = model.tick_a_ns + model.tick_b_ns
    for seed in range(8101, 8105):
        world = model.world(seed)
        check(world, Tube(Evidence.of_bounds(*sides(world, tick_ns=tick)), LIMITS), bars)


@pytest.mark.parametrize("bars", BARS)
@pytest.mark.parametrize("way", ["there", "back"])
def test_messages_one_way_close_one_side(
    way: str, bars: Literal["guaranteed", "estimated"]
) -> None:
    for seed in range(8201, 8204):
        world = Model(rate=50, clocks=SHORT).world(seed)
        a, low, high = sides(world)
        kept = high != OPEN_HIGH if way == "there" else low != OPEN_LOW
        tube = Tube(Evidence.of_bounds(a[kept], low[kept], high[kept]), LIMITS)
        check(world, tube, bars)
        x = np.linspace(-S, 61 * S, 300).astype(np.int64)
        for inverse in (False, True):
            got = tube.convert(x, bars=bars, inverse=inverse)
            open_low = (way == "there") != inverse
            assert np.all(got.status == ONE_SIDED)
            assert np.all((got.earliest == OPEN_LOW) == open_low)
            assert np.all((got.latest == OPEN_HIGH) != open_low)
            closed = got.latest if open_low else got.earliest
            assert got.estimate.tolist() == closed.tolist()
        within = tube.convert(x, bars=bars, within=(x - 50, x + 50))
        ends = tube.convert(x - 50, bars=bars), tube.convert(x + 50, bars=bars)
        assert within.earliest.tolist() == ends[0].earliest.tolist()
        assert within.latest.tolist() == ends[1].latest.tolist()
        assert np.all(within.status == ONE_SIDED)


def test_an_open_bar_has_the_end_that_is_known() -> None:
    """One message: sent at 100, got at 250 by the other clock, which has shown no more."""
    bounds = Evidence.of_bounds(np.array([100]), np.array([OPEN_LOW]), np.array([150]))
    got = Tube(bounds, LIMITS).convert(np.array([100, 10_099]))
    assert got.latest.tolist() == [250, 10_251]
    assert got.estimate.tolist() == [250, 10_251]
    assert got.earliest.tolist() == [OPEN_LOW] * 2
    assert [REASONS[s] for s in got.status] == ["one_sided"] * 2


def test_messages_and_snapshots_bound_together() -> None:
    for seed in range(8301, 8306):
        world = Model(rate=20, clocks=SHORT).world(seed)
        a, low, high = sides(world)
        rng = np.random.default_rng(seed)
        read = np.sort(rng.integers(0, 60 * S, 12))
        half = rng.integers(500, 30_000, 12)
        r = np.floor(world.truth(read)).astype(np.int64) + rng.integers(-499, 499, 12)
        mixed = Sides(
            np.concatenate([a, read]),
            np.concatenate([low, r - half]),
            np.concatenate([high, r + half]),
        )
        tube = Tube(Evidence.of_bounds(*mixed), LIMITS)
        for bars in BARS:
            check(world, tube, bars)
        x = rng.integers(-S, 61 * S, 20)
        got = tube.convert(x, bars="guaranteed")
        want = [said(*cones_at(mixed, LIMITS.drift, t)) for t in x.tolist()]
        assert (
            list(zip((got.earliest - x).tolist(), (got.latest - x).tolist(), strict=True)) == want
        )


def faulty(seed: int) -> tuple[World, Sides, int, int, set[int]]:
    """A world with a step, and four messages that seem to arrive too early; where they stand."""
    rng = np.random.default_rng(seed)
    at, size = rng.uniform(3e10, 9e10), rng.choice([-1, 1]) * rng.uniform(2e5, 5e6)
    clocks = Clocks(seconds=120.0, steps=[(at, size)])
    world = Model(rate=50, clocks=clocks).world(rng)
    bad = set()
    for sent, got, place in ((*world.there, 0), (*world.back, 1)):
        fit = (sent > 5 * S) & (sent < 115 * S) & (abs(got - at) > 5 * S)
        chosen = rng.choice(np.flatnonzero(fit), 2, replace=False)
        got[chosen] -= rng.integers(500_000, 5_000_000, 2)
        bad |= set((sent, got)[place][chosen].tolist())
    return world, sides(world), int(at), int(size), bad


def test_steps_and_wrong_orders_are_found_and_none_is_invented() -> None:
    for seed in range(8401, 8421):
        world, bounds, at, size, bad = faulty(seed)
        tube = Tube(Evidence.of_bounds(*bounds), LIMITS)
        found = tube.discontinuities
        steps = [d for d in found if d.kind == "step"]
        wrong = [d for d in found if d.kind == "wrong_order"]
        assert len(found) == len(steps) + len(wrong)
        (step,) = steps
        assert step.size_ns is not None
        assert step.a_from <= at <= step.a_to and step.size_ns[0] <= size <= step.size_ns[1]
        assert {d.a_from for d in wrong} == bad and len(wrong) == 4
        for d in wrong:
            assert [bounds.a[k] for k in d.snapshots] == [d.a_from]
            assert d.size_ns is not None
            assert d.size_ns[1] < 0 or d.size_ns[0] > 0
        for bars in BARS:
            check(world, tube, bars)


def test_a_wrong_bound_at_the_end_may_be_a_step() -> None:
    """No bound of the other side comes after it that would tell."""
    a = np.arange(20) * S
    low = np.where(a // S % 2 == 0, -1_000, OPEN_LOW)
    high = np.where(a // S % 2 == 1, 1_000, OPEN_HIGH)
    high[-1] = -5_000_000
    tube = Tube(Evidence.of_bounds(a, low, high), LIMITS)
    (found,) = tube.discontinuities
    assert (found.kind, found.size_ns, found.snapshots) == ("possible_step", None, (18, 19))
    assert (found.a_from, found.a_to) == (18 * S, 19 * S)
    early, late = tube.convert(np.array([5 * S, 30 * S])).status.tolist()
    assert (early, late) == (RESOLVED, ONE_SIDED)


def test_a_core_with_few_bounds_of_a_side_proves_no_rate() -> None:
    """Between two long runs: bars there are those of the limits, and closed on both sides."""
    t = np.arange(0, 120 * S, S // 2)
    rate = np.where(t < 50 * S, 0.0, np.where(t < 60 * S, 100.0, -50.0)) * PPM
    truth = np.append(0.0, np.cumsum(rate[:-1] * S / 2)).astype(np.int64)
    above = (np.arange(len(t)) % 2 == 0) | ((t >= 50 * S) & (t < 60 * S))
    above[[106, 114]] = False
    low, high = np.where(above, OPEN_LOW, truth - 50), np.where(above, truth + 50, OPEN_HIGH)
    tube = Tube(Evidence.of_bounds(t, low, high), replace(LIMITS, wander_declared=True))
    runs = tube.runs
    assert runs.size.tolist()[1] <= 2 and len(runs.size) == 3
    assert (runs.slope[1], runs.width[1]) == (0, slope_up(LIMITS.drift))
    x = np.linspace(45 * S, 65 * S, 80).astype(np.int64)
    true = np.interp(x, t, truth)
    for bars in BARS:
        got = tube.convert(x, bars=bars)
        assert np.all(got.status == RESOLVED)
        assert np.all((got.earliest - x <= true) & (true <= got.latest - x))
