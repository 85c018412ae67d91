# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The log of slices: events and descriptors of a trace, kept until they can be sorted by time."""

import os

import numpy as np

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset

from tracetime._kernels.common.hash_table cimport add_index, free_table, mix, next_match
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes
from tracetime._kernels.common.wire cimport Span, nothing
from tracetime._kernels.perfetto.directory cimport Text
from tracetime._kernels.perfetto.interning cimport InternedData
from tracetime._kernels.perfetto.track_tree cimport TrackTree
from tracetime._kernels.slices cimport NO_NAME, Memos, SliceTables, Strings, joined_args

cdef enum:
    NONE = -1


cdef class SliceLog:
    """The entries of a trace, and the tables that they become.

    process_names, thread_names: by Chrome's types, "" for none. names_limit: bytes that strings may
    take, and once more interned data, and descriptors. limit: of entries; what comes later is
    counted as `left_out`. args_limit: bytes of debug annotations to keep; 0: none are read.
    """

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
