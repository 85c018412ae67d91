from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.perfetto.observer cimport PacketObserver
from tracetime._kernels.common.text cimport Arena, Bytes
from tracetime._kernels.common.wire cimport Span

cdef enum Kind_:
    PROCESS = 0             # by pid
    THREAD = 1              # by tid
    THREAD_OF = 2           # by pid and tid, from track descriptors
    TRACK = 3               # by uuid

# A name and its place in the dictionary of one batch of rows.
cdef struct Text:
    const uint8_t *data     # NULL: no name
    uint32_t size
    int32_t code
    int64_t batch           # that `code` is of

cdef struct Known:
    uint64_t key
    uint64_t parent         # of a track, 0: none
    int64_t tid
    Text name
    int32_t pid
    uint32_t machine
    int32_t process         # of a settled track: index, -1 for none
    int32_t thread
    uint8_t kind
    uint8_t priority        # of the name
    bint has_pid
    bint has_tid
    uint8_t settled


cdef class Directory(PacketObserver):
    cdef uint64_t seed
    cdef Known *known
    cdef int64_t n, capacity
    cdef HashTable table
    cdef Arena arena
    cdef Bytes scratch
    cdef Span *comms                    # the names of one compact_sched
    cdef int64_t n_comms, comms_capacity
    cdef int64_t limit
    cdef readonly int64_t left_out
    cdef Bytes process_types            # one after the other, ended by NUL

    cdef uint64_t hash(self, uint32_t machine, int kind, int32_t pid, uint64_t key) noexcept nogil
    cdef int32_t find(self, uint32_t machine, int kind, int32_t pid, uint64_t key) noexcept nogil
    cdef int32_t enter(self, uint32_t machine, int kind, int32_t pid, uint64_t key) except -2 nogil
    cdef int64_t held(self) noexcept nogil
    cdef int call(self, int32_t index, Span name, int priority) except -1 nogil
    cdef int call_type(self, int32_t index, uint64_t type) except -1 nogil
    cdef int call_thread(
        self, uint32_t machine, bint has_pid, int32_t pid, int64_t tid, Span name, int priority
    ) except -1 nogil
    cdef int learn_tree(self, uint32_t machine, Span tree) except -1 nogil
    cdef int learn_tree_process(self, uint32_t machine, Span process) except -1 nogil
    cdef int learn_bundle(self, uint32_t machine, Span bundle) except -1 nogil
    cdef int learn_comm(
        self, uint32_t machine, Span event, uint32_t pid, uint32_t comm
    ) except -1 nogil
    cdef int learn_sched(
        self, uint32_t machine, Span sched, uint32_t pids, uint32_t comms
    ) except -1 nogil
    cdef int learn_process(self, uint32_t machine, Span process, Span chrome) except -1 nogil
    cdef int32_t learn_thread(self, uint32_t machine, Span thread) except -2 nogil
    cdef int learn_track(self, uint32_t machine, Span track) except -1 nogil
    cdef int32_t process_of(self, uint32_t machine, int32_t pid) noexcept nogil
    cdef int32_t thread_of(
        self, uint32_t machine, bint has_pid, int32_t pid, int64_t tid
    ) noexcept nogil
    cdef int settle_track(self, int32_t index) noexcept nogil
