"""What a clock steps by, found in its readings: the spacing of their differences.

What the system says (`clock_getres`) is often 1 ns where the counter moves in steps of 10, and the
least difference of two readings is what one read takes, not a tick.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

READINGS: Final = 2_048
"""How many readings show a step well."""

_COMMON_SHARE: Final = 0.95
_MOST_VALUES: Final = 48
_LEAST_FRACTION: Final = 4.0


def common_step(differences: Values) -> float | None:
    """The step that differences of readings are multiples of; None where no reading differs.

    Rare differences (5 %) are left out. Readings that are whole steps give the greatest common
    divisor. Where a step is no whole number (a counter of 41.67 ns, rounded down when it is read),
    it is the longest that all differences are multiples of, within 1; below 4 that cannot be told
    from chance, and the step is 1.

    Args:
        differences: int64, of readings one after the other that were differently far apart.
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
