# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rows of a tube, from its segments, runs and estimate (bar.pxd has their shape)."""

from libc.math cimport floor
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from tracetime._kernels.bar cimport HULL, LIMITED, Bar, Line, high_at, low_at
from tracetime._kernels.fixed cimport int128, join, part, quotient, rise, whole
from tracetime._kernels.memory cimport INT64_HIGH, INT64_LOW

cdef enum:
    WORDS = 16              # of a Bar
    KNOTS = 4               # low ns, low part, high ns, high part
    MOST_WIDE = 64          # rows that splitting wide ones may add

# What the evidence is at a row. The guaranteed bars of a row follow from it and a snapshot.
cdef enum:
    BEFORE = 0              # before snapshot k, the first
    GAP = 1                 # from snapshot k to the next, in one segment
    POINT = 2               # at snapshot k
    BREAK = 3               # between the segment that ends with snapshot k and the next
    AFTER = 4               # after snapshot k, the last

cdef struct Curve:
    int64_t base
    double c[4]

cdef struct Table:
    int64_t *starts
    int64_t *cells          # kind, snapshot, the one that ends its gap or break, anchor
    Bar *bars
    double *curves
    int64_t n
    int64_t capacity
    Bar *limits
    int64_t n_limits

cdef struct Knots:
    const int64_t *a
    const int64_t *knots
    int64_t n


cdef inline uint64_t distance(int64_t a, int64_t b) noexcept nogil:
    """b - a for a <= b."""
    return <uint64_t>b - <uint64_t>a


cdef inline int128 low_knot(const int64_t *knots, int64_t k) noexcept nogil:
    return join(knots[KNOTS * k], knots[KNOTS * k + 1])


cdef inline int128 high_knot(const int64_t *knots, int64_t k) noexcept nogil:
    return join(knots[KNOTS * k + 2], knots[KNOTS * k + 3])


cdef inline Line line_of(int128 value, int64_t slope, int64_t known_at, int64_t at) noexcept nogil:
    """The line of a slope through a value known at one place, anchored at another."""
    cdef Line line
    if at >= known_at:
        value = value + rise(slope, distance(known_at, at))
    else:
        value = value - rise(slope, distance(at, known_at))
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


