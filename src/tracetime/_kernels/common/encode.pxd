# Protobuf's wire format, written into memory that the caller has made large enough.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

cdef enum:
    WIRE_VARINT = 0
    WIRE_FIXED64 = 1
    WIRE_BYTES = 2
    LONGEST_VARINT = 10
    # Of a field's tag: numbers are below 2^28.
    LONGEST_TAG = 4


cdef inline uint8_t *put_varint(uint8_t *p, uint64_t value) noexcept nogil:
    """Write value at p; returns the byte after it."""
    while value > 0x7F:
        p[0] = <uint8_t>(value | 0x80)
        value >>= 7
        p += 1
    p[0] = <uint8_t>value
    return p + 1


cdef inline int size_of_varint(uint64_t value) noexcept nogil:
    cdef int n = 1
    while value > 0x7F:
        value >>= 7
        n += 1
    return n


cdef inline uint8_t *put_tag(uint8_t *p, uint32_t number, uint32_t wire) noexcept nogil:
    return put_varint(p, number << 3 | wire)


cdef inline uint8_t *put_number(uint8_t *p, uint32_t number, uint64_t value) noexcept nogil:
    return put_varint(put_tag(p, number, WIRE_VARINT), value)


cdef inline uint8_t *put_double(uint8_t *p, uint32_t number, double value) noexcept nogil:
    p = put_tag(p, number, WIRE_FIXED64)
    memcpy(p, &value, 8)
    return p + 8


cdef inline uint8_t *put_fixed(uint8_t *p, uint32_t number, uint64_t value) noexcept nogil:
    """fixed64."""
    p = put_tag(p, number, WIRE_FIXED64)
    memcpy(p, &value, 8)
    return p + 8


cdef inline uint64_t zigzag(int64_t value) noexcept nogil:
    """sint64: small numbers of either sign become small."""
    return (<uint64_t>value << 1) ^ (<uint64_t>0 - (<uint64_t>value >> 63))


cdef inline int64_t unzigzag(uint64_t value) noexcept nogil:
    return <int64_t>((value >> 1) ^ (<uint64_t>0 - (value & 1)))
