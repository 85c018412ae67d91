# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the rows of the events table are: names, categories, types, tracks, threads, arguments.

An importer hands over each packet with the rows it made. Interned data is kept by sequence until
its incremental state is cleared, in bounded memory; strings go into a dictionary for each column
and batch. What a packet is stands in track_events.pxi, its arguments in args.pxi, who is who in
directory.pyx.
"""

import os

import numpy as np

from libc.math cimport isinf, isnan
from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport calloc, free, malloc, strtod
from libc.string cimport memcmp, memcpy, memset

from tracetime._kernels.perfetto.directory cimport (
    PROCESS, THREAD, THREAD_OF, TRACK, Directory, Known, Text,
)
from tracetime._kernels.perfetto.fields cimport *
from tracetime._kernels.perfetto.observer cimport Heard, Listener
from tracetime._kernels.common.hash_table cimport (
    add_index, bytes_of, empty_table, free_table, mix, next_match,
)
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.perfetto.rows cimport (
    KIND_ANDROID_LOG, KIND_ETW_EVENT, KIND_FTRACE_EVENT, KIND_GPU_WORK_PERIOD, KIND_HEAP_DUMP,
    KIND_PROCESS_START, KIND_SCHED_SWITCH, KIND_SCHED_WAKING, Rows,
)
from tracetime._kernels.common.text cimport (
    Arena, Bytes, hash_bytes, is_utf8, keep_bytes, let_go, put_byte, put_bytes, put_text, utf8_step,
)
from tracetime._kernels.common.wire cimport (
    BYTES, FIXED32, FIXED64, VARINT, Field, Span, is_number, is_set, load_bytes, load_number,
    nothing, read_field, read_varint, span_of,
)

cdef enum:
    LONGEST_NAME = 8192
    LONGEST_ARGS = 1 << 16          # of one event, as JSON
    DEEPEST_ARGS = 32
    # Text of a batch, were every row to hold its own: what others make of it stays bounded, too.
    BATCH_TEXT = 1 << 25
    KEPT_BUFFER = 1 << 26


cdef class Names(Listener):
    """What each row of the events table is, beside its times.

    directory: of the same trace, settled. ftrace: names of ftrace events by field number. limit:
    bytes of interned data that are kept; sequences not used for longest lose theirs first, which
    is counted in `left_out`.
    """

    def __cinit__(self, Directory directory not None, ftrace, int64_t limit):
        cdef int64_t i
        cdef bytes name
        self.directory = directory
        self.seed = int.from_bytes(os.urandom(8), "little")
        self.limit = limit
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
        cdef int i
        while self.oldest != NULL:
            self.drop(self.oldest)
        for i in range(N_TEXTS):
            free(self.strings[i].text.data)
            free(self.strings[i].ends)
            free_table(&self.strings[i].table)
            free(self.strings[i].codes)
        free(self.texts)
        free(self.ftrace)
        free(self.ftrace_names.data)
        free(self.places)
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

    # Interned data

    cdef Place *place(self, uint32_t sequence) except NULL nogil:
        cdef int64_t n = <int64_t>sequence + 1
        if n > self.n_places:
            grow(<void **>&self.places, &self.places_capacity, n, sizeof(Place))
            memset(&self.places[self.n_places], 0, <size_t>(n - self.n_places) * sizeof(Place))
            self.n_places = n
        return &self.places[sequence]

    cdef int unlink(self, Interning *t) noexcept nogil:
        if t.newer != NULL:
            t.newer.older = t.older
        else:
            self.newest = t.older
        if t.older != NULL:
            t.older.newer = t.newer
        else:
            self.oldest = t.newer
        return 0

    cdef int touch(self, Interning *t) noexcept nogil:
        """Note that a sequence was used last."""
        if self.newest != t:
            self.unlink(t)
            t.older = self.newest
            t.newer = NULL
            self.newest.newer = t
            self.newest = t
        return 0

    cdef int drop(self, Interning *t) noexcept nogil:
        cdef int i
        self.unlink(t)
        self.held -= t.held
        self.places[t.sequence].interned = NULL
        for i in range(N_TABLES):
            free(t.tables[i].entries)
            free_table(&t.tables[i].table)
        let_go(&t.arena)
        free(t)
        return 0

    cdef int intern(self, Place *place, uint32_t sequence, Span data) except -1 nogil:
        """InternedData: what the sequence's events refer to."""
        cdef const uint8_t *at = data.data
        cdef Interning *t = place.interned
        cdef Field f
        cdef int table
        while at < data.end:
            at = read_field(at, data.end, &f)
            if at == NULL:
                break
            if f.wire != BYTES:
                continue
            if f.number == INTERNED_DATA_EVENT_NAMES:
                table = TABLE_NAMES
            elif f.number == INTERNED_DATA_EVENT_CATEGORIES:
                table = TABLE_CATEGORIES
            elif f.number == INTERNED_DATA_DEBUG_ANNOTATION_NAMES:
                table = TABLE_ARGS
            elif f.number == INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES:
                table = TABLE_STRINGS
            else:
                continue
            if t == NULL:
                t = <Interning *>calloc(1, sizeof(Interning))
                if t == NULL:
                    with gil:
                        raise MemoryError
                t.sequence = sequence
                t.held = sizeof(Interning)
                self.held += t.held
                t.older = self.newest
                if self.newest != NULL:
                    self.newest.newer = t
                else:
                    self.oldest = t
                self.newest = t
                place.interned = t
            self.touch(t)
            while self.held >= self.limit and self.oldest != t:
                self.left_out += 1
                self.drop(self.oldest)
            if self.held >= self.limit:
                self.left_out += 1
                break
            self.add(t, table, span_of(&f))
        return 0

    cdef int add(self, Interning *t, int table, Span message) except -1 nogil:
        """One entry; of several with one iid the first stays (IncrementalState::InternMessage)."""
        cdef const uint8_t *at = message.data
        cdef Table *entries = &t.tables[table]
        cdef Interned *made
        cdef Field f
        cdef Span text = nothing()
        cdef bint has_iid = False
        cdef uint64_t iid = 0
        cdef int64_t i, held, n
        while at < message.end:
            at = read_field(at, message.end, &f)
            if at == NULL:
                break
            if f.number == INTERNED_STRING_IID and is_number(&f) and not has_iid:
                iid = f.value
                has_iid = True
            elif f.number == INTERNED_STRING_STR and f.wire == BYTES and not is_set(text):
                text = span_of(&f)
        if not has_iid or self.look(t, table, iid) != NULL:
            return 0
        grow(<void **>&entries.entries, &entries.capacity, entries.n + 1, sizeof(Interned))
        made = &entries.entries[entries.n]
        made.iid = iid
        made.text.batch = -1
        n = text.end - text.data
        if table == TABLE_NAMES or table == TABLE_CATEGORIES:
            self.scratch.n = 0
            put_text(&self.scratch, text.data, n, LONGEST_NAME)
            made.text.data = keep_bytes(&t.arena, self.scratch.data, self.scratch.n)
            made.text.size = <uint32_t>self.scratch.n
        else:
            # What is too long for any args needs no more than to be known as that.
            n = min(n, <int64_t>LONGEST_ARGS + 1)
            made.text.data = keep_bytes(&t.arena, text.data, n)
            made.text.size = <uint32_t>n
        entries.n += 1
        add_index(&entries.table, mix(self.seed ^ iid), entries.n - 1)
        held = <int64_t>sizeof(Interning) + t.arena.held
        for i in range(N_TABLES):
            held += t.tables[i].capacity * <int64_t>sizeof(Interned)
            held += bytes_of(&t.tables[i].table)
        self.held += held - t.held
        t.held = held
        return 0

    cdef Interned *look(self, Interning *t, int table, uint64_t iid) noexcept nogil:
        """The entry of an iid, NULL where there is none."""
        cdef Table *entries
        cdef uint64_t hash, slot
        cdef int64_t i
        if t == NULL:
            return NULL
        entries = &t.tables[table]
        hash = slot = mix(self.seed ^ iid)
        i = next_match(&entries.table, hash, &slot)
        while i >= 0 and entries.entries[i].iid != iid:
            i = next_match(&entries.table, hash, &slot)
        return &entries.entries[i] if i >= 0 else NULL

    # Strings of the batch

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
        if text.batch != self.batch:
            text.code = self.code(column, text.data, text.size)
            text.batch = self.batch
        return text.code

    cdef int32_t code_foreign(self, int column, Span s) except -2 nogil:
        """The same for bytes of the trace."""
        if s.end - s.data <= LONGEST_NAME and is_utf8(s.data, s.end):
            return self.code(column, s.data, s.end - s.data)
        self.scratch.n = 0
        put_text(&self.scratch, s.data, s.end - s.data, LONGEST_NAME)
        return self.code(column, self.scratch.data, self.scratch.n)

    # Rows

    cdef int fill(self, int64_t n) except -1 nogil:
        """Rows up to the n-th about which there is nothing to say."""
        cdef What w = bare()
        while self.n < n:
            self.put(&w)
        return 0

    cdef int put(self, What *w) except -1 nogil:
        cdef int64_t n = self.n
        cdef int32_t code
        cdef int64_t size = w.args_end - w.args
        cdef Strings *s
        cdef int i
        if size and w.args != (self.args_ends[n - 1] if n else 0):
            # A second row of one event: its args stand there once more.
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
        """What n rows are, as arrays by column name; those of the next batch follow.

        The columns of text are "NAME" (codes, -1 for none), "NAME:ends" and "NAME:text".
        """
        cdef Strings *s
        cdef int i
        cdef int64_t limit = KEPT_BUFFER
        self.fill(n)
        taken = {
            "type": copied(self.types, n, np.int8),
            "has": copied(self.has, n, np.uint8),
            "value": copied(self.values, n, np.float64),
            "track": copied(self.tracks, n, np.uint64),
            "cpu": copied(self.cpus, n, np.int32),
            "pid": copied(self.pids, n, np.int32),
            "tid": copied(self.tids, n, np.int64),
            "args:ends": copied(self.args_ends, n, np.int32),
            "args:text": copied(self.args.data, self.args.n, np.uint8),
        }
        for i, name in enumerate(TEXTS):
            s = &self.strings[i]
            taken[name] = copied(s.codes, n, np.int32)
            taken[f"{name}:ends"] = copied(s.ends, s.n, np.int32)
            taken[f"{name}:text"] = copied(s.text.data, s.text.n, np.uint8)
            s.text.n = s.n = 0
            if s.text.capacity > limit or bytes_of(&s.table) > limit:
                free(s.text.data)
                s.text.data = NULL
                s.text.capacity = 0
                free_table(&s.table)
            else:
                empty_table(&s.table)
        self.args.n = self.n = self.written = 0
        self.batch += 1
        return taken

    # Packets

    cdef int hear(self, const Heard *p, Rows rows, int64_t first) except -1 nogil:
        """Keep what the packet defines, and say what its rows are; whether the batch is full."""
        cdef const uint8_t *at = p.whole.data
        cdef Place *place = self.place(p.sequence)
        cdef Field f
        cdef Span inner = nothing(), interned = nothing(), defaults = nothing()
        cdef Span thread = nothing(), sample = nothing(), dumps = nothing(), tree = nothing()
        cdef What w
        cdef uint32_t field = 0
        cdef bint has_pid, has_tid
        cdef int64_t i
        while at < p.whole.end:
            at = read_field(at, p.whole.end, &f)
            if at == NULL:
                break
            if f.wire != BYTES:
                continue
            if is_inner(f.number):
                if field == 0:
                    field = f.number
                    inner = span_of(&f)
                elif field == PACKET_ANDROID_LOG and f.number == field:
                    inner = span_of(&f)
            elif f.number == PACKET_INTERNED_DATA:
                interned = span_of(&f)
            elif f.number == PACKET_TRACE_PACKET_DEFAULTS:
                defaults = span_of(&f)
            elif f.number == PACKET_THREAD_DESCRIPTOR:
                thread = span_of(&f)
            elif f.number == PACKET_TRACK_DESCRIPTOR:
                thread = load_bytes(span_of(&f), TRACK_DESCRIPTOR_THREAD)
            elif f.number == PACKET_PERF_SAMPLE:
                sample = span_of(&f)
            elif f.number == PACKET_PROFILE_PACKET:
                dumps = span_of(&f)
            elif f.number == PACKET_PROCESS_TREE:
                tree = span_of(&f)
        if p.has_sequence_id:
            if p.cleared:
                place.has_track = False
                if place.interned != NULL:
                    self.drop(place.interned)
            if is_set(interned) and p.valid:
                self.intern(place, p.sequence, interned)
            if is_set(defaults):
                defaults = load_bytes(defaults, DEFAULTS_TRACK_EVENT_DEFAULTS)
                place.track = load_number(
                    defaults, TRACK_EVENT_DEFAULTS_TRACK_UUID, &place.has_track
                )
            if is_set(thread) and p.valid:
                i = <int64_t>load_number(thread, THREAD_TID, &has_tid)
                if has_tid:
                    place.pid = <int32_t>load_number(thread, THREAD_PID, &has_pid)
                    place.tid = i
                    place.has_thread = has_pid
        if rows.n <= first:
            return False
        self.fill(first)
        w = bare()
        w.args = w.args_end = self.args.n
        if field == PACKET_TRACK_EVENT:
            name_track_event(self, p, place, inner, &w)
        elif field == PACKET_FTRACE_EVENTS:
            return name_bundle(self, p, inner, rows, first, &w)
        elif field == PACKET_ANDROID_LOG:
            return name_items(self, p, inner, rows, first, &w, KIND_ANDROID_LOG, LOG_PACKET_EVENTS)
        elif field == PACKET_ETW_EVENTS:
            w.cpu = <int32_t>load_number(inner, ETW_CPU, &has_tid)
            if has_tid:
                w.has |= HAS_CPU
            return name_items(self, p, inner, rows, first, &w, KIND_ETW_EVENT, ETW_EVENT)
        elif field == PACKET_STREAMING_PROFILE_PACKET and place.has_thread:
            set_thread(self, p.machine, True, place.pid, place.tid, &w)
        elif is_set(dumps):
            return name_items(self, 
                p, dumps, rows, first, &w, KIND_HEAP_DUMP, PROFILE_PROCESS_DUMPS
            )
        elif is_set(tree):
            return name_items(self, p, tree, rows, first, &w, KIND_PROCESS_START, TREE_PROCESSES)
        elif is_set(sample):
            name_item(self, p, sample, -1, &w)
        for i in range(first, rows.n):
            self.put(&w)
        return self.written >= BATCH_TEXT


cdef inline What bare() noexcept nogil:
    """A row about which there is nothing to say."""
    cdef What w
    cdef int i
    memset(&w, 0, sizeof(What))
    w.type = TYPE_NONE
    for i in range(N_TEXTS):
        w.codes[i] = -1
    return w


TEXTS = ("name", "category", "track_name", "process_name", "thread_name")


cdef object copied(void *data, int64_t n, dtype):
    """The first n numbers as an array of its own."""
    made = np.empty(n, dtype)
    cdef uint8_t[::1] view
    if n:
        view = made.view(np.uint8)
        memcpy(&view[0], data, <size_t>view.shape[0])
    return made


include "args.pxi"
include "track_events.pxi"
