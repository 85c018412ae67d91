# Clocks of a trace on trace time, as packets and snapshots come in the order of the file.
#
# Reproduces Perfetto's src/trace_processor/importers/common/clock_tracker.cc.

cdef enum:
    KEPT_FAULTS = 100


cdef class ClockTracker:
    """The clocks of a trace, and what trace time is."""

    def __cinit__(self):
        self.engine = Engine()
        self.streams = Streams(self.engine.seed)
        self.router = Router(self.engine, -1)
        self.wall_router = Router(self.engine, -1)
        self.own_router = Router(self.engine, -1)
        self.faults = []
        self.moves = []
        self.trace_node = -1
        self.set_trace_clock(0, TRACE_FILE)
        self.streams.machines[0].converted = False

    def __dealloc__(self):
        free(self.clock_nodes)
        free(self.clock_values)
        free(self.clock_units)
        free(self.clock_incremental)
        free_samples(&self.samples)

    @property
    def trace_clock(self):
        """(clock, machine) of trace time so far."""
        return self.trace_key.clock, self.trace_key.machine

    # Trace time

    cdef int set_trace_clock(self, uint32_t machine, uint32_t clock) except -1 nogil:
        """ClockTracker::SetGlobalClock: nothing changes after the machine's first conversion."""
        cdef Key key = machine_key(clock, machine)
        cdef int32_t node
        if self.streams.machines[machine].converted:
            return 0
        node = self.engine.node(key)
        if node != self.trace_node:
            if self.any_converted or machine != self.trace_key.machine:
                self.note_move()
            self.trace_key = key
            self.trace_node = node
            self.router.aim(node)
        return 0

    cdef int note_move(self) except -1 nogil:
        """Keep what trace time was before it moves to another clock: the first and the last."""
        cdef Key key = self.trace_key
        with gil:
            if len(self.moves) == KEPT_FAULTS:
                self.moves.pop()
            self.moves.append((self.packet, key.clock, key.machine, self.any_converted))
        return 0

    cdef int note_late_clock(self, uint32_t machine, uint32_t clock) except -1 nogil:
        if machine == self.trace_key.machine and clock != self.trace_key.clock:
            with gil:
                self.late_clock = self.late_clock or (self.packet, clock, machine)
        return 0

    cdef int reach(self, Key source, Key target, Router router) except -1 nogil:
        """Whether one clock converts to another; `router` takes it for its target."""
        cdef int32_t source_node = self.engine.find_node(source)
        cdef int32_t target_node = self.engine.find_node(target)
        cdef int64_t ignored
        if target_node < 0:
            return 0
        router.aim(target_node)
        # What overflows has a path.
        cdef int status = convert_one(router, source_node, 0, &ignored)
        return status == RESOLVED or status == OVERFLOW

    cdef int bridge(self, uint32_t machine) except -1 nogil:
        """Relate a machine's BOOTTIME to trace time (ClockTracker::BridgeToTraceTime)."""
        cdef Key boottime = machine_key(BOOTTIME, machine)
        cdef Key realtime = machine_key(REALTIME, machine)
        cdef Key trace = self.trace_key
        cdef Key trace_realtime = machine_key(REALTIME, trace.machine)
        if self.engine.node(boottime) == self.trace_node:
            return 0
        if self.reach(boottime, trace, self.router):
            return 0
        if (
            machine != trace.machine
            and self.reach(boottime, realtime, self.own_router)
            and (trace.clock == REALTIME or self.reach(trace_realtime, trace, self.router))
        ):
            if not self.reach(realtime, trace_realtime, self.wall_router):
                self.add_pair(realtime, 0, trace_realtime, 0)
            return 0
        if trace.clock == TRACE_FILE or trace.clock == BOOTTIME:
            self.add_pair(boottime, 0, trace, 0)
        return 0

    cdef int to_trace_time(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil:
        """ClockTracker::ToTraceTime; returns a Status."""
        cdef Machine *m = &self.streams.machines[machine]
        if not m.converted:
            if not m.bridged:
                m.bridged = True
                self.bridge(machine)
            m.converted = True
            self.any_converted = True
        cdef int32_t source = self.engine.find_node(key)
        cdef int32_t target = self.router.target
        cdef int status = convert_one(self.router, source, value, out)
        cdef Node *nodes = self.engine.nodes
        if status == RESOLVED and source != target:
            nodes[source].placed_ns = max(nodes[source].placed_ns, self.engine.source_ns)
            nodes[target].placed_ns = max(nodes[target].placed_ns, out[0])
        # What is placed at the end of the file was put aside before, or has no rows when silent.
        if not self.at_end and (
            status == RESOLVED
            or (status == NON_MONOTONIC_SOURCE and not nodes[source].incremental)
        ):
            keep_reading(&self.samples, source, self.engine.source_ns)
        return status

    cdef int to_trace_time_or_raw(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil:
        """As `to_trace_time`, but AS_IS with the value itself where there is no path."""
        cdef int status = self.to_trace_time(machine, key, value, out)
        if status != RESOLVED and status != OVERFLOW:
            out[0] = value
            return AS_IS
        return status

    # Snapshots

    cdef int reserve_clocks(self, int64_t n) except -1 nogil:
        """Make room for the clocks of a snapshot."""
        grow(<void **>&self.clock_nodes, &self.nodes_capacity, n, sizeof(int32_t))
        grow(<void **>&self.clock_values, &self.values_capacity, n, sizeof(int64_t))
        grow(<void **>&self.clock_units, &self.units_capacity, n, sizeof(int64_t))
        grow(<void **>&self.clock_incremental, &self.incremental_capacity, n, sizeof(uint8_t))
        return 0

    cdef int set_clock(self, int64_t i, Key key, int64_t ns) except -1 nogil:
        """Make a clock that counts ns the i-th of the reserved ones."""
        self.clock_nodes[i] = self.engine.node(key)
        self.clock_values[i] = ns
        self.clock_units[i] = 1
        self.clock_incremental[i] = 0
        return 0

    cdef int add_clocks(self, int64_t n) except -1 nogil:
        """Add the reserved clocks as a snapshot (ClockTracker::AddSnapshotInternal)."""
        cdef int64_t i, ignored
        cdef int fault = self.engine.add_snapshot(
            self.clock_nodes, self.clock_values, self.clock_units, self.clock_incremental, n,
            self.trace_node,
        )
        if fault:
            self.note_fault(fault)
            return fault
        # AddSnapshotToTable converts each reading: that fills the cache of conversions.
        for i in range(n):
            convert_one(
                self.router, self.clock_nodes[i],
                0 if self.clock_incremental[i] else self.clock_values[i], &ignored,
            )
        return 0

    cdef int note_late_snapshot(self, int64_t n) except -1 nogil:
        """Whether events from after the snapshot that was added last had been placed without it."""
        cdef int64_t i, late_ns, most_ns = -1
        cdef Node *node
        for i in range(n):
            node = &self.engine.nodes[self.clock_nodes[i]]
            if node.placed_ns >= node.last_ns:
                if sub_overflows(node.placed_ns, node.last_ns, &late_ns):
                    late_ns = INT64_HIGH
                most_ns = max(most_ns, late_ns)
        if most_ns >= 0:
            self.n_late_snapshots += 1
            if most_ns > self.latest_snapshot_ns or self.n_late_snapshots == 1:
                self.latest_snapshot_ns = most_ns
                self.latest_snapshot = self.engine.n_snapshots - 1
        return 0

    cdef int note_fault(self, int fault) except -1 nogil:
        cdef Key key = self.engine.nodes[self.clock_nodes[self.engine.fault_position]].key
        cdef int64_t alike
        self.n_faults += 1
        if self.tying and self.clock_nodes[0] == self.clock_nodes[1]:
            fault = FAULT_OWN_SYNC
            self.n_own_syncs += 1
        # The limit of each kind is its own: neither hides the other.
        alike = self.n_own_syncs if fault == FAULT_OWN_SYNC else self.n_faults - self.n_own_syncs
        if alike <= KEPT_FAULTS:
            with gil:
                self.faults.append((
                    fault, self.packet, self.offset,
                    parts_of(key),
                    self.engine.fell_by_ns,
                ))
        return 0

    cdef int add_pair(self, Key a, int64_t a_ns, Key b, int64_t b_ns) except -1 nogil:
        """Add a snapshot of two clocks that count ns."""
        self.reserve_clocks(2)
        self.set_clock(0, a, a_ns)
        self.set_clock(1, b, b_ns)
        return self.add_clocks(2)

    # What events read

    def events_sampled(self, int64_t least=0):
        """Readings of events that were placed when they were read: {key: (int64 ns, n, repeated)}.

        512 readings at most, in blocks of 8 that followed each other, but for equal ones, all over
        the file; how many there were, and how many were as the one before. Without the clocks that
        have fewer readings than `least`, those of snapshots included.
        """
        cdef int64_t i
        cdef Sampled *sample
        cdef Key key
        found = {}
        for i in range(self.samples.n):
            sample = self.samples.by_node[i]
            if sample != NULL and sample.n + self.engine.n_readings(<int32_t>i) >= least:
                key = self.engine.nodes[i].key
                found[parts_of(key)] = (
                    copied(np.empty(sample.n, np.int64), sample.values_ns),
                    sample.seen, sample.repeated,
                )
        return found
