"""Allan deviation: how much a clock's rate differs from one stretch of time to the next.

Overlapping estimate, of evenly spaced offsets (IEEE Std 1139).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST: Final = 16
"""Fewer offsets say too little."""

_PER_OCTAVE: Final = 2


def allan_deviation(offsets_ns: Floats, spacing_ns: float) -> tuple[Floats, Floats]:
    """Return averaging times (ns) and the deviation (ns/ns) at each.

    Args:
        offsets_ns: of one clock against another, evenly spaced; a constant drift is no deviation.
        spacing_ns: time between two of them.

    Averages go up to a quarter of the series: longer ones would rest on two or three differences.
    Empty where there are fewer than `LEAST` offsets.
    """
    n = len(offsets_ns)
    if n < LEAST:
        return np.zeros(0), np.zeros(0)
    octaves = np.log2(n / 4)
    sizes = np.unique(np.round(2 ** np.arange(0, octaves + 1e-9, 1 / _PER_OCTAVE)).astype(int))
    deviations = []
    for m in sizes.tolist():
        second = offsets_ns[2 * m :] - 2 * offsets_ns[m:-m] + offsets_ns[: -2 * m]
        deviations.append(np.sqrt(np.mean(second**2) / 2) / (m * spacing_ns))
    return sizes * spacing_ns, np.array(deviations)
