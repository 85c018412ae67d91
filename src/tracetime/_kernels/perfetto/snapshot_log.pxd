from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.perfetto.late_wakings cimport LateWakings
from tracetime._kernels.perfetto.observer cimport ImportedPacket, PacketObserver
from tracetime._kernels.common.wire cimport Span

# A clock of a ClockSnapshot, as the file has it.
cdef struct LoggedReading:
    uint64_t packet
    int64_t timestamp
    int64_t unit_ns
    uint32_t clock
    uint32_t sequence           # trusted_packet_sequence_id where the clock is of one, else 0
    uint32_t machine            # in order of appearance
    bint named                  # whether the packet says whose it is

# A packet that a recorder writes when it begins, or a snapshot.
cdef struct Sign:
    uint64_t packet
    uint64_t offset
    uint32_t field
    uint32_t machine

cdef class SnapshotLog(PacketObserver):
    cdef LoggedReading *logged
    cdef int64_t n_logged
    cdef int64_t logged_capacity
    cdef Sign *signs
    cdef int64_t n_signs
    cdef int64_t signs_capacity
    cdef int64_t limit
    cdef readonly int64_t left_out
    cdef readonly LateWakings late_wakings

    cdef int note_sign(self, const ImportedPacket *p, uint32_t field) except -1 nogil
    cdef int note_snapshot(
        self, const ImportedPacket *p, Span snapshot, uint32_t sequence, bint named
    ) except -1 nogil
