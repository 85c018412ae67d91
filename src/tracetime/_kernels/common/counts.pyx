# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Counts of values below, at and between marks."""

from libc.stdint cimport int64_t


def count_between(
    const int64_t[::1] marks, const int64_t[::1] starts, const int64_t[::1] which,
    const int64_t[::1] values, int64_t[::1] counts
):
    """Add to the counts of values, each among the marks of one of several lists.

    Args:
        marks: of all lists, ascending and each once within a list.
        starts: where each list begins, and where the last one ends.
        which: the list of each value.
        values: as many.
        counts: of each list 2 n + 1 for its n marks: below the first, at it, between it and the
            second, and so on; list by list.
    """
    cdef int64_t n_lists = starts.shape[0] - 1
    cdef int64_t i, k, low, high, middle
    if n_lists < 0 or which.shape[0] != values.shape[0]:
        raise ValueError("each value is of one list")
    for i in range(n_lists):
        if not 0 <= starts[i] <= starts[i + 1]:
            raise ValueError("lists follow on each other")
    if starts[n_lists] > marks.shape[0] or counts.shape[0] != 2 * starts[n_lists] + n_lists:
        raise ValueError("each list has its marks and counts")
    for i in range(which.shape[0]):
        if not 0 <= which[i] < n_lists:
            raise IndexError("no such list")
    with nogil:
        for i in range(which.shape[0]):
            k = which[i]
            low, high = starts[k], starts[k + 1]
            while low < high:
                middle = (low + high) >> 1
                if marks[middle] < values[i]:
                    low = middle + 1
                else:
                    high = middle
            high = low < starts[k + 1] and marks[low] == values[i]
            counts[2 * low + k + high] += 1
