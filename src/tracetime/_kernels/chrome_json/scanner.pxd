from libc.stdint cimport int64_t, uint8_t

from tracetime._kernels.chrome_json.event cimport JsonEvent
from tracetime._kernels.chrome_json.observer cimport EventObserver
from tracetime._kernels.common.text cimport Bytes


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
