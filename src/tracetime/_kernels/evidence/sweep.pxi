# Sweeps over the snapshots of a pair: where the offset broke, where its rate held, and cones.
#
# All that the tube decides is decided here in exact integers (tube.pxd), so that a sweep from the
# left and one from the right agree, and so that a cone never loses what it was sure of.

cdef enum:
    LOW = 1                 # bits of `known`
    HIGH = 2

cdef struct Reach:
    int128 low
    int128 high


cdef inline bint meet(
    const Reach *before, Reach *after, uint64_t distance, int64_t low, int64_t high, int64_t drift
) noexcept nogil:
    """Carry a reach over a distance and cut it with [low, high]; whether anything is left."""
    cdef int128 spread = rise(drift, distance)
    cdef int128 down = before.low - spread, up = before.high + spread
    cdef int128 own_low = fixed(low), own_high = fixed(high)
    after.low = own_low if own_low > down else down
    after.high = own_high if own_high < up else up
    return after.low <= after.high


cdef inline bint agree(
    const int64_t *a, const int64_t *low, const int64_t *high, int64_t j, int64_t k, int64_t drift
) noexcept nogil:
    """Whether snapshots j < k can both be true."""
    cdef int128 spread = rise(drift, apart(a[j], a[k]))
    return (
        fixed(low[k]) - fixed(high[j]) <= spread and fixed(low[j]) - fixed(high[k]) <= spread
    )


# wide: the columns, which of them, and what is found
cdef void cut_forward(
    const int64_t *a, const int64_t *low, const int64_t *high, int64_t first, int64_t end,
    int64_t drift, uint8_t *keep, list lefts
):
    """Append the first index of each stretch of the greedy partition from the left; mark outliers."""
    cdef int64_t k, before = first, in_stretch = 1
    cdef Reach reach, next_reach, skipped, healed
    lefts.append(first)
    reach.low, reach.high = fixed(low[first]), fixed(high[first])
    for k in range(first + 1, end):
        if meet(&reach, &next_reach, apart(a[before], a[k]), low[k], high[k], drift):
            in_stretch += 1
        elif (
            in_stretch >= 2 and k + 2 < end
            and not agree(a, low, high, before, k, drift)
            and not agree(a, low, high, k, k + 1, drift)
            and meet(&reach, &skipped, apart(a[before], a[k + 1]), low[k + 1], high[k + 1], drift)
            and meet(&skipped, &healed, apart(a[k + 1], a[k + 2]), low[k + 2], high[k + 2], drift)
        ):
            keep[k] = 0
            continue
        else:
            lefts.append(k)
            in_stretch = 1
            next_reach.low, next_reach.high = fixed(low[k]), fixed(high[k])
        reach = next_reach
        before = k


# wide: the columns, which of them, and what is found
cdef void cut_backward(
    const int64_t *a, const int64_t *low, const int64_t *high, int64_t first, int64_t end,
    int64_t drift, const uint8_t *keep, list rights
):
    """Append the index after each stretch of the greedy partition from the right, ascending."""
    cdef int64_t k, before = end - 1
    cdef Reach reach, next_reach
    ends = [end]
    reach.low, reach.high = fixed(low[before]), fixed(high[before])
    for k in range(end - 2, first - 1, -1):
        if not keep[k]:
            continue
        if not meet(&reach, &next_reach, apart(a[k], a[before]), low[k], high[k], drift):
            ends.append(before)
            next_reach.low, next_reach.high = fixed(low[k]), fixed(high[k])
        reach = next_reach
        before = k
    ends.reverse()
    rights += ends


def cut(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high, int64_t drift,
    uint8_t[::1] keep, const int64_t[::1] begins
):
    """Stretches that no drift within the limit contradicts, by a sweep from the left and the right.

    a, low, high: int64 ns, a ascending. `drift` in 2^-52. Outliers are marked 0 in `keep`, which
    comes as ones: a snapshot that contradicts both neighbours while two on each side agree
    without it. begins: where the snapshots are parted anyway, ascending, the first one 0.

    Returns:
        two lists of one length: the first index of each stretch from the left, and the index after
        each one from the right.
    """
    cdef int64_t n = a.shape[0], p, first, end
    lefts, rights = [], []
    if n == 0:
        raise ValueError("no snapshots")
    for p in range(begins.shape[0]):
        first, end = begins[p], n if p + 1 == begins.shape[0] else begins[p + 1]
        if not 0 <= first < end <= n:
            raise ValueError(f"part {p} is from {first} to {end}")
        cut_forward(&a[0], &low[0], &high[0], first, end, drift, &keep[0], lefts)
        cut_backward(&a[0], &low[0], &high[0], first, end, drift, &keep[0], rights)
    return lefts, rights


