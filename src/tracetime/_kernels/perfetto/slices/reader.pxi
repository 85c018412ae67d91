# Adds the packets of a trace to the log of slices.

cdef class SliceReader(PacketObserver):
    """Adds each packet that an importer reads to a log."""

    cdef readonly SliceLog log

    def __cinit__(self, SliceLog log not None):
        self.log = log

    # long: one pass over the fields, then a branch for each kind of packet
    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        cdef Span rest = p.whole
        cdef Place *place
        cdef SequenceState *state
        cdef Field f
        cdef Span event = nothing(), interned = nothing(), defaults = nothing()
        cdef Span thread = nothing(), track = nothing(), process = nothing(), tree = nothing()
        cdef Span bundle = nothing(), frame = nothing()
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            if f.number == PACKET_TRACK_EVENT:
                event = span_of(&f)
            elif f.number == PACKET_INTERNED_DATA:
                interned = span_of(&f)
            elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
                defaults = span_of(&f)
            elif f.number == PACKET_THREAD_DESCRIPTOR:
                thread = span_of(&f)
            elif f.number == PACKET_TRACK_DESCRIPTOR:
                track = span_of(&f)
            elif f.number == PACKET_PROCESS_DESCRIPTOR:
                process = span_of(&f)
            elif f.number == PACKET_PROCESS_TREE:
                tree = span_of(&f)
            elif f.number == PACKET_FTRACE_EVENTS:
                bundle = span_of(&f)
            elif f.number == PACKET_FRAME_TIMELINE_EVENT:
                frame = span_of(&f)
            elif f.number == PACKET_SERVICE_EVENT:
                note_start(self.log, p.machine, span_of(&f), rows, first)
            elif f.number == PACKET_TRACE_CONFIG:
                note_config(self.log, p.machine, span_of(&f))
        if p.has_sequence_id:
            place = self.log.interned.place(p.sequence)
            state = self.log.sequence(p.sequence)
            if p.cleared:
                place.has_track = False
                state.defaults.n = state.known_counters = 0
                state.has_reference = False
                self.keep_thread(p.sequence)
                if place.interned != NULL:
                    self.log.interned.drop(place.interned)
            if is_set(interned) and p.valid:
                self.log.interned.intern(place, p.sequence, interned)
            if is_set(defaults):
                self.set_defaults(place, state, defaults)
        if is_set(event):
            log_track_event(self.log, p, event, rows, first)
            return False
        if is_set(bundle):
            log_bundle(self.log, p, bundle, rows, first)
            return False
        if is_set(track):
            if p.placed:
                self.log.tree.reserve(p.machine, track)
                if p.valid and is_set(load_bytes(track, TRACK_DESCRIPTOR_THREAD)):
                    self.set_thread(p, track, load_bytes(track, TRACK_DESCRIPTOR_THREAD))
                log_message(self.log, p, ENTRY_TRACK_DESCRIPTOR, track)
        elif is_set(thread):
            if p.placed and p.valid and p.has_sequence_id:
                self.set_thread(p, nothing(), thread)
                log_message(self.log, p, ENTRY_THREAD_DESCRIPTOR, thread)
        elif is_set(process):
            log_message(self.log, p, ENTRY_PROCESS_DESCRIPTOR, process)
        elif is_set(tree):
            log_message(self.log, p, ENTRY_PROCESS_TREE, tree)
        elif is_set(frame) and p.placed:
            log_message(self.log, p, ENTRY_FRAME, frame)
            if rows.n > first and self.log.n:
                self.log.entries[self.log.n - 1].row = self.log.base + first
        return False

    cdef int set_defaults(
        self, Place *place, SequenceState *state, Span defaults
    ) except -1 nogil:
        """TrackEventDefaults; of extra counters the message itself is kept."""
        defaults = load_bytes(defaults, DEFAULTS_TRACK_EVENT_DEFAULTS)
        place.track = load_number(defaults, TRACK_EVENT_DEFAULTS_TRACK_UUID, &place.has_track)
        state.defaults.n = state.known_counters = 0
        return put_bytes(&state.defaults, defaults.data, defaults.end - defaults.data)

    cdef int set_thread(self, const ImportedPacket *p, Span track, Span thread) except -1 nogil:
        """TokenizeThreadDescriptor: the thread that events of this sequence are of."""
        cdef SequenceState *state
        cdef SequenceThread *made
        cdef int32_t at
        cdef Span chrome
        cdef bint has_pid, has_tid, found
        cdef int64_t pid = <int64_t>load_number(thread, THREAD_PID, &has_pid)
        cdef int64_t tid = <int64_t>load_number(thread, THREAD_TID, &has_tid)
        if not p.has_sequence_id or is_set(track) and not (has_pid and has_tid):
            return 0
        pid = <int>pid
        if is_set(track):
            chrome = load_bytes(track, TRACK_DESCRIPTOR_CHROME_THREAD)
            if load_number(chrome, CHROME_THREAD_IS_SANDBOXED_TID, &found):
                tid = synthetic_tid(tid, pid)
        state = self.log.sequence(p.sequence)
        state.has_reference = True
        at = self.log.thread_of(p.sequence)
        made = &self.log.threads[at]
        made.pid = <int>pid
        made.tid = tid
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
