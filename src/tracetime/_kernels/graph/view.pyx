# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The engine as Python sees it: keys as (clock, sequence, file, machine), columns as NumPy arrays."""

from libc.math cimport fabs
from libc.stdint cimport INT64_MAX, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort
from libc.string cimport memset

import numpy as np

from tracetime._kernels.graph.engine cimport (
    FAULT_NONE, NO_PATH, NON_MONOTONIC_SOURCE, RESOLVED, UNKNOWN_SOURCE_CLOCK,
    UNKNOWN_TARGET_CLOCK, Column, Engine, Key, Node, Path, Router, Series,
)
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, grow, sub_overflows


cdef Key key_of(tuple parts):
    cdef Key key
    key.clock, key.sequence, key.file, key.machine = parts
    return key


cdef tuple parts_of(Key key):
    return key.clock, key.sequence, key.file, key.machine


def add_snapshots(
    Engine engine not None, list keys, const int64_t[:, ::1] values, const int64_t[::1] units,
    const uint8_t[::1] incremental, tuple trace_key=None
):
    """Add one snapshot a row of values; returns (rows added, fault, position of its clock).

    A row at fault is not added, nor any after it.
    """
    cdef int64_t n = len(keys)
    cdef int64_t row
    cdef int fault = FAULT_NONE
    cdef int32_t trace_node = -1
    cdef int32_t *nodes
    if values.shape[1] != n or units.shape[0] != n or incremental.shape[0] != n or n == 0:
        raise ValueError("one column of values, unit and flag for each clock")
    nodes = <int32_t *>malloc(<size_t>n * sizeof(int32_t))
    if nodes == NULL:
        raise MemoryError
    try:
        for row in range(n):
            nodes[row] = engine.node(key_of(keys[row]))
        if trace_key is not None:
            trace_node = engine.node(key_of(trace_key))
        for row in range(values.shape[0]):
            fault = engine.add_snapshot(
                nodes, &values[row, 0], &units[0], &incremental[0], n, trace_node, True
            )
            if fault:
                return row, fault, engine.fault_position
            engine.add_snapshot(
                nodes, &values[row, 0], &units[0], &incremental[0], n, trace_node, False
            )
    finally:
        free(nodes)
    return values.shape[0], FAULT_NONE, 0


def version(Engine engine not None):
    """Changes whenever the graph does."""
    return engine.n_snapshots


def snapshot_packets(Engine engine not None):
    """The packet that each snapshot came in, uint64, by number of the snapshot."""
    cdef uint32_t i
    made = np.zeros(engine.n_snapshots, dtype=np.uint64)
    cdef uint64_t[::1] out = made
    for i in range(engine.n_snapshots):
        out[i] = engine.snapshot_packets[i]
    return made


def keys(Engine engine not None, int64_t first):
    """The keys of all clocks by number, from `first` on."""
    cdef int64_t i
    return [parts_of(engine.nodes[i].key) for i in range(max(first, 0), engine.n_nodes)]


def clocks(Engine engine not None):
    """(number, unit_ns, incremental, monotonic, snapshots, first_ns, last_ns) of each clock seen."""
    cdef int64_t i
    cdef Node *node
    cdef Column *column
    cdef Column *known
    cdef int64_t[::1] n_readings = np.zeros(engine.n_nodes, dtype=np.int64)
    # Of the columns that a clock is in, the one that began first, and that ended last.
    cdef int64_t[::1] first = np.full(engine.n_nodes, -1, dtype=np.int64)
    cdef int64_t[::1] last = np.full(engine.n_nodes, -1, dtype=np.int64)
    for i in range(engine.n_columns):
        column = &engine.columns[i]
        if column.n == 0:
            continue
        n_readings[column.node] += column.n
        # In file order, whatever the clock did: by the numbers of the snapshots.
        if first[column.node] < 0 or (
            column.snapshots[0] < engine.columns[first[column.node]].snapshots[0]
        ):
            first[column.node] = i
        if last[column.node] >= 0:
            known = &engine.columns[last[column.node]]
            if column.snapshots[column.n - 1] <= known.snapshots[known.n - 1]:
                continue
        last[column.node] = i
    found = []
    for i in range(engine.n_nodes):
        node = &engine.nodes[i]
        if node.seen:
            began = ended = None
            if first[i] >= 0:
                column = &engine.columns[last[i]]
                began = engine.columns[first[i]].values_ns[0]
                ended = column.values_ns[column.n - 1]
            found.append((
                i, node.unit_ns, bool(node.incremental), not node.backwards, n_readings[i],
                began, ended,
            ))
    return found


