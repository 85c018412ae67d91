# atrace: slices that programs write as lines of text to the kernel's trace.
#
# Follows Perfetto's src/trace_processor/importers/systrace/systrace_parser.cc. A line is
# "PHASE|TGID|NAME", or with a cookie, a track or a value behind or between them.

cdef enum:
    MOST_DIGITS = 18            # of a number that surely fits


cdef Span next_field(Span *rest) noexcept nogil:
    """Up to the next bar, or NUL, or the end."""
    cdef Span field = rest[0]
    while rest.data < rest.end and rest.data[0] != c"|" and rest.data[0] != 0:
        rest.data += 1
    field.end = rest.data
    if rest.data < rest.end:
        rest.data += 1
    return field


cdef bint read_number(Span text, int64_t *value) noexcept nogil:
    """A whole number in digits, perhaps with a sign; all of the text."""
    cdef bint negative = text.data < text.end and text.data[0] == c"-"
    cdef uint8_t digit
    value[0] = 0
    if negative or text.data < text.end and text.data[0] == c"+":
        text.data += 1
    if text.data >= text.end or text.end - text.data > MOST_DIGITS:
        return False
    while text.data < text.end:
        digit = text.data[0] - <uint8_t>c"0"
        if digit > 9:
            return False
        value[0] = 10 * value[0] + digit
        text.data += 1
    if negative:
        value[0] = -value[0]
    return True


cdef bint is_empty(Span text) noexcept nogil:
    return text.data >= text.end


cdef inline bint is_padding(uint8_t byte) noexcept nogil:
    return byte == c"\n" or byte == 0


cdef bint read_mark(Span text, Mark *mark) noexcept nogil:
    """ParseSystraceTracePoint: whether it is a line of atrace."""
    cdef Span field, rest
    cdef int64_t number
    cdef bint has_tgid
    memset(mark, 0, sizeof(Mark))
    while text.end > text.data and is_padding((text.end - 1)[0]):
        text.end -= 1
    rest = text
    field = next_field(&rest)
    if is_empty(field):
        return False
    mark.phase = field.data[0]
    has_tgid = read_number(next_field(&rest), &number) and number >> 32 == 0
    mark.tgid = <uint32_t>number if has_tgid else 0
    if mark.phase == c"E":
        return True
    if not has_tgid:
        return False
    if mark.phase == c"B":
        mark.name = rest
        if is_empty(rest):
            mark.name.data = <const uint8_t *>b"[empty slice name]"
            mark.name.end = mark.name.data + 18
        return True
    if mark.phase == c"S" or mark.phase == c"F" or mark.phase == c"C":
        mark.name = next_field(&rest)
        return read_number(next_field(&rest), &mark.value) and not is_empty(mark.name)
    if mark.phase == c"I":
        mark.name = next_field(&rest)
        return not is_empty(mark.name)
    if mark.phase == c"N":
        mark.track = next_field(&rest)
        mark.name = next_field(&rest)
        return not is_empty(mark.track) and not is_empty(mark.name)
    if mark.phase == c"G":
        mark.track = next_field(&rest)
        mark.name = next_field(&rest)
        return (
            read_number(next_field(&rest), &mark.value) and not is_empty(mark.track)
            and not is_empty(mark.name)
        )
    if mark.phase == c"H":
        mark.track = next_field(&rest)
        field = next_field(&rest)
        rest = next_field(&rest)
        return not is_empty(mark.track) and read_number(
            field if is_empty(rest) else rest, &mark.value
        )
    return False


cdef bint equals(Span text, const char *other, int64_t n) noexcept nogil:
    return text.end - text.data == n and memcmp(text.data, other, <size_t>n) == 0


# long: a branch for each phase
cdef int make_slice(SliceTables to, const Writer *by, Mark *mark) except -1 nogil:
    """ParseSystracePoint."""
    cdef int32_t thread, process, name, track_name, set_, track
    cdef uint8_t phase = mark.phase
    if phase == c"B" or phase == c"I" or phase == c"E":
        if mark.tgid:
            thread = to.processes.update_thread(by.machine, by.tid, mark.tgid)
        elif phase == c"E":
            # A thread without events has no slice that could end.
            thread = to.processes.find(by.machine, by.tid, False, 0)
            if thread == NONE:
                return 0
        else:
            thread = to.processes.thread(by.machine, by.tid)
        track = to.thread_track(thread)
        if phase == c"E":
            to.slices.finish(by.ts, track, NO_NAME, NO_NAME, by.number)
            return 0
        name = to.strings.code_foreign(mark.name)
        to.slices.start(by.ts, OPEN if phase == c"B" else 0, track, NO_NAME, name, by.number)
        if phase == c"B":
            return note_killed(to, by, mark.name)
        return 0
    if phase == c"C":
        if equals(mark.name, b"kill_one_process", 16) and <uint32_t>mark.value:
            kill(to, by, <uint32_t>mark.value)
        if not equals(mark.name, b"ScreenState", 11) and not (
            mark.name.end - mark.name.data >= 14
            and memcmp(mark.name.data, b"battery_stats.", 14) == 0
        ):
            to.processes.process(by.machine, mark.tgid)
        return 0
    if phase == c"N" and equals(mark.track, b"DeviceStateChanged", 18):
        track = named_track(to, mark.track, by.machine)
        to.slices.start(
            by.ts, 0, track, NO_NAME, to.strings.code_foreign(mark.name), by.number
        )
        return 0
    process = to.processes.process(by.machine, mark.tgid)
    if phase == c"S" or phase == c"F":
        name = to.strings.code_foreign(mark.name)
        set_ = process_set(to, TRACK_ATRACE_ASYNC, process, name)
        if phase == c"S":
            track = to.tracks.begin(set_, mark.value, True, name, NONE, process)
            to.slices.begin_saturating(by.ts, track, name, by.number)
        else:
            track = to.tracks.end(set_, mark.value, name, NONE, process)
            to.slices.finish(by.ts, track, NO_NAME, NO_NAME, by.number)
        return 0
    track_name = to.strings.code_foreign(mark.track)
    set_ = process_set(to, TRACK_ATRACE_NAMED, process, track_name)
    if phase == c"N":
        track = to.tracks.instants(set_, track_name, NONE, process)
        to.slices.start(by.ts, 0, track, NO_NAME, to.strings.code_foreign(mark.name), by.number)
    elif phase == c"G":
        track = to.tracks.begin(set_, mark.value, False, track_name, NONE, process)
        to.slices.start(by.ts, OPEN, track, NO_NAME, to.strings.code_foreign(mark.name), by.number)
    elif phase == c"H":
        track = to.tracks.end(set_, mark.value, track_name, NONE, process)
        to.slices.finish(by.ts, track, NO_NAME, NO_NAME, by.number)
    to.processes.thread(by.machine, by.tid)
    return 0


cdef int32_t process_set(SliceTables to, int kind, int32_t process, int32_t name) except -1 nogil:
    cdef TrackKey key
    memset(&key, 0, sizeof(TrackKey))
    key.kind = kind
    key.a = process
    key.b = name
    return to.tracks.lane_set(key)


cdef int32_t named_track(SliceTables to, Span name, uint32_t machine) except -1 nogil:
    """A track that belongs to no process, by its name."""
    cdef TrackKey key
    memset(&key, 0, sizeof(TrackKey))
    key.kind = TRACK_BY_NAME
    key.a = to.strings.code_foreign(name)
    key.b = machine
    return to.tracks.intern(key, <int32_t>key.a, NONE, NONE)


cdef int kill(SliceTables to, const Writer *by, int64_t pid) except -1 nogil:
    """An instant on a track of its own for a process that was killed to free memory."""
    cdef int32_t process = to.processes.process(by.machine, pid)
    cdef TrackKey key
    cdef int32_t track
    memset(&key, 0, sizeof(TrackKey))
    key.kind = TRACK_KILLED
    key.a = process
    track = to.tracks.intern(
        key, to.strings.code(<const uint8_t *>b"LMK", 3), NONE, process
    )
    to.slices.start(
        by.ts, 0, track, NO_NAME, to.strings.code(<const uint8_t *>b"mem.lmk", 7), by.number
    )
    return 0


cdef int note_killed(SliceTables to, const Writer *by, Span name) except -1 nogil:
    """PostProcessSpecialSliceBegin: "lmk,PID,REASON,OOM ADJ,..." names the killed process."""
    cdef Span[4] parts
    cdef int64_t pid, adj
    cdef int i
    if name.end - name.data < 4 or memcmp(name.data, b"lmk,", 4) != 0:
        return 0
    for i in range(4):
        parts[i].data = name.data
        while name.data < name.end and name.data[0] != c",":
            name.data += 1
        parts[i].end = name.data
        if is_empty(parts[i]):
            return 0
        if name.data < name.end:
            name.data += 1
    if read_number(parts[1], &pid) and read_number(parts[3], &adj) and pid >> 32 == 0:
        return kill(to, by, pid)
    return 0
