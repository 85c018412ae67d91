# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The smoother of the tube's estimate: offset and rate of a run, from all its snapshots.

A Rauch-Tung-Striebel smoother whose rate walks at random. Floats here hold differences only: ns
from a line through the run, which its bars clamp afterwards.
"""

from libc.math cimport INFINITY, log
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

import numpy as np

cdef enum:
    WHOLE = 4096            # longer runs are tuned on blocks of their snapshots
    BLOCKS = 8
    DENSITIES = 9
    NOISES = 4

cdef struct State:
    double offset           # ns
    double rate             # ns/s
    double p00
    double p01
    double p11

cdef struct Model:
    double noise_floor      # ns taken off every half-width
    double noise_scale
    double density          # of the rate's walk, ns^2/s^3


cdef inline double variance(const Model *model, double half) noexcept nogil:
    """Of a snapshot's offset: uniform over its interval, or less where the floor is systematic."""
    cdef double above = half - model.noise_floor
    cdef double least = 0.1 * model.noise_floor
    return model.noise_scale * (above * above + least * least) / 3.0 + 1.0 / 12.0


cdef inline void predict(State *s, double d, double q) noexcept nogil:
    s.offset += s.rate * d
    s.p00 += d * (2.0 * s.p01 + d * s.p11) + q * d * d * d / 3.0
    s.p01 += d * s.p11 + q * d * d / 2.0
    s.p11 += q * d


cdef inline double update(State *s, double y, double r) noexcept nogil:
    """Take in an offset of variance r; minus twice the log likelihood of it."""
    cdef double total = s.p00 + r, missed = y - s.offset
    cdef double k0 = s.p00 / total, k1 = s.p01 / total
    s.offset += k0 * missed
    s.rate += k1 * missed
    s.p11 -= k1 * s.p01
    s.p01 *= 1.0 - k0
    s.p00 *= 1.0 - k0
    return log(total) + missed * missed / total


cdef inline State begin(double y, double r, double spread) noexcept nogil:
    cdef State s
    s.offset, s.rate, s.p00, s.p01, s.p11 = y, 0.0, r, 0.0, spread * spread
    return s


cdef double misfit(
    const double *x, const double *y, const double *half, int64_t first, int64_t last,
    const Model *model, double spread
) noexcept nogil:
    """Minus twice the log likelihood of snapshots first..last."""
    cdef State s = begin(y[first], variance(model, half[first]), spread)
    cdef double total = 0.0
    cdef int64_t k
    for k in range(first + 1, last + 1):
        predict(&s, x[k] - x[k - 1], model.density)
        total += update(&s, y[k], variance(model, half[k]))
    return total


