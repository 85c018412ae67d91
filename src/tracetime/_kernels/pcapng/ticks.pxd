# cython: cdivision=True
# Timestamps of a capture in ns: exact, rounded down to whole ns where an interface counts others.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW

cdef extern from *:
    """
    typedef unsigned __int128 tt_uint128;
    typedef __int128 tt_int128;
    """
    ctypedef unsigned long long uint128 "tt_uint128"
    ctypedef long long int128 "tt_int128"

cdef enum:
    NS_DIGITS = 9
    MOST_DIGITS = 29        # of a resolution of which 2^64 ticks are a ns: 10^(9+20)
    MOST_BITS = 94          # likewise: 2^64 x 10^9 < 2^94

# How an interface counts: a tick is `times` / `parts` ns, and 0 is `offset_s` after 1970.
cdef struct Scale:
    uint64_t times
    uint128 parts
    int64_t offset_s


cdef inline Scale scale_of(uint8_t resolution, int64_t offset_s) noexcept nogil:
    """resolution: if_tsresol, a negative power of 10, or with the top bit of 2."""
    cdef Scale scale
    cdef int n = resolution & 0x7f
    cdef int i
    scale.times, scale.parts, scale.offset_s = 1, 1, offset_s
    if resolution & 0x80:
        scale.times = 1_000_000_000
        scale.parts <<= min(n, MOST_BITS)
        return scale
    for i in range(n, NS_DIGITS):
        scale.times *= 10
    for i in range(NS_DIGITS, min(n, MOST_DIGITS)):
        scale.parts *= 10
    return scale


cdef inline bint to_ns(
    const Scale *scale, uint64_t ticks, int64_t *ns, int64_t *more
) noexcept nogil:
    """Whether a timestamp fits in int64 ns; it is the end of int64 where it does not.

    more: by how many ns the clock may have read more when it read so many whole ticks.
    """
    cdef uint128 first = <uint128>ticks * scale.times
    cdef uint128 next = first + scale.times
    cdef uint128 begin = first // scale.parts
    cdef uint128 last = (next - 1) // scale.parts
    cdef int128 whole = <int128>begin + <int128>scale.offset_s * 1_000_000_000
    more[0] = 0
    if whole > INT64_HIGH:
        ns[0] = INT64_HIGH
        return False
    if whole < INT64_LOW:
        ns[0] = INT64_LOW
        return False
    ns[0] = <int64_t>whole
    if whole + <int128>(last - begin) > INT64_HIGH:
        last = begin + <uint128>(INT64_HIGH - whole)
    more[0] = <int64_t>(last - begin)
    return True