def series(Engine engine not None, bint mixed=False):
    """(numbers, snapshots) of each ordered list of clocks that a whole snapshot has had.

    mixed: only of the lists of clocks of several machines.
    """
    cdef int64_t i, j
    cdef Series *s
    found = []
    for i in range(engine.n_series):
        s = &engine.series[i]
        if not mixed or is_mixed(engine, s):
            found.append(([s.nodes[j] for j in range(s.n)], s.count))
    return found


cdef bint is_mixed(Engine engine, const Series *s) noexcept:
    cdef int32_t j
    for j in range(1, s.n):
        if engine.nodes[s.nodes[j]].key.machine != engine.nodes[s.nodes[0]].key.machine:
            return True
    return False


def neighbours(Engine engine not None, int32_t number, int64_t enough=INT64_MAX):
    """The numbers of the clocks that one shares whole snapshots with; of those `enough`."""
    cdef Series *s
    cdef int64_t j
    cdef int32_t m
    if not 0 <= number < engine.n_nodes:
        raise IndexError("no such clock")
    found = set()
    for j in range(engine.nodes[number].n_memberships):
        s = &engine.series[engine.nodes[number].memberships[j].series]
        for m in range(s.n):
            if s.nodes[m] != number:
                found.add(s.nodes[m])
                if <int64_t>len(found) >= enough:
                    return found
    return found


def hops_from(
    Engine engine not None, int32_t number, const int32_t[::1] begins, const int32_t[::1] linked
):
    """How many hops every clock, by number, is from one at the least; -1 where none lead there.

    A hop leads between clocks of a whole snapshot, and from clock i to those that
    `linked[begins[i]:begins[i + 1]]` names.
    """
    cdef Node *node
    cdef Series *s
    cdef int64_t head = 0, n = 1, j
    cdef int32_t here, there, m
    if not 0 <= number < engine.n_nodes or begins.shape[0] != engine.n_nodes + 1:
        raise IndexError("no such clock")
    made = np.full(engine.n_nodes, -1, dtype=np.int32)
    cdef int32_t[::1] hops = made
    cdef int32_t[::1] queue = np.empty(engine.n_nodes, dtype=np.int32)
    cdef uint8_t[::1] done = np.zeros(engine.n_series, dtype=np.uint8)
    hops[number] = 0
    queue[0] = number
    with nogil:
        while head < n:
            here = queue[head]
            head += 1
            node = &engine.nodes[here]
            for j in range(node.n_memberships):
                if done[node.memberships[j].series]:
                    continue
                done[node.memberships[j].series] = 1
                s = &engine.series[node.memberships[j].series]
                for m in range(s.n):
                    there = s.nodes[m]
                    if hops[there] < 0:
                        hops[there] = hops[here] + 1
                        queue[n] = there
                        n += 1
            for j in range(begins[here], begins[here + 1]):
                there = linked[j]
                if hops[there] < 0:
                    hops[there] = hops[here] + 1
                    queue[n] = there
                    n += 1
    return made


def n_columns(Engine engine not None):
    """How many columns there are for `column_of`."""
    return engine.n_columns


