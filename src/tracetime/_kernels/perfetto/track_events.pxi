# What the rows of one packet are. Track events follow Perfetto's
# src/trace_processor/importers/proto/track_event_event_importer.h.


cdef inline int8_t type_of(uint64_t type) noexcept nogil:
    """TrackEvent.Type."""
    return <int8_t>(type - 1) if 1 <= type <= 5 else TYPE_NONE


cdef int8_t type_of_phase(int32_t phase) noexcept nogil:
    """A phase of the legacy format, a letter."""
    if phase == c"B":
        return TYPE_SLICE_BEGIN
    if phase == c"E":
        return TYPE_SLICE_END
    if phase == c"X":
        return TYPE_SLICE_COMPLETE
    if phase == c"i" or phase == c"I":
        return TYPE_INSTANT
    if phase == c"C":
        return TYPE_COUNTER
    if phase == c"b" or phase == c"S":
        return TYPE_ASYNC_BEGIN
    if phase == c"e" or phase == c"F":
        return TYPE_ASYNC_END
    if phase == c"n":
        return TYPE_ASYNC_INSTANT
    if phase == c"T" or phase == c"p":
        return TYPE_ASYNC_STEP
    if phase == c"s":
        return TYPE_FLOW_BEGIN
    if phase == c"t":
        return TYPE_FLOW_STEP
    if phase == c"f":
        return TYPE_FLOW_END
    if phase == c"P":
        return TYPE_SAMPLE
    if phase == c"M":
        return TYPE_METADATA
    if phase == c"N":
        return TYPE_OBJECT_CREATED
    if phase == c"O":
        return TYPE_OBJECT_SNAPSHOT
    if phase == c"D":
        return TYPE_OBJECT_DELETED
    if phase == c"v" or phase == c"V":
        return TYPE_MEMORY_DUMP
    if phase == c"R":
        return TYPE_MARK
    if phase == c"c":
        return TYPE_CLOCK_SYNC
    if phase == c"(":
        return TYPE_CONTEXT_BEGIN
    if phase == c")":
        return TYPE_CONTEXT_END
    return TYPE_UNKNOWN


