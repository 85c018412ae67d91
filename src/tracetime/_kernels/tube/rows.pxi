# The rows of a tube in a kernel's hands: which row a value is in, and what it says there.

cdef extern from "<math.h>" nogil:
    long long llrint(double)

cdef enum:                  # of errors.REASONS
    RESOLVED = 0
    AMBIGUOUS_SOURCE = 6
    OVERFLOW = 7

# Ascending firsts of pieces that follow one another. The grid leaves out the few that begin far
# from every snapshot: with them it would be too coarse for the others.
cdef struct Pieces:
    const int64_t *starts
    int64_t n
    Grid grid
    int64_t near            # the first piece that the grid knows
    int64_t n_near

cdef struct Rows:
    Pieces pieces           # over the ordering clock
    const Bar *bars
    const Bar *limits
    const double *curves


cdef inline const int32_t[::1] take_pieces(
    Pieces *pieces, const int64_t[::1] starts, int64_t near, int64_t n_near, tuple grid
):
    """Fill in `pieces`; returns what must be kept alive with `starts`."""
    cdef const int32_t[::1] begins = grid[3]
    if near < 0 or n_near < 1 or near + n_near > starts.shape[0]:
        raise ValueError("the grid is of pieces that are there")
    pieces.starts, pieces.n = &starts[0], starts.shape[0]
    pieces.near, pieces.n_near = near, n_near
    pieces.grid.first, pieces.grid.shift, pieces.grid.steps = grid[0], grid[1], grid[2]
    pieces.grid.n_buckets = begins.shape[0] - 1
    pieces.grid.start = &begins[0]
    return begins


cdef inline int64_t piece_of(const Pieces *pieces, int64_t v) noexcept nogil:
    cdef int64_t i = 0
    if v >= pieces.grid.first:
        i = pieces.near + look_up(
            &pieces.grid, pieces.starts + pieces.near, pieces.n_near, v
        )
    while i + 1 < pieces.n and pieces.starts[i + 1] <= v:
        i += 1
    return i


cdef inline int64_t end_of(const Pieces *pieces, int64_t i) noexcept nogil:
    return pieces.starts[i + 1] - 1 if i + 1 < pieces.n else INT64_HIGH


cdef inline int64_t bent(const Bar *bar, const double *c, int64_t t) noexcept nogil:
    """The estimate's offset, before it is clamped."""
    cdef double x = <double>(t - bar.at)
    return bar.base + llrint(c[0] + x * (c[1] + x * (c[2] + x * c[3])))


cdef inline int64_t clamped(int64_t v, int64_t low, int64_t high) noexcept nogil:
    return low if v < low else high if v > high else v


