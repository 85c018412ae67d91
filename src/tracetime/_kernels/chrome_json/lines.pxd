from libc.stdint cimport int64_t, uint8_t

from tracetime._kernels.chrome_json.event cimport SystraceLine

cdef bint read_line(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil
cdef bint is_bare(const uint8_t *p, int64_t n) noexcept nogil
cdef int64_t lost_events(const uint8_t *p, const uint8_t *end) noexcept nogil
