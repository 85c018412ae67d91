from libc.stdint cimport int32_t, int64_t

from tracetime._kernels.slices.tracks cimport Tracks

# A track for slices that cross others of their thread.
cdef struct SpillLane:
    int32_t track
    int32_t next                # lane of the thread, or NONE
    int32_t top                 # the innermost slice on it that may be open, an index of `ends`

cdef struct OpenEnd:
    int64_t ts
    int32_t below


cdef class Spills:
    cdef Tracks tracks
    cdef int32_t *first         # lane of each thread
    cdef int64_t n_threads, threads_capacity
    cdef SpillLane *lanes
    cdef int64_t n_lanes, lanes_capacity
    cdef OpenEnd *ends
    cdef int64_t n_ends, ends_capacity
    cdef int32_t free_end       # the first of those that are not in use

    cdef int32_t track(self, int32_t thread, int64_t ts, int64_t dur) except -2 nogil
    cdef int32_t add_lane(self, int32_t thread, int32_t last, int32_t index) except -1 nogil
    cdef int push(self, SpillLane *lane, int64_t end) except -1 nogil
