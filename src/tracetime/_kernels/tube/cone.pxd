# Cones: what one snapshot leaves open before and after it, as lines of a bar.

from libc.stdint cimport int64_t

from tracetime._kernels.tube.bar cimport HULL, Bar, Line
from tracetime._kernels.tube.fixed cimport apart, int128, join, part, rise, whole

cdef enum:
    KNOTS = 4               # low ns, low part, high ns, high part

# What the evidence is at a row. The guaranteed bars of a row follow from it and a snapshot.
cdef enum:
    BEFORE = 0              # before snapshot k, the first
    GAP = 1                 # from snapshot k to the next, in one segment
    POINT = 2               # at snapshot k
    BREAK = 3               # between the segment that ends with snapshot k and the next
    AFTER = 4               # after snapshot k, the last


cdef inline int128 low_knot(const int64_t *knots, int64_t k) noexcept nogil:
    return join(knots[KNOTS * k], knots[KNOTS * k + 1])


cdef inline int128 high_knot(const int64_t *knots, int64_t k) noexcept nogil:
    return join(knots[KNOTS * k + 2], knots[KNOTS * k + 3])


cdef inline Line line_of(int128 value, int64_t slope, int64_t known_at, int64_t at) noexcept nogil:
    """The line of a slope through a value known at one place, anchored at another."""
    cdef Line line
    if at >= known_at:
        value = value + rise(slope, apart(known_at, at))
    else:
        value = value - rise(slope, apart(at, known_at))
    line.ns, line.part, line.slope = whole(value), part(value), slope
    return line


cdef inline void cone_after(
    Bar *bar, int which, const int64_t *knots, const int64_t *a, int64_t k, int64_t slope,
    int64_t width
) noexcept nogil:
    """Side `which` of a bar: what snapshot k leaves open after it."""
    bar.low[which] = line_of(low_knot(knots, k), slope - width, a[k], bar.at)
    bar.high[which] = line_of(high_knot(knots, k), slope + width, a[k], bar.at)


cdef inline void cone_before(
    Bar *bar, int which, const int64_t *knots, const int64_t *a, int64_t k, int64_t slope,
    int64_t width
) noexcept nogil:
    """Side `which` of a bar: what snapshot k leaves open before it."""
    bar.low[which] = line_of(low_knot(knots, k), slope + width, a[k], bar.at)
    bar.high[which] = line_of(high_knot(knots, k), slope - width, a[k], bar.at)


cdef inline Bar guaranteed_bar(
    int64_t kind, int64_t k, int64_t next_k, int64_t at, const int64_t *a, const int64_t *knots,
    int64_t drift
) noexcept nogil:
    """What the limits alone allow in a row; next_k: the snapshot that ends its gap or break."""
    cdef Bar bar
    bar.at, bar.mode, bar.limit, bar.base = at, HULL if kind == BREAK else 0, 0, 0
    if kind == BEFORE:
        cone_before(&bar, 0, knots, a, k, 0, drift)
        bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
        return bar
    cone_after(&bar, 0, knots, a, k, 0, drift)
    if kind == GAP or kind == BREAK:
        cone_before(&bar, 1, knots, a, next_k, 0, drift)
    else:
        bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
    return bar
