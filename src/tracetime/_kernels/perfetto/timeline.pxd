from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.graph cimport Key
from tracetime._kernels.perfetto.clock_tracker cimport ClockTracker
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.rows cimport Kind, Row, Rows
from tracetime._kernels.perfetto.sorter cimport Sorter
from tracetime._kernels.perfetto.streams cimport Streams

# Why feeding stopped; formats/perfetto/read/wire.py handles each.
cdef enum Stop:
    STOP_END = 0            # the next field is not whole: give more bytes
    STOP_ROWS = 1           # enough rows for a batch
    STOP_COMPRESSED = 2     # a packet of compressed packets
    STOP_NEEDS_FINAL = 3    # an event that the end of the file decides about
    STOP_ERROR = 4

# Errors that end an import; the numbers index schema.IMPORT_ERRORS.
cdef enum ImportError_:
    ERROR_FIELD_TYPE = 0
    ERROR_HEADER = 1
    ERROR_PACKET = 2
    ERROR_NOT_A_PACKET = 3
    ERROR_NESTED_COMPRESSION = 4
    ERROR_SNAPSHOT_SEQUENCE = 5
    ERROR_TIMESTAMP_SEQUENCE = 6
    ERROR_INCREMENTAL_SEQUENCE = 7
    ERROR_CPU = 8
    ERROR_FTRACE_CLOCK = 9
    ERROR_FTRACE_START = 10
    ERROR_MIXED_COMPRESSION = 11
    ERROR_REMOTE_SYNC = 12


cdef class Timeline:
    cdef ClockTracker clocks
    cdef Streams streams
    cdef Rows rows
    cdef Row row                    # what is common to the rows of the packet at hand
    cdef Sorter sorter
    cdef uint32_t file
    cdef bint silent
    cdef int error

    cdef int begin_packet(self, uint64_t packet, uint64_t offset) noexcept nogil
    cdef int continue_packet(self, Timeline other) noexcept nogil
    cdef int fail(self, int error) noexcept nogil
    cdef int emit(
        self, Kind kind, uint32_t item, uint32_t clock, int64_t timestamp, int64_t ns, int status
    ) except -1 nogil
    cdef int emit_converted(
        self, Packet *p, Kind kind, uint32_t item, Key key, int64_t timestamp, int64_t value
    ) except -1 nogil
    cdef int emit_as_packet(self, Packet *p, Kind kind, uint32_t item) except -1 nogil
    cdef int emit_trace_time(
        self, Packet *p, Kind kind, uint32_t item, int64_t timestamp
    ) except -1 nogil
