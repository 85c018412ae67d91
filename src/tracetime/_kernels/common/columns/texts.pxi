# Text at places of foreign bytes, as a column.

def texts(
    const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends, int64_t longest
):
    """Copy texts, as valid UTF-8: other bytes become U+FFFD.

    Args:
        data: what holds them.
        starts, ends: where each begins and ends; nothing is copied of one that begins at -1.
        longest: how many bytes of each are kept; an ellipsis replaces the rest.

    Returns:
        int32: where each text ends in the second; uint8: the texts, one after another.
    """
    cdef Bytes out
    cdef int64_t i, n = starts.shape[0]
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    where = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] placed = where
    if ends.shape[0] != n:
        raise ValueError("each text has a start and an end")
    for i in range(n):
        if starts[i] != -1 and not 0 <= starts[i] <= ends[i] <= data.shape[0]:
            raise IndexError("a text is outside the data")
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            for i in range(n):
                if starts[i] >= 0:
                    put_text(&out, first + starts[i], ends[i] - starts[i], longest)
                    if out.n > 0x7fffffff:
                        with gil:
                            raise OverflowError("the texts are too long for one column")
                placed[i] = <int32_t>out.n
        return where, copied(np.empty(out.n, dtype=np.uint8), out.data)
    finally:
        free(out.data)


# The decimal text that a float was read from: the shortest that is read as it.

cdef enum:
    MOST_ZEROS = 9          # before the point
    MOST_DECIMALS = 9

cdef double *TENS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9,
]
cdef int64_t *WHOLE_TENS = [
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
]


cdef inline double scale(double x, int n) noexcept nogil:
    """A number times 10^n."""
    return x * TENS[n] if n >= 0 else x / TENS[-n]


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
