# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Which events of one file are which of another: how well both fit, the one shifted by some."""

from libc.math cimport INFINITY, fabs
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np


cdef double nth(double *values, Py_ssize_t n, Py_ssize_t k) noexcept nogil:
    """The value that k are not above; those come before it, the others after it."""
    cdef Py_ssize_t low = 0, high = n - 1, i, j
    cdef double pivot
    while low < high:
        pivot = values[(low + high) // 2]
        i, j = low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


cdef double median(double *values, Py_ssize_t n) noexcept nogil:
    """The median of values, whose order changes."""
    cdef double upper = nth(values, n, n // 2), lower = values[0]
    cdef Py_ssize_t k
    if n % 2:
        return upper
    for k in range(1, n // 2):
        lower = max(lower, values[k])
    return (lower + upper) / 2


cdef double spread_of(
    const double *x, const double *y, double *some, Py_ssize_t n, double most_slope
) noexcept nogil:
    """How far apart neighbours are off a line through points, four at least, in the middle."""
    # Neighbours that lie apart tell its slope: a few steps do not move it.
    cdef Py_ssize_t k, far = max(n // 16, 3)
    cdef double slope
    for k in range(n - far):
        some[k] = (y[k + far] - y[k]) / max(x[k + far] - x[k], 1.0)
    slope = median(some, n - far)
    if fabs(slope) > most_slope:
        return INFINITY
    for k in range(n - 1):
        some[k] = fabs((y[k + 1] - slope * x[k + 1]) - (y[k] - slope * x[k]))
    return median(some, n - 1)


def spreads(
    const int64_t[:] ends,
    const int64_t[:] kinds,
    const int64_t[:] its_ends,
    const int64_t[:] its_kinds,
    const int64_t[:] shifts,
    sample,
    limits,
):
    """How far two files are off each other at each shift; infinite where they do not fit.

    Event k of the one is event k + shift of the other where their kinds agree.

    sample: (seen, block): of a longer overlap so many are seen, in blocks of so many, evenly.
    limits: (least, most_slope): so many must agree, and a quarter of those seen; so steep is the
        line at most.
    """
    cdef int64_t seen = sample[0], block = sample[1], least = limits[0]
    cdef double most_slope = limits[1]
    cdef int64_t shift, first, length, some, stride, i, start = 0, off = 0
    cdef Py_ssize_t row, k, n
    if len(ends) != len(kinds) or len(its_ends) != len(its_kinds):
        raise ValueError("each event has an end and a kind")
    if not (least >= 4 and block >= 1 and seen >= 2 * block and seen % block == 0):
        raise ValueError("four events at least, two whole blocks at least")
    found = np.full(len(shifts), np.inf)
    cdef double[::1] out = found
    cdef double *x = <double *>malloc(3 * seen * sizeof(double))
    if x == NULL:
        raise MemoryError
    with nogil:
        for row in range(shifts.shape[0]):
            shift = shifts[row]
            first = max(0, -shift)
            length = min(ends.shape[0], its_ends.shape[0] - shift) - first
            some, stride, n = min(length, seen), 0, 0
            if length > seen:
                stride = (length - seen) // (seen // block - 1)
            for k in range(some):
                i = first + k + k // block * stride
                if kinds[i] != its_kinds[i + shift]:
                    continue
                if n == 0:
                    start, off = ends[i], its_ends[i + shift] - ends[i]
                x[n] = <double>(ends[i] - start)
                x[seen + n] = <double>(its_ends[i + shift] - ends[i] - off)
                n += 1
            if n >= least and 4 * n >= some:
                out[row] = spread_of(x, x + seen, x + 2 * seen, n, most_slope)
    free(x)
    return found


cdef bint half_agree(
    const double *gaps,
    const double *limits,
    const int64_t *kinds,
    const double *its_gaps,
    const int64_t *its_kinds,
    Py_ssize_t n,
) noexcept nogil:
    """Whether half the neighbours of some events may have the gaps of their counterparts.

    gaps: from each event to the next. limits: by how much each may differ.
    """
    cdef Py_ssize_t k = 0, until, far = 0, same = 0
    cdef bint here = kinds[0] == its_kinds[0], there
    while k < n - 1:
        until = min(n - 1, k + 64)
        while k < until:
            there = kinds[k + 1] == its_kinds[k + 1]
            same += here
            # Those whose next event is of another kind have a neighbour beyond it.
            far += here & there & (fabs(its_gaps[k] - gaps[k]) > limits[k])
            here = there
            k += 1
        if 2 * far > n:
            return False
    same += here
    return same > 1 and 2 * far < same


def may_fit(
    const int64_t[:] ends,
    const int64_t[:] kinds,
    const int64_t[:] its_ends,
    const int64_t[:] its_kinds,
    const int64_t[:] shifts,
    double most_ns,
    double most_slope,
):
    """Whether two files may be at most so far off each other at any shift.

    It is quick and no more: of those for which it is true, `spreads` says how far they are.

    most_slope: of `spreads`.
    """
    cdef Py_ssize_t row, first, end, n = len(ends), m = len(its_ends)
    cdef int64_t shift
    cdef bint found = False
    if n != len(kinds) or m != len(its_kinds) or not n or not m:
        raise ValueError("each event has an end and a kind")
    cdef const int64_t[::1] own = np.ascontiguousarray(kinds)
    cdef const int64_t[::1] its_own = np.ascontiguousarray(its_kinds)
    cdef double[::1] gaps = np.diff(ends, append=ends[n - 1]).astype(np.float64)
    cdef double[::1] its_gaps = np.diff(its_ends, append=its_ends[m - 1]).astype(np.float64)
    # What doubles round of the times of all events.
    rounded = 2 + 1e-15 * (np.abs(gaps).sum() + np.abs(its_gaps).sum())
    cdef double[::1] limits = most_ns + rounded + most_slope * np.abs(gaps)
    with nogil:
        for row in range(shifts.shape[0]):
            shift = shifts[row]
            first, end = max(0, -shift), min(n, m - shift)
            if end > first and half_agree(
                &gaps[first],
                &limits[first],
                &own[first],
                &its_gaps[first + shift],
                &its_own[first + shift],
                end - first,
            ):
                found = True
                break
    return found
