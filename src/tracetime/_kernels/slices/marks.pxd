from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.slices.tables cimport SliceTables

# What a line of atrace says.
cdef struct Mark:
    uint8_t phase
    uint32_t tgid               # 0: it does not say
    Span name
    Span track
    int64_t value               # of a counter; else a cookie


# Who wrote it, and when.
cdef struct Writer:
    int32_t number              # of the event
    int64_t ts
    uint32_t machine
    int64_t tid


cdef bint read_mark(Span text, Mark *mark) noexcept nogil
cdef int make_slice(SliceTables to, const Writer *by, Mark *mark) except -1 nogil
