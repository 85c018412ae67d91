from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.event_baking.texts cimport Texts


cdef class Arrows:
    cdef readonly int64_t written
    cdef uint64_t first
    cdef const uint8_t[::1] named
    cdef Texts names, categories
    cdef int64_t[::1] begun     # when it begins; INT64_HIGH: not yet


cdef class Flows:
    cdef Arrows arrows
    cdef const int64_t[::1] ends, numbers, ending_ends, ending_numbers

    cdef int put(self, int64_t row, int64_t ns, Bytes *slice) except -1 nogil
    cdef int put_id(self, uint32_t field, int64_t one, Bytes *slice) except -1 nogil
