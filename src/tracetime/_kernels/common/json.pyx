# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""JSON of foreign bytes: values written, and what claims to be JSON checked."""

from libc.math cimport isinf, isnan
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdio cimport snprintf
from libc.stdlib cimport strtod
from libc.string cimport memcmp

from tracetime._kernels.common.text cimport Bytes, is_utf8, put_byte, put_bytes, utf8_step
from tracetime._kernels.common.wire cimport Span

cdef enum:
    JSON_DEPTH = 64         # one bit each


# Values


cdef int put_bool(Bytes *out, bint value) except -1 nogil:
    return put_bytes(out, b"true", 4) if value else put_bytes(out, b"false", 5)


cdef int put_unsigned(Bytes *out, uint64_t value) except -1 nogil:
    cdef uint8_t[20] text
    cdef int at = 20
    while True:
        at -= 1
        text[at] = <uint8_t>(c"0" + value % 10)
        value //= 10
        if value == 0:
            break
    return put_bytes(out, &text[at], 20 - at)


cdef int put_signed(Bytes *out, int64_t value) except -1 nogil:
    if value < 0:
        put_byte(out, c"-")
        return put_unsigned(out, ~<uint64_t>value + 1)
    return put_unsigned(out, <uint64_t>value)


cdef int put_pointer(Bytes *out, uint64_t value) except -1 nogil:
    """A string with 0x: JSON knows no other."""
    cdef char[24] text
    return put_bytes(out, text, snprintf(text, 24, b'"0x%llx"', <unsigned long long>value))


cdef int put_double(Bytes *out, double value) except -1 nogil:
    """The shortest of 15 to 17 digits that reads back the same; what JSON has not, as a string."""
    cdef char[40] text
    cdef int n = 0, digits, i
    cdef bint whole = True
    if isnan(value):
        return put_bytes(out, b'"NaN"', 5)
    if isinf(value):
        return put_bytes(out, b'"Infinity"', 10) if value > 0 else put_bytes(
            out, b'"-Infinity"', 11
        )
    for digits in range(15, 18):
        n = snprintf(text, 40, b"%.*g", digits, value)
        if strtod(text, NULL) == value:
            break
    for i in range(n):
        if not (c"0" <= text[i] <= c"9" or text[i] == c"-" or text[i] == c"+"):
            whole = False
            if text[i] != c"e":
                text[i] = c"."  # whatever the locale has for it
    put_bytes(out, text, n)
    return put_bytes(out, b".0", 2) if whole else 0


cdef int put_string(Json *json, const uint8_t *data, int64_t n) except -1 nogil:
    """A string of foreign bytes: escaped, and what is no UTF-8 as U+FFFD."""
    cdef Bytes *out = json.out
    cdef const uint8_t *end = data + n, *run = data
    cdef int length, skip
    if n > json.limit - out.n:
        return ENOUGH
    put_byte(out, c'"')
    while data < end:
        if data[0] >= 0x80:
            length = utf8_step(data, end, &skip)
            if length:
                data += length
                continue
            put_bytes(out, run, data - run)
            put_bytes(out, b"\xef\xbf\xbd", 3)
            data += skip
            run = data
            continue
        if data[0] >= 0x20 and data[0] != c'"' and data[0] != c"\\":
            data += 1
            continue
        put_bytes(out, run, data - run)
        if data[0] == c'"':
            put_bytes(out, b'\\"', 2)
        elif data[0] == c"\\":
            put_bytes(out, b"\\\\", 2)
        elif data[0] == c"\n":
            put_bytes(out, b"\\n", 2)
        elif data[0] == c"\t":
            put_bytes(out, b"\\t", 2)
        else:
            put_bytes(out, b"\\u00", 4)
            put_byte(out, c"1" if data[0] & 0x10 else c"0")
            put_byte(out, (<const uint8_t *>b"0123456789abcdef")[data[0] & 0xF])
        data += 1
        run = data
    put_bytes(out, run, data - run)
    put_byte(out, c'"')
    return ENOUGH if out.n > json.limit else 0


cdef int put_json(Json *json, Span text) except -1 nogil:
    """Write text as it is if it is JSON, else as a string."""
    cdef const uint8_t *at
    if text.end - text.data > json.limit - json.out.n:
        return ENOUGH
    at = skip_json(text.data, text.end)
    if at != NULL and skip_space(at, text.end) == text.end and is_utf8(text.data, text.end):
        return put_bytes(json.out, text.data, text.end - text.data)
    return put_string(json, text.data, text.end - text.data)


# Values that are JSON already


