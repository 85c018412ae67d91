# The rows of a batch and where each is put, read packet by packet in the order they were made.

cdef enum:
    # Of errors.REASONS: what only the tube says.
    ONE_SIDED = 9


cdef class PlacedRows:
    """Rows with trace times, and counts of what a baked packet could not hold of them."""

    cdef object columns             # what holds the arrays
    cdef const int8_t *kind
    cdef const uint32_t *item, *clock
    cdef const int64_t *timestamp, *trace_time
    cdef const int8_t *status
    cdef int64_t at, end            # of the packet at hand: its next row, and after its last
    # Counts
    cdef readonly int64_t moved     # items that their packet's timestamp now places
    cdef readonly int64_t stamped   # packets that had no time of their own
    cdef readonly int64_t rounded   # times that their field cannot hold
    cdef readonly int64_t worst_ns  # by how much at most
    cdef readonly int64_t unresolved, set_aside

    def give(self, columns not None):
        """Take the columns of the next batch, those of the events table."""
        cdef const int8_t[::1] kind = columns["kind"]
        cdef const uint32_t[::1] item = columns["item"]
        cdef const uint32_t[::1] clock = columns["clock"]
        cdef const int64_t[::1] timestamp = columns["timestamp"]
        cdef const int64_t[::1] trace_time = columns["trace_time"]
        cdef const int8_t[::1] status = columns["status"].view("int8")
        cdef int64_t n = kind.shape[0]
        if not (
            n == item.shape[0] == clock.shape[0] == timestamp.shape[0] == trace_time.shape[0]
            == status.shape[0]
        ):
            raise ValueError("columns must have the same length")
        self.columns = columns
        self.at = self.end = 0
        if n:
            self.kind = &kind[0]
            self.item = &item[0]
            self.clock = &clock[0]
            self.timestamp = &timestamp[0]
            self.trace_time = &trace_time[0]
            self.status = &status[0]
        return n

    cdef bint next_is(self, int kind, int64_t item) noexcept nogil:
        """Whether the next row of the packet is that item (-1: any)."""
        return (
            self.at < self.end and self.kind[self.at] == kind
            and (item < 0 or self.item[self.at] == item)
        )

    cdef bint is_placed(self, int64_t row) noexcept nogil:
        cdef int8_t status = self.status[row]
        return status == RESOLVED or status == AS_IS or status == ONE_SIDED

    cdef bint any_placed(self) noexcept nogil:
        """Whether any of the packet's rows to come has a trace time."""
        cdef int64_t row
        for row in range(self.at, self.end):
            if self.is_placed(row):
                return True
        return False

    cdef int note_rounded(self, int64_t off_ns) noexcept nogil:
        self.rounded += 1
        self.worst_ns = max(self.worst_ns, off_ns if off_ns >= 0 else -off_ns)
        return 0


# The clocks of a baked trace: what is left of its snapshots, and what ties the other clocks.
#
# A timestamp whose message fixes its clock needs a snapshot to be placed by. REALTIME keeps those of
# the file, reduced to the trace clock and itself. BOOTTIME and the kinds of MONOTONIC get one that
# says that they are the trace clock, after theirs have left the file.
#
# A machine that the trace clock is not of has no snapshots of its own left, which could move trace
# time. Perfetto then equates its BOOTTIME with the trace clock, if that is BOOTTIME or TRACE_FILE.

