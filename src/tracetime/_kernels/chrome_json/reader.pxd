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
cdef int64_t number_of(const Value *value) noexcept nogil
cdef int read_value(
    const uint8_t *p, const uint8_t *end, Value *value, const uint8_t **behind
) noexcept nogil
cdef int read_object(
    const uint8_t *p, const uint8_t *end, JsonEvent *event, const uint8_t **behind
) noexcept nogil


cdef class EventObserver:
    cdef int observe(self, const JsonEvent *event) except -1 nogil
    cdef int observe_line(self, const SystraceLine *line) except -1 nogil


cdef bint read_line(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil
cdef bint is_bare(const uint8_t *p, int64_t n) noexcept nogil
cdef int64_t lost_events(const uint8_t *p, const uint8_t *end) noexcept nogil


cdef class Scanner:
    cdef EventObserver observer
    cdef Bytes buffer               # what is not yet scanned begins at `at`
    cdef int64_t at, wanted
    cdef Bytes line                 # a line of systrace, unescaped
    cdef int64_t base               # the file's byte at the buffer's first
    cdef int64_t kept               # bytes of all values that are kept
    cdef int64_t zeros_from         # where padding begins within the events; -1 where none does
    cdef int state
    cdef bint full, has_events
    cdef readonly bint is_array
    cdef JsonEvent event
    cdef readonly int fault
    cdef readonly int64_t fault_offset
    cdef readonly int64_t n_events, n_lines, n_strange_lines, strange_offset
    cdef readonly int64_t n_lost, first_lost_before, n_kernel_events
    cdef readonly list values

    cdef int fail(self, int fault, const uint8_t *at) except -1 nogil
    cdef int step(self) except -1 nogil
    cdef int open_file(self, const uint8_t *p, const uint8_t *end) except -1 nogil
    cdef int take_key(self, const uint8_t *p, const uint8_t *end) except -1 nogil
    cdef int take_value(
        self, const uint8_t *key, const uint8_t *key_end, const uint8_t *p, const uint8_t *end
    ) except -1 nogil
    cdef int take_event(self, const uint8_t *p, const uint8_t *end) except -1 nogil
    cdef int take_escaped_line(self, const uint8_t *p, const uint8_t *end) except -1 nogil
    cdef int take_plain_line(self, const uint8_t *p, const uint8_t *end) except -1 nogil
    cdef int hand_over_line(self, int64_t offset) except -1 nogil


cdef bint is_of_gpu(const JsonEvent *event) noexcept nogil


cdef enum:
    MAGNITUDES = 64         # one for each number of bits that a time takes
    LAUNCH_COLUMNS = 12     # of `KnownNames.launches`
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


cdef class KnownNames(EventObserver):
    cdef uint64_t seed
    cdef Named *named
    cdef int64_t n, capacity, limit
    cdef HashTable table
    cdef Arena arena
    cdef Bytes scratch, valid
    cdef readonly int64_t left_out
    cdef readonly int64_t n_timed, n_rounded, n_off, most_off, n_overflowing, n_untimed
    cdef readonly int64_t first_ns, last_ns
    cdef readonly int64_t n_long_phases, n_endless, n_negative, n_halves
    cdef readonly int64_t n_wide_owners, n_wide_alone, n_wider
    cdef int64_t wide_pid   # the first that is wide; 0 if there is none
    cdef readonly int64_t time_step_ns, duration_step_ns, line_step_ns
    cdef Magnitude sized[MAGNITUDES]
    cdef readonly list line_syncs
    cdef readonly StepCounts times, durations
    cdef int64_t *launched
    cdef int64_t n_launched, launched_capacity
    cdef readonly int64_t launches_left_out

    cdef uint64_t hash(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil
    cdef int64_t find(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil
    cdef int learn(self, const JsonEvent *event) except -1 nogil
    cdef int call(
        self, int64_t pid, int64_t tid, bint is_thread, const Value *name
    ) except -1 nogil
    cdef int keep_launch(self, const JsonEvent *event) except -1 nogil
    cdef int count_odd(self, const JsonEvent *event) noexcept nogil
    cdef int measure(self, int64_t ns, int64_t index) noexcept nogil
    cdef int count(self, int64_t ns, int64_t floor_ns, bint rounded) noexcept nogil


cdef class Details:
    cdef KnownNames known
    cdef readonly Batch batch
    cdef Bytes scratch, called

    cdef int describe(self, const JsonEvent *event) except -1 nogil
    cdef int describe_line(self, const SystraceLine *line) except -1 nogil
    cdef int set_text(self, int column, const Value *value, RowDetails *w) except -1 nogil
    cdef int set_known(
        self, int column, int64_t pid, int64_t tid, bint is_thread, RowDetails *w
    ) except -1 nogil
    cdef int set_owner(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_track(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_counter(self, const JsonEvent *event, RowDetails *w) except -1 nogil
    cdef int set_value(self, const JsonEvent *event, RowDetails *w) except -1 nogil
