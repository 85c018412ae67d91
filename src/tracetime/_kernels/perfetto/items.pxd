from libc.stdint cimport uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.timeline cimport Timeline


cdef bint import_thread_descriptor(Timeline timeline, Packet *p, Span thread) noexcept nogil
cdef bint import_track_descriptor(Timeline timeline, Packet *p, Span track) noexcept nogil
cdef int import_items(Timeline timeline, Packet *p, uint32_t inner) except -1 nogil
cdef bint has_times_after_sorting(Packet *p) noexcept nogil
cdef int import_after_sorting(Timeline timeline, Packet *p) except -1 nogil
