# The packets of a trace, written anew so that Perfetto's rule puts each event where a policy does.
#
# A timestamp whose clock a packet can name becomes trace time, and the packet names the trace clock.
# Where a message fixes the clock, that clock is tied to the trace clock (`clocks.pxi`). Nothing
# else changes; what the packets mean is the importer's.

cdef struct HeldPacket:
    int64_t start, end              # of its bytes
    int64_t first, after            # of its rows
    uint32_t sequence
    uint32_t machine                # in order of appearance
    bint has_sequence_id
    bint valid                      # incremental state of the sequence
    bint placed
    bint snapshot_taken

# What to write instead of a packet's own.
cdef struct Stamp:
    bint has_time
    bint has_clock
    bint dropped                    # by Perfetto: its payload stays as it is
    bint timeless                   # its timestamp goes
    bint legacy                     # it takes the place of a legacy timestamp
    uint32_t clock
    int64_t time


cdef enum:
    MOST_HELD = 4 << 20             # bytes of packets until a batch is full
    LEAST_SAMPLE_NS = 1000
    # fnv1a("dev.tracetime.unresolved") with the bit of named clocks: no snapshot has it.
    UNRESOLVED_CLOCK = 0x92B7083F


cdef class Baker(PacketObserver):
    """Holds the packets of each batch of rows, and writes them with the rows' trace times.

    trace_clock: of the whole file. machine_id: of its first machine. mark: of the policy.
    several: whether there are more machines; the trace clock is BOOTTIME or TRACE_FILE then.
    is_home: whether the trace clock is the first machine's own in the source. baked: the trace is
    baked already; its packets stay as they are.
    clocks: BakedClocks of its machines, where these have a part of the output already.
    """

    cdef readonly PlacedRows rows
    cdef FtraceBuffers buffers
    cdef BakedClocks clocks         # of the packet's machine
    cdef BakedClocks home           # of the first machine
    cdef list machines              # BakedClocks by machine
    cdef uint32_t machine           # of `clocks`
    cdef bint several, baked
    cdef Bytes held                 # the packets of a batch
    cdef HeldPacket *packets
    cdef int64_t n, capacity
    cdef Bytes out
    cdef Bytes packet, inner        # under construction
    cdef Bytes[2] scratch
    cdef int64_t *references_ns     # by sequence, as the output has them
    cdef uint8_t *has_reference
    cdef int64_t n_references, references_capacity, has_reference_capacity
    cdef bint began
    cdef bint named_any             # a packet of the output names a clock

    def __cinit__(
        self, uint32_t trace_clock, uint32_t machine_id, int mark, bint several, bint is_home,
        bint baked, list clocks=None,
    ):
        self.rows = PlacedRows()
        self.buffers = FtraceBuffers()
        self.baked = baked
        self.several = several
        if clocks is not None:
            self.began = True
            self.machines = list(clocks)
            self.home = self.clocks = clocks[0]
            return
        self.home = self.clocks = BakedClocks(trace_clock, machine_id, mark, is_home)
        # Its own trace clock is named before all else.
        self.home.converted = True
        self.machines = [self.home]

    def __dealloc__(self):
        free(self.held.data)
        free(self.packets)
        free(self.out.data)
        free(self.packet.data)
        free(self.inner.data)
        free(self.scratch[0].data)
        free(self.scratch[1].data)
        free(self.references_ns)
        free(self.has_reference)

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef HeldPacket *k
        if not self.baked:
            self.buffers.add(p, rows, first)
        grow(<void **>&self.packets, &self.capacity, self.n + 1, sizeof(HeldPacket))
        k = &self.packets[self.n]
        self.n += 1
        k.start = self.held.n
        put_span(&self.held, p.whole)
        k.end = self.held.n
        k.first = first
        k.after = rows.n
        k.sequence = p.sequence
        k.machine = p.machine
        k.has_sequence_id = p.message.has_trusted_packet_sequence_id
        k.valid = p.valid
        k.placed = p.placed
        k.snapshot_taken = p.snapshot_taken
        return self.held.n >= MOST_HELD

    # A batch

    def write(self, columns not None):
        """Write the packets that have come since the last call, with the columns of their rows.

        Returns the bytes of a part of a Trace.
        """
        cdef int64_t i, n_rows = self.rows.give(columns)
        if self.n and self.packets[self.n - 1].after > n_rows:
            raise ValueError("columns must be those of all rows of the packets")
        self.out.n = 0
        with nogil:
            if self.baked:
                self.copy()
            elif not self.began:
                self.began = True
                if self.several and self.home.trace_clock == BOOTTIME:
                    self.home.name_trace_clock(&self.out)
            for i in range(0 if self.baked else self.n):
                self.bake(&self.packets[i])
        self.n = self.held.n = 0
        return <bytes>self.out.data[:self.out.n]

    cdef int copy(self) except -1 nogil:
        """Append the packets as they are."""
        cdef const HeldPacket *k
        cdef int64_t i, row
        for i in range(self.n):
            k = &self.packets[i]
            put_content(&self.out, TRACE_PACKET, self.held.data + k.start, k.end - k.start)
            for row in range(k.first, k.after):
                self.rows.unresolved += not self.rows.is_placed(row)
        return 0

    cdef int bake(self, const HeldPacket *k) except -1 nogil:
        """Append a packet to `out`, or what stays of it."""
        cdef Span s
        cdef Packet p
        cdef Stamp stamp
        s.data = self.held.data + k.start
        s.end = self.held.data + k.end
        read_packet(s, &p)
        self.rows.at = k.first
        self.rows.end = k.after
        self.enter(k.machine, &p)
        self.note_reference(&p, k)
        if is_set(p.message.clock_snapshot) or is_set(p.message.remote_clock_sync):
            return self.bake_snapshot(&p, k.snapshot_taken)
        if is_mark(&p):
            return 0
        memset(&stamp, 0, sizeof(Stamp))
        if is_set(p.message.extension_descriptor) or (
            p.message.sequence_flags & FLAG_NEEDS_INCREMENTAL_STATE and not k.valid
        ):
            stamp.dropped = True
        else:
            self.choose_stamp(&p, k.sequence, &stamp)
        return self.write_packet(&p, &stamp, k.sequence)

    cdef int enter(self, uint32_t machine, const Packet *p) except -1 nogil:
        """Go to the clocks of a packet's machine."""
        cdef int64_t row
        if machine != self.machine:
            with gil:
                while len(self.machines) <= machine:
                    self.machines.append(None)
                self.clocks = self.machines[machine]
                if self.clocks is None:
                    self.clocks = BakedClocks(BOOTTIME, p.message.machine_id, self.home.mark, False)
                    self.machines[machine] = self.clocks
                    # It stays a machine of the file even if all of its packets go.
                    self.clocks.write_mark(&self.out)
            self.machine = machine
        if not self.clocks.converted:
            for row in range(self.rows.at, self.rows.end):
                if self.rows.is_placed(row):
                    self.clocks.anchor_ns = self.rows.trace_time[row]
                    break
        return 0

    cdef int bake_snapshot(self, Packet *p, bint taken) except -1 nogil:
        """Append what stays of a packet with a snapshot: that, or the state of its sequence."""
        cdef Span rest = p.whole, before = p.whole
        cdef Field f
        cdef bint says = False
        self.inner.n = 0
        self.packet.n = 0
        cdef bint kept = is_set(p.message.clock_snapshot) and self.clocks.reduce_snapshot(
            p, taken, &self.inner
        )
        while next_field(&rest, &f):
            if f.number == PACKET_CLOCK_SNAPSHOT or f.number == PACKET_TRACETIME_SNAPSHOT:
                if kept:
                    put_bytes(&self.packet, self.inner.data, self.inner.n)
                    self.inner.n = 0
            elif f.number == PACKET_TRACE_PACKET_DEFAULTS and f.wire == BYTES:
                says = True
                self.put_defaults(span_of(&f))
            elif kept:
                put_between(&self.packet, before, rest)
            elif f.number == PACKET_SEQUENCE_FLAGS and is_number(&f):
                # Without a snapshot it must not need a state.
                says = True
                put_value(
                    &self.packet, PACKET_SEQUENCE_FLAGS, f.value & FLAG_INCREMENTAL_STATE_CLEARED
                )
            elif is_of_sequence(f.number):
                says = says or tells_state(f.number)
                put_between(&self.packet, before, rest)
            before = rest
        if not kept and (not says or p.message.trusted_packet_sequence_id == 0):
            return 0
        put_bytes(&self.packet, before.data, p.whole.end - before.data)
        return put_content(&self.out, TRACE_PACKET, self.packet.data, self.packet.n)

    # A packet

    cdef int choose_stamp(self, Packet *p, uint32_t sequence, Stamp *stamp) except -1 nogil:
        """Decide what a packet's timestamp and clock become, and pass over its row."""
        cdef int64_t row = self.refused_row(sequence)
        if row >= 0:
            if self.rows.next_is(KIND_PACKET, -1) and not self.rows.is_placed(self.rows.at):
                row = self.rows.at
            return self.refuse(p, row, stamp)
        row = self.rows.at
        if self.rows.next_is(KIND_PACKET, -1):
            self.rows.at += 1
            if not may_be_placed(p):
                return self.refuse(p, row, stamp)
            if not self.rows.is_placed(row):
                if not self.rows.any_placed():
                    return self.refuse(p, row, stamp)
                # It goes with the first item that is placed.
                self.rows.stamped += 1
                row = self.rows.at
                while not self.rows.is_placed(row):
                    row += 1
            # Without any clock the value is trace time, until the trace clock is settled.
            self.tie_items(p)
            if (
                self.rows.status[row] != AS_IS or self.rows.clock[row]
                or self.is_settled()
            ):
                stamp.has_time = stamp.has_clock = True
                stamp.time = self.rows.trace_time[row]
        elif is_set(p.message.service_event):
            stamp.has_clock = True
        else:
            self.tie_items(p)
            self.keep_latest(p, stamp)
        stamp.clock = self.clocks.trace_clock
        if self.rows.next_is(KIND_TRACK_EVENT_LEGACY, -1):
            row = self.rows.at
            self.rows.at += 1
            if self.rows.is_placed(row):
                stamp.has_time = stamp.has_clock = stamp.legacy = True
                stamp.time = self.rows.trace_time[row]
                self.rows.moved += 1
            else:
                self.rows.unresolved += 1
        return 0

    cdef int64_t refused_row(self, uint32_t sequence) noexcept nogil:
        """The row because of which Perfetto must drop a packet whole; -1 without one.

        Deltas would count on from an event that has no trace time, and not below 0; or from a
        reference that came too late, of a packet put aside that has its time in order now.
        """
        cdef int64_t row
        for row in range(self.rows.at, min(self.rows.at + 2, self.rows.end)):
            if self.rows.kind[row] == KIND_TRACK_EVENT_LEGACY:
                if (
                    not self.rows.is_placed(row)
                    and (
                        self.rows.status[row] != SKIPPED_INCREMENTAL_STATE
                        or self.has_reference[sequence]
                    )
                ):
                    return row
        for row in range(self.rows.at, self.rows.end):
            if self.rows.kind[row] == KIND_STACK_SAMPLE:
                if not self.rows.is_placed(row) or self.rows.trace_time[row] < LEAST_SAMPLE_NS:
                    return row
            elif row > self.rows.at:
                return -1
        return -1

    cdef bint is_settled(self) noexcept nogil:
        """Whether the trace clock of the output cannot change any more where it is named."""
        return self.clocks.named_trace_clock or self.home.named_trace_clock or self.named_any

    cdef int tie_items(self, Packet *p) except -1 nogil:
        """Tie the clock that the items of a packet are in, where one of them has a trace time."""
        cdef int64_t row, ignored
        if self.rows.next_is(KIND_POWER_RAIL, -1):
            if rails_have_time(self.rows, p.inner):
                self.clocks.relate(&self.out, BOOTTIME)
            return 0
        for row in range(self.rows.at, self.rows.end):
            if not self.rows.is_placed(row) or not self.rows.clock[row]:
                continue
            if self.rows.kind[row] in (KIND_TRACK_EVENT_LEGACY, KIND_STATSD_ATOM):
                continue
            if self.rows.kind[row] == KIND_GPU_WORK_PERIOD and not self.rows.is_placed(row - 1):
                continue
            if self.rows.kind[row] == KIND_ANDROID_LOG:
                self.clocks.to_wall(
                    &self.out, self.rows.trace_time[row], self.rows.timestamp[row], &ignored
                )
            elif self.rows.kind[row] in (
                KIND_FTRACE_EVENT, KIND_SCHED_SWITCH, KIND_SCHED_WAKING, KIND_FTRACE_BOUND
            ):
                self.clocks.relate(&self.out, BOOTTIME)
            else:
                self.clocks.relate(&self.out, self.rows.clock[row])
        return 0

    cdef int64_t row_of_packet_time(self, Packet *p) noexcept nogil:
        """A placed item without a time of its own, of a packet without one; -1 without such.

        Of atoms the first have the timestamps that there are, and the others none.
        """
        cdef int64_t row = self.rows.end - 1
        if row < self.rows.at:
            return -1
        if self.rows.kind[row] == KIND_POWER_RAIL:
            while row >= self.rows.at and self.rows.clock[row]:
                row -= 1
        elif (
            self.rows.kind[row] != KIND_STATSD_ATOM
            or numbers_in(p.inner, ATOM_TIMESTAMP_NANOS) > row - self.rows.at
        ):
            return -1
        return row if row >= self.rows.at and self.rows.is_placed(row) else -1

    cdef int keep_latest(self, Packet *p, Stamp *stamp) except -1 nogil:
        """Stamp a packet without timestamp where items have the latest time so far instead.

        What is the latest may be another time in the output.
        """
        cdef int64_t row = self.row_of_packet_time(p)
        if self.is_settled() and row >= 0:
            stamp.has_time = stamp.has_clock = True
            stamp.time = self.rows.trace_time[row]
            self.rows.stamped += 1
        return 0

    cdef int refuse(self, Packet *p, int64_t row, Stamp *stamp) except -1 nogil:
        """Let a packet be one that Perfetto drops, in a clock that nothing ties."""
        cdef uint32_t clock = self.rows.clock[row]
        stamp.dropped = True
        stamp.has_clock = True
        stamp.clock = UNRESOLVED_CLOCK
        if clock > BOOTTIME and clock != self.clocks.trace_clock:
            stamp.clock = clock
        if is_set(p.message.service_event):
            # Perfetto would take its value as it stands.
            stamp.timeless = True
            stamp.clock = self.clocks.trace_clock
        elif not p.message.has_timestamp:
            stamp.has_time = True
            stamp.time = 0
        self.rows.unresolved += self.rows.end - self.rows.at + (row < self.rows.at)
        self.rows.at = self.rows.end
        return 0

    cdef int note_reference(self, Packet *p, const HeldPacket *k) except -1 nogil:
        """Follow the time that legacy timestamps of its sequence count from, as the importer does."""
        cdef Span rest = p.whole
        cdef Field f
        cdef ThreadDescriptor thread
        cdef int described
        grow(
            <void **>&self.references_ns, &self.references_capacity, k.sequence + 1,
            sizeof(int64_t),
        )
        grow(
            <void **>&self.has_reference, &self.has_reference_capacity, k.sequence + 1,
            sizeof(uint8_t),
        )
        while self.n_references <= k.sequence:
            self.references_ns[self.n_references] = 0
            self.has_reference[self.n_references] = False
            self.n_references += 1
        if k.has_sequence_id and (p.cleared or p.message.previous_packet_dropped):
            self.references_ns[k.sequence] = 0
            self.has_reference[k.sequence] = False
        if not (is_set(p.message.thread_descriptor) or is_set(p.message.track_descriptor)):
            return 0
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            if is_inner(f.number) or is_taken_silently(f.number):
                return 0
            if f.number == PACKET_THREAD_DESCRIPTOR or f.number == PACKET_TRACK_DESCRIPTOR:
                described = read_descriptor(
                    f.number, span_of(&f), k.has_sequence_id, k.placed and k.valid, &thread
                )
                if described == DESCRIBES_LAST:
                    return 0
                if described == DESCRIBES_THREAD:
                    self.has_reference[k.sequence] = True
                    self.references_ns[k.sequence] = saturating_mul(
                        thread.reference_timestamp_us, 1000
                    )
        return 0

    cdef int write_packet(
        self, Packet *p, const Stamp *stamp, uint32_t sequence
    ) except -1 nogil:
        """Append a packet with its stamp and its baked payload."""
        cdef Bytes *out = &self.packet
        cdef Span rest = p.whole, before = p.whole
        cdef const uint8_t *copied = p.whole.data
        cdef Span inner = p.inner
        cdef Field f
        cdef bint timed = False, clocked = not stamp.has_clock, chosen
        out.n = 0
        self.named_any = self.named_any or stamp.has_clock
        if not p.message.has_timestamp:
            if stamp.has_time:
                put_value(out, PACKET_TIMESTAMP, <uint64_t>stamp.time)
            if stamp.has_clock and not p.message.has_timestamp_clock_id:
                put_value(out, PACKET_TIMESTAMP_CLOCK_ID, stamp.clock)
        while next_field(&rest, &f):
            if f.number == PACKET_TIMESTAMP and is_number(&f):
                if stamp.timeless or stamp.has_time:
                    put_unchanged(out, &copied, before, rest)
                    if not stamp.timeless and not timed:
                        put_value(out, PACKET_TIMESTAMP, <uint64_t>stamp.time)
                if stamp.has_clock and not p.message.has_timestamp_clock_id and not timed:
                    put_unchanged(out, &copied, rest, rest)
                    put_value(out, PACKET_TIMESTAMP_CLOCK_ID, stamp.clock)
                timed = True
            elif f.number == PACKET_TIMESTAMP_CLOCK_ID and is_number(&f) and stamp.has_clock:
                put_unchanged(out, &copied, before, rest)
                if not clocked:
                    put_value(out, PACKET_TIMESTAMP_CLOCK_ID, stamp.clock)
                clocked = True
            elif f.wire != BYTES:
                pass
            elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
                put_unchanged(out, &copied, before, rest)
                self.put_defaults(span_of(&f))
            else:
                chosen = f.data == inner.data or (
                    not is_set(inner)
                    and (f.number == PACKET_PROFILE_PACKET or f.number == PACKET_PROCESS_TREE)
                )
                if not stamp.dropped and chosen and self.bake_payload(
                    f.number, span_of(&f), stamp, sequence
                ):
                    put_unchanged(out, &copied, before, rest)
                    put_content(out, f.number, self.inner.data, self.inner.n)
            before = rest
        put_bytes(out, copied, p.whole.end - copied)
        if stamp.has_time and not stamp.dropped:
            self.clocks.converted = True
        return put_content(&self.out, TRACE_PACKET, self.packet.data, self.packet.n)

    cdef bint bake_payload(
        self, uint32_t field, Span payload, const Stamp *stamp, uint32_t sequence
    ) except -1 nogil:
        """Write a payload anew into `inner`; False where it stays as it is."""
        cdef Bytes *scratch = &self.scratch[0]
        cdef int64_t packet_ns = stamp.time if stamp.has_time else INT64_MIN
        self.inner.n = 0
        if field == PACKET_TRACK_EVENT:
            if not stamp.legacy:
                return False
            without_legacy_time(payload, &self.inner)
        elif field == PACKET_FTRACE_EVENTS:
            bake_bundle(self.rows, self.clocks, payload, &self.out, scratch, &self.inner)
        elif field == PACKET_ANDROID_LOG:
            bake_logs(self.rows, self.clocks, payload, &self.out, scratch, &self.inner)
        elif field == PACKET_POWER_RAILS:
            bake_rails(self.rows, self.clocks, payload, packet_ns, &self.out, scratch, &self.inner)
        elif field == PACKET_STATSD_ATOM:
            bake_atoms(self.rows, payload, scratch, &self.inner)
        elif field == PACKET_ETW_EVENTS:
            bake_etw(self.rows, payload, scratch, &self.inner)
        elif field == PACKET_STREAMING_PROFILE_PACKET:
            bake_stacks(
                self.rows, self.clocks, payload, &self.references_ns[sequence], &self.out, scratch,
                &self.inner,
            )
        elif field == PACKET_PROFILE_PACKET:
            bake_dumps(self.rows, self.clocks, payload, &self.out, scratch, &self.inner)
        elif field == PACKET_PROCESS_TREE:
            bake_tree(self.rows, self.clocks, payload, &self.out, scratch, &self.inner)
        else:
            return False
        return True

    cdef int put_defaults(self, Span defaults) except -1 nogil:
        """Append trace_packet_defaults without a clock."""
        self.inner.n = 0
        put_with_number(&self.inner, defaults, DEFAULTS_TIMESTAMP_CLOCK_ID, 0, False)
        return put_content(
            &self.packet, PACKET_TRACE_PACKET_DEFAULTS, self.inner.data, self.inner.n
        )


