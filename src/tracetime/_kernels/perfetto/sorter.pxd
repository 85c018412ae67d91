# What Perfetto's sorter would do (src/trace_processor/sorter/trace_sorter.h), as far as it decides
# which events wait for the end of the file, and which time a packet without timestamp takes.

from libc.stdint cimport int64_t

cdef struct Sorter:
    bint full_sort                  # everything is kept to the end of the file
    bint extracted                  # events have been handed on
    int64_t flushes, events, marked_events, earliest_event
    int64_t earliest_ns, latest_ns


cdef inline void push(Sorter *sorter, int64_t ns) noexcept nogil:
    """TraceSorter::Stream::Push: what a packet without timestamp takes is the latest."""
    if ns < 0:
        return
    if sorter.events == 0 or ns < sorter.earliest_ns:
        sorter.earliest_ns = ns
        sorter.earliest_event = sorter.events
    sorter.events += 1
    if ns > sorter.latest_ns:
        sorter.latest_ns = ns


cdef inline void note_buffers_read(Sorter *sorter) noexcept nogil:
    """TraceSorter::NotifyReadBufferEvent: events from before the mark are handed on, up to the
    first in order of time that is not. (Of equal times the first pushed counts here; there it also
    depends on the order of the queues.)
    """
    if not sorter.full_sort and sorter.flushes >= 2:
        if sorter.earliest_event < sorter.marked_events:
            sorter.extracted = True
        sorter.marked_events = sorter.events
        sorter.flushes = 0
