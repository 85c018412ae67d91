"""Seconds as XDF has them, float64, and the nanoseconds that they are."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.columns.time_columns import time_column

Seconds = npt.NDArray[np.float64]
Values = npt.NDArray[np.int64]

MOST_S = 4.0e9
"""Of a time; Unix time reaches it in 2096. The difference of two fits in int64 ns."""


def are_times(seconds: Seconds) -> npt.NDArray[np.bool_]:
    """Which are times: finite, and within int64 ns."""
    fit: npt.NDArray[np.bool_] = np.abs(seconds) < MOST_S
    return fit


def nanoseconds(seconds: Seconds) -> Values:
    """The whole ns nearest to the exact value of each float; all must be times."""
    return time_column(pa.array(seconds), "time_stamps", float_unit="s").values


def step_ns(times_ns: Values) -> float:
    """How far apart floats of seconds are at the largest of some times: 1 ns at least."""
    largest_s = float(np.abs(times_ns).max(initial=0)) / 1e9
    return max(1.0, float(np.spacing(largest_s)) * 1e9)
