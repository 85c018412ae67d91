from libc.stdint cimport int64_t, uint64_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.observer cimport PacketObserver

# An event that is part of a flow.
cdef struct FlowStep:
    uint64_t flow
    int64_t row                 # of the events table
    int64_t kind


cdef class FlowLog(PacketObserver):
    cdef FlowStep *steps
    cdef int64_t n, capacity, limit, base
    cdef readonly int64_t left_out

    cdef int add(self, uint64_t flow, int64_t row, int64_t kind) except -1 nogil
    cdef int add_packed(self, Span values, int64_t row, int64_t kind) except -1 nogil
    cdef int add_packed_varints(self, Span values, int64_t row, int64_t kind) except -1 nogil
    cdef int add_legacy(self, Span legacy, int64_t row) except -1 nogil
