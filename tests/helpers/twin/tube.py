"""The tube of one pair, plain and slow, in exact fractions: every rule as error-bars.md has it.

Bars only; the estimate is a smoother that the accuracy of the tube is the test of.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise

ONE = 1 << 52


@dataclass
class Snap:
    """A snapshot: clock a's reading, and the interval of the offset, ns."""

    a: int
    low: int
    high: int


@dataclass
class Run:
    """A core: snapshots first..last (indices), with its slope and width."""

    segment: int
    first: int
    last: int
    slope: Fraction
    width: Fraction


@dataclass
class TwinTube:
    """Segments, runs and bars of snapshots that ascend; drift and wander in ns per ns."""

    snaps: list[Snap]
    drift: Fraction
    wander: Fraction
    outliers: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._drop_outliers()
        n = len(self.snaps)
        lefts = self._stretches(range(n))
        rights = self._stretches(range(n)[::-1])[::-1]
        self.segments = [(left[0], max(right)) for left, right in zip(lefts, rights, strict=True)]
        self.runs: list[Run] = []
        for g, (first, last) in enumerate(self.segments):
            self.runs += self._runs(g, first, last)

    def agree(self, j: int, k: int) -> bool:
        one, two = self.snaps[j], self.snaps[k]
        spread = self.drift * abs(two.a - one.a)
        return two.low - one.high <= spread and one.low - two.high <= spread

    def _all_agree(self, which: list[int]) -> bool:
        return all(self.agree(j, k) for j in which for k in which)

    def _drop_outliers(self) -> None:
        """From the left: each snapshot joins the stretch, is an outlier, or begins a new one."""
        kept = [0]
        start, k = 0, 1
        while k < len(self.snaps):
            stretch = [i for i in kept if i >= start]
            if self._all_agree([*stretch, k]):
                kept.append(k)
            elif (
                len(stretch) >= 2
                and k + 2 < len(self.snaps)
                and not self.agree(kept[-1], k)
                and not self.agree(k, k + 1)
                and self._all_agree([*stretch, k + 1, k + 2])
            ):
                self.outliers.append(k)
            else:
                start = k
                kept.append(k)
            k += 1
        self.snaps = [self.snaps[i] for i in kept]

    def _stretches(self, order: range) -> list[list[int]]:
        out: list[list[int]] = []
        for k in order:
            if out and self._all_agree([*out[-1], k]):
                out[-1].append(k)
            else:
                out.append([k])
        return out

    def slopes(self, which: list[int]) -> tuple[Fraction, Fraction]:
        """The slopes that snapshots leave open, rounded outward to 2^-52."""
        least, most = -self.drift, self.drift
        for j in which:
            for k in which:
                if j >= k:
                    continue
                one, two = self.snaps[j], self.snaps[k]
                d = two.a - one.a
                least = max(least, Fraction((two.low - one.high) * ONE // d, ONE) - self.wander)
                most = min(most, Fraction(-((one.low - two.high) * ONE // d), ONE) + self.wander)
        return least, most

    def _runs(self, g: int, first: int, last: int) -> list[Run]:
        def greedy(order: range) -> list[list[int]]:
            out: list[list[int]] = []
            for k in order:
                low, high = self.slopes(sorted([*out[-1], k])) if out else (1, 0)
                if low <= high:
                    out[-1].append(k)
                else:
                    out.append([k])
            return out

        span = range(first, last + 1)
        lefts, rights = greedy(span), greedy(span[::-1])[::-1]
        runs = []
        for left, right in zip(lefts, rights, strict=True):
            i, j = left[0], max(right)
            low, high = self.slopes(list(range(i, j + 1)))
            slope = Fraction(math.floor((low + high) * ONE / 2), ONE)
            width = self.wander + Fraction(math.ceil((high - low) * ONE / 2) + 1, ONE)
            if j - i < 2 and len(lefts) > 1:
                slope, width = Fraction(0), self.drift
            runs.append(Run(g, i, j, slope, width))
        return runs

    def cone(
        self, which: range, slope: Fraction, width: Fraction, t: int
    ) -> tuple[Fraction, Fraction]:
        """All snapshots' cones, intersected at t."""
        low = high = None
        for k in which:
            snap = self.snaps[k]
            d = t - snap.a
            down = snap.low + slope * d - width * abs(d)
            up = snap.high + slope * d + width * abs(d)
            low = down if low is None else max(low, down)
            high = up if high is None else min(high, up)
        assert low is not None
        assert high is not None
        return low, high

    def guaranteed(self, t: int) -> tuple[Fraction, Fraction]:
        hulls = [
            self.cone(range(first, last + 1), Fraction(0), self.drift, t)
            for first, last in self._about(t, self.segments)
        ]
        return min(low for low, _ in hulls), max(high for _, high in hulls)

    def _about(self, t: int, stretches: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """The stretch that holds t, or both about its zone."""
        for before, after in pairwise(stretches):
            if t <= self.snaps[before[1]].a:
                return [before]
            if t < self.snaps[after[0]].a:
                return [before, after]
        return [stretches[-1]]

    def _run_cone(self, run: Run, t: int) -> tuple[Fraction, Fraction]:
        return self.cone(range(run.first, run.last + 1), run.slope, run.width, t)

    def _lone(self, m: int) -> bool:
        run = self.runs[m]
        return (
            run.first == run.last
            and 0 < m < len(self.runs) - 1
            and self.runs[m - 1].segment == run.segment == self.runs[m + 1].segment
        )

    def estimated(self, t: int) -> tuple[Fraction, Fraction, bool]:
        """The bar, and whether a wider one, still guaranteed, would do: about a lone run."""
        about = self._about(t, [(run.first, run.last) for run in self.runs])
        runs = [m for m, run in enumerate(self.runs) if (run.first, run.last) in about]
        if len({self.runs[m].segment for m in runs}) > 1:
            return *self.guaranteed(t), False
        lone = [m for m in runs if self._lone(m)]
        runs = sorted({*runs, *(m + 1 for m in lone), *(m - 1 for m in lone)})
        hulls = [self._run_cone(self.runs[m], t) for m in runs]
        low, high = min(low for low, _ in hulls), max(high for _, high in hulls)
        least, most = self.guaranteed(t)
        return max(low, least), min(high, most), bool(lone)
