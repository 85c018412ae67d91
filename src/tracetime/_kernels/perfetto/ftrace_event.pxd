# An event of ftrace: when and in which thread, and the message of its kind.

from libc.stdint cimport int32_t, int64_t, uint32_t

from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, is_number, next_field, nothing, span_of,
)
from tracetime._kernels.perfetto.messages cimport FTRACE_EVENT_PID, FTRACE_EVENT_TIMESTAMP

cdef struct FtraceEvent:
    int64_t timestamp
    int32_t pid
    uint32_t kind               # the number of its field, 0: it has none
    Span message
    bint has_timestamp
    bint has_pid


cdef inline FtraceEvent read_ftrace_event(Span event) noexcept nogil:
    """Read an event, of several hundred kinds. Of each field the first counts, as in Perfetto."""
    cdef FtraceEvent found
    cdef Field f
    found.timestamp = 0
    found.pid = 0
    found.kind = 0
    found.message = nothing()
    found.has_timestamp = found.has_pid = False
    while next_field(&event, &f):
        if f.wire == BYTES:
            if found.kind == 0:
                found.kind = f.number
                found.message = span_of(&f)
        elif f.number == FTRACE_EVENT_TIMESTAMP:
            if not found.has_timestamp:
                found.timestamp = <int64_t>f.value
                found.has_timestamp = True
        elif f.number == FTRACE_EVENT_PID and not found.has_pid:
            found.pid = <int32_t>f.value
            found.has_pid = True
    return found
