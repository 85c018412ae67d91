# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Conversions through a tube: estimate, earliest and latest of every value, both directions.

Exact but for the estimate's curve, a float that counts ns from an integer base and is clamped
into the bar. Sorted values are taken row by row; others find their row through a grid.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

import numpy as np

from tracetime._kernels.bar cimport (
    HULL, LIMITED, Bar, Line, ceil_at, ceil_line, floor_at, floor_line, high_at, low_at,
)
from tracetime._kernels.fixed cimport BITS, int128, join, quotient
from tracetime._kernels.grid cimport Grid, look_up
from tracetime._kernels.memory cimport INT64_HIGH, INT64_LOW, add_overflows, saturating_add

cdef extern from "<math.h>" nogil:
    long long llrint(double)

cdef enum:                  # of errors.REASONS
    RESOLVED = 0
    AMBIGUOUS_SOURCE = 6
    OVERFLOW = 7

cdef enum:
    LONG = 64               # values of one row that are worth splitting it at its crossings

cdef int64_t ONE = <int64_t>1 << BITS
cdef int64_t NEAR = <int64_t>1 << 61  # sums of such values and offsets fit in int64

cdef struct Rows:
    const int64_t *starts
    int64_t n
    const Bar *bars
    const Bar *limits
    const double *curves
    Grid grid
    int64_t near            # the first row that the grid knows
    int64_t n_near

cdef struct Index:
    const int64_t *values   # ascending
    int64_t n
    Grid grid


cdef const int32_t[::1] open_grid(Grid *grid, tuple parts):
    cdef const int32_t[::1] starts = parts[3]
    grid.first, grid.shift, grid.steps = parts[0], parts[1], parts[2]
    grid.n_buckets = starts.shape[0] - 1
    grid.start = &starts[0]
    return starts


cdef inline int64_t row_of(const Rows *rows, int64_t t) noexcept nogil:
    cdef int64_t i
    if t < rows.grid.first:
        i = 0
    else:
        i = rows.near + look_up(&rows.grid, rows.starts + rows.near, rows.n_near, t)
    # The grid leaves out the few rows far from every snapshot.
    while i + 1 < rows.n and rows.starts[i + 1] <= t:
        i += 1
    return i


cdef inline int64_t end_of(const Rows *rows, int64_t i) noexcept nogil:
    return rows.starts[i + 1] - 1 if i + 1 < rows.n else INT64_HIGH


cdef inline int64_t bent(const Bar *bar, const double *c, int64_t t) noexcept nogil:
    """The estimate's offset, before it is clamped."""
    cdef double x = <double>(t - bar.at)
    return bar.base + llrint(c[0] + x * (c[1] + x * (c[2] + x * c[3])))


cdef inline int64_t clamped(int64_t v, int64_t low, int64_t high) noexcept nogil:
    return low if v < low else high if v > high else v


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


cdef int64_t straight_run(
    Line low, Line high, int64_t at, int64_t base, const double *c, const int64_t *values,
    int64_t n, int64_t first, int64_t last, int64_t *estimate, int64_t *earliest,
    int64_t *latest, uint8_t *status
) noexcept nogil:
    """The leading values within [first, last], for one line a side and no sum that overflows."""
    cdef int64_t i, t, x, down, up, offset
    cdef uint64_t width
    cdef double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3], d
    if first > last:
        return 0
    width = <uint64_t>last - <uint64_t>first
    for i in range(n):
        t = values[i]
        if <uint64_t>t - <uint64_t>first > width:
            return i
        x = t - at
        down = floor_line(low.ns, low.part, low.slope, x)
        up = ceil_line(high.ns, high.part, high.slope, x)
        d = <double>x
        offset = base + llrint(c0 + d * (c1 + d * (c2 + d * c3)))
        offset = down if offset < down else offset
        offset = up if offset > up else offset
        estimate[i], earliest[i], latest[i], status[i] = t + offset, t + down, t + up, RESOLVED
    return n


cdef int64_t crossing(const Line *one, const Line *two, int64_t at, int64_t last) noexcept nogil:
    """The last t up to which the flatter line `one` is not below `two`; before `at` if none is."""
    cdef int128 ahead = join(one.ns, one.part) - join(two.ns, two.part)
    cdef int128 gain = <int128>two.slope - <int128>one.slope
    if ahead < 0:
        return at - 1
    if gain <= 0 or ahead >= gain * <int128>(<uint64_t>last - <uint64_t>at):
        return last
    return at + quotient(ahead, gain)


