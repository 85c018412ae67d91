# C arrays that grow, memory made zero, and arithmetic that reports overflow.

from libc.stdint cimport int64_t
from libc.stdlib cimport realloc

cdef extern from *:
    """
    #include <string.h>

    /* For a size that it knows, gcc writes "rep stos", which takes long to start. */
    static inline void tt_clear(void *p, size_t n) {
        __asm__("" : "+r"(n));
        memset(p, 0, n);
    }
    """
    void clear "tt_clear"(void *p, size_t n) noexcept nogil

cdef extern from *:
    """
    #define tt_add(a, b, out) __builtin_add_overflow((int64_t)(a), (int64_t)(b), (out))
    #define tt_sub(a, b, out) __builtin_sub_overflow((int64_t)(a), (int64_t)(b), (out))
    #define tt_mul(a, b, out) __builtin_mul_overflow((int64_t)(a), (int64_t)(b), (out))
    """
    # True where the exact result does not fit in int64.
    bint add_overflows "tt_add"(int64_t a, int64_t b, int64_t *out) nogil
    bint sub_overflows "tt_sub"(int64_t a, int64_t b, int64_t *out) nogil
    bint mul_overflows "tt_mul"(int64_t a, int64_t b, int64_t *out) nogil

cdef extern from "<stdint.h>":
    const int64_t INT64_LOW "INT64_MIN"
    const int64_t INT64_HIGH "INT64_MAX"


cdef inline int64_t saturating_sub(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t out
    if sub_overflows(a, b, &out):
        return INT64_LOW if b > 0 else INT64_HIGH
    return out


cdef inline int64_t saturating_add(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t out
    if add_overflows(a, b, &out):
        return INT64_LOW if b < 0 else INT64_HIGH
    return out


cdef inline int64_t saturating_mul(int64_t a, int64_t b) noexcept nogil:
    cdef int64_t out
    if mul_overflows(a, b, &out):
        return INT64_LOW if (a < 0) != (b < 0) else INT64_HIGH
    return out


cdef inline int grow(void **array, int64_t *capacity, int64_t needed, size_t size) except -1 nogil:
    """Make room for `needed` elements of `size` bytes, at least doubling."""
    cdef int64_t more
    cdef void *moved
    if needed <= capacity[0]:
        return 0
    more = capacity[0] * 2
    if more < needed:
        more = needed
    moved = realloc(array[0], <size_t>more * size)
    if moved == NULL:
        with gil:
            raise MemoryError
    array[0] = moved
    capacity[0] = more
    return 0
