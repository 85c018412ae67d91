# Nesting: turns begins, ends and complete events, in order of time, into slices.
#
# Follows Perfetto's src/trace_processor/importers/common/slice_tracker.cc. Numbers of tracks, names
# and events are the caller's.

# The operations of `apply`.
cdef enum Operation:
    BEGIN = 0
    END = 1
    COMPLETE = 2
    BEGIN_SATURATING = 3

OPERATIONS = ("begin", "end", "complete", "begin_saturating")


cdef class Slices:
    """Slices by number, in the order in which they began.

    limit: how many there may be; others are counted as `left_out`.
    """

    def __cinit__(self, int64_t limit):
        # They are numbered in 32 bits.
        self.limit = min(limit, 0x7FFFFFFF)

    def __dealloc__(self):
        free(self.slices)
        free(self.stacks)

    def __len__(self):
        return self.n

    @property
    def not_nested(self):
        """How many slices are left out for their depth, or because they cross others."""
        return self.too_deep + self.overlapping

    cdef Stack *stack(self, int32_t track) except NULL nogil:
        cdef int64_t i, n = <int64_t>track + 1
        if n > self.n_stacks:
            grow(<void **>&self.stacks, &self.stacks_capacity, n, sizeof(Stack))
            for i in range(self.n_stacks, n):
                memset(&self.stacks[i], 0, sizeof(Stack))
                self.stacks[i].top = NONE
            self.n_stacks = n
        return &self.stacks[track]

    cdef int pop(self, Stack *stack) noexcept nogil:
        if self.slices[stack.top].dur != OPEN:
            stack.closed -= 1
        stack.top = self.slices[stack.top].parent
        stack.depth -= 1
        return 0

    cdef bint close(self, Stack *stack, int64_t ts, int64_t dur) noexcept nogil:
        """MaybeCloseStack: pop slices that ended before `ts`; False if the new one crosses one.

        dur: of what comes, OPEN where it is not known.
        """
        cdef int32_t i = stack.top, below
        cdef Slice *s, *inner
        cdef int64_t end
        cdef bint open_above = False
        cdef int32_t left = stack.closed
        while left:
            s = &self.slices[i]
            below = s.parent
            if s.dur == OPEN:
                open_above = True
                i = below
                continue
            left -= 1
            end = saturating_add(s.ts, s.dur)
            if open_above:
                if ts > end:
                    # Open slices within it end with it.
                    while stack.top != i:
                        inner = &self.slices[stack.top]
                        self.pop(stack)
                        inner.dur = end - inner.ts
                        inner.end = s.end
                    self.pop(stack)
                    open_above = False
            elif end < ts or end == ts and not (s.dur == 0 and dur == 0):
                # Instants of one time nest; other slices do not contain their end.
                self.pop(stack)
            elif dur != OPEN and ts < end and saturating_add(ts, dur) > end:
                return False
            i = below
        return True

    cdef int64_t start(
        self, int64_t ts, int64_t dur, int32_t track, int32_t category, int32_t name,
        int32_t event
    ) except -2 nogil:
        """StartSlice: begin a slice, or add a complete one; its number.

        NONE or CROSSES where it is dropped.
        """
        cdef Stack *stack = self.stack(track)
        cdef Slice *s
        if not self.close(stack, ts, dur):
            self.overlapping += 1
            return CROSSES
        if stack.depth >= DEEPEST_SLICE:
            self.too_deep += 1
            return NONE
        if self.n >= self.limit:
            self.left_out += 1
            return NONE
        grow(<void **>&self.slices, &self.capacity, self.n + 1, sizeof(Slice))
        s = &self.slices[self.n]
        s.ts = ts
        s.dur = dur
        s.depth = stack.depth
        s.parent = stack.top
        s.track = track
        s.name = name
        s.category = category
        s.begin = event
        s.end = NONE if dur == OPEN else event
        if dur != OPEN:
            stack.closed += 1
        stack.top = <int32_t>self.n
        stack.depth += 1
        self.n += 1
        return self.n - 1

    cdef int64_t begin_saturating(
        self, int64_t ts, int32_t track, int32_t name, int32_t event
    ) except -2 nogil:
        """BeginLegacyUnnestable: nothing where one is on the track's stack."""
        cdef Stack *stack = self.stack(track)
        if stack.depth:
            return NONE
        return self.start(ts, OPEN, track, NONE, name, event)

    cdef int64_t finish(
        self, int64_t ts, int32_t track, int32_t category, int32_t name, int32_t event
    ) except -2 nogil:
        """End the innermost open slice of that name and category, either may be NONE: any."""
        cdef Stack *stack
        cdef Slice *s
        cdef int32_t i
        if track >= self.n_stacks or self.stacks[track].top == NONE:
            self.unmatched += 1
            return NONE
        stack = &self.stacks[track]
        self.close(stack, ts, OPEN)
        i = stack.top
        while i != NONE:
            s = &self.slices[i]
            if s.dur == OPEN and (category == NONE or category == s.category) and (
                name == NONE or s.name == NONE or name == s.name
            ):
                if i == stack.top:
                    self.pop(stack)
                else:
                    stack.closed += 1
                s.dur = saturating_sub(ts, s.ts)
                s.end = event
                return i
            i = s.parent
        self.unmatched += 1
        return NONE

    cdef int32_t topmost(self, int32_t track) noexcept nogil:
        """GetTopmostSliceOnTrack."""
        return self.stacks[track].top if track < self.n_stacks else NONE

    def apply(
        self, const int8_t[::1] operations, const int64_t[::1] ts, const int64_t[::1] dur,
        const int32_t[::1] tracks, const int32_t[::1] categories, const int32_t[::1] names
    ):
        """Events in order of time: an index of OPERATIONS each, and what it says.

        dur: of complete ones. -1 is no name, and no category.
        """
        cdef int64_t i, n = operations.shape[0]
        if not (
            n == ts.shape[0] == dur.shape[0] == tracks.shape[0] == categories.shape[0]
            == names.shape[0]
        ):
            raise IndexError("events need as many values in each column")
        for i in range(n):
            if not 0 <= tracks[i] < 1 << 28:
                raise IndexError("tracks are numbered from 0")
        with nogil:
            for i in range(n):
                if operations[i] == BEGIN:
                    self.start(ts[i], OPEN, tracks[i], categories[i], names[i], <int32_t>i)
                elif operations[i] == END:
                    self.finish(ts[i], tracks[i], categories[i], names[i], <int32_t>i)
                elif operations[i] == COMPLETE:
                    if dur[i] >= 0:
                        self.start(ts[i], dur[i], tracks[i], categories[i], names[i], <int32_t>i)
                else:
                    self.begin_saturating(ts[i], tracks[i], names[i], <int32_t>i)

    def columns(self):
        """The slices as arrays: ts, dur, depth, parent, track, name, category, begin, end."""
        cdef int64_t i
        cdef int64_t[::1] ts, dur
        cdef int32_t[::1] depth, parent, track, name, category, begin, end
        found = {column: np.empty(self.n, np.int64) for column in ("ts", "dur")}
        for column in ("depth", "parent", "track", "name", "category", "begin", "end"):
            found[column] = np.empty(self.n, np.int32)
        ts, dur = found["ts"], found["dur"]
        depth, parent, track = found["depth"], found["parent"], found["track"]
        name, category = found["name"], found["category"]
        begin, end = found["begin"], found["end"]
        with nogil:
            for i in range(self.n):
                ts[i] = self.slices[i].ts
                dur[i] = self.slices[i].dur
                depth[i] = self.slices[i].depth
                parent[i] = self.slices[i].parent
                track[i] = self.slices[i].track
                name[i] = self.slices[i].name
                category[i] = self.slices[i].category
                begin[i] = self.slices[i].begin
                end[i] = self.slices[i].end
        return found


