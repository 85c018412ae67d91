from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.directory cimport Text
from tracetime._kernels.perfetto.interning cimport InternedData
from tracetime._kernels.perfetto.track_tree cimport TrackTree
from tracetime._kernels.slices cimport UNSET, Memos, Processes, SliceTables, Slices, Strings, Tracks

# The kind of an entry; the comment says what its `payload` holds.
cdef enum EntryKind:
    ENTRY_TRACK_EVENT = 0           # its debug annotations, as JSON
    ENTRY_TRACK_DESCRIPTOR = 1      # the message, as of all the others
    ENTRY_THREAD_DESCRIPTOR = 2
    ENTRY_PROCESS_DESCRIPTOR = 3
    ENTRY_PROCESS_TREE = 4
    ENTRY_FRAME = 5
    ENTRY_FTRACE = 6                # the event within
    ENTRY_SCHED_SWITCH = 7          # nothing

cdef enum EntryFlag:
    HAS_TYPE = 1
    HAS_PHASE = 2
    HAS_TRACK_UUID = 4              # of its own, not by its sequence's defaults

cdef enum IdKind:
    ID_NONE = 0
    ID_GLOBAL = 1
    ID_LOCAL = 2

# One entry of the log; entries are replayed in order of time.
cdef struct Entry:
    int64_t ts
    int64_t row                     # of the events table
    uint64_t track                  # uuid
    int64_t payload
    int32_t payload_size
    int32_t name                    # of an ftrace event: its field in FtraceEvent
    int32_t category
    int32_t thread                  # of its sequence, an index of `threads`; of ftrace: its pid
    int32_t legacy                  # index of `legacies`
    uint16_t machine
    uint8_t kind
    uint8_t flags
    uint8_t type
    uint8_t phase

# The fields that only legacy track events have.
cdef struct Legacy:
    int64_t id
    int64_t duration_ns
    int32_t id_scope                # a string
    int32_t pid
    int64_t tid
    uint8_t id_kind
    uint8_t instant_scope
    bint has_pid
    bint has_tid

# The thread that a packet sequence names as its own until its state is cleared.
cdef struct SequenceThread:
    int64_t tid
    int32_t pid
    bint is_known

# What an id refers to, by the kind of the id.
cdef enum MemoKind:
    MEMO_FIRST_NAME = 0             # of an asynchronous id: a string; of a process, the next one
    MEMO_FIRST_NAME_OF_PROCESS = 1
    MEMO_FRAME = 2                  # a cookie of the frame timeline: its process and track
    MEMO_FRAME_TOKEN = 3            # expected by a process
    MEMO_TRANSACTION = 4            # of binder: what kind it is of
    MEMO_FENCE = 5                  # a context of fences: its timeline

# The pending fences of one context, in order; the first one is an open slice.
cdef struct Fence:
    int32_t next
    uint32_t number

cdef struct FenceTimeline:
    int32_t track
    int32_t first
    int32_t last
    bint has_emit

cdef struct SequenceState:
    int32_t thread                  # an index of `threads`
    bint has_reference
    Bytes defaults                  # TrackEventDefaults, where those name extra counters
    int64_t known_counters          # how many of its first extra counters are known tracks

# From when on the ftrace events of a machine count.
cdef struct FtraceStart:
    int64_t started_ns              # when tracing started, in trace time
    int64_t valid_ns                # from when on all of its buffers hold their events
    bint keeps                      # whether events from before the start are used


cdef class SliceLog:
    cdef readonly SliceTables tables
    cdef readonly Strings strings       # those of the tables, as the next three
    cdef readonly Processes processes
    cdef readonly Tracks tracks
    cdef readonly Slices slices
    cdef TrackTree tree
    cdef InternedData interned
    cdef Entry *entries
    cdef int64_t n, capacity, limit
    cdef int32_t *queues                # of the entries
    cdef int64_t queues_capacity
    cdef Legacy *legacies
    cdef int64_t n_legacies, legacies_capacity
    cdef SequenceThread *threads
    cdef int64_t n_threads, threads_capacity
    cdef SequenceState *sequences
    cdef int64_t n_sequences, sequences_capacity
    cdef Bytes args
    cdef Bytes payloads
    cdef Bytes scratch
    cdef int32_t *comms                 # the names of one compact_sched
    cdef int64_t comms_capacity
    cdef int64_t base                   # row of the events table of the first of the batch at hand
    cdef int64_t args_limit
    cdef int64_t args_left_out
    cdef readonly int64_t left_out
    cdef uint64_t seed
    cdef HashTable queue_table
    cdef uint64_t *queue_keys
    cdef int64_t n_queues, queue_keys_capacity
    cdef Memos memos
    cdef FenceTimeline *timelines
    cdef int64_t n_timelines, timelines_capacity
    cdef Fence *fences
    cdef int64_t n_fences, fences_capacity
    cdef FtraceStart *ftrace            # by machine
    cdef int64_t n_ftrace, ftrace_capacity
    cdef int32_t *process_names         # of Chrome's types of processes
    cdef int32_t *thread_names
    cdef int64_t n_process_names, n_thread_names

    cdef FtraceStart *ftrace_of(self, uint32_t machine) except NULL nogil
    cdef SequenceState *sequence(self, uint32_t sequence) except NULL nogil
    cdef int32_t thread_of(self, uint32_t sequence) except -1 nogil
    cdef int32_t queue(self, uint32_t machine, int kind, uint32_t cpu) except -1 nogil
    cdef Entry *add(self, int kind, int64_t ts, uint32_t machine, int32_t queue) except? NULL nogil
    cdef int32_t code_text(self, Text *text) except -2 nogil
    cdef int32_t pair(self, int32_t category, int32_t scope) except -2 nogil
