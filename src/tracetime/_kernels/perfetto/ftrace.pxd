from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.timeline cimport Timeline


cdef int import_bundle(Timeline timeline, Packet *p) except -1 nogil
