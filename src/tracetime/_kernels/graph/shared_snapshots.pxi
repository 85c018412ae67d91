# The readings of two clocks in the snapshots that have both, and how their offset changed.

cdef inline int64_t _sought(
    const Membership *among, int64_t n, int32_t series, int64_t low
) noexcept nogil:
    """The first membership from `low` on that is not before a series, by steps that double."""
    cdef int64_t high = low, step = 1, middle
    while high < n and among[high].series < series:
        low = high + 1
        high += step
        step <<= 1
    high = min(high, n)
    while low < high:
        middle = (low + high) >> 1
        if among[middle].series < series:
            low = middle + 1
        else:
            high = middle
    return low


# Half of the greatest offset that a tube can hold.
cdef int64_t FAR_APART = <int64_t>1 << 60


cdef struct Shared:
    int64_t snapshot
    int64_t a
    int64_t b


cdef int _in_order(const void *one, const void *other) noexcept nogil:
    cdef int64_t a = (<const Shared *>one).snapshot
    cdef int64_t b = (<const Shared *>other).snapshot
    return (a > b) - (a < b)


cdef int64_t _gather(
    const Column *one, const Column *two, Shared *found, int64_t n, bint *ascending
) noexcept nogil:
    """Append the snapshots that two columns share; returns how many there are then."""
    cdef int64_t i, k = 0
    for i in range(one.n):
        while k < two.n and two.snapshots[k] < one.snapshots[i]:
            k += 1
        if k < two.n and two.snapshots[k] == one.snapshots[i]:
            found[n].snapshot = one.snapshots[i]
            found[n].a = one.values_ns[i]
            found[n].b = two.values_ns[k]
            ascending[0] &= n == 0 or found[n - 1].snapshot < found[n].snapshot
            n += 1
    return n


cdef int64_t _once_each(Shared *found, int64_t n) noexcept nogil:
    """Leave out snapshots that came twice: lists whose hashes collide share columns."""
    cdef int64_t i, kept = 0
    for i in range(n):
        if kept == 0 or found[kept - 1].snapshot != found[i].snapshot:
            found[kept] = found[i]
            kept += 1
    return kept


cdef int64_t _shared(
    Engine engine, int32_t a, int32_t b, Shared **found, int64_t *capacity
) except -1:
    """The readings of all snapshots that two clocks share, in file order; returns how many."""
    cdef Series *s
    cdef Column *one
    cdef Node *few, *many
    cdef int64_t j, here, there, at = 0, n = 0
    cdef int32_t series
    cdef bint ascending = True
    if a < 0 or b < 0 or a == b:
        return 0
    few, many = &engine.nodes[a], &engine.nodes[b]
    if few.n_memberships > many.n_memberships:
        few, many = many, few
    # Memberships are in order of their series.
    for j in range(few.n_memberships):
        series = few.memberships[j].series
        at = _sought(many.memberships, many.n_memberships, series, at)
        if at == many.n_memberships:
            break
        if many.memberships[at].series != series:
            continue
        here, there = few.memberships[j].position, many.memberships[at].position
        if few != &engine.nodes[a]:
            here, there = there, here
        s = &engine.series[series]
        one = &engine.columns[s.columns[here]]
        grow(<void **>found, capacity, n + one.n, sizeof(Shared))
        n = _gather(one, &engine.columns[s.columns[there]], found[0], n, &ascending)
    if not ascending:
        qsort(found[0], <size_t>n, sizeof(Shared), _in_order)
        n = _once_each(found[0], n)
    return n


def pairs(Engine engine not None, tuple first, tuple second):
    """Readings that two clocks share: (snapshots, first_ns, second_ns), int64, in file order.

    From every snapshot that has both and was taken whole.
    """
    cdef Shared *found = NULL
    cdef int64_t capacity = 0, i, n
    cdef int64_t[:, ::1] out
    try:
        n = _shared(
            engine, engine.find_node(key_of(first)), engine.find_node(key_of(second)), &found,
            &capacity,
        )
        made = np.empty((3, n), dtype=np.int64)
        out = made
        for i in range(n):
            out[0, i] = found[i].snapshot
            out[1, i] = found[i].a
            out[2, i] = found[i].b
    finally:
        free(found)
    return made[0], made[1], made[2]


cdef inline double _moved(const Shared *one, const Shared *other) noexcept nogil:
    """How much the offset, b - a, of two clocks grew from one snapshot to the other."""
    cdef int64_t before, after, grown
    if not (
        sub_overflows(one.b, one.a, &before) or sub_overflows(other.b, other.a, &after)
        or sub_overflows(after, before, &grown)
    ):
        return <double>grown
    return (<double>other.b - <double>other.a) - (<double>one.b - <double>one.a)


cdef inline double _apart(int64_t one, int64_t other) noexcept nogil:
    cdef int64_t exact
    return <double>one - <double>other if sub_overflows(one, other, &exact) else <double>exact


# How the offset of one hop varied over its n snapshots: the largest change from one to the next, the
# greatest difference, the fastest change; the first and the last of the target's readings.
cdef struct Variation:
    bint known
    int64_t n
    double largest
    double drift
    double fastest
    int64_t first
    int64_t last


