"""What bounds of one side or of both leave open, from every one of them: exact, and slow."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.limits import ONE, slope_up

Values = npt.NDArray[np.int64]


class Sides(NamedTuple):
    """Bounds as `Evidence.of_bounds` takes them."""

    a: Values
    low: Values
    high: Values


def cones_at(bounds: Sides, drift: float, x: int) -> tuple[int | None, int | None]:
    """The least and the greatest offset at x, outward to whole ns; None where nothing bounds it."""
    d = Fraction(slope_up(drift), ONE)
    rows = list(zip(*(column.tolist() for column in bounds), strict=True))
    lows = [low - d * abs(x - a) for a, low, _ in rows if low != OPEN_LOW]
    highs = [high + d * abs(x - a) for a, _, high in rows if high != OPEN_HIGH]
    return (
        math.floor(max(lows)) if lows else None,
        math.ceil(min(highs)) if highs else None,
    )


def slopes(bounds: Sides, drift: float, wander: float) -> tuple[Fraction, Fraction]:
    """The slopes that leave a tube of width `wander`, in 2^-52, not rounded."""
    least, most = (Fraction(sign * slope_up(drift)) for sign in (-1, 1))
    rows = sorted(zip(*(column.tolist() for column in bounds), strict=True))
    for j, (a0, low0, high0) in enumerate(rows):
        for a1, low1, high1 in rows[j + 1 :]:
            if a1 == a0:
                continue
            if low1 != OPEN_LOW and high0 != OPEN_HIGH:
                least = max(least, Fraction((low1 - high0) * ONE, a1 - a0) - slope_up(wander))
            if high1 != OPEN_HIGH and low0 != OPEN_LOW:
                most = min(most, Fraction((high1 - low0) * ONE, a1 - a0) + slope_up(wander))
    return least, most
