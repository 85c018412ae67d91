# Bounds of one side: where they contradict each other, and which of them say the most.
#
# A sweep carries what the bounds so far leave open; a bound that lies outside contradicts an earlier
# one. Whether that is a wrong bound or a break is decided among the few about it. All in the exact
# integers of tube.pxd, so that the sweep and two bounds alone agree.

cdef enum:
    ABOUT = 5               # bounds of each direction that a case is judged by, on each side
    MOST_WRONG = 5          # bounds that one case may leave out
    STRIDE = 64             # bounds from one state that is kept to the next

cdef struct Bounds:
    const int64_t *a
    const int64_t *low
    const int64_t *high
    const uint8_t *known
    int64_t drift
    int64_t n
    uint8_t *keep
    Reach *states           # before every 64th bound
    int64_t *lows           # of a case: those that contradict others, with a low side
    int64_t *highs
    int64_t n_lows
    int64_t n_highs
    int64_t *clashes        # of a case: how many each contradicts, from its first on


cdef inline Reach nothing() noexcept nogil:
    """Beyond every bound, as wide as it may grow (graph/tube/evidence.py)."""
    cdef Reach reach
    reach.low, reach.high = fixed(-(<int64_t>1 << 62)), fixed(<int64_t>1 << 62)
    return reach


cdef inline void carry(const Bounds *b, Reach *reach, int64_t j, int64_t k) noexcept nogil:
    """Carry a reach from bound j to bound k, on either side of it."""
    cdef int128 spread = rise(
        b.drift, apart(b.a[j], b.a[k]) if j <= k else apart(b.a[k], b.a[j])
    )
    reach.low -= spread
    reach.high += spread


cdef inline bint misses(const Bounds *b, const Reach *reach, int64_t k) noexcept nogil:
    """Whether bound k lies outside."""
    return (
        (b.known[k] & LOW and fixed(b.low[k]) > reach.high)
        or (b.known[k] & HIGH and fixed(b.high[k]) < reach.low)
    )


cdef inline void cut_reach(const Bounds *b, Reach *reach, int64_t k) noexcept nogil:
    if b.known[k] & LOW and fixed(b.low[k]) > reach.low:
        reach.low = fixed(b.low[k])
    if b.known[k] & HIGH and fixed(b.high[k]) < reach.high:
        reach.high = fixed(b.high[k])


cdef inline bint above(const Bounds *b, int64_t low, int64_t high) noexcept nogil:
    """Whether the low side of one bound lies above all that the high side of another allows."""
    cdef int128 gap = fixed(b.low[low]) - fixed(b.high[high])
    if gap <= 0:
        return False
    return gap > rise(
        b.drift, apart(b.a[low], b.a[high]) if low <= high else apart(b.a[high], b.a[low])
    )


cdef inline bint clash(const Bounds *b, int64_t j, int64_t k) noexcept nogil:
    return (
        (b.known[j] & LOW and b.known[k] & HIGH and above(b, j, k))
        or (b.known[k] & LOW and b.known[j] & HIGH and above(b, k, j))
    )


cdef int64_t fifth(
    const Bounds *b, int64_t side, int64_t k, int64_t step, int64_t end
) noexcept nogil:
    """The fifth bound of a side from k on, k not included, or the last before `end`; else k."""
    cdef int64_t found = k, count = 0
    k += step
    while k != end and count < ABOUT:
        if b.keep[k] and b.known[k] & side:
            found = k
            count += 1
        k += step
    return found


cdef void suspect(Bounds *b, int64_t start, int64_t end, int64_t step) noexcept nogil:
    """Mark in `clashes` the bounds that contradict one before them, in a direction."""
    cdef Reach reach = nothing()
    cdef int64_t k = start if step > 0 else end, stop = end if step > 0 else start
    while True:
        if b.keep[k]:
            if misses(b, &reach, k):
                b.clashes[k - start] = 1
            cut_reach(b, &reach, k)
        if k == stop:
            return
        carry(b, &reach, k, k + step)
        k += step


