# The clocks of events: raw ticks of any width and rate become what is written.

cdef extern from "<time.h>" nogil:
    struct timespec:
        int64_t tv_sec
        long tv_nsec
    int clock_gettime(int clock, timespec *out)

cdef extern from *:
    """
    #include <stdint.h>
    /* floor(ticks * num / den); 1 where that is below 0 or above INT64_MAX. */
    static int tt_scale(int64_t ticks, int64_t num, int64_t den, int64_t *out) {
        __int128 product = (__int128)ticks * num;
        if (product < 0 || product / den > INT64_MAX) return 1;
        *out = (int64_t)(product / den);
        return 0;
    }
    """
    bint scale_overflows "tt_scale"(int64_t ticks, int64_t num, int64_t den, int64_t *out) nogil

cdef enum:
    NO_POSIX_CLOCK = -1


cdef class EventClock:
    """A clock that events can be in: its sequence, and how its raw ticks become what is written.

    clock: the id written; explicit: whether every packet names it.
    posix: number for clock_gettime, -1 for a clock that cannot be read here.
    rate: ns_per_tick as (numerator, denominator), and valid_bits: a clock of (1, 1) and 64 bits is
    written as it is; any other unwrapped, and in ns, rounded down.
    """

    cdef readonly Sequence sequence
    cdef readonly uint32_t clock
    cdef readonly object name
    cdef bint explicit
    cdef int posix
    cdef readonly bint scaled
    cdef int64_t numerator, denominator
    cdef readonly int bits
    cdef readonly int64_t last_ticks    # of the last snapshot, unwrapped
    cdef bint seen

    def __init__(
        self, Sequence sequence not None, uint32_t clock, name, bint explicit, int posix,
        tuple rate, int bits,
    ):
        self.sequence = sequence
        self.clock = clock
        self.name = name
        self.explicit = explicit
        self.posix = posix
        self.numerator, self.denominator = rate
        self.bits = bits
        self.scaled = bits != 64 or self.numerator != 1 or self.denominator != 1

    cdef int64_t near(self, uint64_t raw, int64_t expected) noexcept:
        """The unwrapped count that ends in the bits of `raw` and is nearest to `expected`."""
        cdef int shift = 64 - self.bits
        # The difference in the clock's own bits, signed: shifted up, and down again.
        cdef int64_t off = <int64_t>((raw - <uint64_t>expected) << shift) >> shift
        return <int64_t>(<uint64_t>expected + <uint64_t>off)

    cdef int64_t ns_of(self, int64_t ticks) except? -1:
        cdef int64_t ns = 0
        if scale_overflows(ticks, self.numerator, self.denominator, &ns):
            raise TimestampError(
                f"{ticks} ticks of {self.name} are no nanoseconds between 0 and 2^63"
            )
        return ns

    cdef int check(self, uint64_t raw) except -1:
        if self.bits < 64 and raw >> self.bits:
            raise TimestampError(f"{raw} has more than the {self.bits} bits of {self.name}")
        return 0

    def read(self, raw, int64_t elapsed_ns):
        """Take a snapshot's reading, in ticks; returns what to write, ns.

        elapsed_ns: since the last one, by another clock: shows how often it may have wrapped.
        """
        cdef uint64_t value = raw
        cdef int64_t ticks, passed = 0
        self.check(value)
        if not self.seen:
            if value >> 63:
                raise TimestampError(f"{value} ticks of {self.name} do not fit in int64")
            ticks = <int64_t>value
        else:
            scale_overflows(elapsed_ns, self.denominator, self.numerator, &passed)
            ticks = self.near(value, self.last_ticks + passed)
        cdef int64_t ns = self.ns_of(ticks)
        self.last_ticks = ticks
        self.seen = True
        return ns

    def follow(self, raw, int64_t ticks):
        """Take a snapshot's reading that the caller has unwrapped."""
        cdef uint64_t value = raw
        self.check(value)
        self.last_ticks = ticks
        self.seen = True

    cpdef int64_t convert(self, raw) except? -1:
        """An event's reading, in ticks, as what is written: nearest to the last snapshot's."""
        cdef uint64_t value = raw
        self.check(value)
        if not self.seen:
            raise TimestampError(f"no snapshot has {self.name} yet: take one first")
        return self.ns_of(self.near(value, self.last_ticks))

    cdef int interval(self, raw, duration, int64_t *begin_ns, int64_t *end_ns) except -1:
        """An event's first reading and how many ticks it lasted, as what is written."""
        cdef int64_t begin, ticks = duration, end
        cdef uint64_t value
        if ticks < 0:
            raise TimestampError(f"a duration is not below 0: {ticks}")
        if self.scaled:
            self.convert(raw)
            value = raw
            begin = self.near(value, self.last_ticks)
        else:
            begin = raw
        if begin < 0:
            raise TimestampError(f"a timestamp is not below 0: {begin}")
        if add_overflows(begin, ticks, &end):
            raise TimestampError(f"{begin} and {ticks} more of {self.name} do not fit in int64")
        begin_ns[0] = self.ns_of(begin) if self.scaled else begin
        end_ns[0] = self.ns_of(end) if self.scaled else end
        return 0

    cdef int64_t now(self) except? -1:
        cdef timespec t
        if self.posix == NO_POSIX_CLOCK or clock_gettime(self.posix, &t):
            raise TimestampError(f"{self.name} cannot be read here: give the timestamp")
        return t.tv_sec * 1000000000 + t.tv_nsec
