"""The parent of each span of a file, by its id."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class Parents(NamedTuple):
    """Spans by their parents.

    Attributes:
        row: of each span's parent, the first in the file that has the id; -1 without one.
        is_sure: whether no other span has the parent's id.
        is_repeated: whether another span has its id.
        is_orphan: whether it names a parent that is not there.
        is_looped: whether it is its own ancestor, by what the file says.
    """

    row: Rows
    is_sure: Mask
    is_repeated: Mask
    is_orphan: Mask
    is_looped: Mask


def parents_of(trace: Words, span: Words, parent: Words) -> Parents:
    """Find the parents of spans.

    Args:
        trace: uint64[n, 2], ids of traces.
        span: uint64[n], ids within them.
        parent: uint64[n], ids of parents in the same trace; 0 for none.
    """
    n = len(span)
    code = _numbered(np.tile(trace, (2, 1)), np.concatenate([span, parent]))
    ours, theirs = code[:n], code[n:]
    first = np.full(2 * n, -1, np.int64)
    first[ours[::-1]] = np.arange(n, dtype=np.int64)[::-1]
    times = np.bincount(ours, minlength=2 * n)
    row = np.where(parent != 0, first[theirs], -1)
    is_orphan = (parent != 0) & (row < 0)
    is_looped = _are_looped(row)
    row[is_looped] = -1
    return Parents(row, (row >= 0) & (times[theirs] == 1), times[ours] > 1, is_orphan, is_looped)


def _numbered(trace: Words, span: Words) -> Rows:
    """A number for each pair of ids, the same for equal ones."""
    order = np.lexsort((span, trace[:, 1], trace[:, 0]))
    words = (trace[:, 0], trace[:, 1], span)
    differs = np.zeros(len(order), np.bool_)
    for word in words:
        sorted_ids = word[order]
        differs[1:] |= sorted_ids[1:] != sorted_ids[:-1]
    code = np.empty(len(order), np.int64)
    code[order] = np.cumsum(differs)
    return code


def _are_looped(parent: Rows) -> Mask:
    """Which rows are on a ring of parents."""
    # The last place stands for no span.
    above = np.append(parent, -1)
    for _ in range(max(len(parent), 1).bit_length()):
        above = above[above]
    looped = np.zeros(len(parent), np.bool_)
    # After so many steps who still has an ancestor is at a ring, and all of the ring is reached.
    looped[above[:-1][above[:-1] >= 0]] = True
    return looped