# The slopes that a stretch leaves open. For one side of the interval: the steepest line from an
# earlier snapshot's top down to a later one's bottom, `(bottom_k - top_j) / (a_k - a_j)`. The
# tops are kept as their lower convex hull; the other side is the same with everything negated.

cdef struct Side:
    int64_t best            # floor of the steepest slope so far
    int128 lowest           # min over the tops of top - (best + 1) x
    int64_t *hull
    int64_t size

cdef struct Stretch:
    const int64_t *a
    const int64_t *low
    const int64_t *high
    const uint8_t *known    # which sides say something; NULL: both
    int64_t origin_a        # of the first snapshot in reading direction
    int64_t origin_r
    bint backwards          # read from right to left, x grows to the left
    Side sides[2]


cdef inline uint64_t x_of(const Stretch *t, int64_t k) noexcept nogil:
    return apart(t.a[k], t.origin_a) if t.backwards else apart(t.origin_a, t.a[k])


cdef inline bint has_top(const Stretch *t, int side, int64_t k) noexcept nogil:
    return t.known == NULL or t.known[k] & (HIGH if side == 0 else LOW)


cdef inline bint has_bottom(const Stretch *t, int side, int64_t k) noexcept nogil:
    return t.known == NULL or t.known[k] & (LOW if side == 0 else HIGH)


cdef inline int64_t top(const Stretch *t, int side, int64_t k) noexcept nogil:
    return t.high[k] - t.origin_r if side == 0 else t.origin_r - t.low[k]


cdef inline int64_t bottom(const Stretch *t, int side, int64_t k) noexcept nogil:
    return t.low[k] - t.origin_r if side == 0 else t.origin_r - t.high[k]


cdef inline int128 turn(
    uint64_t x0, int64_t y0, uint64_t x1, int64_t y1, uint64_t x2, int64_t y2
) noexcept nogil:
    """Above 0 where point 2 lies above the line from point 0 through point 1."""
    return (
        (<int128>y2 - <int128>y0) * <int128>(x1 - x0)
        - (<int128>y1 - <int128>y0) * <int128>(x2 - x0)
    )


cdef void add_top(Stretch *t, int which, int64_t k) noexcept nogil:
    cdef Side *side = &t.sides[which]
    cdef uint64_t x = x_of(t, k)
    cdef int64_t y = top(t, which, k)
    cdef int128 height = fixed(y) - rise(side.best + 1, x)
    cdef int64_t p, q
    if not has_top(t, which, k):
        return
    if side.size == 0 or height < side.lowest:
        side.lowest = height
    while side.size >= 2:
        p, q = side.hull[side.size - 2], side.hull[side.size - 1]
        if turn(x_of(t, p), top(t, which, p), x_of(t, q), top(t, which, q), x, y) > 0:
            break
        side.size -= 1
    side.hull[side.size] = k
    side.size += 1


cdef void add_bottom(Stretch *t, int which, int64_t k) noexcept nogil:
    """Raise the steepest slope where snapshot k makes it steeper."""
    cdef Side *side = &t.sides[which]
    cdef uint64_t x = x_of(t, k), x0, x1
    cdef int64_t y = bottom(t, which, k), y0, y1
    cdef int64_t first = 0, last = side.size - 1, middle
    if side.size == 0 or not has_bottom(t, which, k):
        return
    if fixed(y) - rise(side.best + 1, x) < side.lowest:
        return
    while first < last:
        middle = (first + last) >> 1
        x0, y0 = x_of(t, side.hull[middle]), top(t, which, side.hull[middle])
        x1, y1 = x_of(t, side.hull[middle + 1]), top(t, which, side.hull[middle + 1])
        if turn(x0, y0, x1, y1, x, y) > 0:
            first = middle + 1
        else:
            last = middle
    x0, y0 = x_of(t, side.hull[first]), top(t, which, side.hull[first])
    side.best = quotient(fixed(y) - fixed(y0), <int128>(x - x0))
    first, last = 0, side.size - 1
    while first < last:
        middle = (first + last) >> 1
        x0, y0 = x_of(t, side.hull[middle]), top(t, which, side.hull[middle])
        x1, y1 = x_of(t, side.hull[middle + 1]), top(t, which, side.hull[middle + 1])
        if fixed(y1) - fixed(y0) < rise(side.best + 1, x1 - x0):
            first = middle + 1
        else:
            last = middle
    x0, y0 = x_of(t, side.hull[first]), top(t, which, side.hull[first])
    side.lowest = fixed(y0) - rise(side.best + 1, x0)


