# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The events of a trace on trace time: each is converted, counted for the sorter, and a row."""

from libc.stdint cimport int8_t, int64_t, uint32_t, uint64_t

from tracetime._kernels.graph cimport AS_IS, RESOLVED, Key, is_sequence_scoped
from tracetime._kernels.perfetto.clock_tracker cimport ClockTracker
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.rows cimport Kind, Rows
from tracetime._kernels.perfetto.sorter cimport push


cdef class Timeline:
    """Rows under construction.

    file: the number of the trace file in the keys of clocks. silent: make no rows.
    """

    def __cinit__(
        self, ClockTracker clocks not None, Rows rows not None, uint32_t file, bint silent
    ):
        self.clocks = clocks
        self.streams = clocks.streams
        self.rows = rows
        self.file = file
        self.silent = silent

    cdef int begin_packet(self, uint64_t packet, uint64_t offset) noexcept nogil:
        """Rows are of this packet from now on; offset: of its first byte."""
        self.clocks.packet = self.clocks.engine.packet = self.row.packet = packet
        self.clocks.offset = self.row.offset = offset
        self.row.snapshots = self.clocks.engine.n_snapshots
        return 0

    cdef int continue_packet(self, Timeline other) noexcept nogil:
        """Rows are of the packet that another timeline is at, as if they were its own."""
        self.row = other.row
        self.clocks.packet, self.clocks.offset = other.clocks.packet, other.clocks.offset
        return 0

    cdef int fail(self, int error) noexcept nogil:
        """Note why the import ends; returns STOP_ERROR."""
        self.error = error
        return STOP_ERROR

    cdef int emit(
        self, Kind kind, uint32_t item, uint32_t clock, int64_t timestamp, int64_t ns, int status
    ) except -1 nogil:
        if self.silent:
            return 0
        self.row.kind = <int8_t>kind
        self.row.item = item
        self.row.clock = clock
        self.row.sequence = self.row.packet_sequence if is_sequence_scoped(clock) else 0
        self.row.timestamp = timestamp
        self.row.trace_time = ns
        self.row.source_ns = self.clocks.engine.source_ns
        self.row.status = <int8_t>status
        return self.rows.append(&self.row)

    cdef int emit_converted(
        self, Packet *p, Kind kind, uint32_t item, Key key, int64_t timestamp, int64_t value
    ) except -1 nogil:
        """Convert an item's value, count it for the sorter, and make its row."""
        cdef int64_t ns = 0
        cdef int status = p.status
        if status == RESOLVED:
            status = self.clocks.to_trace_time(p.machine, key, value, &ns)
            if status == RESOLVED:
                push(&self.sorter, ns)
        else:
            self.clocks.engine.source_ns = value
        return self.emit(kind, item, key.clock, timestamp, ns, status)

    cdef int emit_as_packet(self, Packet *p, Kind kind, uint32_t item) except -1 nogil:
        """An item without a time of its own has its packet's, and is placed as that is."""
        if p.status == RESOLVED:
            push(&self.sorter, p.trace_time)
        if not p.has_timestamp:
            return self.emit(kind, item, 0, p.trace_time, p.trace_time, AS_IS)
        self.clocks.engine.source_ns = p.source_ns
        return self.emit(kind, item, p.clock, p.timestamp, p.trace_time, p.own_status)

    cdef int emit_trace_time(
        self, Packet *p, Kind kind, uint32_t item, int64_t timestamp
    ) except -1 nogil:
        """An item whose timestamp is trace time."""
        if p.status != RESOLVED:
            return self.emit(kind, item, 0, timestamp, 0, p.status)
        push(&self.sorter, timestamp)
        return self.emit(kind, item, 0, timestamp, timestamp, AS_IS)
