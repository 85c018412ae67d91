# cython: cdivision=True
# The inverse of a line of a bar: how far along it a value of the other clock is reached.
#
# With x = t - at and D = 2^52 + slope, t + line(t) <= y says D x <= 2^52 (y - at - ns) - part.
# For whole values that gives, where q(w, below) = floor((2^52 w - below) / D):
#   the last x with t + floor(line) <= v:    q(v - at - ns + 1, part + 1)
#   the first x with t + ceil(line) >= v:    q(v - at - ns - 1, part) + 1

from libc.stdint cimport int64_t

from tracetime._kernels.tube.bar cimport Line
from tracetime._kernels.tube.fixed cimport BITS, int128, quotient
from tracetime._kernels.tube.vectors cimport SMALL
from tracetime._kernels.common.memory cimport INT64_HIGH

cdef extern from *:
    """
    typedef struct {
        int64_t from;       /* w counts from here */
        int64_t below;      /* 0 to 2^52 */
        int64_t divisor;    /* D: 3/4 to 5/4 of 2^52 */
        double rate;        /* 2^52 / D */
        double lead;        /* below / D */
    } tt_inverse_line;

    /* q(w, below) for w below 2^49 in size: a float's guess, corrected by its remainder. Its errors
       are at most 1/2 where it is made whole, and about 2^49 x 4/3 x (3 + 1/2) x 2^-53 of rounding,
       less than 0.8 in all: it is q or q + 1. The remainder is within D of 0, so that its low 64
       bits distinguish the two. */
    static inline int64_t tt_along(const tt_inverse_line *s, int64_t w) {
        int64_t q = tt_rounded(tt_float(w) * s->rate - s->lead);
        uint64_t rest = ((uint64_t)w << 52) - (uint64_t)s->below
            - (uint64_t)s->divisor * (uint64_t)q;
        return q - ((int64_t)rest < 0);
    }
    """
    ctypedef struct InverseLine "tt_inverse_line":
        int64_t origin "from"
        int64_t below
        int64_t divisor
        double rate
        double lead

    int64_t along "tt_along"(const InverseLine *line, int64_t w) nogil

cdef inline bint is_near(int128 w) noexcept nogil:
    """Whether a distance is small enough for `along`."""
    return -<int128>SMALL < w < <int128>SMALL


cdef inline InverseLine inverse_line(
    const Line *line, int64_t origin, int64_t below
) noexcept nogil:
    cdef InverseLine out
    out.origin = origin
    out.below = below
    out.divisor = (<int64_t>1 << BITS) + line.slope
    out.rate = <double>(<int64_t>1 << BITS) / <double>out.divisor
    out.lead = <double>below * out.rate / <double>(<int64_t>1 << BITS)
    return out


cdef inline InverseLine first_inverse(const Line *line, int64_t at) noexcept nogil:
    """Of a high side: the first x is the one after its `along`."""
    return inverse_line(line, at + line.ns + 1, line.part)


cdef inline InverseLine last_inverse(const Line *line, int64_t at) noexcept nogil:
    """Of a low side: its `along` is the last x."""
    return inverse_line(line, at + line.ns - 1, line.part + 1)


cdef inline int64_t reach(const Line *line, int128 w, int64_t below) noexcept nogil:
    """q(w, below) where it is a distance; else far beyond."""
    cdef int128 divisor = (<int128>1 << BITS) + line.slope
    cdef int128 numerator
    cdef InverseLine near
    if is_near(w):
        near = inverse_line(line, 0, below)
        return along(&near, <int64_t>w)
    numerator = w * (<int128>1 << BITS) - below
    if numerator >= divisor * INT64_HIGH:
        return INT64_HIGH
    if numerator <= -divisor * INT64_HIGH:
        return -INT64_HIGH
    return quotient(numerator, divisor)


cdef inline int64_t into(int128 t, int64_t first, int64_t last) noexcept nogil:
    return first if t < <int128>first else last if t > <int128>last else <int64_t>t


cdef inline int64_t first_above(
    const Line *line, int64_t at, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The first t in a row with t + ceil(line) >= v, or its last."""
    cdef int128 w = <int128>v - at - line.ns - 1
    return into(<int128>at + reach(line, w, line.part) + 1, first, last)


cdef inline int64_t last_below(
    const Line *line, int64_t at, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The last t in a row with t + floor(line) <= v, or its first."""
    cdef int128 w = <int128>v - at - line.ns + 1
    return into(<int128>at + reach(line, w, line.part + 1), first, last)
