from libc.stdint cimport uint8_t

from tracetime._kernels.chrome_json.event cimport SystraceLine

cdef bint read_line(const uint8_t *p, const uint8_t *end, SystraceLine *line) noexcept nogil
