# The id of a flow as a number: MaybeExtractFlowIdentifier of Perfetto's json_trace_parser.cc, whose
# texts are hexadecimal, by strtoull.

from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.chrome_json.decimal cimport Decimal, is_digit, read_decimal, scaled
from tracetime._kernels.chrome_json.event cimport NUMBER, STRING, Value
from tracetime._kernels.chrome_json.unescape cimport text_of
from tracetime._kernels.common.text cimport Bytes
from tracetime._kernels.common.wire cimport Span


cdef inline bint read_whole(const Value *value, int64_t *number) noexcept nogil:
    """A whole number in 64 bits."""
    cdef Decimal d
    cdef bint rounded
    return (
        value.kind == NUMBER and read_decimal(value.data, value.end, &d)
        and scaled(&d, 0, number, &rounded)
    )


cdef inline int hex_digit(uint8_t byte) noexcept nogil:
    """The value of a digit; -1 of another byte."""
    if is_digit(byte):
        return byte - c"0"
    byte |= 0x20
    return byte - c"a" + 10 if c"a" <= byte <= c"f" else -1


cdef inline bint read_hex(Span text, uint64_t *number) noexcept nogil:
    """A text that is a number; what does not fit is the greatest."""
    cdef const uint8_t *p = text.data
    cdef bint negative, beyond = False
    while p < text.end and (p[0] == c" " or 9 <= p[0] <= 13):
        p += 1
    negative = p < text.end and p[0] == c"-"
    p += p < text.end and (p[0] == c"-" or p[0] == c"+")
    if text.end - p > 2 and p[0] == c"0" and p[1] | 0x20 == c"x":
        p += 2
    if p >= text.end:
        return False
    number[0] = 0
    while p < text.end:
        if hex_digit(p[0]) < 0:
            return False
        beyond = beyond or number[0] >> 60 != 0
        number[0] = number[0] << 4 | <uint64_t>hex_digit(p[0])
        p += 1
    if beyond:
        number[0] = <uint64_t>0xFFFFFFFFFFFFFFFF
    elif negative:
        number[0] = 0 - number[0]
    return True


cdef inline bint read_flow_id(
    const Value *value, Bytes *scratch, uint64_t *number
) except -1 nogil:
    if value.kind == STRING:
        return read_hex(text_of(value, scratch), number)
    return read_whole(value, <int64_t *>number)
