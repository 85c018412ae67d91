# The log of slices of Chrome's JSON: its events, kept until they can be sorted by time.
#
# Follows ParseTraceEventContents of Perfetto's src/trace_processor/importers/json/json_trace_tokenizer.cc;
# what follows from an event in order of time is in replay.pxi.

cdef enum:
    LONGEST_ARGS = 1 << 20      # of one event; longer ones are left out
    # The texts of an event, by their place in an array of their codes.
    NAME = 0
    CATEGORY = 1
    PID = 2
    TID = 3
    ID = 4
    GLOBAL_ID = 5
    LOCAL_ID = 6
    BIND_ID = 7
    TEXTS = 8


cdef class JsonSliceLog(EventObserver):
    """The events and lines of a file that make slices, or name threads and processes.

    names_limit: bytes that strings may take, and once more the names that events give. limit: of
    entries; what comes later is counted as `left_out`. args_limit: bytes of arguments to keep; 0:
    none are read. flows: whether the events of flows are kept, too.

    Attributes:
        untimed: events without a time that trace_processor takes.
        n_moved: entries whose time or duration trace_processor rounds.
    """

    cdef readonly Strings strings
    cdef Entry *entries
    cdef int64_t n, capacity, limit
    cdef Bytes args, texts, scratch
    cdef int64_t args_limit, texts_limit, texts_left_out
    cdef readonly int64_t left_out, untimed, n_moved
    cdef uint64_t seed
    # How far trace_processor's queue of events was in order as it was filled.
    cdef int64_t latest_ns, sorted_from_ns
    cdef bint slow, any_event, any_line, flows

    def __cinit__(self, int64_t names_limit, int64_t limit, int64_t args_limit, bint flows=False):
        # Keys come from a file: a random seed keeps it from choosing keys whose slots collide.
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.strings = Strings(self.seed, names_limit)
        self.texts_limit = names_limit
        self.limit = min(limit, 0x7FFFFFFF)
        self.args_limit = args_limit
        self.flows = flows
        self.sorted_from_ns = INT64_HIGH

    def __dealloc__(self):
        free(self.entries)
        free(self.args.data)
        free(self.texts.data)
        free(self.scratch.data)

    def __len__(self):
        return self.n

    @property
    def names_left_out(self):
        """How many names and arguments there was no room for."""
        return self.strings.left_out + self.texts_left_out

    # Logging

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        cdef int32_t codes[TEXTS]
        cdef uint8_t phase = event.phase
        cdef int64_t ts = 0, exact_ts = 0
        cdef Entry *e
        self.code_texts(event, codes)
        if phase == 0 or phase == c"P":
            return False
        if event.ts.state == TIME_KNOWN:
            ts = event.ts.floor_ns
            exact_ts = event.ts.ns
        elif phase != c"M":
            self.untimed += 1
            return False
        if ts < 0:
            self.untimed += 1
            return False
        self.queue(ts, phase)
        if (
            not matters(phase) and not (self.flows and is_of_flow(phase))
            and event.pid.kind != STRING and event.tid.kind != STRING
        ):
            return False
        e = self.add(ts, exact_ts)
        if e == NULL:
            return False
        e.phase = phase
        e.name = codes[NAME]
        e.category = codes[CATEGORY]
        if e.name == NO_NAME and event.name.kind == STRING and event.name.end > event.name.data:
            e.flags |= NAME_LEFT_OUT
        self.take_owners(e, event, codes)
        if phase == c"M":
            return self.take_naming(e, event)
        self.take_flow(e, event)
        if is_of_flow(phase):
            return False
        if phase == c"X" and event.dur.state == TIME_KNOWN:
            e.flags |= HAS_DURATION
            e.value = event.dur.floor_ns
            e.exact_dur = event.dur.ns
            self.n_moved += e.ts == e.exact_ts and e.value != e.exact_dur
        elif phase == c"b" or phase == c"e" or phase == c"n":
            self.take_id(e, event, codes)
        elif phase == c"i" or phase == c"I" or phase == c"R":
            e.scope = scope_of(&event.instant_scope)
        return self.keep_args(e, event)

    cdef int32_t code(self, const Value *value) except -2 nogil:
        """The number of a string."""
        return self.strings.code_foreign(text_of(value, &self.scratch))

    cdef int code_texts(self, const JsonEvent *event, int32_t *codes) except -1 nogil:
        """The numbers of all texts of an event, in the order in which it has them.

        trace_processor uses the place of a text among all others as a number.
        """
        cdef const Value *texts[TEXTS]
        cdef int places[TEXTS]
        cdef const Value *text
        cdef int i, at, n = 0
        texts[NAME] = &event.name
        texts[CATEGORY] = &event.cat
        texts[PID] = &event.pid
        texts[TID] = &event.tid
        texts[ID] = &event.id
        texts[GLOBAL_ID] = &event.id2_global
        texts[LOCAL_ID] = &event.id2_local
        texts[BIND_ID] = &event.bind_id
        for i in range(TEXTS):
            codes[i] = NO_NAME
            text = texts[i]
            if text.kind != STRING or i <= CATEGORY and text.end == text.data:
                continue
            at = n
            while at and texts[places[at - 1]].data > text.data:
                places[at] = places[at - 1]
                at -= 1
            places[at] = i
            n += 1
        for i in range(n):
            codes[places[i]] = self.code(texts[places[i]])
        return 0

    cdef int64_t text_number(self, int32_t code) noexcept nogil:
        """The number that stands for a text as a pid, tid or id."""
        cdef int64_t start = self.strings.ends[code - 1] if code > 0 else 0
        return <int64_t>FIRST_STRING + start + <int64_t>STRING_OVERHEAD * max(code, 0)

    cdef int queue(self, int64_t ts, uint8_t phase) noexcept nogil:
        """TraceSorter::Queue::Append: note where the queue has to be sorted from."""
        self.slow = self.slow or phase == c"X"
        if ts > self.latest_ns or (not self.slow and ts == self.latest_ns):
            self.latest_ns = ts
        else:
            self.sorted_from_ns = min(self.sorted_from_ns, ts)
        self.any_event = True
        return 0

    cdef Entry *add(self, int64_t ts, int64_t exact_ts) except? NULL nogil:
        """A new entry, to be filled; NULL where it is left out."""
        cdef Entry *e
        if self.n >= self.limit:
            self.left_out += 1
            return NULL
        grow(<void **>&self.entries, &self.capacity, self.n + 1, sizeof(Entry))
        e = &self.entries[self.n]
        memset(e, 0, sizeof(Entry))
        e.ts = ts
        e.exact_ts = exact_ts
        e.name = e.category = NO_NAME
        self.n_moved += ts != exact_ts
        self.n += 1
        return e

    cdef int take_owners(
        self, Entry *e, const JsonEvent *event, const int32_t *codes
    ) noexcept nogil:
        """The process and thread; a thread that is not given is the main one."""
        if event.pid.kind == STRING:
            e.pid = <uint32_t>codes[PID]
            e.flags |= HAS_PID | PID_IS_TEXT
        elif event.pid.kind == NUMBER or event.pid.kind == DECIMAL:
            e.pid = narrowed(event.pid_number)
            e.flags |= HAS_PID
        if event.tid.kind == STRING:
            e.tid = <uint32_t>codes[TID]
            e.flags |= HAS_TID | TID_IS_TEXT
            return 0
        if event.tid.kind == NUMBER or event.tid.kind == DECIMAL:
            e.tid = narrowed(event.tid_number)
            e.flags |= HAS_TID
        if e.tid == 0:
            e.tid = e.pid
            if e.flags & PID_IS_TEXT:
                e.tid = <uint32_t>self.text_number(codes[PID])
        return 0

    cdef int take_id(
        self, Entry *e, const JsonEvent *event, const int32_t *codes
    ) except -1 nogil:
        """What matches begins and ends: the id, else the global one of id2, else its local one."""
        cdef int which = ID
        cdef const Value *value = &event.id
        cdef Span text
        if not is_id(value):
            which = GLOBAL_ID
            value = &event.id2_global
        if not is_id(value):
            which = LOCAL_ID
            value = &event.id2_local
            e.flags |= ID_IS_LOCAL
        if not is_id(value):
            return 0
        e.flags |= HAS_ID
        if value.kind == STRING and codes[which] == NO_NAME:
            # There is no room for it among the names.
            text = text_of(value, &self.scratch)
            e.value = <int64_t>hash_bytes(self.seed, text.data, text.end - text.data)
        elif value.kind == STRING:
            e.value = self.text_number(codes[which])
        else:
            read_whole(value, &e.value)
        return 0

    cdef int take_flow(self, Entry *e, const JsonEvent *event) except -1 nogil:
        """The flow that the event is of, by its id, or that its slice is, by bind_id."""
        cdef bint is_flow = is_of_flow(e.phase)
        if not is_flow and not is_bound(e.phase):
            return 0
        if read_flow_id(&event.id if is_flow else &event.bind_id, &self.scratch, &e.flow):
            e.flags |= HAS_FLOW
        if event.flow_in.kind == TRUE_VALUE:
            e.flags |= FLOW_COMES
        if event.flow_out.kind == TRUE_VALUE:
            e.flags |= FLOW_GOES
        if event.bp.kind == STRING and same(event.bp.data, event.bp.end - event.bp.data, b"e", 1):
            e.flags |= BINDS_AROUND
        return 0

    cdef int take_naming(self, Entry *e, const JsonEvent *event) except -1 nogil:
        """The name that a metadata event gives: the last one that it has."""
        cdef const uint8_t *at = event.args.data + 1
        cdef Value key, value
        if event.args.kind != OBJECT:
            return 0
        if self.strings.equals(e.name, b"thread_name"):
            e.scope = NAMES_THREAD
        elif self.strings.equals(e.name, b"process_name"):
            e.scope = NAMES_PROCESS
        else:
            return 0
        while next_member(&at, event.args.end, &key, &value):
            if value.kind == STRING and value.end > value.data and same(
                key.data, key.end - key.data, b"name", 4
            ):
                self.keep_text(e, text_of(&value, &self.scratch))
        return 0

    cdef int keep_text(self, Entry *e, Span text) except -1 nogil:
        if self.texts.n + (text.end - text.data) > self.texts_limit:
            self.texts_left_out += 1
            return 0
        e.text = self.texts.n
        e.text_size = <int32_t>(text.end - text.data)
        return put_bytes(&self.texts, text.data, text.end - text.data)

    cdef int keep_args(self, Entry *e, const JsonEvent *event) except -1 nogil:
        """Keep the arguments as they are written, but for bytes that are no text."""
        cdef const uint8_t *p = event.args.data + 1, *last
        cdef int64_t n
        if event.args.kind != OBJECT or self.args_limit == 0:
            return 0
        last = event.args.end - 1
        while p < last and is_space(p[0]):
            p += 1
        if p >= last:
            return 0
        n = event.args.end - event.args.data
        if n > LONGEST_ARGS or self.args.n + n > self.args_limit:
            self.texts_left_out += 1
            return 0
        e.text = self.args.n
        if is_utf8(event.args.data, event.args.end):
            put_bytes(&self.args, event.args.data, n)
        else:
            # A byte becomes three at most.
            put_text(&self.args, event.args.data, n, 3 * n)
        e.text_size = <int32_t>(self.args.n - e.text)
        return 0

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        cdef Entry *e
        cdef int64_t task = line.task_end - line.task, n = line.event_end - line.event
        cdef int64_t size = line.args_end - line.args
        cdef LineKind kind = kind_of_line(line.event, n)
        if line.state != TIME_KNOWN or line.floor_ns < 0:
            self.untimed += 1
            return False
        if kind == LINE_OTHER:
            size = 0
        self.any_line = True
        e = self.add(line.floor_ns, line.ns)
        if e == NULL:
            return False
        e.flags = IS_LINE | HAS_TID
        e.tid = line.pid
        if line.has_tgid:
            e.pid = line.tgid
            e.flags |= HAS_PID
        e.category = kind
        if self.texts.n + task + size > self.texts_limit:
            self.texts_left_out += 1
            e.category = LINE_OTHER
            e.name = 0
            return False
        e.text = self.texts.n
        e.name = <int32_t>task
        e.text_size = <int32_t>(task + size)
        put_bytes(&self.texts, line.task, task)
        put_bytes(&self.texts, line.args, size)
        return False

    # Reading the log

    def order(self, bint exact):
        """The entries in the order in which trace_processor takes them; exact: were times exact."""
        cdef int64_t i
        cdef int64_t[::1] ts = (times := np.empty(self.n, np.int64))
        cdef int32_t[::1] queue
        with nogil:
            for i in range(self.n):
                ts[i] = self.entries[i].exact_ts if exact else self.entries[i].ts
        order = np.argsort(times, kind="stable").astype(np.int32)
        if self.slow:
            # Of one time, by what comes first.
            sorted_times = times[order]
            equal = sorted_times[1:] == sorted_times[:self.n - 1]
            tied = np.zeros(self.n, np.bool_)
            tied[1:] = equal
            tied[:self.n - 1] |= equal
            entries = order[tied]
            order[tied] = entries[np.lexsort((self.keys(entries, exact), times[entries]))]
        if not self.any_line:
            return order
        queue = (queues := np.empty(self.n, np.int32))
        for i in range(self.n):
            queue[i] = QUEUE_LINES if self.entries[i].flags & IS_LINE else QUEUE_EVENTS
        return order[in_order(np.maximum(times[order], 0), queues[order], QUEUES)]

    cdef keys(self, const int32_t[::1] entries, bint exact):
        """TraceSorter, KeyForType: of one time, ends come first, then the longest complete event.

        Before where the queue is sorted from, events stay as they are.
        """
        cdef int64_t i, from_ns = INT64_LOW if exact else self.sorted_from_ns, dur
        cdef Entry *e
        cdef int64_t[::1] key = (keys := np.zeros(entries.shape[0], np.int64))
        for i in range(entries.shape[0]):
            e = &self.entries[entries[i]]
            if e.ts < from_ns:
                continue
            key[i] = INT64_HIGH
            if e.phase == c"E":
                key[i] = INT64_LOW
            elif e.phase == c"X":
                dur = e.exact_dur if exact else e.value
                if not e.flags & HAS_DURATION:
                    dur = INT64_HIGH
                key[i] = <int64_t>(<uint64_t>INT64_HIGH - <uint64_t>dur)
        return keys

    def times(self):
        """What the file says of each entry: (time, duration, kind), int64 ns and uint8.

        The duration is that of a complete event, else 0. Kinds: 0 an event, 1 a complete event with
        a duration, 2 a line.
        """
        cdef int64_t i
        cdef Entry *e
        cdef int64_t[::1] ts = (times := np.empty(self.n, np.int64))
        cdef int64_t[::1] dur = (durations := np.empty(self.n, np.int64))
        cdef uint8_t[::1] kind = (kinds := np.empty(self.n, np.uint8))
        with nogil:
            for i in range(self.n):
                e = &self.entries[i]
                ts[i] = e.exact_ts
                dur[i] = e.exact_dur
                kind[i] = 2 if e.flags & IS_LINE else 1 if e.flags & HAS_DURATION else 0
        return times, durations, kinds

    def device_pids(self):
        """The pid of each entry that a GPU's clock has stamped, int64; -1 of others."""
        cdef int64_t i
        cdef Entry *e
        cdef int64_t[::1] pid = (pids := np.full(self.n, -1, np.int64))
        for i in range(self.n):
            e = &self.entries[i]
            if e.flags & HAS_PID and not e.flags & (PID_IS_TEXT | IS_LINE) and self.is_of_gpu(e):
                pid[i] = e.pid
        return pids

    cdef bint is_of_gpu(self, const Entry *e):
        """As `is_of_gpu` of the reader."""
        return (
            self.strings.equals(e.category, b"kernel")
            or self.strings.equals(e.category, b"gpu_memcpy")
            or self.strings.equals(e.category, b"gpu_memset")
            or self.strings.equals(e.category, b"gpu_user_annotation")
            or e.phase != c"s" and self.strings.equals(e.category, b"ac2g")
        )

    def move(self, const int64_t[::1] by_ns):
        """Move each entry."""
        cdef int64_t i
        for i in range(self.n):
            self.entries[i].ts += by_ns[i]
            self.entries[i].exact_ts += by_ns[i]

    def args_of(self, const int32_t[::1] begin, const int32_t[::1] end, int64_t most):
        """The arguments of slices, by the entries they begin and end with; see `joined_args`."""
        return joined_args(self, args_at, self.n, begin, end, most)


cdef Span args_at(object log, int32_t entry) noexcept:
    """The arguments of an entry; see `ArgsAt`."""
    cdef JsonSliceLog self = <JsonSliceLog>log
    cdef Entry *e = &self.entries[entry]
    if e.flags & IS_LINE or e.phase == c"M" or e.text_size == 0:
        return nothing()
    return Span(self.args.data + e.text, self.args.data + e.text + e.text_size)
