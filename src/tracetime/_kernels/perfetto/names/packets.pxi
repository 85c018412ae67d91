# What the rows of the events table are: names, categories, types, tracks, threads, arguments.
#
# An importer hands over each packet with the rows it made. What packets refer to is in interning.pxi
# and directory.pxi, what rows are in batch.pxi.

cdef class Names(PacketObserver):
    """What each row of the events table is, apart from its times.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number. limit:
    bytes of interned data that are kept; sequences not used for longest lose theirs first, which
    is counted in `left_out`.
    """

    cdef InternedData interned
    cdef Batch batch
    cdef NameTables tables

    def __cinit__(self, Directory directory not None, ftrace, int64_t limit):
        seed = int.from_bytes(os.urandom(8), "little")
        self.interned = InternedData(seed, limit)
        self.batch = Batch(seed)
        self.tables = NameTables(directory, ftrace, self.interned, self.batch)

    @property
    def left_out(self):
        """How often interned data was not kept, or lost."""
        return self.interned.left_out

    def take(self, int64_t n):
        """What n rows are, as arrays by column name; see `Batch.take`."""
        return self.batch.take(n)

    # long: a branch for each kind of packet
    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Keep what the packet defines, and say what its rows are; whether the batch is full."""
        cdef const TracePacket *m = p.message
        cdef Place *place = self.interned.place(p.sequence)
        cdef Span defaults, descriptor = m.thread_descriptor
        cdef ThreadDescriptor thread
        cdef RowDetails w
        cdef uint32_t field = p.inner_field
        cdef bint has_cpu
        cdef int64_t i
        if is_set(m.track_descriptor):
            descriptor = load_bytes(m.track_descriptor, TRACK_DESCRIPTOR_THREAD)
        if p.has_sequence_id:
            if p.cleared:
                place.has_track = False
                if place.interned != NULL:
                    self.interned.drop(place.interned)
            if is_set(m.interned_data) and p.valid:
                self.interned.intern(place, p.sequence, m.interned_data)
            if is_set(m.trace_packet_defaults):
                defaults = load_bytes(m.trace_packet_defaults, DEFAULTS_TRACK_EVENT_DEFAULTS)
                place.track = load_number(
                    defaults, TRACK_EVENT_DEFAULTS_TRACK_UUID, &place.has_track
                )
            if is_set(descriptor) and p.valid:
                read_thread_descriptor(descriptor, &thread)
                if thread.has_tid:
                    place.pid = thread.pid
                    place.tid = thread.tid
                    place.has_thread = thread.has_pid
        if rows.n <= first:
            return False
        self.batch.fill(first)
        w = bare()
        w.args = w.args_end = self.batch.args.n
        if field == PACKET_TRACK_EVENT:
            name_track_event(self.tables, p, place, p.inner, &w)
        elif field == PACKET_FTRACE_EVENTS:
            return name_bundle(self.tables, p, p.inner, rows, first, &w)
        elif field == PACKET_ANDROID_LOG:
            return name_items(
                self.tables, p, p.inner, rows, first, &w, KIND_ANDROID_LOG, LOG_PACKET_EVENTS
            )
        elif field == PACKET_ETW_EVENTS:
            w.cpu = <int32_t>load_number(p.inner, ETW_CPU, &has_cpu)
            if has_cpu:
                w.has |= HAS_CPU
            return name_items(
                self.tables, p, p.inner, rows, first, &w, KIND_ETW_EVENT, ETW_EVENT
            )
        elif field == PACKET_STREAMING_PROFILE_PACKET and place.has_thread:
            self.tables.set_thread(p.machine, True, place.pid, place.tid, &w)
        elif is_set(m.profile_packet):
            return name_items(
                self.tables, p, m.profile_packet, rows, first, &w, KIND_HEAP_DUMP,
                PROFILE_PROCESS_DUMPS,
            )
        elif is_set(m.process_tree):
            return name_items(
                self.tables, p, m.process_tree, rows, first, &w, KIND_PROCESS_START, TREE_PROCESSES
            )
        elif is_set(m.perf_sample):
            name_item(self.tables, p, m.perf_sample, -1, &w)
        for i in range(first, rows.n):
            self.batch.put(&w)
        return self.batch.is_full()


cdef int name_bundle(
    NameTables tables, const ImportedPacket *p, Span bundle, Rows rows, int64_t first,
    RowDetails *packet
) except -1 nogil:
    """FtraceEventBundle: events of one CPU, and the columns of compact_sched."""
    cdef Span rest = bundle
    cdef Field f
    cdef FtraceEventBundle said
    cdef FtraceEventBundleCompactSched sched
    cdef Span event = nothing()
    cdef RowDetails w
    cdef int64_t i, item = -1
    cdef int kind
    read_ftrace_event_bundle(bundle, &said)
    read_ftrace_event_bundle_compact_sched(said.compact_sched, &sched)
    packet.cpu = <int32_t>said.cpu
    if said.has_cpu:
        packet.has |= HAS_CPU
    for i in range(first, rows.n):
        kind = rows.kind[i]
        w = packet[0]
        if kind == KIND_SCHED_SWITCH:
            name_sched(tables, p, &sched.switch_next_pid, FTRACE_EVENT_SCHED_SWITCH, &w)
        elif kind == KIND_SCHED_WAKING:
            name_sched(tables, p, &sched.waking_pid, FTRACE_EVENT_SCHED_WAKING, &w)
        elif kind == KIND_FTRACE_EVENT or kind == KIND_GPU_WORK_PERIOD:
            while item < <int64_t>rows.item[i] and next_field(&rest, &f):
                if f.number == BUNDLE_EVENT and f.wire == BYTES:
                    item += 1
                    event = span_of(&f)
            if item == <int64_t>rows.item[i]:
                name_ftrace_event(tables, p, event, &w)
        tables.batch.put(&w)
    return tables.batch.is_full()


cdef int name_sched(
    NameTables tables, const ImportedPacket *p, Span *threads, uint32_t event, RowDetails *w
) except -1 nogil:
    """The next entry of compact_sched: the thread switched to, or woken."""
    cdef uint64_t tid
    tables.set_event(event, w)
    if threads.data >= threads.end:
        return 0
    threads.data = read_varint(threads.data, threads.end, &tid)
    if threads.data == NULL:
        threads[0] = nothing()
        return 0
    return tables.set_tid(p.machine, <int32_t>tid, w)


cdef int name_ftrace_event(
    NameTables tables, const ImportedPacket *p, Span event, RowDetails *w
) except -1 nogil:
    cdef FtraceEvent said = read_ftrace_event(event)
    cdef Span name = nothing()
    if said.has_pid:
        tables.set_tid(p.machine, said.pid, w)
    if said.kind == FTRACE_EVENT_GENERIC:
        name = load_bytes(said.message, GENERIC_EVENT_NAME)
    if is_set(name):
        w.codes[TEXT_NAME] = tables.batch.code_foreign(TEXT_NAME, name)
        return 0
    return tables.set_event(said.kind, w)


# wide: the rows of a packet, and which field they are of
cdef int name_items(
    NameTables tables, const ImportedPacket *p, Span message, Rows rows, int64_t first,
    RowDetails *packet, int kind, uint32_t number
) except -1 nogil:
    """Name rows of the fields with one number in a message, in order."""
    cdef Span rest = message
    cdef Field f
    cdef Span item = nothing()
    cdef RowDetails w
    cdef bint twice
    cdef int64_t i, here = -1, next = 0
    for i in range(first, rows.n):
        w = packet[0]
        if rows.kind[i] == kind:
            while next <= <int64_t>rows.item[i] and next_field(&rest, &f):
                if f.number == number and f.wire == BYTES:
                    item = span_of(&f)
                    here = next
                    next += 1
                    if kind == KIND_HEAP_DUMP:
                        # A dump with a start time has two rows.
                        load_number(item, HEAP_SAMPLES_START_TIMESTAMP, &twice)
                        next += twice
            if here <= <int64_t>rows.item[i] < next:
                name_item(tables, p, item, kind, &w)
        tables.batch.put(&w)
    return tables.batch.is_full()


cdef int name_item(
    NameTables tables, const ImportedPacket *p, Span item, int kind, RowDetails *w
) except -1 nogil:
    """Name one of them; a PerfSample where there is no kind."""
    cdef AndroidLogPacketLogEvent line
    cdef EtwTraceEvent event
    cdef PerfSample sample
    cdef bint has_pid
    cdef int32_t pid
    if kind == KIND_ANDROID_LOG:
        read_android_log_packet_log_event(item, &line)
        if is_set(line.tag):
            w.codes[TEXT_NAME] = tables.batch.code_foreign(TEXT_NAME, line.tag)
        if line.has_pid:
            tables.set_thread(p.machine, line.has_tid, line.pid, line.tid, w)
    elif kind == KIND_HEAP_DUMP or kind == KIND_PROCESS_START:
        pid = <int32_t>load_number(
            item, HEAP_SAMPLES_PID if kind == KIND_HEAP_DUMP else TREE_PROCESS_PID, &has_pid
        )
        if has_pid:
            tables.set_thread(p.machine, False, pid, 0, w)
    elif kind == KIND_ETW_EVENT:
        read_etw_trace_event(item, &event)
        if event.has_thread_id:
            tables.set_tid(p.machine, event.thread_id, w)
        if event.has_cpu:
            # Its own, rather than the bundle's.
            w.cpu = <int32_t>event.cpu
            w.has |= HAS_CPU
    else:
        read_perf_sample(item, &sample)
        w.cpu = <int32_t>sample.cpu
        if sample.has_cpu:
            w.has |= HAS_CPU
        if sample.has_pid:
            tables.set_thread(
                p.machine, sample.has_tid, <int32_t>sample.pid, <int32_t>sample.tid, w
            )
    return 0
