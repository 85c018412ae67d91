# The rows of a tube in a kernel's hands: which row a value is in, and what it says there.

from libc.stdint cimport int32_t, int64_t

from tracetime._kernels.tube.bar cimport OPEN_HIGH, OPEN_LOW, Bar, high_at, low_at
from tracetime._kernels.common.grid cimport Grid, look_up
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, saturating_add

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
    if open_sides == OPEN_LOW:
        return high_at(bar, rows.limits, t)
    if open_sides == OPEN_HIGH:
        return low_at(bar, rows.limits, t)
    if open_sides:
        return bent(bar, rows.curves + 4 * k, t)
    return clamped(
        bent(bar, rows.curves + 4 * k, t), low_at(bar, rows.limits, t), high_at(bar, rows.limits, t)
    )


cdef class RowTable:
    cdef Rows rows
    cdef object kept
    cdef const int64_t[::1] fall_to
    cdef const int64_t[::1] rise_from
    cdef bint is_indexed
