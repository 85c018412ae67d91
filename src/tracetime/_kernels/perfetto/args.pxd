from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span
from tracetime._kernels.perfetto.batch cimport RowDetails
from tracetime._kernels.perfetto.interning cimport InternedData, Interning


cdef int put_args(
    Bytes *out, InternedData interned, Interning *t, Span event, RowDetails *w
) except -1 nogil
