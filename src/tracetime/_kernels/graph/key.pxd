# The key of a clock as Python has it: (clock, sequence, file, machine).

from tracetime._kernels.graph.engine cimport Key


cdef inline Key key_of(tuple parts):
    cdef Key key
    key.clock, key.sequence, key.file, key.machine = parts
    return key


cdef inline tuple parts_of(Key key):
    return key.clock, key.sequence, key.file, key.machine
