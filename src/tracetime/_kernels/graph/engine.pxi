# The clock graph in C memory: clocks and snapshots; paths and conversions are in router.pxi.
#
# The rules are those of Perfetto's src/trace_processor/util/clock_synchronizer.cc; edges between the
# clocks of a snapshot are not stored but follow from its series, so that a snapshot of n clocks
# costs n, not n^2. Scopes, trace time and errors for users are in graph/ and perfetto/.

cdef uint64_t SERIES_SEED = 0xe17a1465


cdef inline uint64_t combine(uint64_t h, uint32_t x) noexcept nogil:
    """One step of base/murmur_hash.h's combiner."""
    return h ^ (mix(x) + <uint64_t>0x9e3779b9 + (h << 6) + (h >> 2))


cdef inline bint same(const Key *a, const Key *b) noexcept nogil:
    return (
        a.clock == b.clock and a.sequence == b.sequence
        and a.file == b.file and a.machine == b.machine
    )


def series_hash(keys):
    """Perfetto's hash of a snapshot's clocks, (clock, sequence, file, machine) each, in order."""
    cdef uint64_t h = SERIES_SEED
    for key in keys:
        for part in key:
            h = combine(h, part)
    return <uint32_t>h


class TooManyClocksError(Exception):
    """Snapshots have more clocks, or lists of clocks, than `Engine.most_nodes`."""


