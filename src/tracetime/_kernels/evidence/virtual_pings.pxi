# Virtual pings: the fastest message each way of each window of time, and a smoother for them.
#
# Most messages queue, and say little; the fastest of a window, one there and one back, are as good as
# a ping at its centre. Floats here hold differences only: seconds from the first reading, ns from a
# line through the bars.

cdef enum:
    DENSITIES = 17
    SCALES = 3


cdef inline double curve_at(
    const double *x, const double *offset, const double *rate, int64_t k, int64_t n, double t
) noexcept nogil:
    """The curve at t, where x[k] <= t < x[k + 1]; k is -1 before the first knot."""
    cdef double d, s, rest
    if n == 0:
        return 0.0
    if k < 0:
        return offset[0] + rate[0] * (t - x[0])
    if k >= n - 1:
        return offset[n - 1] + rate[n - 1] * (t - x[n - 1])
    d = x[k + 1] - x[k]
    s = (t - x[k]) / d
    rest = 1.0 - s
    return (
        (1.0 + 2.0 * s) * rest * rest * offset[k] + s * rest * rest * d * rate[k]
        + s * s * (3.0 - 2.0 * s) * offset[k + 1] - s * s * rest * d * rate[k + 1]
    )


def curve_values(
    const double[::1] x, const double[::1] offset, const double[::1] rate, const double[::1] t
):
    """A curve at each t, ascending: cubic between its knots x, straight beyond them.

    x, t: one unit; offset: ns; rate: its slope at the knots. No knots: 0.
    """
    cdef int64_t n = t.shape[0], knots = x.shape[0], k, at = -1
    result = np.empty(n)
    cdef double[::1] out = result
    cdef const double *px = &x[0] if knots else NULL
    cdef const double *po = &offset[0] if knots else NULL
    cdef const double *pr = &rate[0] if knots else NULL
    with nogil:
        for k in range(n):
            while at + 1 < knots and px[at + 1] <= t[k]:
                at += 1
            out[k] = curve_at(px, po, pr, at, knots, t[k])
    return result


# wide: the columns of the evidence, and those of a curve
def fastest(
    const double[::1] t, const double[::1] high, const double[::1] low,
    double begin, double window, int64_t windows,
    const double[::1] x, const double[::1] offset, const double[::1] rate
):
    """The least high and the greatest low of each window, counted from a curve.

    t: seconds, ascending; high, low: ns, infinite where an order says nothing. begin, window:
    seconds: where the first window begins, and how long each is. x, offset, rate: the curve's
    knots (seconds, ns, ns/s), none for the line 0.

    Returns:
        float64 arrays, one entry a window: least high and greatest low, ns; infinite without any.
    """
    cdef int64_t n = t.shape[0], knots = x.shape[0], k, w, at = -1
    cdef double here
    cdef const double *px = &x[0] if knots else NULL
    cdef const double *po = &offset[0] if knots else NULL
    cdef const double *pr = &rate[0] if knots else NULL
    highs, lows = np.full(windows, INFINITY), np.full(windows, -INFINITY)
    cdef double[::1] up = highs, down = lows
    with nogil:
        for k in range(n):
            while at + 1 < knots and px[at + 1] <= t[k]:
                at += 1
            # The last order may stand at the very end of the last window.
            w = min(max(<int64_t>((t[k] - begin) / window), 0), windows - 1)
            here = curve_at(px, po, pr, at, knots, t[k])
            up[w] = min(up[w], high[k] - here)
            down[w] = max(down[w], low[k] - here)
    return highs, lows


# wide: the arrays of one loop without the GIL
cdef double filter_forward(
    const double *x, const double *y, const double *noise, int64_t n, double scale, double more,
    double density, State *states, double *likelihood
) noexcept nogil:
    """The log likelihood of the pings, of variances scale * noise + more.

    states and likelihood, where given: one a ping, all up to it known.
    """
    cdef State s
    cdef double total = 0.0, expected, missed, variance
    cdef int64_t k
    s.offset, s.rate, s.p00, s.p01, s.p11 = y[0], 0.0, 1e14, 0.0, 1e10
    for k in range(n):
        if k:
            predict(&s, x[k] - x[k - 1], density)
        variance = scale * noise[k] + more
        missed = y[k] - s.offset
        expected = s.p00 + variance
        if k > 1:
            total -= 0.5 * (log(expected) + missed * missed / expected)
        update(&s, y[k], variance)
        if states != NULL:
            states[k] = s
        if likelihood != NULL:
            likelihood[k] = total
    return total


cdef inline double meeting(
    const State *left, double left_x, const State *right, double right_x, double q, double *at
) noexcept nogil:
    """The log likelihood that two states are of one offset whose rate changes in between.

    at: where their lines meet, or half-way where that is not in between.
    """
    cdef double gap = right_x - left_x, apart, turn, variance, d
    apart = right.offset - right.rate * gap - left.offset
    turn = left.rate - right.rate
    d = apart / turn if turn != 0.0 else 0.5 * gap
    if not 0.0 < d < gap:
        d = 0.5 * gap
    at[0] = left_x + d
    apart -= turn * d
    variance = (
        left.p00 + d * (2.0 * left.p01 + d * left.p11) + q * d * d * d / 3.0
        + right.p00 - (gap - d) * (2.0 * right.p01 - (gap - d) * right.p11)
        + q * (gap - d) * (gap - d) * (gap - d) / 3.0
    )
    return -0.5 * (log(variance) + apart * apart / variance)


