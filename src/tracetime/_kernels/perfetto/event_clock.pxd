from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.perfetto.packet_buffer cimport Sequence


cdef class EventClock:
    cdef readonly Sequence sequence
    cdef readonly uint32_t clock
    cdef readonly object name
    cdef bint explicit
    cdef int posix
    cdef readonly bint scaled
    cdef int64_t numerator, denominator
    cdef readonly int bits
    cdef readonly int64_t last_ticks    # of the last snapshot, unwrapped
    cdef bint seen

    cdef int64_t near(self, uint64_t raw, int64_t expected) noexcept
    cdef int64_t ns_of(self, int64_t ticks) except? -1
    cdef int check(self, uint64_t raw) except -1
    cpdef int64_t convert(self, raw) except? -1
    cdef int interval(self, raw, duration, int64_t *begin_ns, int64_t *end_ns) except -1
    cdef int64_t now(self) except? -1
