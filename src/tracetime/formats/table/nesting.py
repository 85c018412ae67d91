"""Which slice lies within which: those of one track, by where they begin."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

MOST_DEPTH: Final = 128
"""Slices within each other, at most: each depth takes a pass over those that are left."""


def nested(track: Values, begin: Values, end: Values) -> tuple[Values, Values]:
    """The depth and the parent of slices: -1 for none, and as the depth of those too deep.

    Args:
        track: a number for each slice.
        begin, end: when; end is not before begin.
    """
    n = len(track)
    depth, parent = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    begins = np.sort(begin)
    from_rank, to_rank = np.searchsorted(begins, begin), np.searchsorted(begins, end)
    rows = np.lexsort((np.arange(n), -(end - begin), begin, track))
    group = track[rows]
    for level in range(MOST_DEPTH):
        if not len(rows):
            break
        outer = _outermost(group, from_rank[rows], to_rank[rows], n + 1)
        depth[rows[outer]] = level
        # The last of them before each is what it lies in: their groups begin with one.
        within = rows[np.maximum.accumulate(np.where(outer, np.arange(len(rows)), 0))]
        rows, group = rows[~outer], within[~outer]
        parent[rows] = group
    parent[depth < 0] = -1
    return depth, parent


def _outermost(
    group: Values, from_rank: Values, to_rank: Values, ranks: int
) -> npt.NDArray[np.bool_]:
    """Which slices of groups, ordered by begin, lie in no other: the first, and what follows it.

    Each is followed by the first that begins when it has ended.

    Args:
        from_rank, to_rank: how many slices begin before each begins, and before it ends.
        ranks: more than any of these.
    """
    n = len(group)
    starts = np.append(True, group[1:] != group[:-1])
    base = np.cumsum(starts) * ranks
    after = np.searchsorted(base + from_rank, base + to_rank)
    following = np.append(np.maximum(after, np.arange(n) + 1), n)
    found = np.append(starts, False)
    # Those that follow by 1, 2, 4 ... steps, until all are found.
    while not found[followers := following[found]].all():
        found[followers] = True
        following = following[following]
    return found[:n]
