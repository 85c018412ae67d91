# The smallest half-width of a few snapshots that some slope agrees with.

cdef enum:
    MOST = 8                # snapshots of a window
    MOST_PAIRS = 28         # MOST * (MOST - 1) / 2


def least_halves(
    const int64_t[:, ::1] a, const int64_t[:, ::1] r, double drift, double wander, int steps
):
    """Per row, the smallest half-width for which some slope leaves a tube of width W, ns.

    For a slope s that is max over pairs of (|dr - s da| - W da) / 2, convex in s.

    a, r: int64 ns, a row for each window of 2 to 8 snapshots, a ascending; r within 73 years.
    drift: what slopes are at most. wander: W. steps: how often the slopes that may be the best are halved.
    """
    cdef Py_ssize_t row, j, k, i, n = a.shape[1], pairs
    cdef double[MOST_PAIRS] da, dr
    cdef double low, high, slope
    cdef int step
    if not 2 <= n <= MOST or r.shape[0] != a.shape[0] or r.shape[1] != n:
        raise ValueError(f"windows of {n} snapshots")
    found = np.empty(a.shape[0])
    cdef double[::1] halves = found
    with nogil:
        for row in range(a.shape[0]):
            pairs = 0
            for j in range(n):
                for k in range(j + 1, n):
                    da[pairs] = <double>(<uint64_t>a[row, k] - <uint64_t>a[row, j])
                    dr[pairs] = <double>(r[row, k] - r[row, j])
                    pairs += 1
            low, high = -drift, drift
            for step in range(steps):
                slope = (low + high) / 2
                # The pair that misses most shows which slope misses less.
                i = _worst(da, dr, pairs, slope, wander)
                if dr[i] - slope * da[i] > 0:
                    low = slope
                else:
                    high = slope
            slope = (low + high) / 2
            i = _worst(da, dr, pairs, slope, wander)
            halves[row] = max(0.0, (fabs(dr[i] - slope * da[i]) - wander * da[i]) / 2)
    return found


cdef Py_ssize_t _worst(
    const double *da, const double *dr, Py_ssize_t pairs, double slope, double wander
) noexcept nogil:
    """The first pair that misses most."""
    cdef Py_ssize_t i, worst = 0
    cdef double missed, most = 0
    for i in range(pairs):
        missed = fabs(dr[i] - slope * da[i]) - wander * da[i]
        if i == 0 or missed > most:
            worst, most = i, missed
    return worst
