from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.observer cimport ImportedPacket
from tracetime._kernels.perfetto.rows cimport Rows

# A switch from one thread to another, or a waking.
cdef struct SchedEvent:
    int64_t ns
    uint64_t packet
    uint32_t cpu
    int32_t thread              # that is switched to, or woken
    int32_t other               # that is switched from, UNKNOWN; of a waking: its target's cpu
    bint is_waking
    bint sleeps                 # whether the thread that is switched from does not stay runnable
    bint lost                   # whether events of its cpu are missing before it

cdef struct Cpu:
    int64_t begun_ns            # its first event, and its last
    int64_t last_ns
    int64_t drops               # of its machine that it has noticed
    int32_t running             # a thread's index, UNKNOWN
    bint seen
    bint is_target              # whether a waking names it
    bint lost                   # whether its next event follows a gap

# While some cpu's events are missing, both ends included.
cdef struct Gap:
    int64_t first_ns
    int64_t last_ns

cdef struct SchedMachine:
    uint32_t clock
    uint32_t sequence
    bint has_clock
    bint has_too_many_gaps
    int64_t drops               # how often packets of it were dropped
    int64_t replayed_ns
    SchedEvent *events
    int64_t n_events, events_capacity
    Cpu *cpus
    int64_t n_cpus, cpus_capacity
    Gap *gaps
    int64_t n_gaps, gaps_capacity

cdef struct Thread:
    uint64_t key                # machine and tid
    int64_t in_ns               # when it was last switched to
    int64_t before_ns           # and the time before
    uint64_t in_packet
    int64_t waking_ns           # the first one while it runs
    uint64_t waking_packet
    uint32_t waking_cpu
    uint32_t cpu                # that it runs on
    int32_t target
    bint runs
    bint has_in
    bint has_before
    bint has_waking
    bint slept                  # before it was switched to
    bint sleeps
    bint was_woken              # between the last two times that it was switched to
    bint woken                  # since it was switched to
    bint woken_again            # and once more

# A switch to a thread, and the waking that is stamped later.
cdef struct LateWaking:
    uint32_t machine
    int32_t tid
    uint64_t packet
    uint32_t cpu
    int64_t ns
    uint64_t waking_packet
    uint32_t waking_cpu
    int64_t waking_ns
    int64_t before_ns           # no waking is stamped since
    bint certain


cdef class LateWakings:
    cdef SchedMachine *machines
    cdef int64_t n_machines, machines_capacity
    cdef Thread *threads
    cdef int64_t n_threads, threads_capacity
    cdef HashTable thread_table
    cdef uint64_t seed
    cdef LateWaking *found
    cdef int64_t n_found, found_capacity
    cdef readonly int64_t left_out

    cdef int add(
        self, const ImportedPacket *p, Span bundle, Rows rows, int64_t first, bint dropped
    ) except -1 nogil
    cdef SchedMachine *machine(self, uint32_t number) except? NULL nogil
    cdef int add_column(
        self, SchedMachine *m, uint64_t packet, uint32_t cpu, Span sched, bint waking
    ) except -1 nogil
    cdef int add_event(
        self, SchedMachine *m, uint64_t packet, uint32_t cpu, Span event
    ) except -1 nogil
    cdef int settle_cpu(self, SchedMachine *m, Cpu *cpu, int64_t from_event) except -1 nogil
    cdef int replay(self, uint32_t machine, int64_t count) except -1 nogil
    cdef int64_t thread(self, uint32_t machine, int32_t tid) except -2 nogil
    cdef int forget(self, uint32_t machine, uint32_t number) except -1 nogil
    cdef int switch(self, uint32_t machine, const SchedEvent *e) except -1 nogil
    cdef int leave(self, uint32_t machine, int64_t thread, const SchedEvent *e) except -1 nogil
    cdef int wake(self, uint32_t machine, const SchedEvent *e) except -1 nogil
