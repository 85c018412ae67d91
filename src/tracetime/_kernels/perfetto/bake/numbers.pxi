# Numbers that are kept apart: those of a file, and what they are in the output.

# A number of a file, and what it is in the output.
cdef struct NewNumber:
    uint64_t own
    uint64_t made


cdef class Numbers:
    """Gives each number of a file another, which no other file has. seed: of the hashes."""

    cdef uint64_t seed
    cdef HashTable table
    cdef NewNumber *numbers
    cdef int64_t n, capacity
    cdef int64_t used               # the number that was used last, where there is any
    cdef uint64_t last              # that was given out

    def __cinit__(self, uint64_t seed, uint64_t last):
        self.seed = seed
        self.last = last

    def __dealloc__(self):
        free_table(&self.table)
        free(self.numbers)

    cdef NewNumber *find(self, uint64_t own) noexcept nogil:
        cdef uint64_t hash = mix(self.seed ^ own), slot = hash
        cdef int64_t i = next_match(&self.table, hash, &slot)
        while i >= 0:
            if self.numbers[i].own == own:
                return &self.numbers[i]
            i = next_match(&self.table, hash, &slot)
        return NULL

    cdef int add(self, uint64_t own, uint64_t made) except -1 nogil:
        grow(<void **>&self.numbers, &self.capacity, self.n + 1, sizeof(NewNumber))
        self.numbers[self.n].own = own
        self.numbers[self.n].made = made
        add_index(&self.table, mix(self.seed ^ own), self.n)
        self.n += 1
        return 0

    cdef uint64_t of(self, uint64_t own) except? 0 nogil:
        """The number of one of the file at hand."""
        cdef NewNumber *found = NULL
        if self.n and self.numbers[self.used].own == own:
            return self.numbers[self.used].made
        found = self.find(own)
        if found == NULL:
            self.last += 1
            self.add(own, self.last)
            found = &self.numbers[self.n - 1]
        # Packets of one writer follow one another.
        self.used = found - self.numbers
        return found.made

    cdef void forget(self) noexcept nogil:
        """Begin another file, whose numbers are others."""
        empty_table(&self.table)
        self.n = self.used = 0
