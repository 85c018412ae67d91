# The rows of a tube, from its segments, runs and estimate (tube.pxd has their shape).

cdef enum:
    WORDS = 16              # of a Bar
    MOST_WIDE = 64          # rows that splitting wide ones may add

cdef struct Table:
    int64_t *starts
    int64_t *cells          # kind, snapshot, the one that ends its gap or break, anchor
    Bar *bars
    double *curves
    int64_t n
    Bar *limits
    int64_t n_limits

cdef void put(
    Table *table, int64_t first, int64_t kind, int64_t k, int64_t next_k, const Bar *bar,
    const Curve *curve
) noexcept nogil:
    cdef int64_t i = table.n, *cell = table.cells + 4 * i
    table.starts[i] = first
    cell[0], cell[1], cell[2], cell[3] = kind, k, next_k, bar.at
    table.bars[i] = bar[0]
    table.bars[i].base = curve.base
    memcpy(table.curves + 4 * i, curve.c, 4 * sizeof(double))
    table.n = i + 1


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


# wide: a row as `cells` has it, its sides and its curve
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
    while bar.at > first and apart(first, bar.at) > far:
        at = first + <int64_t>far
        here, bent = anchored(table, bar, at), moved(curve, -<double>apart(at, bar.at))
        put(table, first, kind, k, next_k, &here, &bent)
        first = at + 1
    put(table, first, kind, k, next_k, bar, curve)
    at = bar.at
    while last > at and apart(at, last) > far:
        at += <int64_t>far
        here, bent = anchored(table, bar, at), moved(curve, <double>apart(bar.at, at))
        put(table, at, kind, k, next_k, &here, &bent)


cdef int128 value_at(const Line *line, uint64_t distance) noexcept nogil:
    return join(line.ns, line.part) + rise(line.slope, distance)


cdef int128 low_exactly(const Bar *bar, int64_t t) noexcept nogil:
    """The least offset at t, not rounded, of a bar without a limit."""
    cdef int128 one = value_at(&bar.low[0], apart(bar.at, t))
    cdef int128 two = value_at(&bar.low[1], apart(bar.at, t))
    return two if (two < one) == ((bar.mode & HULL) != 0) else one


cdef int128 high_exactly(const Bar *bar, int64_t t) noexcept nogil:
    cdef int128 one = value_at(&bar.high[0], apart(bar.at, t))
    cdef int128 two = value_at(&bar.high[1], apart(bar.at, t))
    return two if (two > one) == ((bar.mode & HULL) != 0) else one


cdef bint empty_at(const Bar *bar, const Bar *limit, int64_t t) noexcept nogil:
    """Whether they have nothing in common at t.

    Not rounded: outward, two bars that do not meet would seem to at an end of the row, and leave
    less than nothing further in.
    """
    return (
        low_exactly(bar, t) > high_exactly(limit, t) or low_exactly(limit, t) > high_exactly(bar, t)
    )


cdef bint parted(const Bar *bar, const Bar *limit, int64_t first, int64_t last) noexcept nogil:
    """Whether a bar and its limit have nothing in common somewhere in the row.

    Their difference is greatest at an end of the row, or where two lines of a hull cross.
    """
    cdef const Line *one, *two
    cdef int side
    cdef int64_t cross
    cdef int128 fall
    if empty_at(bar, limit, first) or empty_at(bar, limit, last):
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
        if cross < 0 or <uint64_t>cross > apart(bar.at, last):
            continue
        cross += bar.at
        if cross >= first and empty_at(bar, limit, cross):
            return True
        if cross < last and empty_at(bar, limit, max(cross + 1, first)):
            return True
    return False


cdef bint same_knot(const Parts *p, int64_t k) noexcept nogil:
    """Whether the strays change nothing of what the limits allow at a snapshot."""
    return memcmp(p.limits + KNOTS * k, p.given + KNOTS * k, KNOTS * sizeof(int64_t)) == 0


# wide: a row as `cells` has it, and where it holds
cdef void limit_bar(
    Table *table, Bar *bar, const Parts *p, int64_t kind, int64_t k, int64_t next_k,
    int64_t first, int64_t last
) noexcept nogil:
    """Keep the bar of a row within the guaranteed one, which replaces it where they never meet.

    Where a stray keeps them apart, it counts as an outlier: the limits are those of the other
    snapshots.
    """
    cdef Bar limit, rest
    if first > last:
        return
    limit = guaranteed_bar(kind, k, next_k, bar.at, p.a, p.given, p.drift)
    if (
        kind == POINT
        and low_exactly(bar, first) >= low_exactly(&limit, first)
        and high_exactly(bar, first) <= high_exactly(&limit, first)
    ):
        # At the only value of the row it keeps within already.
        return
    if parted(bar, &limit, first, last):
        rest = guaranteed_bar(kind, k, next_k, bar.at, p.a, p.limits, p.drift)
        if (same_knot(p, k) and same_knot(p, next_k)) or parted(bar, &rest, first, last):
            bar[0] = limit
            return
        limit = rest
    bar.mode |= LIMITED
    bar.limit = table.n_limits
    table.limits[table.n_limits] = limit
    table.n_limits += 1


