# Cones: what one snapshot leaves open before and after it, as lines of a bar.

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


# The runs that a tube is assembled from, and what those about a zone allow in it.

cdef struct Run:
    int64_t segment
    int64_t first
    int64_t last
    int64_t slope
    int64_t width
    int64_t lone            # one snapshot between two other runs of its segment
    int64_t jumps           # before the next run the offset may have jumped, or did (below)

cdef enum:
    MAY_JUMP = 1            # a rate within the limits explains it as well
    JUMPED = 2              # what both runs show holds up to the jump

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


# Curves: the estimate from one snapshot to the next, as a cubic of the distance.

cdef struct Curve:
    int64_t base
    double c[4]


cdef inline Curve moved(const Curve *curve, double dx) noexcept nogil:
    """The same curve, its distance counted from dx further on."""
    cdef Curve out
    out.base = curve.base
    out.c[0] = curve.c[0] + dx * (curve.c[1] + dx * (curve.c[2] + dx * curve.c[3]))
    out.c[1] = curve.c[1] + dx * (2.0 * curve.c[2] + 3.0 * dx * curve.c[3])
    out.c[2] = curve.c[2] + 3.0 * dx * curve.c[3]
    out.c[3] = curve.c[3]
    return out


cdef inline Curve hermite(const Parts *p, int64_t k) noexcept nogil:
    """The estimate from snapshot k to the next one of its run."""
    cdef Curve curve
    cdef double d = <double>apart(p.a[k], p.a[k + 1])
    cdef double v0 = p.smooth[2 * k + 1], v1 = p.smooth[2 * k + 3]
    cdef double mean = (<double>(p.r[k + 1] - p.r[k]) + p.smooth[2 * k + 2] - p.smooth[2 * k]) / d
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k], v0
    curve.c[2] = (3.0 * mean - 2.0 * v0 - v1) / d
    curve.c[3] = (v0 + v1 - 2.0 * mean) / (d * d)
    return curve


cdef inline Curve straight(const Parts *p, int64_t k, int64_t at) noexcept nogil:
    """The line of the estimate through snapshot k, its distance counted from `at`."""
    cdef Curve curve
    cdef double dx = (
        <double>apart(p.a[k], at) if at >= p.a[k] else -<double>apart(at, p.a[k])
    )
    curve.base = p.r[k]
    curve.c[0], curve.c[1] = p.smooth[2 * k] + dx * p.smooth[2 * k + 1], p.smooth[2 * k + 1]
    curve.c[2] = curve.c[3] = 0.0
    return curve


cdef inline bint bent_between(const Parts *p, int64_t j, int64_t i, int64_t *at) noexcept nogil:
    """Where the lines of snapshots j and i meet, if that path passes all snapshots between."""
    cdef double z = <double>apart(p.a[j], p.a[i]), x, value, meets
    cdef double start = (
        p.smooth[2 * j] - (<double>(p.r[i] - p.r[j]) + p.smooth[2 * i] - p.smooth[2 * i + 1] * z)
    )
    cdef double end = start + (p.smooth[2 * j + 1] - p.smooth[2 * i + 1]) * z
    cdef int64_t k
    if start == end or (start > 0.0) == (end > 0.0) and start != 0.0 and end != 0.0:
        return False
    meets = z * start / (start - end)
    for k in range(j + 1, i):
        x = <double>apart(p.a[j], p.a[k])
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


cdef inline Curve chord(const Parts *p, int64_t k, int64_t j, int64_t i, int64_t at) noexcept nogil:
    """Straight from snapshot k to the next one, in the zone between the runs' ends j and i."""
    cdef Curve curve
    cdef double start = p.smooth[2 * k] if k == j else 0.0
    cdef double end = <double>(p.r[k + 1] - p.r[k]) + (p.smooth[2 * i] if k + 1 == i else 0.0)
    curve.base = p.r[k]
    curve.c[1] = (end - start) / <double>apart(p.a[k], p.a[k + 1])
    curve.c[0] = start + curve.c[1] * <double>apart(p.a[k], at)
    curve.c[2] = curve.c[3] = 0.0
    return curve
