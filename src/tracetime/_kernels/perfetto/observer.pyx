# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""What can be told each packet, in file order, by an importer that reads a trace."""

from libc.stdint cimport int64_t


cdef class Listener:
    """What is told each packet of a trace while it is imported."""

    cdef int hear(self, const Heard *p, Rows rows, int64_t first) except -1 nogil:
        """A packet whose rows are rows[first:]; whether what was gathered is enough for a batch."""
        return False
