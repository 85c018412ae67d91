"""Half-widths that are declared by assumption, wider where snapshots show that they do not hold."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

NEIGHBOURS: Final = 5
"""Pairs of neighbours that say where a snapshot should lie: fewer than half may be off as well."""

MOST_WIDTHS: Final = 20
"""So many declared half-widths are the most that is taken for noise of reading; farther off, a
snapshot is an outlier, or one of the clocks was set."""


def widened(a_ns: Values, r_ns: Values, width_ns: int) -> Values:
    """Return a half-width for each snapshot: the declared one, and more where it lies apart.

    A snapshot that lies up to twice the declared half-width from all others contradicts none of
    them: what they have in common would then be a sliver beside the truth. So each interval reaches
    half the declared half-width beyond where the neighbours say that the offset is, on either side.

    Args:
        a_ns: readings of the ordering clock, in any order, ns.
        r_ns: offset of the other clock at each, ns.
        width_ns: as declared.
    """
    order = np.argsort(a_ns, kind="stable")
    off = np.empty(len(a_ns))
    off[order] = np.abs(off_line(a_ns[order], r_ns[order]))
    more = np.ceil(np.maximum(off - width_ns / 2, 0.0))
    return np.int64(width_ns) + np.where(off <= MOST_WIDTHS * width_ns, more, 0).astype(np.int64)


def off_line(a_ns: Values, r_ns: Values) -> Floats:
    """How far each offset is below the line through two neighbours: the median of several pairs.

    a_ns: ascending.
    """
    n = len(a_ns)
    rows = np.arange(n)
    missed = np.full((NEIGHBOURS, n), np.nan)
    for step in range(1, NEIGHBOURS + 1):
        one, other = rows - step, rows + step
        # At the ends both neighbours are on one side.
        one, other = (
            np.where(one < 0, rows + 2 * step, one),
            np.where(other >= n, rows - 2 * step, other),
        )
        inside = (one >= 0) & (one < n) & (other >= 0) & (other < n)
        k, i, j = rows[inside], one[inside], other[inside]
        i = np.where(i == k, j, i)
        span = (a_ns[j] - a_ns[i]).astype(np.float64)
        apart = span != 0
        k, i, j, span = k[apart], i[apart], j[apart], span[apart]
        share = (a_ns[k] - a_ns[i]) / span
        missed[step - 1, k] = (r_ns[i] - r_ns[k]) + share * (r_ns[j] - r_ns[i])
    known = ~np.isnan(missed).all(axis=0)
    found = np.zeros(n)
    if known.any():
        found[known] = np.nanmedian(missed[:, known], axis=0)
    return found
