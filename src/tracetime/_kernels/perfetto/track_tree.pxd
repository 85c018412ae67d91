from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.slices cimport Processes, Strings, TrackKind, Tracks

cdef enum:
    MERGE_BY_NAME = 0
    MERGE_NOT = 1
    MERGE_BY_KEY = 2

cdef enum Scope:
    SCOPE_UNKNOWN = 0
    SCOPE_THREAD = 1
    SCOPE_PROCESS = 2
    SCOPE_GLOBAL = 3

# A track as its descriptors define it, and what was made of it.
cdef struct Node:
    uint64_t uuid
    uint64_t parent
    uint64_t details                # of a counter, hashed
    int64_t pid
    int64_t tid
    uint32_t machine
    int32_t name
    int32_t merge_key
    uint8_t merge
    bint has_pid
    bint has_tid
    bint is_counter
    bint is_state
    bint separate
    bint synthetic
    # resolved
    uint8_t scope
    bint is_root
    int32_t thread
    int32_t process
    # made
    bint is_made
    int32_t track                   # or else
    int32_t set_
    int32_t track_name
    int32_t track_thread
    int32_t track_process


cdef class TrackTree:
    cdef uint64_t seed
    cdef Strings strings
    cdef Processes processes
    cdef Tracks tracks
    cdef Node *nodes
    cdef int64_t n, capacity, limit
    cdef readonly int64_t left_out
    cdef HashTable table
    cdef HashTable roots            # threads and processes by what described them
    cdef int32_t *root_nodes
    cdef int64_t *root_keys
    cdef int64_t n_roots, root_nodes_capacity, root_keys_capacity

    cdef int64_t find(self, uint32_t machine, uint64_t uuid) noexcept nogil
    cdef int64_t enter(self, uint32_t machine, uint64_t uuid) except -2 nogil
    cdef int reserve(self, uint32_t machine, Span descriptor) except -1 nogil
    cdef bint is_counter(self, uint32_t machine, uint64_t uuid) noexcept nogil
    cdef bint is_valid(self, uint32_t machine, uint64_t uuid) noexcept nogil
    cdef int64_t root(self, int64_t key) except -1 nogil
    cdef int64_t resolve(self, uint32_t machine, uint64_t uuid) except -2 nogil
    cdef int make(self, int64_t at, int32_t event_name) except -1 nogil
    cdef int make_merged(
        self, int64_t at, TrackKind kind, int64_t owner, int32_t name, int32_t thread,
        int32_t process
    ) except -1 nogil
    cdef int32_t begin(self, int64_t at, int32_t event_name) except -1 nogil
    cdef int32_t end(self, int64_t at, int32_t event_name) except -1 nogil
    cdef int32_t instant(self, int64_t at, int32_t event_name) except -1 nogil
    cdef int32_t legacy(self, int64_t at, int32_t event_name) except -2 nogil


cdef inline int64_t synthetic_tid(int64_t tid, int64_t pid) noexcept nogil:
    """CreateSyntheticTid: a unique tid for a thread of a sandbox with its own numbering."""
    return <int64_t>(<uint64_t>pid << 32) | tid
