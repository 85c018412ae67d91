# The graph's engine and router, as kernels use them.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.hash_table cimport HashTable
from tracetime._kernels.common.memory cimport add_overflows

cdef enum:
    CACHE_SIZE = 8

# The result of a conversion; the numbers index errors.REASONS.
cdef enum Status:
    RESOLVED = 0
    AS_IS = 1
    UNKNOWN_SOURCE_CLOCK = 2
    UNKNOWN_TARGET_CLOCK = 3
    NO_PATH = 4
    NON_MONOTONIC_SOURCE = 5
    AMBIGUOUS_SOURCE = 6
    OVERFLOW = 7
    SKIPPED_INCREMENTAL_STATE = 8

# Why a snapshot was not taken whole; the numbers index arguments.SNAPSHOT_FAULTS.
cdef enum Fault:
    FAULT_NONE = 0
    FAULT_GLOBAL_INCREMENTAL = 1
    FAULT_PROPERTIES_CHANGED = 2
    FAULT_TRACE_CLOCK_UNIT = 3
    FAULT_DUPLICATE_CLOCK = 4
    FAULT_TRACE_CLOCK_BACKWARDS = 5
    FAULT_OVERFLOW = 6
    FAULT_OWN_SYNC = 7                 # of an import

cdef struct Key:
    uint32_t clock
    uint32_t sequence
    uint32_t file
    uint32_t machine

cdef struct Membership:
    int32_t series
    int32_t position

cdef struct Node:
    Key key
    int64_t unit_ns
    int64_t last_ns
    bint seen               # named by a snapshot, even by an invalid one
    bint has_snapshots
    bint incremental
    bint backwards          # ran backwards: no longer a source
    int64_t placed_ns       # the latest reading of an event that snapshots placed, or INT64_LOW
    Membership *memberships
    int64_t n_memberships
    int64_t memberships_capacity

# The readings of one clock in the snapshots whose clock lists share one hash.
cdef struct Column:
    int32_t node
    uint32_t hash
    int64_t *values_ns
    uint32_t *snapshots
    int64_t n
    int64_t values_capacity
    int64_t snapshots_capacity

# One ordered list of clocks that a whole snapshot has.
cdef struct Series:
    uint32_t hash
    int32_t n
    int32_t *nodes
    int32_t *columns
    int64_t count

cdef struct CachedConversion:
    int32_t source
    int32_t target
    int64_t from_ns
    int64_t to_ns
    int64_t translation_ns


cdef class Engine:
    cdef Node *nodes
    cdef int64_t n_nodes, nodes_capacity
    cdef int64_t last_found                 # the clock that was looked up last
    cdef public int64_t most_nodes
    cdef Column *columns
    cdef int64_t n_columns, columns_capacity
    cdef Series *series
    cdef int64_t n_series, series_capacity
    cdef HashTable node_table, column_table, series_table
    cdef uint64_t seed
    cdef int32_t *backwards
    cdef int64_t n_backwards, backwards_capacity
    cdef uint32_t n_snapshots
    cdef uint64_t packet                    # of the next snapshot
    cdef uint64_t *snapshot_packets         # by number of the snapshot
    cdef int64_t packets_capacity
    cdef CachedConversion cache[CACHE_SIZE]
    cdef uint64_t random_state
    cdef int64_t fault_position, fell_by_ns, source_ns, steps

    cdef uint64_t _key_hash(self, const Key *key) noexcept nogil
    cdef uint64_t _column_hash(self, int32_t node, uint32_t hash) noexcept nogil
    cdef uint64_t _list_hash(self, const int32_t *nodes, int64_t n) noexcept nogil
    cdef void _forget_conversions(self) noexcept nogil
    cdef int32_t find_node(self, Key key) noexcept nogil
    cdef int64_t n_readings(self, int32_t node) noexcept nogil
    cdef int32_t node(self, Key key) except -1 nogil
    cdef int32_t column(self, int32_t node, uint32_t hash) except -1 nogil
    cdef int32_t whole_series(self, const int32_t *nodes, int64_t n, uint32_t hash) except -1 nogil
    cdef int add_snapshot(
        self, const int32_t *nodes, const int64_t *values, const int64_t *units,
        const uint8_t *incremental, int64_t n, int32_t trace_node, bint dry=*
    ) except -1 nogil
    cdef Status absolute_ns(self, int32_t source, int64_t value, int64_t *out) noexcept nogil