cdef Bar guaranteed_bar(
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


cdef void put(
    Table *table, int64_t first, int64_t kind, int64_t k, int64_t next_k, const Bar *bar,
    const Curve *curve
) noexcept nogil:
    cdef int64_t i = table.n
    cdef int64_t *cell = table.cells + 4 * i
    table.starts[i] = first
    cell[0], cell[1], cell[2], cell[3] = kind, k, next_k, bar.at
    table.bars[i] = bar[0]
    table.bars[i].base = curve.base
    memcpy(table.curves + 4 * i, curve.c, 4 * sizeof(double))
    table.n = i + 1


cdef Curve moved(const Curve *curve, double dx) noexcept nogil:
    """The same curve, its distance counted from dx further on."""
    cdef Curve out
    out.base = curve.base
    out.c[0] = curve.c[0] + dx * (curve.c[1] + dx * (curve.c[2] + dx * curve.c[3]))
    out.c[1] = curve.c[1] + dx * (2.0 * curve.c[2] + 3.0 * dx * curve.c[3])
    out.c[2] = curve.c[2] + 3.0 * dx * curve.c[3]
    out.c[3] = curve.c[3]
    return out


cdef Bar anchored(Table *table, const Bar *bar, int64_t at) noexcept nogil:
    """The same bar, it and its limit anchored elsewhere."""
    cdef Bar out = bar[0]
    cdef int i
    out.at = at
    for i in range(2):
        out.low[i] = line_of(join(bar.low[i].ns, bar.low[i].part), bar.low[i].slope, bar.at, at)
        out.high[i] = line_of(
            join(bar.high[i].ns, bar.high[i].part), bar.high[i].slope, bar.at, at
        )
    if bar.mode & LIMITED:
        out.limit = table.n_limits
        table.n_limits += 1
        table.limits[out.limit] = anchored(table, &table.limits[bar.limit], at)
    return out


cdef void emit(
    Table *table, int64_t first, int64_t last, int64_t kind, int64_t k, int64_t next_k,
    const Bar *bar, const Curve *curve
) noexcept nogil:
    """Append what holds on [first, last], in rows whose distances from the anchor fit in int64."""
    cdef Bar here
    cdef Curve bent
    cdef uint64_t far = <uint64_t>1 << 62
    cdef int64_t at
    # A break of no length has taken the one value that its two segments share.
    if table.n and table.starts[table.n - 1] == first:
        if first == last:
            return
        first += 1
    if first > last:
        return
    while bar.at > first and distance(first, bar.at) > far:
        at = first + <int64_t>far
        here, bent = anchored(table, bar, at), moved(curve, -<double>distance(at, bar.at))
        put(table, first, kind, k, next_k, &here, &bent)
        first = at + 1
    put(table, first, kind, k, next_k, bar, curve)
    at = bar.at
    while last > at and distance(at, last) > far:
        at += <int64_t>far
        here, bent = anchored(table, bar, at), moved(curve, <double>distance(bar.at, at))
        put(table, at, kind, k, next_k, &here, &bent)


cdef bint empty_at(
    const Bar *bar, const Bar *limit, int64_t t, int64_t first, int64_t last
) noexcept nogil:
    t = min(max(t, first), last)
    return (
        low_at(bar, limit, t) > high_at(limit, limit, t)
        or low_at(limit, limit, t) > high_at(bar, limit, t)
    )


cdef bint parted(const Bar *bar, const Bar *limit, int64_t first, int64_t last) noexcept nogil:
    """Whether a bar and its limit have nothing in common somewhere in the row.

    Their difference is greatest at an end of the row, or where two lines of a hull cross.
    """
    cdef const Line *one
    cdef const Line *two
    cdef int side
    cdef int64_t cross
    cdef int128 fall
    if empty_at(bar, limit, first, first, last) or empty_at(bar, limit, last, first, last):
        return True
    for side in range(4):
        one = &bar.low[0] if side == 0 else &bar.high[0] if side == 1 else &limit.low[0]
        one = &limit.high[0] if side == 3 else one
        two = one + 1
        fall = <int128>one.slope - <int128>two.slope
        if fall == 0:
            continue
        if fall > 0:
            cross = quotient(join(two.ns, two.part) - join(one.ns, one.part), fall)
        else:
            cross = quotient(join(one.ns, one.part) - join(two.ns, two.part), -fall)
        # Beyond the row, a crossing is of no interest; the anchor keeps the sum within int64.
        if cross < 0 or <uint64_t>cross > distance(bar.at, last):
            continue
        cross += bar.at
        if (
            empty_at(bar, limit, cross, first, last)
            or (cross < last and empty_at(bar, limit, cross + 1, first, last))
        ):
            return True
    return False


cdef void limit_bar(
    Table *table, Bar *bar, const Bar *limit, int64_t first, int64_t last
) noexcept nogil:
    """Keep a bar within its limit; where the two have nothing in common, the limit stands."""
    if first > last:
        return
    if parted(bar, limit, first, last):
        bar[0] = limit[0]
        return
    bar.mode |= LIMITED
    bar.limit = table.n_limits
    table.limits[table.n_limits] = limit[0]
    table.n_limits += 1


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
    int64_t n
    int64_t drift
    const int64_t *limits   # knots of the drift cones
    const int64_t *knots    # knots of the runs' tubes
    const double *smooth    # per snapshot: what to add to r, and the rate
    const Run *runs
    int64_t n_runs


cdef Curve hermite(const Parts *p, int64_t k) noexcept nogil:
    """The estimate from snapshot k to the next one of its run."""
    cdef Curve curve
    cdef double d = <double>distance(p.a[k], p.a[k + 1])
    cdef double v0 = p.smooth[2 * k + 1], v1 = p.smooth[2 * k + 3]
    cdef double mean = (<double>(p.r[k + 1] - p.r[k]) + p.smooth[2 * k + 2] - p.smooth[2 * k]) / d
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k], v0
    curve.c[2] = (3.0 * mean - 2.0 * v0 - v1) / d
    curve.c[3] = (v0 + v1 - 2.0 * mean) / (d * d)
    return curve


cdef Curve straight(const Parts *p, int64_t k, int64_t at) noexcept nogil:
    """The line of the estimate through snapshot k, its distance counted from `at`."""
    cdef Curve curve
    cdef double dx = (
        <double>distance(p.a[k], at) if at >= p.a[k] else -<double>distance(at, p.a[k])
    )
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k] + dx * p.smooth[2 * k + 1], p.smooth[2 * k + 1]
    curve.c[2] = curve.c[3] = 0.0
    return curve


