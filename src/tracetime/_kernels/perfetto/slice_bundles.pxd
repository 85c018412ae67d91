from libc.stdint cimport int64_t

from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.observer cimport ImportedPacket
from tracetime._kernels.perfetto.rows cimport Rows
from tracetime._kernels.perfetto.slice_log cimport SliceLog


cdef int log_bundle(
    SliceLog log, const ImportedPacket *p, Span bundle, Rows rows, int64_t first
) except -1 nogil
