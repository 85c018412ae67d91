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


# The rows of a tube: what it says from one value of the ordering clock up to the next row's.

cdef enum:
    HULL = 1                # the bar holds both lines; else only what lies within both
    LIMITED = 2             # and within the bar `limit` of the limits
    OPEN_LOW = 4            # nothing bounds the offset from below,
    OPEN_HIGH = 8           # or from above
    KEPT = 16               # the estimate is the curve's where a side is open, too

cdef struct Line:
    int64_t ns              # at the row's anchor: whole ns, rounded down,
    int64_t part            # and what is above them, in 2^-52 ns
    int64_t slope           # 2^-52 ns per ns

cdef struct Bar:
    int64_t at              # the anchor, a value of the ordering clock
    Line low[2]
    Line high[2]
    int64_t mode
    int64_t limit
    int64_t base            # the offset that the estimate's curve counts from, ns


cdef extern from *:
    """
    /* ns + (slope x + part) / 2^52, rounded down and up; scaled so that the upper word is it. */
    static inline int64_t tt_floor_at(int64_t ns, int64_t part, int64_t slope, int64_t x) {
        return ns + (int64_t)(((__int128)(slope * 4096) * x + (uint64_t)part * 4096) >> 64);
    }
    static inline int64_t tt_ceil_at(int64_t ns, int64_t part, int64_t slope, int64_t x) {
        __int128 v = (__int128)(slope * 4096) * x + (uint64_t)part * 4096;
        return ns + (int64_t)(v >> 64) + ((uint64_t)v != 0);
    }
    """
    int64_t floor_line "tt_floor_at"(int64_t ns, int64_t part, int64_t slope, int64_t x) nogil
    int64_t ceil_line "tt_ceil_at"(int64_t ns, int64_t part, int64_t slope, int64_t x) nogil


cdef inline int64_t floor_at(const Line *line, int64_t x) noexcept nogil:
    return floor_line(line.ns, line.part, line.slope, x)


cdef inline int64_t ceil_at(const Line *line, int64_t x) noexcept nogil:
    return ceil_line(line.ns, line.part, line.slope, x)


cdef inline int64_t low_at(const Bar *bar, const Bar *limits, int64_t t) noexcept nogil:
    """The least offset at t, rounded down."""
    cdef int64_t one = floor_at(&bar.low[0], t - bar.at)
    cdef int64_t two = floor_at(&bar.low[1], t - bar.at)
    if (two < one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = low_at(&limits[bar.limit], limits, t)
        if two > one:
            one = two
    return one


cdef inline int64_t high_at(const Bar *bar, const Bar *limits, int64_t t) noexcept nogil:
    """The greatest offset at t, rounded up."""
    cdef int64_t one = ceil_at(&bar.high[0], t - bar.at)
    cdef int64_t two = ceil_at(&bar.high[1], t - bar.at)
    if (two > one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = high_at(&limits[bar.limit], limits, t)
        if two < one:
            one = two
    return one
