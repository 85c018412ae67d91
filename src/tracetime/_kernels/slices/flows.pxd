from libc.stdint cimport int32_t, int64_t, uint64_t

from tracetime._kernels.slices.memos cimport Memos
from tracetime._kernels.slices.stacks cimport Slices

# An arrow from a slice to another, or the same.
cdef struct Arrow:
    int32_t out
    int32_t into
    int32_t named               # the number of its name, or NONE

# What a flow is called that events name by id, name and category.
cdef struct FlowName:
    int32_t name
    int32_t category

# An end that is of the next slice of its track.
cdef struct Waiting:
    uint64_t flow
    int32_t before              # the one before it on the track, or UNSET


cdef class Flows:
    cdef Slices slices
    cdef Memos begun, numbers, last_waiting
    cdef Arrow *arrows
    cdef int64_t n, capacity
    cdef FlowName *names
    cdef int64_t n_names, names_capacity
    cdef Waiting *waiting
    cdef int64_t n_waiting, waiting_capacity
    cdef readonly int64_t outside, begun_twice, not_begun
    cdef public int64_t without_id, without_direction

    cdef uint64_t number(self, uint64_t id, int32_t category, int32_t name) except? 0 nogil
    cdef int begin(self, int32_t track, uint64_t flow) except -1 nogil
    cdef int step(self, int32_t track, uint64_t flow) except -1 nogil
    cdef int end(self, int32_t track, uint64_t flow, bint around) except -1 nogil
    cdef int arrive(self, int32_t track, int32_t slice) except -1 nogil
    cdef int lead(self, uint64_t flow, int32_t slice, bint goes_on) except -1 nogil
    cdef int add(self, uint64_t flow, int32_t out, int32_t into) except -1 nogil
