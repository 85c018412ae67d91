"""Bars of several clocks, closed: over every path of pairs, which may wait on any clock.

The bars of pairs add up along a path at one instant; a path that waits on a clock until a pair is
known better may say more (docs/error-bars.md, Paths). Here bounds are arrays over clocks
and instants; what they are for a graph's clocks is in mesh.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import close_bounds
from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, RESOLVED
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.explanation import MeshHop
from tracetime.graph.tube.results import Reached
from tracetime.graph.values import Floats, Marks, Mask, Values

OPEN: Final = 1 << 62
"""A bound that says nothing."""

MOST_INSTANTS: Final = 1_000
"""Between instants bounds grow with the clocks' drift: more of them make bars narrower."""


@dataclass(frozen=True, eq=False, slots=True)
class Closed:
    """The closed bounds of n clocks at K instants.

    Attributes:
        upper: int64[n, n, K] ns, the most that clock j is ahead of clock i, or OPEN; the least is
            -upper[j, i].
        next_clock: int64[n, n, K], which clock the path behind a bound visits after i.
        rounds: how many it took.
    """

    upper: Values
    next_clock: Values
    rounds: int

    def path(self, one: int, other: int, instant: int) -> tuple[int, ...]:
        """The clocks that bound `other` from above as seen from `one`, at an instant."""
        clocks = [one]
        # A path visits each clock once.
        while clocks[-1] != other and len(clocks) < len(self.upper):
            clocks.append(int(self.next_clock[clocks[-1], other, instant]))
        return tuple(clocks) if clocks[-1] == other else (one, other)

    def paths(self, one: int, other: int) -> list[tuple[int, ...]]:
        """That path at each instant."""
        return [self.path(one, other, k) for k in range(self.upper.shape[2])]


def close(at_ns: Values, upper: Values, width: Values, steps: Marks | None = None) -> Closed | None:
    """Close bounds over paths of clocks; None where they contradict one another.

    Args:
        at_ns: int64[K], the instants, ascending, as one clock reads them.
        upper: int64[n, n, K] ns, the most that clock j is ahead of clock i; OPEN where unknown.
        width: int64[n, n], how fast the offset of two clocks may change, in 2^-52 ns per ns of
            the clock that reads the instants.
        steps: uint8[n, K - 1], where a clock may have stepped between two instants: nothing waits
            on it then.

    Raises:
        ValueError: arrays that do not fit together.
    """
    bounds = np.minimum(upper, OPEN)
    clocks = np.arange(len(bounds))
    bounds[clocks, clocks] = 0
    next_clock = np.empty_like(bounds)
    if steps is None:
        steps = np.zeros((len(bounds), max(len(at_ns) - 1, 0)), dtype=np.uint8)
    rounds = close_bounds(bounds, next_clock, at_ns, width, steps)
    return None if rounds < 0 else Closed(bounds, next_clock, rounds)


# What several paths allow of one conversion, put together.


class Bound(NamedTuple):
    """What one path allows: earliest and latest, and whether it waits on a clock."""

    path: Sequence[ClockId]
    earliest: Values
    latest: Values
    waits: bool


def bound_of(path: Sequence[ClockId], there: Reached) -> Bound:
    """What a conversion along a path allows; nothing where a value is two instants."""
    usual = is_usual(there)
    return Bound(
        path,
        np.where(usual, there.earliest, OPEN_LOW),
        np.where(usual, there.latest, OPEN_HIGH),
        False,
    )


def is_usual(reached: Reached) -> Mask:
    """Which values are one instant that fits in int64."""
    usual: Mask = (reached.status == RESOLVED) | (reached.status == ONE_SIDED)
    return usual


def within(after: Reached, estimate: Values, bounds: Iterable[Bound]) -> Reached:
    """Values within what all paths allow.

    after: by one of the paths, which has its say alone where they contradict each other: estimated
    bars that miss the truth may miss each other. estimate: before it is clamped.
    """
    earliest, latest = after.earliest.copy(), after.latest.copy()
    for bound in bounds:
        np.maximum(earliest, bound.earliest, out=earliest)
        np.minimum(latest, bound.latest, out=latest)
    usual = is_usual(after)
    agree = usual & (earliest <= latest)
    earliest = np.where(agree, earliest, after.earliest)
    latest = np.where(agree, latest, after.latest)
    closed = (after.status == ONE_SIDED) & (earliest != OPEN_LOW) & (latest != OPEN_HIGH)
    return Reached(
        np.where(usual, np.clip(estimate, earliest, latest), after.estimate),
        earliest,
        latest,
        np.where(closed, np.uint8(RESOLVED), after.status),
    )


def explained(bounds: Sequence[Bound], clocks: int, *, fitted: bool) -> MeshHop:
    """Which path bounds each side of one value; the first of `bounds` is the path it takes."""
    low = max(bounds, key=lambda bound: bound.earliest.item())
    high = min(bounds, key=lambda bound: bound.latest.item())
    if low.earliest.item() > high.latest.item():
        low = high = bounds[0]
    return MeshHop(
        src=bounds[0].path[0],
        dst=bounds[0].path[-1],
        clocks=clocks,
        earliest=tuple(low.path),
        latest=tuple(high.path),
        waits_earliest=low.waits,
        waits_latest=high.waits,
        fitted=fitted,
    )


# Offsets of several clocks that fit the estimates of all pairs best: every loop closes.

# No estimate is surer than a nanosecond: fits stay well-conditioned, and readings are whole.
_LEAST_VARIANCE: Final = 1.0


def fit(n: int, pairs: Values, offsets: Floats, variances: Floats, pinned: int = 0) -> Floats:
    """Offsets of n clocks against one of them, by weighted least squares at each instant.

    Minimises the sum of (o_j - o_i - e_ij)^2 / v_ij (docs/error-bars.md, Paths).

    Args:
        n: how many clocks.
        pairs: int64[P, 2], clocks i and j of each pair; all clocks hang together by them.
        offsets: float64[P, K] ns, the estimates e_ij of j - i: of full precision only where they
            are small, so take off what is common before.
        variances: float64[P, K] ns^2, those of the estimates.
        pinned: the clock whose offset is 0.

    Returns:
        float64[n, K], ns.
    """
    instants = offsets.shape[1]
    one, other = pairs[:, 0], pairs[:, 1]
    weights = (1.0 / np.maximum(variances, _LEAST_VARIANCE)).T
    # A common factor changes no fit, and keeps the sums far from what floats cannot hold.
    weights = weights / weights.max(axis=1, keepdims=True)
    matrix = np.zeros((instants, n, n))
    right = np.zeros((instants, n))
    pulls = weights * offsets.T
    for pair, (i, j) in enumerate(zip(one.tolist(), other.tolist(), strict=True)):
        weight, pull = weights[:, pair], pulls[:, pair]
        matrix[:, i, i] += weight
        matrix[:, j, j] += weight
        matrix[:, i, j] -= weight
        matrix[:, j, i] -= weight
        right[:, j] += pull
        right[:, i] -= pull
    free = np.delete(np.arange(n), pinned)
    fitted = np.zeros((n, instants))
    if len(free):
        inner = matrix[:, free[:, None], free]
        fitted[free] = np.linalg.solve(inner, right[:, free, None])[..., 0].T
    return fitted
