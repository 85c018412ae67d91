from libc.stdint cimport int32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog
from tracetime._kernels.slices cimport Mark


cdef int replay_print(SliceLog log, int32_t number, Span text) except -1 nogil
cdef int replay_mark(SliceLog log, int32_t number, Mark *mark) except -1 nogil
