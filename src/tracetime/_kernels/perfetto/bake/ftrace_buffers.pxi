# From when on ftrace's buffers hold events: rows for the times of a bundle that say so.

# The ftrace buffers of a machine so far.
cdef struct Buffers:
    int64_t valid_ns                # when the last one began to hold events
    int64_t offset_ns               # of the last event, from its clock
    bint has_offset


cdef class FtraceBuffers:
    """The buffers of each machine so far."""

    cdef Buffers *buffers           # by machine
    cdef int64_t n, capacity
    cdef uint32_t snapshots         # of the last row so far

    def __dealloc__(self):
        free(self.buffers)

    cdef int add(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Add the rows of a packet that has been imported; first: of its own rows."""
        if first < rows.n:
            self.snapshots = rows.snapshots[first]
            if rows.payload[first] != PACKET_FTRACE_EVENTS:
                return 0
        if p.placed and p.inner_field == PACKET_FTRACE_EVENTS:
            return self.add_bounds(p, rows, first)
        return 0

    cdef int add_bounds(
        self, const ImportedPacket *p, Rows rows, int64_t first
    ) except -1 nogil:
        """Add a row for each such time of a bundle, with its number of field as the item."""
        cdef Row row
        cdef Field f
        cdef Span rest = p.inner
        cdef bint found, has_end
        cdef int64_t after = rows.n, ns
        cdef uint64_t clock = load_number(p.inner, BUNDLE_FTRACE_CLOCK, &found)
        grow(<void **>&self.buffers, &self.capacity, p.machine + 1, sizeof(Buffers))
        while self.n <= p.machine:
            memset(&self.buffers[self.n], 0, sizeof(Buffers))
            self.n += 1
        cdef Buffers *b = &self.buffers[p.machine]
        cdef bint is_later = p.ftrace_valid_ns != b.valid_ns
        load_number(p.inner, BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP, &has_end)
        b.valid_ns = p.ftrace_valid_ns
        memset(&row, 0, sizeof(Row))
        row.packet = p.packet
        row.offset = p.offset
        row.packet_sequence = p.message.trusted_packet_sequence_id
        row.machine = p.message.machine_id
        row.clock = BOOTTIME
        if clock == 2 or clock == 3:
            row.clock = FIRST_SEQUENCE_CLOCK
            row.sequence = p.message.trusted_packet_sequence_id
        elif clock == 4:
            row.clock = MONOTONIC_RAW
        row.snapshots = self.snapshots
        row.payload = PACKET_FTRACE_EVENTS
        row.kind = <int8_t>KIND_FTRACE_BOUND
        row.status = RESOLVED
        map_bound(b, rows, first, 0, &ns)
        while next_field(&rest, &f):
            if not is_number(&f) or (
                f.number != BUNDLE_LAST_READ_EVENT_TIMESTAMP
                and f.number != BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP
            ):
                continue
            row.item = f.number
            row.timestamp = row.source_ns = <int64_t>f.value
            found = map_bound(b, rows, first, row.timestamp, &row.trace_time)
            if is_later and (f.number == BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP) == has_end:
                # The one that counts, as Perfetto converted it.
                row.trace_time = p.ftrace_valid_ns
                found = True
            if found:
                rows.append(&row)
        return 0


cdef bint map_bound(
    Buffers *b, Rows rows, int64_t first, int64_t bound_ns, int64_t *out
) noexcept nogil:
    """Convert a time like the event of the bundle that is nearest to it, or the last before."""
    cdef int64_t i, apart, least = -1
    for i in range(first, rows.n):
        if rows.status[i] != RESOLVED or (
            rows.kind[i] != KIND_FTRACE_EVENT and rows.kind[i] != KIND_SCHED_SWITCH
            and rows.kind[i] != KIND_SCHED_WAKING
        ):
            continue
        apart = saturating_sub(rows.timestamp[i], bound_ns)
        if apart < 0:
            apart = saturating_sub(0, apart)
        if least < 0 or apart < least:
            least = apart
            b.offset_ns = saturating_sub(rows.trace_time[i], rows.timestamp[i])
            b.has_offset = True
    out[0] = saturating_add(bound_ns, b.offset_ns)
    return b.has_offset
