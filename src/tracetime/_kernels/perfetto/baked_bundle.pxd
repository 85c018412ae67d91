from libc.stdint cimport int64_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.baked_clocks cimport BakedClocks
from tracetime._kernels.perfetto.placed_rows cimport PlacedRows

cdef enum:
    # Rows of a bundle that are no events: from when on it, or its buffer, holds events.
    KIND_FTRACE_BOUND = 127

cdef bint has_possible_cpu(Span bundle) noexcept nogil

cdef int bake_bundle(
    PlacedRows rows, BakedClocks clocks, Span bundle, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil
