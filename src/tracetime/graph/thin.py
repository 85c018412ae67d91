"""Fewer points for a picture, without losing what stands out: min/max decimation."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Indices = npt.NDArray[np.int64]


def thin(
    most: int, columns: list[npt.NDArray[np.float64]], keep: npt.NDArray[np.bool_] | None = None
) -> Indices:
    """Choose about `most` of some points, ascending.

    Of each bucket of neighbours the least and greatest of every column stay, so that no spike is
    lost, and both sides of every gap (NaN), so that none closes; with the first and last point,
    and those of `keep`.

    Args:
        most: fewer points than this are all kept.
        columns: float64, of one length, at least one.
        keep: marks points that have to stay.
    """
    n = len(columns[0])
    if n <= most:
        return np.arange(n)
    buckets = max(1, most // (2 * len(columns)))
    edges = np.linspace(0, n, buckets + 1).astype(np.int64)
    chosen = [np.array([0, n - 1])]
    for column in columns:
        missing = np.isnan(column)
        turns = np.flatnonzero(missing[1:] != missing[:-1])
        chosen += [turns, turns + 1]
        for filled, least in ((np.where(missing, np.inf, column), True),
                              (np.where(missing, -np.inf, column), False)):  # fmt: skip
            # Within each bucket the index of its extreme: the first that equals it.
            extreme = (np.minimum if least else np.maximum).reduceat(filled, edges[:-1])
            hits = np.flatnonzero(filled == np.repeat(extreme, np.diff(edges)))
            bucket = np.searchsorted(edges, hits, side="right")
            chosen.append(hits[np.append(True, bucket[1:] != bucket[:-1])])
    if keep is not None:
        chosen.append(np.flatnonzero(keep))
    return np.unique(np.concatenate(chosen))
