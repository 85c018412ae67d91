# The last of many ascending numbers that is not above a value: by a grid, then by a few steps.

from libc.stdint cimport int32_t, int64_t, uint64_t

cdef enum:
    MOST_STEPS = 3          # more readings in one bucket: binary search

cdef struct Grid:
    int64_t first
    int64_t n_buckets
    int shift
    int steps               # readings in the fullest bucket
    const int32_t *start    # index of the last reading not after a bucket's begin


cdef inline int64_t last_not_after(
    const int64_t *readings, int64_t n, int64_t v
) noexcept nogil:
    """Index of the last reading <= v; 0 where all are above v."""
    cdef int64_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) >> 1
        if readings[middle] <= v:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low else 0


cdef inline int64_t look_up(
    const Grid *grid, const int64_t *readings, int64_t n, int64_t v
) noexcept nogil:
    cdef uint64_t bucket
    cdef int64_t index
    cdef int step
    if v < grid.first:
        return 0
    bucket = (<uint64_t>v - <uint64_t>grid.first) >> grid.shift
    if bucket >= <uint64_t>grid.n_buckets:
        return n - 1
    index = grid.start[bucket]
    if grid.steps > MOST_STEPS and grid.start[bucket + 1] - index > MOST_STEPS:
        return index + last_not_after(
            readings + index, min(n, grid.start[bucket + 1] + 1) - index, v
        )
    for step in range(min(grid.steps, <int>MOST_STEPS)):
        index += index + 1 < n and readings[min(index + 1, n - 1)] <= v
    return index
