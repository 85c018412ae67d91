# cython: boundscheck=False, wraparound=False, initializedcheck=False
"""Entries of systemd's Journal Export Format: their times and where their texts lie; their args."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memchr, memcmp, memset, strlen

import numpy as np

from tracetime._kernels.common.arrays cimport copied
from tracetime._kernels.common.json cimport ENOUGH, Json, put_string
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.text cimport Bytes, put_byte, put_bytes

# The fields of an entry of systemd's Journal Export Format, one after another.
#
# A field is NAME=text and a line end; or NAME, a line end, a length of 8 bytes (little-endian), as
# many bytes, and a line end. An empty line ends an entry.

cdef enum:
    # What there is at a place of the data; `FAULTS` of formats/journal/clocks.py has the words.
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
    cdef const uint8_t *stop, *sign
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


# Entries

cdef enum:
    LONGEST_ARGS = 1 << 16
    NO_NUMBER = 5           # a field that is to hold a number or an id does not
    NO_TIME = 6             # an entry without __REALTIME_TIMESTAMP

# The columns; `_COLUMNS` names them.
cdef enum:
    START = 0
    END = 1
    REALTIME = 2
    MONOTONIC = 3
    BOOT = 4                # two columns, for 128 bits
    MACHINE = 6
    PID = 8
    PRIORITY = 9
    MESSAGE = 10            # where it begins, and where it ends
    IDENTIFIER = 12
    COMM = 14
    N_COLUMNS = 16

_COLUMNS = (
    "start", "end", "realtime_us", "monotonic_us", "boot_high", "boot_low", "machine_high",
    "machine_low", "pid", "priority", "message", "message_end", "identifier", "identifier_end",
    "comm", "comm_end",
)

cdef struct Rows:
    int64_t *values         # N_COLUMNS for each
    int64_t capacity
    int64_t n


cdef inline bint is_named(const Field *field, const char *name) noexcept nogil:
    cdef int64_t n = <int64_t>strlen(name)
    return field.name_n == n and memcmp(field.name, name, <size_t>n) == 0


cdef bint take_number(const Field *field, int64_t *value) noexcept nogil:
    """A decimal number of at most 18 digits."""
    cdef int64_t i, found = 0
    if not 0 < field.n <= 18:
        return False
    for i in range(field.n):
        if not c"0" <= field.value[i] <= c"9":
            return False
        found = 10 * found + (field.value[i] - c"0")
    value[0] = found
    return True


cdef bint take_id(const Field *field, int64_t *two) noexcept nogil:
    """An id of 128 bits: 32 hexadecimal digits."""
    cdef uint64_t half = 0
    cdef uint8_t c
    cdef int i
    if field.n != 32:
        return False
    for i in range(32):
        c = field.value[i]
        if c"0" <= c <= c"9":
            half = half << 4 | (c - c"0")
        elif c"a" <= c <= c"f":
            half = half << 4 | (c - c"a" + 10)
        elif c"A" <= c <= c"F":
            half = half << 4 | (c - c"A" + 10)
        else:
            return False
        if i == 15 or i == 31:
            two[i // 16] = <int64_t>half
            half = 0
    return True


cdef void take_text(
    const Field *field, const uint8_t *data, int64_t *place
) noexcept nogil:
    place[0] = field.value - data
    place[1] = field.value - data + field.n


cdef int take(const Field *field, const uint8_t *data, int64_t *row) noexcept nogil:
    """Put a field into the row of its entry; returns a fault, or 0."""
    cdef uint8_t first = field.name[0]
    if first == c"_":
        if is_named(field, b"__REALTIME_TIMESTAMP"):
            return 0 if take_number(field, row + REALTIME) else NO_NUMBER
        if is_named(field, b"__MONOTONIC_TIMESTAMP"):
            return 0 if take_number(field, row + MONOTONIC) else NO_NUMBER
        if is_named(field, b"_BOOT_ID"):
            return 0 if take_id(field, row + BOOT) else NO_NUMBER
        if is_named(field, b"_MACHINE_ID"):
            return 0 if take_id(field, row + MACHINE) else NO_NUMBER
        if is_named(field, b"_PID"):
            take_number(field, row + PID)
        elif is_named(field, b"_COMM"):
            take_text(field, data, row + COMM)
    elif first == c"M":
        if is_named(field, b"MESSAGE"):
            take_text(field, data, row + MESSAGE)
    elif first == c"P":
        if is_named(field, b"PRIORITY"):
            take_number(field, row + PRIORITY)
    elif first == c"S":
        if is_named(field, b"SYSLOG_IDENTIFIER"):
            take_text(field, data, row + IDENTIFIER)
    return 0


cdef int64_t *new_row(Rows *rows) except NULL nogil:
    """Room for one more row, each number of it missing."""
    cdef int64_t *row
    cdef int i
    grow(<void **>&rows.values, &rows.capacity, (rows.n + 1) * N_COLUMNS, sizeof(int64_t))
    row = rows.values + rows.n * N_COLUMNS
    for i in range(N_COLUMNS):
        row[i] = -1
    row[BOOT] = row[BOOT + 1] = row[MACHINE] = row[MACHINE + 1] = 0
    return row


def read_entries(const uint8_t[::1] data, int64_t longest):
    """Read whole entries.

    Args:
        data: begins with an entry, or between two.
        longest: how many bytes a field may have.

    Returns:
        by name, int64 columns with a row for each entry: where it begins and ends, its times in us
        (-1: none), the halves of ids, numbers, and where texts begin (-1: none) and end;
        where the last whole entry ends; where the data ends or is wrong; and what is wrong there:
        0 nothing, 1 the data ends within an entry, else see `FAULTS`.
    """
    cdef Rows rows
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    cdef const uint8_t *p = first
    cdef const uint8_t *end = first + data.shape[0]
    cdef const uint8_t *whole = first, *wrong = NULL
    cdef Field field
    cdef int64_t *row = NULL
    cdef int fault = 0
    memset(&rows, 0, sizeof(rows))
    try:
        with nogil:
            while p < end:
                if p[0] == c"\n":
                    p += 1
                    if row != NULL:
                        if row[REALTIME] < 0:
                            fault, wrong = NO_TIME, first + row[START]
                            break
                        row[END] = p - first
                        rows.n += 1
                        row = NULL
                    whole = p
                    continue
                wrong = p
                fault = next_field(&p, end, longest, &field)
                if fault != FIELD:
                    break
                if row == NULL:
                    row = new_row(&rows)
                    row[START] = wrong - first
                fault = take(&field, first, row)
                if fault:
                    break
        if fault == 0:
            wrong = p
            if row != NULL:
                fault = INCOMPLETE
        values = copied(np.empty(rows.n * N_COLUMNS, dtype=np.int64), rows.values)
        columns = np.ascontiguousarray(values.reshape(-1, N_COLUMNS).T)
        return dict(zip(_COLUMNS, columns, strict=True)), whole - first, wrong - first, fault
    finally:
        free(rows.values)


def write_args(const uint8_t[::1] data, const int64_t[::1] starts, const int64_t[::1] ends):
    """Write the fields of entries as JSON, but MESSAGE and those that begin with "__".

    Args:
        data: what holds the entries.
        starts, ends: where each begins and ends, as `read_entries` returns them.

    Returns:
        int32: where the text of each entry ends in the second; uint8: the texts.
    """
    cdef int64_t i, n = starts.shape[0]
    cdef Bytes out
    cdef const uint8_t *first = &data[0] if data.shape[0] else NULL
    where = np.empty(n, dtype=np.int32)
    cdef int32_t[::1] placed = where
    if ends.shape[0] != n:
        raise ValueError("each entry has a start and an end")
    for i in range(n):
        if not 0 <= starts[i] <= ends[i] <= data.shape[0]:
            raise IndexError("an entry is outside the data")
    memset(&out, 0, sizeof(out))
    try:
        with nogil:
            for i in range(n):
                put_entry(&out, first + starts[i], first + ends[i])
                if out.n > 0x7fffffff:
                    with gil:
                        raise OverflowError("the arguments are too long for one column")
                placed[i] = <int32_t>out.n
        return where, copied(np.empty(out.n, dtype=np.uint8), out.data)
    finally:
        free(out.data)


cdef int put_entry(Bytes *out, const uint8_t *p, const uint8_t *end) except -1 nogil:
    """The fields of an entry as one object."""
    cdef Json json
    cdef Field field
    cdef int64_t began
    cdef bint any = False
    json.out = out
    json.limit = out.n + LONGEST_ARGS
    put_byte(out, c"{")
    while p < end and p[0] != c"\n":
        if next_field(&p, end, end - p, &field) != FIELD:
            break
        if is_named(&field, b"MESSAGE") or (
            field.name_n > 1 and field.name[0] == c"_" and field.name[1] == c"_"
        ):
            continue
        began = out.n
        if any:
            put_byte(out, c",")
        if put_string(&json, field.name, field.name_n) == ENOUGH or put_byte(out, c":") or (
            put_string(&json, field.value, field.n) == ENOUGH
        ):
            out.n = began
            if any:
                put_byte(out, c",")
            put_bytes(out, b'"(cut)":true', 12)
            break
        any = True
    return put_byte(out, c"}")
