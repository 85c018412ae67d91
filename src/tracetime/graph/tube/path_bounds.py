"""What several paths allow of one conversion, put together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import ONE_SIDED, RESOLVED
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.explanation import MeshHop
from tracetime.graph.tube.results import Reached
from tracetime.graph.values import Mask, Values


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