cdef void _vary(const Shared *found, int64_t n, Variation *out) noexcept nogil:
    cdef double least = 0, most = 0, moved, gap
    cdef int64_t i
    memset(out, 0, sizeof(Variation))
    out.known = True
    out.n = n
    if n == 0:
        return
    for i in range(1, n):
        moved = _moved(&found[0], &found[i])
        least, most = min(least, moved), max(most, moved)
        moved = fabs(_moved(&found[i - 1], &found[i]))
        gap = fabs(_apart(found[i].b, found[i - 1].b))
        out.largest = max(out.largest, moved)
        if gap > 0:
            out.fastest = max(out.fastest, moved / gap)
    out.drift = most - least
    out.first, out.last = found[0].b, found[n - 1].b


def variations(
    Engine engine not None, list sources, Router router, const int64_t[:, ::1] spans=None
):
    """How much the offsets of clocks to the router's target varied over the snapshots of their paths.

    Args:
        sources: keys of the clocks.
        spans: for each, the least and the greatest reading of the router's clock that matter;
            beyond the snapshots an offset changes as fast as it did at most.

    Returns:
        (hops, change, drift) by clock, int8, float64, float64: how many hops lead there, -1 where
        none do; the largest change of the offset from one snapshot to the next, and its greatest
        difference, ns, each summed over the hops.
    """
    cdef int64_t i, n, capacity = 0
    cdef int32_t node, h
    cdef Path path
    cdef Shared *found = NULL
    cdef Variation *hop
    # By clock: the variation over its next hop.
    cdef Variation *known
    cdef double beyond
    hops = np.full(len(sources), -1, dtype=np.int8)
    change, drift = np.zeros(len(sources)), np.zeros(len(sources))
    cdef signed char[::1] hops_out = hops
    cdef double[::1] change_out = change, drift_out = drift
    if router is None:
        return hops, change, drift
    if spans is not None and (spans.shape[0] != len(sources) or spans.shape[1] != 2):
        raise ValueError("a span is two readings, and each clock has one")
    router.sync()
    known = <Variation *>calloc(engine.n_nodes + 1, sizeof(Variation))
    if known == NULL:
        raise MemoryError
    try:
        for i in range(len(sources)):
            node = engine.find_node(key_of(sources[i]))
            if node < 0 or not router.find(node, &path):
                continue
            hops_out[i] = <signed char>path.n
            for h in range(path.n):
                hop = &known[path.hops[h].source]
                if not hop.known:
                    n = _shared(
                        engine, path.hops[h].source, path.hops[h].target, &found, &capacity
                    )
                    _vary(found, n, hop)
                beyond = 0
                if spans is not None and hop.n > 1:
                    beyond = max(_apart(hop.first, spans[i, 0]), _apart(spans[i, 1], hop.last))
                change_out[i] += max(hop.largest, hop.fastest * max(beyond, 0.0))
                drift_out[i] += hop.drift
    finally:
        free(known)
        free(found)
    return hops, change, drift


def extents(Engine engine not None, const int64_t[::1] ones, const int64_t[::1] others):
    """Of pairs of clocks by number, the extent of the first one's readings in shared snapshots.

    Returns:
        int64, a row for each pair: how many readings, the least and the greatest (INT64_MAX and
        INT64_MIN where there are no readings).
    """
    cdef int64_t capacity = 0, i, j, n
    cdef Shared *found = NULL
    _check_pairs(engine, ones, others)
    made = np.empty((ones.shape[0], 3), dtype=np.int64)
    cdef int64_t[:, ::1] out = made
    try:
        for i in range(ones.shape[0]):
            n = _shared(engine, <int32_t>ones[i], <int32_t>others[i], &found, &capacity)
            out[i, 0], out[i, 1], out[i, 2] = n, INT64_HIGH, INT64_LOW
            for j in range(n):
                out[i, 1] = min(out[i, 1], found[j].a)
                out[i, 2] = max(out[i, 2], found[j].a)
    finally:
        free(found)
    return made


cdef int _check_pairs(Engine engine, const int64_t[::1] ones, const int64_t[::1] others) except -1:
    cdef int64_t i
    if ones.shape[0] != others.shape[0]:
        raise ValueError("a pair is two clocks")
    for i in range(ones.shape[0]):
        if not (0 <= ones[i] < engine.n_nodes and 0 <= others[i] < engine.n_nodes):
            raise IndexError("no such clock")
    return 0


def steady(Engine engine not None, const int64_t[::1] ones, const int64_t[::1] others):
    """Of pairs of clocks by number, whether their shared snapshots show no change of the offset.

    The offset is the same in all and both clocks rise: 1, uint8; 2 where there is one such snapshot
    at most. Several of a pair that is very far apart are not steady.
    """
    cdef int64_t capacity = 0, i, j, n, offset, again
    cdef Shared *found = NULL
    _check_pairs(engine, ones, others)
    made = np.zeros(ones.shape[0], dtype=np.uint8)
    cdef uint8_t[::1] out = made
    try:
        for i in range(ones.shape[0]):
            n = _shared(engine, <int32_t>ones[i], <int32_t>others[i], &found, &capacity)
            if n <= 1:
                out[i] = 2
                continue
            if sub_overflows(found[0].b, found[0].a, &offset):
                continue
            if not -FAR_APART < offset < FAR_APART:
                continue
            for j in range(1, n):
                if (
                    found[j].a <= found[j - 1].a
                    or sub_overflows(found[j].b, found[j].a, &again) or again != offset
                ):
                    break
            else:
                out[i] = 1
    finally:
        free(found)
    return made
