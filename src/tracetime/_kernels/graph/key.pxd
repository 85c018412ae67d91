# Keys of clocks as Python tuples (clock, sequence, file, machine), and which numbers are scoped.

from libc.stdint cimport uint32_t

from tracetime._kernels.graph.engine cimport Key

cdef enum:
    FIRST_SEQUENCE_CLOCK = 64
    FIRST_GLOBAL_CLOCK = 128


cdef inline bint is_sequence_scoped(uint32_t clock) noexcept nogil:
    return FIRST_SEQUENCE_CLOCK <= clock < FIRST_GLOBAL_CLOCK


cdef inline Key key_of(tuple parts):
    cdef Key key
    key.clock, key.sequence, key.file, key.machine = parts
    return key


cdef inline tuple parts_of(Key key):
    return key.clock, key.sequence, key.file, key.machine
