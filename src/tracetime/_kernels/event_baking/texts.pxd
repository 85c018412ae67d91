# Columns of texts, and texts as fields of messages.

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from tracetime._kernels.chrome_json.skip cimport PADDING
from tracetime._kernels.common.encode cimport (
    LONGEST_TAG, LONGEST_VARINT, WIRE_BYTES, put_tag, put_varint,
)
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.common.wire cimport Span


cdef class Texts:
    cdef const int32_t[::1] codes
    cdef const int32_t[::1] ends
    cdef const uint8_t[::1] text

    cdef Span of(self, int64_t row) noexcept nogil


cdef class Details:
    cdef Texts names
    cdef Texts categories
    cdef Texts args


cdef inline Span span(const Bytes *bytes) noexcept nogil:
    cdef Span found
    found.data = bytes.data
    found.end = bytes.data + bytes.n
    return found


cdef inline int put_content(Bytes *out, uint32_t field, Span content) except -1 nogil:
    cdef uint8_t head[LONGEST_TAG + LONGEST_VARINT]
    cdef int64_t n = content.end - content.data
    cdef uint8_t *p = put_varint(put_tag(head, field, WIRE_BYTES), <uint64_t>n)
    put_bytes(out, head, p - head)
    return put_bytes(out, content.data, n)


cdef inline int pad(Bytes *out, Span text) except -1 nogil:
    """Copy a text to where its readers may look behind its end."""
    out.n = 0
    put_bytes(out, text.data, text.end - text.data)
    grow(<void **>&out.data, &out.capacity, out.n + PADDING, 1)
    memset(out.data + out.n, 0, PADDING)
    return 0