cdef void gather(Bounds *b, int64_t start, int64_t end) noexcept nogil:
    """The bounds of a case that contradict others, and how many each."""
    cdef int64_t i, j, k
    b.n_lows = b.n_highs = 0
    for k in range(start, end + 1):
        b.clashes[k - start] = 0
    suspect(b, start, end, 1)
    suspect(b, start, end, -1)
    for k in range(start, end + 1):
        if not b.clashes[k - start]:
            continue
        b.clashes[k - start] = 0
        if b.known[k] & LOW:
            b.lows[b.n_lows] = k
            b.n_lows += 1
        if b.known[k] & HIGH:
            b.highs[b.n_highs] = k
            b.n_highs += 1
    for i in range(b.n_lows):
        for j in range(b.n_highs):
            if above(b, b.lows[i], b.highs[j]):
                b.clashes[b.lows[i] - start] += 1
                b.clashes[b.highs[j] - start] += 1


cdef bint settle(
    Bounds *b, int64_t start, int64_t end, int64_t *wrong, int64_t *n_wrong
) noexcept nogil:
    """Leave out what contradicts most, while it does so on both sides; whether the rest agrees."""
    cdef int64_t k, i, worst, most
    cdef bint before, after
    gather(b, start, end)
    n_wrong[0] = 0
    while True:
        worst, most = -1, 0
        for k in range(start, end + 1):
            if b.clashes[k - start] > most:
                worst, most = k, b.clashes[k - start]
        if worst < 0:
            return True
        if n_wrong[0] == MOST_WRONG:
            return False
        before = after = False
        for i in range(b.n_lows + b.n_highs):
            k = b.lows[i] if i < b.n_lows else b.highs[i - b.n_lows]
            if b.clashes[k - start] and clash(b, worst, k):
                before |= k < worst
                after |= k > worst
        if not (before and after):
            return False
        for i in range(b.n_lows):
            k = b.lows[i]
            if b.clashes[k - start] and b.known[worst] & HIGH and above(b, k, worst):
                b.clashes[k - start] -= 1
        for i in range(b.n_highs):
            k = b.highs[i]
            if b.clashes[k - start] and b.known[worst] & LOW and above(b, worst, k):
                b.clashes[k - start] -= 1
        b.clashes[worst - start] = 0
        wrong[n_wrong[0]] = worst
        n_wrong[0] += 1


