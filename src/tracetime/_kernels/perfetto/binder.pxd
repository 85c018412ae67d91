from libc.stdint cimport int32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog


cdef int replay_transaction(SliceLog log, int32_t number, Span event) except -1 nogil
cdef int replay_received(SliceLog log, int32_t number, Span event) except -1 nogil