cdef class BakedClocks:
    """Writes the snapshots of one machine of a baked trace.

    trace_clock: the machine's clock that counts trace time. mark: what the extension says of the
    policy. is_home: whether that is the trace clock itself.
    """

    cdef readonly uint32_t trace_clock
    cdef public uint32_t machine_id
    cdef int mark                   # the policy, EXT_BAKED
    cdef public bint is_home        # the trace clock is this machine's
    cdef public bint converted      # a packet of the machine has, so that trace time stays
    cdef int64_t anchor_ns          # a trace time of the packet under way
    cdef public bint named_trace_clock  # a snapshot of the output has
    cdef uint32_t related           # a bit for each clock
    cdef Bytes packet, message      # under construction
    cdef int64_t *trace_ns          # of the snapshots that are kept, both ascending
    cdef int64_t *wall_ns, n, trace_capacity, wall_capacity

    def __cinit__(self, uint32_t trace_clock, uint32_t machine_id, int mark, bint is_home):
        self.is_home = is_home
        self.trace_clock = trace_clock
        self.machine_id = machine_id
        self.mark = mark

    def __dealloc__(self):
        free(self.packet.data)
        free(self.message.data)
        free(self.trace_ns)
        free(self.wall_ns)

    def know(self, int64_t trace_ns, int64_t wall_ns):
        """Take note of a snapshot of the trace clock and REALTIME that the output has already."""
        self.keep(trace_ns, wall_ns)

    cdef int put_clock(self, uint32_t clock, int64_t ns) except -1 nogil:
        """Append a clock to the snapshot under construction."""
        self.message.n = 0
        put_value(&self.message, SNAPSHOT_CLOCK_CLOCK_ID, clock)
        put_value(&self.message, SNAPSHOT_CLOCK_TIMESTAMP, <uint64_t>ns)
        return put_content(&self.packet, SNAPSHOT_CLOCKS, self.message.data, self.message.n)

    cdef int write_pair(
        self, Bytes *out, uint32_t clock, int64_t ns, int64_t trace_ns
    ) except -1 nogil:
        """Append a packet with a snapshot of a clock and the trace clock."""
        if not self.converted:
            self.write_anchor(out)
        self.packet.n = 0
        self.named_trace_clock = True
        self.put_clock(self.trace_clock, trace_ns)
        self.put_clock(clock, ns)
        put_value(&self.packet, SNAPSHOT_PRIMARY_TRACE_CLOCK, self.trace_clock)
        self.message.n = 0
        put_content(&self.message, PACKET_CLOCK_SNAPSHOT, self.packet.data, self.packet.n)
        return self.finish(out)

    cdef int write_anchor(self, Bytes *out) except -1 nogil:
        """Append a packet that is converted, so that no snapshot of the machine moves trace time."""
        self.converted = True
        self.message.n = 0
        put_value(&self.message, PACKET_TIMESTAMP, <uint64_t>self.anchor_ns)
        put_value(&self.message, PACKET_TIMESTAMP_CLOCK_ID, self.trace_clock)
        return self.finish(out)

    cdef int name_trace_clock(self, Bytes *out) except -1 nogil:
        """Append a snapshot that makes a machine's BOOTTIME trace time."""
        self.packet.n = 0
        self.named_trace_clock = True
        self.put_clock(self.trace_clock, 0)
        put_value(&self.packet, SNAPSHOT_PRIMARY_TRACE_CLOCK, self.trace_clock)
        self.message.n = 0
        put_content(&self.message, PACKET_CLOCK_SNAPSHOT, self.packet.data, self.packet.n)
        return self.finish(out)

    cdef int write_mark(self, Bytes *out) except -1 nogil:
        """Append the packet that says that the file is baked."""
        self.message.n = 0
        return self.finish(out)

    cdef int finish(self, Bytes *out) except -1 nogil:
        """Append `message` as a packet, with its machine and the mark."""
        if self.machine_id:
            put_value(&self.message, PACKET_MACHINE_ID, self.machine_id)
        self.packet.n = 0
        put_value(&self.packet, EXT_BAKED, <uint64_t>self.mark)
        put_content(
            &self.message, PACKET_TRACETIME_SNAPSHOT, self.packet.data, self.packet.n
        )
        return put_content(out, TRACE_PACKET, self.message.data, self.message.n)

    cdef int relate(self, Bytes *out, uint32_t clock) except -1 nogil:
        """Make a clock count what the trace clock counts, before the first that needs it.

        Perfetto itself equates BOOTTIME with the clock of a file without trace clock.
        """
        cdef uint32_t bit = <uint32_t>1 << clock
        if (
            clock == self.trace_clock or self.related & bit
            or (self.trace_clock == TRACE_FILE and clock == BOOTTIME)
        ):
            return 0
        self.related |= bit
        return self.write_pair(out, clock, 0, 0)

    # REALTIME

    cdef int keep(self, int64_t trace_ns, int64_t wall_ns) except -1 nogil:
        """Note a snapshot of the trace clock and REALTIME that the output has."""
        grow(<void **>&self.trace_ns, &self.trace_capacity, self.n + 1, sizeof(int64_t))
        grow(<void **>&self.wall_ns, &self.wall_capacity, self.n + 1, sizeof(int64_t))
        self.trace_ns[self.n] = trace_ns
        self.wall_ns[self.n] = wall_ns
        self.n += 1
        return 0

    cdef int64_t to_trace(self, int64_t wall_ns) noexcept nogil:
        """Where Perfetto's rule places a reading of REALTIME by the snapshots so far."""
        cdef int64_t i = max(last_until(self.wall_ns, self.n, wall_ns), 0)
        return saturating_add(self.trace_ns[i], saturating_sub(wall_ns, self.wall_ns[i]))

    cdef int64_t to_wall(
        self, Bytes *out, int64_t trace_ns, int64_t wall_ns, int64_t *off_ns
    ) except? -1 nogil:
        """What REALTIME must read for that rule to place it at trace_ns; wall_ns: what it read.

        off_ns: how far from there the nearest one is, where none is.
        """
        cdef int64_t i, k, guess, there, best = 0, least = INT64_MAX
        cdef int64_t[6] guesses
        off_ns[0] = 0
        if self.trace_clock == REALTIME:
            return trace_ns
        if self.n == 0:
            # No snapshot ties the two: this event does, by where it was placed.
            self.write_pair(out, REALTIME, wall_ns, trace_ns)
            self.keep(trace_ns, wall_ns)
            return wall_ns
        if self.to_trace(wall_ns) == trace_ns:
            return wall_ns
        i = last_until(self.trace_ns, self.n, trace_ns)
        for k in range(3):
            guess = min(max(i + k - 1, 0), self.n - 1)
            guesses[k] = saturating_add(
                trace_ns, saturating_sub(self.wall_ns[guess], self.trace_ns[guess])
            )
            guesses[3 + k] = self.wall_ns[guess] - (k & 1)
        for k in range(6):
            there = saturating_sub(self.to_trace(guesses[k]), trace_ns)
            if there < 0:
                there = saturating_sub(0, there)
            if there < least:
                least = there
                best = guesses[k]
        off_ns[0] = least
        return best

    # Snapshots

    cdef int reduce_snapshot(self, Packet *p, bint taken, Bytes *out) except -1 nogil:
        """Append what stays of a snapshot; whether anything does.

        The first that names the trace clock stays, and those with REALTIME, where neither of the
        two falls: of one whose REALTIME was set back nothing later could be placed.
        """
        cdef Span rest = p.message.clock_snapshot
        cdef Field f
        cdef ClockSnapshotClock one
        cdef bint has_wall, names
        cdef uint32_t primary = 0
        cdef int64_t n_trace = 0, n_wall = 0, n_boot = 0, n_file = 0
        cdef int64_t trace_ns = 0, wall_ns = 0, boot_ns = 0
        if not self.is_home:
            return False
        if baked_policy(p.message.tracetime_snapshot):
            return False
        while next_field(&rest, &f):
            if f.number == SNAPSHOT_PRIMARY_TRACE_CLOCK and is_number(&f):
                primary = <uint32_t>f.value
            elif f.number == SNAPSHOT_CLOCKS and f.wire == BYTES:
                read_clock_snapshot_clock(span_of(&f), &one)
                if (
                    one.clock_id == self.trace_clock or one.clock_id == REALTIME
                    or one.clock_id == BOOTTIME
                ):
                    taken = taken and one.unit_multiplier_ns <= 1 and not one.is_incremental
                if one.clock_id == self.trace_clock:
                    n_trace += 1
                    trace_ns = one.timestamp
                elif one.clock_id == REALTIME:
                    n_wall += 1
                    wall_ns = one.timestamp
                if one.clock_id == BOOTTIME:
                    n_boot += 1
                    boot_ns = one.timestamp
                n_file += one.clock_id == TRACE_FILE
        if primary == 0 and n_boot and not n_file:
            primary = BOOTTIME
        if self.trace_clock == TRACE_FILE and not n_file and n_boot == 1:
            # Perfetto has equated the two.
            n_trace = 1
            trace_ns = boot_ns
        names = primary == self.trace_clock and not self.named_trace_clock
        has_wall = taken and n_trace == 1 and n_wall == 1 and (
            self.n == 0
            or (trace_ns >= self.trace_ns[self.n - 1] and wall_ns >= self.wall_ns[self.n - 1])
        )
        if not names and not has_wall:
            return False
        self.named_trace_clock = True
        self.packet.n = 0
        self.put_clock(self.trace_clock, trace_ns)
        if has_wall:
            self.put_clock(REALTIME, wall_ns)
            self.keep(trace_ns, wall_ns)
        put_value(&self.packet, SNAPSHOT_PRIMARY_TRACE_CLOCK, self.trace_clock)
        put_content(out, PACKET_CLOCK_SNAPSHOT, self.packet.data, self.packet.n)
        self.reduce_extension(p.message.tracetime_snapshot, out)
        return True

    cdef int reduce_extension(self, Span extension, Bytes *out) except -1 nogil:
        """Append what an extension says that is not of the snapshot's own clocks, in order."""
        cdef Span rest = extension, before = extension
        cdef Field f
        self.packet.n = 0
        while next_field(&rest, &f):
            if f.number == EXT_DOMAINS or f.number == EXT_EVENTS_DROPPED:
                put_between(&self.packet, before, rest)
            before = rest
        if self.packet.n:
            put_content(out, PACKET_TRACETIME_SNAPSHOT, self.packet.data, self.packet.n)
        return 0


cdef inline int64_t last_until(const int64_t *values, int64_t n, int64_t value) noexcept nogil:
    """The last of n ascending values that is not above `value`; -1 where all are."""
    cdef int64_t low = 0, high = n, middle
    while low < high:
        middle = (low + high) >> 1
        if values[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low - 1
