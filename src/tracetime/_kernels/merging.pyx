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
    const double *x, const double *y, double *some, Py_ssize_t n, int64_t least, double most_slope
) noexcept nogil:
    """How far apart neighbours are off a line through points, in the middle."""
    cdef Py_ssize_t k, far = max(n // 16, least // 4)
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
                out[row] = spread_of(x, x + seen, x + 2 * seen, n, least, most_slope)
    free(x)
    return found
