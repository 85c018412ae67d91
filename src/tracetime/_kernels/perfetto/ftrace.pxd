from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.timeline cimport Timeline


cdef int import_bundle(Timeline timeline, Packet *p) except -1 nogil
cdef bint may_hold_clock_pair(Packet *p) noexcept nogil
