from libc.stdint cimport int8_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.graph cimport Engine, Key
from tracetime._kernels.perfetto.clocks cimport (
    ClockTracker, ExchangeRounds, Instant, RemoteSyncs, SnapshotExtensions, Streams,
)
from tracetime._kernels.perfetto.messages cimport TracePacket
from tracetime._kernels.perfetto.packet cimport Packet
from tracetime._kernels.perfetto.sorter cimport Sorter

# The numbers index schema.KINDS.
cdef enum Kind:
    KIND_PACKET = 0
    KIND_FTRACE_EVENT = 1
    KIND_SCHED_SWITCH = 2
    KIND_SCHED_WAKING = 3
    KIND_ANDROID_LOG = 4
    KIND_STATSD_ATOM = 5
    KIND_HEAP_DUMP = 6
    KIND_POWER_RAIL = 7
    KIND_STACK_SAMPLE = 8
    KIND_TRACK_EVENT_LEGACY = 9
    KIND_PROCESS_START = 10
    KIND_GPU_WORK_PERIOD = 11
    KIND_ETW_EVENT = 12

cdef struct Row:
    uint64_t packet
    uint64_t offset
    int64_t timestamp
    int64_t trace_time
    int64_t source_ns
    uint32_t item
    uint32_t packet_sequence
    uint32_t sequence
    uint32_t machine
    uint32_t clock
    uint32_t snapshots       # that had been read before its packet
    uint16_t payload
    int8_t kind
    int8_t status

cdef class Rows:
    cdef int64_t n, capacity
    cdef uint64_t *packet
    cdef int8_t *kind
    cdef uint32_t *item
    cdef uint16_t *payload
    cdef uint32_t *packet_sequence, *sequence, *machine, *clock, *snapshots
    cdef int64_t *timestamp, *trace_time, *source_ns
    cdef int8_t *status
    cdef uint64_t *offset
    cdef object arrays
    cdef public object names            # what each row is, or None

    cdef int enlarge(self, int64_t capacity) except -1
    cdef int append(self, const Row *row) except -1 nogil


# A packet that was imported.
cdef struct ImportedPacket:
    Span whole
    const TracePacket *message
    Span inner                  # the payload whose items have timestamps of their own
    uint32_t inner_field
    uint64_t packet             # its number
    uint64_t offset             # of its first byte, or of the compressed packet it came in
    uint32_t machine            # in order of appearance
    uint32_t sequence           # in order of appearance
    bint has_sequence_id
    bint valid                  # incremental state of the sequence
    bint cleared                # that state, by this packet
    bint placed                 # it has a trace time, its own or the latest before it
    int64_t trace_time
    bint snapshot_taken         # its ClockSnapshot, whole
    int64_t ftrace_valid_ns     # from when on all of its machine's ftrace buffers hold their events


cdef class PacketObserver:
    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil


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
