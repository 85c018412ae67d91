# Names of threads in systrace's text, line by line.
#
# Follows ParseLine of Perfetto's src/trace_processor/importers/systrace/systrace_line_parser.cc.

cdef enum:
    MACHINE = 0


cdef int name_by_line(SliceTables to, const Entry *e, Span task, Span args) except -1 nogil:
    """Name the thread that wrote a line, and those that the line is about."""
    cdef int32_t thread = to.processes.thread(MACHINE, e.tid)
    # ftrace knows not all tasks.
    if not same(task.data, task.end - task.data, b"<...>", 5):
        to.processes.name_thread(thread, to.strings.code_foreign(task), THREAD_BY_FTRACE)
    if e.flags & HAS_PID:
        to.processes.update_thread(MACHINE, e.tid, e.pid)
    if e.category == LINE_SCHED_SWITCH:
        name_task(to, value_of(args, b"next_pid=", 9), value_of(args, b"next_comm=", 10))
        name_task(to, value_of(args, b"prev_pid=", 9), value_of(args, b"prev_comm=", 10))
    elif e.category == LINE_SCHED_WAKING:
        name_task(to, value_of(args, b"pid=", 4), value_of(args, b"comm=", 5))
    return 0


cdef Span value_of(Span args, const char *key, int64_t n) noexcept nogil:
    """What follows a key that has its "=", up to the next space; not set without the key."""
    cdef Span word
    cdef const uint8_t *p = args.data
    while p < args.end:
        word.data = p
        while p < args.end and p[0] != c" ":
            p += 1
        word.end = p
        if word.end - word.data >= n and memcmp(word.data, key, <size_t>n) == 0:
            word.data += n
            return word
        p += 1
    return nothing()


cdef int name_task(SliceTables to, Span tid, Span comm) except -1 nogil:
    """Name a thread as the scheduler does."""
    cdef int64_t number = 0
    if not is_set(tid) or tid.data == tid.end or tid.end - tid.data > 10:
        return 0
    while tid.data < tid.end:
        if not c"0" <= tid.data[0] <= c"9":
            return 0
        number = 10 * number + (tid.data[0] - c"0")
        tid.data += 1
    if number >> 32:
        return 0
    return to.processes.name_thread(
        to.processes.thread(MACHINE, number),
        to.strings.code_foreign(comm) if is_set(comm) else <int32_t>NO_NAME,
        THREAD_BY_FTRACE,
    )


# Replays the log of slices in order of time: threads, tracks, and what begins and ends on them.
#
# Follows Perfetto's src/trace_processor/importers/json/json_trace_parser.cc; nesting is
# `slices.stacks`.

cdef enum:
    NONE = -1
    THREAD_BY_EVENT = 0             # the lowest priority of a thread's name
    BETWEEN_SIGNALS = 0xFFFF        # entries, less one: some ms of them


def replay(
    JsonSliceLog log not None, SliceTables to not None, const int32_t[::1] order, bint exact,
    Flows flows=None,
):
    """Make slices of the entries, each once, in this order; exact: by times as they are written.

    flows: gets those of the log, of the slices that are made. Returns int32[n], in order: the complete events that cross others of their thread.
    """
    cdef int64_t i
    cdef Replay state = Replay()
    for i in range(order.shape[0]):
        if not 0 <= order[i] < log.n:
            raise IndexError("there are not so many entries")
    state.log = log
    state.flows = flows
    state.to = to
    state.exact = exact
    state.seed = int.from_bytes(os.urandom(8), "little")
    state.first_names = Memos(state.seed)
    state.spills = Spills(to.tracks)
    state.unnamed = to.strings.add("[No name]")
    if log.any_line and not log.any_event:
        # In systrace's own text, pid 0 is the kernel's.
        to.processes.set_idle(MACHINE, to.strings.add("swapper"))
    with nogil:
        for i in range(order.shape[0]):
            if i & BETWEEN_SIGNALS == 0:
                with gil:
                    PyErr_CheckSignals()
            state.take(order[i])
    return copied(np.empty(state.n_spilled, np.int32), state.spilled)


