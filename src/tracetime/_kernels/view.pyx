# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The engine as Python sees it: keys as (clock, sequence, file, machine), columns as NumPy arrays."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

import numpy as np

from tracetime._kernels.engine cimport (
    FAULT_NONE, NO_PATH, NON_MONOTONIC_SOURCE, RESOLVED, UNKNOWN_SOURCE_CLOCK,
    UNKNOWN_TARGET_CLOCK, Column, Engine, Key, Node, Path, Router, Series,
)
from tracetime._kernels.memory cimport INT64_HIGH, INT64_LOW, sub_overflows


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


def clocks(Engine engine not None):
    """(key, unit_ns, incremental, monotonic, snapshots, first_ns, last_ns) of each clock seen."""
    cdef int64_t i
    cdef Node *node
    cdef Column *column
    n_readings = [0] * engine.n_nodes
    first = [None] * engine.n_nodes
    last = [None] * engine.n_nodes
    for i in range(engine.n_columns):
        column = &engine.columns[i]
        if column.n == 0:
            continue
        n_readings[column.node] += column.n
        # In file order, whatever the clock did: by the numbers of the snapshots.
        began = (column.snapshots[0], column.values_ns[0])
        ended = (column.snapshots[column.n - 1], column.values_ns[column.n - 1])
        if first[column.node] is None or began < first[column.node]:
            first[column.node] = began
        if last[column.node] is None or ended > last[column.node]:
            last[column.node] = ended
    found = []
    for i in range(engine.n_nodes):
        node = &engine.nodes[i]
        if node.seen:
            found.append((
                parts_of(node.key), node.unit_ns, bool(node.incremental), not node.backwards,
                n_readings[i],
                first[i][1] if first[i] else None, last[i][1] if last[i] else None,
            ))
    return found


def series(Engine engine not None):
    """(keys, snapshots) of each ordered list of clocks that a whole snapshot has had."""
    cdef int64_t i, j
    cdef Series *s
    found = []
    for i in range(engine.n_series):
        s = &engine.series[i]
        found.append((
            tuple([parts_of(engine.nodes[s.nodes[j]].key) for j in range(s.n)]), s.count
        ))
    return found


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


def pairs(Engine engine not None, tuple first, tuple second):
    """Readings that two clocks share: (snapshots, first_ns, second_ns), int64, in file order.

    From every snapshot that has both and was taken whole.
    """
    cdef int32_t a = engine.find_node(key_of(first))
    cdef int32_t b = engine.find_node(key_of(second))
    cdef Node *node
    cdef Series *s
    cdef Column *one
    cdef Column *two
    cdef int64_t j, i, k, n = 0
    cdef int32_t m
    cdef int64_t[:, ::1] out
    if a < 0 or b < 0 or a == b:
        return tuple(np.empty((3, 0), dtype=np.int64))
    node = &engine.nodes[a]
    for j in range(node.n_memberships):
        n += engine.columns[
            engine.series[node.memberships[j].series].columns[node.memberships[j].position]
        ].n
    found = np.empty((n, 3), dtype=np.int64)
    out = found
    n = 0
    for j in range(node.n_memberships):
        s = &engine.series[node.memberships[j].series]
        for m in range(s.n):
            if s.nodes[m] != b:
                continue
            one = &engine.columns[s.columns[node.memberships[j].position]]
            two = &engine.columns[s.columns[m]]
            k = 0
            for i in range(one.n):
                while k < two.n and two.snapshots[k] < one.snapshots[i]:
                    k += 1
                if k < two.n and two.snapshots[k] == one.snapshots[i]:
                    out[n, 0] = one.snapshots[i]
                    out[n, 1] = one.values_ns[i]
                    out[n, 2] = two.values_ns[k]
                    n += 1
    found = found[:n]
    # Lists of clocks whose hashes collide share columns: each snapshot counts once.
    _, kept = np.unique(found[:, 0], return_index=True)
    return tuple(np.ascontiguousarray(found[kept].T))
