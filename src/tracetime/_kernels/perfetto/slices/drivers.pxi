# Lines of atrace that ftrace events of the log hold.

cdef int replay_print(SliceLog log, int32_t number, Span text) except -1 nogil:
    """ParsePrintEvent."""
    cdef Mark mark
    if not read_mark(text, &mark):
        return 0
    return replay_mark(log, number, &mark)


cdef int replay_mark(SliceLog log, int32_t number, Mark *mark) except -1 nogil:
    """ParseSystracePoint."""
    cdef Entry *e = &log.entries[number]
    cdef Writer by
    by.number = number
    by.ts = e.ts
    by.machine = e.machine
    by.tid = <uint32_t>e.thread
    return make_slice(log.tables, &by, mark)


# Android's binder: calls between threads, as slices of both threads.
#
# Follows Perfetto's src/trace_processor/importers/ftrace/binder_tracker.cc for transactions; commands
# and locks are not read.

cdef enum:
    ONE_WAY = 1                 # of the flags of a transaction
    IS_CALL = 0                 # a transaction that was sent, by kind
    IS_ONE_WAY = 1
    IS_REPLY = 2


cdef int32_t category(SliceLog log) except -2 nogil:
    return log.strings.code(<const uint8_t *>b"binder", 6)


cdef int replay_transaction(SliceLog log, int32_t number, Span event) except -1 nogil:
    """BinderTracker::Transaction: the event's thread sends."""
    cdef Entry *e = &log.entries[number]
    cdef BinderTransactionFtraceEvent call
    read_binder_transaction_ftrace_event(event, &call)
    cdef bint is_reply = call.reply == 1, one_way = call.flags & ONE_WAY
    cdef int32_t track = log.tables.thread_track(log.processes.thread(e.machine, <uint32_t>e.thread))
    if is_reply:
        log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
    elif one_way:
        log.slices.start(
            e.ts, 0, track, category(log),
            log.strings.code(<const uint8_t *>b"binder transaction async", 24), number,
        )
    else:
        log.slices.start(
            e.ts, OPEN, track, category(log),
            log.strings.code(<const uint8_t *>b"binder transaction", 18), number,
        )
    log.memos.of(MEMO_TRANSACTION, e.machine, call.debug_id)[0] = (
        (IS_REPLY if is_reply else 0) | (IS_ONE_WAY if one_way else 0)
    )
    return 0


cdef int replay_received(SliceLog log, int32_t number, Span event) except -1 nogil:
    """BinderTracker::TransactionReceived: the event's thread receives."""
    cdef Entry *e = &log.entries[number]
    cdef bint found
    cdef int64_t id = <int32_t>load_number(event, BINDER_DEBUG_ID, &found)
    cdef int32_t *memo = log.memos.of(MEMO_TRANSACTION, e.machine, id)
    cdef int32_t kind = memo[0], track
    if kind == UNSET:
        return 0
    memo[0] = UNSET
    track = log.tables.thread_track(log.processes.thread(e.machine, <uint32_t>e.thread))
    if kind & IS_REPLY:
        log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
    elif kind & IS_ONE_WAY:
        log.slices.start(
            e.ts, 0, track, category(log),
            log.strings.code(<const uint8_t *>b"binder async rcv", 16), number,
        )
    else:
        log.slices.start(
            e.ts, OPEN, track, category(log),
            log.strings.code(<const uint8_t *>b"binder reply", 12), number,
        )
    return 0


# Fences of the kernel's DMA buffers: work of devices, and threads that wait for it.
#
# Follows Perfetto's src/trace_processor/importers/ftrace/drm_tracker.cc for dma_fence events.

cdef enum:
    LONGEST_TRACK_NAME = 255    # base::StackString<256>


