from libc.stdint cimport int64_t, uint8_t, uint32_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.baked_clocks cimport BakedClocks
from tracetime._kernels.perfetto.ftrace_buffers cimport FtraceBuffers
from tracetime._kernels.perfetto.observer cimport PacketObserver
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.placed_rows cimport PlacedRows
from tracetime._kernels.perfetto.source_record cimport Unsummed

cdef struct HeldPacket:
    int64_t start, end              # of its bytes
    int64_t first, after            # of its rows
    uint32_t sequence
    uint32_t machine                # in order of appearance
    bint has_sequence_id
    bint valid                      # incremental state of the sequence
    bint placed
    bint snapshot_taken

# What to write instead of a packet's own.
cdef struct Stamp:
    bint has_time
    bint has_clock
    bint dropped                    # by Perfetto: its payload stays as it is
    bint timeless                   # its timestamp goes
    bint legacy                     # it takes the place of a legacy timestamp
    uint32_t clock
    int64_t time


cdef class Baker(PacketObserver):
    cdef readonly PlacedRows rows
    cdef FtraceBuffers buffers
    cdef BakedClocks clocks         # of the packet's machine
    cdef BakedClocks home           # of the first machine
    cdef list machines              # BakedClocks by machine
    cdef uint32_t machine           # of `clocks`
    cdef bint several
    cdef bint baked
    cdef Bytes held                 # the packets of a batch
    cdef HeldPacket *packets
    cdef int64_t n, capacity
    cdef Bytes out
    cdef Unsummed *unsummed         # packets in `out`
    cdef int64_t n_unsummed, unsummed_capacity
    cdef Bytes packet, inner        # under construction
    cdef Bytes[2] scratch
    cdef int64_t *references_ns     # by sequence, as the output has them
    cdef uint8_t *has_reference
    cdef int64_t n_references, references_capacity, has_reference_capacity
    cdef bint began
    cdef bint named_any             # a packet of the output names a clock

    cdef int enter(self, uint32_t machine, const Packet *p) except -1 nogil
    cdef int copy(self) except -1 nogil
    cdef int bake(self, const HeldPacket *k) except -1 nogil
    cdef int bake_snapshot(self, Packet *p, bint taken) except -1 nogil
    cdef int finish(self, const Packet *p) except -1 nogil
    cdef int leave_out(self, const Packet *p) except -1 nogil
    cdef int choose_stamp(self, Packet *p, uint32_t sequence, Stamp *stamp) except -1 nogil
    cdef int64_t refused_row(self, uint32_t sequence) noexcept nogil
    cdef bint is_settled(self) noexcept nogil
    cdef int tie_items(self, Packet *p) except -1 nogil
    cdef int64_t row_of_packet_time(self, Packet *p) noexcept nogil
    cdef int keep_latest(self, Packet *p, Stamp *stamp) except -1 nogil
    cdef int refuse(self, Packet *p, int64_t row, Stamp *stamp) except -1 nogil
    cdef int note_reference(self, Packet *p, const HeldPacket *k) except -1 nogil
    cdef int write_packet(
        self, Packet *p, const Stamp *stamp, uint32_t sequence
    ) except -1 nogil
    cdef bint bake_payload(
        self, uint32_t field, Span payload, const Stamp *stamp, uint32_t sequence
    ) except -1 nogil
    cdef int put_defaults(self, Span defaults) except -1 nogil