cdef inline bint may_be_placed(Packet *p) noexcept nogil:
    """Whether Perfetto, which drops a packet now, goes on where it has a time."""
    return p.inner_field != PACKET_FTRACE_EVENTS or has_possible_cpu(p.inner)


cdef inline bint tells_state(uint32_t field) noexcept nogil:
    """Whether a field changes the state of its packet sequence."""
    return (
        field == PACKET_INTERNED_DATA or field == PACKET_INCREMENTAL_STATE_CLEARED
        or field == PACKET_PREVIOUS_PACKET_DROPPED or field == PACKET_FIRST_PACKET_ON_SEQUENCE
    )


cdef inline bint is_of_sequence(uint32_t field) noexcept nogil:
    return (
        tells_state(field) or field == PACKET_TRUSTED_UID or field == PACKET_TRUSTED_PID
        or field == PACKET_TRUSTED_PACKET_SEQUENCE_ID or field == PACKET_MACHINE_ID
    )


cdef int64_t numbers_in(Span message, uint32_t number) noexcept nogil:
    """How many values a repeated number has, packed or not."""
    cdef Field f
    cdef Span packed
    cdef uint64_t ignored
    cdef int64_t n = 0
    while next_field(&message, &f):
        if f.number != number:
            continue
        if is_number(&f):
            n += 1
            continue
        packed = span_of(&f)
        while packed.data != NULL and packed.data < packed.end:
            packed.data = read_varint(packed.data, packed.end, &ignored)
            n += packed.data != NULL
    return n
