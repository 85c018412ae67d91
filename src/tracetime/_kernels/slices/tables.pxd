from libc.stdint cimport int32_t, uint32_t

from tracetime._kernels.slices.processes cimport Processes
from tracetime._kernels.slices.stacks cimport Slices
from tracetime._kernels.slices.strings cimport Strings
from tracetime._kernels.slices.tracks cimport Tracks


cdef class SliceTables:
    cdef readonly Strings strings
    cdef readonly Processes processes
    cdef readonly Tracks tracks
    cdef readonly Slices slices

    cdef int32_t thread_track(self, int32_t thread) except -1 nogil
    cdef int32_t global_instants(self, uint32_t machine) except -1 nogil
    cdef int32_t process_instants(self, int32_t process) except -1 nogil
