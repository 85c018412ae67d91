from libc.stdint cimport int64_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.observer cimport ImportedPacket
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.rows cimport Rows

# The ftrace buffers of a machine so far.
cdef struct Buffers:
    int64_t valid_ns                # when the last one began to hold events
    int64_t offset_ns               # of the last event, from its clock
    bint has_offset


cdef class FtraceBuffers:
    cdef Buffers *buffers           # by machine
    cdef int64_t n, capacity
    cdef uint32_t snapshots         # of the last row so far

    cdef int add(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil
    cdef int add_bounds(
        self, const ImportedPacket *p, Span bundle, const Packet *packet, Rows rows, int64_t first
    ) except -1 nogil
