# A row of four lines, small enough for floats: its sides at many values at a time.

from libc.stdint cimport int64_t
from libc.string cimport memcpy

from tracetime._kernels.tube.bar cimport Bar, Line
from tracetime._kernels.tube.fixed cimport BITS
# For the C that the next block uses.
from tracetime._kernels.tube.vectors cimport NEAR

cdef extern from *:
    """
    typedef struct {
        int64_t ns;
        int64_t part;
        int64_t slope;
        double rise;        /* slope and part as floats, in ns */
        double lead;
    } tt_line;

    typedef struct {
        tt_line low[2];
        tt_line high[2];
        int64_t at;
        int64_t base;
        double c[4];
    } tt_row;

    /* (slope x + part) / 2^52, rounded down or up: a float's guess, less than 1 off, whose error
       the low 64 bits of what it leaves over give the sign of. */
    static inline int64_t tt_left(const tt_line *line, int64_t x, int64_t guess) {
        return (int64_t)((uint64_t)line->slope * (uint64_t)x + (uint64_t)line->part
            - ((uint64_t)guess << 52));
    }

    static inline int64_t tt_down(const tt_line *line, int64_t x) {
        const int64_t guess = tt_rounded(tt_float(x) * line->rise + line->lead);
        return line->ns + guess - (tt_left(line, x, guess) < 0);
    }

    static inline int64_t tt_up(const tt_line *line, int64_t x) {
        const int64_t guess = tt_rounded(tt_float(x) * line->rise + line->lead);
        return line->ns + guess + (tt_left(line, x, guess) > 0);
    }
    """
    ctypedef struct FloatLine "tt_line":
        int64_t ns
        int64_t part
        int64_t slope
        double rise
        double lead

    ctypedef struct SmallRow "tt_row":
        FloatLine low[2]
        FloatLine high[2]
        int64_t at
        int64_t base
        double c[4]


cdef inline FloatLine with_floats(const Line *line) noexcept nogil:
    cdef FloatLine out
    cdef double one = <double>(<int64_t>1 << BITS)
    out.ns, out.part, out.slope = line.ns, line.part, line.slope
    out.rise, out.lead = <double>line.slope / one, <double>line.part / one
    return out


cdef inline SmallRow small_row(const Bar *bar, const double *c) noexcept nogil:
    cdef SmallRow row
    row.at, row.base = bar.at, bar.base
    row.low[0], row.low[1] = with_floats(&bar.low[0]), with_floats(&bar.low[1])
    row.high[0], row.high[1] = with_floats(&bar.high[0]), with_floats(&bar.high[1])
    memcpy(row.c, c, sizeof(row.c))
    return row
