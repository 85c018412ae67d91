from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.text cimport Bytes

cdef class PacketBuffer:
    cdef uint8_t *data
    cdef int64_t n, capacity, event_limit, wake_at
    cdef readonly int64_t size_limit
    cdef readonly int64_t total         # bytes ever put in
    cdef readonly int64_t dropped       # events
    cdef readonly int64_t in_flight     # bytes taken, but not yet written
    cdef int64_t taken                  # bytes ever taken
    cdef int64_t kept                   # for what is sure to follow
    cdef bint woken, closed, abandoned

    cdef uint8_t *reserve(self, int64_t size) except NULL
    cdef bint refuses(self, int64_t size) noexcept
    cdef bint added(self, int64_t size) noexcept


cdef enum Kind:
    SLICE_BEGIN = 1
    SLICE_END = 2
    INSTANT = 3
    COUNTER = 4

cdef enum:
    WRITTEN = 1
    FULL = 3        # WRITTEN, and more
    # For the end of a slice, and a packet that starts its sequence anew.
    END_ROOM = 96
    # Room is kept for the ends of so many slices that `begin` began on a track.
    DEEPEST_KEPT = 64

cdef struct Value:
    # A counter's: `real` where it is one, else `count`.
    int64_t count
    double real
    bint is_real


cdef class Track:
    cdef readonly uint64_t uuid
    cdef readonly str name
    cdef readonly bint is_counter
    cdef readonly object writer
    # Slices that are begun and not ended; the bits of those whose beginnings were dropped, from the
    # outermost on.
    cdef int64_t depth
    cdef uint64_t dropped
