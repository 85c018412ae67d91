# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""What receives the events of Chrome's JSON, in file order, from the scanner."""

from tracetime._kernels.chrome_json.event cimport JsonEvent, SystraceLine


cdef class EventObserver:
    """Receives each event and each line of systrace while a file is scanned."""

    cdef int observe(self, const JsonEvent *event) except -1 nogil:
        """Take an event; return whether the batch is full."""
        return False

    cdef int observe_line(self, const SystraceLine *line) except -1 nogil:
        """Take a line of systrace; return whether the batch is full."""
        return False