cdef int64_t long_run(
    const Bar *bar, const double *c, const int64_t *values, int64_t n, int64_t first,
    int64_t last, int64_t *estimate, int64_t *earliest, int64_t *latest, uint8_t *status
) noexcept nogil:
    """As `plain_run`, for many values of a row that begins at its anchor: line by line."""
    cdef int64_t low_to = crossing(&bar.low[0], &bar.low[1], bar.at, last), high_to
    cdef int64_t done = 0, piece, start, stop
    cdef Line low, high
    # The high sides in the other order: there `one` is the one not above before they cross.
    cdef Line flat = bar.high[0], steep = bar.high[1]
    flat.ns, flat.part, flat.slope = -flat.ns, -flat.part, -flat.slope
    steep.ns, steep.part, steep.slope = -steep.ns, -steep.part, -steep.slope
    high_to = crossing(&flat, &steep, bar.at, last)
    start = first
    for piece in range(3):
        stop = min(low_to, high_to) if piece == 0 else max(low_to, high_to) if piece == 1 else last
        low = bar.low[0] if start <= low_to else bar.low[1]
        high = bar.high[0] if start <= high_to else bar.high[1]
        done += straight_run(
            low, high, bar.at, bar.base, c, values + done, n - done, start, stop,
            estimate + done, earliest + done, latest + done, status + done,
        )
        start = max(start, stop + 1)
    return done


cdef void convert_array(
    const Rows *rows, const int64_t *values, int64_t n, int64_t *estimate, int64_t *earliest,
    int64_t *latest, uint8_t *status
) noexcept nogil:
    cdef int64_t i = 0, k, first, last, t, run
    cdef const Bar *bar
    while i < n:
        k = row_of(rows, values[i])
        bar = &rows.bars[k]
        first, last = rows.starts[k], end_of(rows, k)
        if (
            bar.mode == 0 and first == bar.at and i + LONG <= n and -NEAR < first
            and last < NEAR and first <= values[i + LONG - 1] <= last
        ):
            run = long_run(
                bar, rows.curves + 4 * k, values + i, n - i, first, last, estimate + i,
                earliest + i, latest + i, status + i,
            )
            i += run
            if run:
                continue
        if bar.mode == 0:
            i += plain_run(
                bar, rows.curves + 4 * k, values + i, n - i, first, last, estimate + i,
                earliest + i, latest + i, status + i,
            )
            continue
        while i < n and first <= values[i] <= last:
            t = values[i]
            status[i] = store(
                t, bent(bar, rows.curves + 4 * k, t), low_at(bar, rows.limits, t),
                high_at(bar, rows.limits, t), &estimate[i], &earliest[i], &latest[i],
            )
            i += 1


# The other direction. In a row, t + low(t) and t + high(t) never fall; across rows they may, so
# that rows are found through the highest reached so far and the lowest still to come.

