# What a track event is: type, name, category, track, thread, value and arguments.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h.

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


# long: one pass over the fields, then what follows from them together
cdef int name_track_event(
    NameTables tables, const ImportedPacket *p, Place *place, Span event, RowDetails *w
) except -1 nogil:
    """A TrackEvent: Import, ParseTrackEventName and ParseInitialTrackAssociation."""
    cdef Span rest = event
    # RowDetails was interned before packets were lost is not what is meant now.
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
        tables.interned.touch(t)
    while next_field(&rest, &f):
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
        found = tables.interned.look(t, TABLE_NAMES, name_iid)
        if found != NULL:
            w.codes[TEXT_NAME] = tables.batch.code_text(TEXT_NAME, &found.text)
    elif is_set(name):
        w.codes[TEXT_NAME] = tables.batch.code_foreign(TEXT_NAME, name)
    if categories == 1 and single:
        found = tables.interned.look(t, TABLE_CATEGORIES, category)
        if found != NULL:
            w.codes[TEXT_CATEGORY] = tables.batch.code_text(TEXT_CATEGORY, &found.text)
    elif categories:
        set_category(tables, t, event, categories, w)

    if not has_track and place.has_track:
        w.track = place.track
    if has_track or place.has_track:
        w.has |= HAS_TRACK
    if w.track:
        index = tables.directory.find(p.machine, TRACK, 0, w.track)
        if index >= 0:
            track = &tables.directory.known[index]
            tables.set_known(TEXT_TRACK_NAME, index, w)
            if track.has_pid:
                w.pid = track.pid
                w.has |= HAS_PID
                tables.set_known(TEXT_PROCESS_NAME, track.process, w)
            if track.has_tid:
                w.tid = track.tid
                w.has |= HAS_TID
                tables.set_known(TEXT_THREAD_NAME, track.thread, w)
    elif has_pid:
        tables.set_thread(p.machine, has_tid, <int32_t>pid, <int32_t>tid, w)
    elif place.has_thread and (has_tid or not has_track or not has_type):
        tables.set_thread(p.machine, True, place.pid, <int32_t>tid if has_tid else place.tid, w)
    if has_args:
        put_args(&tables.batch.args, tables.interned, t, event, w)
    return 0


cdef int set_category(
    NameTables tables, Interning *t, Span event, int64_t n, RowDetails *w
) except -1 nogil:
    """Several categories, the interned ones first, with commas between them."""
    cdef Span rest
    cdef Field f
    cdef Span packed
    cdef uint64_t iid
    cdef Interned *found
    cdef Bytes *out = &tables.batch.scratch
    cdef int64_t kept = 0
    cdef bint interned
    cdef int i
    out.n = 0
    for i in range(2):
        interned = i == 0
        rest = event
        while out.n <= LONGEST_NAME and next_field(&rest, &f):
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
                    found = tables.interned.look(t, TABLE_CATEGORIES, iid)
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
        w.codes[TEXT_CATEGORY] = tables.batch.code(TEXT_CATEGORY, out.data, out.n)
    return 0
