# cython: boundscheck=True, wraparound=False, initializedcheck=True
"""An engine as arrays, and an engine made of such arrays.

The arrays may come from a file: what snapshots cannot lead to is refused, so that nothing else
need check what an engine holds. This module keeps its bounds checks, so it is none with `graph`.
"""

from collections import namedtuple

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.graph cimport Column, Engine, Key, Node, Series, is_sequence_scoped
from tracetime._kernels.graph import series_hash

cdef int64_t UINT32_HIGH = 0xFFFFFFFF

State = namedtuple(
    "State",
    "clocks columns snapshots readings_ns series members backwards packets next_packet",
)


def state_of(Engine engine not None):
    """Everything an engine holds; see State in the `.pyi`."""
    cdef int64_t i, j, n = 0
    cdef Node *node
    cdef Column *column
    cdef Series *s
    clocks = np.empty((engine.n_nodes, 8), dtype=np.int64)
    columns = np.empty((engine.n_columns, 3), dtype=np.int64)
    series = np.empty((engine.n_series, 2), dtype=np.int64)
    backwards = np.empty(engine.n_backwards, dtype=np.int64)
    packets = copied(np.empty(engine.n_snapshots, dtype=np.uint64), engine.snapshot_packets)
    cdef int64_t[:, ::1] clock_rows = clocks, column_rows = columns, series_rows = series
    cdef int64_t[::1] backward = backwards
    for i in range(engine.n_nodes):
        node = &engine.nodes[i]
        clock_rows[i, 0] = node.key.clock
        clock_rows[i, 1] = node.key.sequence
        clock_rows[i, 2] = node.key.file
        clock_rows[i, 3] = node.key.machine
        clock_rows[i, 4] = node.unit_ns
        clock_rows[i, 5] = node.last_ns
        clock_rows[i, 6] = node.incremental
        clock_rows[i, 7] = node.seen
    for i in range(engine.n_columns):
        column = &engine.columns[i]
        column_rows[i, 0] = column.node
        column_rows[i, 1] = column.hash
        column_rows[i, 2] = column.n
        n += column.n
    snapshots = np.empty(n, dtype=np.uint32)
    readings = np.empty(n, dtype=np.int64)
    cdef uint32_t[::1] number = snapshots
    cdef int64_t[::1] reading = readings
    n = 0
    for i in range(engine.n_columns):
        column = &engine.columns[i]
        for j in range(column.n):
            number[n] = column.snapshots[j]
            reading[n] = column.values_ns[j]
            n += 1
    n = 0
    for i in range(engine.n_series):
        s = &engine.series[i]
        series_rows[i, 0] = s.n
        series_rows[i, 1] = s.count
        n += s.n
    members = np.empty(n, dtype=np.int64)
    cdef int64_t[::1] member = members
    n = 0
    for i in range(engine.n_series):
        s = &engine.series[i]
        for j in range(s.n):
            member[n] = s.nodes[j]
            n += 1
    for i in range(engine.n_backwards):
        backward[i] = engine.backwards[i]
    return State(
        clocks, columns, snapshots, readings, series, members, backwards, packets, engine.packet
    )


def engine_of(state):
    """An engine of a state, which goes on as the one that it was taken from.

    Raises:
        ValueError: no snapshots lead to such a state; the message says what does not fit.
    """
    cdef Engine engine = Engine()
    if not len(state.packets) <= UINT32_HIGH:
        raise ValueError("there are too many snapshots")
    add_clocks(engine, state.clocks)
    add_packets(engine, state.packets, state.next_packet)
    add_columns(engine, state.columns, state.snapshots, state.readings_ns)
    check_clocks(engine)
    add_backwards(engine, state.backwards)
    add_series(engine, state.series, state.members)
    return engine