cdef inline int64_t low_value(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    return saturating_add(t, low_at(&rows.bars[k], rows.limits, t))


cdef inline int64_t high_value(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    return saturating_add(t, high_at(&rows.bars[k], rows.limits, t))


cdef inline int64_t into(int128 t, int64_t first, int64_t last) noexcept nogil:
    return first if t < <int128>first else last if t > <int128>last else <int64_t>t


cdef inline int64_t divided(int128 wanted, int64_t below, int64_t slope) noexcept nogil:
    """floor((wanted 2^52 - below) / (2^52 + slope)), where it is a distance; else far beyond."""
    cdef int128 divisor = (<int128>1 << BITS) + slope
    cdef int128 numerator = wanted * (<int128>1 << BITS) - below
    cdef int128 rest
    cdef int64_t q
    if -(<int128>1 << 50) < wanted < <int128>1 << 50:
        # Near enough for a float to be off by 2 at most, which what is left over mends.
        q = <int64_t>(<double><int64_t>wanted / (1.0 + <double>slope / <double>ONE))
        rest = numerator - divisor * q
        while rest < 0:
            q, rest = q - 1, rest + divisor
        while rest >= divisor:
            q, rest = q + 1, rest - divisor
        return q
    if numerator >= divisor * INT64_HIGH:
        return INT64_HIGH
    if numerator <= -divisor * INT64_HIGH:
        return -INT64_HIGH
    return quotient(numerator, divisor)


cdef inline int64_t first_above(
    const Line *line, int64_t at, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The first t in a row with t + ceil(line) >= v, or its last."""
    cdef int128 wanted = <int128>v - at - line.ns - 1
    return into(<int128>at + divided(wanted, line.part, line.slope) + 1, first, last)


cdef inline int64_t last_below(
    const Line *line, int64_t at, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    """The last t in a row with t + floor(line) <= v, or its first."""
    cdef int128 wanted = <int128>v - at - line.ns + 1
    return into(<int128>at + divided(wanted, line.part + 1, line.slope), first, last)


cdef int64_t earliest_in(
    const Bar *bar, const Bar *limits, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    cdef int64_t one = first_above(&bar.high[0], bar.at, v, first, last)
    cdef int64_t two = first_above(&bar.high[1], bar.at, v, first, last)
    if (two < one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = earliest_in(&limits[bar.limit], limits, v, first, last)
        one = two if two > one else one
    return one


cdef int64_t latest_in(
    const Bar *bar, const Bar *limits, int64_t v, int64_t first, int64_t last
) noexcept nogil:
    cdef int64_t one = last_below(&bar.low[0], bar.at, v, first, last)
    cdef int64_t two = last_below(&bar.low[1], bar.at, v, first, last)
    if (two > one) == ((bar.mode & HULL) != 0):
        one = two
    if bar.mode & LIMITED:
        two = latest_in(&limits[bar.limit], limits, v, first, last)
        one = two if two < one else one
    return one


cdef inline int64_t estimated(const Rows *rows, int64_t k, int64_t t) noexcept nogil:
    cdef const Bar *bar = &rows.bars[k]
    return saturating_add(
        t,
        clamped(
            bent(bar, rows.curves + 4 * k, t), low_at(bar, rows.limits, t),
            high_at(bar, rows.limits, t),
        ),
    )


cdef int64_t estimate_back(
    const Rows *rows, int64_t v, int64_t earliest, int64_t latest, int64_t near
) noexcept nogil:
    """Where in [earliest, latest] the estimate is v, or passes it; looked for from row `near` on."""
    cdef int64_t low = earliest, high = latest, k = near, value, t, tries = 0
    cdef int64_t first = rows.starts[k], last = end_of(rows, k)
    t = low + <int64_t>((<uint64_t>high - <uint64_t>low) >> 1)
    # Inside one row, the curve alone says where to begin.
    while tries < 2 and first <= t <= last and -NEAR < v < NEAR and -NEAR < t < NEAR:
        t = clamped(v - bent(&rows.bars[k], rows.curves + 4 * k, t), low, high)
        tries += 1
    tries = 0
    while low < high:
        if not rows.starts[k] <= t <= end_of(rows, k):
            k = row_of(rows, t)
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


cdef inline bint in_one_of(const Index *lows, const int64_t *highs, int64_t v) noexcept nogil:
    cdef int64_t i
    if lows.n == 0 or v < lows.values[0]:
        return False
    i = look_up(&lows.grid, lows.values, lows.n, v)
    return v <= highs[i]


cdef void invert_array(
    const Rows *rows, const Index *reached, const Index *coming, const Index *twice,
    const int64_t *twice_highs, const int64_t *values, const int64_t *lows, const int64_t *highs,
    int64_t n, int64_t *estimate, int64_t *earliest, int64_t *latest, uint8_t *status
) noexcept nogil:
    cdef int64_t i, k = 0, m = 0, low, high, end, v
    for i in range(n):
        # The first row that reaches a value is after the last one that does not.
        v = lows[i]
        if reached.values[k] < v or (k > 0 and reached.values[k - 1] >= v):
            if v == INT64_LOW or reached.values[0] >= v:
                k = 0
            else:
                k = min(look_up(&reached.grid, reached.values, reached.n, v - 1) + 1, rows.n - 1)
        end = end_of(rows, k)
        if reached.values[k] < v:
            low = end
        else:
            low = earliest_in(&rows.bars[k], rows.limits, v, rows.starts[k], end)
        v = highs[i]
        if coming.values[m] > v or (m + 1 < rows.n and coming.values[m + 1] <= v):
            m = look_up(&coming.grid, coming.values, coming.n, v)
        high = latest_in(&rows.bars[m], rows.limits, v, rows.starts[m], end_of(rows, m))
        if low > high:
            low, high = high, low
        earliest[i], latest[i] = low, high
        if in_one_of(twice, twice_highs, values[i]):
            estimate[i] = 0
            status[i] = AMBIGUOUS_SOURCE
            continue
        estimate[i] = estimate_back(rows, values[i], low, high, k)
        status[i] = RESOLVED


cdef void hop_array(
    const Rows *rows, const int64_t *fall_to, const int64_t *rise_from, const int64_t *lows,
    const int64_t *highs, int64_t n, int64_t *earliest, int64_t *latest
) noexcept nogil:
    """The bars over whole intervals [low, high] of the source.

    Within rows the sides never fall, so that only rows' borders matter: those lower than any
    before (fall_to: the next row that starts lower) and higher than any after (rise_from: the
    last row before that ends higher).
    """
    cdef int64_t i, first, last, k, best
    for i in range(n):
        first = row_of(rows, lows[i])
        last = first
        if highs[i] > end_of(rows, first):
            last = row_of(rows, highs[i])
        best = low_value(rows, first, lows[i])
        if last > first:
            k = first + 1
            while fall_to[k] <= last:
                k = fall_to[k]
            best = min(best, low_value(rows, k, rows.starts[k]))
        earliest[i] = best
        best = high_value(rows, last, highs[i])
        if last > first:
            k = last - 1
            while rise_from[k] >= first:
                k = rise_from[k]
            best = max(best, high_value(rows, k, end_of(rows, k)))
        latest[i] = best


cdef class RowTable:
    """The rows of a tube, ready to convert.

    starts: int64[n]; bars: int64[n, 16]; limits: int64[m, 16]; curves: float64[n, 4], as
    `bars.assemble` gives them; near, n_near, grid: which rows the grid knows, and `make_grid` of
    their starts.
    """

    cdef Rows rows
    cdef object kept
    cdef Index reached
    cdef Index coming
    cdef const int64_t[::1] reached_values
    cdef const int64_t[::1] coming_values
    cdef const int64_t[::1] fall_to
    cdef const int64_t[::1] rise_from

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
        if near < 0 or n_near < 1 or near + n_near > n:
            raise ValueError("the grid is of rows that are there")
        self.rows.starts, self.rows.n = &starts[0], n
        self.rows.bars = <const Bar *>&bars[0, 0]
        self.rows.limits = <const Bar *>&limits[0, 0] if limits.shape[0] else NULL
        self.rows.curves = &curves[0, 0]
        self.rows.near = near
        self.rows.n_near = n_near
        self.kept = [starts, bars, limits, curves, open_grid(&self.rows.grid, grid)]

    def borders(self):
        """(n, 2) int64: the low side at each row's start, the high side at its end."""
        cdef int64_t k
        out = np.empty((self.rows.n, 2), dtype=np.int64)
        cdef int64_t[:, ::1] view = out
        with nogil:
            for k in range(self.rows.n):
                view[k, 0] = low_value(&self.rows, k, self.rows.starts[k])
                view[k, 1] = high_value(&self.rows, k, end_of(&self.rows, k))
        return out

    def index(
        self, const int64_t[::1] reached, tuple reached_grid, const int64_t[::1] coming,
        tuple coming_grid
    ):
        """Take what `invert` and `hop` need: borders' running maximum and minimum to come."""
        cdef int64_t k, j, n = self.rows.n
        fall_to, rise_from = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        cdef int64_t[::1] falls = fall_to, rises = rise_from
        cdef int64_t[:, ::1] edges = self.borders()
        if not reached.shape[0] == coming.shape[0] == n:
            raise ValueError("one value a row")
        self.reached_values, self.coming_values = reached, coming
        self.reached.values, self.reached.n = &reached[0], n
        self.coming.values, self.coming.n = &coming[0], n
        self.kept.append(open_grid(&self.reached.grid, reached_grid))
        self.kept.append(open_grid(&self.coming.grid, coming_grid))
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
        self.fall_to, self.rise_from = fall_to, rise_from

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
        """The bars over the intervals [low, high], low <= high; after `index`."""
        cdef int64_t n = lows.shape[0]
        if not n == highs.shape[0] == earliest.shape[0] == latest.shape[0]:
            raise ValueError("arrays of one length")
        if n == 0:
            return
        with nogil:
            hop_array(
                &self.rows, &self.fall_to[0], &self.rise_from[0], &lows[0], &highs[0], n,
                &earliest[0], &latest[0],
            )

    def invert(
        self, const int64_t[::1] values, const int64_t[::1] lows, const int64_t[::1] highs,
        const int64_t[::1] twice_lows, const int64_t[::1] twice_highs, tuple twice_grid,
        int64_t[::1] estimate, int64_t[::1] earliest, int64_t[::1] latest, uint8_t[::1] status
    ):
        """Values of the other clock, known to lie in [low, high], back; after `index`.

        twice: ascending, disjoint intervals whose values two instants may have.
        """
        cdef int64_t n = values.shape[0]
        cdef Index twice
        cdef const int64_t *twice_highs_at = NULL
        cdef const int32_t[::1] kept
        if not (
            n == lows.shape[0] == highs.shape[0] == estimate.shape[0] == earliest.shape[0]
            == latest.shape[0] == status.shape[0]
        ):
            raise ValueError("arrays of one length")
        if n == 0:
            return
        twice.n = twice_lows.shape[0]
        if twice.n:
            twice.values, twice_highs_at = &twice_lows[0], &twice_highs[0]
            kept = open_grid(&twice.grid, twice_grid)
        with nogil:
            invert_array(
                &self.rows, &self.reached, &self.coming, &twice, twice_highs_at, &values[0],
                &lows[0], &highs[0], n, &estimate[0], &earliest[0], &latest[0], &status[0],
            )
