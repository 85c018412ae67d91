# Adds track events to the log of slices; interned names and state are looked up here.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_tokenizer.cc and the first half
# of track_event_event_importer.h; the second half is in replay.pxi.

cdef enum:
    MOST_EXTRA_COUNTERS = 8         # kMaxNumExtraCounters
    TYPE_COUNTER = 4                # TrackEvent.Type
    TYPE_STATE = 5
    OTHER_PHASE = 1                 # none that has a meaning


# long: one pass over the rows, then what follows from the fields together
cdef int log_track_event(
    SliceLog log, const ImportedPacket *p, Span message, Rows rows, int64_t first
) except -1 nogil:
    """TokenizeTrackEventPacket, ParseTrackEventCategory and ParseTrackEventName."""
    cdef Place *place = log.interned.place(p.sequence)
    cdef SequenceState *state = log.sequence(p.sequence)
    # Data interned before packets were lost is not valid any more.
    cdef Interning *t = place.interned if p.valid else NULL
    cdef TrackEvent event
    cdef TrackEventLegacyEvent legacy
    cdef Interned *found
    cdef Entry *e
    cdef uint64_t name_iid
    cdef int64_t i, row = -1
    cdef bint is_legacy_time
    cdef int32_t thread
    if not p.has_sequence_id:
        return 0
    read_track_event(message, &event)
    if event.type == TYPE_COUNTER or event.type == TYPE_STATE:
        return 0
    if (event.has_thread_time_delta_us or event.has_thread_instruction_count_delta) and not (
        p.valid and state.has_reference
    ):
        return 0
    is_legacy_time = event.has_timestamp_delta_us or event.timestamp_absolute_us != 0
    for i in range(first, rows.n):
        if rows.kind[i] == (KIND_TRACK_EVENT_LEGACY if is_legacy_time else KIND_PACKET):
            if rows.status[i] <= AS_IS:
                row = i
    if row < 0 or not counters_are_known(log, p, &event, message, state):
        return 0
    thread = log.thread_of(p.sequence)
    e = log.add(
        ENTRY_TRACK_EVENT, rows.trace_time[row], p.machine, log.queue(p.machine, 1, 0)
    )
    if e == NULL:
        return 0
    e.row = log.base + row
    if t != NULL:
        log.interned.touch(t)
    name_iid = event.name_iid
    if is_set(event.legacy_event):
        read_track_event_legacy_event(event.legacy_event, &legacy)
        name_iid = name_iid or legacy.name_iid
        log_legacy(log, e, &legacy)
    if name_iid:
        found = log.interned.look(t, TABLE_NAMES, name_iid)
        if found != NULL:
            e.name = log.code_text(&found.text)
    elif is_set(event.name):
        e.name = log.strings.code_foreign(event.name)
    if event.n_category_iids == 1 and not event.packed_category_iids and event.n_categories == 0:
        found = log.interned.look(t, TABLE_CATEGORIES, event.category_iids)
        if found != NULL:
            e.category = log.code_text(&found.text)
        else:
            e.category = unknown_category(log, event.category_iids)
    elif event.n_category_iids == 0 and event.n_categories == 1 and is_set(event.categories):
        # Empty as it may be: only of several, nothing but empty ones are none.
        e.category = log.strings.code_foreign(event.categories)
    elif event.n_category_iids or event.n_categories:
        e.category = joined_categories(log, t, message)
    e.type = <uint8_t>event.type if 0 <= event.type < 256 else 255
    if event.has_type:
        e.flags |= HAS_TYPE
    if event.has_track_uuid:
        e.flags |= HAS_TRACK_UUID
    e.track = place.track if place.has_track and not event.has_track_uuid else event.track_uuid
    e.thread = thread
    if is_set(event.debug_annotations):
        log_args(log, e, t, &event, message)
    return 0


cdef int log_args(
    SliceLog log, Entry *e, Interning *t, const TrackEvent *event, Span message
) except -1 nogil:
    """Keep the debug annotations of an event; the first one of a metadata event is a name."""
    cdef Span name
    cdef RowDetails w
    if e.phase == c"M":
        name = load_bytes(event.debug_annotations, DEBUG_STRING_VALUE)
        e.category = log.strings.code_foreign(name) if name.end > name.data else NO_NAME
    elif log.args_limit and log.args.n >= log.args_limit:
        log.args_left_out += 1
    elif log.args_limit:
        put_args(&log.args, log.interned, t, message, &w)
        e.payload = w.args
        e.payload_size = <int32_t>(w.args_end - w.args)
    return 0


cdef int log_legacy(SliceLog log, Entry *e, const TrackEventLegacyEvent *legacy) except -1 nogil:
    """Fields other than the phase are rare and kept apart."""
    cdef Legacy said
    if legacy.has_phase:
        e.flags |= HAS_PHASE
        e.phase = <uint8_t>legacy.phase if 32 <= legacy.phase < 127 else <uint8_t>OTHER_PHASE
    if not (
        legacy.has_duration_us or legacy.has_unscoped_id or legacy.has_global_id
        or legacy.has_local_id or is_set(legacy.id_scope) or legacy.has_instant_event_scope
        or legacy.has_pid_override or legacy.has_tid_override
    ):
        return 0
    memset(&said, 0, sizeof(Legacy))
    said.duration_ns = saturating_mul(legacy.duration_us, 1000)
    said.id_scope = NO_NAME
    if is_set(legacy.id_scope):
        said.id_scope = log.strings.code_foreign(legacy.id_scope)
    if 0 <= legacy.instant_event_scope <= 3:
        said.instant_scope = <uint8_t>legacy.instant_event_scope
    said.pid = legacy.pid_override
    said.has_pid = legacy.has_pid_override
    said.tid = legacy.tid_override
    said.has_tid = legacy.has_tid_override
    if legacy.has_unscoped_id or legacy.has_global_id:
        said.id = <int64_t>(
            legacy.unscoped_id if legacy.has_unscoped_id else legacy.global_id
        )
        said.id_kind = ID_GLOBAL
    elif legacy.has_local_id:
        said.id = <int64_t>legacy.local_id
        said.id_kind = ID_LOCAL
    grow(<void **>&log.legacies, &log.legacies_capacity, log.n_legacies + 1, sizeof(Legacy))
    log.legacies[log.n_legacies] = said
    e.legacy = <int32_t>log.n_legacies
    log.n_legacies += 1
    return 0


