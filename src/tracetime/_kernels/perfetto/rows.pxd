from libc.stdint cimport int8_t, int64_t, uint16_t, uint32_t, uint64_t

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
    cdef uint32_t *packet_sequence
    cdef uint32_t *sequence
    cdef uint32_t *machine
    cdef uint32_t *clock
    cdef uint32_t *snapshots
    cdef int64_t *timestamp
    cdef int64_t *trace_time
    cdef int64_t *source_ns
    cdef int8_t *status
    cdef uint64_t *offset
    cdef object arrays
    cdef public object names            # what each row is, or None

    cdef int enlarge(self, int64_t capacity) except -1
    cdef int append(self, const Row *row) except -1 nogil
