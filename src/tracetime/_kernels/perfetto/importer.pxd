from libc.stdint cimport int8_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.graph cimport Engine
from tracetime._kernels.perfetto.clock_tracker cimport ClockTracker
from tracetime._kernels.perfetto.observer cimport PacketObserver
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.rows cimport Rows
from tracetime._kernels.perfetto.snapshot_extensions cimport SnapshotExtensions
from tracetime._kernels.perfetto.snapshots cimport Snapshots
from tracetime._kernels.perfetto.streams cimport Streams
from tracetime._kernels.perfetto.timeline cimport Timeline


cdef class Importer:
    cdef readonly Engine engine
    cdef readonly ClockTracker clocks
    cdef readonly Streams streams
    cdef readonly Rows rows
    cdef readonly Snapshots snapshots
    cdef readonly SnapshotExtensions extensions
    cdef readonly Importer final
    cdef Timeline timeline
    cdef PacketObserver observer        # or None
    cdef bint learns                    # what the end of the file decides is not placed
    cdef bint puts_clocks_aside
    cdef int64_t batch_rows
    # the position in the file
    cdef readonly uint64_t packets
    cdef readonly uint64_t n_strays     # fields of the file that are no packets
    cdef readonly uint64_t stray_offset # of the first of them
    cdef readonly uint64_t stop_offset
    cdef readonly int codec
    cdef int8_t file_codec
    cdef Packet packet

    cdef int import_packet(self, Span s) except -1 nogil
    cdef int import_service_event(self, Packet *p) except -1 nogil
    cdef int place_packet(self, Packet *p) except -1 nogil
    cdef int give_up(self, Packet *p, int status) except -1 nogil
    cdef int import_items(self, Packet *p) except -1 nogil
    cdef int import_fields(self, Packet *p) except -1 nogil
    cdef int import_at_end(self, Packet *p) except -1 nogil
    cdef int _feed(
        self, const uint8_t *base, Span all, uint64_t offset, bint nested, const uint8_t **resume,
        Span *payload
    ) except -1 nogil
    cdef int notify(self, Span packet, int64_t first) except -1 nogil
    cdef int _cut_header(self, const uint8_t *at, const uint8_t *end) noexcept nogil
