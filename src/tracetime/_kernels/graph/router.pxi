# Shortest paths through the clock graph, and conversions along them, one at a time.
#
# The rules are those of Perfetto's src/trace_processor/util/clock_synchronizer.cc.

cdef enum:
    FAR = 255               # a distance: no path
    # Steps of all searches for paths in a graph: some seconds. Real traces take thousands.
    MOST_STEPS = 400000000


cdef inline bint before(const Key *a, const Key *b) noexcept nogil:
    """Perfetto's order of clocks, which decides between paths of one length."""
    if a.clock != b.clock:
        return a.clock < b.clock
    if a.sequence != b.sequence:
        return a.sequence < b.sequence
    if a.file != b.file:
        return a.file < b.file
    return a.machine < b.machine


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


class TangledError(Exception):
    """The clocks are tied together in too many ways to follow; see MOST_STEPS."""


cdef class Router:
    """Shortest paths from every clock to one target, kept up to date as the graph grows.

    Perfetto searches breadth first over edges ordered by (source, target, series hash): it finds
    the smallest of the shortest paths in that order. Here each clock keeps its distance and its
    smallest next hop towards the target, so a path costs its length. A series offers its members
    the nearest of its clocks, the smallest of these where several are as near.

    For another target, the router forgets only the paths that it has found, and searches only the
    clocks that are tied to the new target: in a graph of very many clocks in small groups, a search
    costs as much as one group.
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
        """Count steps of a search: hostile snapshots can undo its paths again and again."""
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
        """Drop all paths: every clock that has one is tied to the target over others that have one."""
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
        """Make room for the engine's clocks and series; new clocks have no path."""
        cdef int64_t n_nodes = self.engine.n_nodes, n_series = self.engine.n_series
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
        """Find the paths to the target through all series of the engine."""
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
        """Take in the series and clocks that were added since the last call."""
        cdef int32_t dropped
        self._reserve()
        if not self.aimed:
            return self._begin()
        while self.backwards_ready < self.engine.n_backwards:
            dropped = self.engine.backwards[self.backwards_ready]
            self.backwards_ready += 1
            if dropped != self.target and self.distance[dropped] != FAR:
                self._remove(dropped)
        if self.series_ready < self.engine.n_series:
            while self.series_ready < self.engine.n_series:
                self.is_waiting[self.series_ready] = False
                self.series_ready += 1
                self._relax(<int32_t>(self.series_ready - 1))
            self._drain()
        return 0

    cdef int _remove(self, int32_t dropped) except -1 nogil:
        """Find new paths for the clocks whose path leads through one that is no source any more."""
        cdef Node *nodes = self.engine.nodes
        cdef Series *s
        cdef int64_t head = 0, n_stale = 0, j, k
        cdef int32_t node, member, series, i
        self.affected_n = 0
        self._affect(dropped)
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
        """Let a new series offer its nearest member to the others."""
        cdef Series *s = &self.engine.series[series]
        cdef Node *nodes = self.engine.nodes
        cdef int32_t best = -1, i
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
        """Pass on the distances that got shorter, many at a time: each series offers once."""
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
        """Queue the series in which a clock is now the nearest: they have a path to offer."""
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

    # Conversions

    cdef int convert_slowly(
        self, int32_t source, int64_t value, bint have_ns, int64_t ns, int64_t *out
    ) except -1 nogil:
        """Convert hop by hop where no cached conversion applies, and cache the result."""
        cdef Node *nodes = self.engine.nodes
        cdef Path path
        cdef CachedConversion *entry
        cdef Column *here, *there
        cdef int64_t index, counterpart, low, high, hop_ns, translation_ns = 0
        cdef bint keep = True
        cdef int64_t from_ns = INT64_LOW, to_ns = INT64_HIGH
        cdef int i
        if source < 0 or not nodes[source].seen:
            return UNKNOWN_SOURCE_CLOCK
        if self.target < 0 or not nodes[self.target].seen:
            return UNKNOWN_TARGET_CLOCK
        self.sync()
        if not self.find(source, &path):
            if not nodes[source].incremental:
                mul_overflows(value, nodes[source].unit_ns, &self.engine.source_ns)
            return NON_MONOTONIC_SOURCE if nodes[source].backwards else NO_PATH
        if not have_ns and self.engine.absolute_ns(source, value, &ns) != RESOLVED:
            return OVERFLOW
        self.engine.source_ns = ns
        for i in range(path.n):
            here = &self.engine.columns[path.hops[i].source_column]
            there = &self.engine.columns[path.hops[i].target_column]
            index = last_not_after(here.values_ns, here.n, ns)
            counterpart = find_snapshot(there, here.snapshots[index])
            if counterpart < 0:
                continue  # a reading of a snapshot that was not taken whole: adds 0
            if sub_overflows(there.values_ns[counterpart], here.values_ns[index], &hop_ns):
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
            # A sum of hops beyond int64 cannot be cached, though each value of the path fits.
            if add_overflows(translation_ns, hop_ns, &translation_ns):
                keep = False
        self.engine.random_state = self.engine.random_state * 48271 % 2147483647  # std::minstd_rand
        entry = &self.engine.cache[self.engine.random_state % CACHE_SIZE]
        entry.source = source if keep else -1
        entry.target = self.target
        entry.from_ns = from_ns
        entry.to_ns = to_ns
        entry.translation_ns = translation_ns
        out[0] = ns
        return RESOLVED
