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


cdef class Sequence:
    cdef PacketBuffer buffer
    cdef readonly uint32_t id
    cdef readonly uint32_t machine      # its machine_id; 0: the host
    cdef readonly uint32_t clock        # default of its timestamps; 0: each packet says
    # Interned since the state was cleared, by their numbers.
    cdef dict names
    cdef dict categories
    cdef dict arguments                 # names of arguments
    cdef dict strings                   # values of arguments
    cdef int64_t interned, interned_bytes
    cdef bint begun, valid, gap

    cdef int forget(self) except -1
    cdef int prepare(self) except -1
    cdef uint64_t intern(self, dict table, uint32_t field, str text, Bytes *data) except 0
    cdef int lose(self) except -1
