# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Slices that end although one lies in them that does not."""

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t

cdef enum:
    OPEN = -1                   # the duration of a slice that does not end
    NONE = -1


def open_inside(
    const int64_t[::1] ts, const int64_t[::1] dur, const int64_t[::1] parent,
    const int32_t[::1] name, const int32_t[::1] category,
):
    """Find out which slices end although one lies in them that does not.

    The end of such a slice says which it ends, by name and category. Where that would be the inner
    one, this ends with it, as trace_processor has it once anything follows on the track.

    parent: of the same track, before the slice; -1: none. name, category: numbers of texts, -1: none.

    Returns durations, int64, and whether each slice is such a one, uint8.
    """
    cdef int64_t n = ts.shape[0], row, above, outer
    if not n == dur.shape[0] == parent.shape[0] == name.shape[0] == category.shape[0]:
        raise IndexError("columns have one length")
    lasting, holding = np.array(dur), np.zeros(n, np.uint8)
    cdef int64_t[::1] lasts = lasting, ended_above = np.full(n, NONE)
    cdef uint8_t[::1] holds_open = holding
    for row in range(n):
        if not NONE <= parent[row] < row:
            raise IndexError("parents come first")
    with nogil:
        for row in range(n):
            outer = parent[row]
            if lasts[row] != OPEN or outer == NONE:
                continue
            if lasts[outer] == OPEN:
                outer = ended_above[outer]
            ended_above[row] = above = outer
            while above != NONE:
                holds_open[above] = lasts[above] != OPEN
                if holds_open[above] and may_end(name, category, above, row):
                    lasts[row] = ts[outer] + lasts[outer] - ts[row]
                    break
                above = parent[above]
    return lasting, holding


cdef inline bint may_end(
    const int32_t[::1] name, const int32_t[::1] category, int64_t outer, int64_t inner
) noexcept nogil:
    """Whether an end that says the outer may be the inner's (MatchingIncompleteSliceIndex)."""
    if name[outer] != NONE and name[inner] != NONE and name[outer] != name[inner]:
        return False
    return category[outer] == NONE or category[outer] == category[inner]
