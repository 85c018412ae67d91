from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span

cdef enum:
    ENOUGH = 1              # what writes returns it where the text gets longer than it may be

cdef struct Json:
    Bytes *out
    int64_t limit           # the longest that `out` may become


cdef int put_bool(Bytes *out, bint value) except -1 nogil
cdef int put_unsigned(Bytes *out, uint64_t value) except -1 nogil
cdef int put_signed(Bytes *out, int64_t value) except -1 nogil
cdef int put_pointer(Bytes *out, uint64_t value) except -1 nogil
cdef int put_double(Bytes *out, double value) except -1 nogil
cdef int put_string(Json *json, const uint8_t *data, int64_t n) except -1 nogil
cdef int put_json(Json *json, Span text) except -1 nogil
