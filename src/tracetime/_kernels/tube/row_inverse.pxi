# The inverse of a line of a bar: how far along it a value of the other clock is reached.
#
# With x = t - at and D = 2^52 + slope, t + line(t) <= y says D x <= 2^52 (y - at - ns) - part.
# For whole values that gives, where q(w, below) = floor((2^52 w - below) / D):
#   the last x with t + floor(line) <= v:    q(v - at - ns + 1, part + 1)
#   the first x with t + ceil(line) >= v:    q(v - at - ns - 1, part) + 1

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


# Values of the other clock in one row of four lines, many at a time, in floats.

# One row of four lines, small enough for `along`.
cdef extern from *:
    """
    #include <math.h>

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

    /* As the search of `estimate_back` begins: from the middle two steps along the curve. */
    static inline double tt_stepped(const tt_piece *p, double x, double t, double low, double high) {
        return tt_within_bar(x - tt_whole(tt_curve(p->c, t)), low, high);
    }

    /* Values known to lie in [low, high]; lost: those that need more than these two steps, or
       whose ends are too close to a whole number to be certain. Returns whether there are any. */
    TT_CLONES
    static int tt_within_block(
        const tt_piece *piece, const tt_lines *given, const tt_row *sides,
        const int64_t *restrict values, const int64_t *restrict lows,
        const int64_t *restrict highs, int64_t n, int64_t *restrict estimate,
        int64_t *restrict earliest, int64_t *restrict latest, int64_t *restrict lost
    ) {
        const tt_piece p = *piece;
        const tt_lines k = *given;
        const tt_row row = *sides;
        const int64_t origin = p.at + p.base;
        const double first = tt_float(p.first - p.at), last = tt_float(p.last - p.at);
        int64_t any = 0;
        for (int64_t i = 0; i < n; i++) {
            const double xl = tt_float(lows[i] - origin), xh = tt_float(highs[i] - origin);
            const double h0 = xl * k.rate[0] + k.from[0], h1 = xl * k.rate[1] + k.from[1];
            const double l0 = xh * k.rate[2] + k.from[2], l1 = xh * k.rate[3] + k.from[3];
            const double high = tt_within_bar(h0 > h1 ? h0 : h1, first, last);
            const double low = tt_within_bar(l0 < l1 ? l0 : l1, first, last);
            const double e = tt_whole(high), l = tt_whole(low);
            const double x = tt_float(values[i] - origin);
            const int64_t from = tt_rounded(e), to = tt_rounded(l);
            const double middle = tt_float(from + ((to - from) >> 1));
            const double t = tt_stepped(&p, x, tt_stepped(&p, x, middle, e, l), e, l);
            const int64_t there = tt_rounded(t);
            const int64_t down0 = tt_down(&row.low[0], there), down1 = tt_down(&row.low[1], there);
            const int64_t up0 = tt_up(&row.high[0], there), up1 = tt_up(&row.high[1], there);
            const int64_t offset = tt_into(
                p.base + tt_bent(p.c, there), down1 > down0 ? down1 : down0, up1 < up0 ? up1 : up0
            );
            int64_t is_lost = 0;
            is_lost |= fabs(high - e) > k.sure ? -1 : 0;
            is_lost |= fabs(low - l) > k.sure ? -1 : 0;
            is_lost |= (p.at + there + offset != values[i] && from != to) ? -1 : 0;
            is_lost |= e > l ? -1 : 0;
            estimate[i] = p.at + there;
            earliest[i] = p.at + from;
            latest[i] = p.at + to;
            lost[i] = is_lost;
            any |= is_lost;
        }
        return any != 0;
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
    bint within_block "tt_within_block"(
        const OneRow *piece, const Lines *lines, const SmallRow *sides, const int64_t *values,
        const int64_t *lows, const int64_t *highs, int64_t n, int64_t *estimate,
        int64_t *earliest, int64_t *latest, int64_t *lost
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


cdef inline bint takes(const OneRow *row, int64_t low, int64_t high) noexcept nogil:
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
