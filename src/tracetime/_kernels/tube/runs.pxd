# The runs that a tube is assembled from, and what those about a zone allow in it.

from libc.stdint cimport int64_t

from tracetime._kernels.tube.bar cimport Bar
from tracetime._kernels.tube.cone cimport cone_after, cone_before, line_of
from tracetime._kernels.tube.fixed cimport apart, int128, join, quotient

cdef struct Run:
    int64_t segment
    int64_t first
    int64_t last
    int64_t slope
    int64_t width
    int64_t lone            # one snapshot between two other runs of its segment

cdef struct Parts:
    const int64_t *a
    const int64_t *r
    const int64_t *low
    const int64_t *high
    int64_t drift
    const int64_t *given    # knots of the drift cones
    const int64_t *limits   # and without the strays
    const int64_t *knots    # knots of the runs' tubes
    const double *smooth    # per snapshot: what to add to r, and the rate
    const Run *runs
    int64_t n_runs
    bint any_rates          # whether the rate may change more than once from a run to the next


cdef inline void widen(
    const Parts *p, const Run *run, bint after, int64_t t, int128 *low, int128 *high, bint first
) noexcept nogil:
    """Widen [low, high] to what a run allows at t, after its last snapshot or before its first."""
    cdef Bar bar
    cdef int128 value
    bar.at = t
    if after:
        cone_after(&bar, 0, p.knots, p.a, run.last, run.slope, run.width)
    else:
        cone_before(&bar, 0, p.knots, p.a, run.first, run.slope, run.width)
    value = join(bar.low[0].ns, bar.low[0].part)
    if first or value < low[0]:
        low[0] = value
    value = join(bar.high[0].ns, bar.high[0].part)
    if first or value > high[0]:
        high[0] = value


cdef inline void widest(
    const Parts *p, int64_t m, int64_t t, int128 *low, int128 *high
) noexcept nogil:
    """What the runs about zone m (between runs m and m + 1) allow at t, one of them lone."""
    widen(p, &p.runs[m], True, t, low, high, True)
    widen(p, &p.runs[m + 1], False, t, low, high, False)
    if p.runs[m].lone:
        widen(p, &p.runs[m - 1], True, t, low, high, False)
    if p.runs[m + 1].lone:
        widen(p, &p.runs[m + 2], False, t, low, high, False)


cdef inline void doubtful_bar(const Parts *p, int64_t m, Bar *bar) noexcept nogil:
    """Zone m next to a lone run: one bar around all that the neighbouring runs allow.

    A straight side from end to end holds the hull of any number of cones.
    """
    cdef int64_t j = p.runs[m].last, i = p.runs[m + 1].first
    cdef int128 low0, high0, low1, high1, d = <int128>apart(p.a[j], p.a[i])
    widest(p, m, p.a[j], &low0, &high0)
    widest(p, m, p.a[i], &low1, &high1)
    bar.low[0] = line_of(low0, quotient(low1 - low0, d), p.a[j], bar.at)
    bar.high[0] = line_of(high0, -quotient(high0 - high1, d), p.a[j], bar.at)
    bar.low[1], bar.high[1] = bar.low[0], bar.high[0]


cdef inline bint steps(const Parts *p, int64_t m) noexcept nogil:
    """Whether the cones of runs m and m + 1 are disjoint all over the zone between."""
    cdef int64_t t
    cdef int128 low0, high0, low1, high1
    cdef int above = 0, below = 0, end
    for end in range(2):
        t = p.a[p.runs[m + 1].first] if end else p.a[p.runs[m].last]
        widen(p, &p.runs[m], True, t, &low0, &high0, True)
        widen(p, &p.runs[m + 1], False, t, &low1, &high1, True)
        above += low1 > high0
        below += high1 < low0
    return above == 2 or below == 2
