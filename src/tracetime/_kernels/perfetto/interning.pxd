from libc.stdint cimport int32_t, int64_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Arena, Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.directory cimport Text

cdef enum:
    LONGEST_NAME = 8192
    LONGEST_ARGS = 1 << 16          # of one event, as JSON

# The interned data that is kept, by sequence.
cdef enum Table_:
    TABLE_CATEGORIES = 0
    TABLE_NAMES = 1
    TABLE_ARGS = 2          # names of debug annotations
    TABLE_STRINGS = 3       # their values
    N_TABLES = 4

cdef struct Interned:
    uint64_t iid
    Text text

cdef struct Table:
    Interned *entries
    int64_t n
    int64_t capacity
    HashTable table

# The interned data of a sequence since its incremental state was cleared.
cdef struct Interning:
    Table[N_TABLES] tables
    Arena arena
    Interning *older        # the sequences by when they were last used
    Interning *newer
    int64_t held
    uint32_t sequence

# What lasts, of a sequence.
cdef struct Place:
    Interning *interned
    uint64_t track          # of its defaults
    int64_t tid
    int32_t pid
    bint has_track
    bint has_thread


cdef class InternedData:
    cdef uint64_t seed
    cdef Place *places
    cdef int64_t n_places, places_capacity
    cdef Interning *newest
    cdef Interning *oldest
    cdef int64_t limit, held
    cdef readonly int64_t left_out
    cdef Bytes scratch

    cdef Place *place(self, uint32_t sequence) except NULL nogil
    cdef int drop(self, Interning *t) noexcept nogil
    cdef int touch(self, Interning *t) noexcept nogil
    cdef int unlink(self, Interning *t) noexcept nogil
    cdef int intern(self, Place *place, uint32_t sequence, Span data) except -1 nogil
    cdef int add(self, Interning *t, int table, Span message) except -1 nogil
    cdef Interned *look(self, Interning *t, int table, uint64_t iid) noexcept nogil