cdef class Engine:
    """Clocks by node number, and their snapshots."""

    def __cinit__(self):
        # Keys come from a file: without a random seed, it could choose keys that share a slot.
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.random_state = 1
        self.most_nodes = INT64_HIGH
        self._forget_conversions()

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_nodes):
            free(self.nodes[i].memberships)
        for i in range(self.n_columns):
            free(self.columns[i].values_ns)
            free(self.columns[i].snapshots)
        for i in range(self.n_series):
            free(self.series[i].nodes)
            free(self.series[i].columns)
        free(self.nodes)
        free(self.columns)
        free(self.series)
        free_table(&self.node_table)
        free_table(&self.column_table)
        free_table(&self.series_table)
        free(self.backwards)
        free(self.snapshot_packets)

    cdef uint64_t _key_hash(self, const Key *key) noexcept nogil:
        return mix(
            mix(self.seed ^ (<uint64_t>key.clock << 32 | key.sequence))
            ^ (<uint64_t>key.file << 32 | key.machine)
        )

    cdef uint64_t _column_hash(self, int32_t node, uint32_t hash) noexcept nogil:
        return mix(self.seed ^ (<uint64_t><uint32_t>node << 32 | hash))

    cdef uint64_t _list_hash(self, const int32_t *nodes, int64_t n) noexcept nogil:
        cdef uint64_t h = self.seed
        cdef int64_t i
        for i in range(n):
            h = mix(h ^ <uint32_t>nodes[i])
        return h

    cdef int32_t find_node(self, Key key) noexcept nogil:
        """The number of a clock, or -1."""
        cdef uint64_t hash, slot
        cdef int64_t i = self.last_found
        # Events of one clock follow one another.
        if i < self.n_nodes and same(&self.nodes[i].key, &key):
            return <int32_t>i
        hash = slot = self._key_hash(&key)
        i = next_match(&self.node_table, hash, &slot)
        while i >= 0 and not same(&self.nodes[i].key, &key):
            i = next_match(&self.node_table, hash, &slot)
        if i >= 0:
            self.last_found = i
        return <int32_t>i

    cdef int64_t n_readings(self, int32_t node) noexcept nogil:
        """The number of a clock's readings in snapshots."""
        cdef Node *it = &self.nodes[node]
        cdef int64_t i, n = 0
        for i in range(it.n_memberships):
            n += self.columns[
                self.series[it.memberships[i].series].columns[it.memberships[i].position]
            ].n
        return n

    cdef int32_t node(self, Key key) except -1 nogil:
        """The number of a clock, made where it is new."""
        cdef int32_t found = self.find_node(key)
        cdef Node *made
        if found >= 0:
            return found
        if self.n_nodes >= self.most_nodes:
            with gil:
                raise TooManyClocksError
        grow(<void **>&self.nodes, &self.nodes_capacity, self.n_nodes + 1, sizeof(Node))
        made = &self.nodes[self.n_nodes]
        memset(made, 0, sizeof(Node))
        made.key = key
        made.unit_ns = 1
        made.placed_ns = INT64_LOW
        self.n_nodes += 1
        add_index(&self.node_table, self._key_hash(&key), self.n_nodes - 1)
        return <int32_t>(self.n_nodes - 1)

    cdef int32_t column(self, int32_t node, uint32_t hash) except -1 nogil:
        """The readings of a clock in snapshots of one list of clocks, made where they are new."""
        cdef uint64_t key_hash = self._column_hash(node, hash), slot = key_hash
        cdef Column *made
        cdef int64_t i = next_match(&self.column_table, key_hash, &slot)
        while i >= 0:
            if self.columns[i].node == node and self.columns[i].hash == hash:
                return <int32_t>i
            i = next_match(&self.column_table, key_hash, &slot)
        grow(<void **>&self.columns, &self.columns_capacity, self.n_columns + 1, sizeof(Column))
        made = &self.columns[self.n_columns]
        memset(made, 0, sizeof(Column))
        made.node = node
        made.hash = hash
        self.n_columns += 1
        add_index(&self.column_table, key_hash, self.n_columns - 1)
        return <int32_t>(self.n_columns - 1)

    cdef int32_t whole_series(self, const int32_t *nodes, int64_t n, uint32_t hash) except -1 nogil:
        """The series of a valid snapshot's clocks; a new one adds the edges between them."""
        cdef uint64_t list_hash = self._list_hash(nodes, n), slot = list_hash
        cdef Series *made
        cdef Node *member
        cdef int64_t i = next_match(&self.series_table, list_hash, &slot)
        while i >= 0:
            made = &self.series[i]
            if made.n == n and memcmp(made.nodes, nodes, <size_t>n * sizeof(int32_t)) == 0:
                return <int32_t>i
            i = next_match(&self.series_table, list_hash, &slot)
        if self.n_series >= self.most_nodes:
            with gil:
                raise TooManyClocksError
        grow(<void **>&self.series, &self.series_capacity, self.n_series + 1, sizeof(Series))
        made = &self.series[self.n_series]
        memset(made, 0, sizeof(Series))
        made.hash = hash
        made.n = <int32_t>n
        made.nodes = <int32_t *>calloc(n + 1, sizeof(int32_t))
        made.columns = <int32_t *>calloc(n + 1, sizeof(int32_t))
        self.n_series += 1
        if made.nodes == NULL or made.columns == NULL:
            made.n = 0
            with gil:
                raise MemoryError
        memcpy(made.nodes, nodes, <size_t>n * sizeof(int32_t))
        for i in range(n):
            made.columns[i] = self.column(nodes[i], hash)
            member = &self.nodes[nodes[i]]
            grow(
                <void **>&member.memberships, &member.memberships_capacity,
                member.n_memberships + 1, sizeof(Membership),
            )
            member.memberships[member.n_memberships].series = <int32_t>(self.n_series - 1)
            member.memberships[member.n_memberships].position = <int32_t>i
            member.n_memberships += 1
        add_index(&self.series_table, list_hash, self.n_series - 1)
        return <int32_t>(self.n_series - 1)

    cdef void _forget_conversions(self) noexcept nogil:
        cdef int i
        for i in range(CACHE_SIZE):
            self.cache[i].source = -1

    # long: each clock's checks are in Perfetto's order, which decides about the fault
    cdef int add_snapshot(
        self, const int32_t *nodes, const int64_t *values, const int64_t *units,
        const uint8_t *incremental, int64_t n, int32_t trace_node, bint dry=False
    ) except -1 nogil:
        """Record one snapshot (ClockSynchronizer::AddSnapshot); returns a Fault.

        Where one of its clocks is at fault, the clocks before it stay recorded and no edge is
        added. `fault_position` is that clock's, `fell_by_ns` how far the trace clock fell.
        `dry` checks only, and records nothing.
        """
        cdef uint32_t snapshot = self.n_snapshots
        cdef uint64_t h = SERIES_SEED
        cdef uint32_t hash
        cdef Node *node
        cdef Key *key
        cdef Column *column
        cdef int64_t i, ns
        cdef int32_t made
        self.fell_by_ns = 0
        if not dry:
            grow(
                <void **>&self.snapshot_packets, &self.packets_capacity,
                <int64_t>self.n_snapshots + 1, sizeof(uint64_t),
            )
            self.snapshot_packets[self.n_snapshots] = self.packet
            self.n_snapshots += 1
            self._forget_conversions()
        for i in range(n):
            key = &self.nodes[nodes[i]].key
            h = combine(combine(h, key.clock), key.sequence)
            h = combine(combine(h, key.file), key.machine)
        hash = <uint32_t>h
        for i in range(n):
            self.fault_position = i
            node = &self.nodes[nodes[i]]
            if not dry:
                node.seen = True
            if not node.has_snapshots:
                if incremental[i] and node.key.sequence == 0:
                    return FAULT_GLOBAL_INCREMENTAL
            elif node.unit_ns != units[i] or node.incremental != incremental[i]:
                return FAULT_PROPERTIES_CHANGED
            if nodes[i] == trace_node and units[i] != 1:
                return FAULT_TRACE_CLOCK_UNIT
            if mul_overflows(values[i], units[i], &ns):
                return FAULT_OVERFLOW
            column = &self.columns[self.column(nodes[i], hash)]
            if dry:
                if nodes[i] == trace_node and column.n and ns < column.values_ns[column.n - 1]:
                    return FAULT_TRACE_CLOCK_BACKWARDS
                continue
            node.unit_ns = units[i]
            node.incremental = incremental[i]
            node.last_ns = ns
            node.has_snapshots = True
            if column.n:
                if column.snapshots[column.n - 1] == snapshot:
                    return FAULT_DUPLICATE_CLOCK
                if ns < column.values_ns[column.n - 1]:
                    if nodes[i] == trace_node:
                        self.fell_by_ns = saturating_sub(column.values_ns[column.n - 1], ns)
                        return FAULT_TRACE_CLOCK_BACKWARDS
                    if not node.backwards:
                        node.backwards = True
                        grow(
                            <void **>&self.backwards, &self.backwards_capacity,
                            self.n_backwards + 1, sizeof(int32_t),
                        )
                        self.backwards[self.n_backwards] = nodes[i]
                        self.n_backwards += 1
            grow(
                <void **>&column.values_ns, &column.values_capacity, column.n + 1, sizeof(int64_t)
            )
            grow(
                <void **>&column.snapshots, &column.snapshots_capacity, column.n + 1,
                sizeof(uint32_t),
            )
            column.values_ns[column.n] = ns
            column.snapshots[column.n] = snapshot
            column.n += 1
        if n and not dry:
            made = self.whole_series(nodes, n, hash)
            self.series[made].count += 1
        return FAULT_NONE

    cdef Status absolute_ns(self, int32_t source, int64_t value, int64_t *out) noexcept nogil:
        """A reading in ns; that of an incremental clock advances it (ClockDomain::ToNs).

        A reading that overflows advances it, too, to where Perfetto's number wraps: the next one
        counts from there.
        """
        cdef Node *node = &self.nodes[source]
        cdef bint overflowed = mul_overflows(value, node.unit_ns, out)
        if node.incremental:
            overflowed |= add_overflows(node.last_ns, out[0], out)
            node.last_ns = out[0]
        return OVERFLOW if overflowed else RESOLVED
