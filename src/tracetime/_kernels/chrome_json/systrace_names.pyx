# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Names of threads in systrace's text, line by line.

Follows ParseLine of Perfetto's src/trace_processor/importers/systrace/systrace_line_parser.cc.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.string cimport memcmp

from tracetime._kernels.chrome_json.slice_log cimport (
    HAS_PID, LINE_SCHED_SWITCH, LINE_SCHED_WAKING, Entry,
)
from tracetime._kernels.common.wire cimport Span, is_set, nothing
from tracetime._kernels.slices cimport NO_NAME, THREAD_BY_FTRACE, SliceTables

cdef enum:
    MACHINE = 0


cdef int name_by_line(SliceTables to, const Entry *e, Span task, Span args) except -1 nogil:
    """Name the thread that wrote a line, and those that the line is about."""
    cdef int32_t thread = to.processes.thread(MACHINE, e.tid)
    # ftrace knows not all tasks.
    if not same(task, b"<...>", 5):
        to.processes.name_thread(thread, to.strings.code_foreign(task), THREAD_BY_FTRACE)
    if e.flags & HAS_PID:
        to.processes.update_thread(MACHINE, e.tid, e.pid)
    if e.category == LINE_SCHED_SWITCH:
        name_task(to, value_of(args, b"next_pid=", 9), value_of(args, b"next_comm=", 10))
        name_task(to, value_of(args, b"prev_pid=", 9), value_of(args, b"prev_comm=", 10))
    elif e.category == LINE_SCHED_WAKING:
        name_task(to, value_of(args, b"pid=", 4), value_of(args, b"comm=", 5))
    return 0


cdef inline bint same(Span text, const char *other, int64_t n) noexcept nogil:
    return text.end - text.data == n and memcmp(text.data, other, <size_t>n) == 0


cdef Span value_of(Span args, const char *key, int64_t n) noexcept nogil:
    """What follows a key that has its "=", up to the next space; not set without the key."""
    cdef Span word
    cdef const uint8_t *p = args.data
    while p < args.end:
        word.data = p
        while p < args.end and p[0] != c" ":
            p += 1
        word.end = p
        if word.end - word.data >= n and memcmp(word.data, key, <size_t>n) == 0:
            word.data += n
            return word
        p += 1
    return nothing()


cdef int name_task(SliceTables to, Span tid, Span comm) except -1 nogil:
    """Name a thread as the scheduler does."""
    cdef int64_t number = 0
    if not is_set(tid) or tid.data == tid.end or tid.end - tid.data > 10:
        return 0
    while tid.data < tid.end:
        if not c"0" <= tid.data[0] <= c"9":
            return 0
        number = 10 * number + (tid.data[0] - c"0")
        tid.data += 1
    if number >> 32:
        return 0
    return to.processes.name_thread(
        to.processes.thread(MACHINE, number),
        to.strings.code_foreign(comm) if is_set(comm) else <int32_t>NO_NAME,
        THREAD_BY_FTRACE,
    )
