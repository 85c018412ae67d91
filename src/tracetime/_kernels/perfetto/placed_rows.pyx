# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The rows of a batch and where each is put, read packet by packet in the order they were made."""

from libc.stdint cimport int8_t, int64_t, uint32_t

from tracetime._kernels.graph cimport AS_IS, RESOLVED


cdef class PlacedRows:
    """Rows with trace times, and counts of what a baked packet could not hold of them."""

    def give(self, columns not None):
        """Take the columns of the next batch, those of the events table."""
        cdef const int8_t[::1] kind = columns["kind"]
        cdef const uint32_t[::1] item = columns["item"]
        cdef const uint32_t[::1] clock = columns["clock"]
        cdef const int64_t[::1] timestamp = columns["timestamp"]
        cdef const int64_t[::1] trace_time = columns["trace_time"]
        cdef const int8_t[::1] status = columns["status"].view("int8")
        cdef int64_t n = kind.shape[0]
        if not (
            n == item.shape[0] == clock.shape[0] == timestamp.shape[0] == trace_time.shape[0]
            == status.shape[0]
        ):
            raise ValueError("columns must have the same length")
        self.columns = columns
        self.at = self.end = 0
        if n:
            self.kind = &kind[0]
            self.item = &item[0]
            self.clock = &clock[0]
            self.timestamp = &timestamp[0]
            self.trace_time = &trace_time[0]
            self.status = &status[0]
        return n

    cdef bint next_is(self, int kind, int64_t item) noexcept nogil:
        """Whether the next row of the packet is that item (-1: any)."""
        return (
            self.at < self.end and self.kind[self.at] == kind
            and (item < 0 or self.item[self.at] == item)
        )

    cdef bint is_placed(self, int64_t row) noexcept nogil:
        cdef int8_t status = self.status[row]
        return status == RESOLVED or status == AS_IS or status == ONE_SIDED

    cdef bint any_placed(self) noexcept nogil:
        """Whether any of the packet's rows to come has a trace time."""
        cdef int64_t row
        for row in range(self.at, self.end):
            if self.is_placed(row):
                return True
        return False

    cdef int note_rounded(self, int64_t off_ns) noexcept nogil:
        self.rounded += 1
        self.worst_ns = max(self.worst_ns, off_ns if off_ns >= 0 else -off_ns)
        return 0
