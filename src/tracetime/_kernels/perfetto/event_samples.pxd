# Some of what events read, of each clock: blocks of neighbours, all over the file.

from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport calloc, free

from tracetime._kernels.common.memory cimport grow

cdef enum:
    BLOCK_BITS = 3          # so many neighbouring readings of events are kept together: 2^3
    MOST_SAMPLED = 512      # readings of events that are kept of a clock

cdef struct Sampled:
    int64_t *values_ns
    int64_t n, capacity
    int64_t seen                    # readings that differ from the one before
    int64_t repeated                # those that do not
    int64_t last_ns
    int32_t skipped                 # one in 2^skipped blocks is kept

cdef struct EventSamples:
    Sampled **by_node       # NULL where no event has read a clock
    int64_t n, capacity


cdef inline int keep_reading(EventSamples *samples, int32_t node, int64_t ns) except -1 nogil:
    """Keep a reading of an event, or not: blocks of neighbours, as many all over the file."""
    cdef Sampled *sample
    cdef int64_t i, n
    if node >= samples.n:
        grow(<void **>&samples.by_node, &samples.capacity, node + 1, sizeof(Sampled *))
        for i in range(samples.n, node + 1):
            samples.by_node[i] = NULL
        samples.n = node + 1
    sample = samples.by_node[node]
    if sample == NULL:
        sample = <Sampled *>calloc(1, sizeof(Sampled))
        if sample == NULL:
            with gil:
                raise MemoryError
        samples.by_node[node] = sample
    elif ns == sample.last_ns:
        sample.repeated += 1
        return 0
    sample.last_ns = ns
    i = sample.seen
    sample.seen += 1
    if (i >> BLOCK_BITS) & ((<int64_t>1 << sample.skipped) - 1):
        return 0
    if sample.n == MOST_SAMPLED:
        # Every other block goes; of those to come, every other is left out.
        n = MOST_SAMPLED >> 1
        for i in range(n):
            sample.values_ns[i] = sample.values_ns[
                (i >> BLOCK_BITS << (BLOCK_BITS + 1)) | (i & ((1 << BLOCK_BITS) - 1))
            ]
        sample.n = n
        sample.skipped += 1
    grow(<void **>&sample.values_ns, &sample.capacity, sample.n + 1, sizeof(int64_t))
    sample.values_ns[sample.n] = ns
    sample.n += 1
    return 0


cdef inline void free_samples(EventSamples *samples) noexcept nogil:
    cdef int64_t i
    for i in range(samples.n):
        if samples.by_node[i] != NULL:
            free(samples.by_node[i].values_ns)
            free(samples.by_node[i])
    free(samples.by_node)
