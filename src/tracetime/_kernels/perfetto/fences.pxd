from libc.stdint cimport int32_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog


cdef int replay_fence(SliceLog log, int32_t number, uint32_t field, Span event) except -1 nogil
