# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Lines of atrace that ftrace events of the log hold."""

from libc.stdint cimport int32_t, uint32_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.slice_log cimport Entry, SliceLog
from tracetime._kernels.slices cimport Mark, Writer, make_slice, read_mark


cdef int replay_print(SliceLog log, int32_t number, Span text) except -1 nogil:
    """ParsePrintEvent."""
    cdef Mark mark
    if not read_mark(text, &mark):
        return 0
    return replay_mark(log, number, &mark)


cdef int replay_mark(SliceLog log, int32_t number, Mark *mark) except -1 nogil:
    """ParseSystracePoint."""
    cdef Entry *e = &log.entries[number]
    cdef Writer by
    by.number = number
    by.ts = e.ts
    by.machine = e.machine
    by.tid = <uint32_t>e.thread
    return make_slice(log.tables, &by, mark)
