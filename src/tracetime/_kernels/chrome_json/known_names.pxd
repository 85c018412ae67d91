from libc.stdint cimport int64_t, uint64_t

from tracetime._kernels.chrome_json.event cimport JsonEvent, Value
from tracetime._kernels.chrome_json.observer cimport EventObserver
from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.text cimport Arena, Bytes
from tracetime._kernels.common.time_steps cimport StepCounts
from tracetime._kernels.perfetto.directory cimport Text

cdef enum:
    MAGNITUDES = 64         # one for each number of bits that a time takes

# Events whose times take as many bits: how many, from when to when, and the first.
cdef struct Magnitude:
    int64_t n, least_ns, most_ns, first

# A process, or a thread of one.
cdef struct Named:
    int64_t pid
    int64_t tid
    bint is_thread
    Text name


cdef class KnownNames(EventObserver):
    cdef uint64_t seed
    cdef Named *named
    cdef int64_t n, capacity, limit
    cdef HashTable table
    cdef Arena arena
    cdef Bytes scratch, valid
    cdef readonly int64_t left_out
    cdef readonly int64_t n_timed, n_rounded, n_off, most_off, n_overflowing, n_untimed
    cdef readonly int64_t first_ns, last_ns
    cdef readonly int64_t n_long_phases, n_endless, n_negative, n_halves, n_wide_owners, n_wider
    cdef readonly int64_t time_step_ns, duration_step_ns, line_step_ns
    cdef Magnitude sized[MAGNITUDES]
    cdef readonly list line_syncs
    cdef readonly StepCounts times, durations

    cdef uint64_t hash(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil
    cdef int64_t find(self, int64_t pid, int64_t tid, bint is_thread) noexcept nogil
    cdef int learn(self, const JsonEvent *event) except -1 nogil
    cdef int call(
        self, int64_t pid, int64_t tid, bint is_thread, const Value *name
    ) except -1 nogil
    cdef int count_odd(self, const JsonEvent *event) noexcept nogil
    cdef int measure(self, int64_t ns, int64_t index) noexcept nogil
    cdef int count(self, int64_t ns, int64_t floor_ns, bint rounded) noexcept nogil
