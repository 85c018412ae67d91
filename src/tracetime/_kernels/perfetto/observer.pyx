# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""What receives the packets of a trace, in file order, from its importer."""

from libc.stdint cimport int64_t


cdef class PacketObserver:
    """Receives each packet of a trace while it is imported."""

    cdef int observe(self, const ImportedPacket *p, Rows rows, int64_t first) except -1 nogil:
        """Take a packet and its rows, rows[first:]; return whether the batch is full."""
        return False