cdef add_clocks(Engine engine, const int64_t[:, ::1] clocks):
    cdef Key key
    cdef Node *node
    cdef int64_t i
    cdef int part
    for i in range(clocks.shape[0]):
        for part in range(4):
            if not 0 <= clocks[i, part] <= UINT32_HIGH:
                raise ValueError(f"clock {i} has a number that does not fit in uint32")
        key.clock = <uint32_t>clocks[i, 0]
        key.sequence = <uint32_t>clocks[i, 1]
        key.file = <uint32_t>clocks[i, 2]
        key.machine = <uint32_t>clocks[i, 3]
        if key.sequence and not is_sequence_scoped(key.clock):
            raise ValueError(f"clock {i} has a sequence, which only clocks 64 to 127 have")
        if not (0 <= clocks[i, 6] <= 1 and 0 <= clocks[i, 7] <= 1):
            raise ValueError(f"clock {i} has a flag that is neither true nor false")
        if clocks[i, 6] and not key.sequence:
            raise ValueError(f"clock {i} is incremental, and of no sequence")
        if clocks[i, 4] == 0:
            raise ValueError(f"clock {i} has a unit of 0 ns")
        if engine.node(key) != i:
            raise ValueError(f"clock {i} is listed twice")
        node = &engine.nodes[i]
        node.unit_ns = clocks[i, 4]
        node.last_ns = clocks[i, 5]
        node.incremental = clocks[i, 6]
        node.seen = clocks[i, 7]


cdef add_packets(Engine engine, const uint64_t[::1] packets, uint64_t next_packet):
    cdef int64_t i
    grow(
        <void **>&engine.snapshot_packets, &engine.packets_capacity, packets.shape[0],
        sizeof(uint64_t),
    )
    for i in range(packets.shape[0]):
        engine.snapshot_packets[i] = packets[i]
    engine.n_snapshots = <uint32_t>packets.shape[0]
    engine.packet = next_packet


cdef add_columns(
    Engine engine, const int64_t[:, ::1] columns, const uint32_t[::1] snapshots,
    const int64_t[::1] readings
):
    """The readings of each clock in each list of clocks, and which clocks ran backwards."""
    cdef Column *column
    cdef Node *node
    cdef int64_t i, j, n, at = 0
    # By snapshot, the hash of its list of clocks, and whether a reading of it was added.
    hashes = np.empty(engine.n_snapshots, dtype=np.uint32)
    read = np.zeros(engine.n_snapshots, dtype=np.uint8)
    cdef uint32_t[::1] hash_of = hashes
    cdef uint8_t[::1] is_read = read
    if snapshots.shape[0] != readings.shape[0]:
        raise ValueError("there are more snapshots than readings, or fewer")
    for i in range(columns.shape[0]):
        if not 0 <= columns[i, 0] < engine.n_nodes:
            raise ValueError(f"column {i} is of clock {columns[i, 0]}, which is not there")
        if not 0 <= columns[i, 1] <= UINT32_HIGH:
            raise ValueError(f"column {i} has a hash that does not fit in uint32")
        n = columns[i, 2]
        if not 0 <= n <= readings.shape[0] - at:
            raise ValueError(f"column {i} has {n} readings, more than are left, or fewer than none")
        if engine.column(<int32_t>columns[i, 0], <uint32_t>columns[i, 1]) != i:
            raise ValueError(f"column {i} is listed twice")
        column = &engine.columns[i]
        node = &engine.nodes[column.node]
        grow(<void **>&column.values_ns, &column.values_capacity, n, sizeof(int64_t))
        grow(<void **>&column.snapshots, &column.snapshots_capacity, n, sizeof(uint32_t))
        for j in range(n):
            if snapshots[at] >= engine.n_snapshots:
                raise ValueError(f"column {i} has snapshot {snapshots[at]}, which is not there")
            if j and snapshots[at] <= column.snapshots[j - 1]:
                raise ValueError(f"column {i} has snapshot {snapshots[at]} out of its order")
            if is_read[snapshots[at]] and hash_of[snapshots[at]] != column.hash:
                raise ValueError(f"snapshot {snapshots[at]} has two lists of clocks")
            is_read[snapshots[at]] = True
            hash_of[snapshots[at]] = column.hash
            if j and readings[at] < column.values_ns[j - 1]:
                node.backwards = True
            column.snapshots[j] = snapshots[at]
            column.values_ns[j] = readings[at]
            column.n = j + 1
            at += 1
        if n:
            node.has_snapshots = True
    if at != readings.shape[0]:
        raise ValueError(f"{readings.shape[0] - at} readings are of no column")


