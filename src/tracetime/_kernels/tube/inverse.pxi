# Conversions through a tube, to its ordering clock: the exact inverse of rows.pxi.
#
# The earliest source of a value is the first whose bar reaches it, the latest the last whose bar
# does. In a row, t + low(t) and t + high(t) never fall; across rows they may. So the values of the
# other clock are cut into pieces in which the row of the first and the row of the last stay the
# same. In nearly all pieces that is one row of four lines, and many values of such a piece are
# converted at a time.

cdef enum:
    SHORT_RUN = 4           # below this a value's piece is looked up on its own
    LOOKUPS = 64            # values looked up before a run is tried again

cdef enum:                  # kinds of pieces
    PLAIN = 0
    ONE_SMALL_ROW = 1       # in one row of four lines, small enough for `invert`
    AMBIGUOUS = 2           # of two instants


cdef int64_t earliest_in(
    const Bar *bar, const Bar *limits, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The first t in a row whose bar reaches v, or the row's end."""
    cdef int64_t one, two
    if bar.mode & OPEN_HIGH:
        return first
    one = first_above(&bar.high[0], bar.at, v, first, last)
    two = first_above(&bar.high[1], bar.at, v, first, last)
    if (two < one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = earliest_in(&limits[bar.limit], limits, v, first, last)
        one = two if two > one else one
    return one


cdef int64_t latest_in(
    const Bar *bar, const Bar *limits, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The last t in a row whose bar is not above v, or the row's start."""
    cdef int64_t one, two
    if bar.mode & OPEN_LOW:
        return last
    one = last_below(&bar.low[0], bar.at, v, first, last)
    two = last_below(&bar.low[1], bar.at, v, first, last)
    if (two > one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = latest_in(&limits[bar.limit], limits, v, first, last)
        one = two if two < one else one
    return one


cdef inline int64_t estimated(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    return saturating_add(t, estimated_offset(rows, k, t))


cdef int64_t estimate_back(
    const Rows *rows, int64_t v, int64_t earliest, int64_t latest, int64_t near
) noexcept nogil:
    """Where in [earliest, latest] the estimate is v, or passes it; the search starts at `near`."""
    cdef int64_t low = earliest, high = latest, k = near, value, t, tries = 0
    cdef int64_t first = rows.pieces.starts[k], last = end_of(&rows.pieces, k)
    t = low + <int64_t>((<uint64_t>high - <uint64_t>low) >> 1)
    # Inside one row, the curve alone says where to begin.
    while tries < 2 and first <= t <= last and -NEAR < v < NEAR and -NEAR < t < NEAR:
        t = clamped(v - bent(&rows.bars[k], rows.curves + 4 * k, t), low, high)
        tries += 1
    tries = 0
    while low < high:
        if not rows.pieces.starts[k] <= t <= end_of(&rows.pieces, k):
            k = piece_of(&rows.pieces, t)
        value = estimated(rows, k, t)
        if value == v:
            return t
        if value < v:
            low = t + 1
        else:
            high = t
        # The estimate runs almost as fast as t: its miss says where to look. Where it jumps, halve.
        tries += 1
        if tries < 8:
            t = saturating_add(t, saturating_add(v, -value if value != INT64_LOW else INT64_HIGH))
        else:
            t = low + <int64_t>((<uint64_t>high - <uint64_t>low) >> 1)
        t = clamped(t, low, high)
    return min(low, latest)


cdef struct Out:
    int64_t *estimate
    int64_t *earliest
    int64_t *latest
    uint8_t *status

cdef struct Inverse:
    const Rows *rows
    Pieces pieces           # over the other clock
    const int64_t *cells    # of each piece: the row of the first source, and of the last
    const uint8_t *kinds


# wide: the arrays of one loop without the GIL
cdef void invert_within(
    const Inverse *inverse, int64_t i, int64_t v, int64_t low, int64_t high, int64_t piece,
    int64_t low_piece, int64_t high_piece, const Out *out
) noexcept nogil:
    """A value known to lie in [low, high]."""
    cdef const Rows *rows = inverse.rows
    cdef int64_t k = inverse.cells[2 * low_piece], m = inverse.cells[2 * high_piece + 1]
    cdef int64_t earliest = earliest_in(
        &rows.bars[k], rows.limits, low, rows.pieces.starts[k], end_of(&rows.pieces, k)
    )
    cdef int64_t latest = latest_in(
        &rows.bars[m], rows.limits, high, rows.pieces.starts[m], end_of(&rows.pieces, m)
    )
    if earliest > latest:
        earliest, latest = latest, earliest
    out.earliest[i], out.latest[i] = earliest, latest
    if inverse.kinds[piece] == AMBIGUOUS:
        out.estimate[i], out.status[i] = 0, AMBIGUOUS_SOURCE
        return
    if rows.bars[k].mode & KEPT:
        out.estimate[i] = estimate_back(rows, v, earliest, latest, k)
    elif latest == INT64_HIGH and rows.bars[k].mode & OPEN_LOW:
        out.estimate[i] = earliest
    elif earliest == INT64_LOW and rows.bars[m].mode & OPEN_HIGH:
        out.estimate[i] = latest
    else:
        out.estimate[i] = estimate_back(rows, v, earliest, latest, k)
    out.status[i] = RESOLVED


cdef inline void invert_one(
    const Inverse *inverse, int64_t i, int64_t v, int64_t piece, const Out *out
) noexcept nogil:
    invert_within(inverse, i, v, v, v, piece, piece, piece, out)


cdef inline OneRow row_of(const Inverse *inverse, int64_t p) noexcept nogil:
    """The row of a piece that is ONE_SMALL_ROW."""
    cdef const Rows *rows = inverse.rows
    cdef int64_t k = inverse.cells[2 * p]
    return one_row(
        &rows.bars[k], rows.curves + 4 * k, rows.pieces.starts[k], end_of(&rows.pieces, k)
    )


cdef inline void invert_in(
    const Inverse *inverse, const OneRow *row, int64_t i, int64_t v, int64_t piece, const Out *out
) noexcept nogil:
    """A value of a piece that is ONE_SMALL_ROW."""
    if invert(row, v, &out.estimate[i], &out.earliest[i], &out.latest[i]):
        invert_one(inverse, i, v, piece, out)
    else:
        out.status[i] = RESOLVED


cdef inline double reach_of(const OneRow *row, int64_t low, int64_t high) noexcept nogil:
    """How far values low..high of a small row are from its anchor and base at most."""
    cdef int64_t origin = row.at + row.base
    return max(fabs(<double>(low - origin)), fabs(<double>(high - origin)))


cdef void look_up_each(
    const Inverse *inverse, const int64_t *values, int64_t first, int64_t end, const Out *out
) noexcept nogil:
    """Values first..end, each of a piece of its own."""
    cdef int64_t i, p
    cdef OneRow row
    for i in range(first, end):
        p = piece_of(&inverse.pieces, values[i])
        if inverse.kinds[p] == ONE_SMALL_ROW:
            row = row_of(inverse, p)
            invert_in(inverse, &row, i, values[i], p, out)
        else:
            invert_one(inverse, i, values[i], p, out)


cdef void invert_array(
    const Inverse *inverse, const int64_t *values, int64_t n, const Out *out
) noexcept nogil:
    cdef int64_t i = 0, j, p, first, last, many
    cdef OneRow row
    cdef Lines lines
    cdef bint plain
    while i < n:
        p = piece_of(&inverse.pieces, values[i])
        first, last = inverse.pieces.starts[p], end_of(&inverse.pieces, p)
        many = leading(values + i, n - i, first, last)
        if many < SHORT_RUN:
            j = min(n, i + LOOKUPS)
            look_up_each(inverse, values, i, j, out)
            i = j
            continue
        if inverse.kinds[p] != ONE_SMALL_ROW:
            for j in range(i, i + many):
                invert_one(inverse, j, values[j], p, out)
            i += many
            continue
        row = row_of(inverse, p)
        plain = make_lines(&row, reach_of(&row, first, last), &lines)
        while many:
            if not plain or invert_block(
                &row, &lines, values + i, many, out.estimate + i, out.earliest + i, out.latest + i
            ):
                for j in range(i, i + many):
                    invert_in(inverse, &row, j, values[j], p, out)
            else:
                memset(out.status + i, RESOLVED, many)
            i += many
            many = leading(values + i, n - i, first, last)


cdef struct Intervals:
    const int64_t *values
    const int64_t *lows
    const int64_t *highs
    int64_t n


cdef inline int64_t leading_within(
    const Intervals *all, int64_t i, int64_t first, int64_t last
) noexcept nogil:
    """How many values from i on lie, with their intervals, in [first, last]."""
    cdef int64_t many = leading(all.values + i, all.n - i, first, last)
    many = min(many, leading(all.lows + i, many, first, last))
    return min(many, leading(all.highs + i, many, first, last))


cdef void invert_run_within(
    const Inverse *inverse, const Intervals *all, int64_t i, int64_t many, int64_t p,
    const Lines *lines, const Out *out
) noexcept nogil:
    """Values i..i+many, BLOCK at most, of piece p, which is ONE_SMALL_ROW."""
    cdef int64_t[BLOCK] lost
    cdef int64_t j, k = inverse.cells[2 * p]
    cdef OneRow row = row_of(inverse, p)
    cdef SmallRow sides = small_row(&inverse.rows.bars[k], inverse.rows.curves + 4 * k)
    memset(out.status + i, RESOLVED, many)
    if not within_block(
        &row, lines, &sides, all.values + i, all.lows + i, all.highs + i, many,
        out.estimate + i, out.earliest + i, out.latest + i, lost
    ):
        return
    for j in range(many):
        if lost[j]:
            invert_within(
                inverse, i + j, all.values[i + j], all.lows[i + j], all.highs[i + j], p, p, p, out
            )


cdef void invert_intervals(
    const Inverse *inverse, const Intervals *all, const Out *out
) noexcept nogil:
    cdef const Pieces *pieces = &inverse.pieces
    cdef int64_t i = 0, p, first, last, many
    cdef OneRow row
    cdef Lines lines
    while i < all.n:
        p = piece_of(pieces, all.values[i])
        if inverse.kinds[p] == ONE_SMALL_ROW:
            first, last = pieces.starts[p], end_of(pieces, p)
            many = leading_within(all, i, first, last)
            row = row_of(inverse, p)
            if many >= SHORT_RUN and make_lines(&row, reach_of(&row, first, last), &lines):
                while many:
                    invert_run_within(inverse, all, i, many, p, &lines, out)
                    i += many
                    many = leading_within(all, i, first, last)
                continue
        invert_within(
            inverse, i, all.values[i], all.lows[i], all.highs[i], p,
            piece_of(pieces, all.lows[i]), piece_of(pieces, all.highs[i]), out,
        )
        i += 1


cdef class InverseTable:
    """The rows of a tube, ready to convert values of the other clock to the ordering one.

    starts: int64[n], ascending from INT64_MIN, the first value of each piece of the other clock;
    cells: int64[n, 2], the first row that reaches the piece's values and the last that is not
    above them; ambiguous: uint8[n], 1 where two instants may have had its values; near, n_near,
    grid: which pieces the grid knows, and `make_grid` of their starts.
    """

    cdef RowTable table     # which keeps the rows
    cdef Inverse inverse
    cdef object kept

    def __init__(
        self, RowTable table, const int64_t[::1] starts, const int64_t[:, ::1] cells,
        const uint8_t[::1] ambiguous, int64_t near, int64_t n_near, tuple grid
    ):
        cdef int64_t n = starts.shape[0], p, k, n_rows = table.rows.pieces.n
        cdef const Rows *rows = &table.rows
        if not n == cells.shape[0] == ambiguous.shape[0] or n == 0 or cells.shape[1] != 2:
            raise ValueError("two rows a piece")
        kinds = np.zeros(n, dtype=np.uint8)
        cdef uint8_t[::1] view = kinds
        cdef OneRow row
        kept = take_pieces(&self.inverse.pieces, starts, near, n_near, grid)
        self.table, self.inverse.rows = table, rows
        self.inverse.cells, self.inverse.kinds = &cells[0, 0], &view[0]
        for p in range(n):
            k = cells[p, 0]
            if not (0 <= k < n_rows and 0 <= cells[p, 1] < n_rows):
                raise ValueError("rows that are there")
            if ambiguous[p]:
                view[p] = AMBIGUOUS
            elif k == cells[p, 1] and is_small(
                &rows.bars[k], rows.curves + 4 * k, rows.pieces.starts[k], end_of(&rows.pieces, k)
            ):
                row = row_of(&self.inverse, p)
                if takes(&row, starts[p], end_of(&self.inverse.pieces, p)):
                    view[p] = ONE_SMALL_ROW
        self.kept = [starts, cells, kinds, kept]

    def invert(
        self, const int64_t[::1] values, const int64_t[::1] lows, const int64_t[::1] highs,
        int64_t[::1] estimate, int64_t[::1] earliest, int64_t[::1] latest, uint8_t[::1] status
    ):
        """Values of the other clock, each known to lie in [low, high] where lows is not None."""
        cdef int64_t n = values.shape[0]
        cdef Out out
        cdef Intervals all
        if not n == estimate.shape[0] == earliest.shape[0] == latest.shape[0] == status.shape[0]:
            raise ValueError("arrays of one length")
        if lows is not None and not n == lows.shape[0] == highs.shape[0]:
            raise ValueError("arrays of one length")
        if n == 0:
            return
        out.estimate, out.earliest, out.latest = &estimate[0], &earliest[0], &latest[0]
        out.status = &status[0]
        if lows is None:
            with nogil:
                invert_array(&self.inverse, &values[0], n, &out)
        else:
            all.values, all.lows, all.highs, all.n = &values[0], &lows[0], &highs[0], n
            with nogil:
                invert_intervals(&self.inverse, &all, &out)
