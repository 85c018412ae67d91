"""Tubes of clocks that drift, jump and are misread: the same bars, runs and findings as before."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from kept import check_kept

from tracetime import ConversionError, UsageError
from tracetime.graph.tube.assumed_widths import learnt
from tracetime.graph.tube.evidence import NOT_RECORDED, Evidence
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000
LIMITS = {
    "a crystal": Limits.of(100, 500),
    "declared": Limits.of(20, 30, (0.01, 0.02)),
    "one declared": Limits.of(20, 30, (0.01, None)),
    "one oscillator": Limits.of(100, 500, shared_oscillator=True, rise="suspend"),
    "borne out": Limits.of(500, 500, shared_oscillator=True, may_differ=True),
    "one rate": Limits.of(500, 500, shared_oscillator=True, may_differ=True, one_rate=True),
    "loose": Limits.of(20_000, 1_000),
}


class World:
    """Snapshots of clock b against a, and what b truly read: rates, jumps and records by chance."""

    def __init__(self, seed: int) -> None:
        chance = self.chance = Random(seed)
        self.name = list(LIMITS)[seed % len(LIMITS)]
        self.limits = LIMITS[self.name]
        n = [3, 1, 9, 40, 17, 2, 28, 12][seed // 7 % 8]
        every = [S, 10 * S, S // 100][seed % 3]
        a, at = [], [0, 9_000 * S, -(2**62)][seed // 2 % 3]
        for _ in range(n):
            a.append(at)
            at += every + (int(chance.random() * every) if seed % 2 else 0)
        most = [0.2, 5.0, 60.0][seed // 3 % 3] * 1e-6
        if self.name in ("one oscillator", "one rate", "borne out"):
            most = [0.0, 1e-9, 3e-7][seed // 3 % 3]
        half = [0, 40, 2_000, 30_000][seed // 5 % 4]
        often, jumpy = [(0.1, 0.05), (0.5, 0.0), (0.06, 0.02), (0.25, 0.0)][seed // 4 % 4]
        rate = base = (chance.random() - 0.5) * most
        drifted, jumped, self.rates = 0.0, 0, []
        r, h, corrections = [], [], []
        for k in range(n):
            what = chance.random()
            if what < often:
                rate = base + (chance.random() - 0.5) * 4 * most
            elif what < often + jumpy:
                jumped += int((chance.random() - 0.5) * 4 * every)
            elif what < often + jumpy + 0.02 and seed % 4 == 1 and a[k] >= 0:
                jumped = -a[k] + int(chance.random() * every)
            if k:
                drifted += rate * (a[k] - a[k - 1])
            h.append(int(chance.random() * half))
            off = int((chance.random() - 0.5) * 2 * h[-1])
            stray = int(chance.random() * 60 * (half + 20)) if chance.random() < 0.09 else 0
            r.append(jumped + int(drifted) + off + stray + 77)
            corrections.append(
                NOT_RECORDED if chance.random() < 0.1 and seed % 3 else round(rate * ONE)
            )
        if n > 5 and seed % 5 == 0:
            a[4] = a[3]
            r[4] = r[3] + (1 if seed % 2 else 10**6)
        self.correction = np.array(corrections) if seed % 3 < 2 and n > 1 else None
        order = list(range(n))
        if seed % 4 == 3:
            chance.shuffle(order)
        self.a, self.r, self.h = (np.array([x[k] for k in order]) for x in (a, r, h))
        if self.correction is not None:
            self.correction = self.correction[order]
        self.assumed = seed % 6 == 5
        self.every = every

    def tube(self) -> Tube:
        evidence = Evidence.of(
            self.a, self.r, self.h, assumed=self.assumed, correction=self.correction
        )
        return Tube(evidence, self.limits)

    def points(self) -> np.ndarray:
        """Before, between, at and after the snapshots."""
        a, every = np.sort(self.a), self.every
        some = a[:: max(1, len(a) // 4)]
        return np.unique(
            np.concatenate(
                [
                    a[:1] - 3 * every,
                    a[:1] - 1,
                    some,
                    some + every // 3,
                    a[-1:] + 1,
                    a[-1:] + 2 * every,
                ]
            )
        )


@pytest.mark.parametrize("seed", range(84))
def test_bars_stay(seed: int) -> None:
    world = World(seed)
    tube, at = world.tube(), world.points()
    estimated, sure = tube.convert(at), tube.convert(at, bars="guaranteed")
    wide = tube.convert(at, within=(at - 5_000, at + 9_000))
    for bar in (estimated, sure, wide):
        assert (bar.earliest <= bar.estimate).all()
        assert (bar.estimate <= bar.latest).all()
    if not tube.runs.strays.any():  # which guaranteed bars hold, and estimated ones leave out
        assert (sure.earliest <= estimated.earliest).all()
        assert (estimated.latest <= sure.latest).all()
    results = {"limits": world.name, "n": len(world.a)}
    for name, bar in (("estimated", estimated), ("guaranteed", sure), ("within", wide)):
        results[name] = [bar.earliest - at, bar.latest - at]
    results["estimate"] = estimated.estimate - at
    b = estimated.estimate[::2]
    for name, bars in (("back", "estimated"), ("back, guaranteed", "guaranteed")):
        back = tube.convert(b, bars=bars, inverse=True)
        results[name] = [back.earliest - b, back.latest - b, back.status]
    check_kept("tubes", str(seed), results)


@pytest.mark.parametrize("seed", range(84))
def test_runs_and_findings_stay(seed: int) -> None:
    tube = World(seed).tube()
    runs, evidence = tube.runs, tube.evidence
    results = {
        "wander": tube.wander,
        "hidden": tube.nearly_hidden,
        "set back": tube.has_set_back,
        "strays": np.flatnonzero(runs.strays),
        "runs": [
            list(row)
            for row in zip(
                runs.segment,
                runs.first,
                runs.last,
                runs.size,
                runs.slope,
                runs.width,
                runs.lone,
                runs.slope_low,
                runs.slope_high,
                runs.correction,
                strict=True,
            )
        ],
        "found": [
            [d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm, d.snapshots]
            for d in tube.discontinuities
        ],
        "evidence": [len(evidence.a), evidence.half.sum(), evidence.r.sum(), evidence.group[-3:]],
    }
    check_kept("runs", str(seed), results)


@pytest.mark.parametrize("seed", range(42))
def test_assumed_half_widths_stay(seed: int) -> None:
    """Of readings that say nothing: windows, ends and jumps of all kinds."""
    world = World(seed)
    noise = np.array([int(world.chance.random() * 9_000) for _ in world.a])
    given = (world.r, 0), (world.r + noise, 0), (world.r + noise, 4_321)
    results = [learnt(world.a, r, world.limits, max(1_000, ticks_ns)) for r, ticks_ns in given]
    assert results[0].half_ns.min() >= 1_000
    assert results[2].half_ns.min() >= 4_321
    kept = [
        [one.half_ns.tolist(), one.held_ns, one.sliver_ns, np.flatnonzero(one.doubtful).tolist()]
        for one in results
    ]
    check_kept("assumed", str(seed), kept)


def steered(seed: int) -> Tube:
    """A clock whose rate is changed every snapshot or two, as is recorded, by much or little."""
    chance = Random(seed)
    n = [3, 5, 12, 20][seed % 4]
    base, change = (chance.random() - 0.5) * 30e-6, [2e-8, 5e-7, 40e-6][seed // 4 % 3]
    half = [5, 300, 4_000][seed // 2 % 3]
    a, r, h, corrections = [], [], [], []
    at, drifted, steer = 10**12, 0.0, 0.0
    for k in range(n):
        if chance.random() < [0.5, 0.95][seed % 2]:
            steer = (chance.random() - 0.5) * change
        a.append(at)
        r.append(int(drifted) + int((chance.random() - 0.5) * 2 * half) + 900)
        h.append(half + int(chance.random() * half))
        corrections.append(NOT_RECORDED if seed % 6 == 5 and k == n // 2 else round(steer * ONE))
        step = S + int(chance.random() * S / 3)
        drifted += (base + steer) * step
        at += step
    if seed % 7 == 3 and n > 5:
        r[n // 2 :] = [x + 5 * S for x in r[n // 2 :]]
    if seed % 7 == 4 and n > 5:
        r[n // 2] += 40_000_000
    limits = [Limits.of(100, 500), Limits.of(100, 500, (0.01, 0.01)), LIMITS["one rate"]][seed % 3]
    evidence = Evidence.of(np.array(a), np.array(r), np.array(h), correction=np.array(corrections))
    return Tube(evidence, limits)


@pytest.mark.parametrize("seed", range(48))
def test_steered_clocks_stay(seed: int) -> None:
    tube = steered(seed)
    runs = tube.runs
    a = tube.evidence.a
    at = np.unique(np.concatenate([a[::2], a[:-1] + (a[1:] - a[:-1]) // 3, a[-1:] + S]))[:9]
    bar = tube.convert(at)
    columns = (runs.segment, runs.first, runs.last, runs.size, runs.slope, runs.width, runs.lone)
    results = {
        "bars": [bar.earliest - at, bar.latest - at],
        "runs": [list(row) for row in zip(*columns, strict=True)],
        "wander": tube.wander,
        "found": [
            [d.kind, d.a_from, d.size_ns, d.rate_ppm, d.snapshots] for d in tube.discontinuities
        ],
    }
    check_kept("steered", str(seed), results)


@pytest.mark.parametrize("seed", range(24))
def test_small_steps_stay(seed: int) -> None:
    """Two lines, with a step between them that the limit on drift would let pass."""
    chance = Random(seed)
    size = int((chance.random() - 0.5) * [600, 40_000][seed % 2])
    bend = [0.0, 3e-6, -3e-6][seed % 3]
    n, half = 5 + seed % 4, 1 + seed // 4 % 3 * 9
    a = np.arange(2 * n, dtype=np.int64) * S - [0, 2**62][seed % 2]
    since = np.arange(2 * n) * S
    late = since >= n * S
    r = (since * 7e-6 + np.where(late, size + (since - (n - 0.5) * S) * bend, 0)).astype(np.int64)
    r += np.array([int((chance.random() - 0.5) * 2 * half) for _ in range(2 * n)])
    corrections = (
        np.where(late, round((7e-6 + bend) * ONE), round(7e-6 * ONE)) if seed % 5 == 0 else None
    )
    tube = Tube(
        Evidence.of(a, r, half, correction=corrections), Limits.of(100, 100, (0.005, 0.005))
    )
    bar = tube.convert(a[n - 1 : n + 1] + S // 3)
    results = {
        "bars": [bar.earliest - a[n - 1 : n + 1], bar.latest - a[n - 1 : n + 1]],
        "found": [
            [d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm, d.snapshots]
            for d in tube.discontinuities
        ],
    }
    check_kept("small_steps", str(seed), results)


@pytest.mark.parametrize("seed", range(40))
def test_what_changes_may_hide_stays(seed: int) -> None:
    chance = Random(seed)
    n, half, every = 24 + seed % 9, [50, 1_000][seed % 2], [S, 10 * S][seed // 2 % 2]
    least = 16 * half / every * [0.3, 0.9, 1.8, 4.0][seed // 4 % 4]
    rate, r, drifted = 4e-6, [], 0.0
    for k in range(n):
        if k % (4 + seed % 3) == 3:
            rate += least * (1 + chance.random()) * (1 if chance.random() < 0.5 else -1)
        r.append(int(drifted) + int((chance.random() - 0.5) * 2 * half))
        drifted += rate * every
    a = np.arange(n, dtype=np.int64) * every
    limits = Limits(5e-4, [1e-9, 1e-6, 0.0][seed % 3], wander_declared=seed % 2 == 0)
    evidence = Evidence.of(a, np.array(r), half, assumed=seed % 13 == 12)
    tube = Tube(evidence, limits)
    check_kept("hidden", str(seed), [tube.nearly_hidden, tube.wander, len(tube.runs.first)])


@pytest.mark.parametrize("seed", range(24))
def test_readings_that_stand_still_stay(seed: int) -> None:
    """Snapshots of one reading of clock a, that agree or not, in any order."""
    chance = Random(seed)
    n = 4 + seed % 5
    a = np.array([int(chance.random() * n / 2) * S for _ in range(n)])
    r = np.array([int(chance.random() * [50, 3_000, 90_000_000][seed % 3]) for _ in range(n)])
    h = np.array([int(chance.random() * 2_000) for _ in range(n)])
    corrections = np.array([int(chance.random() * 2) * 10**6 for _ in range(n)])
    evidence = Evidence.of(a, r, h, correction=corrections if seed % 2 else None)
    tube = Tube(evidence, LIMITS["a crystal"])
    results = {
        "evidence": [
            evidence.a,
            evidence.low,
            evidence.high,
            evidence.r,
            evidence.half,
            evidence.order,
            evidence.group,
            evidence.correction,
        ],
        "found": [[d.kind, d.a_from, d.a_to, d.size_ns, d.snapshots] for d in tube.discontinuities],
    }
    check_kept("standing", str(seed), results)


def test_what_is_no_column_of_ns_is_refused() -> None:
    tube, good = World(0).tube(), np.array([1, 2])
    for wrong in (np.array([[1, 2]]), np.array([1.0, 2.0]), np.array(5), np.array(["1"])):
        with pytest.raises(UsageError, match="timestamps are a 1-d array of whole numbers"):
            tube.convert(wrong)
        with pytest.raises(UsageError, match="snapshots are 1-d arrays of whole numbers"):
            Evidence.of(wrong, good, 1)
    assert Evidence.of(np.array([1, 2], dtype=np.uint32), good, 1).a.tolist() == [1, 2]
    for within in ((good, good[:1]), (good[:1], good), (good, np.array([1, 1])), (good[:1],) * 2):
        with pytest.raises(UsageError, match="within"):
            tube.convert(good, within=within)
    tube.convert(good, within=(good, good))


def test_offsets_of_up_to_73_years_are_bounded() -> None:
    def taken(offset: int, half: int) -> bool:
        try:
            Evidence.of(np.array([0, S]), np.array([offset, 0]), half)
        except ConversionError as error:
            assert error.reason == "overflow"
            return False
        return True

    most = 1 << 61
    assert [taken(x, 0) for x in (most, most + 1, -most, -most - 1)] == [True, False, True, False]
    assert [taken(0, x) for x in (most // 2, most // 2 + 1)] == [True, False]
    for bad, match in (
        (np.array([-1, 0]), "half-width -1"),
        (np.array([1]), "2 offsets and 1 half"),
    ):
        with pytest.raises(UsageError, match=match):
            Evidence.of(np.array([0, S]), np.array([0, 0]), bad)
    with pytest.raises(UsageError, match="1 corrections"):
        Evidence.of(np.array([0, S]), np.array([0, 0]), 1, correction=np.array([1]))
    with pytest.raises(UsageError, match="a tube needs a snapshot"):
        Evidence.of(np.array([], dtype=int), np.array([], dtype=int), 1)


def test_limits_are_met_from_both_sides() -> None:
    Limits(0.1, 0.01)
    Limits(0.0, 0.0)
    for drift, wander in ((0.1 + 1e-9, 0.0), (-1e-9, 0.0), (0.0, 0.01 + 1e-9), (0.0, -1e-9)):
        with pytest.raises(UsageError, match="is outside 0 to"):
            Limits(drift, wander)
    for drifts in ((-1e-3, 0), (0, -1e-3), (1e6, 0), (0, 1e6)):
        with pytest.raises(UsageError, match="use 0 or more"):
            Limits.of(*drifts)


def test_a_wander_of_nothing_grows_where_snapshots_ask_for_it() -> None:
    a = np.arange(400, dtype=np.int64) * 10 * S
    r = np.cumsum(3_000 * np.sin(np.arange(400) / 9) * 10).astype(np.int64)
    grown = Tube(Evidence.of(a, r, 11), Limits(2e-4, 0.0, wander_declared=False))
    kept = Tube(Evidence.of(a, r, 11), Limits(2e-4, 0.0))
    assert kept.wander.tolist() == [0.0]
    assert 1e-7 < grown.wander[0] <= 16e-6
    assert np.log2(grown.wander[0] * ONE) % 1 == 0