cdef double misfit_of_run(
    const double *x, const double *y, const double *half, int64_t n, const Model *model,
    double spread
) noexcept nogil:
    cdef int64_t block, first, size = WHOLE // BLOCKS
    cdef double total = 0.0
    if n <= WHOLE:
        return misfit(x, y, half, 0, n - 1, model, spread)
    for block in range(BLOCKS):
        first = block * ((n - size) // (BLOCKS - 1))
        total += misfit(x, y, half, first, first + size - 1, model, spread)
    return total


cdef Model choose(
    const double *x, const double *y, const double *half, int64_t n, double wander, double spread
) noexcept nogil:
    """The likeliest model on a small grid.

    Noise: uniform over each interval; or, as with pings, whose half-width is mostly a delay that
    both ways share, far less than the smallest half-width. Density: that of a wander within W.
    """
    cdef double[DENSITIES] below = [1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e10]
    cdef double[NOISES] scales = [1.0, 1.0, 0.1, 0.01]
    cdef Model best, model
    cdef double least = half[0], found, best_found = INFINITY
    cdef int64_t i, noise, density
    for i in range(1, n):
        least = min(least, half[i])
    best.noise_floor, best.noise_scale = 0.0, 1.0
    best.density = wander * wander / 1e4
    if n < 3:
        return best
    for noise in range(NOISES):
        for density in range(DENSITIES):
            model.noise_floor = 0.9 * least if noise else 0.0
            model.noise_scale = scales[noise]
            model.density = wander * wander / below[density]
            found = misfit_of_run(x, y, half, n, &model, spread)
            if found < best_found:
                best_found, best = found, model
    return best


cdef void smooth_run(
    const double *x, const double *y, const double *half, int64_t n, const Model *model,
    double spread, State *states, double *offset, double *rate
) noexcept nogil:
    """Filter forward, smooth backward; offset (ns) and rate (ns/s) at each snapshot."""
    cdef State s = begin(y[0], variance(model, half[0]), spread), ahead
    cdef double d, determinant, g00, g01, g10, g11, c00, c01, c10, c11
    cdef double missed_offset, missed_rate
    cdef int64_t k
    states[0] = s
    for k in range(1, n):
        predict(&s, x[k] - x[k - 1], model.density)
        update(&s, y[k], variance(model, half[k]))
        states[k] = s
    offset[n - 1], rate[n - 1] = s.offset, s.rate
    for k in range(n - 2, -1, -1):
        d = x[k + 1] - x[k]
        s = states[k]
        ahead = s
        predict(&ahead, d, model.density)
        # gain = P F' (predicted P)^-1
        c00, c01 = s.p00 + d * s.p01, s.p01
        c10, c11 = s.p01 + d * s.p11, s.p11
        determinant = ahead.p00 * ahead.p11 - ahead.p01 * ahead.p01
        missed_offset, missed_rate = offset[k + 1] - ahead.offset, rate[k + 1] - ahead.rate
        if determinant > 0.0:
            g00 = (c00 * ahead.p11 - c01 * ahead.p01) / determinant
            g01 = (c01 * ahead.p00 - c00 * ahead.p01) / determinant
            g10 = (c10 * ahead.p11 - c11 * ahead.p01) / determinant
            g11 = (c11 * ahead.p00 - c10 * ahead.p01) / determinant
            offset[k] = s.offset + g00 * missed_offset + g01 * missed_rate
            rate[k] = s.rate + g10 * missed_offset + g11 * missed_rate
        else:
            offset[k], rate[k] = s.offset, s.rate


def smooth(
    const int64_t[::1] a, const int64_t[::1] r, const double[::1] half,
    const int64_t[::1] first, const int64_t[::1] last,
    const double[::1] slope, const double[::1] spread, const double[::1] wander
):
    """Smoothed offset and rate at the snapshots of each run first..last.

    a, r: int64 ns; half: half-widths in ns. slope, spread, wander: one a run, ns per ns: a line
    to work from, how far the rate may be from it, and how far it strays.

    Returns:
        float64 array of shape (n, 2): what to add to r, in ns, and the rate in ns per ns; only
        the rows of snapshots inside a run are written.
    """
    cdef int64_t n = a.shape[0], i, k, size, begin_k
    cdef double *space = <double *>malloc(<size_t>(4 * n + 1) * sizeof(double))
    cdef State *states = <State *>malloc(<size_t>(n + 1) * sizeof(State))
    cdef double *x = space
    cdef double *y = space + n
    cdef double *offset = space + 2 * n
    cdef double *rate = space + 3 * n
    cdef double line
    cdef Model model
    result = np.zeros((n, 2))
    cdef double[:, ::1] out = result
    try:
        if space == NULL or states == NULL:
            raise MemoryError
        with nogil:
            for i in range(first.shape[0]):
                begin_k, size = first[i], last[i] - first[i] + 1
                line = 1e9 * slope[i]
                for k in range(size):
                    x[k] = 1e-9 * <double>(<unsigned long long>a[begin_k + k]
                                           - <unsigned long long>a[begin_k])
                    y[k] = <double>(r[begin_k + k] - r[begin_k]) - line * x[k]
                model = choose(x, y, &half[begin_k], size, 1e9 * wander[i], 1e9 * spread[i])
                smooth_run(
                    x, y, &half[begin_k], size, &model, 1e9 * spread[i], states, offset, rate
                )
                for k in range(size):
                    out[begin_k + k, 0] = offset[k] - y[k]
                    out[begin_k + k, 1] = slope[i] + 1e-9 * rate[k]
    finally:
        free(space)
        free(states)
    return result
