# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The clock graph in C memory: clocks, snapshots, shortest paths, one conversion at a time.

The rules are those of Perfetto's src/trace_processor/util/clock_synchronizer.cc; edges between the
clocks of a snapshot are not stored but follow from its series, so that a snapshot of n clocks
costs n, not n^2. Scopes, trace time and errors for users live above, in graph/ and perfetto/.
"""

import os

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy, memset

from tracetime._kernels.common.memory cimport (
    INT64_HIGH, INT64_LOW, add_overflows, grow, mix, mul_overflows, put_slot, resize_slots,
    saturating_sub, sub_overflows,
)

cdef enum:
    FAR = 255               # a distance: no path

cdef uint64_t SERIES_SEED = 0xe17a1465


cdef inline uint64_t combine(uint64_t h, uint32_t x) noexcept nogil:
    """One step of base/murmur_hash.h's combiner."""
    return h ^ (mix(x) + <uint64_t>0x9e3779b9 + (h << 6) + (h >> 2))


cdef inline bint same(const Key *a, const Key *b) noexcept nogil:
    return (
        a.clock == b.clock and a.sequence == b.sequence
        and a.file == b.file and a.machine == b.machine
    )


cdef inline bint before(const Key *a, const Key *b) noexcept nogil:
    """Perfetto's order of clocks, which decides between paths of one length."""
    if a.clock != b.clock:
        return a.clock < b.clock
    if a.sequence != b.sequence:
        return a.sequence < b.sequence
    if a.file != b.file:
        return a.file < b.file
    return a.machine < b.machine


def series_hash(keys):
    """Perfetto's hash of a snapshot's clocks, (clock, sequence, file, machine) each, in order."""
    cdef uint64_t h = SERIES_SEED
    for key in keys:
        for part in key:
            h = combine(h, part)
    return <uint32_t>h


class TangledError(Exception):
    """The clocks are tied together in too many ways to follow; see MOST_STEPS."""


class TooManyClocksError(Exception):
    """Snapshots name more clocks than `Engine.most_nodes`."""


cdef class Engine:
    """Clocks by node number, their snapshots, and conversions with Perfetto's 8-entry cache."""

    def __cinit__(self):
        self.seed = int.from_bytes(os.urandom(8), "little")  # hash tables of foreign keys: no flooding
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
        free(self.node_slots)
        free(self.column_slots)
        free(self.series_slots)
        free(self.backwards)
        free(self.snapshot_packets)

    # Hash tables with open addressing: a slot holds an index + 1, 0 is free.

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
        cdef uint64_t slot
        cdef int32_t found
        if self.node_slots_n == 0:
            return -1
        slot = self._key_hash(&key) & <uint64_t>(self.node_slots_n - 1)
        while True:
            found = self.node_slots[slot]
            if found == 0:
                return -1
            if same(&self.nodes[found - 1].key, &key):
                return found - 1
            slot = (slot + 1) & <uint64_t>(self.node_slots_n - 1)

    cdef int64_t n_readings(self, int32_t node) noexcept nogil:
        """How many readings of a clock snapshots hold."""
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
        cdef int64_t i
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
        if 2 * self.n_nodes > self.node_slots_n:
            resize_slots(&self.node_slots, &self.node_slots_n)
            for i in range(self.n_nodes):
                put_slot(
                    self.node_slots, self.node_slots_n, self._key_hash(&self.nodes[i].key), i
                )
        else:
            put_slot(self.node_slots, self.node_slots_n, self._key_hash(&key), self.n_nodes - 1)
        return <int32_t>(self.n_nodes - 1)

    cdef int32_t column(self, int32_t node, uint32_t hash) except -1 nogil:
        cdef uint64_t slot
        cdef int32_t found
        cdef Column *made
        cdef int64_t i
        if self.column_slots_n:
            slot = self._column_hash(node, hash) & <uint64_t>(self.column_slots_n - 1)
            while True:
                found = self.column_slots[slot]
                if found == 0:
                    break
                if self.columns[found - 1].node == node and self.columns[found - 1].hash == hash:
                    return found - 1
                slot = (slot + 1) & <uint64_t>(self.column_slots_n - 1)
        grow(<void **>&self.columns, &self.columns_capacity, self.n_columns + 1, sizeof(Column))
        made = &self.columns[self.n_columns]
        memset(made, 0, sizeof(Column))
        made.node = node
        made.hash = hash
        self.n_columns += 1
        if 2 * self.n_columns > self.column_slots_n:
            resize_slots(&self.column_slots, &self.column_slots_n)
            for i in range(self.n_columns):
                put_slot(
                    self.column_slots, self.column_slots_n,
                    self._column_hash(self.columns[i].node, self.columns[i].hash), i,
                )
        else:
            put_slot(
                self.column_slots, self.column_slots_n, self._column_hash(node, hash),
                self.n_columns - 1,
            )
        return <int32_t>(self.n_columns - 1)

    cdef int32_t whole_series(self, const int32_t *nodes, int64_t n, uint32_t hash) except -1 nogil:
        """The series of a valid snapshot's clocks; a new one adds the edges between them."""
        cdef uint64_t list_hash = self._list_hash(nodes, n)
        cdef uint64_t slot
        cdef int32_t found
        cdef Series *made
        cdef Node *member
        cdef int64_t i, j
        if self.series_slots_n:
            slot = list_hash & <uint64_t>(self.series_slots_n - 1)
            while True:
                found = self.series_slots[slot]
                if found == 0:
                    break
                made = &self.series[found - 1]
                if made.n == n:
                    for j in range(n):
                        if made.nodes[j] != nodes[j]:
                            break
                    else:
                        return found - 1
                slot = (slot + 1) & <uint64_t>(self.series_slots_n - 1)
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
        if 2 * self.n_series > self.series_slots_n:
            resize_slots(&self.series_slots, &self.series_slots_n)
            for i in range(self.n_series):
                put_slot(
                    self.series_slots, self.series_slots_n,
                    self._list_hash(self.series[i].nodes, self.series[i].n), i,
                )
        else:
            put_slot(self.series_slots, self.series_slots_n, list_hash, self.n_series - 1)
        return <int32_t>(self.n_series - 1)

    cdef void _forget_conversions(self) noexcept nogil:
        cdef int i
        for i in range(CACHE_SIZE):
            self.cache[i].source = -1

    cdef int add_snapshot(
        self, const int32_t *nodes, const int64_t *values, const int64_t *units,
        const uint8_t *incremental, int64_t n, int32_t trace_node, bint dry=False
    ) except -1 nogil:
        """Record one snapshot (ClockSynchronizer::AddSnapshot); returns a Fault.

        Where one of its clocks is at fault, the clocks before it stay recorded and no edge is
        added; `fault_position` says which clock it was, `fell_by_ns` how far the trace clock fell.
        `dry` only looks for the fault.
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
            h = combine(combine(combine(combine(h, key.clock), key.sequence), key.file), key.machine)
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

        What overflows advances it too, to where Perfetto's number wraps: the next one counts
        from there.
        """
        cdef Node *node = &self.nodes[source]
        cdef bint overflowed = mul_overflows(value, node.unit_ns, out)
        if node.incremental:
            overflowed |= add_overflows(node.last_ns, out[0], out)
            node.last_ns = out[0]
        return OVERFLOW if overflowed else RESOLVED

    cdef int convert_one(
        self, int32_t source, int64_t value, Router router, int64_t *out
    ) except -1 nogil:
        """Convert a reading of `source` to the router's clock (ClockSynchronizer::Convert).

        `source` is -1 for a clock that no snapshot has named. The cache is Perfetto's, entry by
        entry, because a hop onto a reading without partner leaves a trace in it. `source_ns` is what
        the source read, in ns and absolute.
        """
        cdef int32_t target = router.target
        cdef CachedConversion *entry
        cdef bint have_ns = False
        cdef int64_t ns = 0
        cdef int i
        self.source_ns = value
        if source == target and source >= 0:
            out[0] = value
            return RESOLVED
        for i in range(CACHE_SIZE):
            entry = &self.cache[i]
            if entry.source != source or entry.target != target or source < 0:
                continue
            if not have_ns:
                if self.absolute_ns(source, value, &ns) != RESOLVED:
                    return OVERFLOW
                have_ns = True
                self.source_ns = ns
            if entry.from_ns <= ns < entry.to_ns:
                if add_overflows(ns, entry.translation_ns, out):
                    return OVERFLOW
                return RESOLVED
        return self._convert_slowly(source, value, have_ns, ns, router, out)

    cdef int _convert_slowly(
        self, int32_t source, int64_t value, bint have_ns, int64_t ns, Router router, int64_t *out
    ) except -1 nogil:
        cdef Path path
        cdef CachedConversion *entry
        cdef Column *here
        cdef Column *there
        cdef int64_t index, partner, low, high, hop_ns
        cdef int64_t translation_ns = 0
        cdef bint keep = True
        cdef int64_t from_ns = INT64_LOW
        cdef int64_t to_ns = INT64_HIGH
        cdef int i
        if source < 0 or not self.nodes[source].seen:
            return UNKNOWN_SOURCE_CLOCK
        if router.target < 0 or not self.nodes[router.target].seen:
            return UNKNOWN_TARGET_CLOCK
        router.sync()
        if not router.find(source, &path):
            if not self.nodes[source].incremental:
                mul_overflows(value, self.nodes[source].unit_ns, &self.source_ns)
            return NON_MONOTONIC_SOURCE if self.nodes[source].backwards else NO_PATH
        if not have_ns and self.absolute_ns(source, value, &ns) != RESOLVED:
            return OVERFLOW
        self.source_ns = ns
        for i in range(path.n):
            here = &self.columns[path.hops[i].source_column]
            there = &self.columns[path.hops[i].target_column]
            index = last_not_after(here.values_ns, here.n, ns)
            partner = find_snapshot(there, here.snapshots[index])
            if partner < 0:
                continue  # a reading of a snapshot that was not taken whole: adds 0
            if sub_overflows(there.values_ns[partner], here.values_ns[index], &hop_ns):
                return OVERFLOW
            if add_overflows(ns, hop_ns, &ns):
                return OVERFLOW
            low = INT64_LOW if index == 0 else here.values_ns[index]
            high = INT64_HIGH if index + 1 == here.n else here.values_ns[index + 1]
            if low != INT64_LOW:
                low = saturating_sub(low, translation_ns)
            if high != INT64_HIGH:
                high = saturating_sub(high, translation_ns)
            from_ns = max(from_ns, low)
            to_ns = min(to_ns, high)
            # A sum of hops beyond int64 cannot be kept, though each value on the way fits.
            if add_overflows(translation_ns, hop_ns, &translation_ns):
                keep = False
        self.random_state = self.random_state * 48271 % 2147483647  # std::minstd_rand
        entry = &self.cache[self.random_state % CACHE_SIZE]
        entry.source = source if keep else -1
        entry.target = router.target
        entry.from_ns = from_ns
        entry.to_ns = to_ns
        entry.translation_ns = translation_ns
        out[0] = ns
        return RESOLVED


