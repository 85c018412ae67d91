from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable

# Kinds of tracks; the comments say what the rest of a `TrackKey` holds.
cdef enum TrackKind:
    TRACK_OF_THREAD = 0             # by thread
    TRACK_OF_PROCESS = 1            # by descriptor, as all to TRACK_STATE
    TRACK_SEPARATE = 2
    TRACK_GLOBAL = 3
    TRACK_COUNTER = 4
    TRACK_STATE = 5
    TRACK_MERGED_OF_THREAD = 6      # by parent and by what is merged, as the next two
    TRACK_MERGED_OF_PROCESS = 7
    TRACK_MERGED = 8
    TRACK_ASYNC_OF_PROCESS = 9      # by scope and name, as the next
    TRACK_ASYNC = 10
    TRACK_PROCESS_INSTANTS = 11
    TRACK_GLOBAL_INSTANTS = 12
    TRACK_ATRACE_ASYNC = 13
    TRACK_ATRACE_NAMED = 14
    TRACK_FRAMES_EXPECTED = 15
    TRACK_FRAMES_ACTUAL = 16
    TRACK_FENCES = 17
    TRACK_BY_NAME = 18
    TRACK_KILLED = 19
    TRACK_SPILLED = 20              # by thread and index

# The key of a track: its kind, and what distinguishes it from others of that kind.
cdef struct TrackKey:
    int64_t kind
    int64_t a
    int64_t b
    int64_t c
    int64_t d

cdef struct Track:
    int32_t name
    int32_t thread
    int32_t process
    int32_t set_            # it is a lane of, or -1

# Tracks shared by events with cookies: each cookie has one lane at a time.
cdef struct LaneSet:
    TrackKey key
    int32_t first           # lane of the set, -1: it has none
    int32_t instants        # its track for what has no duration, -1: it has none
    int32_t *free_lanes     # a heap of lanes without an open slice
    int64_t n_free, free_capacity
    int32_t n_lanes

cdef struct Lane:
    int64_t cookie
    int32_t set_
    int32_t index           # within its set
    int32_t track
    int32_t nested          # begins without an end
    bint is_free            # it is in the heap of free lanes


cdef class Tracks:
    cdef uint64_t seed
    cdef Track *tracks
    cdef int64_t n, capacity
    cdef HashTable track_table
    cdef TrackKey *keys             # of tracks
    cdef int64_t keys_capacity
    cdef LaneSet *sets
    cdef int64_t n_sets, sets_capacity
    cdef HashTable set_table
    cdef Lane *lanes
    cdef int64_t n_lanes, lanes_capacity
    cdef HashTable cookie_table

    cdef uint64_t hash(self, const TrackKey *key) noexcept nogil
    cdef int32_t make(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t intern(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t lane_set(self, TrackKey key) except -1 nogil
    cdef int32_t lane(self, int32_t set_, int64_t cookie) except -1 nogil
    cdef int set_free(self, int32_t lane) except -1 nogil
    cdef int32_t first_free(self, int32_t set_) noexcept nogil
    cdef int remember(self, int32_t lane) except -1 nogil
    cdef int32_t begin(
        self, int32_t set_, int64_t cookie, bint saturating, int32_t name, int32_t thread,
        int32_t process
    ) except -1 nogil
    cdef int32_t end(
        self, int32_t set_, int64_t cookie, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t instants(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t first_track(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
    cdef int32_t track_of(
        self, int32_t lane, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil
