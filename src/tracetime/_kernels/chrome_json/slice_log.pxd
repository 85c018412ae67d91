from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tracetime._kernels.chrome_json.event cimport JsonEvent, Value
from tracetime._kernels.chrome_json.observer cimport EventObserver
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.slices cimport Strings

cdef enum:
    # Where trace_processor keeps the first string of a file. A pid or tid that is a text has the
    # place of that text as its number.
    FIRST_STRING = 54001
    STRING_OVERHEAD = 5         # bytes that a string takes there beside its own

cdef enum Queue:
    QUEUE_EVENTS = 0
    QUEUE_LINES = 1
    QUEUES = 2

cdef enum EntryFlag:
    HAS_PID = 1
    HAS_TID = 2
    PID_IS_TEXT = 4
    TID_IS_TEXT = 8
    HAS_ID = 16
    ID_IS_LOCAL = 32
    HAS_DURATION = 64
    IS_LINE = 128
    NAME_LEFT_OUT = 256         # it has one, for which there is no room
    HAS_FLOW = 512
    FLOW_COMES = 1024
    FLOW_GOES = 2048
    BINDS_AROUND = 4096         # an end of a flow, to the slice around it

cdef enum Scope:
    SCOPE_THREAD = 0
    SCOPE_PROCESS = 1
    SCOPE_GLOBAL = 2

# What a metadata event names, in place of the scope.
cdef enum Naming:
    NAMES_NOTHING = 0
    NAMES_THREAD = 1
    NAMES_PROCESS = 2

# One event or line; entries are replayed in order of time. Times as trace_processor rounds them,
# and as the file has them.
cdef struct Entry:
    int64_t ts
    int64_t value               # the duration of a complete event; the id of an asynchronous one
    int64_t exact_ts
    int64_t exact_dur
    uint64_t flow               # the id of a flow
    int64_t text                # arguments; of a metadata event the name; of a line task and arguments
    int32_t text_size
    int32_t name                # of a line: the size of its task
    int32_t category            # of a line: what it is, a `LineKind`
    uint32_t pid                # a string's code where PID_IS_TEXT
    uint32_t tid
    uint16_t flags
    uint8_t phase
    uint8_t scope

cdef enum LineKind:
    LINE_OTHER = 0
    LINE_PRINT = 1
    LINE_SCHED_SWITCH = 2
    LINE_SCHED_WAKING = 3


cdef class JsonSliceLog(EventObserver):
    cdef readonly Strings strings
    cdef Entry *entries
    cdef int64_t n, capacity, limit
    cdef Bytes args
    cdef Bytes texts
    cdef Bytes scratch
    cdef int64_t args_limit, texts_limit
    cdef int64_t texts_left_out
    cdef readonly int64_t left_out
    cdef readonly int64_t untimed
    cdef readonly int64_t n_moved
    cdef uint64_t seed
    # How far trace_processor's queue of events was in order as it was filled.
    cdef int64_t latest_ns, sorted_from_ns
    cdef bint slow, any_event, any_line, flows

    cdef int32_t code(self, const Value *value) except -2 nogil
    cdef int64_t text_number(self, int32_t code) noexcept nogil
    cdef int queue(self, int64_t ts, uint8_t phase) noexcept nogil
    cdef Entry *add(self, int64_t ts, int64_t exact_ts) except? NULL nogil
    cdef int code_texts(self, const JsonEvent *event, int32_t *codes) except -1 nogil
    cdef int take_owners(self, Entry *e, const JsonEvent *event, const int32_t *codes) noexcept nogil
    cdef int take_id(self, Entry *e, const JsonEvent *event, const int32_t *codes) except -1 nogil
    cdef int take_flow(self, Entry *e, const JsonEvent *event) except -1 nogil
    cdef int take_naming(self, Entry *e, const JsonEvent *event) except -1 nogil
    cdef int keep_args(self, Entry *e, const JsonEvent *event) except -1 nogil
    cdef int keep_text(self, Entry *e, Span text) except -1 nogil
    cdef keys(self, const int32_t[::1] entries, bint exact)
