from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.graph cimport Engine, Key, Router
from tracetime._kernels.perfetto.event_samples cimport EventSamples
from tracetime._kernels.perfetto.extension cimport WallBound
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


cdef class ClockTracker:
    cdef readonly Engine engine
    cdef readonly Streams streams
    cdef Router router                  # to trace time
    cdef Router wall_router             # to the REALTIME of its machine
    cdef Router own_router              # to that of another machine, one after the other
    cdef Key trace_key
    cdef int32_t trace_node
    cdef bint at_end
    # the current packet, and the byte it begins at
    cdef uint64_t packet, offset
    # one snapshot's clocks
    cdef int32_t *clock_nodes
    cdef int64_t *clock_values, *clock_units
    cdef uint8_t *clock_incremental
    cdef int64_t nodes_capacity, values_capacity, units_capacity, incremental_capacity
    cdef EventSamples samples
    cdef bint any_converted                 # whether any machine has requested a conversion
    cdef bint tying                         # whether a RemoteClockSync's mean is being added
    cdef readonly list faults
    cdef readonly object late_clock     # (packet, clock, machine) of a trace clock named too late
    # What trace time was before: (packet, clock, machine, whether conversions had begun)
    cdef readonly list moves
    cdef readonly int64_t n_faults
    cdef readonly int64_t n_own_syncs       # faults because trace time is the client's
    cdef readonly int64_t n_late_snapshots  # that follow events they would have placed
    cdef readonly int64_t latest_snapshot, latest_snapshot_ns

    cdef int set_trace_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int note_move(self) except -1 nogil
    cdef int note_late_clock(self, uint32_t machine, uint32_t clock) except -1 nogil
    cdef int reach(self, Key source, Key target, Router router) except -1 nogil
    cdef int bridge(self, uint32_t machine) except -1 nogil
    cdef int to_trace_time(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef int to_trace_time_or_raw(
        self, uint32_t machine, Key key, int64_t value, int64_t *out
    ) except -1 nogil
    cdef int reserve_clocks(self, int64_t n) except -1 nogil
    cdef int set_clock(self, int64_t i, Key key, int64_t ns) except -1 nogil
    cdef int add_clocks(self, int64_t n) except -1 nogil
    cdef int add_pair(self, Key a, int64_t a_ns, Key b, int64_t b_ns) except -1 nogil
    cdef int note_late_snapshot(self, int64_t n) except -1 nogil
    cdef int note_fault(self, int fault) except -1 nogil


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
cdef struct Round:
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
    cdef int64_t n_readings, readings_capacity, n_rounds
    cdef Round *rows
    cdef int64_t n_rows, rows_capacity
    cdef Instant *instants
    cdef int64_t n_instants, instants_capacity
    # of all messages so far
    cdef Box *boxes
    cdef int64_t n_boxes, boxes_capacity
    cdef Unused *unused
    cdef int64_t n_unused, unused_capacity, *worked_out, n_worked_out, worked_out_capacity

    cdef bint read(self, Span message, int64_t most) except -1 nogil
    cdef bint read_round(self, Span synced, int64_t most) except -1 nogil
    cdef bint read_clocks(self, Span snapshot, int side, int64_t most) except -1 nogil
    cdef int work_out(self) except -1 nogil
    cdef int sort_rows(self) except -1 nogil
    cdef const Round *row_of(self, uint32_t clock, uint32_t round) noexcept nogil
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
    cdef int bounds_of_pair(self, const Round *first, const Round *second, Box *out) noexcept nogil
    cdef bint span(
        self, int side, const Round *first, const Round *second, int64_t *low, int64_t *high
    ) noexcept nogil
    cdef bint elapsed(
        self, int side, uint32_t round, int64_t *out
    ) noexcept nogil


# A request to a client and its reply; ns of the BOOTTIME of both.
cdef struct ExchangeRound:
    int64_t machine                 # of the client, its index
    int64_t sent_ns
    int64_t received_ns
    int64_t replied_ns
    int64_t returned_ns


cdef class ExchangeRounds:
    cdef ExchangeRound *rounds
    cdef int64_t n, capacity

    cdef bint take(
        self, Span extension, uint32_t machine, int64_t client_ns, int64_t host_ns
    ) except -1 nogil
    cdef bint read_round(
        self, Span *packed, ExchangeRound *one, int64_t client_ns, int64_t host_ns
    ) noexcept nogil


cdef struct MeasuredRead:
    int32_t node
    uint32_t snapshot
    int64_t centre_ns
    int64_t half_ns                 # -1: not known

cdef struct KernelRead:
    uint32_t snapshot
    uint32_t machine                # its index
    int64_t frequency_scaled        # 2^-16 ppm
    int64_t status
    int64_t state
    int64_t maxerror_us
    int64_t esterror_us

cdef struct WallBoundRead:
    uint32_t snapshot
    uint32_t machine                # its index
    WallBound bound


cdef class SnapshotExtensions:
    cdef uint32_t file
    cdef MeasuredRead *reads
    cdef int64_t n_reads, reads_capacity
    cdef KernelRead *kernel_reads
    cdef int64_t n_kernel_reads, kernel_reads_capacity
    cdef WallBoundRead *bounds
    cdef int64_t n_bounds, bounds_capacity
    cdef readonly dict declared             # what is said of clocks, bytes by key
    cdef readonly dict boots                # by index of the machine, 16 bytes
    cdef readonly dict suspended            # the same machines, ns: how long in that boot
    cdef uint64_t dropped_so_far            # of the recording that is read
    cdef readonly uint64_t events_dropped   # of all recordings in the file
    cdef readonly int64_t baked             # the policy that the file is baked by, from 1; 0: none
    cdef readonly int64_t dropped_packet    # the first snapshot that says so; -1 without any

    cdef int read(self, Packet *p, ClockTracker clocks, int64_t n, bint whole) except -1 nogil
    cdef int read_alone(self, Span extension, uint32_t machine) except -1 nogil
    cdef void note_dropped(self, uint64_t so_far, uint64_t packet) noexcept nogil
    cdef int add_kernel_read(
        self, uint32_t machine, uint32_t snapshot, Span kernel_clock
    ) except -1 nogil
    cdef int add_wall_bound(
        self, uint32_t machine, uint32_t snapshot, Span message
    ) except -1 nogil
    cdef int declare(self, Packet *p, Span domain) except -1 nogil
