# Exact arithmetic of the tube: ns and ns per ns in units of 2^-52, in 128 bits.
#
# A slope is an int64 below 2^50 in size (a quarter), a distance below 2^64, an offset below 2^62
# (graph/tube/evidence.py refuses more): every sum and product here stays below 2^127.

from libc.stdint cimport int64_t, uint64_t

cdef extern from *:
    """
    typedef __int128 tt_int128;
    /* floor(numerator / denominator) for a denominator > 0. */
    static inline long long tt_quotient(tt_int128 numerator, tt_int128 denominator) {
        tt_int128 q = numerator / denominator;
        return (long long)(q - (q * denominator > numerator));
    }
    """
    ctypedef long long int128 "tt_int128"
    int64_t quotient "tt_quotient"(int128 numerator, int128 denominator) nogil

cdef enum:
    BITS = 52


cdef inline uint64_t apart(int64_t a, int64_t b) noexcept nogil:
    """b - a for a <= b."""
    return <uint64_t>b - <uint64_t>a


cdef inline int128 fixed(int64_t ns) noexcept nogil:
    """Whole ns in units of 2^-52."""
    return (<int128>ns) * (<int128>1 << BITS)


cdef inline int128 rise(int64_t slope, uint64_t distance) noexcept nogil:
    """What a slope gains over a distance."""
    return <int128>slope * <int128>distance


cdef inline int128 join(int64_t ns, int64_t fraction) noexcept nogil:
    return fixed(ns) + <int128>fraction


cdef inline int64_t whole(int128 value) noexcept nogil:
    """The ns not above a value."""
    return <int64_t>(value >> BITS)


cdef inline int64_t part(int128 value) noexcept nogil:
    """What `whole` leaves, in units of 2^-52."""
    return <int64_t>(value & ((<int128>1 << BITS) - 1))
