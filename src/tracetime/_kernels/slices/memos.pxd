from libc.stdint cimport int32_t, int64_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable

cdef enum:
    UNSET = -2                      # a memo that says nothing

cdef struct Memo:
    int64_t owner
    int64_t id
    int32_t kind
    int32_t value


cdef class Memos:
    cdef uint64_t seed
    cdef HashTable table
    cdef Memo *memos
    cdef int64_t n, capacity

    cdef int32_t *of(self, int32_t kind, int64_t owner, int64_t id) except NULL nogil
