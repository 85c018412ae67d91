from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport SliceLog

# What a line of atrace says.
cdef struct Mark:
    uint8_t phase
    uint32_t tgid               # 0: it does not say
    Span name
    Span track
    int64_t value               # of a counter; else a cookie


cdef bint read_mark(Span text, Mark *mark) noexcept nogil
cdef int replay_print(SliceLog log, int32_t number, Span text) except -1 nogil
cdef int replay_mark(SliceLog log, int32_t number, Mark *mark) except -1 nogil
