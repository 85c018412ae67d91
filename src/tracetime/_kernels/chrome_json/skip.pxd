# Ends of strings and of nested values, by blocks of 64 bytes. Behind `end` lie PADDING bytes of
# zero, which may be read.

from libc.stdint cimport uint8_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(__SSE2__)
    #include <emmintrin.h>
    static inline uint64_t tt_equal(const uint8_t *p, uint8_t byte) {
        const __m128i all = _mm_set1_epi8((char)byte);
        uint64_t bits = 0;
        for (int i = 3; i >= 0; i--) {
            const __m128i block = _mm_loadu_si128((const __m128i *)(p + 16 * i));
            bits = bits << 16 | (uint64_t)_mm_movemask_epi8(_mm_cmpeq_epi8(block, all));
        }
        return bits;
    }
    static inline int tt_first_special(const uint8_t *p) {
        const __m128i block = _mm_loadu_si128((const __m128i *)p);
        const __m128i quotes = _mm_cmpeq_epi8(block, _mm_set1_epi8('"'));
        const __m128i escapes = _mm_cmpeq_epi8(block, _mm_set1_epi8(92));
        const int bits = _mm_movemask_epi8(_mm_or_si128(quotes, escapes));
        return bits ? __builtin_ctz((unsigned)bits) : 16;
    }
    #else
    static inline uint64_t tt_equal(const uint8_t *p, uint8_t byte) {
        uint64_t bits = 0;
        for (int i = 0; i < 64; i++) bits |= (uint64_t)(p[i] == byte) << i;
        return bits;
    }
    static inline int tt_first_special(const uint8_t *p) {
        int i = 0;
        while (i < 16 && p[i] != '"' && p[i] != 92) i++;
        return i;
    }
    #endif
    """
    # Which of 64 bytes are this one, the first by the lowest bit.
    uint64_t equal_bytes "tt_equal"(const uint8_t *p, uint8_t byte) nogil
    # The first quote or backslash of 16 bytes, or 16.
    int first_special "tt_first_special"(const uint8_t *p) nogil
    int lowest_bit "__builtin_ctzll"(uint64_t bits) nogil
    int count_bits "__builtin_popcountll"(uint64_t bits) nogil

cdef enum:
    PADDING = 64
    DEEPEST = 256           # how deep values may nest


cdef inline bint is_space(uint8_t byte) noexcept nogil:
    return byte == c" " or byte == c"\n" or byte == c"\r" or byte == c"\t"


cdef inline const uint8_t *skip_space(const uint8_t *p) noexcept nogil:
    """The next byte that is no space; the padding is none."""
    while is_space(p[0]):
        p += 1
    return p


cdef inline const uint8_t *string_end(
    const uint8_t *p, const uint8_t *end, bint *escaped
) noexcept nogil:
    """The quote that ends the string whose text begins at p; NULL where it lies beyond end."""
    cdef int i
    escaped[0] = False
    while p < end:
        i = first_special(p)
        p += i
        if i == 16:
            continue
        if p >= end:
            return NULL
        if p[0] == c'"':
            return p
        escaped[0] = True
        p += 2
    return NULL


cdef inline uint64_t escaped_bits(uint64_t escapes, bint *carry) noexcept nogil:
    """Which bytes of a block backslashes escape; carry: whether the byte before it is one."""
    cdef uint64_t found = 0
    cdef int i
    if carry[0]:
        found = 1
        escapes &= ~<uint64_t>1
        carry[0] = False
    while escapes:
        i = lowest_bit(escapes)
        if i == 63:
            carry[0] = True
            break
        found |= <uint64_t>2 << i
        escapes &= ~(<uint64_t>3 << i)
    return found


cdef inline const uint8_t *nested_end(
    const uint8_t *p, const uint8_t *end, bint *too_deep
) noexcept nogil:
    """The byte behind the object or array at p; NULL where it ends beyond `end`, or nests too deep.

    Braces and brackets count alike.
    """
    cdef uint64_t quotes, escapes, inside, opened, closed, both, in_string = 0
    cdef bint carry = False
    cdef int depth = 0, i
    too_deep[0] = False
    while p < end:
        quotes = equal_bytes(p, c'"')
        escapes = equal_bytes(p, c"\\")
        if escapes or carry:
            quotes &= ~escaped_bits(escapes, &carry)
        inside = quotes ^ quotes << 1
        inside ^= inside << 2
        inside ^= inside << 4
        inside ^= inside << 8
        inside ^= inside << 16
        inside ^= inside << 32
        inside ^= in_string
        in_string = 0 - (inside >> 63)
        opened = (equal_bytes(p, c"{") | equal_bytes(p, c"[")) & ~inside
        closed = (equal_bytes(p, c"}") | equal_bytes(p, c"]")) & ~inside
        if count_bits(closed) < depth and depth < DEEPEST - 64:
            depth += count_bits(opened) - count_bits(closed)
            p += 64
            continue
        both = opened | closed
        while both:
            i = lowest_bit(both)
            both &= both - 1
            depth += 1 if opened >> i & 1 else -1
            if depth == 0:
                return p + i + 1 if p + i < end else NULL
            if depth > DEEPEST:
                too_deep[0] = True
                return NULL
        p += 64
    return NULL
