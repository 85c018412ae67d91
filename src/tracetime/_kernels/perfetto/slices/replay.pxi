# Replays the log of slices in order of time: threads, tracks, and what begins and ends on them.
#
# Follows Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h; nesting is
# `slices.stacks`.

# A track event that is being replayed.
cdef struct Event:
    Entry *entry
    Legacy *legacy              # NULL: it has none
    int32_t number              # of the entry
    int64_t node                # of its track, or -1
    int32_t thread              # or -1
    int32_t process
    bint by_thread              # the track is that of its thread


cdef enum:
    TYPE_SLICE_BEGIN = 1            # TrackEvent.Type
    TYPE_SLICE_END = 2
    TYPE_INSTANT = 3
    INSTANT_GLOBAL = 1              # LegacyEvent.InstantEventScope
    INSTANT_PROCESS = 2
    # What happens on a track.
    AT_BEGIN = 0
    AT_END = 1
    AT_INSTANT = 2
    AT_LEGACY = 3
    BETWEEN_SIGNALS = 0xFFFF        # entries, less one: some ms of them


def replay(SliceLog log not None, const int32_t[::1] order, int64_t n_machines):
    """Put the entries into `log.slices`, each once, in this order."""
    cdef int64_t i
    for i in range(order.shape[0]):
        if not 0 <= order[i] < log.n:
            raise IndexError("there are not so many entries")
    for i in range(n_machines):
        log.processes.set_idle(<uint32_t>i, log.strings.add("swapper"))
    with nogil:
        for i in range(order.shape[0]):
            if i & BETWEEN_SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            replay_entry(log, order[i])


cdef int replay_entry(SliceLog log, int32_t number) except -1 nogil:
    cdef Entry *e = &log.entries[number]
    cdef Span message
    if e.kind == ENTRY_TRACK_EVENT:
        return replay_track_event(log, number)
    message.data = log.payloads.data + e.payload
    message.end = message.data + e.payload_size
    if e.kind == ENTRY_TRACK_DESCRIPTOR:
        return replay_track_descriptor(log, e.machine, message)
    if e.kind == ENTRY_THREAD_DESCRIPTOR:
        replay_thread_descriptor(log, e.machine, message, False)
        return 0
    if e.kind == ENTRY_PROCESS_DESCRIPTOR:
        replay_process_descriptor(log, e.machine, message)
        return 0
    if e.kind == ENTRY_PROCESS_TREE:
        return replay_process_tree(log, e.machine, message)
    if e.kind == ENTRY_FRAME:
        return replay_frame(log, number, message)
    if e.kind == ENTRY_FTRACE or e.kind == ENTRY_SCHED_SWITCH:
        return replay_ftrace(log, number, message)
    return 0


cdef int replay_track_event(SliceLog log, int32_t number) except -1 nogil:
    """TrackEventEventImporter::Import."""
    cdef Event event
    cdef Entry *e = &log.entries[number]
    cdef uint8_t phase = e.phase
    cdef int64_t duration
    cdef int32_t track
    if e.type == 0 and not e.flags & HAS_PHASE:
        return 0
    memset(&event, 0, sizeof(Event))
    event.entry = e
    event.number = number
    if e.legacy != NONE:
        event.legacy = &log.legacies[e.legacy]
    if not find_thread(log, &event):
        return 0
    if not e.flags & HAS_PHASE:
        if e.type == TYPE_SLICE_BEGIN:
            phase = c"B" if event.thread != NONE else c"b"
        elif e.type == TYPE_SLICE_END:
            phase = c"E" if event.thread != NONE else c"e"
        elif e.type == TYPE_INSTANT:
            phase = c"i"
    if phase == c"B" or phase == c"b" or phase == c"S":
        if phase == c"B" and event.thread == NONE:
            return 0
        track = track_of(log, &event, AT_BEGIN)
        if track != NONE:
            log.slices.start(e.ts, OPEN, track, e.category, e.name, number)
    elif phase == c"E" or phase == c"e" or phase == c"F":
        if phase == c"E" and event.thread == NONE:
            return 0
        track = track_of(log, &event, AT_END)
        if track != NONE:
            log.slices.finish(e.ts, track, e.category, e.name, number)
    elif phase == c"X":
        duration = event.legacy.duration_ns if event.legacy != NULL else 0
        if event.thread == NONE or duration < 0:
            return 0
        track = track_of(log, &event, AT_LEGACY)
        if track != NONE:
            log.slices.start(e.ts, duration, track, e.category, e.name, number)
    elif phase == c"i" or phase == c"I" or phase == c"R" or phase == c"n" or (
        phase == c"T" or phase == c"p"
    ):
        track = track_of(log, &event, AT_INSTANT)
        if track != NONE:
            log.slices.start(e.ts, 0, track, e.category, e.name, number)
    elif phase == c"s" or phase == c"t" or phase == c"f":
        if event.legacy != NULL and event.legacy.id_kind == ID_GLOBAL:
            track_of(log, &event, AT_LEGACY)
    elif phase == c"M":
        name_by_event(log, &event)
    return 0


cdef bint is_async(uint8_t phase) noexcept nogil:
    """Whether events of a phase are matched by id."""
    return (
        phase == c"b" or phase == c"e" or phase == c"n" or phase == c"S" or phase == c"T"
        or phase == c"p" or phase == c"F"
    )


