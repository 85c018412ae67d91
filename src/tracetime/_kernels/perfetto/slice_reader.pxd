from libc.stdint cimport uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.interning cimport Place
from tracetime._kernels.perfetto.observer cimport ImportedPacket, PacketObserver
from tracetime._kernels.perfetto.slice_log cimport SequenceState, SliceLog


cdef class SliceReader(PacketObserver):
    cdef readonly SliceLog log

    cdef int set_defaults(
        self, Place *place, SequenceState *state, Span defaults
    ) except -1 nogil
    cdef int set_thread(self, const ImportedPacket *p, Span track, Span thread) except -1 nogil
    cdef int keep_thread(self, uint32_t sequence) except -1 nogil


cdef int log_message(SliceLog log, const ImportedPacket *p, int kind, Span message) except -1 nogil
