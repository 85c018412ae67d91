from libc.stdint cimport int64_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.baked_clocks cimport BakedClocks
from tracetime._kernels.perfetto.placed_rows cimport PlacedRows

cdef int bake_logs(
    PlacedRows rows, BakedClocks clocks, Span logs, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil
cdef int bake_rails(
    PlacedRows rows, BakedClocks clocks, Span rails, int64_t packet_ns, Bytes *trace,
    Bytes *scratch, Bytes *out
) except -1 nogil
cdef bint rails_have_time(PlacedRows rows, Span rails) noexcept nogil
cdef int bake_atoms(PlacedRows rows, Span atoms, Bytes *scratch, Bytes *out) except -1 nogil
cdef int bake_etw(PlacedRows rows, Span bundle, Bytes *scratch, Bytes *out) except -1 nogil
cdef int bake_dumps(
    PlacedRows rows, BakedClocks clocks, Span profile, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil
cdef int bake_tree(
    PlacedRows rows, BakedClocks clocks, Span tree, Bytes *trace, Bytes *scratch, Bytes *out
) except -1 nogil
cdef int bake_stacks(
    PlacedRows rows, BakedClocks clocks, Span profile, int64_t *reference_ns, Bytes *trace,
    Bytes *scratch, Bytes *out
) except -1 nogil
cdef int without_legacy_time(Span event, Bytes *out) except -1 nogil