cdef bint knee(const Parts *p, int64_t j, int64_t i, int64_t *at) noexcept nogil:
    """Where the lines of snapshots j and i meet, if that path passes all snapshots between."""
    cdef double z = <double>distance(p.a[j], p.a[i]), x, value, meets
    cdef double start = (
        p.smooth[2 * j] - (<double>(p.r[i] - p.r[j]) + p.smooth[2 * i] - p.smooth[2 * i + 1] * z)
    )
    cdef double end = start + (p.smooth[2 * j + 1] - p.smooth[2 * i + 1]) * z
    cdef int64_t k
    if start == end or (start > 0.0) == (end > 0.0) and start != 0.0 and end != 0.0:
        return False
    meets = z * start / (start - end)
    for k in range(j + 1, i):
        x = <double>distance(p.a[j], p.a[k])
        if x < meets:
            value = <double>(p.r[j] - p.r[k]) + p.smooth[2 * j] + p.smooth[2 * j + 1] * x
        else:
            value = (
                <double>(p.r[i] - p.r[k]) + p.smooth[2 * i] - p.smooth[2 * i + 1] * (z - x)
            )
        if value > <double>(p.high[k] - p.r[k]) or value < <double>(p.low[k] - p.r[k]):
            return False
    at[0] = min(p.a[j] + <int64_t>floor(meets), p.a[i] - 1)
    return True


cdef Curve chord(const Parts *p, int64_t k, int64_t j, int64_t i, int64_t at) noexcept nogil:
    """Straight from snapshot k to the next one, in the zone between the runs' ends j and i."""
    cdef Curve curve
    cdef double start = p.smooth[2 * k] if k == j else 0.0
    cdef double end = <double>(p.r[k + 1] - p.r[k]) + (p.smooth[2 * i] if k + 1 == i else 0.0)
    curve.base = p.r[k]
    curve.c[1] = (end - start) / <double>distance(p.a[k], p.a[k + 1])
    curve.c[0] = start + curve.c[1] * <double>distance(p.a[k], at)
    curve.c[2] = curve.c[3] = 0.0
    return curve


cdef void widen(
    const Parts *p, const Run *run, bint after, int64_t t, int128 *low, int128 *high, bint first
) noexcept nogil:
    """Stretch [low, high] to what a run allows at t, after its last snapshot or before its first."""
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


cdef void widest(
    const Parts *p, int64_t m, int64_t t, int128 *low, int128 *high
) noexcept nogil:
    """What the runs about zone m (between runs m and m + 1) allow at t, one of them lone."""
    widen(p, &p.runs[m], True, t, low, high, True)
    widen(p, &p.runs[m + 1], False, t, low, high, False)
    if p.runs[m].lone:
        widen(p, &p.runs[m - 1], True, t, low, high, False)
    if p.runs[m + 1].lone:
        widen(p, &p.runs[m + 2], False, t, low, high, False)


cdef void doubtful_bar(const Parts *p, int64_t m, Bar *bar) noexcept nogil:
    """Zone m beside a lone run: one bar about all that the runs nearby allow.

    A straight side from end to end holds the hull of any number of cones.
    """
    cdef int64_t j = p.runs[m].last, i = p.runs[m + 1].first
    cdef int128 low0, high0, low1, high1, d = <int128>distance(p.a[j], p.a[i])
    widest(p, m, p.a[j], &low0, &high0)
    widest(p, m, p.a[i], &low1, &high1)
    bar.low[0] = line_of(low0, quotient(low1 - low0, d), p.a[j], bar.at)
    bar.high[0] = line_of(high0, -quotient(high0 - high1, d), p.a[j], bar.at)
    bar.low[1], bar.high[1] = bar.low[0], bar.high[0]


cdef bint steps(const Parts *p, int64_t m) noexcept nogil:
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


cdef void add_run(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The rows from a run's first snapshot up to its last one."""
    cdef const Run *run = &p.runs[m]
    cdef int64_t k
    cdef bint slow = run.slope - run.width >= -p.drift and run.slope + run.width <= p.drift
    cdef Bar bar, limit
    cdef Curve curve
    for k in range(run.first, run.last):
        bar.at, bar.mode, bar.limit = p.a[k], 0, 0
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
        cone_before(&bar, 1, p.knots, p.a, k + 1, run.slope, run.width)
        if not (
            slow
            and low_knot(p.knots, k) >= low_knot(p.limits, k)
            and high_knot(p.knots, k) <= high_knot(p.limits, k)
            and low_knot(p.knots, k + 1) >= low_knot(p.limits, k + 1)
            and high_knot(p.knots, k + 1) <= high_knot(p.limits, k + 1)
        ):
            limit = guaranteed_bar(GAP, k, k + 1, p.a[k], p.a, p.limits, p.drift)
            limit_bar(table, &bar, &limit, p.a[k], p.a[k + 1] - 1)
        curve = hermite(p, k)
        emit(table, p.a[k], p.a[k + 1] - 1, GAP, k, k + 1, &bar, &curve)


cdef void add_point(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The row of a run's last snapshot, where something else follows."""
    cdef const Run *run = &p.runs[m]
    cdef int64_t k = run.last
    cdef int128 low, high
    cdef Bar bar, limit
    cdef Curve curve = straight(p, k, p.a[k])
    bar.at, bar.mode, bar.limit = p.a[k], 0, 0
    if run.lone:
        widen(p, run, True, p.a[k], &low, &high, True)
        widen(p, &p.runs[m - 1], True, p.a[k], &low, &high, False)
        widen(p, &p.runs[m + 1], False, p.a[k], &low, &high, False)
        bar.low[0] = line_of(low, 0, p.a[k], p.a[k])
        bar.high[0] = line_of(high, 0, p.a[k], p.a[k])
        bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
    else:
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
        bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
        limit = guaranteed_bar(POINT, k, k, p.a[k], p.a, p.limits, p.drift)
        limit_bar(table, &bar, &limit, p.a[k], p.a[k])
    emit(table, p.a[k], p.a[k], POINT, k, k, &bar, &curve)


cdef void add_zone(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The rows between runs m and m + 1 of one segment, the ends not included."""
    cdef const Run *run = &p.runs[m]
    cdef const Run *after = &p.runs[m + 1]
    cdef int64_t j = run.last, i = after.first, k, first, last, bend = 0
    cdef bint doubtful = run.lone or after.lone
    cdef bint free = doubtful or steps(p, m)
    cdef bint bends = (
        run.last > run.first and after.last > after.first and knee(p, j, i, &bend)
    )
    cdef Bar bar, limit
    cdef Curve curve
    for k in range(j, i):
        first, last = p.a[k] + (k == j), p.a[k + 1] - 1
        if first > last:
            continue
        bar.at, bar.mode, bar.limit = p.a[k], HULL, 0
        if doubtful:
            doubtful_bar(p, m, &bar)
        else:
            cone_after(&bar, 0, p.knots, p.a, j, run.slope, run.width)
            cone_before(&bar, 1, p.knots, p.a, i, after.slope, after.width)
        if not free:
            limit = guaranteed_bar(GAP, k, k + 1, p.a[k], p.a, p.limits, p.drift)
            limit_bar(table, &bar, &limit, first, last)
        if not bends:
            curve = chord(p, k, j, i, p.a[k])
            emit(table, first, last, GAP, k, k + 1, &bar, &curve)
            continue
        if first <= bend:
            curve = straight(p, j, p.a[k])
            emit(table, first, min(last, bend), GAP, k, k + 1, &bar, &curve)
        if bend < last:
            curve = straight(p, i, p.a[k])
            emit(table, max(first, bend + 1), last, GAP, k, k + 1, &bar, &curve)


cdef void add_break(Table *table, const Parts *p, int64_t j, int64_t i) noexcept nogil:
    """Between two segments: the limits of both, the estimate of the earlier."""
    cdef Curve curve = straight(p, j, p.a[j])
    cdef Bar bar = guaranteed_bar(BREAK, j, i, p.a[j], p.a, p.limits, p.drift)
    # Two snapshots at one value that contradict each other: that value is all of the zone.
    if p.a[i] == p.a[j]:
        emit(table, p.a[j], p.a[j], BREAK, j, i, &bar, &curve)
    else:
        emit(table, p.a[j] + 1, p.a[i] - 1, BREAK, j, i, &bar, &curve)


cdef void add_ends(Table *table, const Parts *p, bint after) noexcept nogil:
    cdef const Run *run = &p.runs[p.n_runs - 1 if after else 0]
    cdef int64_t k = run.last if after else run.first
    cdef int64_t kind = AFTER if after else BEFORE
    cdef int64_t first = p.a[k] if after else INT64_LOW
    cdef Bar bar, limit = guaranteed_bar(kind, k, k, p.a[k], p.a, p.limits, p.drift)
    cdef Curve curve = straight(p, k, p.a[k])
    if not after and p.a[k] == INT64_LOW:
        return
    bar.at, bar.mode, bar.limit = p.a[k], 0, 0
    if after:
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
    else:
        cone_before(&bar, 0, p.knots, p.a, k, run.slope, run.width)
    bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
    limit_bar(table, &bar, &limit, p.a[k], p.a[k])
    emit(table, first, INT64_HIGH if after else p.a[k] - 1, kind, k, k, &bar, &curve)


def assemble(
    const int64_t[::1] a, const int64_t[::1] r, const int64_t[::1] low, const int64_t[::1] high,
    int64_t drift, const int64_t[:, ::1] limits, const int64_t[:, ::1] knots,
    const double[:, ::1] smooth, const int64_t[:, ::1] runs
):
    """The rows of a tube.

    a, r, low, high: int64 ns, one a snapshot; limits, knots: what `cones` gives of the segments
    and of the runs; smooth: of `smooth`; runs: (segment, first, last, slope, width, lone), a
    lone one between two others of its segment. drift, slopes and widths in 2^-52.

    Returns:
        starts (int64, the first value of each row), bars (int64[n, 16]), their limits
        (int64[m, 16]), curves (float64[n, 4]), and cells (int64[n, 4]): what `guaranteed` needs.
    """
    cdef int64_t n = a.shape[0], m
    cdef int64_t n_runs = runs.shape[0]
    cdef int64_t capacity = n + 4 * n_runs + MOST_WIDE
    cdef Parts p
    cdef Table table
    starts = np.empty(capacity, dtype=np.int64)
    cells = np.empty((capacity, 4), dtype=np.int64)
    bars = np.empty((capacity, WORDS), dtype=np.int64)
    bar_limits = np.empty((capacity, WORDS), dtype=np.int64)
    curves = np.empty((capacity, 4))
    cdef int64_t[::1] starts_view = starts
    cdef int64_t[:, ::1] cells_view = cells, bars_view = bars, limits_view = bar_limits
    cdef double[:, ::1] curves_view = curves
    if n == 0 or n_runs == 0:
        raise ValueError("no snapshots")
    p.a, p.r, p.low, p.high, p.n = &a[0], &r[0], &low[0], &high[0], n
    p.drift, p.limits, p.knots, p.smooth = drift, &limits[0, 0], &knots[0, 0], &smooth[0, 0]
    p.runs, p.n_runs = <const Run *>&runs[0, 0], n_runs
    table.starts, table.cells = &starts_view[0], &cells_view[0, 0]
    table.bars, table.limits = <Bar *>&bars_view[0, 0], <Bar *>&limits_view[0, 0]
    table.curves, table.n, table.n_limits = &curves_view[0, 0], 0, 0
    with nogil:
        add_ends(&table, &p, False)
        for m in range(n_runs):
            add_run(&table, &p, m)
            if m + 1 < n_runs:
                add_point(&table, &p, m)
                if p.runs[m].segment == p.runs[m + 1].segment:
                    add_zone(&table, &p, m)
                else:
                    add_break(&table, &p, p.runs[m].last, p.runs[m + 1].first)
        add_ends(&table, &p, True)
    return (
        starts[:table.n], bars[:table.n], bar_limits[:table.n_limits], curves[:table.n],
        cells[:table.n],
    )


def guaranteed(
    const int64_t[::1] a, int64_t drift, const int64_t[:, ::1] limits,
    const int64_t[:, ::1] bars, const int64_t[:, ::1] cells
):
    """The bars (int64[n, 16]) of the same rows as `bars`, from the limits alone."""
    cdef int64_t n = cells.shape[0], i
    cdef Bar *out
    made = np.empty((n, WORDS), dtype=np.int64)
    cdef int64_t[:, ::1] view = made
    out = <Bar *>&view[0, 0]
    with nogil:
        for i in range(n):
            out[i] = guaranteed_bar(
                cells[i, 0], cells[i, 1], cells[i, 2], cells[i, 3], &a[0], &limits[0, 0], drift
            )
            out[i].base = (<const Bar *>&bars[i, 0]).base
    return made


def steps_in(
    const int64_t[::1] a, const int64_t[:, ::1] knots, const int64_t[:, ::1] runs
):
    """Indices of the zones (between run m and m + 1) whose two cones are disjoint all over."""
    cdef Parts p
    cdef int64_t m
    found = []
    p.a, p.knots = &a[0], &knots[0, 0]
    p.runs, p.n_runs = <const Run *>&runs[0, 0], runs.shape[0]
    for m in range(p.n_runs - 1):
        if p.runs[m].segment == p.runs[m + 1].segment and steps(&p, m):
            found.append(m)
    return found
