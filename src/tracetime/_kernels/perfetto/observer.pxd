from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.perfetto.rows cimport Rows
from tracetime._kernels.common.wire cimport Span

# A packet that was imported.
cdef struct ImportedPacket:
    Span whole
    uint64_t packet             # its number
    uint64_t offset             # of its first byte, or of the compressed packet it came in
    uint32_t machine            # in order of appearance
    uint32_t sequence           # in order of appearance
    bint has_sequence_id
    bint valid                  # incremental state of the sequence
    bint cleared                # that state, by this packet
    bint placed                 # it has a trace time, its own or the latest before it
    int64_t trace_time
    bint snapshot_taken         # its ClockSnapshot, whole
    int64_t ftrace_valid_ns     # from when on all of its machine's ftrace buffers hold their events


cdef class PacketObserver:
    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil
