from libc.stdint cimport int64_t, uint64_t

# Which powers of 2 and 5 divide a time, and whether it was a double of wall time.


cdef extern from *:
    int tt_ctz "__builtin_ctzll"(unsigned long long x) nogil
    int tt_clz "__builtin_clzll"(unsigned long long x) nogil

cdef extern from *:
    """
    static const uint64_t tt_powers_of_10[] = {
        1ull, 10ull, 100ull, 1000ull, 10000ull, 100000ull, 1000000ull, 10000000ull, 100000000ull,
        1000000000ull, 10000000000ull, 100000000000ull, 1000000000000ull, 10000000000000ull,
        100000000000000ull, 1000000000000000ull, 10000000000000000ull, 100000000000000000ull,
        1000000000000000000ull, 10000000000000000000ull
    };
    """
    const uint64_t *POWERS_OF_10 "tt_powers_of_10"

cdef enum:
    POWERS = 16                 # of 2, and of 5: 0 to 15, where 15 stands for more, too
    DIGITS = 20                 # of a decimal number: 0 to 19
    CELLS = DIGITS * POWERS * POWERS
    WALL_BITS = 61              # of wall time in ns, from 2006 to 2043

cdef inline int bits_of(int64_t ns) noexcept nogil:
    """How many binary digits the magnitude of a time has."""
    cdef uint64_t size = <uint64_t>ns if ns >= 0 else 0 - <uint64_t>ns
    return 64 - tt_clz(size) if size else 0


cdef inline int cell_of(int64_t ns) noexcept nogil:
    """(decimal digits, powers of 2, powers of 5) of a time, as one number."""
    cdef uint64_t size = <uint64_t>ns if ns >= 0 else 0 - <uint64_t>ns, fifth
    cdef int twos, fives = 0, digits
    if size == 0:
        return POWERS * POWERS - 1
    digits = ((64 - tt_clz(size)) * 1233) >> 12
    digits += size >= POWERS_OF_10[digits]
    twos = tt_ctz(size)
    if twos >= POWERS:
        twos = POWERS - 1
    while fives < POWERS - 1:
        # 5 times this is 1, modulo 2^64.
        fifth = size * <uint64_t>0xCCCCCCCCCCCCCCCD
        if fifth > <uint64_t>0x3333333333333333:
            break
        size = fifth
        fives += 1
    return (digits * POWERS + twos) * POWERS + fives


cdef inline bint is_double_s(int64_t ns) noexcept nogil:
    """Whether a wall time is within 2 ns a multiple of 2^-22 s, as doubles of s are today."""
    cdef int64_t rest = (ns % 1953125) * 8192 % 1953125
    if rest < 0:
        rest += 1953125
    return rest <= 16384 or rest >= 1953125 - 16384


cdef inline bint is_double_ms(int64_t ns) noexcept nogil:
    """Whether a wall time is within 2 ns a multiple of 2^-12 ms, as doubles of ms are today."""
    cdef int64_t rest = (ns % 15625) * 64 % 15625
    if rest < 0:
        rest += 15625
    return rest <= 128 or rest >= 15625 - 128


cdef class StepCounts:
    cdef int64_t counts[CELLS]
    cdef int64_t last
    cdef readonly int64_t n_wall, n_double_s, n_double_ms

    cdef inline void note(self, int64_t ns) noexcept nogil:
        """Count a time, unless it is 0 or the one counted before."""
        if ns == self.last or ns == 0:
            return
        self.last = ns
        self.counts[cell_of(ns)] += 1
        if bits_of(ns) == WALL_BITS:
            self.n_wall += 1
            self.n_double_s += is_double_s(ns)
            self.n_double_ms += is_double_ms(ns)
