# The distinct strings of a table by number: names compare as numbers.

cdef class Strings:
    """Strings by number, in order of appearance.

    seed: of their hashes. limit: bytes they may take; what comes later has no number (`NO_NAME`),
    and is counted as `left_out`.
    """

    def __cinit__(self, uint64_t seed, int64_t limit):
        self.seed = seed
        # The ends are 32 bits wide.
        self.limit = min(limit, 1 << 30)

    def __dealloc__(self):
        free(self.text.data)
        free(self.ends)
        free_table(&self.table)
        free(self.scratch.data)

    def __len__(self):
        return self.n

    cdef int32_t code(self, const uint8_t *data, int64_t n) except -2 nogil:
        """The number of valid UTF-8."""
        cdef uint64_t hash = hash_bytes(self.seed, data, n), slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot), start
        while i >= 0:
            start = self.ends[i - 1] if i else 0
            if self.ends[i] - start == n and (
                n == 0 or memcmp(self.text.data + start, data, <size_t>n) == 0
            ):
                return <int32_t>i
            i = next_match(&self.table, hash, &slot)
        if self.text.n + bytes_of(&self.table) + 4 * self.n + n > self.limit:
            self.left_out += 1
            return NO_NAME
        put_bytes(&self.text, data, n)
        grow(<void **>&self.ends, &self.capacity, self.n + 1, sizeof(int32_t))
        self.ends[self.n] = <int32_t>self.text.n
        self.n += 1
        add_index(&self.table, hash, self.n - 1)
        return <int32_t>(self.n - 1)

    cdef int32_t code_foreign(self, Span s) except -2 nogil:
        """The number of bytes of a file: what is no UTF-8 is replaced, what is too long is cut."""
        if s.end - s.data <= LONGEST_NAME and is_utf8(s.data, s.end):
            return self.code(s.data, s.end - s.data)
        self.scratch.n = 0
        put_text(&self.scratch, s.data, s.end - s.data, LONGEST_NAME)
        return self.code(self.scratch.data, self.scratch.n)

    cdef Span at(self, int32_t code) noexcept nogil:
        """The string of a number, until the next one is added; nothing for `NO_NAME`."""
        cdef Span s
        s.data = s.end = NULL
        if 0 <= code < self.n:
            s.data = self.text.data + (self.ends[code - 1] if code else 0)
            s.end = self.text.data + self.ends[code]
        return s

    cdef bint equals(self, int32_t code, const char *text) noexcept nogil:
        """Whether that string is this text."""
        cdef Span s = self.at(code)
        cdef size_t n = strlen(text)
        return s.data != NULL and <size_t>(s.end - s.data) == n and memcmp(s.data, text, n) == 0

    def add(self, str text not None):
        """The number of `text`."""
        cdef bytes data = text.encode(errors="replace")
        return self.code(<const uint8_t *>data, len(data))

    def arrays(self):
        """All strings: int32 ends, and the UTF-8 that they cut."""
        return (
            copied(np.empty(self.n, np.int32), self.ends),
            copied(np.empty(self.text.n, np.uint8), self.text.data),
        )


# What an id refers to: a number for each kind of id, owner and id.

cdef class Memos:
    """Numbers kept for ids. seed: of the hashes of these."""

    def __cinit__(self, uint64_t seed):
        self.seed = seed

    def __dealloc__(self):
        free_table(&self.table)
        free(self.memos)

    cdef int32_t *of(self, int32_t kind, int64_t owner, int64_t id) except NULL nogil:
        """The value kept for an id, UNSET at first. The pointer is valid until the next call."""
        cdef uint64_t hash = mix(
            mix(self.seed ^ <uint64_t>id) ^ (<uint64_t>owner << 8 | <uint64_t>kind)
        )
        cdef uint64_t slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        cdef Memo *made
        while i >= 0:
            made = &self.memos[i]
            if made.id == id and made.owner == owner and made.kind == kind:
                return &made.value
            i = next_match(&self.table, hash, &slot)
        grow(<void **>&self.memos, &self.capacity, self.n + 1, sizeof(Memo))
        made = &self.memos[self.n]
        made.kind = kind
        made.owner = owner
        made.id = id
        made.value = UNSET
        add_index(&self.table, hash, self.n)
        self.n += 1
        return &made.value
