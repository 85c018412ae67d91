# Adds track events to the log of slices; interned names and state are looked up here.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_tokenizer.cc and the first half
# of track_event_event_importer.h; the second half is in replay.pxi.

cdef enum:
    MOST_EXTRA_COUNTERS = 8         # kMaxNumExtraCounters
    TYPE_COUNTER = 4                # TrackEvent.Type
    TYPE_STATE = 5
    OTHER_PHASE = 1                 # none that has a meaning


# long: one pass over the fields, then what follows from them together
cdef int log_track_event(
    SliceLog log, const ImportedPacket *p, Span event, Rows rows, int64_t first
) except -1 nogil:
    """TokenizeTrackEventPacket, ParseTrackEventCategory and ParseTrackEventName."""
    cdef Span rest = event
    cdef Place *place = log.interned.place(p.sequence)
    cdef SequenceState *state = log.sequence(p.sequence)
    # Data interned before packets were lost is not valid any more.
    cdef Interning *t = place.interned if p.valid else NULL
    cdef Field f
    cdef Interned *found
    cdef Entry *e
    cdef Span name = nothing(), legacy = nothing(), inline_category = nothing()
    cdef uint64_t type = 0, name_iid = 0, category = 0, track = 0
    cdef int64_t i, row = -1, categories = 0, absolute_us = 0
    cdef uint8_t flags = 0
    cdef bint has_track = False, has_name = False, single = True, has_args = False, had
    cdef bint is_legacy_time = False, has_delta = False, has_counters = False
    cdef bint has_doubles = False
    cdef int64_t counters = 0
    cdef int32_t thread
    cdef RowDetails w
    if not p.has_sequence_id:
        return 0
    while next_field(&rest, &f):
        if f.number == TRACK_EVENT_CATEGORY_IIDS:
            if f.wire == BYTES:
                single = False
            category = f.value
            categories += 1
        elif f.number == TRACK_EVENT_CATEGORIES:
            single = False
            categories += 1
            if f.wire == BYTES:
                inline_category = span_of(&f)
        elif f.number == TRACK_EVENT_NAME_IID and is_number(&f):
            name_iid = f.value
        elif f.number == TRACK_EVENT_TYPE and is_number(&f):
            type = <uint32_t>f.value
            flags |= HAS_TYPE
        elif f.number == TRACK_EVENT_TRACK_UUID and is_number(&f):
            track = f.value
            has_track = True
            flags |= HAS_TRACK_UUID
        elif f.number == TRACK_EVENT_TIMESTAMP_ABSOLUTE_US and is_number(&f):
            absolute_us = <int64_t>f.value
        elif f.number == TRACK_EVENT_TIMESTAMP_DELTA_US and is_number(&f):
            is_legacy_time = True
        elif (
            f.number == TRACK_EVENT_THREAD_TIME_DELTA_US
            or f.number == TRACK_EVENT_THREAD_INSTRUCTION_COUNT_DELTA
        ) and is_number(&f):
            has_delta = True
        elif f.number == TRACK_EVENT_EXTRA_COUNTER_VALUES:
            has_counters = True
            # A packed field may hold more of them than are known.
            counters += 1 if is_number(&f) else <int64_t>MOST_EXTRA_COUNTERS + 1
        elif f.number == TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
            counters = <int64_t>MOST_EXTRA_COUNTERS + 1
        elif f.number == TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
            has_doubles = True
        elif f.wire != BYTES:
            continue
        elif f.number == TRACK_EVENT_DEBUG_ANNOTATIONS:
            has_args = True
        elif f.number == TRACK_EVENT_NAME:
            name = span_of(&f)
            has_name = True
        elif f.number == TRACK_EVENT_LEGACY_EVENT:
            legacy = span_of(&f)
    if type == TYPE_COUNTER or type == TYPE_STATE:
        return 0
    if has_delta and not (p.valid and state.has_reference):
        return 0
    if absolute_us:
        is_legacy_time = True
    for i in range(first, rows.n):
        if rows.kind[i] == (KIND_TRACK_EVENT_LEGACY if is_legacy_time else KIND_PACKET):
            if rows.status[i] <= AS_IS:
                row = i
    if row < 0:
        return 0
    if has_doubles or has_counters and counters > state.known_counters:
        if not counters_are_known(log, p, event, state, has_counters, has_doubles):
            return 0
        if counters <= MOST_EXTRA_COUNTERS:
            # Those of the defaults, which stay known.
            state.known_counters = max(state.known_counters, counters)
    thread = log.thread_of(p.sequence)
    e = log.add(
        ENTRY_TRACK_EVENT, rows.trace_time[row], p.machine, log.queue(p.machine, 1, 0)
    )
    if e == NULL:
        return 0
    e.row = log.base + row
    if t != NULL:
        log.interned.touch(t)
    if is_set(legacy):
        if name_iid == 0:
            name_iid = load_number(legacy, LEGACY_EVENT_NAME_IID, &had)
        log_legacy(log, e, legacy)
    if name_iid:
        found = log.interned.look(t, TABLE_NAMES, name_iid)
        if found != NULL:
            e.name = log.code_text(&found.text)
    elif has_name:
        e.name = log.strings.code_foreign(name)
    if categories == 1 and single:
        found = log.interned.look(t, TABLE_CATEGORIES, category)
        if found != NULL:
            e.category = log.code_text(&found.text)
        else:
            e.category = unknown_category(log, category)
    elif categories == 1 and is_set(inline_category):
        # Empty as it may be: only of several, nothing but empty ones are none.
        e.category = log.strings.code_foreign(inline_category)
    elif categories:
        e.category = joined_categories(log, t, event)
    e.type = <uint8_t>type if type < 256 else 255
    e.flags = e.flags | flags
    e.track = track if has_track else (place.track if place.has_track else 0)
    e.thread = thread
    if has_args and e.phase == c"M":
        e.category = NO_NAME
        name = load_first(event)
        if name.end > name.data:
            e.category = log.strings.code_foreign(name)
    elif has_args and log.args_limit and log.args.n >= log.args_limit:
        log.args_left_out += 1
    elif has_args and log.args_limit:
        put_args(&log.args, log.interned, t, event, &w)
        e.payload = w.args
        e.payload_size = <int32_t>(w.args_end - w.args)
    return 0


