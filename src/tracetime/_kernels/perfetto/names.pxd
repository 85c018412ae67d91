from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Arena, Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.importer cimport ImportedPacket, PacketObserver
from tracetime._kernels.perfetto.messages cimport ThreadDescriptor

cdef enum Kind_:
    PROCESS = 0             # by pid
    THREAD = 1              # by tid
    THREAD_OF = 2           # by pid and tid, from track descriptors
    TRACK = 3               # by uuid

# A name and its place in the dictionary of one batch of rows.
cdef struct Text:
    const uint8_t *data     # NULL: no name
    uint32_t size
    int32_t code
    int64_t batch           # that `code` is of

cdef struct Known:
    uint64_t key
    uint64_t parent         # of a track, 0: none
    int64_t tid
    Text name
    int32_t pid
    uint32_t machine
    int32_t process         # of a settled track: index, -1 for none
    int32_t thread
    uint8_t kind
    uint8_t priority        # of the name
    bint has_pid
    bint has_tid
    uint8_t settled


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
    cdef Interning *newest, *oldest
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


# The columns of text; the numbers index schema.TEXTS.
cdef enum:
    TEXT_NAME = 0
    TEXT_CATEGORY = 1
    TEXT_TRACK_NAME = 2
    TEXT_PROCESS_NAME = 3
    TEXT_THREAD_NAME = 4
    N_TEXTS = 5

# What an event is; the numbers index schema.TYPES.
cdef enum Type:
    TYPE_NONE = -1
    TYPE_SLICE_BEGIN = 0
    TYPE_SLICE_END = 1
    TYPE_INSTANT = 2
    TYPE_COUNTER = 3
    TYPE_STATE = 4
    TYPE_SLICE_COMPLETE = 5
    TYPE_ASYNC_BEGIN = 6
    TYPE_ASYNC_END = 7
    TYPE_ASYNC_INSTANT = 8
    TYPE_ASYNC_STEP = 9
    TYPE_FLOW_BEGIN = 10
    TYPE_FLOW_STEP = 11
    TYPE_FLOW_END = 12
    TYPE_SAMPLE = 13
    TYPE_METADATA = 14
    TYPE_OBJECT_CREATED = 15
    TYPE_OBJECT_SNAPSHOT = 16
    TYPE_OBJECT_DELETED = 17
    TYPE_MEMORY_DUMP = 18
    TYPE_MARK = 19
    TYPE_CLOCK_SYNC = 20
    TYPE_CONTEXT_BEGIN = 21
    TYPE_CONTEXT_END = 22
    TYPE_UNKNOWN = 23

# What a row has; the numbers are schema.HAS_...
cdef enum Has:
    HAS_TRACK = 1
    HAS_VALUE = 2
    HAS_CPU = 4
    HAS_PID = 8
    HAS_TID = 16
    HAS_ARGS = 32

# The distinct strings of one column in one batch, and which of them each row has.
cdef struct Strings:
    Bytes text
    int32_t *ends
    int64_t n, ends_capacity
    HashTable table
    int32_t *codes          # by row, -1 for none
    int64_t codes_capacity

# A row.
cdef struct RowDetails:
    int32_t[N_TEXTS] codes
    int32_t cpu
    int32_t pid
    int64_t tid
    uint64_t track
    double value
    int8_t type
    uint8_t has
    int64_t args            # where its args begin in the text of the batch's
    int64_t args_end


cdef inline RowDetails bare() noexcept nogil:
    """A row without details."""
    cdef RowDetails w
    cdef int i
    memset(&w, 0, sizeof(RowDetails))
    w.type = TYPE_NONE
    for i in range(N_TEXTS):
        w.codes[i] = -1
    return w


cdef class Batch:
    cdef uint64_t seed
    cdef int64_t number, n, written
    cdef Strings[N_TEXTS] strings
    cdef Bytes args
    cdef int32_t *args_ends, *cpus, *pids
    cdef int64_t *tids
    cdef uint64_t *tracks
    cdef double *values
    cdef int8_t *types
    cdef uint8_t *has
    cdef int64_t args_capacity, cpus_capacity, pids_capacity, tids_capacity, tracks_capacity
    cdef int64_t values_capacity, types_capacity, has_capacity
    cdef Bytes scratch

    cdef bint is_full(self) noexcept nogil
    cdef int32_t code(self, int column, const uint8_t *data, int64_t n) except -2 nogil
    cdef int32_t code_text(self, int column, Text *text) except -2 nogil
    cdef int32_t code_foreign(self, int column, Span s) except -2 nogil
    cdef int fill(self, int64_t n) except -1 nogil
    cdef int put(self, RowDetails *w) except -1 nogil


cdef int put_args(
    Bytes *out, InternedData interned, Interning *t, Span event, RowDetails *w
) except -1 nogil


cdef int8_t type_of_phase(int32_t phase) noexcept nogil