def column_of(Engine engine not None, int64_t index):
    """(key, snapshots, readings_ns) of a clock in the snapshots of one list of clocks: int64."""
    cdef int64_t i
    cdef Column *column
    if not 0 <= index < engine.n_columns:
        raise IndexError("no such column")
    column = &engine.columns[index]
    made = np.empty((2, column.n), dtype=np.int64)
    cdef int64_t[:, ::1] out = made
    for i in range(column.n):
        out[0, i] = column.snapshots[i]
        out[1, i] = column.values_ns[i]
    return parts_of(engine.nodes[column.node].key), made[0], made[1]


def every_reading(Engine engine not None):
    """(numbers, readings_ns) of all readings of whole snapshots, list by list of clocks.

    int64 arrays of one length; numbers: of the clocks.
    """
    cdef int64_t i, j, n = 0
    cdef Column *column
    for i in range(engine.n_columns):
        n += engine.columns[i].n
    made = np.empty((2, n), dtype=np.int64)
    cdef int64_t[:, ::1] out = made
    n = 0
    with nogil:
        for i in range(engine.n_columns):
            column = &engine.columns[i]
            for j in range(column.n):
                out[0, n] = column.node
                out[1, n] = column.values_ns[j]
                n += 1
    return made[0], made[1]


def readings_of(Engine engine not None, tuple key):
    """What one clock read in snapshots that were taken whole, int64 ns, list by list of clocks."""
    cdef int32_t found = engine.find_node(key_of(key))
    cdef Node *node
    cdef Column *column
    cdef int64_t i, j, n = 0
    cdef int64_t[::1] out
    if found < 0:
        return np.empty(0, dtype=np.int64)
    node = &engine.nodes[found]
    for j in range(node.n_memberships):
        n += column_at(engine, node, j).n
    values = np.empty(n, dtype=np.int64)
    out = values
    n = 0
    for j in range(node.n_memberships):
        column = column_at(engine, node, j)
        for i in range(column.n):
            out[n] = column.values_ns[i]
            n += 1
    return values


cdef inline Column *column_at(Engine engine, const Node *node, int64_t membership) noexcept:
    """The readings of a clock in one of the lists of clocks that have it."""
    cdef Series *s = &engine.series[node.memberships[membership].series]
    return &engine.columns[s.columns[node.memberships[membership].position]]


def make_router(Engine engine not None, tuple target):
    """Shortest paths to a clock, for `route`; None for a clock that no snapshot names."""
    cdef int32_t node = engine.find_node(key_of(target))
    if node < 0:
        return None
    return Router(engine, node)


def route(Engine engine not None, tuple source, Router router):
    """(status, unit_ns of the source, hops): hops as (source, target, columns, series number)."""
    cdef int32_t node = engine.find_node(key_of(source))
    cdef Path path
    cdef int i
    if node < 0 or not engine.nodes[node].seen:
        return UNKNOWN_SOURCE_CLOCK, 1, []
    if router is None or not engine.nodes[router.target].seen:
        return UNKNOWN_TARGET_CLOCK, 1, []
    router.sync()
    if not router.find(node, &path):
        return NON_MONOTONIC_SOURCE if engine.nodes[node].backwards else NO_PATH, 1, []
    hops = []
    for i in range(path.n):
        hops.append((
            parts_of(engine.nodes[path.hops[i].source].key),
            parts_of(engine.nodes[path.hops[i].target].key),
            (path.hops[i].source_column, path.hops[i].target_column),
            path.hops[i].series,
        ))
    return RESOLVED, engine.nodes[node].unit_ns, hops


