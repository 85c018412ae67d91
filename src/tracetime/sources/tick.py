"""The resolution of a clock, found in its readings: the spacing of their differences.

The system's own value (`clock_getres`) is often 1 ns for a counter with steps of 10, and the least
difference of two readings is the cost of one read, not a tick.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

READINGS: Final = 2_048
"""Readings that are enough to find a step."""

_COMMON_SHARE: Final = 0.95
"""Of the differences: the rest are interruptions, whose length says nothing."""

_MOST_VALUES: Final = 48
"""Different ones that are compared: bounds the work, which grows with their square."""

_LEAST_FRACTION: Final = 4.0
"""The least step that is no whole number: readings are rounded, within 1."""


def resolution_of_runs(runs: Sequence[Values]) -> int | None:
    """The resolution of a clock by runs of readings; None if no reading differs.

    Where a clock is read again before it steps, every difference above 0 is a step: the longest
    counts, as steps may differ. Of the runs the least of these: something may interrupt one.
    Elsewhere it is `common_resolution`.

    Args:
        runs: int64, of each the differences of successive readings.
    """
    seen = [run[run > 0] for run in runs]
    longest = [int(steps.max()) for steps in seen if len(steps)]
    if not longest:
        return None
    common = math.ceil(common_resolution(np.concatenate(seen)) or 1)
    repeated = any((run == 0).any() for run in runs)
    return max(common, min(longest)) if repeated else common


def common_resolution(differences: Values) -> float | None:
    """The greatest step that all differences of readings are multiples of; None if none differs.

    Rare differences (5 %) are left out. If the step is a whole number, it is the greatest common
    divisor. Else (a counter of 41.67 ns, rounded down when it is read) it is the longest step that
    all differences are multiples of, within 1; below 4 that may be chance, and the step is 1.

    Args:
        differences: int64, of successive readings at varying distances.
    """
    values, counts = np.unique(differences[differences > 0], return_counts=True)
    if not len(values):
        return None
    order = np.argsort(-counts, kind="stable")
    enough = int(np.searchsorted(np.cumsum(counts[order]), _COMMON_SHARE * counts.sum())) + 1
    kept = order[: min(enough, _MOST_VALUES)]
    common, weights = values[kept], counts[kept].astype(np.float64)
    divisor = int(np.gcd.reduce(common))
    if divisor > 1:
        return float(divisor)
    # Differences are small numbers: floats hold them exactly.
    spans = common.astype(np.float64)
    most = max(int(spans.max() / _LEAST_FRACTION), 1)
    steps = np.unique(spans[:, None] / np.arange(1, min(most, 64) + 1))[::-1]
    steps = steps[steps >= _LEAST_FRACTION]
    times = np.rint(spans[None, :] / steps[:, None])
    fits = np.abs(spans[None, :] - times * steps[:, None]).max(axis=1, initial=0.0) <= 1.0
    if not fits.any():
        return 1.0
    best = times[int(np.argmax(fits))]
    return float((weights * best * spans).sum() / (weights * best * best).sum())
