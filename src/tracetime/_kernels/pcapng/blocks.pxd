# The parts of a capture: numbers in either byte order, and options.

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t

cdef struct Option:
    uint16_t code
    const uint8_t *value
    int64_t n


cdef inline uint16_t number16(const uint8_t *p, bint big) noexcept nogil:
    return <uint16_t>(p[0] << 8 | p[1]) if big else <uint16_t>(p[1] << 8 | p[0])


cdef inline uint32_t number32(const uint8_t *p, bint big) noexcept nogil:
    cdef uint32_t first = number16(p, big), second = number16(p + 2, big)
    return first << 16 | second if big else second << 16 | first


cdef inline uint64_t number64(const uint8_t *p, bint big) noexcept nogil:
    cdef uint64_t first = number32(p, big), second = number32(p + 4, big)
    return first << 32 | second if big else second << 32 | first


cdef inline int next_option(
    const uint8_t **at, const uint8_t *end, bint big, Option *option
) noexcept nogil:
    """Read an option, and move behind it: 1, 0 at the end of the options, -1 where it is none."""
    cdef const uint8_t *p = at[0]
    if p == end:
        return 0
    if end - p < 4:
        return -1
    option.code = number16(p, big)
    option.n = number16(p + 2, big)
    option.value = p + 4
    if option.code == 0:
        return 0
    if ((option.n + 3) & ~3) > end - option.value:
        return -1
    at[0] = option.value + ((option.n + 3) & ~3)
    return 1