cdef check_clocks(Engine engine):
    cdef Node *node
    cdef int64_t i
    for i in range(engine.n_nodes):
        node = &engine.nodes[i]
        if node.has_snapshots and not node.seen:
            raise ValueError(f"clock {i} has readings, and no snapshot names it")
        if not node.has_snapshots and (node.unit_ns != 1 or node.incremental):
            raise ValueError(f"clock {i} has a unit or is incremental, and has no readings")


cdef add_backwards(Engine engine, const int64_t[::1] backwards):
    """The order in which clocks ran backwards; which ones did follows from their readings."""
    cdef int64_t i, n = 0
    listed = np.zeros(engine.n_nodes, dtype=np.uint8)
    cdef uint8_t[::1] is_listed = listed
    for i in range(engine.n_nodes):
        n += engine.nodes[i].backwards
    if backwards.shape[0] != n:
        raise ValueError(f"{n} clocks ran backwards, and {backwards.shape[0]} are listed")
    grow(<void **>&engine.backwards, &engine.backwards_capacity, n, sizeof(int32_t))
    for i in range(n):
        if not (0 <= backwards[i] < engine.n_nodes and engine.nodes[backwards[i]].backwards):
            raise ValueError(f"clock {backwards[i]} is listed, and did not run backwards")
        if is_listed[backwards[i]]:
            raise ValueError(f"clock {backwards[i]} is listed twice as having run backwards")
        is_listed[backwards[i]] = True
        engine.backwards[i] = <int32_t>backwards[i]
        engine.n_backwards += 1


cdef add_series(Engine engine, const int64_t[:, ::1] series, const int64_t[::1] members):
    """The lists of clocks of whole snapshots, and with them the edges between clocks."""
    cdef int64_t i, j, n, at = 0, n_columns = engine.n_columns
    cdef uint64_t taken = 0
    cdef int32_t[::1] nodes
    last = np.full(engine.n_nodes, -1, dtype=np.int64)
    cdef int64_t[::1] last_series = last
    for i in range(series.shape[0]):
        n = series[i, 0]
        if not 0 < n <= members.shape[0] - at:
            raise ValueError(f"series {i} has {n} clocks, more than are left, or none")
        keys = []
        nodes = np.empty(n, dtype=np.int32)
        for j in range(n):
            if not 0 <= members[at] < engine.n_nodes:
                raise ValueError(f"series {i} has clock {members[at]}, which is not there")
            if last_series[members[at]] == i:
                raise ValueError(f"series {i} has clock {members[at]} twice")
            last_series[members[at]] = i
            nodes[j] = <int32_t>members[at]
            key = engine.nodes[nodes[j]].key
            keys.append((key.clock, key.sequence, key.file, key.machine))
            at += 1
        if engine.whole_series(&nodes[0], n, series_hash(keys)) != i:
            raise ValueError(f"series {i} is listed twice")
        if engine.n_columns != n_columns:
            raise ValueError(f"series {i} has a clock without readings")
        if not 0 < series[i, 1] <= engine.n_snapshots - taken:
            raise ValueError(
                f"series {i} has {series[i, 1]} snapshots, more than are left, or none"
            )
        taken += <uint64_t>series[i, 1]
        if common_snapshots(engine, &engine.series[i], series[i, 1]) < series[i, 1]:
            raise ValueError(f"series {i} has more snapshots than its clocks have readings of")
        engine.series[i].count = series[i, 1]
    if at != members.shape[0]:
        raise ValueError(f"{members.shape[0] - at} clocks are of no series")


cdef int64_t common_snapshots(Engine engine, const Series *s, int64_t enough):
    """How many snapshots all columns of a series have; no more than `enough` are counted."""
    cdef Column *first = &engine.columns[s.columns[0]]
    cdef Column *other
    cdef int64_t i, found = 0
    cdef int32_t k
    places = np.zeros(s.n, dtype=np.int64)
    cdef int64_t[::1] at = places
    for i in range(first.n):
        for k in range(1, s.n):
            other = &engine.columns[s.columns[k]]
            while at[k] < other.n and other.snapshots[at[k]] < first.snapshots[i]:
                at[k] += 1
            if at[k] == other.n or other.snapshots[at[k]] != first.snapshots[i]:
                break
        else:
            found += 1
            if found == enough:
                break
    return found