cdef int name_track_event(
    Names self, const Heard *p, Place *place, Span event, What *w
) except -1 nogil:
    """A TrackEvent: Import, ParseTrackEventName and ParseInitialTrackAssociation."""
    cdef const uint8_t *at = event.data
    # What was interned before packets were lost is not what is meant now.
    cdef Interning *t = place.interned if p.valid else NULL
    cdef Field f
    cdef Interned *found
    cdef Span name = nothing(), legacy = nothing()
    cdef uint64_t type = 0, name_iid = 0, category = 0
    cdef int64_t categories = 0, phase = 0, pid = 0, tid = 0
    cdef bint has_type = False, has_track = False, has_phase = False, has_value = False
    cdef bint single = True, has_args = False
    cdef bint has_pid = False, has_tid = False
    cdef int32_t index
    cdef Known *track
    if t != NULL:
        self.touch(t)
    while at < event.end:
        at = read_field(at, event.end, &f)
        if at == NULL:
            break
        if f.number == TRACK_EVENT_CATEGORY_IIDS:
            if f.wire == BYTES:
                single = False
            category = f.value
            categories += 1
        elif f.number == TRACK_EVENT_CATEGORIES:
            single = False
            categories += 1
        elif f.number == TRACK_EVENT_NAME_IID and is_number(&f):
            name_iid = f.value
        elif f.number == TRACK_EVENT_TYPE and is_number(&f):
            type = <uint32_t>f.value
            has_type = True
        elif f.number == TRACK_EVENT_TRACK_UUID and is_number(&f):
            w.track = f.value
            has_track = True
        elif f.number == TRACK_EVENT_COUNTER_VALUE and is_number(&f):
            w.value = <double><int64_t>f.value
            has_value = True
        elif f.number == TRACK_EVENT_DOUBLE_COUNTER_VALUE and f.wire == FIXED64:
            memcpy(&w.value, &f.value, 8)
            has_value = True
        elif f.wire != BYTES:
            continue
        elif f.number == TRACK_EVENT_DEBUG_ANNOTATIONS:
            has_args = True
        elif f.number == TRACK_EVENT_NAME:
            name = span_of(&f)
        elif f.number == TRACK_EVENT_LEGACY_EVENT:
            legacy = span_of(&f)
    w.type = type_of(type)
    if is_set(legacy):
        phase = <int64_t>load_number(legacy, LEGACY_EVENT_PHASE, &has_phase)
        if has_phase and w.type != TYPE_COUNTER and w.type != TYPE_STATE:
            w.type = type_of_phase(<int32_t>phase)
        if name_iid == 0:
            name_iid = load_number(legacy, LEGACY_EVENT_NAME_IID, &has_pid)
        pid = <int64_t>load_number(legacy, LEGACY_EVENT_PID_OVERRIDE, &has_pid)
        tid = <int64_t>load_number(legacy, LEGACY_EVENT_TID_OVERRIDE, &has_tid)
    if w.type == TYPE_COUNTER and has_value:
        w.has |= HAS_VALUE

    if name_iid:
        found = self.look(t, TABLE_NAMES, name_iid)
        if found != NULL:
            w.codes[TEXT_NAME] = self.code_text(TEXT_NAME, &found.text)
    elif is_set(name):
        w.codes[TEXT_NAME] = self.code_foreign(TEXT_NAME, name)
    if categories == 1 and single:
        found = self.look(t, TABLE_CATEGORIES, category)
        if found != NULL:
            w.codes[TEXT_CATEGORY] = self.code_text(TEXT_CATEGORY, &found.text)
    elif categories:
        set_category(self, t, event, categories, w)

    if not has_track and place.has_track:
        w.track = place.track
    if has_track or place.has_track:
        w.has |= HAS_TRACK
    if w.track:
        index = self.directory.find(p.machine, TRACK, 0, w.track)
        if index >= 0:
            track = &self.directory.known[index]
            set_known(self, TEXT_TRACK_NAME, index, w)
            if track.has_pid:
                w.pid = track.pid
                w.has |= HAS_PID
                set_known(self, TEXT_PROCESS_NAME, track.process, w)
            if track.has_tid:
                w.tid = track.tid
                w.has |= HAS_TID
                set_known(self, TEXT_THREAD_NAME, track.thread, w)
    elif has_pid:
        set_thread(self, p.machine, has_tid, <int32_t>pid, <int32_t>tid, w)
    elif place.has_thread and (has_tid or not has_track or not has_type):
        set_thread(self, 
            p.machine, True, place.pid, <int32_t>tid if has_tid else place.tid, w
        )
    if has_args:
        put_args(self, t, event, w)
    return 0


cdef int set_category(Names self, Interning *t, Span event, int64_t n, What *w) except -1 nogil:
    """Several categories, the interned ones first, with commas between them."""
    cdef const uint8_t *at
    cdef Field f
    cdef Span packed
    cdef uint64_t iid
    cdef Interned *found
    cdef Bytes *out = &self.scratch
    cdef int64_t kept = 0
    cdef bint interned
    cdef int i
    out.n = 0
    for i in range(2):
        interned = i == 0
        at = event.data
        while at < event.end and out.n <= LONGEST_NAME:
            at = read_field(at, event.end, &f)
            if at == NULL:
                break
            if interned and f.number == TRACK_EVENT_CATEGORY_IIDS:
                if f.wire == BYTES:
                    packed = span_of(&f)
                else:
                    packed = nothing()
                    iid = f.value
                while True:
                    if is_set(packed):
                        if packed.data >= packed.end or out.n > LONGEST_NAME:
                            break
                        packed.data = read_varint(packed.data, packed.end, &iid)
                        if packed.data == NULL:
                            break
                    found = self.look(t, TABLE_CATEGORIES, iid)
                    if found != NULL:
                        if kept:
                            put_byte(out, c",")
                        put_bytes(out, found.text.data, found.text.size)
                        kept += 1
                    if not is_set(packed):
                        break
            elif not interned and f.number == TRACK_EVENT_CATEGORIES and f.wire == BYTES:
                if kept:
                    put_byte(out, c",")
                put_text(out, f.data, <int64_t>f.value, LONGEST_NAME)
                kept += 1
    if kept:
        w.codes[TEXT_CATEGORY] = self.code(TEXT_CATEGORY, out.data, out.n)
    return 0


