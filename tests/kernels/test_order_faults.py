"""Faults among one-sided bounds: the kernel against a twin that compares all pairs."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tracetime._kernels.evidence import faults, live

ONE = 1 << 52
LOW, HIGH = 1, 2
ABOUT = 5

Bound = tuple[int, int, int, int]
"""a, low, high, known."""


def contradict(one: Bound, other: Bound, drift: int) -> bool:
    room = drift * abs(one[0] - other[0])
    return any(
        x[3] & LOW and y[3] & HIGH and (x[1] - y[2]) * ONE > room
        for x, y in ((one, other), (other, one))
    )


def about(bounds: list[Bound], mine: list[int], j: int, k: int) -> list[int]:
    """From the fifth bound of each side before j to the fifth of each after k."""
    ends = [j, k]
    for side in (LOW, HIGH):
        of = [i for i in mine if bounds[i][3] & side]
        ends += [i for i in of if i < j][-ABOUT:][:1] + [i for i in of if i > k][:ABOUT][-1:]
    return [i for i in mine if min(ends) <= i <= max(ends)]


def settle(bounds: list[Bound], near: list[int], drift: int) -> list[int] | None:
    """The wrong ones, or None where the rest does not agree."""
    against = {
        i: {m for m in near if m != i and contradict(bounds[i], bounds[m], drift)} for i in near
    }
    gone: list[int] = []
    while any(against.values()):
        worst = max(near, key=lambda i: (len(against[i]), -i))
        foes = against[worst]
        if min(foes) > worst or max(foes) < worst or len(gone) == ABOUT:
            return None
        for foe in foes:
            against[foe].discard(worst)
        against[worst] = set()
        gone.append(worst)
    return gone


def twin(bounds: list[Bound], drift: int) -> tuple[set[int], list[int], list[int]]:
    dropped: set[int] = set()
    firsts = [0]
    while True:
        mine = [i for i in range(firsts[-1], len(bounds)) if i not in dropped]
        pairs = (
            (i, [m for m in mine[:n] if contradict(bounds[m], bounds[i], drift)])
            for n, i in enumerate(mine)
        )
        k, before = next(((i, foes) for i, foes in pairs if foes), (-1, []))
        if k < 0:
            break
        gone = settle(bounds, about(bounds, mine, before[-1], k), drift)
        if gone is None:
            firsts.append(k)
        else:
            dropped |= set(gone)
    ends = [*firsts[1:], len(bounds)]
    lasts = []
    for f, e, z in zip(firsts, ends, ends[1:], strict=False):
        new = [i for i in range(e, z) if i not in dropped]
        old = [i for i in range(f, e) if i not in dropped]
        lasts.append(
            max(i for i in old if any(contradict(bounds[i], bounds[m], drift) for m in new))
        )
    lasts.append(max(i for i in range(len(bounds)) if i not in dropped))
    return dropped, firsts, lasts


def columns(bounds: list[Bound]) -> tuple[np.ndarray, ...]:
    a, low, high, known = (np.array(column, dtype=np.int64) for column in zip(*bounds, strict=True))
    return a, low, high, known.astype(np.uint8)


def random_bounds(seed: int, n: int) -> list[Bound]:
    """Messages and snapshots about an offset that drifts and steps; some are wrong."""
    rng = Random(seed)
    a, offset = 0, 0
    bounds = []
    for _ in range(n):
        span = rng.randrange(1, 100)
        a += span
        offset += rng.randint(-span // 10, span // 10)
        if rng.random() < 0.02:
            offset += rng.choice([-1, 1]) * rng.randrange(50, 500)
        wrong = rng.choice([-1, 1]) * rng.randrange(30, 300) if rng.random() < 0.05 else 0
        here = offset + wrong
        known = rng.choice([LOW, HIGH, LOW, HIGH, LOW | HIGH])
        if seed % 5 == 0 and rng.random() < 0.8:
            known = HIGH
        bounds.append(
            (a, here - int(rng.expovariate(0.05)), here + int(rng.expovariate(0.05)), known)
        )
    return bounds


@pytest.mark.parametrize("seed", range(150))
def test_faults_are_those_of_the_pairs(seed: int) -> None:
    drift = ONE // 5
    bounds = random_bounds(seed, 20 + seed)
    keep = np.ones(len(bounds), dtype=np.uint8)
    firsts, lasts = faults(*columns(bounds), drift, keep)
    dropped, want_firsts, want_lasts = twin(bounds, drift)
    assert set(np.flatnonzero(keep == 0).tolist()) == dropped
    assert (firsts, lasts) == (want_firsts, want_lasts)


@pytest.mark.parametrize("seed", range(40))
def test_live_are_the_bounds_that_no_other_outdoes(seed: int) -> None:
    drift = ONE // 5
    bounds = random_bounds(1000 + seed, 80)
    keep = np.ones(len(bounds), dtype=np.uint8)
    given = columns(bounds)
    ends = [np.array(found, dtype=np.int64) for found in faults(*given, drift, keep)]
    got = live(*given, drift, keep, *ends).tolist()
    want = [0] * len(bounds)
    for first, last in zip(*(found.tolist() for found in ends), strict=True):
        mine = [i for i in range(first, last + 1) if keep[i]]
        for i in mine:
            a, low, high, known = bounds[i]
            others = [bounds[m] for m in mine if m != i]
            if known & LOW and all(
                (y[1] - low) * ONE <= drift * abs(y[0] - a) for y in others if y[3] & LOW
            ):
                want[i] |= LOW
            if known & HIGH and all(
                (high - y[2]) * ONE <= drift * abs(y[0] - a) for y in others if y[3] & HIGH
            ):
                want[i] |= HIGH
    assert got == want


def test_many_faults_far_apart_take_little_time() -> None:
    """A rate beyond the limit contradicts at last what came long before: one pair a time."""
    n = 40_000
    a = np.arange(n, dtype=np.int64) * 1_000_000
    truth = (a * 2e-4).astype(np.int64)
    known = np.where(np.arange(n) % 2 == 0, LOW, HIGH).astype(np.uint8)
    low, high = truth - 100_000, truth + 100_000
    firsts, lasts = faults(a, low, high, known, int(1e-4 * ONE), np.ones(n, dtype=np.uint8))
    assert len(firsts) == len(lasts) > 10
