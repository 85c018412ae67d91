"""Tubes of clocks that drift, jump and are misread: the same bars, runs and findings as before."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from kept import check_kept

from tracetime.graph.tube import Evidence, Limits, Tube
from tracetime.graph.tube.evidence import NOT_RECORDED, assumed_half_width
from tracetime.graph.tube.limits import ONE

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
        r, h, said = [], [], []
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
            said.append(NOT_RECORDED if chance.random() < 0.1 and seed % 3 else round(rate * ONE))
        if n > 5 and seed % 5 == 0:
            a[4] = a[3]
            r[4] = r[3] + (1 if seed % 2 else 10**6)
        self.correction = np.array(said) if seed % 3 < 2 and n > 1 else None
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
        return Tube.build(evidence, self.limits)

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
    told = {"limits": world.name, "n": len(world.a)}
    for name, bar in (("estimated", estimated), ("guaranteed", sure), ("within", wide)):
        told[name] = [bar.earliest - at, bar.latest - at]
    told["estimate"] = estimated.estimate - at
    b = estimated.estimate[::2]
    for name, bars in (("back", "estimated"), ("back, guaranteed", "guaranteed")):
        back = tube.convert(b, bars=bars, inverse=True)
        told[name] = [back.earliest - b, back.latest - b, back.status]
    check_kept("tubes", str(seed), told)


@pytest.mark.parametrize("seed", range(84))
def test_runs_and_findings_stay(seed: int) -> None:
    tube = World(seed).tube()
    runs, evidence = tube.runs, tube.evidence
    told = {
        "wander": tube.wander,
        "hidden": tube.nearly_hidden,
        "set back": tube.has_set_back,
        "strays": np.flatnonzero(runs.strays),
        "runs": [
            list(row)
            for row in zip(
                runs.segment, runs.first, runs.last, runs.size, runs.slope, runs.width, runs.lone,
                runs.slope_low, runs.slope_high, runs.correction, strict=True,
            )
        ],
        "found": [
            [d.kind, d.a_from, d.a_to, d.size_ns, d.rate_ppm, d.snapshots]
            for d in tube.discontinuities
        ],
        "evidence": [len(evidence.a), evidence.half.sum(), evidence.r.sum(), evidence.group[-3:]],
    }  # fmt: skip
    check_kept("runs", str(seed), told)


@pytest.mark.parametrize("seed", range(42))
def test_assumed_half_widths_stay(seed: int) -> None:
    """Of readings that say nothing: windows, ends and jumps of all kinds."""
    world = World(seed)
    noise = np.array([int(world.chance.random() * 9_000) for _ in world.a])
    told = [
        assumed_half_width(world.a, world.r, world.limits, 0),
        assumed_half_width(world.a, world.r + noise, world.limits, 0),
        assumed_half_width(world.a, world.r + noise, world.limits, 4_321),
    ]
    assert told[0] >= 1_000
    assert told[2] >= 4_321
    check_kept("assumed", str(seed), told)
