# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Conversions through a tube, to its ordering clock: the exact inverse of tube.pyx.

The earliest source of a value is the first whose bar reaches it, the latest the last whose bar
does. In a row, t + low(t) and t + high(t) never fall; across rows they may. So the values of the
other clock are cut into pieces in which the row of the first and the row of the last stay the
same. In nearly all pieces that is one row of four lines, and many values of such a piece are
converted at a time.
"""

from libc.math cimport fabs
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

import numpy as np

from tracetime._kernels.tube.bar cimport HULL, LIMITED, OPEN_HIGH, OPEN_LOW, Bar
from tracetime._kernels.tube.vectors cimport NEAR, is_small, leading
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, saturating_add
from tracetime._kernels.tube.line_inverse cimport (
    InverseLine, first_above, first_inverse, is_near, last_below, last_inverse,
)
from tracetime._kernels.tube.tube cimport (
    AMBIGUOUS_SOURCE, RESOLVED, Pieces, Rows, RowTable, bent, clamped, end_of, estimated_offset,
    piece_of, take_pieces,
)

cdef enum:
    SHORT_RUN = 4           # below this a value's piece is looked up on its own
    LOOKUPS = 64            # values looked up before a run is tried again

cdef enum:                  # kinds of pieces
    PLAIN = 0
    ONE_SMALL_ROW = 1       # in one row of four lines, small enough for `invert`
    AMBIGUOUS = 2           # of two instants

# One row of four lines, small enough for `along`.
cdef extern from *:
    """
    typedef struct {
        tt_inverse_line high[2];    /* where a value is reached first */
        tt_inverse_line low[2];     /* and last */
        int64_t at;
        int64_t first;
        int64_t last;
        int64_t base;
        double c[4];
        double back;        /* 1 / (1 + c[1]) */
    } tt_piece;

    /* Where the estimate is x: distances from the anchor, the value's from anchor and base on. From
       the middle of the bar one step along the row's own slope; the next step shows whether that
       was enough. Whole numbers in floats, which every vector unit has. */
    static inline double tt_curve(const double *c, double d) {
        return c[0] + d * (c[1] + d * (c[2] + d * c[3]));
    }

    static inline double tt_whole(double d) {
        return (d + TT_SHIFTER) - TT_SHIFTER;
    }

    static inline double tt_within_bar(double d, double low, double high) {
        d = d < low ? low : d;
        return d > high ? high : d;
    }

    static inline double tt_nearest(const tt_piece *p, double x, double low, double high) {
        const double middle = (low + high) * 0.5;
        const double missed = (x - tt_curve(p->c, middle)) - middle;
        return tt_within_bar(tt_whole(middle + missed * p->back), low, high);
    }

    static inline double tt_missed(const tt_piece *p, double x, double t) {
        return (x - tt_whole(tt_curve(p->c, t))) - t;
    }

    /* Returns 1 where one step was not enough, or no instant's bar holds v. */
    static inline int tt_invert(
        const tt_piece *p, int64_t v, int64_t *estimate, int64_t *earliest, int64_t *latest
    ) {
        int64_t e = tt_along(&p->high[0], v - p->high[0].from);
        int64_t l = tt_along(&p->low[0], v - p->low[0].from);
        int64_t other = tt_along(&p->high[1], v - p->high[1].from);
        const double x = tt_float(v - p->at - p->base);
        double t;
        e = (other > e ? other : e) + 1;
        other = tt_along(&p->low[1], v - p->low[1].from);
        l = other < l ? other : l;
        e = tt_into(e, p->first - p->at, p->last - p->at);
        l = tt_into(l, p->first - p->at, p->last - p->at);
        t = tt_nearest(p, x, tt_float(e), tt_float(l));
        *estimate = p->at + tt_rounded(t);
        *earliest = p->at + e;
        *latest = p->at + l;
        return tt_missed(p, x, t) != 0 || e > l;
    }

    /* The lines of a row whose distances are below 2^40, in floats alone. */
    typedef struct {
        double rate[4];     /* high, high, low, low: */
        double from[4];     /* rate * x + from is what is to be rounded */
        double sure;        /* rounding is certain this close to a whole number */
    } tt_lines;

    static inline int tt_make_lines(const tt_piece *p, double reach, tt_lines *out) {
        const int64_t origin = p->at + p->base;
        double apart, most = 0;
        for (int i = 0; i < 4; i++) {
            const tt_inverse_line *s = i < 2 ? &p->high[i] : &p->low[i - 2];
            const int64_t gap = origin - s->from;
            if (gap >= (INT64_C(1) << 40) || gap <= -(INT64_C(1) << 40))
                return 0;
            apart = gap < 0 ? -(double)gap : (double)gap;
            most = apart > most ? apart : most;
            out->rate[i] = s->rate;
            out->from[i] = ((double)gap * s->rate - s->lead) + (i < 2 ? 0.5 : -0.5);
        }
        /* Five roundings of what is below 4/3 of that, each by 2^-53 of it. */
        out->sure = 0.5 - (reach + most + 4) * 0x1p-50;
        return reach < 0x1p40;
    }

    TT_CLONES
    static int tt_invert_block(
        const tt_piece *piece, const tt_lines *given, const int64_t *restrict values, int64_t n,
        int64_t *restrict estimate, int64_t *restrict earliest, int64_t *restrict latest
    ) {
        const tt_piece p = *piece;
        const tt_lines k = *given;
        const int64_t origin = p.at + p.base;
        const double first = tt_float(p.first - p.at), last = tt_float(p.last - p.at);
        int64_t lost = 0;
        for (int64_t i = 0; i < n; i++) {
            const double x = tt_float(values[i] - origin);
            const double h0 = x * k.rate[0] + k.from[0], h1 = x * k.rate[1] + k.from[1];
            const double l0 = x * k.rate[2] + k.from[2], l1 = x * k.rate[3] + k.from[3];
            const double high = tt_within_bar(h0 > h1 ? h0 : h1, first, last);
            const double low = tt_within_bar(l0 < l1 ? l0 : l1, first, last);
            const double e = tt_whole(high), l = tt_whole(low);
            const double t = tt_nearest(&p, x, e, l);
            lost |= fabs(high - e) > k.sure ? -1 : 0;
            lost |= fabs(low - l) > k.sure ? -1 : 0;
            lost |= tt_missed(&p, x, t) != 0 ? -1 : 0;
            lost |= e > l ? -1 : 0;
            estimate[i] = p.at + tt_rounded(t);
            earliest[i] = p.at + tt_rounded(e);
            latest[i] = p.at + tt_rounded(l);
        }
        return lost != 0;
    }
    """
    ctypedef struct OneRow "tt_piece":
        InverseLine high[2]
        InverseLine low[2]
        int64_t at
        int64_t first
        int64_t last
        int64_t base
        double c[4]
        double back

    ctypedef struct Lines "tt_lines":
        pass

    bint make_lines "tt_make_lines"(const OneRow *piece, double reach, Lines *out) nogil
    bint invert "tt_invert"(
        const OneRow *piece, int64_t v, int64_t *estimate, int64_t *earliest, int64_t *latest
    ) nogil
    bint invert_block "tt_invert_block"(
        const OneRow *piece, const Lines *lines, const int64_t *values, int64_t n,
        int64_t *estimate, int64_t *earliest, int64_t *latest
    ) nogil


cdef inline OneRow one_row(
    const Bar *bar, const double *c, int64_t first, int64_t last
) noexcept nogil:
    cdef OneRow out
    out.high[0] = first_inverse(&bar.high[0], bar.at)
    out.high[1] = first_inverse(&bar.high[1], bar.at)
    out.low[0] = last_inverse(&bar.low[0], bar.at)
    out.low[1] = last_inverse(&bar.low[1], bar.at)
    out.c[0], out.c[1], out.c[2], out.c[3] = c[0], c[1], c[2], c[3]
    out.at, out.first, out.last, out.base = bar.at, first, last, bar.base
    out.back = 1.0 / (1.0 + c[1])
    return out


cdef bint takes(const OneRow *row, int64_t low, int64_t high) noexcept nogil:
    """Whether `invert` takes the values low..high of a small row."""
    cdef int side
    if not (-NEAR < low and high < NEAR):
        return False
    for side in range(2):
        if not (
            is_near(low - row.low[side].origin) and is_near(high - row.low[side].origin)
            and is_near(low - row.high[side].origin) and is_near(high - row.high[side].origin)
        ):
            return False
    return True


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
    if latest == INT64_HIGH and rows.bars[k].mode & OPEN_LOW:
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


cdef void invert_intervals(
    const Inverse *inverse, const int64_t *values, const int64_t *lows, const int64_t *highs,
    int64_t n, const Out *out
) noexcept nogil:
    cdef const Pieces *pieces = &inverse.pieces
    cdef int64_t i
    for i in range(n):
        invert_within(
            inverse, i, values[i], lows[i], highs[i], piece_of(pieces, values[i]),
            piece_of(pieces, lows[i]), piece_of(pieces, highs[i]), out,
        )


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
            with nogil:
                invert_intervals(&self.inverse, &values[0], &lows[0], &highs[0], n, &out)
