# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What the rows of one batch are, as columns; each column of text has a dictionary of its own."""

import numpy as np

from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.hash_table cimport (
    add_index, bytes_of, empty_table, free_table, next_match,
)
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport hash_bytes, is_utf8, put_bytes, put_text
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.interning cimport LONGEST_NAME

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
