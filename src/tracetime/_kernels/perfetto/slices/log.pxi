# The log of slices: events and descriptors of a trace, kept until they can be sorted by time.

# The kind of an entry; the comment says what its `payload` holds.
cdef enum EntryKind:
    ENTRY_TRACK_EVENT = 0           # its debug annotations, as JSON
    ENTRY_TRACK_DESCRIPTOR = 1      # the message, as of all the others
    ENTRY_THREAD_DESCRIPTOR = 2
    ENTRY_PROCESS_DESCRIPTOR = 3
    ENTRY_PROCESS_TREE = 4
    ENTRY_FRAME = 5
    ENTRY_FTRACE = 6                # the event within
    ENTRY_SCHED_SWITCH = 7          # nothing

cdef enum EntryFlag:
    HAS_TYPE = 1
    HAS_PHASE = 2
    HAS_TRACK_UUID = 4              # of its own, not by its sequence's defaults

cdef enum IdKind:
    ID_NONE = 0
    ID_GLOBAL = 1
    ID_LOCAL = 2

# One entry of the log; entries are replayed in order of time.
cdef struct Entry:
    int64_t ts
    int64_t row                     # of the events table
    uint64_t track                  # uuid
    int64_t payload
    int32_t payload_size
    int32_t name                    # of an ftrace event: its field in FtraceEvent
    int32_t category
    int32_t thread                  # of its sequence, an index of `threads`; of ftrace: its pid
    int32_t legacy                  # index of `legacies`
    uint16_t machine
    uint8_t kind
    uint8_t flags
    uint8_t type
    uint8_t phase

# The fields that only legacy track events have.
cdef struct Legacy:
    int64_t id
    int64_t duration_ns
    int32_t id_scope                # a string
    int32_t pid
    int64_t tid
    uint8_t id_kind
    uint8_t instant_scope
    bint has_pid
    bint has_tid

# The thread that a packet sequence names as its own until its state is cleared.
cdef struct SequenceThread:
    int64_t tid
    int32_t pid
    bint is_known

# What an id refers to, by the kind of the id.
cdef enum MemoKind:
    MEMO_FIRST_NAME = 0             # of an asynchronous id: a string; of a process, the next one
    MEMO_FIRST_NAME_OF_PROCESS = 1
    MEMO_FRAME = 2                  # a cookie of the frame timeline: its process and track
    MEMO_FRAME_TOKEN = 3            # expected by a process
    MEMO_TRANSACTION = 4            # of binder: what kind it is of
    MEMO_FENCE = 5                  # a context of fences: its timeline

# The pending fences of one context, in order; the first one is an open slice.
cdef struct Fence:
    int32_t next
    uint32_t number

cdef struct FenceTimeline:
    int32_t track
    int32_t first
    int32_t last
    bint has_emit

cdef struct SequenceState:
    int32_t thread                  # an index of `threads`
    bint has_reference
    Bytes defaults                  # TrackEventDefaults, where those name extra counters
    int64_t known_counters          # how many of its first extra counters are known tracks

# From when on the ftrace events of a machine count.
cdef struct FtraceStart:
    int64_t started_ns              # when tracing started, in trace time
    int64_t valid_ns                # from when on all of its buffers hold their events
    bint keeps                      # whether events from before the start are used


