# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The decimal text that a float was read from: the shortest that is read as it."""

import numpy as np

from libc.math cimport fabs, rint
from libc.stdint cimport int64_t

cdef enum:
    MOST_ZEROS = 9          # before the point
    MOST_DECIMALS = 9

cdef double *POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
]
cdef int64_t *WHOLE_POWERS = [
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
]


cdef inline double scale(double x, int n) noexcept nogil:
    """A number times 10^n."""
    return x * POWERS[n] if n >= 0 else x / POWERS[-n]


cdef inline bint has_decimals(double x, int n, bint is_single, double *digits) noexcept nogil:
    """Whether a number with n decimals (below 0: zeros) is read as x; `digits` without point."""
    cdef double read
    digits[0] = rint(scale(x, n))
    read = scale(digits[0], -n)
    return <float>read == <float>x if is_single else read == x


def shortest_decimals(
    const double[:] floats not None, const int64_t[:] otherwise not None, int power, bint is_single
):
    """The shortest decimal numbers that are read as some floats, in 10^-power of their unit.

    Args:
        floats: float64, finite.
        otherwise: int64, what stands for one that has no such number of up to `power` decimals.
        power: 0 to 9.
        is_single: whether they were of 32 bits.

    Returns:
        int64: `otherwise`, or the number times 10^power.
    """
    cdef int64_t i, n = floats.shape[0]
    cdef int low, high, middle
    cdef double digits
    if otherwise.shape[0] != n or not 0 <= power <= MOST_DECIMALS:
        raise ValueError("as many numbers as floats, and up to 9 decimals")
    found = np.empty(n, np.int64)
    cdef int64_t[::1] out = found
    with nogil:
        for i in range(n):
            out[i] = otherwise[i]
            high = power
            # Digits that a double holds.
            while high > -MOST_ZEROS and scale(fabs(floats[i]), high) >= 9007199254740992.0:
                high -= 1
            if not has_decimals(floats[i], high, is_single, &digits):
                continue
            low = -MOST_ZEROS
            while low < high:
                middle = (low + high + 2 * MOST_ZEROS) // 2 - MOST_ZEROS
                if has_decimals(floats[i], middle, is_single, &digits):
                    high = middle
                else:
                    low = middle + 1
            has_decimals(floats[i], high, is_single, &digits)
            out[i] = scaled(<int64_t>digits, power - high, otherwise[i])
    return found


cdef inline int64_t scaled(int64_t digits, int zeros, int64_t otherwise) noexcept nogil:
    """Digits with so many zeros; `otherwise` where that is beyond int64."""
    cdef int64_t most = 9223372036854775807
    while zeros:
        if not -most // 10 < digits < most // 10:
            return otherwise
        digits *= 10
        zeros -= 1
    return digits
