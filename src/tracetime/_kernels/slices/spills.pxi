# Where a complete slice goes that crosses others on the track of its thread.
#
# Follows LegacyOverlappingScopedInternal of Perfetto's
# src/trace_processor/importers/common/track_compressor.cc.

cdef enum:
    # Tracks of one thread that are searched: real traces have few, hostile ones could have millions.
    MOST_OF_A_THREAD = 1024


cdef class Spills:
    """Tracks beside those of threads. tracks: they become."""

    def __cinit__(self, Tracks tracks not None):
        self.tracks = tracks
        self.free_end = NONE

    def __dealloc__(self):
        free(self.first)
        free(self.lanes)
        free(self.ends)

    cdef int32_t track(self, int32_t thread, int64_t ts, int64_t dur) except -2 nogil:
        """The first track of the thread on which it fits; NONE where there are too many.

        ts never falls.
        """
        cdef int64_t end = saturating_add(ts, dur)
        cdef int32_t lane, last = NONE, index = 0, over
        cdef SpillLane *l
        while self.n_threads <= thread:
            grow(
                <void **>&self.first, &self.threads_capacity, self.n_threads + 1, sizeof(int32_t)
            )
            self.first[self.n_threads] = NONE
            self.n_threads += 1
        lane = self.first[thread]
        while lane != NONE:
            l = &self.lanes[lane]
            while l.top != NONE and self.ends[l.top].ts <= ts:
                over = l.top
                l.top = self.ends[over].below
                self.ends[over].below = self.free_end
                self.free_end = over
            if l.top == NONE or end <= self.ends[l.top].ts:
                break
            last = lane
            lane = l.next
            index += 1
        if lane == NONE:
            if index == MOST_OF_A_THREAD:
                return NONE
            lane = self.add_lane(thread, last, index)
        self.push(&self.lanes[lane], end)
        return self.lanes[lane].track

    cdef int32_t add_lane(self, int32_t thread, int32_t last, int32_t index) except -1 nogil:
        """A lane behind the last one of a thread."""
        cdef int32_t lane = <int32_t>self.n_lanes
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_SPILLED
        key.a = thread
        key.b = index
        grow(<void **>&self.lanes, &self.lanes_capacity, self.n_lanes + 1, sizeof(SpillLane))
        self.lanes[lane].track = self.tracks.make(key, NO_NAME, thread, NONE)
        self.lanes[lane].next = self.lanes[lane].top = NONE
        self.n_lanes += 1
        if last == NONE:
            self.first[thread] = lane
        else:
            self.lanes[last].next = lane
        return lane

    cdef int push(self, SpillLane *lane, int64_t end) except -1 nogil:
        """Note a slice that is open on a lane."""
        cdef int32_t at = self.free_end
        if at == NONE:
            at = <int32_t>self.n_ends
            grow(<void **>&self.ends, &self.ends_capacity, self.n_ends + 1, sizeof(OpenEnd))
            self.n_ends += 1
        else:
            self.free_end = self.ends[at].below
        self.ends[at].ts = end
        self.ends[at].below = lane.top
        lane.top = at
        return 0