cdef void add_run(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The rows from a run's first snapshot up to its last one."""
    cdef const Run *run = &p.runs[m]
    cdef int64_t k
    cdef bint slow = run.slope - run.width >= -p.drift and run.slope + run.width <= p.drift
    cdef Bar bar
    cdef Curve curve
    for k in range(run.first, run.last):
        bar.at, bar.mode, bar.limit = p.a[k], 0, 0
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
        cone_before(&bar, 1, p.knots, p.a, k + 1, run.slope, run.width)
        if not (
            slow
            and low_knot(p.knots, k) >= low_knot(p.given, k)
            and high_knot(p.knots, k) <= high_knot(p.given, k)
            and low_knot(p.knots, k + 1) >= low_knot(p.given, k + 1)
            and high_knot(p.knots, k + 1) <= high_knot(p.given, k + 1)
        ):
            limit_bar(table, &bar, p, GAP, k, k + 1, p.a[k], p.a[k + 1] - 1)
        curve = hermite(p, k)
        emit(table, p.a[k], p.a[k + 1] - 1, GAP, k, k + 1, &bar, &curve)


cdef void add_point(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The row of a run's last snapshot, where something else follows."""
    cdef const Run *run = &p.runs[m]
    cdef int64_t k = run.last
    cdef int128 low, high
    cdef Bar bar
    cdef Curve curve = straight(p, k, p.a[k])
    bar.at, bar.mode, bar.limit = p.a[k], 0, 0
    if run.lone:
        widen(p, run, True, p.a[k], &low, &high, True)
        widen(p, &p.runs[m - 1], True, p.a[k], &low, &high, False)
        widen(p, &p.runs[m + 1], False, p.a[k], &low, &high, False)
        bar.low[0] = line_of(low, 0, p.a[k], p.a[k])
        bar.high[0] = line_of(high, 0, p.a[k], p.a[k])
    else:
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
    bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
    limit_bar(table, &bar, p, POINT, k, k, p.a[k], p.a[k])
    emit(table, p.a[k], p.a[k], POINT, k, k, &bar, &curve)


cdef void free_bar(const Parts *p, int64_t m, int64_t k, Bar *bar) noexcept nogil:
    """Row k of zone m, where any rate within the limits may follow the run, and lead to the next.

    The limits alone hold where that is a contradiction, for the offset jumped.
    """
    bar.mode = 0
    cone_after(bar, 0, p.knots, p.a, p.runs[m].last, 0, p.drift)
    cone_before(bar, 1, p.knots, p.a, p.runs[m + 1].first, 0, p.drift)
    if (
        low_exactly(bar, p.a[k]) > high_exactly(bar, p.a[k])
        or low_exactly(bar, p.a[k + 1]) > high_exactly(bar, p.a[k + 1])
    ):
        bar[0] = guaranteed_bar(GAP, k, k + 1, bar.at, p.a, p.limits, p.drift)


cdef void add_zone(Table *table, const Parts *p, int64_t m) noexcept nogil:
    """The rows between runs m and m + 1, the ends not included.

    Where the offset may have jumped, what follows from one side says nothing on the other.
    """
    cdef const Run *run = &p.runs[m]
    cdef const Run *after = &p.runs[m + 1]
    cdef int64_t j = run.last, i = after.first, k, first, last, bend = 0
    cdef int64_t kind = BREAK if run.jumps == MAY_JUMP else GAP, left, right
    cdef bint doubtful = run.lone or after.lone
    cdef bint bends = (
        run.last > run.first and after.last > after.first and bent_between(p, j, i, &bend)
    )
    cdef Bar bar
    cdef Curve curve
    for k in range(j, i):
        first, last = p.a[k] + (k == j), p.a[k + 1] - 1
        if first > last:
            continue
        left, right = (j, i) if run.jumps == MAY_JUMP else (k, k + 1)
        bar.at, bar.mode, bar.limit = p.a[k], HULL, 0
        if doubtful:
            doubtful_bar(p, m, &bar)
        elif p.any_rates:
            free_bar(p, m, k, &bar)
        else:
            cone_after(&bar, 0, p.knots, p.a, j, run.slope, run.width)
            cone_before(&bar, 1, p.knots, p.a, i, after.slope, after.width)
        limit_bar(table, &bar, p, kind, left, right, first, last)
        if not bends:
            curve = chord(p, k, j, i, p.a[k])
            emit(table, first, last, kind, left, right, &bar, &curve)
            continue
        if first <= bend:
            curve = straight(p, j, p.a[k])
            emit(table, first, min(last, bend), kind, left, right, &bar, &curve)
        if bend < last:
            curve = straight(p, i, p.a[k])
            emit(table, max(first, bend + 1), last, kind, left, right, &bar, &curve)


cdef void add_break(Table *table, const Parts *p, int64_t m, int64_t n) noexcept nogil:
    """Between runs m and n of two segments: what both allow, the estimate of the earlier."""
    cdef const Run *run = &p.runs[m]
    cdef const Run *after = &p.runs[n]
    cdef int64_t j = run.last, i = after.first
    cdef Curve curve = straight(p, j, p.a[j])
    cdef Bar bar = guaranteed_bar(BREAK, j, i, p.a[j], p.a, p.limits, p.drift)
    # Two snapshots at one value that contradict each other: that value is all of the zone.
    cdef int64_t apart_by = p.a[i] != p.a[j]
    cdef int64_t first = p.a[j] + apart_by, last = p.a[i] - apart_by
    if run.jumps == JUMPED:
        cone_after(&bar, 0, p.knots, p.a, j, run.slope, run.width)
        cone_before(&bar, 1, p.knots, p.a, i, after.slope, after.width)
    if run.jumps == JUMPED or not (same_knot(p, j) and same_knot(p, i)):
        limit_bar(table, &bar, p, BREAK, j, i, first, last)
    emit(table, first, last, BREAK, j, i, &bar, &curve)


cdef int64_t last_at_value(const Parts *p, int64_t m) noexcept nogil:
    """The last of the runs from m on, each in the next segment, to begin where run m ends.

    Their snapshots at this value contradict each other, and ascend: all offsets from that of the
    first to that of the last are possible there, which `add_break` says in one row.
    """
    cdef int64_t value = p.a[p.runs[m].last]
    while (
        m + 1 < p.n_runs
        and p.runs[m + 1].segment != p.runs[m].segment
        and p.a[p.runs[m + 1].first] == value
    ):
        m += 1
        if p.a[p.runs[m].last] != value:
            break
    return m


cdef void add_ends(Table *table, const Parts *p, bint after) noexcept nogil:
    cdef const Run *run = &p.runs[p.n_runs - 1 if after else 0]
    cdef int64_t k = run.last if after else run.first, kind = AFTER if after else BEFORE
    cdef int64_t first = p.a[k] if after else INT64_LOW
    cdef Bar bar
    cdef Curve curve = straight(p, k, p.a[k])
    if not after and p.a[k] == INT64_LOW:
        return
    bar.at, bar.mode, bar.limit = p.a[k], 0, 0
    if after:
        cone_after(&bar, 0, p.knots, p.a, k, run.slope, run.width)
    else:
        cone_before(&bar, 0, p.knots, p.a, k, run.slope, run.width)
    bar.low[1], bar.high[1] = bar.low[0], bar.high[0]
    limit_bar(table, &bar, p, kind, k, k, p.a[k], p.a[k])
    emit(table, first, INT64_HIGH if after else p.a[k] - 1, kind, k, k, &bar, &curve)


# wide: the arrays that a tube consists of
def assemble(
    const int64_t[::1] a, const int64_t[::1] r, const int64_t[::1] low, const int64_t[::1] high,
    int64_t drift, const int64_t[:, ::1] given, const int64_t[:, ::1] limits,
    const int64_t[:, ::1] knots,
    const double[:, ::1] smooth, const int64_t[:, ::1] runs, bint any_rates=False
):
    """The rows of a tube.

    a, r, low, high: int64 ns, one a snapshot; given, limits, knots: what `cones` gives of the
    segments, of the segments without strays, and of the runs; smooth: of `smooth_runs`; runs: (segment,
    first, last, slope, width, lone, jumps), a lone one between two others of its segment, jumps
    1 or 2 where the offset may have jumped before the next one, or did. any_rates: whether the rate may change more than once from a run to the next one of its segment.
    drift, slopes and widths in 2^-52.

    Returns:
        starts (int64, the first value of each row), bars (int64[n, 16]), their limits
        (int64[m, 16]), curves (float64[n, 4]), and cells (int64[n, 4]): what `guaranteed` needs.
    """
    cdef int64_t n = a.shape[0], m, beyond
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
    p.a, p.r, p.low, p.high = &a[0], &r[0], &low[0], &high[0]
    p.drift, p.given, p.limits = drift, &given[0, 0], &limits[0, 0]
    p.knots, p.smooth = &knots[0, 0], &smooth[0, 0]
    p.runs, p.n_runs, p.any_rates = <const Run *>&runs[0, 0], n_runs, any_rates
    table.starts, table.cells = &starts_view[0], &cells_view[0, 0]
    table.bars, table.limits = <Bar *>&bars_view[0, 0], <Bar *>&limits_view[0, 0]
    table.curves, table.n, table.n_limits = &curves_view[0, 0], 0, 0
    with nogil:
        add_ends(&table, &p, False)
        for m in range(n_runs):
            add_run(&table, &p, m)
            if m + 1 < n_runs:
                beyond = last_at_value(&p, m)
                if beyond > m:
                    add_break(&table, &p, m, beyond)
                    continue
                add_point(&table, &p, m)
                if p.runs[m].segment == p.runs[m + 1].segment or p.runs[m].jumps == MAY_JUMP:
                    add_zone(&table, &p, m)
                else:
                    add_break(&table, &p, m, m + 1)
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