cdef class SliceLog:
    """The entries of a trace, and the tables that they become.

    process_names, thread_names: by Chrome's types, "" for none. names_limit: bytes that strings may
    take, and once more interned data, and descriptors. limit: of entries; what comes later is
    counted as `left_out`. args_limit: bytes of debug annotations to keep; 0: none are read.
    """

    cdef readonly SliceTables tables
    cdef readonly Strings strings       # those of the tables, as the next three
    cdef readonly Processes processes
    cdef readonly Tracks tracks
    cdef readonly Slices slices
    cdef TrackTree tree
    cdef InternedData interned
    cdef Entry *entries
    cdef int64_t n, capacity, limit
    cdef int32_t *queues                # of the entries
    cdef int64_t queues_capacity
    cdef Legacy *legacies
    cdef int64_t n_legacies, legacies_capacity
    cdef SequenceThread *threads
    cdef int64_t n_threads, threads_capacity
    cdef SequenceState *sequences
    cdef int64_t n_sequences, sequences_capacity
    cdef Bytes args, payloads, scratch
    cdef int32_t *comms                 # the names of one compact_sched
    cdef int64_t comms_capacity
    cdef int64_t base                   # row of the events table of the first of the batch at hand
    cdef int64_t args_limit, args_left_out
    cdef readonly int64_t left_out
    cdef uint64_t seed
    cdef HashTable queue_table
    cdef uint64_t *queue_keys
    cdef int64_t n_queues, queue_keys_capacity
    cdef Memos memos
    cdef FenceTimeline *timelines
    cdef int64_t n_timelines, timelines_capacity
    cdef Fence *fences
    cdef int64_t n_fences, fences_capacity
    cdef FtraceStart *ftrace            # by machine
    cdef int64_t n_ftrace, ftrace_capacity
    cdef int32_t *process_names         # of Chrome's types of processes
    cdef int32_t *thread_names
    cdef int64_t n_process_names, n_thread_names

    def __cinit__(
        self, process_names, thread_names, int64_t names_limit, int64_t limit,
        int64_t args_limit
    ):
        cdef int64_t i
        # Keys come from a file: a random seed keeps it from choosing keys whose slots collide.
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.strings = Strings(self.seed, names_limit)
        self.memos = Memos(self.seed)
        self.tables = SliceTables(self.strings, self.seed, limit)
        self.processes = self.tables.processes
        self.tracks = self.tables.tracks
        self.slices = self.tables.slices
        self.tree = TrackTree(
            self.seed, self.strings, self.processes, self.tracks, names_limit
        )
        self.interned = InternedData(self.seed, names_limit)
        self.limit = min(limit, 0x7FFFFFFF)
        self.args_limit = args_limit
        self.n_process_names = len(process_names)
        self.n_thread_names = len(thread_names)
        self.process_names = <int32_t *>calloc(len(process_names) + 1, sizeof(int32_t))
        self.thread_names = <int32_t *>calloc(len(thread_names) + 1, sizeof(int32_t))
        if self.process_names == NULL or self.thread_names == NULL:
            raise MemoryError
        for i, name in enumerate(process_names):
            self.process_names[i] = self.strings.add(name) if name else NO_NAME
        for i, name in enumerate(thread_names):
            self.thread_names[i] = self.strings.add(name) if name else NO_NAME

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_sequences):
            free(self.sequences[i].defaults.data)
        free(self.entries)
        free(self.queues)
        free(self.legacies)
        free(self.threads)
        free(self.sequences)
        free(self.args.data)
        free(self.payloads.data)
        free(self.scratch.data)
        free_table(&self.queue_table)
        free(self.queue_keys)
        free(self.timelines)
        free(self.ftrace)
        free(self.fences)
        free(self.comms)
        free(self.process_names)
        free(self.thread_names)

    def __len__(self):
        return self.n

    @property
    def names_left_out(self):
        """How many names, descriptors, interned strings and arguments there was no room for."""
        return (
            self.strings.left_out + self.interned.left_out + self.tree.left_out
            + self.args_left_out
        )

    cdef FtraceStart *ftrace_of(self, uint32_t machine) except NULL nogil:
        """What is known of the ftrace events of a machine; valid until the next call."""
        grow(<void **>&self.ftrace, &self.ftrace_capacity, machine + 1, sizeof(FtraceStart))
        while self.n_ftrace <= machine:
            memset(&self.ftrace[self.n_ftrace], 0, sizeof(FtraceStart))
            self.n_ftrace += 1
        return &self.ftrace[machine]

    cdef SequenceState *sequence(self, uint32_t sequence) except NULL nogil:
        """The state of a packet sequence."""
        cdef int64_t i, n = <int64_t>sequence + 1
        if n > self.n_sequences:
            grow(<void **>&self.sequences, &self.sequences_capacity, n, sizeof(SequenceState))
            for i in range(self.n_sequences, n):
                memset(&self.sequences[i], 0, sizeof(SequenceState))
                self.sequences[i].thread = NONE
            self.n_sequences = n
        return &self.sequences[sequence]

    cdef int32_t thread_of(self, uint32_t sequence) except -1 nogil:
        """Where the thread of a sequence is kept; one that is named later is of all its events."""
        cdef SequenceState *state = self.sequence(sequence)
        if state.thread == NONE:
            grow(
                <void **>&self.threads, &self.threads_capacity, self.n_threads + 1,
                sizeof(SequenceThread),
            )
            memset(&self.threads[self.n_threads], 0, sizeof(SequenceThread))
            state.thread = <int32_t>self.n_threads
            self.n_threads += 1
        return state.thread

    cdef int32_t queue(self, uint32_t machine, int kind, uint32_t cpu) except -1 nogil:
        """The sorter's queue: kind 0 of packets, 1 of track events, others of ftrace, one a CPU."""
        cdef uint64_t key = <uint64_t>machine << 32 | <uint64_t>kind << 16 | cpu & 0xFFFF
        cdef uint64_t hash = mix(self.seed ^ key), slot = hash
        cdef int64_t i
        if kind:
            # Perfetto creates these two first.
            self.queue(machine, 1 if kind > 1 else 0, 0)
        i = next_match(&self.queue_table, hash, &slot)
        while i >= 0 and self.queue_keys[i] != key:
            i = next_match(&self.queue_table, hash, &slot)
        if i < 0:
            i = self.n_queues
            grow(
                <void **>&self.queue_keys, &self.queue_keys_capacity, i + 1, sizeof(uint64_t)
            )
            self.queue_keys[i] = key
            self.n_queues += 1
            add_index(&self.queue_table, hash, i)
        return <int32_t>i

    cdef Entry *add(
        self, int kind, int64_t ts, uint32_t machine, int32_t queue
    ) except? NULL nogil:
        """A new entry, to be filled; NULL where it is left out."""
        cdef Entry *e
        if ts < 0 or machine > 0xFFFF:
            return NULL
        if self.n >= self.limit:
            self.left_out += 1
            return NULL
        grow(<void **>&self.entries, &self.capacity, self.n + 1, sizeof(Entry))
        grow(<void **>&self.queues, &self.queues_capacity, self.n + 1, sizeof(int32_t))
        e = &self.entries[self.n]
        memset(e, 0, sizeof(Entry))
        e.ts = ts
        e.machine = <uint16_t>machine
        e.kind = <uint8_t>kind
        e.row = NONE
        e.name = e.category = NO_NAME
        e.thread = e.legacy = NONE
        self.queues[self.n] = queue
        self.n += 1
        return e

    cdef int32_t code_text(self, Text *text) except -2 nogil:
        """The number of an interned string, NO_NAME where it is none."""
        if text.data == NULL:
            return NO_NAME
        if text.batch != 0:
            text.code = self.strings.code(text.data, text.size)
            text.batch = 0
        return text.code

    cdef int32_t pair(self, int32_t category, int32_t scope) except -2 nogil:
        """The number of "CATEGORY:SCOPE"."""
        cdef Span text = self.strings.at(category)
        self.scratch.n = 0
        put_bytes(&self.scratch, text.data, text.end - text.data)
        put_byte(&self.scratch, c":")
        text = self.strings.at(scope)
        put_bytes(&self.scratch, text.data, text.end - text.data)
        return self.strings.code(self.scratch.data, self.scratch.n)

    # Reading the log

    def next_batch(self, int64_t rows):
        """Rows from now on follow those of a batch of the events table."""
        self.base += rows

    def order(self):
        """(ts, queue) of each entry, and how many queues there are; see `order.in_order`."""
        cdef int64_t i
        cdef int64_t[::1] ts = (times := np.empty(self.n, np.int64))
        cdef int32_t[::1] queue = (queues := np.empty(self.n, np.int32))
        with nogil:
            for i in range(self.n):
                ts[i] = self.entries[i].ts
                queue[i] = self.queues[i]
        return times, queues, self.n_queues

    def rows(self, int64_t start):
        """The rows of the events table of the entries from number `start` on, -1 for none."""
        cdef int64_t i
        cdef int64_t[::1] row = (rows := np.empty(max(self.n - start, 0), np.int64))
        for i in range(row.shape[0]):
            row[i] = self.entries[start + i].row
        return rows

    def durations(self, int64_t start):
        """The durations that entries from number `start` on state themselves, ns; else 0."""
        cdef int64_t i
        cdef Entry *e
        cdef int64_t[::1] ns = (found := np.zeros(max(self.n - start, 0), np.int64))
        for i in range(ns.shape[0]):
            e = &self.entries[start + i]
            if e.phase == c"X" and e.legacy != NONE:
                ns[i] = self.legacies[e.legacy].duration_ns
        return found

    def args_of(self, const int32_t[::1] begin, const int32_t[::1] end, int64_t most):
        """The arguments of slices, by the entries they begin and end with; see `joined_args`."""
        return joined_args(self, args_at, self.n, begin, end, most)


cdef Span args_at(object log, int32_t entry) noexcept:
    """The arguments of an entry; see `ArgsAt`."""
    cdef SliceLog self = <SliceLog>log
    cdef Entry *e = &self.entries[entry]
    if e.kind != ENTRY_TRACK_EVENT or e.payload_size == 0:
        return nothing()
    return Span(self.args.data + e.payload, self.args.data + e.payload + e.payload_size)