cdef void open_stretch(Stretch *t, int64_t k, int64_t wander, int64_t drift) noexcept nogil:
    """Begin a stretch with snapshot k; all slopes within the drift are open."""
    cdef int side
    t.origin_a = t.a[k]
    t.origin_r = t.low[k]
    for side in range(2):
        t.sides[side].best = wander - drift
        t.sides[side].size = 0
        add_top(t, side, k)


cdef bint extend(Stretch *t, int64_t k, int64_t wander) noexcept nogil:
    """Add snapshot k; whether a slope is left. Where none is, the stretch is spent."""
    add_bottom(t, 0, k)
    add_bottom(t, 1, k)
    # sides[1] holds negated slopes: s- = best0 - W, s+ = -best1 + W.
    if t.sides[0].best + t.sides[1].best > 2 * wander:
        return False
    add_top(t, 0, k)
    add_top(t, 1, k)
    return True


cdef int64_t partition(
    Stretch *t, int64_t first, int64_t last, int64_t wander, int64_t drift, int64_t *starts
) noexcept nogil:
    """Greedy stretches of snapshots first..last in the stretch's direction; how many.

    starts: the first index of each, as numbered from the left, in the direction's order.
    """
    cdef int64_t k = last if t.backwards else first, step = -1 if t.backwards else 1
    cdef int64_t end = first - 1 if t.backwards else last + 1, n = 0
    if not t.backwards:
        starts[0] = first
        n = 1
    open_stretch(t, k, wander, drift)
    k += step
    while k != end:
        if not extend(t, k, wander):
            starts[n] = k + 1 if t.backwards else k
            n += 1
            open_stretch(t, k, wander, drift)
        k += step
    if t.backwards:
        starts[n] = first
        n += 1
    return n


# wide: the arrays of one pass
def cores(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high,
    const int64_t[::1] segment_first, const int64_t[::1] segment_last,
    const int64_t[::1] wander, int64_t drift, const uint8_t[::1] known=None
):
    """Stretches of each segment in which some slope holds: what both greedy partitions give.

    a, low, high: int64 ns. segment_first, segment_last, wander: one a segment, the snapshots both
    included; wander and drift in 2^-52. known: uint8, bit 0 where the low side says something, bit
    1 where the high side does; None where all do.

    Returns:
        int64 arrays, one entry a core: segment, first and last snapshot, and the least and the
        greatest slope it leaves open, in 2^-52.
    """
    cdef int64_t n = a.shape[0], m = segment_first.shape[0], g, i, n_left, n_right, k
    cdef int64_t count = 0
    cdef Stretch t
    cdef int64_t *space = <int64_t *>malloc(<size_t>(4 * (n + 1)) * sizeof(int64_t))
    cdef int64_t *lefts, *rights
    if space == NULL:
        raise MemoryError
    out = np.empty((5, n), dtype=np.int64)
    cdef int64_t[:, ::1] found = out
    try:
        t.a, t.low, t.high = &a[0], &low[0], &high[0]
        t.known = NULL if known is None else &known[0]
        t.sides[0].hull, t.sides[1].hull = space, space + n + 1
        lefts, rights = space + 2 * (n + 1), space + 3 * (n + 1)
        with nogil:
            for g in range(m):
                t.backwards = False
                n_left = partition(
                    &t, segment_first[g], segment_last[g], wander[g], drift, lefts
                )
                t.backwards = True
                n_right = partition(
                    &t, segment_first[g], segment_last[g], wander[g], drift, rights
                )
                if n_left != n_right:
                    with gil:
                        raise AssertionError("the partitions from left and right differ")
                t.backwards = False
                for i in range(n_left):
                    found[0, count] = g
                    found[1, count] = lefts[i]
                    found[2, count] = (
                        rights[n_right - 2 - i] - 1 if i + 1 < n_left else segment_last[g]
                    )
                    open_stretch(&t, lefts[i], wander[g], drift)
                    for k in range(lefts[i] + 1, found[2, count] + 1):
                        extend(&t, k, wander[g])
                    found[3, count] = t.sides[0].best - wander[g]
                    found[4, count] = wander[g] - t.sides[1].best
                    count += 1
    finally:
        free(space)
    return tuple(row[:count].copy() for row in out)


cdef bint share_slope(Stretch *t, const int64_t *which, int n, int64_t wander,
                      int64_t drift) noexcept nogil:
    cdef int i
    open_stretch(t, which[0], wander, drift)
    for i in range(1, n):
        if not extend(t, which[i], wander):
            return False
    return True


