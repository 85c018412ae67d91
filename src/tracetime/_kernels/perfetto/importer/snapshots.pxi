# Packets that say what clocks read at one instant: ClockSnapshot and RemoteClockSync.
#
# Follows Perfetto's src/trace_processor/importers/proto/proto_trace_reader.cc.

cdef class Snapshots:
    """Adds the snapshots of a trace to its clocks."""

    cdef Timeline timeline
    cdef ClockTracker clocks
    cdef readonly SnapshotExtensions extensions
    cdef readonly RemoteSyncs remote
    cdef readonly ExchangeRounds rounds
    cdef bint taken                         # whether the last ClockSnapshot was, whole
    cdef readonly int64_t n_stray_syncs     # means that were not tied to the host's clock

    def __cinit__(self, Timeline timeline not None):
        self.timeline = timeline
        self.clocks = timeline.clocks
        self.extensions = SnapshotExtensions(timeline.file)
        self.remote = RemoteSyncs()
        self.rounds = ExchangeRounds()

    cdef int import_snapshot(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::ParseClockSnapshot."""
        cdef Span rest = p.message.clock_snapshot
        cdef Field f
        cdef ClockSnapshotClock one
        cdef Key key
        cdef int64_t n = 0
        cdef uint32_t primary = 0
        cdef bint boottime = False, trace_file = False
        while next_field(&rest, &f):
            if f.number == SNAPSHOT_PRIMARY_TRACE_CLOCK and is_number(&f):
                primary = <uint32_t>f.value
            elif f.number == SNAPSHOT_CLOCKS and f.wire == BYTES:
                if n >= self.clocks.engine.most_nodes:
                    with gil:
                        raise TooManyClocksError
                read_clock_snapshot_clock(span_of(&f), &one)
                key = machine_key(one.clock_id, p.machine)
                if is_sequence_scoped(key.clock):
                    if p.message.trusted_packet_sequence_id == 0:
                        return self.timeline.fail(ERROR_SNAPSHOT_SEQUENCE)
                    key.sequence = p.message.trusted_packet_sequence_id
                    key.file = self.timeline.file
                boottime = boottime or key.clock == BOOTTIME
                trace_file = trace_file or key.clock == TRACE_FILE
                self.clocks.reserve_clocks(n + 1)
                self.clocks.set_clock(n, key, one.timestamp)
                self.clocks.clock_units[n] = <int64_t>(one.unit_multiplier_ns or 1)
                self.clocks.clock_incremental[n] = one.is_incremental
                n += 1
        if primary and self.clocks.streams.machines[p.machine].converted:
            self.clocks.note_late_clock(p.machine, primary)
        if primary == 0 and boottime and not trace_file:
            primary = BOOTTIME
        if primary:
            self.clocks.streams.machines[p.machine].default_clock = primary
            self.clocks.set_trace_clock(p.machine, primary)
        cdef int fault = self.clocks.add_clocks(n)
        self.taken = fault == 0
        if fault == 0:
            self.clocks.note_late_snapshot(n)
        if is_set(p.message.tracetime_snapshot):
            self.extensions.read(p, self.clocks, n, fault == 0)
        return 0

    cdef int import_remote_sync(self, Packet *p) except -1 nogil:
        """ProtoTraceReader::ParseRemoteClockSync."""
        cdef int64_t first_round = self.clocks.engine.n_snapshots, first_instant, i
        if not self.remote.read(p.message.remote_clock_sync, self.clocks.engine.most_nodes):
            return self.timeline.fail(ERROR_REMOTE_SYNC)
        self.add_client_rounds(p.machine)
        self.remote.work_out()
        first_instant = self.clocks.engine.n_snapshots
        for i in range(self.remote.n_instants):
            self.add_instant(p.machine, &self.remote.instants[i])
            self.remote.note_worked_out(first_instant + i)
        # Of the host's own nothing is between two machines.
        if p.machine:
            self.remote.bound(
                p.machine, <int64_t>self.clocks.packet, first_round, first_instant,
                BOOTTIME if self.take_rounds(p) else 0,
            )
        return STOP_END

    cdef bint take_rounds(self, Packet *p) except -1 nogil:
        """Keep the rounds of the extension: they bound BOOTTIME in the message's place."""
        cdef const Round *first = self.remote.row_of(BOOTTIME, 0)
        if first == NULL or not (first.once_ns[CLIENT] and first.once_ns[HOST]):
            return False
        return self.rounds.take(
            p.message.tracetime_snapshot, p.machine, first.once_ns[CLIENT], first.once_ns[HOST]
        )

    cdef int add_client_rounds(self, uint32_t machine) except -1 nogil:
        """Add a snapshot of what the client read in each round."""
        cdef const Reading *readings = self.remote.readings
        cdef int64_t n_readings = self.remote.n_readings, round, n, i = 0
        for round in range(self.remote.n_rounds):
            n = 0
            while i < n_readings and readings[i].place >> 1 == round:
                if readings[i].place & 1 == CLIENT:
                    self.clocks.reserve_clocks(n + 1)
                    self.clocks.set_clock(
                        n, machine_key(readings[i].clock, machine), readings[i].ns
                    )
                    n += 1
                i += 1
            self.clocks.add_clocks(n)
        return 0

    cdef int add_instant(self, uint32_t machine, const Instant *at) except -1 nogil:
        """Add a snapshot of a clock of trace time's machine and of another one."""
        if self.clocks.trace_key.machine != 0:
            self.n_stray_syncs += 1
        self.clocks.tying = True
        self.clocks.add_pair(
            machine_key(at.clock, self.clocks.trace_key.machine), at.host_ns,
            machine_key(at.clock, machine), at.client_ns,
        )
        self.clocks.tying = False
        return 0
