"""Tubes of any bounds: nothing overflows, and bounds that a tube drops from its rows change none."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from bound_cones import Sides, cones_at
from seeds import seeds

from tracetime.errors import AMBIGUOUS_SOURCE, OVERFLOW
from tracetime.graph.tube import runs
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW, Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.runs import Runs
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
END = 1 << 63
FAR = 1 << 61


def any_reading(rng: Random) -> int:
    near = [rng.randrange(-END, END), rng.randrange(-END, -END + 10), rng.randrange(END - 10, END)]
    return rng.choice([*near, rng.randrange(-100, 100), 0])


def any_bounds(rng: Random) -> Sides:
    about = rng.choice([-FAR, FAR, 0, rng.randrange(-FAR, FAR)])
    rows = []
    for _ in range(rng.randrange(1, 14)):
        value = about + rng.randrange(-50, 50) if rng.random() < 0.6 else rng.randrange(-FAR, FAR)
        value = max(-FAR, min(FAR, value))
        width = rng.choice([None, rng.randrange(1000)])
        low, high = value, OPEN_HIGH if width is None else min(FAR, value + width)
        if rng.random() < 0.4:
            low, high = OPEN_LOW, value
        rows.append((any_reading(rng), low, high))
    return Sides(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def clipped(value: int | None, otherwise: int) -> int:
    return otherwise if value is None else max(-END, min(END - 1, value))


@pytest.mark.parametrize("seed", seeds(300))
def test_any_bounds_give_bars_of_int64(seed: int) -> None:
    rng = Random(seed)
    limits = Limits(rng.choice([0, 1e-9, 2e-4, 0.1]), rng.choice([0, 1e-6, 0.01]), seed % 2 == 0)
    bounds = any_bounds(rng)
    tube = Tube(Evidence.of_bounds(*bounds), limits)
    x = np.array([any_reading(rng) for _ in range(20)] + bounds.a.tolist(), dtype=np.int64)
    for bars in ("guaranteed", "estimated"):
        for inverse in (False, True):
            got = tube.convert(x, bars=bars, inverse=inverse)
            inside = (got.earliest <= got.estimate) & (got.estimate <= got.latest)
            assert np.all(inside | np.isin(got.status, [AMBIGUOUS_SOURCE, OVERFLOW]))
    if all(found.kind == "rate_change" for found in tube.discontinuities):
        got = tube.convert(x, bars="guaranteed")
        for t, *bar in zip(x.tolist(), got.earliest.tolist(), got.latest.tolist(), strict=True):
            low, high = cones_at(bounds, limits.drift, t)
            want = (None if low is None else t + low, None if high is None else t + high)
            assert bar == [clipped(want[0], -END), clipped(want[1], END - 1)]


def world(rng: np.random.Generator) -> Sides:
    """Up to 400 bounds of an offset with knees, steps and wrong bounds, over up to ten days."""
    span = float(rng.choice([1, 60, 3600, 1e6])) * S
    a = np.unique(rng.integers(0, int(span), int(rng.integers(3, 400))))
    knees = np.concatenate([[0], np.sort(rng.uniform(0, span, int(rng.integers(0, 6)))), [span]])
    rates = rng.uniform(-90e-6, 90e-6, len(knees) - 1) * rng.choice([0, 0.1, 1])
    line = np.concatenate([[0], np.cumsum(np.diff(knees) * rates)])
    offset = np.floor(np.interp(a, knees, line)).astype(np.int64)
    offset += int(rng.choice([0, 10**18, -(10**18)]))
    if rng.random() < 0.3:
        offset += np.where(a > rng.uniform(0, span), int(span // 1000) + S, 0)
    if rng.random() < 0.3:
        offset[rng.integers(0, len(a), 2)] += int(rng.choice([-1, 1])) * 10**7
    slow = int(rng.choice([0, 1000, 20_000]))
    slow = slow + rng.exponential(rng.choice([100, 10_000]), len(a)).astype(np.int64)
    kind = rng.choice(3, len(a), p=rng.dirichlet([1, 1, 0.3]))
    low = np.where(kind == 0, OPEN_LOW, offset - 1 - slow)
    return Sides(a, low, np.where(kind == 1, OPEN_HIGH, offset + 1 + slow))


@pytest.mark.parametrize("seed", seeds(120))
def test_rows_without_the_bounds_that_say_nothing_are_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    bounds = world(rng)
    limits = Limits(200e-6, float([1e-6, 1e-7, 5e-5, 0][seed % 4]), seed % 2 == 0)
    tube = Tube(Evidence.of_bounds(*bounds), limits)
    monkeypatch.setattr(runs, "_thinned", _as_they_are)
    whole = Tube(Evidence.of_bounds(*bounds), limits)
    assert len(tube.runs.evidence.a) <= len(whole.runs.evidence.a)
    last = int(bounds.a[-1])
    x = np.concatenate([rng.integers(-last, 2 * last, 300), bounds.a - 1, bounds.a, bounds.a + 1])
    got, want = tube.convert(x), whole.convert(x)
    assert got.earliest.tolist() == want.earliest.tolist()
    assert got.latest.tolist() == want.latest.tolist()
    assert got.status.tolist() == want.status.tolist()
    assert list(tube.discontinuities) == list(whole.discontinuities)
    limit = tube.convert(x, bars="guaranteed")
    assert np.all((limit.earliest <= got.earliest) & (got.latest <= limit.latest))


def _as_they_are(found: Runs, *_: object) -> Runs:
    return found
