"""Allan deviation: how much a clock's rate differs between successive intervals of one length.

The overlapping estimate, of evenly spaced offsets (IEEE Std 1139).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEAST: Final = 16
"""Offsets that an estimate needs: fewer say too little."""

_PER_OCTAVE: Final = 2
"""Averaging times per doubling: enough for a smooth line."""


def allan_deviation(offsets_ns: Floats, spacing_ns: float) -> tuple[Floats, Floats]:
    """Return averaging times (ns) and the deviation (ns/ns) at each.

    Args:
        offsets_ns: of one clock against another, evenly spaced; a constant drift is no deviation.
        spacing_ns: time between two of them.

    Averaging times go up to a quarter of the series: longer ones would have two or three
    differences. Both arrays are empty for fewer than `LEAST` offsets.
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
