# Tracks by key, and sets of lanes: tracks that are shared by events which may overlap.
#
# Follows Perfetto's src/trace_processor/importers/common/track_compressor.cc.

cdef enum:
    NO_TRACK = -1


cdef class Tracks:
    """Tracks by number, in order of appearance. seed: of the hashes of their keys."""

    def __cinit__(self, uint64_t seed):
        self.seed = seed

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n_sets):
            free(self.sets[i].free_lanes)
        free(self.tracks)
        free(self.keys)
        free(self.sets)
        free(self.lanes)
        free_table(&self.track_table)
        free_table(&self.set_table)
        free_table(&self.cookie_table)

    cdef uint64_t hash(self, const TrackKey *key) noexcept nogil:
        cdef uint64_t h = mix(self.seed ^ <uint64_t>key.kind)
        h = mix(h ^ <uint64_t>key.a)
        h = mix(h ^ <uint64_t>key.b)
        h = mix(h ^ <uint64_t>key.c)
        return mix(h ^ <uint64_t>key.d)

    # Tracks

    cdef int32_t make(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """A new track."""
        cdef Track *t
        grow(<void **>&self.tracks, &self.capacity, self.n + 1, sizeof(Track))
        grow(<void **>&self.keys, &self.keys_capacity, self.n + 1, sizeof(TrackKey))
        t = &self.tracks[self.n]
        t.name = name
        t.thread = thread
        t.process = process
        t.set_ = NO_TRACK
        self.keys[self.n] = key
        self.n += 1
        return <int32_t>(self.n - 1)

    cdef int32_t intern(
        self, TrackKey key, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """The track of that key, made where it is new."""
        cdef uint64_t hash = self.hash(&key), slot = hash
        cdef int64_t i = next_match(&self.track_table, hash, &slot)
        while i >= 0:
            if memcmp(&self.keys[i], &key, sizeof(TrackKey)) == 0:
                return <int32_t>i
            i = next_match(&self.track_table, hash, &slot)
        add_index(&self.track_table, hash, self.n)
        return self.make(key, name, thread, process)

    # Lanes

    cdef int32_t lane_set(self, TrackKey key) except -1 nogil:
        """The set of that key, made where it is new."""
        cdef uint64_t hash = self.hash(&key), slot = hash
        cdef int64_t i = next_match(&self.set_table, hash, &slot)
        cdef LaneSet *s
        while i >= 0:
            if memcmp(&self.sets[i].key, &key, sizeof(TrackKey)) == 0:
                return <int32_t>i
            i = next_match(&self.set_table, hash, &slot)
        grow(<void **>&self.sets, &self.sets_capacity, self.n_sets + 1, sizeof(LaneSet))
        s = &self.sets[self.n_sets]
        memset(s, 0, sizeof(LaneSet))
        s.key = key
        s.first = s.instants = NO_TRACK
        self.n_sets += 1
        add_index(&self.set_table, hash, self.n_sets - 1)
        return <int32_t>(self.n_sets - 1)

    cdef int remember(self, int32_t lane) except -1 nogil:
        """Add a lane to the table of cookies."""
        cdef int64_t i
        cdef Lane *l
        if self.cookie_table.n > 4 * self.n_lanes + 64:
            # Most entries are of cookies that lanes had before.
            free_table(&self.cookie_table)
            for i in range(self.n_lanes):
                l = &self.lanes[i]
                add_index(
                    &self.cookie_table,
                    mix(mix(self.seed ^ <uint64_t>l.cookie) ^ <uint64_t>l.set_), i,
                )
            return 0
        l = &self.lanes[lane]
        return add_index(
            &self.cookie_table, mix(mix(self.seed ^ <uint64_t>l.cookie) ^ <uint64_t>l.set_), lane
        )

    cdef int set_free(self, int32_t lane) except -1 nogil:
        """Add a lane to the heap of free lanes of its set."""
        cdef LaneSet *s = &self.sets[self.lanes[lane].set_]
        cdef int64_t at, up
        if self.lanes[lane].is_free:
            return 0
        self.lanes[lane].is_free = True
        grow(<void **>&s.free_lanes, &s.free_capacity, s.n_free + 1, sizeof(int32_t))
        at = s.n_free
        s.n_free += 1
        # Of one set, lanes made earlier have lower numbers and lower indices.
        while at and s.free_lanes[(at - 1) // 2] > lane:
            up = (at - 1) // 2
            s.free_lanes[at] = s.free_lanes[up]
            at = up
        s.free_lanes[at] = lane
        return 0

    cdef int32_t first_free(self, int32_t set_) noexcept nogil:
        """The first lane of a set without an open slice; it stays in the heap."""
        cdef LaneSet *s = &self.sets[set_]
        cdef int64_t at, child
        cdef int32_t last
        while s.n_free and self.lanes[s.free_lanes[0]].nested:
            self.lanes[s.free_lanes[0]].is_free = False
            s.n_free -= 1
            last = s.free_lanes[s.n_free]
            at = 0
            while 2 * at + 1 < s.n_free:
                child = 2 * at + 1
                if child + 1 < s.n_free and s.free_lanes[child + 1] < s.free_lanes[child]:
                    child += 1
                if s.free_lanes[child] >= last:
                    break
                s.free_lanes[at] = s.free_lanes[child]
                at = child
            s.free_lanes[at] = last
        return s.free_lanes[0] if s.n_free else NO_TRACK

    cdef int32_t lane(self, int32_t set_, int64_t cookie) except -1 nogil:
        """GetOrCreateTrackForCookie: its own lane, or the first free one, or a new one."""
        cdef uint64_t hash = mix(mix(self.seed ^ <uint64_t>cookie) ^ <uint64_t>set_), slot = hash
        cdef int64_t i = next_match(&self.cookie_table, hash, &slot)
        cdef int32_t found
        cdef Lane *l
        while i >= 0:
            l = &self.lanes[i]
            if l.cookie == cookie and l.set_ == set_:
                return <int32_t>i
            i = next_match(&self.cookie_table, hash, &slot)
        found = self.first_free(set_)
        if found != NO_TRACK:
            self.lanes[found].cookie = cookie
            self.remember(found)
            return found
        grow(<void **>&self.lanes, &self.lanes_capacity, self.n_lanes + 1, sizeof(Lane))
        found = <int32_t>self.n_lanes
        l = &self.lanes[found]
        l.cookie = cookie
        l.set_ = set_
        l.index = self.sets[set_].n_lanes
        l.track = NO_TRACK
        l.nested = 0
        l.is_free = False
        if self.sets[set_].first == NO_TRACK:
            self.sets[set_].first = found
        self.sets[set_].n_lanes += 1
        self.n_lanes += 1
        self.set_free(found)
        self.remember(found)
        return found

    cdef int32_t track_of(
        self, int32_t lane, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """The track of a lane, made with that name where it has none."""
        cdef Lane *l = &self.lanes[lane]
        if l.track == NO_TRACK:
            l.track = self.make(self.sets[l.set_].key, name, thread, process)
            self.tracks[l.track].set_ = l.set_
        return l.track

    cdef int32_t begin(
        self, int32_t set_, int64_t cookie, bint saturating, int32_t name, int32_t thread,
        int32_t process
    ) except -1 nogil:
        """Begin: the track on which something with that cookie begins."""
        cdef int32_t lane = self.lane(set_, cookie)
        self.lanes[lane].nested = 1 if saturating else self.lanes[lane].nested + 1
        return self.track_of(lane, name, thread, process)

    cdef int32_t end(
        self, int32_t set_, int64_t cookie, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """End: the track on which something with that cookie ends."""
        cdef int32_t lane = self.lane(set_, cookie)
        if self.lanes[lane].nested > 0:
            self.lanes[lane].nested -= 1
            if self.lanes[lane].nested == 0:
                self.set_free(lane)
        return self.track_of(lane, name, thread, process)

    cdef int32_t instants(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """Scoped, without a duration: one extra lane is enough, as events come in order of time."""
        cdef LaneSet *s = &self.sets[set_]
        if s.instants == NO_TRACK:
            s.instants = self.make(s.key, name, thread, process)
            self.sets[set_].n_lanes += 1
        return s.instants

    cdef int32_t first_track(
        self, int32_t set_, int32_t name, int32_t thread, int32_t process
    ) except -1 nogil:
        """DefaultTrack: that of the first lane."""
        if self.sets[set_].first == NO_TRACK:
            self.lane(set_, 0)
        return self.track_of(self.sets[set_].first, name, thread, process)

    def columns(self):
        """Tracks as (name, thread, process), -1 for none."""
        cdef int64_t i
        cdef int32_t[::1] name = (names := np.empty(self.n, np.int32))
        cdef int32_t[::1] thread = (threads := np.empty(self.n, np.int32))
        cdef int32_t[::1] process = (processes := np.empty(self.n, np.int32))
        for i in range(self.n):
            name[i] = self.tracks[i].name
            thread[i] = self.tracks[i].thread
            process[i] = self.tracks[i].process
        return names, threads, processes


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