def knee(
    const double[::1] x, const double[::1] y, const double[::1] noise, double wander, int64_t side
):
    """Where the rate most likely changed at once, and by how much that raises the log likelihood.

    Arguments as in `smooth_pings`. The ping in whose window the rate changed is left out; `side` pings
    at least remain before it and after it.

    Returns:
        (gain, at): by comparison with the likeliest walk alone; -inf where there are too few pings.
    """
    cdef double[SCALES] scales = [3.0, 1.0, 0.3]
    cdef int64_t n = x.shape[0], k
    cdef int step, scale
    cdef double q, found, where = 0.0, at = 0.0, plain = -INFINITY, bent = -INFINITY
    cdef double[::1] back_x = np.ascontiguousarray(-np.asarray(x)[::-1])
    cdef double[::1] back_y = np.ascontiguousarray(np.asarray(y)[::-1])
    cdef double[::1] back_noise = np.ascontiguousarray(np.asarray(noise)[::-1])
    cdef double[::1] left = np.empty(n)
    cdef double[::1] right = np.empty(n)
    cdef State *states = <State *>malloc(<size_t>(2 * n + 1) * sizeof(State))
    cdef State *later = states + n, other
    if states == NULL:
        raise MemoryError
    try:
        with nogil:
            for step in range(DENSITIES if n > 2 * side else 0):
                q = wander * wander * pow(10.0, -0.5 * step)
                for scale in range(SCALES):
                    filter_forward(
                        &x[0], &y[0], &noise[0], n, scales[scale], 0.0, q, states, &left[0]
                    )
                    filter_forward(
                        &back_x[0], &back_y[0], &back_noise[0], n, scales[scale], 0.0, q,
                        later, &right[0],
                    )
                    plain = max(plain, left[n - 1])
                    for k in range(side, n - side):
                        # The states of the way back: its rate and covariance change their signs.
                        other = later[n - 2 - k]
                        other.rate, other.p01 = -other.rate, -other.p01
                        found = left[k - 1] + right[n - 2 - k] + meeting(
                            &states[k - 1], x[k - 1], &other, x[k + 1], q, &at
                        )
                        if found > bent:
                            bent, where = found, at
    finally:
        free(states)
    return (bent - plain if bent > -INFINITY else -INFINITY), where


def smooth_pings(
    const double[::1] x, const double[::1] y, const double[::1] noise, double wander
):
    """Offset and rate at each ping, by a Rauch-Tung-Striebel smoother whose rate walks at random.

    x: seconds, ascending; y: ns; noise: variance of each, ns^2, up to a factor that is chosen with
    the density of the rate's walk by likelihood. wander: ns/s.

    Returns:
        float64 array of shape (n, 4): offset (ns), rate (ns/s), and their variances; and the
        density, ns^2/s^3.
    """
    found, densities, factors = likelihoods(x, y, noise, wander, 0.0)
    step, scale = divmod(int(np.argmax(found)), SCALES)
    return smooth_walk(x, y, noise, factors[scale], densities[step], 0.0), densities[step]


def likelihoods(
    const double[::1] x, const double[::1] y, const double[::1] noise, double wander, double stray
):
    """How likely each density of the rate's walk is, and each factor of the pings' variances.

    Arguments as in `smooth_pings`. stray: s^3; so many times the density is added to each variance.

    Returns:
        float64 arrays: log likelihoods, a row a density and a column a factor; the densities,
        descending, ns^2/s^3; the factors.
    """
    cdef double[SCALES] scales = [3.0, 1.0, 0.3]
    cdef int64_t n = x.shape[0]
    cdef int step, scale
    cdef double q
    result, densities = np.zeros((DENSITIES, SCALES)), np.empty(DENSITIES)
    cdef double[:, ::1] found = result
    cdef double[::1] walks = densities
    with nogil:
        for step in range(DENSITIES):
            q = walks[step] = wander * wander * pow(10.0, -0.5 * step)
            for scale in range(SCALES if n else 0):
                found[step, scale] = filter_forward(
                    &x[0], &y[0], &noise[0], n, scales[scale], stray * q, q, NULL, NULL
                )
    return result, densities, np.array(scales)


def smooth_walk(
    const double[::1] x, const double[::1] y, const double[::1] noise, double factor,
    double density, double stray
):
    """The array of `smooth_pings` for one density and factor; stray as in `likelihoods`."""
    cdef int64_t n = x.shape[0], k
    cdef State *states = <State *>malloc(<size_t>(n + 1) * sizeof(State))
    result = np.empty((n, 4))
    cdef double[:, ::1] out = result
    if states == NULL:
        raise MemoryError
    try:
        with nogil:
            if n:
                filter_forward(
                    &x[0], &y[0], &noise[0], n, factor, stray * density, density, states, NULL
                )
            for k in range(n - 2, -1, -1):
                back(&states[k], &states[k + 1], x[k + 1] - x[k], density)
            for k in range(n):
                out[k, 0], out[k, 1] = states[k].offset, states[k].rate
                out[k, 2], out[k, 3] = max(states[k].p00, 0.0), max(states[k].p11, 0.0)
    finally:
        free(states)
    return result
