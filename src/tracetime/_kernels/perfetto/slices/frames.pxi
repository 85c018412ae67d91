# Android's frame timeline: expected and actual frames.
#
# Follows Perfetto's src/trace_processor/importers/proto/frame_timeline_event_parser.cc.

cdef enum:
    # Frames with later timestamps are refused (IsBadTimestamp).
    LATEST_S = 9223372026


cdef int replay_frame(SliceLog log, int32_t number, Span message) except -1 nogil:
    """ParseFrameTimelineEvent: the first of these messages that is present."""
    cdef Span rest = message
    cdef Field f
    cdef Span[6] found
    cdef bint[6] has
    cdef int kind
    memset(has, 0, sizeof(has))
    while next_field(&rest, &f):
        if f.wire == BYTES and FRAME_EXPECTED_DISPLAY_FRAME_START <= f.number <= FRAME_FRAME_END:
            found[f.number] = span_of(&f)
            has[f.number] = True
    if log.entries[number].ts >= <int64_t>LATEST_S * 1000000000:
        return 0
    for kind in range(FRAME_EXPECTED_DISPLAY_FRAME_START, FRAME_FRAME_END + 1):
        if has[kind]:
            if kind == FRAME_FRAME_END:
                return end_frame(log, number, found[kind])
            return begin_frame(log, number, kind, found[kind])
    return 0


cdef int32_t track_set(SliceLog log, int32_t process, bint actual) except -1 nogil:
    cdef TrackKey key
    memset(&key, 0, sizeof(TrackKey))
    key.kind = TRACK_FRAMES_ACTUAL if actual else TRACK_FRAMES_EXPECTED
    key.a = process
    return log.tracks.lane_set(key)


cdef int32_t timeline_name(SliceLog log, bint actual) except -2 nogil:
    if actual:
        return log.strings.code(<const uint8_t *>b"Actual Timeline", 15)
    return log.strings.code(<const uint8_t *>b"Expected Timeline", 17)


cdef int begin_frame(SliceLog log, int32_t number, int kind, Span message) except -1 nogil:
    """Parse...FrameStart: begin a slice named by its token."""
    cdef Entry *e = &log.entries[number]
    cdef bint is_surface = (
        kind == FRAME_EXPECTED_SURFACE_FRAME_START or kind == FRAME_ACTUAL_SURFACE_FRAME_START
    )
    cdef bint actual = kind == FRAME_ACTUAL_DISPLAY_FRAME_START or kind == FRAME_ACTUAL_SURFACE_FRAME_START
    cdef bint has_cookie, has_token, has_pid, has_display = True
    cdef int64_t cookie = <int64_t>load_number(message, DISPLAY_FRAME_COOKIE, &has_cookie)
    cdef int64_t token = <int64_t>load_number(message, DISPLAY_FRAME_TOKEN, &has_token)
    cdef int64_t pid = <uint32_t>load_number(
        message, SURFACE_FRAME_PID if is_surface else DISPLAY_FRAME_PID, &has_pid
    )
    cdef char[24] text
    cdef int32_t process, track, name, *memo
    if is_surface:
        load_number(message, SURFACE_FRAME_DISPLAY_FRAME_TOKEN, &has_display)
    if not (has_cookie and has_token and has_pid and has_display):
        return 0
    process = log.processes.process(e.machine, pid)
    log.memos.of(MEMO_FRAME, e.machine, cookie)[0] = 2 * process + actual
    if kind == FRAME_EXPECTED_SURFACE_FRAME_START:
        memo = log.memos.of(MEMO_FRAME_TOKEN, process, token)
        if memo[0] != UNSET:
            # All frames of one token have the same expectation.
            return 0
        memo[0] = 1
    name = log.strings.code(
        <const uint8_t *>text, snprintf(text, sizeof(text), b"%lld", <long long>token)
    )
    track = log.tracks.begin(
        track_set(log, process, actual), cookie, False, timeline_name(log, actual), NONE, process
    )
    log.slices.start(e.ts, OPEN, track, NO_NAME, name, number)
    return 0


cdef int end_frame(SliceLog log, int32_t number, Span message) except -1 nogil:
    """ParseFrameEnd."""
    cdef Entry *e = &log.entries[number]
    cdef bint found
    cdef int64_t cookie = <int64_t>load_number(message, FRAME_END_COOKIE, &found)
    cdef int32_t *memo, process, track
    cdef bint actual
    if not found:
        return 0
    memo = log.memos.of(MEMO_FRAME, e.machine, cookie)
    if memo[0] == UNSET:
        return 0
    process, actual = memo[0] // 2, memo[0] & 1
    memo[0] = UNSET
    track = log.tracks.end(
        track_set(log, process, actual), cookie, timeline_name(log, actual), NONE, process
    )
    log.slices.finish(e.ts, track, NO_NAME, NO_NAME, number)
    return 0
