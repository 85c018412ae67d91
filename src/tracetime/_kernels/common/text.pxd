# Buffers that grow, and text of foreign bytes: UTF-8 checked, repaired, cut and hashed.

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from tracetime._kernels.common.hash_table cimport mix
from tracetime._kernels.common.memory cimport grow

cdef struct Bytes:
    uint8_t *data
    int64_t n
    int64_t capacity


cdef inline int put_bytes(Bytes *out, const void *data, int64_t n) except -1 nogil:
    grow(<void **>&out.data, &out.capacity, out.n + n, 1)
    if n:
        memcpy(out.data + out.n, data, <size_t>n)
    out.n += n
    return 0


cdef inline int put_byte(Bytes *out, uint8_t byte) except -1 nogil:
    if out.n == out.capacity:
        grow(<void **>&out.data, &out.capacity, out.n + 64, 1)
    out.data[out.n] = byte
    out.n += 1
    return 0


cdef inline bint is_continuation(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef inline int utf8_step(const uint8_t *p, const uint8_t *end, int *skip) noexcept nogil:
    """The length of the character at p, before end; 0 where the bytes are not UTF-8.

    Then `skip` is the number of bytes that one U+FFFD replaces (Unicode, "maximal subpart").
    """
    cdef uint8_t first = p[0], low = 0x80, high = 0xBF
    cdef int length, i
    skip[0] = 1
    if first < 0x80:
        return 1
    if first < 0xC2 or first > 0xF4:
        return 0
    if first < 0xE0:
        length = 2
    elif first < 0xF0:
        length = 3
        if first == 0xE0:
            low = 0xA0
        elif first == 0xED:
            high = 0x9F
    else:
        length = 4
        if first == 0xF0:
            low = 0x90
        elif first == 0xF4:
            high = 0x8F
    if end - p < 2 or not low <= p[1] <= high:
        return 0
    for i in range(2, length):
        if p + i >= end or not is_continuation(p[i]):
            skip[0] = i
            return 0
    return length


cdef inline bint is_utf8(const uint8_t *p, const uint8_t *end) noexcept nogil:
    cdef uint64_t eight
    cdef int length, ignored
    while p < end:
        if end - p >= 8:
            memcpy(&eight, p, 8)
            if not eight & <uint64_t>0x8080808080808080:
                p += 8
                continue
        if p[0] < 0x80:
            p += 1
            continue
        length = utf8_step(p, end, &ignored)
        if length == 0:
            return False
        p += length
    return True


cdef inline int put_text(
    Bytes *out, const uint8_t *data, int64_t n, int64_t limit
) except -1 nogil:
    """Append text as valid UTF-8: other bytes become U+FFFD, and `limit` bytes are kept.

    An ellipsis replaces the rest.
    """
    cdef const uint8_t *end
    cdef int64_t began = out.n
    cdef bint cut = n > limit
    cdef int length, skip = 1
    if cut:
        n = limit
        while n > 0 and is_continuation(data[n]):
            n -= 1
    end = data + n
    if is_utf8(data, end):
        put_bytes(out, data, n)
    else:
        while data < end and out.n - began < limit:
            length = utf8_step(data, end, &skip)
            if length:
                put_bytes(out, data, length)
                data += length
            else:
                put_bytes(out, <const uint8_t *>b"\xef\xbf\xbd", 3)
                data += skip
        cut = cut or data < end
    if cut:
        put_bytes(out, <const uint8_t *>b"\xe2\x80\xa6", 3)
    return 0


cdef inline uint64_t hash_bytes(uint64_t seed, const uint8_t *data, int64_t n) noexcept nogil:
    cdef uint64_t h = mix(seed ^ <uint64_t>n), eight
    while n >= 8:
        memcpy(&eight, data, 8)
        h = mix(h ^ eight)
        data += 8
        n -= 8
    if n:
        eight = 0
        memcpy(&eight, data, <size_t>n)
        h = mix(h ^ eight)
    return h


# An arena: text that is kept until all of it is freed.

cdef struct Block:
    Block *next
    int64_t used
    int64_t size
    uint8_t *data

cdef struct Arena:
    Block *first
    int64_t held                # bytes taken from the system


cdef inline const uint8_t *keep_bytes(
    Arena *arena, const uint8_t *data, int64_t n
) except? NULL nogil:
    """A copy of n bytes, whose address stays."""
    cdef Block *block = arena.first, *made
    cdef int64_t size
    cdef uint8_t *place
    if block == NULL or block.size - block.used < n:
        size = 512 if block == NULL else 2 * block.size
        if size > 1 << 16:
            size = 1 << 16
        if size < n:
            size = n
        made = <Block *>malloc(sizeof(Block) + <size_t>size)
        if made == NULL:
            with gil:
                raise MemoryError
        made.next = block
        made.used = 0
        made.size = size
        made.data = <uint8_t *>(made + 1)
        arena.first = made
        arena.held += <int64_t>sizeof(Block) + size
        block = made
    place = block.data + block.used
    if n:
        memcpy(place, data, <size_t>n)
    block.used += n
    return place


cdef inline void let_go(Arena *arena) noexcept nogil:
    cdef Block *block = arena.first, *next
    while block != NULL:
        next = block.next
        free(block)
        block = next
    arena.first = NULL
    arena.held = 0
