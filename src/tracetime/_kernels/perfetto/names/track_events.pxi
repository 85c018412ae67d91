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


cdef int name_track_event(
    NameTables tables, const ImportedPacket *p, Place *place, Span message, RowDetails *w
) except -1 nogil:
    """A TrackEvent: Import and ParseTrackEventName."""
    # What was interned before packets were lost is not what is meant now.
    cdef Interning *t = place.interned if p.valid else NULL
    cdef TrackEvent event
    cdef TrackEventLegacyEvent legacy
    cdef Interned *found
    cdef uint64_t name_iid
    read_track_event(message, &event)
    read_track_event_legacy_event(event.legacy_event, &legacy)
    if t != NULL:
        tables.interned.touch(t)
    w.type = type_of(<uint32_t>event.type)
    if legacy.has_phase and w.type != TYPE_COUNTER and w.type != TYPE_STATE:
        w.type = type_of_phase(legacy.phase)
    if w.type == TYPE_COUNTER and event.has_counter_value:
        w.value = <double>event.counter_value
        w.has |= HAS_VALUE
    elif w.type == TYPE_COUNTER and event.has_double_counter_value:
        w.value = event.double_counter_value
        w.has |= HAS_VALUE
    name_iid = event.name_iid or legacy.name_iid
    if name_iid:
        found = tables.interned.look(t, TABLE_NAMES, name_iid)
        if found != NULL:
            w.codes[TEXT_NAME] = tables.batch.code_text(TEXT_NAME, &found.text)
    elif is_set(event.name):
        w.codes[TEXT_NAME] = tables.batch.code_foreign(TEXT_NAME, event.name)
    if event.n_category_iids == 1 and not event.packed_category_iids and event.n_categories == 0:
        found = tables.interned.look(t, TABLE_CATEGORIES, event.category_iids)
        if found != NULL:
            w.codes[TEXT_CATEGORY] = tables.batch.code_text(TEXT_CATEGORY, &found.text)
    elif event.n_category_iids or event.n_categories:
        set_category(tables, t, message, w)
    set_track(tables, p, place, &event, &legacy, w)
    if is_set(event.debug_annotations):
        put_args(&tables.batch.args, tables.interned, t, message, w)
    return 0


cdef int set_track(
    NameTables tables, const ImportedPacket *p, Place *place, const TrackEvent *event,
    const TrackEventLegacyEvent *legacy, RowDetails *w
) except -1 nogil:
    """ParseInitialTrackAssociation: the track of an event, or its thread."""
    cdef int32_t index
    cdef Known *track
    w.track = event.track_uuid
    if not event.has_track_uuid and place.has_track:
        w.track = place.track
    if event.has_track_uuid or place.has_track:
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
    elif legacy.has_pid_override:
        tables.set_thread(
            p.machine, legacy.has_tid_override, legacy.pid_override, legacy.tid_override, w
        )
    elif place.has_thread and (
        legacy.has_tid_override or not event.has_track_uuid or not event.has_type
    ):
        tables.set_thread(
            p.machine, True, place.pid,
            legacy.tid_override if legacy.has_tid_override else place.tid, w,
        )
    return 0


cdef int set_category(
    NameTables tables, Interning *t, Span event, RowDetails *w
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