cdef int32_t unknown_category(SliceLog log, uint64_t iid) except -2 nogil:
    cdef char[40] text
    cdef int n = snprintf(text, sizeof(text), b"unknown(%llu)", <unsigned long long>iid)
    return log.strings.code(<const uint8_t *>text, n)


cdef int32_t joined_categories(SliceLog log, Interning *t, Span event) except -2 nogil:
    """Several categories, the interned ones first, with commas between them."""
    cdef Span rest
    cdef Field f
    cdef Span packed
    cdef uint64_t iid = 0
    cdef Interned *found
    cdef Bytes *out = &log.scratch
    cdef bint interned, more
    cdef int i
    out.n = 0
    for i in range(2):
        interned = i == 0
        rest = event
        while out.n <= LONGEST_NAME and next_field(&rest, &f):
            if not interned:
                if f.number == TRACK_EVENT_CATEGORIES and f.wire == BYTES:
                    if out.n:
                        put_byte(out, c",")
                    put_text(out, f.data, <int64_t>f.value, LONGEST_NAME)
                continue
            if f.number != TRACK_EVENT_CATEGORY_IIDS:
                continue
            packed = nothing()
            if f.wire == BYTES:
                packed = span_of(&f)
            else:
                iid = f.value
            more = True
            while more and out.n <= LONGEST_NAME:
                more = is_set(packed)
                if more:
                    if packed.data >= packed.end:
                        break
                    packed.data = read_varint(packed.data, packed.end, &iid)
                    if packed.data == NULL:
                        break
                found = log.interned.look(t, TABLE_CATEGORIES, iid)
                if found != NULL:
                    if out.n:
                        put_byte(out, c",")
                    put_bytes(out, found.text.data, found.text.size)
    return log.strings.code(out.data, out.n) if out.n else NO_NAME


cdef bint counters_are_known(
    SliceLog log, const ImportedPacket *p, const TrackEvent *event, Span message,
    SequenceState *state
) noexcept nogil:
    """AddExtraCounterValues: an event with counters that are not known is dropped."""
    cdef Span defaults = nothing()
    cdef int64_t n = 0, counters = event.n_extra_counter_values
    if event.packed_extra_counter_values or event.n_extra_counter_track_uuids:
        # More of them than are known, or others.
        counters = <int64_t>MOST_EXTRA_COUNTERS + 1
    if event.n_extra_double_counter_values == 0 and (
        event.n_extra_counter_values == 0 or counters <= state.known_counters
    ):
        return True
    if state.defaults.n:
        defaults.data = state.defaults.data
        defaults.end = state.defaults.data + state.defaults.n
    if not values_have_tracks(
        log, p.machine, message, TRACK_EVENT_EXTRA_COUNTER_VALUES,
        TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, defaults, &n,
    ) or not values_have_tracks(
        log, p.machine, message, TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
        TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, defaults, &n,
    ):
        return False
    if counters <= MOST_EXTRA_COUNTERS:
        # Those of the defaults, which stay known.
        state.known_counters = max(state.known_counters, counters)
    return True


cdef bint values_have_tracks(
    SliceLog log, uint32_t machine, Span event, uint32_t values, uint32_t uuids, Span defaults,
    int64_t *n
) noexcept nogil:
    cdef uint64_t[MOST_EXTRA_COUNTERS] tracks
    cdef int64_t wanted = count_numbers(event, values, NULL)
    cdef int64_t named, i
    if wanted == 0:
        return True
    if n[0] + wanted > MOST_EXTRA_COUNTERS:
        return False
    named = count_numbers(event, uuids, tracks)
    if named == 0:
        # The defaults have the same numbers.
        named = count_numbers(defaults, uuids, tracks)
    if named < wanted:
        return False
    for i in range(wanted):
        if tracks[i] == 0 or not log.tree.is_counter(machine, tracks[i]):
            return False
    n[0] += wanted
    return True


cdef int64_t count_numbers(Span message, uint32_t number, uint64_t *out) noexcept nogil:
    """How many values a repeated number has, packed or not; the first of them go to `out`."""
    cdef Span rest = message
    cdef Field f
    cdef Span packed
    cdef uint64_t value
    cdef int64_t n = 0
    while next_field(&rest, &f):
        if f.number != number:
            continue
        if f.wire != BYTES:
            if out != NULL and n < MOST_EXTRA_COUNTERS:
                out[n] = f.value
            n += 1
            continue
        packed = span_of(&f)
        if number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
            n += (packed.end - packed.data) // 8
            continue
        while packed.data < packed.end:
            packed.data = read_varint(packed.data, packed.end, &value)
            if packed.data == NULL:
                break
            if out != NULL and n < MOST_EXTRA_COUNTERS:
                out[n] = value
            n += 1
    return n
