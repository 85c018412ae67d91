from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.chrome_json.event cimport JsonEvent, SystraceLine, Value
from tracetime._kernels.common.columns cimport StepCounts
from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Arena, Bytes
from tracetime._kernels.perfetto.names cimport Batch, RowDetails, Text

# What reading a value or an object ends with, but for 0: it is whole. The numbers index
# FAULTS of formats/chrome_json/reader.py.
cdef enum Fault:
    INCOMPLETE = -1             # it ends beyond the bytes there are
    NO_FAULT = 0
    NO_BEGIN = 1
    NO_KEY = 2
    NO_COLON = 3
    NO_VALUE = 4
    NO_COMMA = 5
    NO_EVENT = 6
    TOO_DEEP = 7
    TOO_LONG = 8
    BEHIND_END = 9
    CUT_OFF = 10
    NO_TRACE_EVENTS = 11
    ANOTHER_TRACE = 12
    LINES_OF_JSON = 13
    COMMENT = 14

cdef bint same(const uint8_t *p, int64_t n, const char *text, int64_t length) noexcept nogil
cdef bint next_member(
    const uint8_t **at, const uint8_t *end, Value *key, Value *value
) noexcept nogil
cdef int read_value(
    const uint8_t *p, const uint8_t *end, Value *value, const uint8_t **behind
) noexcept nogil


cdef class EventObserver:
    cdef int observe(self, const JsonEvent *event) except -1 nogil
    cdef int observe_line(self, const SystraceLine *line) except -1 nogil


cdef enum:
    MAGNITUDES = 64         # one for each number of bits that a time takes
    LAUNCH_COLUMNS = 13     # of `KnownNames.launches`
    MOST_DEVICES = 64

# Events whose times take as many bits: how many, from when to when, and the first.
cdef struct Magnitude:
    int64_t n, least_ns, most_ns, first

# A process, or a thread of one.
cdef struct Named:
    int64_t pid
    int64_t tid
    bint is_thread
    Text name