cdef inline const uint8_t *skip_space(const uint8_t *p, const uint8_t *end) noexcept nogil:
    while p < end and (p[0] == c" " or p[0] == c"\n" or p[0] == c"\t" or p[0] == c"\r"):
        p += 1
    return p


cdef inline bint is_digit(const uint8_t *p, const uint8_t *end) noexcept nogil:
    return p < end and c"0" <= p[0] <= c"9"


cdef int hex4(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The four hexadecimal digits at p, -1 where they are none."""
    cdef int value = 0, i
    if end - p < 4:
        return -1
    for i in range(4):
        value *= 16
        if c"0" <= p[i] <= c"9":
            value += p[i] - c"0"
        elif c"a" <= p[i] <= c"f":
            value += p[i] - c"a" + 10
        elif c"A" <= p[i] <= c"F":
            value += p[i] - c"A" + 10
        else:
            return -1
    return value


cdef const uint8_t *skip_string(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The byte after the string at p, NULL where there is none."""
    cdef int unit
    if p >= end or p[0] != c'"':
        return NULL
    p += 1
    while p < end:
        if p[0] == c'"':
            return p + 1
        if p[0] < 0x20:
            return NULL
        if p[0] != c"\\":
            p += 1
            continue
        if end - p < 2:
            return NULL
        if p[1] == c"u":
            unit = hex4(p + 2, end)
            p += 6
            if unit < 0 or 0xDC00 <= unit <= 0xDFFF:
                return NULL
            if 0xD800 <= unit <= 0xDBFF:
                if end - p < 6 or p[0] != c"\\" or p[1] != c"u" or not (
                    0xDC00 <= hex4(p + 2, end) <= 0xDFFF
                ):
                    return NULL
                p += 6
        elif (
            p[1] == c'"' or p[1] == c"\\" or p[1] == c"/" or p[1] == c"b" or p[1] == c"f"
            or p[1] == c"n" or p[1] == c"r" or p[1] == c"t"
        ):
            p += 2
        else:
            return NULL
    return NULL


cdef const uint8_t *skip_number(const uint8_t *p, const uint8_t *end) noexcept nogil:
    if p < end and p[0] == c"-":
        p += 1
    if not is_digit(p, end):
        return NULL
    if p[0] == c"0":
        p += 1
    else:
        while is_digit(p, end):
            p += 1
    if p < end and p[0] == c".":
        p += 1
        if not is_digit(p, end):
            return NULL
        while is_digit(p, end):
            p += 1
    if p < end and (p[0] == c"e" or p[0] == c"E"):
        p += 1
        if p < end and (p[0] == c"-" or p[0] == c"+"):
            p += 1
        if not is_digit(p, end):
            return NULL
        while is_digit(p, end):
            p += 1
    return p


cdef const uint8_t *skip_key(const uint8_t *p, const uint8_t *end) noexcept nogil:
    p = skip_string(skip_space(p, end), end)
    if p == NULL:
        return NULL
    p = skip_space(p, end)
    return p + 1 if p < end and p[0] == c":" else NULL


cdef const uint8_t *skip_json(const uint8_t *p, const uint8_t *end) noexcept nogil:
    """The byte after the JSON value at p, NULL where there is none or it nests too deep."""
    cdef uint64_t objects = 0       # of what is open, a bit each: whether it is an object
    cdef int depth = 0
    cdef bint opened
    while True:
        p = skip_space(p, end)
        if p >= end:
            return NULL
        opened = False
        if p[0] == c"{" or p[0] == c"[":
            if depth == JSON_DEPTH:
                return NULL
            objects = objects << 1 | (p[0] == c"{")
            depth += 1
            opened = True
            p += 1
        elif p[0] == c'"':
            p = skip_string(p, end)
        elif p[0] == c"t" and end - p >= 4 and memcmp(p, b"true", 4) == 0:
            p += 4
        elif p[0] == c"f" and end - p >= 5 and memcmp(p, b"false", 5) == 0:
            p += 5
        elif p[0] == c"n" and end - p >= 4 and memcmp(p, b"null", 4) == 0:
            p += 4
        else:
            p = skip_number(p, end)
        if p == NULL:
            return NULL
        # After a value, or at the beginning of what was opened.
        while depth:
            p = skip_space(p, end)
            if p >= end:
                return NULL
            if p[0] == (c"}" if objects & 1 else c"]"):
                objects >>= 1
                depth -= 1
                opened = False
                p += 1
                continue
            if not opened:
                if p[0] != c",":
                    return NULL
                p += 1
            if objects & 1:
                p = skip_key(p, end)
                if p == NULL:
                    return NULL
            break
        if depth == 0:
            return p
