"""Fewer points for a picture that keep its extremes: min/max decimation."""

from __future__ import annotations

import numpy as np

from tracetime.graph.values import Floats, Mask, Values, ascending

Indices = Values


def decimate(most: int, columns: list[Floats], keep: Mask | None = None) -> Indices:
    """Choose about `most` of some points, ascending.

    Of each bucket of neighbours the least and greatest of every column stay, so that no spike is
    lost, and both sides of every gap (NaN), so that none closes; with the first and last point,
    and those of `keep`. Where there are too many gaps, one point of them in each bucket stays;
    where `keep` has too many points, they count as others do.

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
        chosen += [turns, turns + 1] if len(turns) <= most else [_firsts(missing, edges)]
        for extreme_of, gap in ((np.minimum, np.inf), (np.maximum, -np.inf)):
            filled = np.where(missing, gap, column)
            # Within each bucket the index of its extreme: the first that equals it.
            extreme = extreme_of.reduceat(filled, edges[:-1])
            chosen.append(_firsts(filled == np.repeat(extreme, np.diff(edges)), edges))
    if keep is not None and keep.sum() <= 2 * most:
        chosen.append(np.flatnonzero(keep))
    return ascending(np.concatenate(chosen))


def _firsts(marks: Mask, edges: Indices) -> Indices:
    """The first that is marked in each bucket that has any."""
    hits = np.flatnonzero(marks)
    bucket = np.searchsorted(edges, hits, side="right")
    first: Indices = hits[np.append(True, bucket[1:] != bucket[:-1])[: len(hits)]]
    return first
