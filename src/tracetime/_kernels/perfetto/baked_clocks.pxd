from libc.stdint cimport int64_t, uint32_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.packet cimport Packet


cdef class BakedClocks:
    cdef readonly uint32_t trace_clock
    cdef public uint32_t machine_id
    cdef int mark                   # the policy, EXT_BAKED
    cdef bint carries_source        # packets of the file say what they were
    cdef public bint is_home        # the trace clock is this machine's
    cdef public bint converted      # a packet of the machine has, so that trace time stays
    cdef int64_t anchor_ns          # a trace time of the packet under way
    cdef public bint named_trace_clock  # a snapshot of the output has
    cdef uint32_t related           # a bit for each clock
    cdef Bytes packet, message      # under construction
    cdef int64_t *trace_ns          # of the snapshots that are kept, both ascending
    cdef int64_t *wall_ns
    cdef int64_t n, trace_capacity, wall_capacity

    cdef int relate(self, Bytes *out, uint32_t clock) except -1 nogil
    cdef int write_anchor(self, Bytes *out) except -1 nogil
    cdef int name_trace_clock(self, Bytes *out) except -1 nogil
    cdef int write_mark(self, Bytes *out) except -1 nogil
    cdef int write_pair(
        self, Bytes *out, uint32_t clock, int64_t ns, int64_t trace_ns
    ) except -1 nogil
    cdef int finish(self, Bytes *out) except -1 nogil
    cdef int put_clock(self, uint32_t clock, int64_t ns) except -1 nogil
    cdef int keep(self, int64_t trace_ns, int64_t wall_ns) except -1 nogil
    cdef int64_t to_trace(self, int64_t wall_ns) noexcept nogil
    cdef int64_t to_wall(
        self, Bytes *out, int64_t trace_ns, int64_t wall_ns, int64_t *off_ns
    ) except? -1 nogil
    cdef int reduce_snapshot(self, Packet *p, bint taken, Bytes *out) except -1 nogil
    cdef int reduce_extension(self, Span extension, Bytes *out) except -1 nogil
