"""Objects that hash by constant attributes: the hash is computed once, not at every look-up.

And the hash of a text that is the same everywhere.
"""

cimport cython
from libc.stdint cimport uint32_t


def fnv_1a(const unsigned char[::1] data):
    """The 32-bit FNV-1a hash of bytes."""
    cdef uint32_t value = 0x811C9DC5
    cdef Py_ssize_t k
    for k in range(data.shape[0]):
        value = (value ^ data[k]) * 0x01000193
    return value


@cython.auto_pickle(False)
cdef class Hashed:
    """Hashes as the tuple of the attributes that `_hashed_by` names, computed once."""

    cdef Py_hash_t _hash

    def __hash__(self):
        if not self._hash:
            self._hash = hash(tuple([getattr(self, name) for name in self._hashed_by]))
        return self._hash
