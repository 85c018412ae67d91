# Track events that are part of flows, as the events say it: one row for each id of each event.
#
# Which events a flow has is Perfetto's rule (MaybeParseFlowEvents in
# src/trace_processor/importers/proto/track_event_event_importer.h). Perfetto takes their order from
# their times; here is kept what the events themselves say of it.

# An event that is part of a flow.
cdef struct FlowStep:
    uint64_t flow
    int64_t row                 # of the events table
    int64_t kind


cdef enum:
    # What an event says of its place in a flow; formats/perfetto/read/flows.py has them, too.
    BEGINS = 0
    PASSES = 1
    ENDS = 2
    TERMINATES = 3
    # TrackEvent.LegacyEvent.FlowDirection
    FLOW_IN = 1
    FLOW_OUT = 2
    FLOW_INOUT = 3


cdef class FlowLog(PacketObserver):
    """Keeps so many places of events in flows, and counts the others."""

    cdef FlowStep *steps
    cdef int64_t n, capacity, limit, base
    cdef readonly int64_t left_out

    def __cinit__(self, int64_t limit):
        self.limit = limit

    def __dealloc__(self):
        free(self.steps)

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef Span rest = p.message.track_event
        cdef TrackEvent event
        cdef Field f
        cdef int64_t i, row = -1
        cdef bint has_flows, is_legacy_time
        if not is_set(rest) or not p.has_sequence_id:
            return False
        read_track_event(rest, &event)
        has_flows = (
            event.n_flow_ids or event.n_terminating_flow_ids or event.n_flow_ids_old
            or event.n_terminating_flow_ids_old
        )
        if not has_flows and not is_set(event.legacy_event):
            return False
        is_legacy_time = event.has_timestamp_delta_us or event.timestamp_absolute_us != 0
        for i in range(first, rows.n):
            if rows.kind[i] == (KIND_TRACK_EVENT_LEGACY if is_legacy_time else KIND_PACKET):
                row = self.base + i
        if row < 0:
            return False
        while has_flows and next_field(&rest, &f):
            if f.number == TRACK_EVENT_FLOW_IDS or f.number == TRACK_EVENT_FLOW_IDS_OLD:
                i = PASSES
            elif (
                f.number == TRACK_EVENT_TERMINATING_FLOW_IDS
                or f.number == TRACK_EVENT_TERMINATING_FLOW_IDS_OLD
            ):
                i = TERMINATES
            else:
                continue
            if is_number(&f):
                self.add(f.value, row, i)
            elif f.number == TRACK_EVENT_FLOW_IDS or f.number == TRACK_EVENT_TERMINATING_FLOW_IDS:
                self.add_packed(span_of(&f), row, i)
            else:
                self.add_packed_varints(span_of(&f), row, i)
        if is_set(event.legacy_event):
            self.add_legacy(event.legacy_event, row)
        return False

    cdef int add(self, uint64_t flow, int64_t row, int64_t kind) except -1 nogil:
        if self.n >= self.limit:
            self.left_out += 1
            return 0
        grow(<void **>&self.steps, &self.capacity, self.n + 1, sizeof(FlowStep))
        self.steps[self.n].flow = flow
        self.steps[self.n].row = row
        self.steps[self.n].kind = kind
        self.n += 1
        return 0

    cdef int add_packed(self, Span values, int64_t row, int64_t kind) except -1 nogil:
        cdef uint64_t flow
        while values.end - values.data >= 8:
            memcpy(&flow, values.data, 8)
            self.add(flow, row, kind)
            values.data += 8
        return 0

    cdef int add_packed_varints(self, Span values, int64_t row, int64_t kind) except -1 nogil:
        cdef uint64_t flow = 0
        while True:
            values.data = read_varint(values.data, values.end, &flow)
            if values.data == NULL:
                return 0
            self.add(flow, row, kind)

    cdef int add_legacy(self, Span message, int64_t row) except -1 nogil:
        cdef TrackEventLegacyEvent legacy
        read_track_event_legacy_event(message, &legacy)
        if not legacy.has_bind_id:
            return 0
        if legacy.flow_direction == FLOW_OUT:
            return self.add(legacy.bind_id, row, BEGINS)
        if legacy.flow_direction == FLOW_INOUT:
            return self.add(legacy.bind_id, row, PASSES)
        if legacy.flow_direction == FLOW_IN:
            return self.add(legacy.bind_id, row, ENDS)
        return 0

    def take(self, int64_t batch_rows):
        """(flows, rows, kinds), uint64 and int64, of a batch of so many rows, once it was taken: ids
        of flows, rows of the batch, and what the events say of their place: 0 begins, 1 passes,
        2 ends, 3 terminates.
        """
        cdef int64_t i
        flows, rows, kinds = (np.empty(self.n, t) for t in (np.uint64, np.int64, np.int64))
        cdef uint64_t[::1] flow = flows
        cdef int64_t[::1] row = rows, kind = kinds
        for i in range(self.n):
            flow[i] = self.steps[i].flow
            row[i] = self.steps[i].row - self.base
            kind[i] = self.steps[i].kind
        self.limit -= self.n
        self.n = 0
        self.base += batch_rows
        return flows, rows, kinds
