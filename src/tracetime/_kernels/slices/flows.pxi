# Flows: turns the places where they begin, go on and end into arrows between slices.
#
# Follows Perfetto's src/trace_processor/importers/common/flow_tracker.cc. Events come in order of
# time, as those of slices do.

cdef enum:
    FIRST_SLICE = 0


cdef class Flows:
    """Flows of the slices of a trace. seed: of the hashes of ids.

    Attributes:
        outside: events on tracks where no slice is open.
        begun_twice: begins of flows that have begun.
        not_begun: places in flows that have not.
        without_id, without_direction: events that say no flow, or not whether it comes or goes;
            the caller counts them.
    """

    def __cinit__(self, Slices slices not None, uint64_t seed):
        self.slices = slices
        self.begun = Memos(seed)
        self.numbers = Memos(seed)
        self.last_waiting = Memos(seed)

    def __dealloc__(self):
        free(self.arrows)
        free(self.names)
        free(self.waiting)

    cdef uint64_t number(self, uint64_t id, int32_t category, int32_t name) except? 0 nogil:
        """GetFlowIdForV1Event: among the ids of those that have no name, as there."""
        cdef int32_t *found = self.numbers.of(name, category, <int64_t>id)
        if found[0] == UNSET:
            found[0] = <int32_t>self.n_names
            grow(
                <void **>&self.names, &self.names_capacity, self.n_names + 1, sizeof(FlowName)
            )
            self.names[self.n_names].name = name
            self.names[self.n_names].category = category
            self.n_names += 1
        return <uint64_t>found[0]

    cdef int begin(self, int32_t track, uint64_t flow) except -1 nogil:
        """A flow begins at the innermost slice of a track."""
        cdef int32_t slice = self.slices.topmost(track)
        cdef int32_t *begun
        if slice == NONE:
            self.outside += 1
            return 0
        begun = self.begun.of(0, 0, <int64_t>flow)
        if begun[0] == UNSET:
            begun[0] = slice
        else:
            self.begun_twice += 1
        return 0

    cdef int step(self, int32_t track, uint64_t flow) except -1 nogil:
        """It comes there and goes on from there."""
        return self.lead(flow, self.slices.topmost(track), True)

    cdef int end(self, int32_t track, uint64_t flow, bint around) except -1 nogil:
        """It ends there, or unless `around` at the next slice of the track."""
        cdef int32_t *last
        if around:
            return self.lead(flow, self.slices.topmost(track), False)
        grow(
            <void **>&self.waiting, &self.waiting_capacity, self.n_waiting + 1, sizeof(Waiting)
        )
        last = self.last_waiting.of(0, 0, track)
        self.waiting[self.n_waiting].flow = flow
        self.waiting[self.n_waiting].before = last[0]
        last[0] = <int32_t>self.n_waiting
        self.n_waiting += 1
        return 0

    cdef int arrive(self, int32_t track, int32_t slice) except -1 nogil:
        """ClosePendingEventsOnTrack: a slice has begun."""
        cdef int32_t *last, *begun, i
        if not self.n_waiting:
            return 0
        last = self.last_waiting.of(0, 0, track)
        i = last[0]
        last[0] = UNSET
        while i != UNSET:
            begun = self.begun.of(0, 0, <int64_t>self.waiting[i].flow)
            if begun[0] == UNSET:
                # There, too, one that has not begun comes from the first slice of the trace.
                begun[0] = FIRST_SLICE
            self.add(self.waiting[i].flow, begun[0], slice)
            i = self.waiting[i].before
        return 0

    cdef int lead(self, uint64_t flow, int32_t slice, bint goes_on) except -1 nogil:
        """An arrow from where the flow was last, or to there where that began later."""
        cdef int32_t *begun, other
        if slice == NONE:
            self.outside += 1
            return 0
        begun = self.begun.of(0, 0, <int64_t>flow)
        other = begun[0]
        if other == UNSET:
            self.not_begun += 1
            return 0
        if goes_on:
            begun[0] = slice
        if self.slices.slices[other].ts > self.slices.slices[slice].ts:
            return self.add(flow, slice, other)
        return self.add(flow, other, slice)

    cdef int add(self, uint64_t flow, int32_t out, int32_t into) except -1 nogil:
        grow(<void **>&self.arrows, &self.capacity, self.n + 1, sizeof(Arrow))
        self.arrows[self.n].out = out
        self.arrows[self.n].into = into
        self.arrows[self.n].named = <int32_t>flow if flow < <uint64_t>self.n_names else NONE
        self.n += 1
        return 0

    def columns(self):
        """The arrows as arrays: out, into, int64 numbers of slices; named, uint8; name, category.

        named: whether it is called by a name and a category, each -1 for none.
        """
        cdef int64_t i
        cdef Arrow *a
        found = {column: np.empty(self.n, np.int64) for column in ("out", "into")}
        found["named"] = np.empty(self.n, np.uint8)
        found |= {column: np.empty(self.n, np.int32) for column in ("name", "category")}
        cdef int64_t[::1] out = found["out"], into = found["into"]
        cdef unsigned char[::1] named = found["named"]
        cdef int32_t[::1] name = found["name"], category = found["category"]
        for i in range(self.n):
            a = &self.arrows[i]
            out[i] = a.out
            into[i] = a.into
            named[i] = a.named != NONE
            name[i] = self.names[a.named].name if a.named != NONE else NONE
            category[i] = self.names[a.named].category if a.named != NONE else NONE
        return found
