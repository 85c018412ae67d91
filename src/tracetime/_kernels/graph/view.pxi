# The engine as Python sees it: keys as tuples (graph.pxd), columns as NumPy arrays.

def add_snapshots(
    Engine engine not None, list keys, const int64_t[:, ::1] values, const int64_t[::1] units,
    const uint8_t[::1] incremental, tuple trace_key=None
):
    """Add one snapshot a row of values; returns (rows added, fault, position of its clock).

    A row at fault and the rows after it are not added.
    """
    cdef int64_t n = len(keys)
    cdef int64_t row
    cdef int fault = FAULT_NONE
    cdef int32_t trace_node = -1, *nodes
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
    """The number of snapshots: it changes whenever the graph does."""
    return engine.n_snapshots


def snapshot_packets(Engine engine not None):
    """The packet that each snapshot came in, uint64, by number of the snapshot."""
    return copied(np.empty(engine.n_snapshots, dtype=np.uint64), engine.snapshot_packets)


def keys(Engine engine not None, int64_t first):
    """The keys of all clocks by number, from `first` on."""
    cdef int64_t i
    return [parts_of(engine.nodes[i].key) for i in range(max(first, 0), engine.n_nodes)]


def clocks(Engine engine not None):
    """By clock seen: (number, unit_ns, incremental, monotonic, snapshots, first_ns, last_ns)."""
    cdef int64_t i
    cdef Node *node
    cdef Column *column, *known
    cdef int64_t[::1] n_readings = np.zeros(engine.n_nodes, dtype=np.int64)
    # Of the columns of a clock, the one that began first, and the one that ended last.
    cdef int64_t[::1] first = np.full(engine.n_nodes, -1, dtype=np.int64)
    cdef int64_t[::1] last = np.full(engine.n_nodes, -1, dtype=np.int64)
    for i in range(engine.n_columns):
        column = &engine.columns[i]
        if column.n == 0:
            continue
        n_readings[column.node] += column.n
        # In file order, by the numbers of the snapshots: the clock may have run backwards.
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
    """Yield (numbers, snapshots) of each ordered list of clocks that a whole snapshot has.

    mixed: only the lists with clocks of several machines.
    """
    cdef int64_t i, j
    cdef Series *s
    for i in range(engine.n_series):
        s = &engine.series[i]
        if not mixed or is_mixed(engine, s):
            yield [s.nodes[j] for j in range(s.n)], s.count


cdef bint is_mixed(Engine engine, const Series *s) noexcept:
    cdef int32_t j
    for j in range(1, s.n):
        if engine.nodes[s.nodes[j]].key.machine != engine.nodes[s.nodes[0]].key.machine:
            return True
    return False


def neighbours(Engine engine not None, int32_t number, int64_t enough=INT64_MAX):
    """The numbers of the clocks that share whole snapshots with one; at most `enough` of them."""
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
    """The least number of hops from one clock to each, by number; -1 where none lead there.

    A hop leads between clocks of a whole snapshot, and from clock i to those that
    `linked[begins[i]:begins[i + 1]]` names. begins may have more clocks than the snapshots: those
    that are linked alone.
    """
    cdef Node *node
    cdef Series *s
    cdef int64_t head = 0, n = 1, j
    cdef int32_t here, there, m
    cdef int64_t n_clocks = begins.shape[0] - 1
    if not 0 <= number < n_clocks or n_clocks < engine.n_nodes:
        raise IndexError("no such clock")
    made = np.full(n_clocks, -1, dtype=np.int32)
    cdef int32_t[::1] hops = made
    cdef int32_t[::1] queue = np.empty(n_clocks, dtype=np.int32)
    cdef uint8_t[::1] done = np.zeros(engine.n_series, dtype=np.uint8)
    hops[number] = 0
    queue[0] = number
    with nogil:
        while head < n:
            here = queue[head]
            head += 1
            node = &engine.nodes[here] if here < engine.n_nodes else NULL
            for j in range(node.n_memberships if node != NULL else 0):
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
    """The number of columns for `column_of`."""
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
    """(snapshots, readings_ns) of one clock in whole snapshots: int64, list by list of clocks."""
    cdef int32_t found = engine.find_node(key_of(key))
    cdef Node *node
    cdef Column *column
    cdef int64_t i, j, n = 0
    if found < 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    node = &engine.nodes[found]
    for j in range(node.n_memberships):
        n += column_at(engine, node, j).n
    made = np.empty((2, n), dtype=np.int64)
    cdef int64_t[:, ::1] out = made
    n = 0
    for j in range(node.n_memberships):
        column = column_at(engine, node, j)
        for i in range(column.n):
            out[0, n] = column.snapshots[i]
            out[1, n] = column.values_ns[i]
            n += 1
    return made[0], made[1]


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
    with no counterpart (its snapshot was not taken whole) has offset 0; for an offset that does
    not fit in int64, lowest > highest: no value takes it.
    """
    if not (
        0 <= source_column < engine.n_columns and 0 <= target_column < engine.n_columns
    ):
        raise IndexError("no such column")
    cdef Column *here = &engine.columns[source_column]
    cdef Column *there = &engine.columns[target_column]
    cdef int64_t n = here.n, i, j = 0, offset
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


def tied_only_to(Engine engine not None, tuple clock):
    """The numbers of the clocks that are in one list of clocks only, which has this one."""
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