cdef int replay_fence(SliceLog log, int32_t number, uint32_t field, Span event) except -1 nogil:
    """DmaFenceInit, ...Emit, ...Signaled, ...WaitStart and ...WaitEnd."""
    cdef Entry *e = &log.entries[number]
    cdef DmaFenceInitFtraceEvent said
    cdef FenceTimeline *timeline
    cdef int32_t track
    read_dma_fence_init_ftrace_event(event, &said)
    if field == FTRACE_EVENT_DMA_FENCE_WAIT_START or field == FTRACE_EVENT_DMA_FENCE_WAIT_END:
        track = log.tables.thread_track(log.processes.thread(e.machine, <uint32_t>e.thread))
        if field == FTRACE_EVENT_DMA_FENCE_WAIT_END:
            log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
        else:
            log.slices.start(
                e.ts, OPEN, track, NO_NAME,
                log.strings.code(<const uint8_t *>b"dma_fence_wait", 14), number,
            )
        return 0
    if said.timeline.end - said.timeline.data == 7 and (
        memcmp(said.timeline.data, b"unbound", 7) == 0
    ):
        # Containers of other fences: a timeline for each would be too many.
        return 0
    timeline = timeline_of(log, e.machine, said.context, said.timeline)
    if field == FTRACE_EVENT_DMA_FENCE_SIGNALED:
        if timeline.first == NONE or said.seqno < log.fences[timeline.first].number:
            return 0
        timeline.first = log.fences[timeline.first].next
        log.slices.finish(e.ts, timeline.track, NO_NAME, NO_NAME, number)
        if timeline.first != NONE:
            begin(log, timeline, number)
        return 0
    if field == FTRACE_EVENT_DMA_FENCE_INIT and timeline.has_emit:
        return 0
    if field == FTRACE_EVENT_DMA_FENCE_EMIT and not timeline.has_emit:
        # dma_fence_emit is more precise: fences from dma_fence_init are dropped.
        timeline.has_emit = True
        if timeline.first != NONE:
            log.slices.finish(e.ts, timeline.track, NO_NAME, NO_NAME, number)
            timeline.first = NONE
    grow(<void **>&log.fences, &log.fences_capacity, log.n_fences + 1, sizeof(Fence))
    log.fences[log.n_fences].next = NONE
    log.fences[log.n_fences].number = said.seqno
    if timeline.first == NONE:
        timeline.first = <int32_t>log.n_fences
        begin(log, timeline, number)
    else:
        log.fences[timeline.last].next = <int32_t>log.n_fences
    timeline.last = <int32_t>log.n_fences
    log.n_fences += 1
    return 0


cdef int begin(SliceLog log, FenceTimeline *timeline, int32_t number) except -1 nogil:
    """BeginFenceTimelineSlice."""
    log.slices.start(
        log.entries[number].ts, OPEN, timeline.track, NO_NAME,
        log.strings.code(<const uint8_t *>b"fence", 5), number,
    )
    return 0


cdef FenceTimeline *timeline_of(
    SliceLog log, uint32_t machine, uint32_t context, Span name
) except NULL nogil:
    """GetFenceTimelineByContext: its name is that of the first event."""
    cdef int32_t *memo = log.memos.of(MEMO_FENCE, machine, context)
    cdef FenceTimeline *made
    cdef TrackKey key
    cdef char[300] text
    cdef int64_t n = min(name.end - name.data, <int64_t>LONGEST_TRACK_NAME - 6)
    cdef Span called
    if memo[0] != UNSET:
        return &log.timelines[memo[0]]
    memo[0] = <int32_t>log.n_timelines
    memcpy(text, b"fence-", 6)
    if n:
        memcpy(text + 6, name.data, <size_t>n)
    n += 6
    n += snprintf(text + n, <size_t>(300 - n), b"-%u", context)
    called.data = <const uint8_t *>text
    called.end = called.data + min(n, <int64_t>LONGEST_TRACK_NAME)
    memset(&key, 0, sizeof(TrackKey))
    key.kind = TRACK_FENCES
    key.a = context
    key.b = machine
    grow(
        <void **>&log.timelines, &log.timelines_capacity, log.n_timelines + 1,
        sizeof(FenceTimeline),
    )
    made = &log.timelines[log.n_timelines]
    made.track = log.tracks.intern(key, log.strings.code_foreign(called), NONE, NONE)
    made.first = made.last = NONE
    made.has_emit = False
    log.n_timelines += 1
    return made
