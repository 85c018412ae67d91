from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.perfetto.packet cimport Packet

cdef enum:
    MAX_CPUS = 1024

cdef struct Machine:
    uint32_t raw_id
    uint32_t default_clock          # 0: none
    bint bridged                    # its BOOTTIME has been related to trace time
    bint converted                  # a conversion to trace time has been requested
    bint converts_at_end            # one will be at the end of the file
    int64_t latest_ns
    int64_t ftrace_snapshot         # ftrace_timestamp of the last one added
    int64_t ftrace_valid_ns         # when the last of its ftrace buffers began to hold events
    uint64_t *cpus_seen
    bint has_system                 # the trace names its system

cdef struct Sequence:
    uint32_t machine
    uint32_t id
    uint32_t default_clock
    bint valid                      # incremental state
    bint has_reference              # legacy track event timestamps
    int64_t reference_ns


cdef class Streams:
    cdef uint64_t seed
    cdef Machine *machines              # in order of appearance, as the sequences
    cdef int64_t n_machines, machines_capacity
    cdef HashTable machine_table
    cdef bint host_used, adoption_settled
    cdef uint32_t adopted
    cdef Sequence *sequences
    cdef int64_t n_sequences, sequences_capacity
    cdef HashTable sequence_table
    cdef int64_t last_sequence
    cdef readonly dict systems          # the name of a machine's system, bytes

    cdef uint32_t machine(self, uint32_t raw_id) except? 0xFFFFFFFF nogil
    cdef uint32_t machine_of(self, Packet *p) except? 0xFFFFFFFF nogil
    cdef int64_t sequence(self, uint32_t machine, uint32_t id) except -1 nogil
    cdef bint converts_at_end(self) noexcept nogil
    cdef int note_system(self, Packet *p) except -1 nogil