cdef int64_t next_case(Bounds *b, int64_t first, int64_t k, Reach *reach) noexcept nogil:
    """The next bound from k on that contradicts an earlier one of the segment; n if none does."""
    while k < b.n:
        if k > first:
            carry(b, reach, k - 1, k)
        if b.keep[k]:
            if misses(b, reach, k):
                return k
            cut_reach(b, reach, k)
        k += 1
        if k % STRIDE == 0 and k < b.n:
            b.states[k // STRIDE] = reach[0]
    return k


cdef int64_t last_before(const Bounds *b, int64_t first, int64_t k, int64_t end) noexcept nogil:
    """The last of the bounds first..k-1 that contradicts those of the segment k..end-1."""
    cdef Reach reach = nothing()
    cdef int64_t i
    for i in range(end - 1, first - 1, -1):
        if i < end - 1:
            carry(b, &reach, i + 1, i)
        if not b.keep[i]:
            continue
        if i >= k:
            cut_reach(b, &reach, i)
        elif misses(b, &reach, i):
            return i
    return first


cdef int64_t leave_out(Bounds *b, int64_t first, int64_t k, Reach *reach) noexcept nogil:
    """Leave out what is wrong about bound k, which contradicts an earlier one of its segment.

    Returns:
        where to sweep on, with the reach before it; -1 where it is a break.
    """
    cdef int64_t j = k - 1, i, n_wrong, start, end
    cdef int64_t wrong[MOST_WRONG]
    while not (b.keep[j] and clash(b, j, k)):
        j -= 1
    start = min(fifth(b, LOW, j, -1, first - 1), fifth(b, HIGH, j, -1, first - 1))
    end = max(fifth(b, LOW, k, 1, b.n), fifth(b, HIGH, k, 1, b.n))
    if not settle(b, start, end, wrong, &n_wrong):
        return -1
    for i in range(n_wrong):
        b.keep[wrong[i]] = 0
        k = min(k, wrong[i])
    # Back to the last state before the first of them.
    k -= k % STRIDE
    if k > first:
        reach[0] = b.states[k // STRIDE]
        return k
    reach[0] = nothing()
    return first


def faults(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high,
    const uint8_t[::1] known, int64_t drift, uint8_t[::1] keep
):
    """Find the bounds that are wrong, and where no drift within the limit explains both sides.

    a, low, high: int64 ns, a ascending; known: uint8, bit 0 where the low side says something, bit
    1 where the high side does. `drift` in 2^-52. Wrong bounds are marked 0 in `keep`, which comes
    as ones.

    Returns:
        two lists of one length: the first bound of each segment, and the last one that surely
        belongs to it.
    """
    cdef Bounds b
    cdef Reach reach
    cdef int64_t n = a.shape[0], k = 0, i, first = 0, next_k
    cdef int64_t *space
    if n == 0:
        raise ValueError("no bounds")
    b.a, b.low, b.high, b.known, b.keep = &a[0], &low[0], &high[0], &known[0], &keep[0]
    b.drift, b.n = drift, n
    b.states = <Reach *>malloc(<size_t>(n // STRIDE + 1) * sizeof(Reach))
    space = <int64_t *>malloc(<size_t>(3 * n) * sizeof(int64_t))
    firsts = [0]
    try:
        if b.states == NULL or space == NULL:
            raise MemoryError
        b.lows, b.highs, b.clashes = space, space + n, space + 2 * n
        reach = nothing()
        while True:
            with nogil:
                k = next_case(&b, first, k, &reach)
                next_k = leave_out(&b, first, k, &reach) if k < n else n
            if k >= n:
                break
            if next_k < 0:
                firsts.append(k)
                first, reach = k, nothing()
            else:
                k = next_k
        ends = [*firsts[1:], n]
        lasts = []
        for i in range(len(firsts) - 1):
            lasts.append(last_before(&b, firsts[i], firsts[i + 1], ends[i + 1]))
        k = n - 1
        while not keep[k]:
            k -= 1
        lasts.append(k)
    finally:
        free(b.states)
        free(space)
    return firsts, lasts


cdef void mark_live(
    const Bounds *b, int64_t first, int64_t last, int64_t step, uint8_t *live
) noexcept nogil:
    """Take from `live` the sides that a bound before them, in a direction, says more than."""
    cdef Reach reach = nothing()
    cdef int64_t k = first
    while True:
        if k != first:
            carry(b, &reach, k - step, k)
        if b.keep[k]:
            if fixed(b.low[k]) < reach.low:
                live[k] &= ~LOW
            if fixed(b.high[k]) > reach.high:
                live[k] &= ~HIGH
            cut_reach(b, &reach, k)
        if k == last:
            return
        k += step


# wide: the arrays of one pass
def live(
    const int64_t[::1] a, const int64_t[::1] low, const int64_t[::1] high,
    const uint8_t[::1] known, int64_t drift, const uint8_t[::1] keep,
    const int64_t[::1] first, const int64_t[::1] last
):
    """Which sides of the bounds no other bound of their segment makes needless.

    a, low, high, known, drift, keep: of `faults`; first, last: int64, one a segment.

    Returns:
        uint8, the bits of `known` that are left; 0 outside the segments and where `keep` is 0.
    """
    cdef Bounds b
    cdef int64_t i, k, n = a.shape[0]
    made = np.zeros(n, dtype=np.uint8)
    cdef uint8_t[::1] out = made
    b.a, b.low, b.high, b.known, b.keep = &a[0], &low[0], &high[0], &known[0], <uint8_t *>&keep[0]
    b.drift, b.n = drift, n
    with nogil:
        for i in range(first.shape[0]):
            for k in range(first[i], last[i] + 1):
                out[k] = known[k] if keep[k] else 0
            mark_live(&b, first[i], last[i], 1, &out[0])
            mark_live(&b, last[i], first[i], -1, &out[0])
    return made
