# Protobuf's wire format, read from foreign bytes: every read is checked against `end`.
# What counts as readable follows protozero (src/protozero/proto_decoder.cc).

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    VARINT = 0
    FIXED64 = 1
    BYTES = 2
    FIXED32 = 5

cdef struct Field:
    uint32_t number
    uint32_t wire
    uint64_t value          # of a number; the length of bytes
    const uint8_t *data     # of bytes

cdef struct Span:
    const uint8_t *data
    const uint8_t *end


cdef inline Span nothing() noexcept nogil:
    """A span that is not set."""
    cdef Span s
    s.data = NULL
    s.end = NULL
    return s


cdef inline bint is_set(Span s) noexcept nogil:
    return s.data != NULL


cdef inline const uint8_t *read_varint(
    const uint8_t *p, const uint8_t *end, uint64_t *out
) noexcept nogil:
    """The byte after the varint at p, or NULL where it does not end within 10 bytes."""
    cdef uint64_t value, byte
    cdef int shift = 7
    if p >= end:
        return NULL
    value = p[0]
    if value < 0x80:
        out[0] = value
        return p + 1
    value &= 0x7F
    p += 1
    while p < end and shift < 64:
        byte = p[0]
        p += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            out[0] = value
            return p
        shift += 7
    return NULL


cdef inline const uint8_t *read_field(
    const uint8_t *p, const uint8_t *end, Field *f
) noexcept nogil:
    """The byte after the field at p, or NULL where it is missing or malformed.

    As in protozero, fields numbered above 2^24 - 1 or longer than 2^28 - 1 bytes are passed over.
    """
    cdef uint64_t tag, number
    while True:
        p = read_varint(p, end, &tag)
        if p == NULL or p >= end:
            return NULL
        number = <uint32_t>(tag >> 3)
        if number == 0:
            return NULL
        f.wire = tag & 7
        if f.wire == VARINT:
            p = read_varint(p, end, &f.value)
            if p == NULL:
                return NULL
        elif f.wire == BYTES:
            p = read_varint(p, end, &f.value)
            if p == NULL or f.value > <uint64_t>(end - p):
                return NULL
            f.data = p
            p += f.value
        elif f.wire == FIXED64:
            if end - p < 8:
                return NULL
            memcpy(&f.value, p, 8)
            p += 8
        elif f.wire == FIXED32:
            if end - p < 4:
                return NULL
            f.value = 0
            memcpy(&f.value, p, 4)
            p += 4
        else:
            return NULL
        if number <= 0xFFFFFF and not (f.wire == BYTES and f.value > (1 << 28) - 1):
            f.number = <uint32_t>number
            return p
        if p >= end:
            # Nothing follows the field that is passed over: the message ends here, well formed.
            f.number = 0
            return p


cdef inline Span span_of(const Field *f) noexcept nogil:
    cdef Span s
    s.data = f.data
    s.end = f.data + f.value
    return s


cdef inline Span message_of(const Field *f) noexcept nogil:
    """A field as a message: to protozero a number is an empty one."""
    if f.wire == BYTES:
        return span_of(f)
    return nothing()


cdef inline bint is_number(const Field *f) noexcept nogil:
    return f.wire != BYTES


cdef inline bint next_field(Span *rest, Field *f) noexcept nogil:
    """Take the next field of a message; False at its end, and at its first malformed field."""
    cdef const uint8_t *after
    if rest.data >= rest.end:
        return False
    after = read_field(rest.data, rest.end, f)
    rest.data = rest.end if after == NULL else after
    return after != NULL


cdef inline Span load_bytes(Span message, uint32_t number) noexcept nogil:
    """The last value of a field of bytes; not set where the message or the field is missing."""
    cdef Field f
    cdef Span found = nothing()
    cdef Span rest = message
    while next_field(&rest, &f):
        if f.number == number and f.wire == BYTES:
            found = span_of(&f)
    return found


cdef inline uint64_t load_number(Span message, uint32_t number, bint *found) noexcept nogil:
    """The last value of a numeric field; messages are read up to their first malformed field."""
    cdef Field f
    cdef uint64_t value = 0
    cdef Span rest = message
    found[0] = False
    while next_field(&rest, &f):
        if f.number == number and is_number(&f):
            value = f.value
            found[0] = True
    return value
