# What the rows of one batch are, as columns; each column of text has a dictionary of its own.

cdef enum:
    # Text of a batch, were every row to hold its own: what others make of it stays bounded, too.
    BATCH_TEXT = 1 << 25
    KEPT_BUFFER = 1 << 26

TEXTS = ("name", "category", "track_name", "process_name", "thread_name")


cdef class Batch:
    """The rows that are not yet taken; seed: of the hashes of their strings."""

    def __cinit__(self, uint64_t seed):
        self.seed = seed

    def __dealloc__(self):
        cdef int i
        for i in range(N_TEXTS):
            free(self.strings[i].text.data)
            free(self.strings[i].ends)
            free_table(&self.strings[i].table)
            free(self.strings[i].codes)
        free(self.args.data)
        free(self.args_ends)
        free(self.cpus)
        free(self.pids)
        free(self.tids)
        free(self.tracks)
        free(self.values)
        free(self.types)
        free(self.has)
        free(self.scratch.data)

    cdef bint is_full(self) noexcept nogil:
        return self.written >= BATCH_TEXT

    cdef int32_t code(self, int column, const uint8_t *data, int64_t n) except -2 nogil:
        """The place of valid UTF-8 in the column's dictionary."""
        cdef Strings *s = &self.strings[column]
        cdef uint64_t hash = hash_bytes(self.seed, data, n), slot = hash
        cdef int64_t i = next_match(&s.table, hash, &slot), start
        while i >= 0:
            start = s.ends[i - 1] if i else 0
            if s.ends[i] - start == n and (
                n == 0 or memcmp(s.text.data + start, data, <size_t>n) == 0
            ):
                return <int32_t>i
            i = next_match(&s.table, hash, &slot)
        put_bytes(&s.text, data, n)
        grow(<void **>&s.ends, &s.ends_capacity, s.n + 1, sizeof(int32_t))
        s.ends[s.n] = <int32_t>s.text.n
        s.n += 1
        add_index(&s.table, hash, s.n - 1)
        return <int32_t>(s.n - 1)

    cdef int32_t code_text(self, int column, Text *text) except -2 nogil:
        """The same for a name that is kept, -1 where it is none."""
        if text.data == NULL:
            return -1
        if text.batch != self.number:
            text.code = self.code(column, text.data, text.size)
            text.batch = self.number
        return text.code

    cdef int32_t code_foreign(self, int column, Span s) except -2 nogil:
        """The same for bytes of the trace."""
        if s.end - s.data <= LONGEST_NAME and is_utf8(s.data, s.end):
            return self.code(column, s.data, s.end - s.data)
        self.scratch.n = 0
        put_text(&self.scratch, s.data, s.end - s.data, LONGEST_NAME)
        return self.code(column, self.scratch.data, self.scratch.n)

    cdef int fill(self, int64_t n) except -1 nogil:
        """Add rows without details, up to the n-th."""
        cdef RowDetails w = bare()
        while self.n < n:
            self.put(&w)
        return 0

    cdef int put(self, RowDetails *w) except -1 nogil:
        cdef int64_t n = self.n
        cdef int32_t code
        cdef int64_t size = w.args_end - w.args
        cdef Strings *s
        cdef int i
        if size and w.args != (self.args_ends[n - 1] if n else 0):
            # A second row of one event repeats its args.
            grow(<void **>&self.args.data, &self.args.capacity, self.args.n + size, 1)
            put_bytes(&self.args, self.args.data + w.args, size)
        grow(<void **>&self.args_ends, &self.args_capacity, n + 1, sizeof(int32_t))
        grow(<void **>&self.cpus, &self.cpus_capacity, n + 1, sizeof(int32_t))
        grow(<void **>&self.pids, &self.pids_capacity, n + 1, sizeof(int32_t))
        grow(<void **>&self.tids, &self.tids_capacity, n + 1, sizeof(int64_t))
        grow(<void **>&self.tracks, &self.tracks_capacity, n + 1, sizeof(uint64_t))
        grow(<void **>&self.values, &self.values_capacity, n + 1, sizeof(double))
        grow(<void **>&self.types, &self.types_capacity, n + 1, sizeof(int8_t))
        grow(<void **>&self.has, &self.has_capacity, n + 1, sizeof(uint8_t))
        self.args_ends[n] = <int32_t>self.args.n
        self.cpus[n] = w.cpu
        self.pids[n] = w.pid
        self.tids[n] = w.tid
        self.tracks[n] = w.track
        self.values[n] = w.value
        self.types[n] = w.type
        self.has[n] = w.has | (HAS_ARGS if size else 0)
        for i in range(N_TEXTS):
            s = &self.strings[i]
            code = w.codes[i]
            grow(<void **>&s.codes, &s.codes_capacity, n + 1, sizeof(int32_t))
            s.codes[n] = code
            if code >= 0:
                self.written += s.ends[code] - (s.ends[code - 1] if code else 0)
        self.written += size
        self.n = n + 1
        return 0

    def take(self, int64_t n):
        """RowDetails n rows are, as arrays by column name; those of the next batch follow.

        The columns of text are "NAME" (codes, -1 for none), "NAME:ends" and "NAME:text".
        """
        cdef Strings *s
        cdef int i
        cdef int64_t limit = KEPT_BUFFER
        self.fill(n)
        taken = {
            "type": copied(np.empty(n, np.int8), self.types),
            "has": copied(np.empty(n, np.uint8), self.has),
            "value": copied(np.empty(n, np.float64), self.values),
            "track": copied(np.empty(n, np.uint64), self.tracks),
            "cpu": copied(np.empty(n, np.int32), self.cpus),
            "pid": copied(np.empty(n, np.int32), self.pids),
            "tid": copied(np.empty(n, np.int64), self.tids),
            "args:ends": copied(np.empty(n, np.int32), self.args_ends),
            "args:text": copied(np.empty(self.args.n, np.uint8), self.args.data),
        }
        for i, name in enumerate(TEXTS):
            s = &self.strings[i]
            taken[name] = copied(np.empty(n, np.int32), s.codes)
            taken[f"{name}:ends"] = copied(np.empty(s.n, np.int32), s.ends)
            taken[f"{name}:text"] = copied(np.empty(s.text.n, np.uint8), s.text.data)
            s.text.n = s.n = 0
            if s.text.capacity > limit or bytes_of(&s.table) > limit:
                free(s.text.data)
                s.text.data = NULL
                s.text.capacity = 0
                free_table(&s.table)
            else:
                empty_table(&s.table)
        self.args.n = self.n = self.written = 0
        self.number += 1
        return taken