# Keys of clocks as Python tuples (clock, sequence, file, machine), and which numbers are scoped.

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


cdef enum:
    MAX_HOPS = 4

cdef struct Hop:
    int32_t source
    int32_t target
    int32_t source_column
    int32_t target_column
    int32_t series

cdef struct Path:
    int32_t n
    Hop hops[MAX_HOPS]


cdef class Router:
    cdef Engine engine
    cdef readonly int32_t target
    cdef bint aimed             # whether paths to the target have been searched
    cdef uint8_t *distance
    cdef Hop *next_hop
    cdef int64_t nodes_ready, distance_capacity, next_capacity
    cdef uint8_t *series_distance
    cdef int32_t *series_best
    cdef int64_t series_ready, series_distance_capacity, series_best_capacity, backwards_ready
    cdef int32_t *queue
    cdef int64_t queue_n, queue_capacity
    cdef int32_t *affected
    cdef int64_t affected_n, affected_capacity
    cdef int32_t *stale
    cdef int64_t stale_capacity
    cdef int32_t *waiting       # series with a nearer clock to offer
    cdef int64_t waiting_n, waiting_capacity
    cdef uint8_t *is_waiting
    cdef int64_t is_waiting_capacity

    cdef int _spend(self, int64_t steps) except -1 nogil
    cdef int aim(self, int32_t target) except -1 nogil
    cdef int _forget(self) except -1 nogil
    cdef int _reserve(self) except -1 nogil
    cdef int _begin(self) except -1 nogil
    cdef int sync(self) except -1 nogil
    cdef int _remove(self, int32_t dropped) except -1 nogil
    cdef int _affect(self, int32_t node) except -1 nogil
    cdef int _relax(self, int32_t series) except -1 nogil
    cdef int _offer(
        self, int32_t series, int32_t position, int32_t via_position, int distance
    ) except -1 nogil
    cdef int _enqueue(self, int32_t node) except -1 nogil
    cdef int _drain(self) except -1 nogil
    cdef int _nominate(self, int32_t node) except -1 nogil
    cdef bint find(self, int32_t source, Path *out) noexcept nogil
    cdef int convert_slowly(
        self, int32_t source, int64_t value, bint have_ns, int64_t ns, int64_t *out
    ) except -1 nogil


cdef inline int convert_one(
    Router router, int32_t source, int64_t value, int64_t *out
) except -1 nogil:
    """Convert a reading of `source` to the router's target (ClockSynchronizer::Convert).

    `source` is -1 for a clock that no snapshot has named. The cache is Perfetto's, entry by
    entry, because it matters after a hop onto a reading with no counterpart. The engine's
    `source_ns` is the source's reading, in ns and absolute.
    """
    cdef int32_t target = router.target
    cdef CachedConversion *cache = router.engine.cache, *entry
    cdef bint have_ns = False
    cdef int64_t ns = 0
    cdef int i
    router.engine.source_ns = value
    if source == target and source >= 0:
        out[0] = value
        return RESOLVED
    for i in range(CACHE_SIZE):
        entry = &cache[i]
        if entry.source != source or entry.target != target or source < 0:
            continue
        if not have_ns:
            if router.engine.absolute_ns(source, value, &ns) != RESOLVED:
                return OVERFLOW
            have_ns = True
            router.engine.source_ns = ns
        if entry.from_ns <= ns < entry.to_ns:
            if add_overflows(ns, entry.translation_ns, out):
                return OVERFLOW
            return RESOLVED
    return router.convert_slowly(source, value, have_ns, ns, out)