# What the events of slices become: slices, and the tracks, threads and processes that they are on.

cdef class SliceTables:
    """What the events of slices become.

    strings: their names. seed: of the hashes of ids. limit: of slices.
    """

    def __cinit__(self, Strings strings not None, uint64_t seed, int64_t limit):
        self.strings = strings
        self.processes = Processes(seed)
        self.tracks = Tracks(seed)
        self.slices = Slices(limit)

    cdef int32_t thread_track(self, int32_t thread) except -1 nogil:
        """InternThreadTrack: the one track that is a thread's own."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_OF_THREAD
        key.a = thread
        return self.tracks.intern(key, NO_NAME, thread, NONE)

    cdef int32_t global_instants(self, uint32_t machine) except -1 nogil:
        """The track of instants of a whole machine."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_GLOBAL_INSTANTS
        key.a = machine
        return self.tracks.intern(key, NO_NAME, NONE, NONE)

    cdef int32_t process_instants(self, int32_t process) except -1 nogil:
        """The track of instants of a process."""
        cdef TrackKey key
        memset(&key, 0, sizeof(TrackKey))
        key.kind = TRACK_PROCESS_INSTANTS
        key.a = process
        return self.tracks.intern(key, NO_NAME, NONE, process)


# The arguments of slices: those of the entries that they begin and end with, as one object.

cdef joined_args(
    object log, ArgsAt args_at, int64_t entries,
    const int32_t[::1] begin, const int32_t[::1] end, int64_t most,
):
    """The arguments of slices, by the entries of a log that they begin and end with; -1: none.

    As (bool[n], int32[n], uint8[...]): whether there are any, the ends of the texts, and the
    texts, JSON; of the first n slices, which have `most` bytes in all, or a little more.
    """
    cdef int64_t i, n = begin.shape[0]
    cdef Bytes out
    cdef uint8_t[::1] has = (some := np.zeros(n, np.bool_)).view(np.uint8)
    cdef int32_t[::1] ends = (cuts := np.zeros(n, np.int32))
    if end.shape[0] != n:
        raise IndexError("slices have a begin and an end each")
    for i in range(n):
        if not -1 <= begin[i] < entries or not -1 <= end[i] < entries:
            raise IndexError("there are not so many entries")
    out.data, out.n, out.capacity = NULL, 0, 0
    try:
        i = 0
        while i < n and out.n < most:
            if begin[i] >= 0:
                has[i] = put_args(&out, args_at(log, begin[i]), False)
            if end[i] >= 0 and end[i] != begin[i]:
                has[i] |= put_args(&out, args_at(log, end[i]), has[i])
            ends[i] = <int32_t>out.n
            i += 1
        text = copied(np.empty(out.n, np.uint8), out.data)
    finally:
        free(out.data)
    return some[:i], cuts[:i], text


cdef bint put_args(Bytes *out, Span args, bint joined) except -1:
    """Append arguments, into the object before them where there is one."""
    if args.data == args.end:
        return False
    if joined:
        # If both have a key, readers of JSON take the later value.
        out.data[out.n - 1] = c","
        put_bytes(out, args.data + 1, args.end - args.data - 1)
    else:
        put_bytes(out, args.data, args.end - args.data)
    return True
