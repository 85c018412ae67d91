from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t

cdef enum:
    DEEPEST_SLICE = 512         # SliceTracker::kMaxDepth
    NONE = -1
    CROSSES = -3                # of a slice that was not started: it ends after one that is open
    OPEN = -1                   # the duration of a slice that has not ended

cdef struct Slice:
    int64_t ts
    int64_t dur                 # OPEN until it ends
    int32_t depth
    int32_t parent              # the slice below it on its track's stack, or NONE
    int32_t track
    int32_t name
    int32_t category
    int32_t begin               # the events that it begins and ends with,
    int32_t end                 # the same one of a complete slice, NONE: it is open

# The slices that may still be open on a track: the one on top, the others by their parents.
cdef struct Stack:
    int32_t top
    int32_t depth
    int32_t closed              # how many of them have ended


cdef class Slices:
    cdef Slice *slices
    cdef int64_t n, capacity
    cdef Stack *stacks
    cdef int64_t n_stacks, stacks_capacity
    cdef int64_t limit
    cdef readonly int64_t too_deep      # slices left out for their depth
    cdef readonly int64_t overlapping   # complete ones left out: they cross one that is open
    cdef readonly int64_t unmatched     # ends without a begin
    cdef readonly int64_t left_out      # for want of room

    cdef Stack *stack(self, int32_t track) except NULL nogil
    cdef int pop(self, Stack *stack) noexcept nogil
    cdef bint close(self, Stack *stack, int64_t ts, int64_t dur) noexcept nogil
    cdef int64_t start(
        self, int64_t ts, int64_t dur, int32_t track, int32_t category, int32_t name,
        int32_t event
    ) except -2 nogil
    cdef int64_t begin_saturating(
        self, int64_t ts, int32_t track, int32_t name, int32_t event
    ) except -2 nogil
    cdef int64_t finish(
        self, int64_t ts, int32_t track, int32_t category, int32_t name, int32_t event
    ) except -2 nogil
    cdef int32_t topmost(self, int32_t track) noexcept nogil
