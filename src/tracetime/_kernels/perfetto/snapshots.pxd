from libc.stdint cimport int64_t, uint32_t

from tracetime._kernels.perfetto.clock_tracker cimport ClockTracker
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.exchange_rounds cimport ExchangeRounds
from tracetime._kernels.perfetto.remote cimport Instant, RemoteSyncs
from tracetime._kernels.perfetto.snapshot_extensions cimport SnapshotExtensions
from tracetime._kernels.perfetto.timeline cimport Timeline


cdef class Snapshots:
    cdef Timeline timeline
    cdef ClockTracker clocks
    cdef readonly SnapshotExtensions extensions
    cdef readonly RemoteSyncs remote
    cdef readonly ExchangeRounds rounds
    cdef bint taken                         # whether the last ClockSnapshot was, whole
    cdef readonly int64_t n_stray_syncs     # means that were not tied to the host's clock

    cdef int import_snapshot(self, Packet *p) except -1 nogil
    cdef int import_remote_sync(self, Packet *p) except -1 nogil
    cdef bint take_rounds(self, Packet *p) except -1 nogil
    cdef int add_client_rounds(self, uint32_t machine) except -1 nogil
    cdef int add_instant(self, uint32_t machine, const Instant *at) except -1 nogil