# What a row says of threads and processes, and what ftrace events are called.

cdef class NameTables:
    """Where names come from, and the batch they go to.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number.
    """

    cdef Directory directory
    cdef InternedData interned
    cdef Batch batch
    cdef Text *texts                    # the directory's names
    cdef Interned *ftrace               # names of events, by field number
    cdef int64_t n_ftrace
    cdef Bytes ftrace_names

    def __cinit__(self, Directory directory not None, ftrace, InternedData interned, Batch batch):
        cdef int64_t i
        cdef bytes name
        self.directory = directory
        self.interned = interned
        self.batch = batch
        self.texts = <Text *>malloc(<size_t>(directory.n + 1) * sizeof(Text))
        self.n_ftrace = 1 + max(ftrace, default=-1)
        self.ftrace = <Interned *>calloc(<size_t>self.n_ftrace + 1, sizeof(Interned))
        if self.texts == NULL or self.ftrace == NULL:
            raise MemoryError
        for i in range(directory.n):
            self.texts[i] = directory.known[i].name
            self.texts[i].batch = -1
        for number, text in ftrace.items():
            if not 0 <= number < self.n_ftrace:
                raise ValueError("field numbers are not negative")
            name = text.encode()
            self.ftrace[number].iid = self.ftrace_names.n
            self.ftrace[number].text.size = len(name)
            put_bytes(&self.ftrace_names, <const uint8_t *>name, len(name))
        for number in ftrace:
            self.ftrace[number].text.data = self.ftrace_names.data + self.ftrace[number].iid
            self.ftrace[number].text.batch = -1

    def __dealloc__(self):
        free(self.texts)
        free(self.ftrace)
        free(self.ftrace_names.data)

    cdef int set_known(self, int column, int32_t index, RowDetails *w) except -1 nogil:
        if index >= 0:
            w.codes[column] = self.batch.code_text(column, &self.texts[index])
        return 0

    cdef int set_thread(
        self, uint32_t machine, bint has_tid, int32_t pid, int64_t tid, RowDetails *w
    ) except -1 nogil:
        """A process, and the thread of it where there is one."""
        w.pid = pid
        w.has |= HAS_PID
        self.set_known(TEXT_PROCESS_NAME, self.directory.process_of(machine, pid), w)
        if has_tid:
            w.tid = tid
            w.has |= HAS_TID
            self.set_known(TEXT_THREAD_NAME, self.directory.thread_of(machine, True, pid, tid), w)
        return 0

    cdef int set_tid(self, uint32_t machine, int64_t tid, RowDetails *w) except -1 nogil:
        """A thread by its tid alone, with its process where that is known."""
        cdef int32_t index = self.directory.find(machine, THREAD, 0, <uint64_t>tid)
        cdef int32_t process
        w.tid = tid
        w.has |= HAS_TID
        self.set_known(TEXT_THREAD_NAME, index, w)
        if index >= 0 and self.directory.known[index].has_pid:
            w.pid = self.directory.known[index].pid
            w.has |= HAS_PID
            process = self.directory.process_of(machine, w.pid)
        else:
            # Dumps may list a process without its main thread, which has the same number.
            process = self.directory.process_of(machine, <int32_t>tid)
            if process >= 0:
                w.pid = <int32_t>tid
                w.has |= HAS_PID
        return self.set_known(TEXT_PROCESS_NAME, process, w)

    cdef int set_event(self, uint32_t number, RowDetails *w) except -1 nogil:
        """Name an ftrace event by its field."""
        if <int64_t>number < self.n_ftrace:
            w.codes[TEXT_NAME] = self.batch.code_text(TEXT_NAME, &self.ftrace[number].text)
        return 0
