from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span

cdef enum:
    NO_NAME = -1
    LONGEST_NAME = 8192


cdef class Strings:
    cdef uint64_t seed
    cdef Bytes text
    cdef int32_t *ends
    cdef int64_t n, capacity, limit
    cdef readonly int64_t left_out
    cdef HashTable table
    cdef Bytes scratch

    cdef int32_t code(self, const uint8_t *data, int64_t n) except -2 nogil
    cdef int32_t code_foreign(self, Span s) except -2 nogil
    cdef Span at(self, int32_t code) noexcept nogil
    cdef bint equals(self, int32_t code, const char *text) noexcept nogil
