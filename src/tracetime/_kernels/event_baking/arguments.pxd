from tracetime._kernels.chrome_json.event cimport Value
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span


cdef class Arguments:
    cdef Bytes annotation, text, padded

    cdef int put(self, Span args, Bytes *event) except -1 nogil
    cdef int put_value(self, const Value *value) except -1 nogil
