# What tracks and processes are called: the same for events and for slices.

from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memchr

from tracetime._kernels.common.wire cimport Span, is_set, load_number, nothing
from tracetime._kernels.perfetto.messages cimport (
    COUNTER_TYPE, ProcessTreeProcess, ProcessTreeThread, TrackDescriptor,
)

cdef enum:
    # CounterDescriptor.BuiltinCounterType
    COUNTER_THREAD_TIME_NS = 1
    COUNTER_THREAD_INSTRUCTION_COUNT = 2
    KTHREADD = 2                # the parent of all threads of the kernel


cdef inline Span literal(const char *text, int size) noexcept nogil:
    cdef Span found
    found.data = <const uint8_t *>text
    found.end = found.data + size
    return found


cdef inline Span without_queue(Span name) noexcept nogil:
    """MaybeTruncateKworkerName: "kworker/45:2-mm_percpu_wq" becomes "kworker/45:2"."""
    cdef const uint8_t *at
    cdef int i
    cdef const char *prefix = b"kworker/"
    if name.end - name.data < 8:
        return name
    for i in range(8):
        if name.data[i] != <uint8_t>prefix[i]:
            return name
    at = name.data + 8
    while at < name.end and at[0] != c"-" and at[0] != c"+":
        at += 1
    name.end = at
    return name


cdef inline Span thread_name(const ProcessTreeThread *thread) noexcept nogil:
    """The name of a thread; of the kernel's workers what they work on is left out."""
    return without_queue(thread.name) if thread.tid == thread.tgid else thread.name


cdef inline Span command_line(const ProcessTreeProcess *process) noexcept nogil:
    """The first argument of a process, or its name, where it is a thread of the kernel."""
    return without_queue(process.cmdline) if process.ppid == KTHREADD else process.cmdline


cdef inline Span process_name(const ProcessTreeProcess *process) noexcept nogil:
    """The first argument of a process, up to a blank where there is only one."""
    cdef Span name = command_line(process)
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
