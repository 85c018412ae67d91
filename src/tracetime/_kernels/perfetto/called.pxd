# What tracks and processes are called: the same for events and for slices.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

from tracetime._kernels.common.wire cimport Span, is_set, load_number, nothing
from tracetime._kernels.perfetto.messages cimport (
    COUNTER_TYPE, ProcessTreeProcess, TrackDescriptor,
)

cdef enum:
    # CounterDescriptor.BuiltinCounterType
    COUNTER_THREAD_TIME_NS = 1
    COUNTER_THREAD_INSTRUCTION_COUNT = 2


cdef inline Span literal(const char *text, int size) noexcept nogil:
    cdef Span found
    found.data = <const uint8_t *>text
    found.end = found.data + size
    return found


cdef inline Span process_name(const ProcessTreeProcess *process) noexcept nogil:
    """The first argument of a process, up to a blank where there is only one."""
    cdef Span name = process.cmdline
    cdef const uint8_t *blank
    if process.n_cmdline == 1 and name.end > name.data:
        blank = <const uint8_t *>memchr(name.data, c" ", <size_t>(name.end - name.data))
        if blank != NULL:
            name.end = blank
    return name


cdef inline Span track_name(const TrackDescriptor *track) noexcept nogil:
    """The name of a track; of a counter without one, that of its type."""
    cdef bint found
    cdef uint64_t type
    if is_set(track.name):
        return track.name
    if is_set(track.static_name):
        return track.static_name
    if is_set(track.atrace_name):
        return track.atrace_name
    if is_set(track.thread) or is_set(track.process) or not is_set(track.counter):
        return nothing()
    type = load_number(track.counter, COUNTER_TYPE, &found)
    if type == COUNTER_THREAD_TIME_NS:
        return literal(b"thread_time", 11)
    if type == COUNTER_THREAD_INSTRUCTION_COUNT:
        return literal(b"thread_instruction_count", 24)
    return nothing()
