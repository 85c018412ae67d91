# An offset whose rate walks at random: filtered forward, smoothed backward.

cdef struct State:
    double offset           # ns
    double rate             # ns/s
    double p00
    double p01
    double p11


cdef inline void predict(State *s, double d, double q) noexcept nogil:
    s.offset += s.rate * d
    s.p00 += d * (2.0 * s.p01 + d * s.p11) + q * d * d * d / 3.0
    s.p01 += d * s.p11 + q * d * d / 2.0
    s.p11 += q * d


cdef inline void update(State *s, double y, double r) noexcept nogil:
    """Take in an offset of variance r."""
    cdef double total = s.p00 + r, missed = y - s.offset, k0 = s.p00 / total, k1 = s.p01 / total
    s.offset += k0 * missed
    s.rate += k1 * missed
    s.p11 -= k1 * s.p01
    s.p01 *= 1.0 - k0
    s.p00 *= 1.0 - k0


cdef inline void back(State *s, const State *next, double d, double q) noexcept nogil:
    """Smooth a filtered state with the smoothed one that follows it d seconds later."""
    cdef State ahead = s[0]
    cdef double determinant, g00, g01, g10, g11, e0, e1, v00, v01, v11
    # The covariance of the state with the one predicted from it: P F'.
    cdef double c00 = s.p00 + d * s.p01, c01 = s.p01, c10 = s.p01 + d * s.p11, c11 = s.p11
    predict(&ahead, d, q)
    determinant = ahead.p00 * ahead.p11 - ahead.p01 * ahead.p01
    if not determinant > 0.0:
        return
    g00 = (c00 * ahead.p11 - c01 * ahead.p01) / determinant
    g01 = (c01 * ahead.p00 - c00 * ahead.p01) / determinant
    g10 = (c10 * ahead.p11 - c11 * ahead.p01) / determinant
    g11 = (c11 * ahead.p00 - c10 * ahead.p01) / determinant
    e0, e1 = next.offset - ahead.offset, next.rate - ahead.rate
    v00, v01, v11 = next.p00 - ahead.p00, next.p01 - ahead.p01, next.p11 - ahead.p11
    s.offset += g00 * e0 + g01 * e1
    s.rate += g10 * e0 + g11 * e1
    s.p00 += g00 * g00 * v00 + 2.0 * g00 * g01 * v01 + g01 * g01 * v11
    s.p01 += g00 * g10 * v00 + (g00 * g11 + g01 * g10) * v01 + g01 * g11 * v11
    s.p11 += g10 * g10 * v00 + 2.0 * g10 * g11 * v01 + g11 * g11 * v11


# The smoother of the tube's estimate: offset and rate of a run, from all its snapshots.
#
# A Rauch-Tung-Striebel smoother whose rate walks at random. Floats here hold differences only: ns
# from a line through the run, which its bars clamp afterwards.

cdef enum:
    WHOLE = 4096            # longer runs are tuned on blocks of their snapshots
    BLOCKS = 8
    NOISES = 4
    COARSE = 5
    FINE = 4
    ENDS = 3                # times the likeliest density: a run's ends see one side alone
    DOUBT = 20              # by how much more likely a noise below the half-widths has to be

cdef struct Model:
    double noise_floor      # ns taken off every half-width
    double noise_scale
    double density          # of the rate's walk, ns^2/s^3


cdef inline double variance(const Model *model, double half) noexcept nogil:
    """Of a snapshot's offset: uniform over its interval, or less where the floor is systematic."""
    cdef double above = half - model.noise_floor, least = 0.1 * model.noise_floor
    return model.noise_scale * (above * above + least * least) / 3.0 + 1.0 / 12.0


# wide: the arrays of one loop without the GIL
cdef void smooth_part(
    const double *x, const double *y, const double *half, int64_t first, int64_t last,
    const Model *model, double spread, State *states
) noexcept nogil:
    """Filter forward and smooth backward over snapshots first..last; states: one each, there."""
    cdef State s
    cdef int64_t k
    s.offset, s.rate, s.p00, s.p01 = y[first], 0.0, variance(model, half[first]), 0.0
    s.p11 = spread * spread
    states[first] = s
    for k in range(first + 1, last + 1):
        predict(&s, x[k] - x[k - 1], model.density)
        update(&s, y[k], variance(model, half[k]))
        states[k] = s
    for k in range(last - 1, first - 1, -1):
        back(&states[k], &states[k + 1], x[k + 1] - x[k], model.density)


