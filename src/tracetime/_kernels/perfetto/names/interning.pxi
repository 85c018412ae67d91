# Interned data: what the events of a packet sequence refer to by number.
#
# It is kept until the incremental state of the sequence is cleared, in bounded memory.

cdef class InternedData:
    """The interned data of all sequences.

    seed: of the hashes of its numbers. limit: bytes that are kept; sequences not used for longest
    lose theirs first, which is counted in `left_out`.
    """

    def __cinit__(self, uint64_t seed, int64_t limit):
        self.seed = seed
        self.limit = limit

    def __dealloc__(self):
        while self.oldest != NULL:
            self.drop(self.oldest)
        free(self.places)
        free(self.scratch.data)

    cdef Place *place(self, uint32_t sequence) except NULL nogil:
        cdef int64_t n = <int64_t>sequence + 1
        if n > self.n_places:
            grow(<void **>&self.places, &self.places_capacity, n, sizeof(Place))
            memset(&self.places[self.n_places], 0, <size_t>(n - self.n_places) * sizeof(Place))
            self.n_places = n
        return &self.places[sequence]

    cdef int unlink(self, Interning *t) noexcept nogil:
        if t.newer != NULL:
            t.newer.older = t.older
        else:
            self.newest = t.older
        if t.older != NULL:
            t.older.newer = t.newer
        else:
            self.oldest = t.newer
        return 0

    cdef int touch(self, Interning *t) noexcept nogil:
        """Note that a sequence was used last."""
        if self.newest != t:
            self.unlink(t)
            t.older = self.newest
            t.newer = NULL
            self.newest.newer = t
            self.newest = t
        return 0

    cdef int drop(self, Interning *t) noexcept nogil:
        cdef int i
        self.unlink(t)
        self.held -= t.held
        self.places[t.sequence].interned = NULL
        for i in range(N_TABLES):
            free(t.tables[i].entries)
            free_table(&t.tables[i].table)
        let_go(&t.arena)
        free(t)
        return 0

    cdef int intern(self, Place *place, uint32_t sequence, Span data) except -1 nogil:
        """InternedData: what the sequence's events refer to."""
        cdef Span rest = data
        cdef Interning *t = place.interned
        cdef Field f
        cdef int table
        while next_field(&rest, &f):
            if f.wire != BYTES:
                continue
            if f.number == INTERNED_DATA_EVENT_NAMES:
                table = TABLE_NAMES
            elif f.number == INTERNED_DATA_EVENT_CATEGORIES:
                table = TABLE_CATEGORIES
            elif f.number == INTERNED_DATA_DEBUG_ANNOTATION_NAMES:
                table = TABLE_ARGS
            elif f.number == INTERNED_DATA_DEBUG_ANNOTATION_STRING_VALUES:
                table = TABLE_STRINGS
            else:
                continue
            if t == NULL:
                t = <Interning *>calloc(1, sizeof(Interning))
                if t == NULL:
                    with gil:
                        raise MemoryError
                t.sequence = sequence
                t.held = sizeof(Interning)
                self.held += t.held
                t.older = self.newest
                if self.newest != NULL:
                    self.newest.newer = t
                else:
                    self.oldest = t
                self.newest = t
                place.interned = t
            self.touch(t)
            while self.held >= self.limit and self.oldest != t:
                self.left_out += 1
                self.drop(self.oldest)
            if self.held >= self.limit:
                self.left_out += 1
                break
            self.add(t, table, span_of(&f))
        return 0

    cdef int add(self, Interning *t, int table, Span message) except -1 nogil:
        """One entry; of several with one iid the first stays (IncrementalState::InternMessage)."""
        cdef Span rest = message
        cdef Table *entries = &t.tables[table]
        cdef Interned *made
        cdef Field f
        cdef Span text = nothing()
        cdef bint has_iid = False
        cdef uint64_t iid = 0
        cdef int64_t i, held, n
        while next_field(&rest, &f):
            if f.number == INTERNED_STRING_IID and is_number(&f) and not has_iid:
                iid = f.value
                has_iid = True
            elif f.number == INTERNED_STRING_STR and f.wire == BYTES and not is_set(text):
                text = span_of(&f)
        if not has_iid or self.look(t, table, iid) != NULL:
            return 0
        grow(<void **>&entries.entries, &entries.capacity, entries.n + 1, sizeof(Interned))
        made = &entries.entries[entries.n]
        made.iid = iid
        made.text.batch = -1
        made.text.data = NULL
        made.text.size = 0
        n = text.end - text.data
        if table == TABLE_NAMES or table == TABLE_CATEGORIES:
            # One without a text is no name, as in Perfetto; one with an empty text is that.
            if is_set(text):
                self.scratch.n = 0
                put_text(&self.scratch, text.data, n, LONGEST_NAME)
                made.text.data = keep_bytes(&t.arena, self.scratch.data, self.scratch.n)
                made.text.size = <uint32_t>self.scratch.n
        else:
            # Of a text that is too long for any args, only that is kept.
            n = min(n, <int64_t>LONGEST_ARGS + 1)
            made.text.data = keep_bytes(&t.arena, text.data, n)
            made.text.size = <uint32_t>n
        entries.n += 1
        add_index(&entries.table, mix(self.seed ^ iid), entries.n - 1)
        held = <int64_t>sizeof(Interning) + t.arena.held
        for i in range(N_TABLES):
            held += t.tables[i].capacity * <int64_t>sizeof(Interned)
            held += bytes_of(&t.tables[i].table)
        self.held += held - t.held
        t.held = held
        return 0

    cdef Interned *look(self, Interning *t, int table, uint64_t iid) noexcept nogil:
        """The entry of an iid, NULL where there is none."""
        cdef Table *entries
        cdef uint64_t hash, slot
        cdef int64_t i
        if t == NULL:
            return NULL
        entries = &t.tables[table]
        hash = slot = mix(self.seed ^ iid)
        i = next_match(&entries.table, hash, &slot)
        while i >= 0 and entries.entries[i].iid != iid:
            i = next_match(&entries.table, hash, &slot)
        return &entries.entries[i] if i >= 0 else NULL