def hop_columns(Engine engine not None, int32_t source_column, int32_t target_column):
    """One hop as arrays: (readings, offsets, lowest, highest), int64, one entry a snapshot.

    lowest..highest are the values that take a snapshot's offset without overflow. A reading
    without partner (its snapshot was not taken whole) has offset 0; an offset that itself does
    not fit in int64 leaves no value: lowest > highest.
    """
    if not (
        0 <= source_column < engine.n_columns and 0 <= target_column < engine.n_columns
    ):
        raise IndexError("no such column")
    cdef Column *here = &engine.columns[source_column]
    cdef Column *there = &engine.columns[target_column]
    cdef int64_t n = here.n
    cdef int64_t i, j = 0, offset
    made = np.empty((4, n), dtype=np.int64)
    cdef int64_t[:, ::1] out = made
    with nogil:
        for i in range(n):
            while j < there.n and there.snapshots[j] < here.snapshots[i]:
                j += 1
            out[0, i] = here.values_ns[i]
            out[2, i] = INT64_LOW if i == 0 else here.values_ns[i]
            out[3, i] = INT64_HIGH if i + 1 == n else here.values_ns[i + 1] - 1
            offset = 0
            if j < there.n and there.snapshots[j] == here.snapshots[i]:
                if sub_overflows(there.values_ns[j], here.values_ns[i], &offset):
                    out[1, i] = 0
                    out[2, i] = INT64_HIGH
                    out[3, i] = INT64_LOW
                    continue
            out[1, i] = offset
            if offset > 0 and out[3, i] > INT64_HIGH - offset:
                out[3, i] = INT64_HIGH - offset
            if offset < 0 and out[2, i] < INT64_LOW - offset:
                out[2, i] = INT64_LOW - offset
    return made[0], made[1], made[2], made[3]


cdef int64_t _common(Engine engine, int32_t a, int32_t b, int64_t[:, ::1] found) noexcept nogil:
    """Where two clocks stand in the same series: (series, position of a, position of b).

    Returns how many; `found` has room for as many as the fewer of their memberships. Memberships
    stand in order of their series.
    """
    cdef Node *one = &engine.nodes[a]
    cdef Node *two = &engine.nodes[b]
    cdef Node *few = one if one.n_memberships <= two.n_memberships else two
    cdef Node *many = two if few == one else one
    cdef int64_t j, low, high, middle, n = 0
    cdef int32_t series
    for j in range(few.n_memberships):
        series = few.memberships[j].series
        low, high = 0, many.n_memberships
        while low < high:
            middle = (low + high) >> 1
            if many.memberships[middle].series < series:
                low = middle + 1
            else:
                high = middle
        if low == many.n_memberships or many.memberships[low].series != series:
            continue
        found[n, 0] = series
        found[n, 1] = few.memberships[j].position
        found[n, 2] = many.memberships[low].position
        if few != one:
            found[n, 1], found[n, 2] = found[n, 2], found[n, 1]
        n += 1
    return n


# Half of what a tube can hold.
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
    cdef int64_t j, n_common, n = 0
    cdef bint ascending = True
    cdef int64_t[:, ::1] common
    if a < 0 or b < 0 or a == b:
        return 0
    common = np.empty(
        (min(engine.nodes[a].n_memberships, engine.nodes[b].n_memberships), 3), dtype=np.int64
    )
    n_common = _common(engine, a, b, common)
    for j in range(n_common):
        s = &engine.series[common[j, 0]]
        one = &engine.columns[s.columns[common[j, 1]]]
        grow(<void **>found, capacity, n + one.n, sizeof(Shared))
        n = _gather(one, &engine.columns[s.columns[common[j, 2]]], found[0], n, &ascending)
    if not ascending:
        qsort(found[0], <size_t>n, sizeof(Shared), _in_order)
        n = _once_each(found[0], n)
    return n


def pairs(Engine engine not None, tuple first, tuple second):
    """Readings that two clocks share: (snapshots, first_ns, second_ns), int64, in file order.

    From every snapshot that has both and was taken whole.
    """
    cdef Shared *found = NULL
    cdef int64_t capacity = 0
    cdef int64_t i, n
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
    """By how much the offset, b - a, of two clocks grew from one snapshot to the other."""
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


# How the offset of one hop strayed over its snapshots, n of them: by how much from one to the next
# at most, by how much in all, how fast at most, and the first and the last of the target's readings.
cdef struct Stray:
    bint known
    int64_t n
    double largest
    double drift
    double fastest
    int64_t first
    int64_t last


