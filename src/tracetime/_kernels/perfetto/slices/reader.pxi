# Adds the packets of a trace to the log of slices.

cdef class SliceReader(PacketObserver):
    """Adds each packet that an importer reads to a log."""

    cdef readonly SliceLog log

    def __cinit__(self, SliceLog log not None):
        self.log = log

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef const TracePacket *m = p.message
        cdef TrackDescriptor track
        cdef ThreadDescriptor thread
        if is_set(m.service_event):
            note_start(self.log, p.machine, m.service_event, rows, first)
        if is_set(m.trace_config):
            note_config(self.log, p.machine, m.trace_config)
        if p.has_sequence_id:
            self.follow(p)
        if is_set(m.track_event):
            log_track_event(self.log, p, m.track_event, rows, first)
        elif is_set(m.ftrace_events):
            log_bundle(self.log, p, m.ftrace_events, rows, first)
        elif is_set(m.track_descriptor):
            if p.placed:
                read_track_descriptor(m.track_descriptor, &track)
                read_thread_descriptor(track.thread, &thread)
                self.log.tree.reserve(p.machine, &track)
                if p.valid and thread.has_pid and thread.has_tid:
                    self.set_thread(p, &thread, is_sandboxed(&track))
                log_message(self.log, p, ENTRY_TRACK_DESCRIPTOR, m.track_descriptor)
        elif is_set(m.thread_descriptor):
            if p.placed and p.valid and p.has_sequence_id:
                read_thread_descriptor(m.thread_descriptor, &thread)
                self.set_thread(p, &thread, False)
                log_message(self.log, p, ENTRY_THREAD_DESCRIPTOR, m.thread_descriptor)
        elif is_set(m.process_descriptor):
            log_message(self.log, p, ENTRY_PROCESS_DESCRIPTOR, m.process_descriptor)
        elif is_set(m.process_tree):
            log_message(self.log, p, ENTRY_PROCESS_TREE, m.process_tree)
        elif m.data == PACKET_FRAME_TIMELINE_EVENT and p.placed:
            log_message(self.log, p, ENTRY_FRAME, m.payload)
            if rows.n > first and self.log.n:
                self.log.entries[self.log.n - 1].row = self.log.base + first
        return False

    cdef int follow(self, const ImportedPacket *p) except -1 nogil:
        """Note what a packet says of the events of its sequence that follow."""
        cdef const TracePacket *m = p.message
        cdef Place *place = self.log.interned.place(p.sequence)
        cdef SequenceState *state = self.log.sequence(p.sequence)
        if p.cleared:
            place.has_track = False
            state.defaults.n = state.known_counters = 0
            state.has_reference = False
            self.keep_thread(p.sequence)
            if place.interned != NULL:
                self.log.interned.drop(place.interned)
        if is_set(m.interned_data) and p.valid:
            self.log.interned.intern(place, p.sequence, m.interned_data)
        if is_set(m.trace_packet_defaults):
            self.set_defaults(place, state, m.trace_packet_defaults)
        return 0

    cdef int set_defaults(
        self, Place *place, SequenceState *state, Span defaults
    ) except -1 nogil:
        """TrackEventDefaults; of extra counters the message itself is kept."""
        defaults = load_bytes(defaults, DEFAULTS_TRACK_EVENT_DEFAULTS)
        place.track = load_number(defaults, TRACK_EVENT_DEFAULTS_TRACK_UUID, &place.has_track)
        state.defaults.n = state.known_counters = 0
        return put_bytes(&state.defaults, defaults.data, defaults.end - defaults.data)

    cdef int set_thread(
        self, const ImportedPacket *p, const ThreadDescriptor *thread, bint sandboxed
    ) except -1 nogil:
        """TokenizeThreadDescriptor: the thread that events of this sequence are of."""
        cdef SequenceThread *made
        if not p.has_sequence_id:
            return 0
        self.log.sequence(p.sequence).has_reference = True
        made = &self.log.threads[self.log.thread_of(p.sequence)]
        made.pid = thread.pid
        made.tid = synthetic_tid(thread.tid, thread.pid) if sandboxed else thread.tid
        made.is_known = True
        return 0

    cdef int keep_thread(self, uint32_t sequence) except -1 nogil:
        """Keep the thread of a sequence whose state was cleared, apart from the one before."""
        cdef SequenceState *state = self.log.sequence(sequence)
        cdef int32_t before = state.thread, now
        if before != NONE:
            state.thread = NONE
            now = self.log.thread_of(sequence)
            self.log.threads[now] = self.log.threads[before]
        return 0


cdef int note_start(
    SliceLog log, uint32_t machine, Span event, Rows rows, int64_t first
) except -1 nogil:
    """Note when tracing started: earlier ftrace events are not part of this trace."""
    cdef bint found
    if load_number(event, SERVICE_TRACING_STARTED, &found) and rows.n > first:
        log.ftrace_of(machine).started_ns = rows.trace_time[first]
    return 0


cdef int note_config(SliceLog log, uint32_t machine, Span config) except -1 nogil:
    """Note whether the configuration keeps ftrace events from before the start."""
    cdef Span rest = config
    cdef Field f
    cdef Span ftrace
    cdef bint found
    while next_field(&rest, &f):
        if f.number == TRACE_CONFIG_DATA_SOURCES and f.wire == BYTES:
            ftrace = load_bytes(
                load_bytes(span_of(&f), DATA_SOURCE_CONFIG), DATA_SOURCE_CONFIG_FTRACE_CONFIG
            )
            if load_number(ftrace, FTRACE_CONFIG_PRESERVE_FTRACE_BUFFER, &found):
                log.ftrace_of(machine).keeps = True
    return 0


cdef int log_message(SliceLog log, const ImportedPacket *p, int kind, Span message) except -1 nogil:
    """Keep a message, to be read in order of time."""
    cdef Entry *e
    if not p.placed:
        return 0
    e = log.add(kind, p.trace_time, p.machine, log.queue(p.machine, 0, 0))
    if e != NULL:
        e.payload = log.payloads.n
        e.payload_size = <int>(message.end - message.data)
        put_bytes(&log.payloads, message.data, message.end - message.data)
    return 0
