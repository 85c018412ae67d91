# The fields of an entry of systemd's Journal Export Format, one after another.
#
# A field is NAME=text and a line end; or NAME, a line end, a length of 8 bytes (little-endian), as
# many bytes, and a line end. An empty line ends an entry.

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memchr

cdef enum:
    # What there is at a place of the data; `FAULTS` of formats/journal/entries.py has the words.
    FIELD = 0
    INCOMPLETE = 1          # the data ends within a field
    NO_NAME = 2             # what stands there is no field
    TOO_LONG = 3            # a length beyond any that a field may have
    NOT_ENDED = 4           # no line end after so many bytes
    LONGEST_FIELD_NAME = 256

cdef struct Field:
    const uint8_t *name
    int64_t name_n
    const uint8_t *value
    int64_t n


cdef inline bint is_name(const uint8_t *p, int64_t n) noexcept nogil:
    cdef int64_t i
    if not 0 < n <= LONGEST_FIELD_NAME:
        return False
    for i in range(n):
        if not (c"A" <= p[i] <= c"Z" or p[i] == c"_" or c"0" <= p[i] <= c"9"):
            return False
    return True


cdef inline int next_field(
    const uint8_t **at, const uint8_t *end, int64_t longest, Field *field
) noexcept nogil:
    """Read the field at a place, and move the place behind it."""
    cdef const uint8_t *p = at[0]
    cdef const uint8_t *stop
    cdef const uint8_t *sign
    cdef uint64_t size
    cdef int i
    stop = <const uint8_t *>memchr(p, c"\n", <size_t>(end - p))
    if stop == NULL:
        # A longer one would be no name, or no text.
        sign = <const uint8_t *>memchr(p, c"=", <size_t>(end - p))
        if not is_name(p, (end if sign == NULL else sign) - p) and end > p:
            return NO_NAME
        return TOO_LONG if end - p > longest else INCOMPLETE
    sign = <const uint8_t *>memchr(p, c"=", <size_t>(stop - p))
    field.name = p
    field.name_n = (stop if sign == NULL else sign) - p
    if not is_name(p, field.name_n):
        return NO_NAME
    if sign != NULL:
        field.value = sign + 1
        field.n = stop - field.value
        if field.n > longest:
            return TOO_LONG
        at[0] = stop + 1
        return FIELD
    if end - stop < 9:
        return INCOMPLETE
    size = 0
    for i in range(8):
        size |= <uint64_t>stop[1 + i] << (8 * i)
    if size > <uint64_t>longest:
        return TOO_LONG
    if <uint64_t>(end - stop - 9) < size + 1:
        return INCOMPLETE
    field.value = stop + 9
    field.n = <int64_t>size
    if field.value[field.n] != c"\n":
        return NOT_ENDED
    at[0] = field.value + field.n + 1
    return FIELD