# wide: the arrays of one loop without the GIL
cdef double misfit_of_part(
    const double *x, const double *y, const double *half, int64_t first, int64_t last,
    const Model *model, double spread, State *states
) noexcept nogil:
    """Minus twice the log likelihood of each snapshot given all others, summed.

    The likelihood of a filter's forecasts would ask for a rate that follows the last snapshots
    fast, where a smoother, which sees both sides, does best with one that holds on longer.
    """
    cdef double total = 0.0, r, weight, missed
    cdef int64_t k
    smooth_part(x, y, half, first, last, model, spread, states)
    for k in range(first, last + 1):
        r = variance(model, half[k])
        # Of the smoothed variance, what is left without the snapshot: s = r + p without it.
        weight = max(1.0 - states[k].p00 / r, 1e-6)
        missed = y[k] - states[k].offset
        total += log(r / weight) + missed * missed / (r * weight)
    return total


cdef double misfit(
    const double *x, const double *y, const double *half, int64_t n, const Model *model,
    double spread, State *states
) noexcept nogil:
    cdef int64_t block, first, size = WHOLE // BLOCKS
    cdef double total = 0.0
    if n <= WHOLE:
        return misfit_of_part(x, y, half, 0, n - 1, model, spread, states)
    for block in range(BLOCKS):
        first = block * ((n - size) // (BLOCKS - 1))
        total += misfit_of_part(x, y, half, first, first + size - 1, model, spread, states)
    return total


cdef Model choose(
    const double *x, const double *y, const double *half, int64_t n, double wander, double spread,
    State *states
) noexcept nogil:
    """The likeliest model on a small grid.

    Noise: uniform over each interval; or, as with pings, whose half-width is mostly a delay that
    both ways share, far less than the smallest half-width. Density: that of a wander within W,
    first by decades, then closer about the best.
    """
    cdef double[COARSE] decades = [1.0, 3.0, 5.0, 7.0, 10.0]
    cdef double[FINE] closer = [-1.0, -0.5, 0.5, 1.0]
    cdef double[NOISES] scales = [1.0, 1.0, 0.1, 0.01]
    cdef Model best, model
    cdef double least = half[0], found, best_found = INFINITY, best_decades = 4.0
    cdef int64_t i, noise, density
    for i in range(1, n):
        least = min(least, half[i])
    best.noise_floor, best.noise_scale = 0.0, 1.0
    best.density = wander * wander / 1e4
    if n < 3:
        return best
    for noise in range(NOISES):
        for density in range(COARSE):
            model.noise_floor = 0.9 * least if noise else 0.0
            model.noise_scale = scales[noise]
            model.density = wander * wander * pow(10.0, -decades[density])
            found = misfit(x, y, half, n, &model, spread, states) + (DOUBT if noise else 0)
            if found < best_found:
                best_found, best, best_decades = found, model, decades[density]
    if best.noise_floor > 0.0:
        best_found -= DOUBT
    model = best
    for density in range(FINE):
        model.density = wander * wander * pow(10.0, -best_decades - closer[density])
        found = misfit(x, y, half, n, &model, spread, states)
        if found < best_found:
            best_found, best = found, model
    best.density *= ENDS
    return best


# wide: the arrays of one pass
def smooth_runs(
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
    cdef double *space = <double *>malloc(<size_t>(2 * n + 1) * sizeof(double))
    cdef State *states = <State *>malloc(<size_t>(n + 1) * sizeof(State))
    cdef double *x = space, *y = space + n, line
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
                model = choose(
                    x, y, &half[begin_k], size, 1e9 * wander[i], 1e9 * spread[i], states
                )
                smooth_part(
                    x, y, &half[begin_k], 0, size - 1, &model, 1e9 * spread[i], states
                )
                for k in range(size):
                    out[begin_k + k, 0] = states[k].offset - y[k]
                    out[begin_k + k, 1] = slope[i] + 1e-9 * states[k].rate
    finally:
        free(space)
        free(states)
    return result
