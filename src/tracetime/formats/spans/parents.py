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
    """

    row: Rows
    is_sure: Mask
    is_repeated: Mask
    is_orphan: Mask


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
    row = _without_loops(np.where(row == np.arange(n), -1, row))
    return Parents(row, (row >= 0) & (times[theirs] == 1), times[ours] > 1, is_orphan)


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


def _without_loops(parent: Rows) -> Rows:
    """The rows of parents; spans that are their own ancestors have none."""
    # The last place stands for no span.
    above = np.append(parent, -1)
    for _ in range(max(len(parent), 1).bit_length()):
        above = above[above]
    looped = above[:-1][above[:-1] >= 0]
    found = parent.copy()
    found[looped] = -1
    return found