cdef int set_known(Names self, int column, int32_t index, What *w) except -1 nogil:
    if index >= 0:
        w.codes[column] = self.code_text(column, &self.texts[index])
    return 0


cdef int set_thread(
    Names self, uint32_t machine, bint has_tid, int32_t pid, int64_t tid, What *w
) except -1 nogil:
    """A process, and the thread of it where there is one."""
    w.pid = pid
    w.has |= HAS_PID
    set_known(self, TEXT_PROCESS_NAME, self.directory.process_of(machine, pid), w)
    if has_tid:
        w.tid = tid
        w.has |= HAS_TID
        set_known(self, TEXT_THREAD_NAME, self.directory.thread_of(machine, True, pid, tid), w)
    return 0


cdef int set_tid(Names self, uint32_t machine, int64_t tid, What *w) except -1 nogil:
    """A thread by its tid alone, with its process where that is known."""
    cdef int32_t index = self.directory.find(machine, THREAD, 0, <uint64_t>tid)
    cdef int32_t process
    w.tid = tid
    w.has |= HAS_TID
    set_known(self, TEXT_THREAD_NAME, index, w)
    if index >= 0 and self.directory.known[index].has_pid:
        w.pid = self.directory.known[index].pid
        w.has |= HAS_PID
        process = self.directory.process_of(machine, w.pid)
    else:
        # A process is known by the dumps, its main thread may not be: it has the same number.
        process = self.directory.process_of(machine, <int32_t>tid)
        if process >= 0:
            w.pid = <int32_t>tid
            w.has |= HAS_PID
    return set_known(self, TEXT_PROCESS_NAME, process, w)


cdef int name_bundle(
    Names self, const Heard *p, Span bundle, Rows rows, int64_t first, What *packet
) except -1 nogil:
    """FtraceEventBundle: events of one CPU, and the columns of compact_sched."""
    cdef const uint8_t *at = bundle.data
    cdef Field f
    cdef Span sched = load_bytes(bundle, BUNDLE_COMPACT_SCHED)
    cdef Span event = nothing()
    cdef Span switched = load_bytes(sched, SCHED_SWITCH_NEXT_PID)
    cdef Span woken = load_bytes(sched, SCHED_WAKING_PID)
    cdef What w
    cdef bint has_cpu
    cdef int64_t i, item = -1
    cdef int kind
    packet.cpu = <int32_t>load_number(bundle, BUNDLE_CPU, &has_cpu)
    if has_cpu:
        packet.has |= HAS_CPU
    for i in range(first, rows.n):
        kind = rows.kind[i]
        w = packet[0]
        if kind == KIND_SCHED_SWITCH:
            name_sched(self, p, &switched, FTRACE_EVENT_SCHED_SWITCH, &w)
        elif kind == KIND_SCHED_WAKING:
            name_sched(self, p, &woken, FTRACE_EVENT_SCHED_WAKING, &w)
        elif kind == KIND_FTRACE_EVENT or kind == KIND_GPU_WORK_PERIOD:
            while item < <int64_t>rows.item[i] and at < bundle.end:
                at = read_field(at, bundle.end, &f)
                if at == NULL:
                    at = bundle.end
                    event = nothing()
                elif f.number == BUNDLE_EVENT and f.wire == BYTES:
                    item += 1
                    event = span_of(&f)
            if item == <int64_t>rows.item[i]:
                name_ftrace_event(self, p, event, &w)
        self.put(&w)
    return self.written >= BATCH_TEXT


cdef int name_sched(
    Names self, const Heard *p, Span *threads, uint32_t event, What *w
) except -1 nogil:
    """The next entry of compact_sched: the thread switched to, or woken."""
    cdef uint64_t tid
    set_event(self, event, w)
    if threads.data >= threads.end:
        return 0
    threads.data = read_varint(threads.data, threads.end, &tid)
    if threads.data == NULL:
        threads[0] = nothing()
        return 0
    return set_tid(self, p.machine, <int32_t>tid, w)