cdef Span load_first(Span event) noexcept nogil:
    """The text of the first debug annotation: the name in a metadata event."""
    cdef Span rest = event
    cdef Field f
    while next_field(&rest, &f):
        if f.number == TRACK_EVENT_DEBUG_ANNOTATIONS and f.wire == BYTES:
            return load_bytes(span_of(&f), DEBUG_STRING_VALUE)
    return nothing()


cdef int log_legacy(SliceLog log, Entry *e, Span message) except -1 nogil:
    """Read a LegacyEvent. Fields other than the phase are rare and kept apart."""
    cdef Span rest = message
    cdef Field f
    cdef Legacy said
    cdef int32_t phase
    cdef bint other = False, has_unscoped = False, has_global = False, has_local = False
    cdef int64_t unscoped = 0, global_ = 0, local = 0
    memset(&said, 0, sizeof(Legacy))
    said.id_scope = NO_NAME
    while next_field(&rest, &f):
        if f.number == LEGACY_EVENT_PHASE and is_number(&f):
            phase = <int32_t>f.value
            e.flags |= HAS_PHASE
            e.phase = <uint8_t>phase if 32 <= phase < 127 else <uint8_t>OTHER_PHASE
            continue
        if f.number == LEGACY_EVENT_DURATION_US and is_number(&f):
            said.duration_ns = saturating_mul(<int64_t>f.value, 1000)
        elif f.number == LEGACY_EVENT_UNSCOPED_ID and is_number(&f):
            unscoped = <int64_t>f.value
            has_unscoped = True
        elif f.number == LEGACY_EVENT_GLOBAL_ID and is_number(&f):
            global_ = <int64_t>f.value
            has_global = True
        elif f.number == LEGACY_EVENT_LOCAL_ID and is_number(&f):
            local = <int64_t>f.value
            has_local = True
        elif f.number == LEGACY_EVENT_ID_SCOPE and f.wire == BYTES:
            said.id_scope = log.strings.code_foreign(span_of(&f))
        elif f.number == LEGACY_EVENT_INSTANT_EVENT_SCOPE and is_number(&f):
            said.instant_scope = <uint8_t>f.value if f.value <= 3 else 0
        elif f.number == LEGACY_EVENT_PID_OVERRIDE and is_number(&f):
            said.pid = <int32_t>f.value
            said.has_pid = True
        elif f.number == LEGACY_EVENT_TID_OVERRIDE and is_number(&f):
            said.tid = <int32_t>f.value
            said.has_tid = True
        else:
            continue
        other = True
    if has_unscoped or has_global:
        said.id = unscoped if has_unscoped else global_
        said.id_kind = ID_GLOBAL
    elif has_local:
        said.id = local
        said.id_kind = ID_LOCAL
    if other:
        grow(
            <void **>&log.legacies, &log.legacies_capacity, log.n_legacies + 1, sizeof(Legacy)
        )
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
    SliceLog log, const ImportedPacket *p, Span event, SequenceState *state, bint whole, bint doubles
) noexcept nogil:
    """AddExtraCounterValues: an event with counters that are not known is dropped."""
    cdef Span defaults = nothing()
    cdef int64_t n = 0
    if state.defaults.n:
        defaults.data = state.defaults.data
        defaults.end = state.defaults.data + state.defaults.n
    if whole and not values_have_tracks(
        log, p.machine, event, TRACK_EVENT_EXTRA_COUNTER_VALUES,
        TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS, defaults, &n,
    ):
        return False
    return not doubles or values_have_tracks(
        log, p.machine, event, TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
        TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, defaults, &n,
    )


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
