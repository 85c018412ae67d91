"""Objects that hash by constant attributes: the hash is computed once, not at every look-up."""

cimport cython


@cython.auto_pickle(False)
cdef class Hashed:
    """Hashes as the tuple of the attributes that `_hashed_by` names, computed once."""

    cdef Py_hash_t _hash

    def __hash__(self):
        if not self._hash:
            self._hash = hash(tuple([getattr(self, name) for name in self._hashed_by]))
        return self._hash
