from libc.stdint cimport int32_t, int64_t

from tracetime._kernels.common.wire cimport Span

# The arguments of an entry of a log, an object of JSON; an empty span where it has none.
ctypedef Span (*ArgsAt)(object log, int32_t entry) noexcept

cdef joined_args(
    object log, ArgsAt args_at, int64_t entries,
    const int32_t[::1] begin, const int32_t[::1] end, int64_t most,
)