cdef void _stray(const Shared *found, int64_t n, Stray *out) noexcept nogil:
    cdef double least = 0, most = 0, moved, gap
    cdef int64_t i
    memset(out, 0, sizeof(Stray))
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


def strays(
    Engine engine not None, list sources, Router router, const int64_t[:, ::1] spans=None
):
    """How far the offsets of clocks to the router's strayed over the snapshots on their ways.

    Args:
        sources: keys of the clocks.
        spans: for each, the least and the greatest reading of the router's clock that matter;
            offsets go on beyond the snapshots as fast as they ever did.

    Returns:
        (hops, change, drift) by clock: how many hops lead there, -1 where none do; the largest
        change of the offset from one snapshot to the next, and all it strayed by, ns, summed over
        the hops: int8, float64, float64.
    """
    cdef int64_t i, n
    cdef int64_t capacity = 0
    cdef int32_t node, h
    cdef Path path
    cdef Shared *found = NULL
    cdef Stray *hop
    # By clock: what its next hop is like.
    cdef Stray *known
    cdef double beyond
    hops = np.full(len(sources), -1, dtype=np.int8)
    change, drift = np.zeros(len(sources)), np.zeros(len(sources))
    cdef signed char[::1] hops_out = hops
    cdef double[::1] change_out = change
    cdef double[::1] drift_out = drift
    if router is None:
        return hops, change, drift
    if spans is not None and (spans.shape[0] != len(sources) or spans.shape[1] != 2):
        raise ValueError("a span is two readings, and each clock has one")
    router.sync()
    known = <Stray *>calloc(engine.n_nodes + 1, sizeof(Stray))
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
                    _stray(found, n, hop)
                beyond = 0
                if spans is not None and hop.n > 1:
                    beyond = max(_apart(hop.first, spans[i, 0]), _apart(spans[i, 1], hop.last))
                change_out[i] += max(hop.largest, hop.fastest * max(beyond, 0.0))
                drift_out[i] += hop.drift
    finally:
        free(known)
        free(found)
    return hops, change, drift


def only_beside(Engine engine not None, tuple clock):
    """The numbers of the clocks that stand in one list of clocks alone, which has this one."""
    cdef int32_t node = engine.find_node(key_of(clock))
    cdef Series *s
    cdef int64_t j
    cdef int32_t m
    found = set()
    for j in range(engine.nodes[node].n_memberships if node >= 0 else 0):
        s = &engine.series[engine.nodes[node].memberships[j].series]
        for m in range(s.n):
            if engine.nodes[s.nodes[m]].n_memberships == 1:
                found.add(s.nodes[m])
    return found


def beside(Engine engine not None, const int64_t[::1] ones, const int64_t[::1] others):
    """Of pairs of clocks by number, what the first reads in the snapshots that they share.

    Returns:
        int64, a row for each pair: how many readings, the least and the greatest; of none
        INT64_MAX and INT64_MIN.
    """
    cdef int64_t capacity = 0
    cdef int64_t i, j, n
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
    """Of pairs of clocks by number, whether nothing can have befallen them in the snapshots they share.

    There is one such snapshot, or the offset is the same in all and both clocks rise; uint8. Pairs
    that are very far apart are not steady.
    """
    cdef int64_t capacity = 0
    cdef int64_t i, j, n, offset, again
    cdef Shared *found = NULL
    _check_pairs(engine, ones, others)
    made = np.zeros(ones.shape[0], dtype=np.uint8)
    cdef uint8_t[::1] out = made
    try:
        for i in range(ones.shape[0]):
            n = _shared(engine, <int32_t>ones[i], <int32_t>others[i], &found, &capacity)
            if n == 0 or sub_overflows(found[0].b, found[0].a, &offset):
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
                out[i] = True
    finally:
        free(found)
    return made
