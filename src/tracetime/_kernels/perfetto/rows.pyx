# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""The events table under construction: one NumPy array a column, filled row by row."""

from libc.stdint cimport int8_t, int64_t, uint16_t, uint32_t, uint64_t

import numpy as np

COLUMNS = (
    ("packet", np.uint64),
    ("kind", np.int8),
    ("item", np.uint32),
    ("payload", np.uint16),
    ("packet_sequence", np.uint32),
    ("sequence", np.uint32),
    ("machine", np.uint32),
    ("clock", np.uint32),
    ("snapshots", np.uint32),
    ("timestamp", np.int64),
    ("trace_time", np.int64),
    ("source_ns", np.int64),
    ("status", np.int8),
    ("offset", np.uint64),
)


cdef class Rows:
    """Columns with room for `capacity` rows, doubled when full."""

    def __cinit__(self, int64_t capacity):
        self.enlarge(capacity)

    def __len__(self):
        return self.n

    cdef int enlarge(self, int64_t capacity) except -1:
        made = {name: np.empty(capacity, dtype) for name, dtype in COLUMNS}
        if self.n:
            for name, array in made.items():
                array[:self.n] = self.arrays[name][:self.n]
        cdef uint64_t[::1] packet = made["packet"]
        cdef int8_t[::1] kind = made["kind"]
        cdef uint32_t[::1] item = made["item"]
        cdef uint16_t[::1] payload = made["payload"]
        cdef uint32_t[::1] packet_sequence = made["packet_sequence"]
        cdef uint32_t[::1] sequence = made["sequence"]
        cdef uint32_t[::1] machine = made["machine"]
        cdef uint32_t[::1] clock = made["clock"]
        cdef uint32_t[::1] snapshots = made["snapshots"]
        cdef int64_t[::1] timestamp = made["timestamp"]
        cdef int64_t[::1] trace_time = made["trace_time"]
        cdef int64_t[::1] source_ns = made["source_ns"]
        cdef int8_t[::1] status = made["status"]
        cdef uint64_t[::1] offset = made["offset"]
        self.packet = &packet[0]
        self.kind = &kind[0]
        self.item = &item[0]
        self.payload = &payload[0]
        self.packet_sequence = &packet_sequence[0]
        self.sequence = &sequence[0]
        self.machine = &machine[0]
        self.clock = &clock[0]
        self.snapshots = &snapshots[0]
        self.timestamp = &timestamp[0]
        self.trace_time = &trace_time[0]
        self.source_ns = &source_ns[0]
        self.status = &status[0]
        self.offset = &offset[0]
        self.arrays = made
        self.capacity = capacity
        return 0

    cdef int append(self, const Row *row) except -1 nogil:
        cdef int64_t n = self.n
        if n == self.capacity:
            with gil:
                self.enlarge(2 * self.capacity)
        self.packet[n] = row.packet
        self.kind[n] = row.kind
        self.item[n] = row.item
        self.payload[n] = row.payload
        self.packet_sequence[n] = row.packet_sequence
        self.sequence[n] = row.sequence
        self.machine[n] = row.machine
        self.clock[n] = row.clock
        self.snapshots[n] = row.snapshots
        self.timestamp[n] = row.timestamp
        self.trace_time[n] = row.trace_time
        self.source_ns[n] = row.source_ns
        self.status[n] = row.status
        self.offset[n] = row.offset
        self.n = n + 1
        return 0

    def take(self):
        """The rows so far, as arrays by column name; the table is empty afterwards."""
        taken = {name: array[:self.n] for name, array in self.arrays.items()}
        if self.names is not None:
            taken |= self.names.take(self.n)
        self.n = 0
        self.enlarge(self.capacity)
        return taken

    def release(self):
        """Give back the room that no row needs; there is some again when rows are added."""
        self.enlarge(max(self.n, 1))
