from libc.stdint cimport int32_t, int64_t, uint8_t

from tracetime._kernels.common.memory cimport add_overflows
from tracetime._kernels.graph.engine cimport (
    CACHE_SIZE, OVERFLOW, RESOLVED, CachedConversion, Engine,
)

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
    cdef int64_t series_ready, series_distance_capacity, series_best_capacity
    cdef int64_t backwards_ready
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
    cdef CachedConversion *cache = router.engine.cache
    cdef CachedConversion *entry
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
