from libc.stdint cimport uint32_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.perfetto.packet_buffer cimport Sequence

cdef bint are_plain(values) noexcept
cdef bint is_text(value) noexcept
cdef bint is_unsigned(value) noexcept
cdef int put_annotations(
    Bytes *out, Bytes *data, Sequence sequence, uint32_t field, dict values
) except -1
