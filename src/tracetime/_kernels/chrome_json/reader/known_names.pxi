# What a first reading learns: names of processes and threads, when events are, clock syncs.

cdef extern from *:
    int __builtin_clzll(uint64_t) noexcept nogil

cdef enum:
    LONGEST_NAME = 1024
    MOST_SYNCS = 1000
    MOST_FLOWS = 1 << 20
    FLOW_COLUMNS = 4
    # of an event in a flow, as in trace/flows.py
    FLOW_BEGINS = 0
    FLOW_PASSES = 1
    FLOW_ENDS = 2
    SYNC_LENGTH = 24
    COARSEST_NS = 1000      # the unit of times in the file

cdef const char *SYNC = b"trace_event_clock_sync: "


cdef class KnownNames(EventObserver):
    """Names of processes and threads of a whole file; the last one counts.

    Args:
        limit: bytes that names may come to; what comes later is not kept, but counted.

    Attributes:
        left_out: names for which there was no room.
        n_timed: events and lines with a time; n_untimed: events that lack one, and are no
            metadata; n_overflowing: those beyond int64 ns; overflowing: index and text of the time
            of the first of them that are events.
        n_rounded: events with a time that is no whole number of ns.
        n_off: events that trace_processor places elsewhere than their text says; most_off: by how
            much at most, ns.
        first_ns, last_ns: the earliest and latest time, ns; first above last without any.
        line_syncs: (exact ns, text) of lines of systrace that say what another clock reads.
        n_long_phases: events whose phase has several letters, of which the first counts.
        n_endless: complete events without a duration that can be read.
        n_negative: those with one below 0.
        n_halves: events that begin or end a slice.
        n_wide_owners: events whose pid or tid is no number of 32 bits without sign; n_wide_alone:
            those of them of which that is true of the pid alone, and it is the first such pid.
        n_wider: those with a pid, tid or id beyond int64, which is cut to its end.
        time_step_ns, duration_step_ns, line_step_ns: what all times of events, durations of
            complete events, and times of lines are multiples of: 1000, 100, 10 or 1 ns; 0 without
            any.
        times, durations: those of events and of complete events, counted.
        magnitudes: (how many, earliest, latest, index of the first) of the events whose times in ns
            take as many bits, those with the fewest bits first; none of times below 0.
        launches: of PyTorch's profiler, the work of GPUs, calls of the runtime that did not fail,
            what the driver says of waiting ones, and the first operators, a row each: which of
            these it is, what it does (launches.pxi), index, begin, end, pid, tid, and of the
            arguments correlation, device, stream, the stream that it waits for, the call that
            recorded the event it waits for, and External id, -1 where there is none;
            int64[n, 13]. launches_left_out: those there was no room for.
        flows: the first events of flows, but for those from calls to GPUs: a hash of the flow, 0
            where it begins, 1 where it passes, 2 where it ends, ns, and index; int64[n, 4].
    """

    cdef uint64_t seed
    cdef Named *named
    cdef int64_t n, capacity, limit
    cdef HashTable table
    cdef Arena arena
    cdef Bytes scratch, valid
    cdef readonly int64_t left_out, n_timed, n_rounded, n_off, most_off, n_overflowing, n_untimed
    cdef readonly int64_t first_ns, last_ns, n_long_phases, n_endless, n_negative, n_halves
    cdef readonly int64_t n_wide_owners, n_wide_alone, n_wider
    cdef int64_t wide_pid   # the first that is wide; 0 if there is none
    cdef readonly int64_t time_step_ns, duration_step_ns, line_step_ns
    cdef Magnitude sized[MAGNITUDES]
    cdef readonly list line_syncs, overflowing
    cdef readonly StepCounts times, durations
    cdef int64_t *launched, n_launched, launched_capacity, n_operators
    cdef int64_t *flowing, n_flowing, flowing_capacity
    cdef readonly int64_t launches_left_out

    def __cinit__(self, int64_t limit):
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.limit = limit
        self.first_ns = INT64_HIGH
        self.last_ns = INT64_LOW
        self.line_syncs = []
        self.overflowing = []
        self.times = StepCounts()
        self.durations = StepCounts()

    def __dealloc__(self):
        free(self.named)
        free(self.launched)
        free(self.flowing)
        free_table(&self.table)
        free(self.scratch.data)
        free(self.valid.data)
        let_go(&self.arena)

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        self.count_odd(event)
        if event.phase == c"X":
            self.keep_launch(event)
        self.keep_flow(event)
        if event.phase == c"M":
            self.learn(event)
        elif event.phase == 0:
            self.n_untimed += not event.empty
        elif event.ts.state == TIME_KNOWN:
            self.count(event.ts.ns, event.ts.floor_ns, event.ts.rounded)
            narrow(&self.time_step_ns, event.ts.ns)
            self.times.note(event.ts.ns)
            self.measure(event.ts.ns, event.index)
            if event.phase == c"X" and event.dur.state == TIME_KNOWN:
                narrow(&self.duration_step_ns, event.dur.ns)
                self.durations.note(event.dur.ns)
                self.n_negative += event.dur.ns < 0
            elif event.phase == c"X":
                self.n_endless += 1
            elif event.phase in (c"B", c"E", c"b", c"e"):
                self.n_halves += 1
        elif event.ts.state == TIME_OVERFLOWS:
            self.n_overflowing += 1
            self.keep_overflowing(event)
        else:
            self.n_untimed += 1
        return False

    cdef int keep_overflowing(self, const JsonEvent *event) except -1 nogil:
        """Keep the time of an event as it is written."""
        cdef const uint8_t *at = event.data + 1
        cdef Value key, value
        cdef int64_t n
        if self.n_overflowing > MOST_SYNCS:
            return 0
        while next_member(&at, event.end, &key, &value):
            n = value.end - value.data
            if same(key.data, key.end - key.data, b"ts", 2) and n <= SYNC_LENGTH:
                with gil:
                    self.overflowing.append((event.index, (<const char *>value.data)[:n]))
        return 0

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        cdef int64_t n = line.args_end - line.args
        if line.state == TIME_KNOWN:
            self.count(line.ns, line.floor_ns, line.rounded)
            narrow(&self.line_step_ns, line.ns)
            if SYNC_LENGTH < n <= LONGEST_NAME and memcmp(line.args, SYNC, SYNC_LENGTH) == 0:
                with gil:
                    if len(self.line_syncs) < MOST_SYNCS:
                        self.line_syncs.append((line.ns, (<const char *>line.args)[:n]))
        else:
            self.n_overflowing += 1
        return False

    cdef int count_odd(self, const JsonEvent *event) noexcept nogil:
        """Note what is not taken as it stands."""
        cdef uint64_t both = <uint64_t>event.pid_number | <uint64_t>event.tid_number
        self.n_long_phases += event.long_phase
        if both >> 32:
            self.n_wide_owners += 1
            if not <uint64_t>event.tid_number >> 32:
                self.wide_pid = self.wide_pid or event.pid_number
                self.n_wide_alone += event.pid_number == self.wide_pid
            self.n_wider += is_cut(&event.pid) or is_cut(&event.tid)
        elif event.id.kind == NUMBER:
            self.n_wider += is_cut(&event.id)
        return 0

    cdef int keep_launch(self, const JsonEvent *event) except -1 nogil:
        """Keep what may order a GPU's clock against the CPU's."""
        cdef int64_t room = self.n_launched * LAUNCH_COLUMNS, size = LAUNCH_COLUMNS
        grow(
            <void **>&self.launched, &self.launched_capacity, room + size, sizeof(int64_t)
        )
        if not read_launch(event, self.launched + room):
            return 0
        if self.launched[room] == IS_OPERATOR:
            self.n_operators += 1
            self.n_launched += self.n_operators <= MOST_OPERATORS
        elif self.n_launched < MOST_LAUNCHES:
            self.n_launched += 1
        else:
            self.launches_left_out += 1
        return 0

    cdef int keep_flow(self, const JsonEvent *event) except -1 nogil:
        """Keep the place of an event in a flow."""
        cdef const Value *id = &event.id
        cdef int64_t *row
        cdef int64_t place = FLOW_PASSES
        cdef uint64_t hash = self.seed
        if event.phase == c"s" or event.phase == c"f":
            place = FLOW_BEGINS if event.phase == c"s" else FLOW_ENDS
        elif event.phase != c"t":
            if event.bind_id.kind == ABSENT:
                return 0
            id = &event.bind_id
            if (event.flow_out.kind == TRUE_VALUE) != (event.flow_in.kind == TRUE_VALUE):
                place = FLOW_BEGINS if event.flow_out.kind == TRUE_VALUE else FLOW_ENDS
        if (
            id.kind == ABSENT or event.ts.state != TIME_KNOWN or self.n_flowing == MOST_FLOWS
            or is_launch_flow(event)
        ):
            return 0
        grow(
            <void **>&self.flowing, &self.flowing_capacity, (self.n_flowing + 1) * FLOW_COLUMNS,
            sizeof(int64_t),
        )
        if id == &event.id:
            hash = hash_bytes(hash, event.cat.data, event.cat.end - event.cat.data)
            hash = hash_bytes(hash, event.name.data, event.name.end - event.name.data)
        row = self.flowing + self.n_flowing * FLOW_COLUMNS
        row[0] = <int64_t>hash_bytes(hash, id.data, id.end - id.data)
        row[1], row[2], row[3] = place, event.ts.ns, event.index
        self.n_flowing += 1
        return 0

    @property
    def flows(self):
        found = copied(np.empty(self.n_flowing * FLOW_COLUMNS, np.int64), self.flowing)
        return found.reshape(-1, FLOW_COLUMNS)

    @property
    def launches(self):
        found = copied(np.empty(self.n_launched * LAUNCH_COLUMNS, np.int64), self.launched)
        return found.reshape(-1, LAUNCH_COLUMNS)

    @property
    def magnitudes(self):
        return [
            (one.n, one.least_ns, one.most_ns, one.first)
            for one in self.sized[:MAGNITUDES] if one.n
        ]

    cdef int measure(self, int64_t ns, int64_t index) noexcept nogil:
        """Note how large the time of an event is."""
        cdef Magnitude *one
        if ns < 0:
            return 0
        one = &self.sized[64 - __builtin_clzll(<uint64_t>ns) if ns else 0]
        if one.n == 0:
            one.least_ns, one.most_ns, one.first = ns, ns, index
        one.n += 1
        one.least_ns = min(one.least_ns, ns)
        one.most_ns = max(one.most_ns, ns)
        return 0

    cdef int count(self, int64_t ns, int64_t floor_ns, bint rounded) noexcept nogil:
        """Note the time of an event."""
        cdef int64_t off = floor_ns - ns
        self.n_timed += 1
        self.n_rounded += rounded
        self.first_ns = min(self.first_ns, ns)
        self.last_ns = max(self.last_ns, ns)
        if off:
            self.n_off += 1
            self.most_off = max(self.most_off, off, -off)
        return 0

    cdef int learn(self, const JsonEvent *event) except -1 nogil:
        """Take the name that a metadata event gives."""
        cdef const uint8_t *at = event.args.data + 1
        cdef int64_t n = event.name.end - event.name.data
        cdef bint is_thread = same(event.name.data, n, b"thread_name", 11)
        cdef Value key, value
        if not is_thread and not same(event.name.data, n, b"process_name", 12):
            return 0
        if event.args.kind != OBJECT or not is_number(&event.pid):
            return 0
        if is_thread and not is_number(&event.tid):
            return 0
        while next_member(&at, event.args.end, &key, &value):
            if value.kind == STRING and same(key.data, key.end - key.data, b"name", 4):
                self.call(event.pid_number, event.tid_number if is_thread else 0, is_thread, &value)
        return 0

    cdef int call(
        self, int64_t pid, int64_t tid, bint is_thread, const Value *name
    ) except -1 nogil:
        cdef int64_t i = self.find(pid, tid, is_thread), held
        cdef Span text = text_of(name, &self.scratch)
        held = self.capacity * <int64_t>sizeof(Named) + bytes_of(&self.table) + self.arena.held
        if held >= self.limit:
            self.left_out += 1
            return 0
        if i < 0:
            grow(<void **>&self.named, &self.capacity, self.n + 1, sizeof(Named))
            i = self.n
            self.named[i].pid = pid
            self.named[i].tid = tid
            self.named[i].is_thread = is_thread
            self.n += 1
            add_index(&self.table, self.hash(pid, tid, is_thread), i)
        elif same(
            text.data, text.end - text.data, <const char *>self.named[i].name.data,
            self.named[i].name.size,
        ):
            return 0
        self.valid.n = 0
        put_text(&self.valid, text.data, text.end - text.data, LONGEST_NAME)
        self.named[i].name.data = keep_bytes(&self.arena, self.valid.data, self.valid.n)
        self.named[i].name.size = <uint32_t>self.valid.n
        self.named[i].name.batch = -1
        return 0

    cdef uint64_t hash(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil:
        return mix(mix(self.seed ^ <uint64_t>pid) ^ <uint64_t>tid ^ <uint64_t>is_thread << 63)

    cdef int64_t find(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil:
        """The index of a process (tid 0) or thread; -1 where nothing names it."""
        cdef uint64_t hash = self.hash(pid, tid, is_thread), slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        while i >= 0 and (
            self.named[i].pid != pid or self.named[i].tid != tid
            or self.named[i].is_thread != is_thread
        ):
            i = next_match(&self.table, hash, &slot)
        return i


cdef inline void narrow(int64_t *step_ns, int64_t ns) noexcept nogil:
    """Make a step one that divides a time, too."""
    if step_ns[0] == 0:
        step_ns[0] = COARSEST_NS
    while ns % step_ns[0]:
        step_ns[0] //= 10


cdef inline bint is_cut(const Value *value) noexcept nogil:
    """Whether a number is at an end of int64, or beyond."""
    cdef int64_t number = number_of(value)
    return number == INT64_HIGH or number == INT64_LOW


cdef inline bint is_number(const Value *value) noexcept nogil:
    return value.kind == NUMBER or value.kind == DECIMAL
