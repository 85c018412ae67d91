# Keys that are written with escapes.

from libc.stdint cimport int64_t, uint8_t

from tracetime._kernels.chrome_json.unescape cimport hex4

cdef enum:
    LONGEST_KEY = 32        # of the keys that count; longer ones are none of them


cdef inline int64_t plain_key(const uint8_t *p, const uint8_t *end, uint8_t *out) noexcept nogil:
    """Write a key without its escapes into LONGEST_KEY bytes; returns how many they are.

    0 where it is longer, or has escapes that no key has that counts.
    """
    cdef int64_t n = 0
    cdef int code
    out[0] = 0
    while p < end:
        code = p[0]
        p += 1
        if code == c"\\":
            if p == end:
                return 0
            code = p[0]
            p += 1
            if code != c"u":
                return 0
            code = hex4(p, end)
            if not 0 < code < 0x80:
                return 0
            p += 4
        if n == LONGEST_KEY:
            return 0
        out[n] = <uint8_t>code
        n += 1
    return n
