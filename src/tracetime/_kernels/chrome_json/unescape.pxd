# Strings of JSON as text.

from libc.stdint cimport uint8_t, uint32_t

from tracetime._kernels.chrome_json.event cimport Value
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes
from tracetime._kernels.common.wire cimport Span


cdef inline int hex4(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The four hexadecimal digits at p; -1 where they are none."""
    cdef int value = 0, i
    cdef uint8_t low
    if end - p < 4:
        return -1
    for i in range(4):
        low = p[i] | 0x20
        value *= 16
        if c"0" <= p[i] <= c"9":
            value += p[i] - c"0"
        elif c"a" <= low <= c"f":
            value += low - c"a" + 10
        else:
            return -1
    return value


cdef inline int put_point(Bytes *out, uint32_t point) except -1 nogil:
    """A code point in UTF-8."""
    if point < 0x80:
        return put_byte(out, <uint8_t>point)
    if point < 0x800:
        put_byte(out, <uint8_t>(0xC0 | point >> 6))
    else:
        if point < 0x10000:
            put_byte(out, <uint8_t>(0xE0 | point >> 12))
        else:
            put_byte(out, <uint8_t>(0xF0 | point >> 18))
            put_byte(out, <uint8_t>(0x80 | (point >> 12 & 0x3F)))
        put_byte(out, <uint8_t>(0x80 | (point >> 6 & 0x3F)))
    return put_byte(out, <uint8_t>(0x80 | (point & 0x3F)))


cdef inline const uint8_t *put_unicode(
    Bytes *out, const uint8_t *p, const uint8_t *end
) except? NULL nogil:
    """The character whose four digits are at p, or a pair's; returns the byte behind it.

    What is none becomes U+FFFD.
    """
    cdef int unit = hex4(p, end), low
    if unit < 0:
        put_point(out, 0xFFFD)
        return p
    p += 4
    if 0xD800 <= unit < 0xDC00 and end - p >= 6 and p[0] == c"\\" and p[1] == c"u":
        low = hex4(p + 2, end)
        if 0xDC00 <= low < 0xE000:
            put_point(out, 0x10000 + (<uint32_t>(unit - 0xD800) << 10) + <uint32_t>(low - 0xDC00))
            return p + 6
    put_point(out, 0xFFFD if 0xD800 <= unit < 0xE000 else <uint32_t>unit)
    return p


cdef inline int put_unescaped(Bytes *out, const uint8_t *p, const uint8_t *end) except -1 nogil:
    """The text of a string; bytes that are no UTF-8 stay."""
    cdef uint8_t byte
    while p < end:
        byte = p[0]
        p += 1
        if byte != c"\\" or p == end:
            put_byte(out, byte)
            continue
        byte = p[0]
        p += 1
        if byte == c"u":
            p = put_unicode(out, p, end)
            continue
        if byte == c"n":
            byte = 10
        elif byte == c"t":
            byte = 9
        elif byte == c"r":
            byte = 13
        elif byte == c"b":
            byte = 8
        elif byte == c"f":
            byte = 12
        put_byte(out, byte)
    return 0


cdef inline Span text_of(const Value *value, Bytes *scratch) except * nogil:
    """The text of a string: in the file, or in `scratch` where it has escapes."""
    cdef Span text
    text.data = value.data
    text.end = value.end
    if value.escaped:
        scratch.n = 0
        put_unescaped(scratch, value.data, value.end)
        text.data = scratch.data
        text.end = scratch.data + scratch.n
    return text
