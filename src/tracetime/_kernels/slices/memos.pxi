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
