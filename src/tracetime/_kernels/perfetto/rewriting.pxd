# Messages written anew with some of their fields changed: what is not named stays byte for byte.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from tracetime._kernels.common.encode cimport (
    LONGEST_TAG, LONGEST_VARINT, WIRE_BYTES, put_number, put_tag, put_varint,
)
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport Bytes, put_bytes
from tracetime._kernels.common.wire cimport BYTES, Field, Span, is_number, next_field


cdef enum:
    # Where an item goes that Perfetto could not place, and now would place wrongly: no message of
    # Perfetto's has a field of this number. Its bytes stay in the file, unread.
    SET_ASIDE = 9876


cdef inline int put_span(Bytes *out, Span s) except -1 nogil:
    return put_bytes(out, s.data, s.end - s.data)


cdef inline int put_between(Bytes *out, Span before, Span rest) except -1 nogil:
    """The field that next_field took from `before`, which left `rest`."""
    return put_bytes(out, before.data, rest.data - before.data)


cdef inline int put_unchanged(
    Bytes *out, const uint8_t **copied, Span before, Span rest
) except -1 nogil:
    """What nobody changed up to the field that next_field took, which is passed over.

    copied: up to where the message is in `out` already.
    """
    put_bytes(out, copied[0], before.data - copied[0])
    copied[0] = rest.data
    return 0


cdef inline int put_value(Bytes *out, uint32_t number, uint64_t value) except -1 nogil:
    grow(<void **>&out.data, &out.capacity, out.n + LONGEST_TAG + LONGEST_VARINT, 1)
    out.n = put_number(out.data + out.n, number, value) - out.data
    return 0


cdef inline int put_content(
    Bytes *out, uint32_t number, const uint8_t *data, int64_t size
) except -1 nogil:
    """A field of bytes."""
    grow(<void **>&out.data, &out.capacity, out.n + LONGEST_TAG + LONGEST_VARINT + size, 1)
    out.n = put_varint(put_tag(out.data + out.n, number, WIRE_BYTES), <uint64_t>size) - out.data
    return put_bytes(out, data, size)


cdef inline int put_with_number(
    Bytes *out, Span message, uint32_t number, uint64_t value, bint has
) except -1 nogil:
    """A message with a number of its own in `number`, or, where `has` is False, with none.

    It stands where the first was, or in front, where what is malformed further on hides nothing.
    """
    cdef Span rest = message, before = message
    cdef const uint8_t *copied = message.data
    cdef Field f
    cdef bint written = not has
    cdef int64_t began = out.n
    while next_field(&rest, &f):
        if f.number == number and is_number(&f):
            put_unchanged(out, &copied, before, rest)
            if not written:
                put_value(out, number, value)
                written = True
        before = rest
    put_bytes(out, copied, message.end - copied)
    if not written:
        out.n = began
        put_value(out, number, value)
        put_span(out, message)
    return 0
