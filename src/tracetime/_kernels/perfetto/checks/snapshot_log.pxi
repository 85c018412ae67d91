# Every ClockSnapshot of a file, taken or not, and where recorders begin to write.
#
# The engine keeps what Perfetto takes; this keeps what was written, to explain what went wrong. It
# gives bundles of ftrace to `late_wakings`, and track events to `flows`.

# A clock of a ClockSnapshot, as the file has it.
cdef struct LoggedReading:
    uint64_t packet
    int64_t timestamp
    int64_t unit_ns
    uint32_t clock
    uint32_t sequence           # trusted_packet_sequence_id where the clock is of one, else 0
    uint32_t machine            # in order of appearance
    bint named                  # whether the packet says whose it is

# A packet that a recorder writes when it begins, or a snapshot.
cdef struct Sign:
    uint64_t packet
    uint64_t offset
    uint32_t field
    uint32_t machine


# The first packet of a writer of a sequence.
cdef struct FirstPacket:
    uint64_t packet
    uint32_t sequence
    uint32_t machine


# tracetime's recorder begins with a packet of this sequence that holds nothing else.
cdef enum:
    OWN_SEQUENCE = 1


cdef class SnapshotLog(PacketObserver):
    """Keeps `limit` readings and as many signs, and counts the others."""

    cdef LoggedReading *logged
    cdef int64_t n_logged, logged_capacity
    cdef Sign *signs
    cdef int64_t n_signs, signs_capacity, limit
    cdef FirstPacket *firsts
    cdef int64_t n_firsts, firsts_capacity
    cdef readonly int64_t left_out
    cdef readonly LateWakings late_wakings
    cdef readonly FlowLog flows

    def __cinit__(self, int64_t limit):
        self.limit = limit
        self.late_wakings = LateWakings()
        self.flows = FlowLog(limit)

    def __dealloc__(self):
        free(self.logged)
        free(self.signs)
        free(self.firsts)

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef const TracePacket *m = p.message
        if m.data in (
            PACKET_TRACE_UUID, PACKET_TRACE_CONFIG, PACKET_SYSTEM_INFO,
            PACKET_SYNCHRONIZATION_MARKER, PACKET_TRACE_STATS,
        ):
            self.note_sign(p, m.data)
        if (
            m.first_packet_on_sequence and m.trusted_packet_sequence_id == OWN_SEQUENCE
            and is_bare(p.whole)
        ):
            self.note_sign(p, PACKET_FIRST_PACKET_ON_SEQUENCE)
        if m.first_packet_on_sequence and self.n_firsts < self.limit:
            grow(
                <void **>&self.firsts, &self.firsts_capacity, self.n_firsts + 1, sizeof(FirstPacket)
            )
            self.firsts[self.n_firsts].packet = p.packet
            self.firsts[self.n_firsts].sequence = m.trusted_packet_sequence_id
            self.firsts[self.n_firsts].machine = p.machine
            self.n_firsts += 1
        if is_set(m.clock_snapshot):
            self.note_sign(p, PACKET_CLOCK_SNAPSHOT)
            self.note_snapshot(p)
        if is_set(m.ftrace_events):
            self.late_wakings.add(p, rows, first)
        if is_set(m.track_event):
            self.flows.observe(p, rows, first)
        return False

    cdef int note_sign(self, const ImportedPacket *p, uint32_t field) except -1 nogil:
        if self.n_signs >= self.limit:
            self.left_out += 1
            return 0
        grow(<void **>&self.signs, &self.signs_capacity, self.n_signs + 1, sizeof(Sign))
        self.signs[self.n_signs].packet = p.packet
        self.signs[self.n_signs].offset = p.offset
        self.signs[self.n_signs].field = field
        self.signs[self.n_signs].machine = p.machine
        self.n_signs += 1
        return 0

    cdef int note_snapshot(self, const ImportedPacket *p) except -1 nogil:
        cdef Span rest = p.message.clock_snapshot
        cdef Field f
        cdef ClockSnapshotClock clock
        cdef LoggedReading *one
        while next_field(&rest, &f):
            if f.number != SNAPSHOT_CLOCKS or f.wire != BYTES:
                continue
            if self.n_logged >= self.limit:
                self.left_out += 1
                return 0
            grow(
                <void **>&self.logged, &self.logged_capacity, self.n_logged + 1,
                sizeof(LoggedReading),
            )
            one = &self.logged[self.n_logged]
            read_clock_snapshot_clock(span_of(&f), &clock)
            one.packet = p.packet
            one.timestamp = clock.timestamp
            one.unit_ns = <int64_t>(clock.unit_multiplier_ns or 1)
            one.clock = clock.clock_id
            one.machine = p.machine
            one.named = p.message.machine_id != 0
            one.sequence = 0
            if is_sequence_scoped(one.clock):
                one.sequence = p.message.trusted_packet_sequence_id
            self.n_logged += 1
        return 0

    def readings(self):
        """int64[7, n], in file order: packet, clock, sequence, machine index, timestamp, unit_ns,
        whether the packet names its machine.
        """
        cdef int64_t i
        table = np.empty((7, self.n_logged), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_logged):
            out[0, i] = <int64_t>self.logged[i].packet
            out[1, i] = self.logged[i].clock
            out[2, i] = self.logged[i].sequence
            out[3, i] = self.logged[i].machine
            out[4, i] = self.logged[i].timestamp
            out[5, i] = self.logged[i].unit_ns
            out[6, i] = self.logged[i].named
        return table

    def signs_found(self):
        """int64[4, n], in file order: packet, offset, field of TracePacket, machine index."""
        cdef int64_t i
        table = np.empty((4, self.n_signs), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_signs):
            out[0, i] = <int64_t>self.signs[i].packet
            out[1, i] = <int64_t>self.signs[i].offset
            out[2, i] = self.signs[i].field
            out[3, i] = self.signs[i].machine
        return table

    def firsts_found(self):
        """int64[3, n], in file order: packets that say that they are the first of their sequence,
        the sequence, machine index.
        """
        cdef int64_t i
        table = np.empty((3, self.n_firsts), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n_firsts):
            out[0, i] = <int64_t>self.firsts[i].packet
            out[1, i] = self.firsts[i].sequence
            out[2, i] = self.firsts[i].machine
        return table


cdef bint is_bare(Span packet) noexcept nogil:
    """Whether a packet says no more than how its sequence begins."""
    cdef Field f
    while next_field(&packet, &f):
        if f.number not in (
            PACKET_TRUSTED_PACKET_SEQUENCE_ID, PACKET_SEQUENCE_FLAGS,
            PACKET_FIRST_PACKET_ON_SEQUENCE, PACKET_TRACE_PACKET_DEFAULTS,
        ):
            return False
    return True