cdef inline int64_t last_not_after(const int64_t *values, int64_t n, int64_t v) noexcept nogil:
    """Index of the last value <= v in ascending values, 0 where there is none."""
    cdef int64_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= v:
            low = middle + 1
        else:
            high = middle
    return low - 1 if low else 0


cdef inline int64_t find_snapshot(const Column *column, uint32_t snapshot) noexcept nogil:
    """Index of that snapshot's reading, or -1."""
    cdef int64_t low = 0, high = column.n, middle
    while low < high:
        middle = (low + high) >> 1
        if column.snapshots[middle] < snapshot:
            low = middle + 1
        else:
            high = middle
    if low < column.n and column.snapshots[low] == snapshot:
        return low
    return -1


cdef class Router:
    """Shortest paths from every clock to one target, kept up to date as the graph grows.

    Perfetto searches breadth first over edges ordered by (source, target, series hash): what it
    finds is the smallest of the shortest paths in that order. Here each clock keeps its distance
    and its smallest next hop towards the target, so a path costs its length. A series offers its
    members the nearest of its clocks, the smallest of these where several are as near.

    Aimed at another target it forgets only the paths that it had found, and looks only where the
    new target is tied to: a graph of very many clocks in small groups costs as much as the groups.
    """

    def __cinit__(self, Engine engine not None, int32_t target):
        self.engine = engine
        self.target = target
        self.aimed = False

    def __dealloc__(self):
        free(self.distance)
        free(self.next_hop)
        free(self.series_distance)
        free(self.series_best)
        free(self.queue)
        free(self.affected)
        free(self.stale)
        free(self.waiting)
        free(self.is_waiting)

    cdef int _spend(self, int64_t steps) except -1 nogil:
        """Count the steps of finding paths: hostile snapshots can undo them again and again."""
        self.engine.steps += steps
        if self.engine.steps > MOST_STEPS:
            with gil:
                raise TangledError("the clocks are tied together in too many ways to follow")
        return 0

    cdef int aim(self, int32_t target) except -1 nogil:
        """Find paths to another clock from now on, once `sync` is called."""
        if target == self.target:
            return 0
        if self.aimed:
            self._forget()
        self.target = target
        self.aimed = False
        return 0

    cdef int _forget(self) except -1 nogil:
        """Every path leads to the target over clocks that have one: those are all."""
        cdef Node *nodes = self.engine.nodes
        cdef Series *s
        cdef int64_t j
        cdef int32_t node, series, i
        self.affected_n = 0
        self._affect(self.target)
        while self.affected_n:
            self.affected_n -= 1
            node = self.affected[self.affected_n]
            self._spend(nodes[node].n_memberships)
            for j in range(nodes[node].n_memberships):
                series = nodes[node].memberships[j].series
                if series >= self.series_ready or self.series_distance[series] == FAR:
                    continue
                self.series_distance[series] = FAR
                self.series_best[series] = -1
                s = &self.engine.series[series]
                self._spend(s.n)
                for i in range(s.n):
                    if self.distance[s.nodes[i]] != FAR:
                        self._affect(s.nodes[i])
        return 0

    cdef int _reserve(self) except -1 nogil:
        """Make room for the engine's clocks and series: no path, but for those that are known."""
        cdef int64_t n_nodes = self.engine.n_nodes
        cdef int64_t n_series = self.engine.n_series
        grow(<void **>&self.distance, &self.distance_capacity, n_nodes, sizeof(uint8_t))
        grow(<void **>&self.next_hop, &self.next_capacity, n_nodes, sizeof(Hop))
        grow(
            <void **>&self.series_distance, &self.series_distance_capacity, n_series,
            sizeof(uint8_t),
        )
        grow(<void **>&self.series_best, &self.series_best_capacity, n_series, sizeof(int32_t))
        grow(<void **>&self.is_waiting, &self.is_waiting_capacity, n_series, sizeof(uint8_t))
        if self.nodes_ready < n_nodes:
            memset(self.distance + self.nodes_ready, FAR, <size_t>(n_nodes - self.nodes_ready))
            self.nodes_ready = n_nodes
        return 0

    cdef int _begin(self) except -1 nogil:
        """Find the paths to the target through all that the engine knows."""
        cdef int64_t fresh = self.engine.n_series - self.series_ready
        if fresh:
            memset(self.series_distance + self.series_ready, FAR, <size_t>fresh)
            memset(self.series_best + self.series_ready, -1, <size_t>fresh * sizeof(int32_t))
            memset(self.is_waiting + self.series_ready, False, <size_t>fresh)
            self.series_ready = self.engine.n_series
        self.backwards_ready = self.engine.n_backwards
        self.distance[self.target] = 0
        self.aimed = True
        self._enqueue(self.target)
        return self._drain()

    cdef int sync(self) except -1 nogil:
        """Take in what the engine has learnt since the last time."""
        cdef int32_t gone
        self._reserve()
        if not self.aimed:
            return self._begin()
        while self.backwards_ready < self.engine.n_backwards:
            gone = self.engine.backwards[self.backwards_ready]
            self.backwards_ready += 1
            if gone != self.target and self.distance[gone] != FAR:
                self._remove(gone)
        if self.series_ready < self.engine.n_series:
            while self.series_ready < self.engine.n_series:
                self.is_waiting[self.series_ready] = False
                self.series_ready += 1
                self._relax(<int32_t>(self.series_ready - 1))
            self._drain()
        return 0

    cdef int _remove(self, int32_t gone) except -1 nogil:
        """A clock is no source any more: find new ways for all whose path led through it."""
        cdef Node *nodes = self.engine.nodes
        cdef Series *s
        cdef int64_t head = 0, n_stale = 0, j, k
        cdef int32_t node, member, series, i
        self.affected_n = 0
        self._affect(gone)
        while head < self.affected_n:
            node = self.affected[head]
            head += 1
            self._spend(2 * nodes[node].n_memberships)
            for j in range(nodes[node].n_memberships):
                series = nodes[node].memberships[j].series
                if (
                    series >= self.series_ready
                    or self.series_best[series] != nodes[node].memberships[j].position
                ):
                    continue
                self.series_best[series] = -1
                self.series_distance[series] = FAR
                grow(<void **>&self.stale, &self.stale_capacity, n_stale + 1, sizeof(int32_t))
                self.stale[n_stale] = series
                n_stale += 1
                s = &self.engine.series[series]
                self._spend(s.n)
                for i in range(s.n):
                    member = s.nodes[i]
                    if (
                        member != self.target and self.distance[member] != FAR
                        and self.next_hop[member].series == series
                    ):
                        self._affect(member)
        for k in range(n_stale):
            self._relax(self.stale[k])
        for k in range(self.affected_n):
            node = self.affected[k]
            for j in range(nodes[node].n_memberships):
                series = nodes[node].memberships[j].series
                if series < self.series_ready and self.series_best[series] >= 0:
                    self._offer(
                        series, nodes[node].memberships[j].position, self.series_best[series],
                        self.series_distance[series] + 1,
                    )
        return self._drain()

    cdef int _affect(self, int32_t node) except -1 nogil:
        self.distance[node] = FAR
        grow(
            <void **>&self.affected, &self.affected_capacity, self.affected_n + 1, sizeof(int32_t)
        )
        self.affected[self.affected_n] = node
        self.affected_n += 1
        return 0

    cdef int _relax(self, int32_t series) except -1 nogil:
        """Let a new series offer its best member to the others."""
        cdef Series *s = &self.engine.series[series]
        cdef Node *nodes = self.engine.nodes
        cdef int32_t best = -1
        cdef int32_t i
        self._spend(s.n)
        for i in range(s.n):
            if self.distance[s.nodes[i]] == FAR:
                continue
            if best < 0 or self.distance[s.nodes[i]] < self.distance[s.nodes[best]] or (
                self.distance[s.nodes[i]] == self.distance[s.nodes[best]]
                and before(&nodes[s.nodes[i]].key, &nodes[s.nodes[best]].key)
            ):
                best = i
        if best < 0:
            self.series_distance[series] = FAR
            self.series_best[series] = -1
            return 0
        self.series_distance[series] = self.distance[s.nodes[best]]
        self.series_best[series] = best
        for i in range(s.n):
            self._offer(series, i, best, self.distance[s.nodes[best]] + 1)
        return 0

    cdef int _offer(
        self, int32_t series, int32_t position, int32_t via_position, int distance
    ) except -1 nogil:
        """The clock at `position` may go through the one at `via_position` of the same series."""
        cdef Series *s = &self.engine.series[series]
        cdef int32_t node = s.nodes[position]
        cdef int32_t via = s.nodes[via_position]
        cdef Node *nodes = self.engine.nodes
        cdef Hop *hop = &self.next_hop[node]
        if (
            node == via or node == self.target or nodes[node].backwards
            or distance > MAX_HOPS or distance > self.distance[node]
        ):
            return 0
        if distance == self.distance[node]:
            if before(&nodes[hop.target].key, &nodes[via].key):
                return 0
            if hop.target == via and self.engine.series[hop.series].hash <= s.hash:
                return 0
        else:
            self.distance[node] = <uint8_t>distance
            self._enqueue(node)
        hop.source = node
        hop.target = via
        hop.series = series
        hop.source_column = s.columns[position]
        hop.target_column = s.columns[via_position]
        return 0

    cdef int _enqueue(self, int32_t node) except -1 nogil:
        grow(<void **>&self.queue, &self.queue_capacity, self.queue_n + 1, sizeof(int32_t))
        self.queue[self.queue_n] = node
        self.queue_n += 1
        return 0

    cdef int _drain(self) except -1 nogil:
        """Pass on every distance that got shorter, of many at a time: each series is asked once."""
        cdef Series *s
        cdef int64_t j, k
        cdef int32_t series
        while self.queue_n:
            self.waiting_n = 0
            for k in range(self.queue_n):
                self._nominate(self.queue[k])
            self.queue_n = 0
            for k in range(self.waiting_n):
                series = self.waiting[k]
                self.is_waiting[series] = False
                s = &self.engine.series[series]
                self._spend(s.n)
                for j in range(s.n):
                    self._offer(
                        series, <int32_t>j, self.series_best[series],
                        self.series_distance[series] + 1,
                    )
        return 0

    cdef int _nominate(self, int32_t node) except -1 nogil:
        """Where a clock is its series' best now, the series has something to offer."""
        cdef Node *nodes = self.engine.nodes
        cdef uint8_t distance = self.distance[node]
        cdef int64_t j
        cdef int32_t series, best
        self._spend(nodes[node].n_memberships)
        for j in range(nodes[node].n_memberships):
            series = nodes[node].memberships[j].series
            if series >= self.series_ready or distance > self.series_distance[series]:
                continue
            best = self.series_best[series]
            if distance == self.series_distance[series] and before(
                &nodes[self.engine.series[series].nodes[best]].key, &nodes[node].key
            ):
                continue
            self.series_distance[series] = distance
            self.series_best[series] = nodes[node].memberships[j].position
            if not self.is_waiting[series]:
                self.is_waiting[series] = True
                grow(
                    <void **>&self.waiting, &self.waiting_capacity, self.waiting_n + 1,
                    sizeof(int32_t),
                )
                self.waiting[self.waiting_n] = series
                self.waiting_n += 1
        return 0

    cdef bint find(self, int32_t source, Path *out) noexcept nogil:
        """The path from `source`, as of the last sync."""
        cdef int32_t here = source
        out.n = 0
        if self.distance[source] == FAR:
            return False
        while here != self.target:
            out.hops[out.n] = self.next_hop[here]
            out.n += 1
            here = self.next_hop[here].target
        return True
