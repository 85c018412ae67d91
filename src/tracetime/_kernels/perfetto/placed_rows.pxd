from libc.stdint cimport int8_t, int64_t, uint32_t

cdef enum:
    # Of errors.REASONS: what only the tube says.
    ONE_SIDED = 9


cdef class PlacedRows:
    cdef object columns             # what holds the arrays
    cdef const int8_t *kind
    cdef const uint32_t *item
    cdef const uint32_t *clock
    cdef const int64_t *timestamp
    cdef const int64_t *trace_time
    cdef const int8_t *status
    cdef int64_t at, end            # of the packet at hand: its next row, and after its last
    # Counts
    cdef readonly int64_t moved     # items that their packet's timestamp now places
    cdef readonly int64_t stamped   # packets that had no time of their own
    cdef readonly int64_t rounded   # times that their field cannot hold
    cdef readonly int64_t worst_ns  # by how much at most
    cdef readonly int64_t unresolved
    cdef readonly int64_t set_aside

    cdef bint next_is(self, int kind, int64_t item) noexcept nogil
    cdef bint is_placed(self, int64_t row) noexcept nogil
    cdef bint any_placed(self) noexcept nogil
    cdef int note_rounded(self, int64_t off_ns) noexcept nogil