cdef inline int64_t low_value(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    if rows.bars[k].mode & OPEN_LOW:
        return INT64_LOW
    return saturating_add(t, low_at(&rows.bars[k], rows.limits, t))


cdef inline int64_t high_value(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    if rows.bars[k].mode & OPEN_HIGH:
        return INT64_HIGH
    return saturating_add(t, high_at(&rows.bars[k], rows.limits, t))


cdef inline int64_t estimated_offset(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    """The estimate's offset: the curve's within the bar, or the side that is closed."""
    cdef const Bar *bar = &rows.bars[k]
    cdef int64_t open_sides = bar.mode & (OPEN_LOW | OPEN_HIGH)
    if open_sides and bar.mode & KEPT:
        return clamped(
            bent(bar, rows.curves + 4 * k, t),
            INT64_LOW if open_sides & OPEN_LOW else low_at(bar, rows.limits, t),
            INT64_HIGH if open_sides & OPEN_HIGH else high_at(bar, rows.limits, t),
        )
    if open_sides == OPEN_LOW:
        return high_at(bar, rows.limits, t)
    if open_sides == OPEN_HIGH:
        return low_at(bar, rows.limits, t)
    if open_sides:
        return bent(bar, rows.curves + 4 * k, t)
    return clamped(
        bent(bar, rows.curves + 4 * k, t), low_at(bar, rows.limits, t), high_at(bar, rows.limits, t)
    )


# Conversions through a tube, from its ordering clock: estimate, earliest and latest of values.
#
# Exact but for the estimate's curve, a float that counts ns from an integer base and is clamped
# into the bar. Sorted values are taken row by row; others find their row through a grid. The other
# direction: inverse.pxi.

cdef enum:
    LONG = 16               # values of one row that are worth preparing it for `small_run`


cdef inline uint8_t store(
    int64_t t, int64_t offset, int64_t low, int64_t high, int64_t *estimate, int64_t *earliest,
    int64_t *latest
) noexcept nogil:
    earliest[0] = saturating_add(t, low)
    latest[0] = saturating_add(t, high)
    if add_overflows(t, clamped(offset, low, high), estimate):
        estimate[0] = saturating_add(t, clamped(offset, low, high))
        return OVERFLOW
    return RESOLVED


# wide: the arrays of one loop without the GIL
cdef int64_t plain_run(
    const Bar *bar, const double *c, const int64_t *values, int64_t n, int64_t first,
    int64_t last, int64_t *estimate, int64_t *earliest, int64_t *latest, uint8_t *status
) noexcept nogil:
    """The leading values within [first, last], for a bar of two lines a side that has no limit."""
    cdef Line low0 = bar.low[0], low1 = bar.low[1], high0 = bar.high[0], high1 = bar.high[1]
    cdef int64_t at = bar.at, base = bar.base, i, t, x, low, high, other, offset
    cdef double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], d
    for i in range(n):
        t = values[i]
        if t < first or t > last:
            return i
        x = t - at
        low, other = floor_at(&low0, x), floor_at(&low1, x)
        low = other if other > low else low
        high, other = ceil_at(&high0, x), ceil_at(&high1, x)
        high = other if other < high else high
        d = <double>x
        offset = base + llrint(c0 + d * (c1 + d * (c2 + d * c3)))
        status[i] = store(t, offset, low, high, &estimate[i], &earliest[i], &latest[i])
    return n


cdef extern from *:
    """
    TT_CLONES
    static void tt_convert_block(
        const tt_row *row, const int64_t *restrict values, int64_t n,
        int64_t *restrict estimate, int64_t *restrict earliest, int64_t *restrict latest
    ) {
        const tt_row p = *row;
        for (int64_t i = 0; i < n; i++) {
            const int64_t t = values[i], x = t - p.at;
            const int64_t low0 = tt_down(&p.low[0], x), low1 = tt_down(&p.low[1], x);
            const int64_t high0 = tt_up(&p.high[0], x), high1 = tt_up(&p.high[1], x);
            const int64_t low = low1 > low0 ? low1 : low0;
            const int64_t high = high1 < high0 ? high1 : high0;
            estimate[i] = t + tt_into(p.base + tt_bent(p.c, x), low, high);
            earliest[i] = t + low;
            latest[i] = t + high;
        }
    }
    """
    void convert_block "tt_convert_block"(
        const SmallRow *row, const int64_t *values, int64_t n, int64_t *estimate,
        int64_t *earliest, int64_t *latest
    ) nogil


# wide: the arrays of one loop without the GIL
cdef int64_t small_run(
    const Bar *bar, const double *c, const int64_t *values, int64_t n, int64_t first,
    int64_t last, int64_t *estimate, int64_t *earliest, int64_t *latest, uint8_t *status
) noexcept nogil:
    """As `plain_run`, for many values of a row that is small."""
    cdef int64_t done = 0, many
    cdef SmallRow row = small_row(bar, c)
    while True:
        many = leading(values + done, n - done, first, last)
        if many == 0:
            return done
        convert_block(
            &row, values + done, many, estimate + done, earliest + done, latest + done
        )
        memset(status + done, RESOLVED, many)
        done += many


# wide: the arrays of one loop without the GIL
cdef int64_t open_run(
    const Rows *rows, int64_t k, const int64_t *values, int64_t n, int64_t first, int64_t last,
    int64_t *estimate, int64_t *earliest, int64_t *latest, uint8_t *status
) noexcept nogil:
    """The leading values within [first, last], for a row k with an open side."""
    cdef int64_t i, t, offset
    for i in range(n):
        t = values[i]
        if t < first or t > last:
            return i
        offset = estimated_offset(rows, k, t)
        earliest[i], latest[i] = low_value(rows, k, t), high_value(rows, k, t)
        status[i] = RESOLVED
        if add_overflows(t, offset, &estimate[i]):
            estimate[i] = saturating_add(t, offset)
            status[i] = OVERFLOW
    return n


cdef void convert_array(
    const Rows *rows, const int64_t *values, int64_t n, int64_t *estimate, int64_t *earliest,
    int64_t *latest, uint8_t *status
) noexcept nogil:
    cdef int64_t i = 0, k, first, last, t, run
    cdef const Bar *bar
    while i < n:
        k = piece_of(&rows.pieces, values[i])
        bar = &rows.bars[k]
        first, last = rows.pieces.starts[k], end_of(&rows.pieces, k)
        if (
            i + LONG <= n and first <= values[i + LONG - 1] <= last
            and is_small(bar, rows.curves + 4 * k, first, last)
        ):
            i += small_run(
                bar, rows.curves + 4 * k, values + i, n - i, first, last, estimate + i,
                earliest + i, latest + i, status + i,
            )
            continue
        if bar.mode == 0:
            i += plain_run(
                bar, rows.curves + 4 * k, values + i, n - i, first, last, estimate + i,
                earliest + i, latest + i, status + i,
            )
            continue
        if bar.mode & (OPEN_LOW | OPEN_HIGH):
            i += open_run(
                rows, k, values + i, n - i, first, last, estimate + i, earliest + i, latest + i,
                status + i,
            )
            continue
        while i < n and first <= values[i] <= last:
            t = values[i]
            status[i] = store(
                t, bent(bar, rows.curves + 4 * k, t), low_at(bar, rows.limits, t),
                high_at(bar, rows.limits, t), &estimate[i], &earliest[i], &latest[i],
            )
            i += 1


# wide: the arrays of one loop without the GIL
cdef void hop_array(
    const Rows *rows, const int64_t *fall_to, const int64_t *rise_from, const int64_t *lows,
    const int64_t *highs, int64_t n, int64_t *earliest, int64_t *latest
) noexcept nogil:
    """The bars over whole intervals [low, high] of the source.

    In a row, t + low(t) and t + high(t) never fall, so that only rows' borders matter: those lower
    than any before (fall_to: the next row that starts lower) and higher than any after (rise_from:
    the last row before that ends higher).
    """
    cdef int64_t i, first, last, k, best
    for i in range(n):
        first = piece_of(&rows.pieces, lows[i])
        last = first
        if highs[i] > end_of(&rows.pieces, first):
            last = piece_of(&rows.pieces, highs[i])
        best = low_value(rows, first, lows[i])
        if last > first:
            k = first + 1
            while fall_to[k] <= last:
                k = fall_to[k]
            best = min(best, low_value(rows, k, rows.pieces.starts[k]))
        earliest[i] = best
        best = high_value(rows, last, highs[i])
        if last > first:
            k = last - 1
            while rise_from[k] >= first:
                k = rise_from[k]
            best = max(best, high_value(rows, k, end_of(&rows.pieces, k)))
        latest[i] = best


cdef class RowTable:
    """The rows of a tube, ready to convert.

    starts: int64[n]; bars: int64[n, 16]; limits: int64[m, 16]; curves: float64[n, 4], as
    `assemble` gives them; near, n_near, grid: which rows the grid knows, and `make_grid` of
    their starts.
    """

    cdef Rows rows
    cdef object kept
    cdef const int64_t[::1] fall_to, rise_from
    cdef bint is_indexed

    def __init__(
        self, const int64_t[::1] starts, const int64_t[:, ::1] bars,
        const int64_t[:, ::1] limits, const double[:, ::1] curves, int64_t near, int64_t n_near,
        tuple grid
    ):
        cdef int64_t n = starts.shape[0]
        if not n == bars.shape[0] == curves.shape[0] or n == 0:
            raise ValueError("one bar and one curve a row")
        if bars.shape[1] != 16 or limits.shape[1] != 16 or curves.shape[1] != 4:
            raise ValueError("a bar has 16 words, a curve 4")
        kept = take_pieces(&self.rows.pieces, starts, near, n_near, grid)
        self.rows.bars = <const Bar *>&bars[0, 0]
        self.rows.limits = <const Bar *>&limits[0, 0] if limits.shape[0] else NULL
        self.rows.curves = &curves[0, 0]
        self.kept = [starts, bars, limits, curves, kept]

    def borders(self):
        """(n, 2) int64: the low side at each row's start, the high side at its end."""
        cdef int64_t k, n = self.rows.pieces.n
        out = np.empty((n, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        with nogil:
            for k in range(n):
                view[k, 0] = low_value(&self.rows, k, self.rows.pieces.starts[k])
                view[k, 1] = high_value(&self.rows, k, end_of(&self.rows.pieces, k))
        return out

    def _index(self):
        """Find for each row the next that starts lower, and the last before that ends higher."""
        cdef int64_t k, j, n = self.rows.pieces.n
        fall_to, rise_from = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cdef int64_t[::1] falls = fall_to, rises = rise_from
        cdef int64_t[:, ::1] edges = self.borders()
        with nogil:
            for k in range(n - 1, -1, -1):
                j = k + 1
                while j < n and edges[j, 0] >= edges[k, 0]:
                    j = falls[j]
                falls[k] = j
            for k in range(n):
                j = k - 1
                while j >= 0 and edges[j, 1] <= edges[k, 1]:
                    j = rises[j]
                rises[k] = j
        self.fall_to, self.rise_from, self.is_indexed = fall_to, rise_from, True

    def convert(
        self, const int64_t[::1] values, int64_t[::1] estimate, int64_t[::1] earliest,
        int64_t[::1] latest, uint8_t[::1] status
    ):
        """Values of the ordering clock to the other one; all arrays of one length."""
        cdef int64_t n = values.shape[0]
        if not n == estimate.shape[0] == earliest.shape[0] == latest.shape[0] == status.shape[0]:
            raise ValueError("arrays of one length")
        if n == 0:
            return
        with nogil:
            convert_array(
                &self.rows, &values[0], n, &estimate[0], &earliest[0], &latest[0], &status[0]
            )

    def hop(
        self, const int64_t[::1] lows, const int64_t[::1] highs, int64_t[::1] earliest,
        int64_t[::1] latest
    ):
        """The bars over the intervals [low, high], low <= high."""
        cdef int64_t n = lows.shape[0]
        if not n == highs.shape[0] == earliest.shape[0] == latest.shape[0]:
            raise ValueError("arrays of one length")
        if n == 0:
            return
        if not self.is_indexed:
            self._index()
        # Held here: another thread may index at the same time.
        cdef const int64_t[::1] falls = self.fall_to, rises = self.rise_from
        with nogil:
            hop_array(
                &self.rows, &falls[0], &rises[0], &lows[0], &highs[0], n, &earliest[0],
                &latest[0],
            )
