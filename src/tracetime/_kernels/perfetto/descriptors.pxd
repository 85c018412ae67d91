from libc.stdint cimport int32_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog


cdef int replay_track_descriptor(SliceLog log, uint32_t machine, Span track) except -1 nogil
cdef int32_t replay_thread_descriptor(
    SliceLog log, uint32_t machine, Span thread, bint sandboxed
) except -1 nogil
cdef int32_t replay_process_descriptor(
    SliceLog log, uint32_t machine, Span process
) except -1 nogil
cdef int replay_process_tree(SliceLog log, uint32_t machine, Span tree) except -1 nogil