cdef bint find_thread(SliceLog log, Event *event) except -1 nogil:
    """ParseInitialTrackAssociation: the thread and process of an event; False drops it."""
    cdef Entry *e = event.entry
    cdef Legacy *legacy = event.legacy
    cdef SequenceThread *said = &log.threads[e.thread]
    cdef int64_t tid, pid
    cdef bint by_thread
    event.node = event.thread = event.process = NONE
    if not said.is_known:
        said = NULL
    if e.track:
        event.node = log.tree.resolve(e.machine, e.track)
        if event.node < 0:
            return False
        if log.tree.nodes[event.node].scope == SCOPE_THREAD:
            event.thread = log.tree.nodes[event.node].thread
            event.process = log.processes.threads[event.thread].process
        else:
            if log.tree.nodes[event.node].scope == SCOPE_PROCESS:
                event.process = log.tree.nodes[event.node].process
            if said != NULL:
                log.processes.update_thread(e.machine, <uint32_t>said.tid, <uint32_t>said.pid)
    else:
        by_thread = said != NULL and (
            not e.flags & HAS_TRACK_UUID or not e.flags & HAS_TYPE
        )
        if legacy != NULL:
            by_thread = by_thread or legacy.has_pid or legacy.has_tid and said != NULL
        if by_thread:
            pid = <uint32_t>said.pid if said != NULL else 0
            tid = said.tid if said != NULL else 0
            if legacy != NULL and legacy.has_pid:
                pid = <uint32_t>legacy.pid
                tid = synthetic_tid(-1, pid)
            if legacy != NULL and legacy.has_tid:
                tid = <uint32_t>legacy.tid
                if said != NULL and said.tid >> 32:
                    tid = synthetic_tid(tid, pid)
            if pid == 0 or tid == 0:
                return False
            event.thread = log.processes.update_thread(e.machine, tid, pid)
            event.process = log.processes.threads[event.thread].process
        event.by_thread = by_thread
    if e.phase == c"i" or e.phase == c"I":
        if legacy != NULL and legacy.instant_scope == INSTANT_GLOBAL:
            event.thread = NONE
        elif legacy != NULL and legacy.instant_scope == INSTANT_PROCESS:
            if event.process == NONE:
                return False
            event.thread = NONE
        elif event.thread == NONE:
            return False
    return True


cdef int32_t track_of(SliceLog log, Event *event, int what) except -2 nogil:
    """ParseTrackAssociation...: the track that a slice is on; NONE where there is none."""
    cdef Entry *e = event.entry
    cdef int32_t track = NONE
    if not event.by_thread:
        if event.node == NONE:
            event.node = log.tree.resolve(e.machine, 0)
        if event.node >= 0:
            if what == AT_BEGIN:
                track = log.tree.begin(event.node, e.name)
            elif what == AT_END:
                track = log.tree.end(event.node, e.name)
            elif what == AT_INSTANT:
                track = log.tree.instant(event.node, e.name)
            else:
                track = log.tree.legacy(event.node, e.name)
    if is_async(e.phase):
        return async_track(log, event)
    if (e.phase == c"i" or e.phase == c"I") and event.legacy != NULL:
        if event.legacy.instant_scope == INSTANT_GLOBAL:
            return log.tables.global_instants(e.machine)
        if event.legacy.instant_scope == INSTANT_PROCESS:
            return log.tables.process_instants(event.process)
    return log.tables.thread_track(event.thread) if event.by_thread else track


cdef int32_t async_track(SliceLog log, Event *event) except -2 nogil:
    """The track of a legacy asynchronous event, by its id and scope."""
    cdef Entry *e = event.entry
    cdef Legacy *legacy = event.legacy
    cdef TrackKey key
    cdef int32_t scope, name, process = NONE, set_, *first
    cdef bint by_name = (
        e.phase == c"S" or e.phase == c"T" or e.phase == c"p" or e.phase == c"F"
    )
    if legacy == NULL or legacy.id_kind == ID_NONE:
        return NONE
    if legacy.id_kind == ID_LOCAL and event.process == NONE:
        return NONE
    scope = e.name if by_name else e.category
    if legacy.id_scope != NO_NAME:
        scope = log.pair(e.category, legacy.id_scope)
    memset(&key, 0, sizeof(TrackKey))
    key.kind = TRACK_ASYNC
    key.a = e.machine
    if legacy.id_kind == ID_LOCAL:
        process = event.process
        key.kind = TRACK_ASYNC_OF_PROCESS
        key.a = process
    first = log.memos.of(
        MEMO_FIRST_NAME_OF_PROCESS if process != NONE else MEMO_FIRST_NAME, key.a, legacy.id
    )
    if first[0] == UNSET:
        first[0] = e.name
    name = first[0]
    key.b = scope
    key.c = name
    set_ = log.tracks.lane_set(key)
    if e.phase == c"b" or e.phase == c"S":
        return log.tracks.begin(set_, legacy.id, False, e.name, NONE, process)
    if e.phase == c"e" or e.phase == c"T":
        return log.tracks.end(set_, legacy.id, e.name, NONE, process)
    log.tracks.begin(set_, legacy.id, False, e.name, NONE, process)
    return log.tracks.end(set_, legacy.id, e.name, NONE, process)


cdef int name_by_event(SliceLog log, Event *event) except -1 nogil:
    """ParseMetadataEvent: the names of threads and processes; `category` is the name."""
    cdef Entry *e = event.entry
    if log.strings.equals(e.name, b"thread_name") and event.thread != NONE:
        return log.processes.name_thread(event.thread, e.category, THREAD_BY_TYPE)
    if log.strings.equals(e.name, b"process_name") and event.process != NONE:
        return log.processes.name_process(event.process, e.category, PROCESS_BY_DESCRIPTOR)
    return 0
