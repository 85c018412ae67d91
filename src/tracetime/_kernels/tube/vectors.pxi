# Loops over many values of one row: what compilers make vectors of, and where such a run ends.

cdef enum:
    BLOCK = 256             # values converted, or checked against a run, at a time

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>

    #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__linux__) \\
        && !defined(__SANITIZE_ADDRESS__)
    #if __GNUC__ >= 12
    #define TT_CLONES __attribute__((target_clones("arch=x86-64-v4", "avx2", "default")))
    #else
    #define TT_CLONES __attribute__((target_clones("avx2", "default")))
    #endif
    #else
    #define TT_CLONES
    #endif

    #define TT_NEAR (INT64_C(1) << 61)
    #define TT_SMALL (INT64_C(1) << 49)

    /* Whole numbers below 2^51 in size to floats and, rounded to even, back: adding 1.5 * 2^52
       leaves them in the low bits. Unlike a cast or llrint, all vectors can do this. */
    #define TT_SHIFTER 6755399441055744.0
    #define TT_SHIFTER_BITS INT64_C(0x4338000000000000)

    static inline double tt_float(int64_t x) {
        double d;
        x += TT_SHIFTER_BITS;
        memcpy(&d, &x, sizeof d);
        return d - TT_SHIFTER;
    }

    static inline int64_t tt_rounded(double d) {
        int64_t x;
        d += TT_SHIFTER;
        memcpy(&x, &d, sizeof x);
        return x - TT_SHIFTER_BITS;
    }

    static inline int64_t tt_into(int64_t t, int64_t first, int64_t last) {
        return t < first ? first : t > last ? last : t;
    }

    /* A row's estimate, as `bent` of rows.pxi has it: the offset from `base` on. */
    static inline int64_t tt_bent(const double *c, int64_t x) {
        const double d = tt_float(x);
        return tt_rounded(c[0] + d * (c[1] + d * (c[2] + d * c[3])));
    }

    /* Whether all values lie in [low, low + width]. */
    TT_CLONES
    static int tt_within(const int64_t *values, int64_t n, int64_t low, uint64_t width) {
        int64_t outside = 0;
        for (int64_t i = 0; i < n; i++)
            outside |= ((uint64_t)values[i] - (uint64_t)low > width) ? -1 : 0;
        return outside == 0;
    }
    """
    const int64_t NEAR "TT_NEAR"    # sums of smaller values and offsets fit in int64
    const int64_t SMALL "TT_SMALL"  # these loops take smaller distances

    bint within "tt_within"(
        const int64_t *values, int64_t n, int64_t low, uint64_t width
    ) nogil


cdef inline int64_t leading(
    const int64_t *values, int64_t n, int64_t first, int64_t last
) noexcept nogil:
    """How many of the first BLOCK values lie in [first, last] before one that does not."""
    cdef int64_t i = 0
    if n >= BLOCK:
        n = BLOCK
        if first <= values[n - 1] <= last and within(
            values, n, first, <uint64_t>last - <uint64_t>first
        ):
            return n
    while i < n and first <= values[i] <= last:
        i += 1
    return i


cdef inline bint is_small(
    const Bar *bar, const double *c, int64_t first, int64_t last
) noexcept nogil:
    """Whether a row first..last has four lines and no more, and numbers small enough."""
    cdef double x
    if bar.mode or not (-NEAR < first and last < NEAR and -NEAR < bar.at < NEAR):
        return False
    if not (-SMALL < first - bar.at and last - bar.at < SMALL):
        return False
    x = <double>max(bar.at - first, last - bar.at)
    return fabs(c[0]) + x * (fabs(c[1]) + x * (fabs(c[2]) + x * fabs(c[3]))) < <double>SMALL


# A row of four lines, small enough for floats: its sides at many values at a time.

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
