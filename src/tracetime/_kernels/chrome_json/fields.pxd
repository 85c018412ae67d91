from libc.stdint cimport int64_t, uint8_t

from tracetime._kernels.chrome_json.event cimport JsonEvent, Value

# What reading a value or an object ends with, but for 0: it is whole. The numbers index
# FAULTS of formats/chrome_json/faults.py.
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
cdef int64_t number_of(const Value *value) noexcept nogil
cdef int read_value(
    const uint8_t *p, const uint8_t *end, Value *value, const uint8_t **behind
) noexcept nogil
cdef int read_object(
    const uint8_t *p, const uint8_t *end, JsonEvent *event, const uint8_t **behind
) noexcept nogil
