from libc.stdint cimport int64_t, uint32_t, uint64_t

from tracetime._kernels.common.wire cimport Span

# The sides of a message.
cdef enum:
    CLIENT = 0
    HOST = 1

# A clock as one machine read it in a round of the current message.
cdef struct Reading:
    uint32_t clock
    uint32_t place              # 2 * round + side
    uint32_t order              # of the readings in the message
    int64_t ns

# What was read of a clock in one round, by side; 0: nothing.
cdef struct Row:
    uint32_t clock
    uint32_t round
    int64_t last_ns[2]          # Perfetto's: the last of several readings
    int64_t once_ns[2]          # nothing where there are several

# When a clock of both machines read what, by Perfetto's mean.
cdef struct Instant:
    uint32_t clock
    int64_t host_ns
    int64_t client_ns

# What a clock can have read on both machines at one instant, both ends included.
cdef struct Box:
    uint32_t clock
    uint32_t machine
    int64_t snapshot            # that it belongs to
    int64_t low_ns[2]           # by side
    int64_t high_ns[2]

# How many bounds of a clock in a message make no sense, for the rounds that contradict them.
cdef struct Unused:
    uint32_t clock
    uint32_t machine
    int64_t n
    int64_t packet


cdef class RemoteSyncs:
    # the current message
    cdef Reading *readings
    cdef int64_t n_readings, readings_capacity
    cdef int64_t n_rounds
    cdef Row *rows
    cdef int64_t n_rows, rows_capacity
    cdef Instant *instants
    cdef int64_t n_instants, instants_capacity
    # of all messages so far
    cdef Box *boxes
    cdef int64_t n_boxes, boxes_capacity
    cdef Unused *unused
    cdef int64_t n_unused, unused_capacity
    cdef int64_t *worked_out
    cdef int64_t n_worked_out, worked_out_capacity

    cdef bint read(self, Span message, int64_t most) except -1 nogil
    cdef bint read_round(self, Span synced, int64_t most) except -1 nogil
    cdef bint read_clocks(self, Span snapshot, int side, int64_t most) except -1 nogil
    cdef int work_out(self) except -1 nogil
    cdef int sort_rows(self) except -1 nogil
    cdef const Row *row_of(self, uint32_t clock, uint32_t round) noexcept nogil
    cdef bint are_near(self, uint32_t round) noexcept nogil
    cdef int note_worked_out(self, int64_t snapshot) except -1 nogil
    cdef int bound(
        self, uint32_t machine, int64_t packet, int64_t first_round, int64_t first_instant,
        uint32_t without,
    ) except -1 nogil
    cdef int bound_clock(
        self, int64_t start, int64_t end, uint32_t machine, int64_t packet, int64_t first_round,
        int64_t instant,
    ) except -1 nogil
    cdef int bounds_of_pair(self, const Row *first, const Row *second, Box *out) noexcept nogil
    cdef bint span(
        self, int side, const Row *first, const Row *second, int64_t *low, int64_t *high
    ) noexcept nogil
    cdef bint elapsed(
        self, int side, uint32_t round, int64_t *out
    ) noexcept nogil