cdef int set_event(Names self, uint32_t number, What *w) except -1 nogil:
    """An ftrace event goes by the name of its field."""
    if <int64_t>number < self.n_ftrace:
        w.codes[TEXT_NAME] = self.code_text(TEXT_NAME, &self.ftrace[number].text)
    return 0


cdef int name_ftrace_event(Names self, const Heard *p, Span event, What *w) except -1 nogil:
    cdef const uint8_t *at = event.data
    cdef Field f
    cdef Span name = nothing()
    cdef uint32_t id = 0
    while at < event.end:
        at = read_field(at, event.end, &f)
        if at == NULL:
            break
        if f.wire == BYTES:
            if id == 0:
                id = f.number
                if id == FTRACE_EVENT_GENERIC:
                    name = load_bytes(span_of(&f), GENERIC_EVENT_NAME)
        elif f.number == FTRACE_EVENT_PID:
            set_tid(self, p.machine, <int32_t>f.value, w)
    if is_set(name):
        w.codes[TEXT_NAME] = self.code_foreign(TEXT_NAME, name)
        return 0
    return set_event(self, id, w)


cdef int name_items(
    Names self, const Heard *p, Span message, Rows rows, int64_t first, What *packet, int kind,
    uint32_t number
) except -1 nogil:
    """Rows that stand for the fields of one number in a message, in order."""
    cdef const uint8_t *at = message.data
    cdef Field f
    cdef Span item = nothing()
    cdef What w
    cdef bint twice
    cdef int64_t i, here = -1, next = 0
    for i in range(first, rows.n):
        w = packet[0]
        if rows.kind[i] == kind:
            while next <= <int64_t>rows.item[i] and at < message.end:
                at = read_field(at, message.end, &f)
                if at == NULL:
                    at = message.end
                elif f.number == number and f.wire == BYTES:
                    item = span_of(&f)
                    here = next
                    next += 1
                    if kind == KIND_HEAP_DUMP:
                        # A dump that says when it began is two rows.
                        load_number(item, HEAP_SAMPLES_START_TIMESTAMP, &twice)
                        next += twice
            if here <= <int64_t>rows.item[i] < next:
                name_item(self, p, item, kind, &w)
        self.put(&w)
    return self.written >= BATCH_TEXT


cdef int name_item(Names self, const Heard *p, Span item, int kind, What *w) except -1 nogil:
    """One of them; a PerfSample where there is no kind."""
    cdef bint found, has_pid
    cdef int32_t pid, cpu
    cdef int64_t tid
    cdef Span tag
    if kind == KIND_ANDROID_LOG:
        pid = <int32_t>load_number(item, LOG_EVENT_PID, &has_pid)
        tid = <int32_t>load_number(item, LOG_EVENT_TID, &found)
        tag = load_bytes(item, LOG_EVENT_TAG)
        if is_set(tag):
            w.codes[TEXT_NAME] = self.code_foreign(TEXT_NAME, tag)
        if has_pid:
            set_thread(self, p.machine, found, pid, tid, w)
    elif kind == KIND_HEAP_DUMP or kind == KIND_PROCESS_START:
        pid = <int32_t>load_number(
            item, HEAP_SAMPLES_PID if kind == KIND_HEAP_DUMP else PROCESS_PID, &has_pid
        )
        if has_pid:
            set_thread(self, p.machine, False, pid, 0, w)
    elif kind == KIND_ETW_EVENT:
        tid = <int64_t>load_number(item, ETW_EVENT_THREAD_ID, &found)
        if found:
            set_tid(self, p.machine, <uint32_t>tid, w)
        cpu = <int32_t>load_number(item, ETW_EVENT_CPU, &found)
        if found:
            # Its own, rather than the bundle's.
            w.cpu = cpu
            w.has |= HAS_CPU
    else:
        w.cpu = <int32_t>load_number(item, PERF_SAMPLE_CPU, &found)
        if found:
            w.has |= HAS_CPU
        pid = <int32_t>load_number(item, PERF_SAMPLE_PID, &has_pid)
        tid = <int32_t>load_number(item, PERF_SAMPLE_TID, &found)
        if has_pid:
            set_thread(self, p.machine, found, pid, tid, w)
    return 0
