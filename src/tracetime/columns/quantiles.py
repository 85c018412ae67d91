"""The median and other quantiles of some numbers.

NumPy's give the same, but import numpy.ma at their first call: a twentieth of a short command.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


def median(values: npt.NDArray[Any]) -> float:
    """The median of float64 or int64[n >= 1]; with an even n, the mean of the middle two."""
    ordered = np.sort(values)
    n = len(ordered)
    low, high = ordered[(n - 1) // 2].item(), ordered[n // 2].item()
    return (float(low) + float(high)) / 2


def medians(
    values: npt.NDArray[np.float64], group: npt.NDArray[np.int64], n: int
) -> npt.NDArray[np.float64]:
    """The median of each of n groups, float64[n]; 0 of an empty one.

    group: int64, of each value, from 0 to n - 1.
    """
    ordered = np.append(values[np.lexsort((values, group))], 0.0)
    counts = np.bincount(group, minlength=n)
    first = np.cumsum(counts) - counts
    low, high = first + np.maximum(counts - 1, 0) // 2, first + counts // 2
    return np.where(counts > 0, (ordered[low] + ordered[high]) / 2, 0.0)


def quantile(values: npt.NDArray[np.float64], share: float) -> float:
    """The quantile of float64[n >= 1] at `share`, from 0 to 1; linear between two values."""
    ordered = np.sort(values)
    at, between = divmod(share * (len(ordered) - 1), 1)
    low, high = ordered[int(at)], ordered[min(int(at) + 1, len(ordered) - 1)]
    # From the nearer end, so that it never passes the other by rounding.
    if between < 0.5:
        return float(low + (high - low) * between)
    return float(high - (high - low) * (1 - between))