# wide: the arrays of one pass
def strays(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high,
    const int64_t[::1] segment_first, const int64_t[::1] segment_last,
    const int64_t[::1] wander, int64_t drift,
    const int64_t[::1] core_segment, const int64_t[::1] core_first, const int64_t[::1] core_last,
    const uint8_t[::1] blank
):
    """Snapshots without which three on each side share a slope, and with which they do not.

    Looked for from the last snapshot of each core to the first of the next one of its segment;
    blank: marks snapshots that no longer count.
    """
    cdef int64_t m, c, k, g, free_from = 0
    cdef int before, after, i
    cdef int64_t around[7]
    cdef int64_t hulls[2][8]
    cdef Stretch t
    found = []
    t.a, t.low, t.high, t.backwards = &a[0], &low[0], &high[0], False
    t.known = NULL
    t.sides[0].hull, t.sides[1].hull = hulls[0], hulls[1]
    for m in range(core_first.shape[0] - 1):
        g = core_segment[m]
        if core_segment[m + 1] != g:
            continue
        for c in range(core_last[m], core_first[m + 1] + 1):
            if blank[c]:
                continue
            before, k = 0, c - 1
            while before < 3 and k >= segment_first[g] and k >= free_from:
                if not blank[k]:
                    before += 1
                    around[3 - before] = k
                k -= 1
            after, k = 0, c + 1
            while after < 3 and k <= segment_last[g]:
                if not blank[k]:
                    around[3 + after] = k
                    after += 1
                k += 1
            if before < 3 or after < 3 or not share_slope(&t, around, 6, wander[g], drift):
                continue
            for i in range(6, 3, -1):
                around[i] = around[i - 1]
            around[3] = c
            if share_slope(&t, around, 7, wander[g], drift):
                continue
            found.append(c)
            # Each snapshot is judged once: the next may use only those after this one.
            free_from = c + 1
    return found


cdef inline int128 low_side(const int64_t *low, const uint8_t *known, int64_t k) noexcept nogil:
    """What snapshot k says; below every bound, as wide as it may grow, where that is nothing."""
    return fixed(low[k] if known == NULL or known[k] & LOW else -(<int64_t>1 << 62))


cdef inline int128 high_side(const int64_t *high, const uint8_t *known, int64_t k) noexcept nogil:
    return fixed(high[k] if known == NULL or known[k] & HIGH else <int64_t>1 << 62)


# wide: the arrays of one pass
def cones(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high,
    const int64_t[::1] first, const int64_t[::1] last,
    const int64_t[::1] slope, const int64_t[::1] width, const uint8_t[::1] known=None
):
    """The tube at each snapshot of each stretch first..last: every snapshot's cone, intersected.

    slope, width: one a stretch, in 2^-52. known: of `cores`; a side of which nothing is known in
    a stretch lies beyond 2^61 ns.

    Returns:
        int64 array of shape (n, 4): the low side in whole ns and 2^-52 ns above them, then the
        high side; only the rows of snapshots inside a stretch are written.
    """
    cdef int64_t i, k, steepest, flattest
    cdef uint64_t d
    cdef int128 lower, upper, value, carried
    cdef const uint8_t *sides = NULL if known is None else &known[0]
    knots = np.zeros((a.shape[0], 4), dtype=np.int64)
    cdef int64_t[:, ::1] out = knots
    with nogil:
        for i in range(first.shape[0]):
            steepest, flattest = slope[i] + width[i], slope[i] - width[i]
            lower, upper = low_side(&low[0], sides, first[i]), high_side(&high[0], sides, first[i])
            for k in range(first[i], last[i] + 1):
                if k > first[i]:
                    d = apart(a[k - 1], a[k])
                    carried = lower + rise(flattest, d)
                    value = low_side(&low[0], sides, k)
                    lower = value if value > carried else carried
                    carried = upper + rise(steepest, d)
                    value = high_side(&high[0], sides, k)
                    upper = value if value < carried else carried
                out[k, 0], out[k, 1] = whole(lower), part(lower)
                out[k, 2], out[k, 3] = whole(upper), part(upper)
            for k in range(last[i] - 1, first[i] - 1, -1):
                d = apart(a[k], a[k + 1])
                carried = lower - rise(steepest, d)
                value = join(out[k, 0], out[k, 1])
                lower = value if value > carried else carried
                carried = upper - rise(flattest, d)
                value = join(out[k, 2], out[k, 3])
                upper = value if value < carried else carried
                out[k, 0], out[k, 1] = whole(lower), part(lower)
                out[k, 2], out[k, 3] = whole(upper), part(upper)
    return knots
