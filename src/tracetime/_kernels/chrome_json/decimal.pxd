# Times as decimal text, exactly and as trace_processor rounds them.

cimport cython
from libc.math cimport isfinite, pow, trunc
from libc.stdint cimport int64_t, uint8_t, uint64_t

from tracetime._kernels.chrome_json.event cimport (
    TIME_KNOWN, TIME_OVERFLOWS, TIME_UNREADABLE, Time,
)
from tracetime._kernels.common.memory cimport INT64_HIGH, INT64_LOW, mul_overflows

cdef extern from "<math.h>" nogil:
    long long llround(double x)

# The parts of a number's text.
cdef struct Decimal:
    const uint8_t *digits       # the first digit; a point may lie between digits
    const uint8_t *digits_end
    const uint8_t *end          # of the whole text
    uint64_t whole              # before the point, and after it; both wrap
    uint64_t part
    uint64_t divisor            # 10 for each digit after the point; wraps
    int n_whole
    int n_part
    int64_t exponent
    bint negative
    bint is_whole               # neither point nor exponent


cdef inline bint is_digit(uint8_t byte) noexcept nogil:
    return <uint8_t>(byte - c"0") < 10


cdef inline bint read_decimal(const uint8_t *p, const uint8_t *end, Decimal *d) noexcept nogil:
    """Take the number at p apart; whether there is one. It stops at whatever is no part of it."""
    cdef const uint8_t *began
    cdef bint below
    d.negative = p < end and p[0] == c"-"
    p += d.negative
    d.digits = p
    d.whole = d.part = 0
    d.divisor = 1
    d.exponent = 0
    d.is_whole = True
    while p < end and is_digit(p[0]):
        d.whole = 10 * d.whole + (p[0] - c"0")
        p += 1
    d.n_whole = <int>(p - d.digits)
    if d.n_whole == 0 or (d.digits[0] == c"0" and d.n_whole > 1):
        return False
    d.n_part = 0
    if p < end and p[0] == c".":
        d.is_whole = False
        p += 1
        began = p
        while p < end and is_digit(p[0]):
            d.part = 10 * d.part + (p[0] - c"0")
            d.divisor *= 10
            p += 1
        d.n_part = <int>(p - began)
        if d.n_part == 0:
            return False
    d.digits_end = p
    if p < end and (p[0] == c"e" or p[0] == c"E"):
        d.is_whole = False
        p += 1
        below = p < end and p[0] == c"-"
        p += below or (p < end and p[0] == c"+")
        began = p
        while p < end and is_digit(p[0]):
            if d.exponent < 1000000000:
                d.exponent = 10 * d.exponent + (p[0] - c"0")
            p += 1
        if p == began:
            return False
        if below:
            d.exponent = -d.exponent
    d.end = p
    return True


cdef inline bint scaled(const Decimal *d, int power, int64_t *out, bint *rounded) noexcept nogil:
    """The number times 10^power to the nearest integer, halves away from zero; False: too large."""
    cdef int64_t kept = d.n_whole + d.exponent + power      # digits that count, zeros included
    cdef int64_t seen = 0
    cdef uint64_t value = 0, most = <uint64_t>INT64_HIGH + d.negative
    cdef const uint8_t *p = d.digits
    cdef uint8_t digit
    cdef bint up = False
    rounded[0] = False
    while p < d.digits_end:
        if p[0] == c".":
            p += 1
            continue
        digit = p[0] - c"0"
        p += 1
        if seen < kept:
            if value > (most - digit) // 10:
                return False
            value = 10 * value + digit
        elif digit:
            rounded[0] = True
            if seen == kept and digit >= 5:
                up = True
        seen += 1
    while value and seen < kept:
        if value > most // 10:
            return False
        value *= 10
        seen += 1
    if up:
        if value == most:
            return False
        value += 1
    out[0] = <int64_t>(0 - value) if d.negative else <int64_t>value
    return True


@cython.cdivision(True)  # the divisor of 64 digits and more is 0, as there
cdef inline bint floor_ns(const Decimal *d, int64_t *out) noexcept nogil:
    """The number of us in ns as trace_processor takes it; False where it is beyond int64.

    ParseNumber of its json_parser.h, and CoerceToTs of json_trace_tokenizer.cc: whole numbers times
    1000; others are the sum of two doubles, whole us times 1000, the rest rounded.
    """
    cdef double value
    cdef int64_t whole
    cdef bint ignored
    if d.is_whole:
        return scaled(d, 0, &whole, &ignored) and not mul_overflows(whole, 1000, out)
    value = <double><int64_t>d.whole
    if d.n_part:
        value += <double><int64_t>d.part / <double>d.divisor
    if d.exponent < 0:
        value /= pow(10, <double>-d.exponent)
    elif d.exponent > 0:
        value *= pow(10, <double>d.exponent)
    if not isfinite(value):
        return False
    if d.negative:
        value = -value
    if not -9.2e15 < value < 9.2e15:
        return False
    if value == trunc(value):
        out[0] = <int64_t>value * 1000
    else:
        out[0] = llround(value * 1000.0)
    return True


cdef inline void read_time(const uint8_t *p, const uint8_t *end, Time *time) noexcept nogil:
    """A time in us."""
    cdef Decimal d
    cdef bint low
    time.rounded = False
    time.ns = time.floor_ns = 0
    if not read_decimal(p, end, &d) or d.end != end:
        time.state = TIME_UNREADABLE
        return
    time.state = TIME_KNOWN
    if d.is_whole and d.n_whole <= 15:
        time.ns = time.floor_ns = <int64_t>d.whole * (-1000 if d.negative else 1000)
    elif not scaled(&d, 3, &time.ns, &time.rounded) or not floor_ns(&d, &time.floor_ns):
        time.state = TIME_OVERFLOWS
        time.rounded = False
        time.ns = time.floor_ns = INT64_LOW if d.negative else INT64_HIGH