cdef class Replay:
    """One replay of a log."""

    cdef JsonSliceLog log
    cdef SliceTables to
    cdef Flows flows                # None: none are read
    cdef Memos first_names
    cdef Spills spills
    cdef uint64_t seed
    cdef int32_t unnamed            # the name of a slice without one
    cdef bint exact
    cdef int32_t *spilled
    cdef int64_t n_spilled, spilled_capacity

    def __dealloc__(self):
        free(self.spilled)

    cdef int take(self, int32_t number) except -1 nogil:
        """One entry, and what it says of flows."""
        cdef Entry *e = &self.log.entries[number]
        cdef int64_t before = self.to.slices.n
        cdef int32_t thread = NONE, track = NONE
        if e.flags & IS_LINE:
            self.take_line(number, e)
        else:
            thread = self.thread_of(e)
            self.take_event(number, e, thread)
        if self.flows is None:
            return 0
        if self.to.slices.n > before:
            track = self.to.slices.slices[before].track
            self.flows.arrive(track, <int32_t>before)
        if e.phase == c"s" or e.phase == c"t" or e.phase == c"f":
            return self.take_flow(e, self.to.thread_track(thread))
        return self.bind_flow(e, thread, track) if e.flags & HAS_FLOW else 0

    cdef int take_flow(self, Entry *e, int32_t track) except -1 nogil:
        """An event of a flow, on the track of its thread."""
        cdef uint64_t flow
        if not e.flags & HAS_FLOW:
            self.flows.without_id += 1
            return 0
        flow = self.flows.number(e.flow, e.category, e.name)
        if e.phase == c"s":
            return self.flows.begin(track, flow)
        if e.phase == c"t":
            return self.flows.step(track, flow)
        return self.flows.end(track, flow, e.flags & BINDS_AROUND != 0)

    cdef int bind_flow(self, Entry *e, int32_t thread, int32_t track) except -1 nogil:
        """MaybeAddFlow, where the slice is, or would be on the track of its thread."""
        if e.phase == c"X" and not e.flags & HAS_DURATION:
            return 0
        if track == NONE:
            track = self.to.thread_track(thread)
        if e.flags & FLOW_COMES and e.flags & FLOW_GOES:
            return self.flows.step(track, e.flow)
        if e.flags & FLOW_GOES:
            return self.flows.begin(track, e.flow)
        if e.flags & FLOW_COMES:
            return self.flows.end(track, e.flow, True)
        self.flows.without_direction += 1
        return 0

    cdef int take_event(self, int32_t number, Entry *e, int32_t thread) except -1 nogil:
        """ParseJsonPacket."""
        cdef int64_t ts = e.exact_ts if self.exact else e.ts
        cdef int32_t name = self.name_of(e)
        if e.phase == c"X":
            return self.complete(number, e, thread)
        if e.phase == c"B":
            self.to.slices.start(
                ts, OPEN, self.to.thread_track(thread), e.category, name, number
            )
        elif e.phase == c"E":
            self.to.slices.finish(
                ts, self.to.thread_track(thread), e.category, e.name, number
            )
        elif e.phase == c"b" or e.phase == c"e" or e.phase == c"n":
            return self.asynchronous(number, e)
        elif e.phase == c"i" or e.phase == c"I" or e.phase == c"R":
            return self.instant(number, e, thread)
        elif e.phase == c"M":
            return self.give_name(e, thread)
        return 0

    cdef int32_t name_of(self, Entry *e) noexcept nogil:
        """What a slice is called where one without a name has one all the same."""
        return self.unnamed if e.name == NO_NAME and not e.flags & NAME_LEFT_OUT else e.name

    cdef int32_t thread_of(self, Entry *e) except -1 nogil:
        """The thread of an event; a pid or tid that is a text is the name, too."""
        cdef int64_t pid = e.pid, tid = e.tid
        cdef int32_t process, thread
        if e.flags & PID_IS_TEXT:
            pid = self.log.text_number(<int32_t>e.pid)
            process = self.to.processes.process(MACHINE, pid)
            self.to.processes.name_process(process, <int32_t>e.pid, PROCESS_BY_SYSTEM)
        if e.flags & TID_IS_TEXT:
            tid = self.log.text_number(<int32_t>e.tid)
            thread = self.to.processes.thread(MACHINE, tid)
            self.to.processes.name_thread(thread, <int32_t>e.tid, THREAD_BY_EVENT)
        return self.to.processes.update_thread(MACHINE, tid, pid)

    cdef int complete(self, int32_t number, Entry *e, int32_t thread) except -1 nogil:
        """A complete event; one that crosses others goes on a track beside that of its thread."""
        cdef int64_t ts = e.exact_ts if self.exact else e.ts
        cdef int64_t dur = e.exact_dur if self.exact else e.value
        cdef int32_t name = self.name_of(e)
        cdef int32_t track = self.to.thread_track(thread)
        if not e.flags & HAS_DURATION or dur < 0:
            return 0
        if self.to.slices.start(ts, dur, track, e.category, name, number) != CROSSES:
            return 0
        grow(
            <void **>&self.spilled, &self.spilled_capacity, self.n_spilled + 1, sizeof(int32_t)
        )
        self.spilled[self.n_spilled] = number
        self.n_spilled += 1
        track = self.spills.track(thread, ts, dur)
        if track != NONE:
            self.to.slices.overlapping -= 1
            self.to.slices.start(ts, dur, track, e.category, name, number)
        return 0

    cdef int instant(self, int32_t number, Entry *e, int32_t thread) except -1 nogil:
        cdef int64_t ts = e.exact_ts if self.exact else e.ts
        cdef int32_t name = e.name, track
        if e.scope == SCOPE_GLOBAL:
            track = self.to.global_instants(MACHINE)
        elif e.scope == SCOPE_PROCESS:
            if not e.flags & HAS_PID:
                return 0
            track = self.to.process_instants(
                self.to.processes.threads[thread].process
            )
        else:
            if not e.flags & HAS_TID:
                return 0
            track = self.to.thread_track(thread)
            name = self.name_of(e)
        self.to.slices.start(ts, 0, track, e.category, name, number)
        return 0

    cdef int asynchronous(self, int32_t number, Entry *e) except -1 nogil:
        """InternLegacyAsyncTrack: matched by id and category; local ids within their process."""
        cdef int64_t ts = e.exact_ts if self.exact else e.ts, pid = e.pid, cookie
        cdef int32_t owner = NONE, process, set_, track, *first
        cdef TrackKey key
        if not e.flags & HAS_PID or not e.flags & HAS_ID:
            return 0
        if e.flags & PID_IS_TEXT:
            pid = self.log.text_number(<int32_t>e.pid)
        process = self.to.processes.process(MACHINE, pid)
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_ASYNC
        if e.flags & ID_IS_LOCAL:
            owner = process
            key.kind = TRACK_ASYNC_OF_PROCESS
        cookie = <int64_t>mix(mix(self.seed ^ <uint64_t>e.value) ^ <uint64_t>e.category)
        first = self.first_names.of(0, owner, cookie)
        if first[0] == UNSET:
            first[0] = e.name
        key.a = owner
        key.b = first[0]
        set_ = self.to.tracks.lane_set(key)
        if e.phase == c"b":
            track = self.to.tracks.begin(set_, cookie, False, e.name, NONE, owner)
            self.to.slices.start(ts, OPEN, track, e.category, self.name_of(e), number)
        elif e.phase == c"e":
            track = self.to.tracks.end(set_, cookie, e.name, NONE, owner)
            self.to.slices.finish(ts, track, e.category, e.name, number)
        else:
            self.to.tracks.begin(set_, cookie, False, e.name, NONE, owner)
            track = self.to.tracks.end(set_, cookie, e.name, NONE, owner)
            self.to.slices.start(ts, 0, track, e.category, e.name, number)
        return 0

    cdef int give_name(self, Entry *e, int32_t thread) except -1 nogil:
        """The name of a thread or process, of a metadata event."""
        cdef Span text
        cdef int32_t name, process
        if e.text_size == 0 or e.scope == NAMES_NOTHING:
            return 0
        text.data = self.log.texts.data + e.text
        text.end = text.data + e.text_size
        name = self.to.strings.code_foreign(text)
        if e.scope == NAMES_THREAD:
            return self.to.processes.name_thread(thread, name, THREAD_BY_EVENT)
        process = self.to.processes.threads[thread].process
        return self.to.processes.name_process(process, name, PROCESS_BY_SYSTEM)

    cdef int take_line(self, int32_t number, Entry *e) except -1 nogil:
        """SystraceLineParser::ParseLine: a line names its thread, and may be one of atrace."""
        cdef Span task, args
        cdef Mark mark
        cdef Writer by
        task.data = self.log.texts.data + e.text
        task.end = args.data = task.data + max(e.name, 0)
        args.end = task.data + e.text_size
        name_by_line(self.to, e, task, args)
        if e.category == LINE_PRINT and read_mark(args, &mark):
            by.number = number
            by.ts = e.exact_ts if self.exact else e.ts
            by.machine = MACHINE
            by.tid = e.tid
            make_slice(self.to, &by, &mark)
        return 0
