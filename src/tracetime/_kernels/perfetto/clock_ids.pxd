# Perfetto's builtin clocks, and the keys of clocks.

from libc.stdint cimport uint32_t

from tracetime._kernels.graph cimport Key

cdef enum:
    REALTIME = 1
    REALTIME_COARSE = 2
    MONOTONIC = 3
    MONOTONIC_COARSE = 4
    MONOTONIC_RAW = 5
    BOOTTIME = 6
    TRACE_FILE = 11


cdef inline Key machine_key(uint32_t clock, uint32_t machine) noexcept nogil:
    cdef Key key
    key.clock = clock
    key.sequence = 0
    key.file = 0
    key.machine = machine
    return key
