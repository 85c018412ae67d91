# Bounds of true time from what a time service stated at one moment on: a fraction of a us a call.
#
# Everything that sets a statement up is Python's: sources/time_service/service.py.

cdef enum:
    PPB = 1000000000
    MOST_JUMP_NS = 1000000

cdef object new_tuple = tuple.__new__

JUMP_NS = MOST_JUMP_NS
"""REALTIME may be off by so much where a thread waits between two readings."""
LONGEST_NS = 1 << 33
"""For 8 s an anchor is of use at most: then age times PPB stays within int64."""


cdef class Anchor:
    """What a time service has stated, with the clocks' readings right after: of use until void.

    A call that begins by `until` uses it without a look at the service. One that begins by
    `last_until` does so if the service has said nothing since, and puts `until` off.

    Args:
        result: made of earliest, estimate, latest, clock, source and age, a subclass of tuple.
        readers: read MONOTONIC_RAW, REALTIME and MONOTONIC; they are called where `codes` is None.
        codes: the numbers of these clocks for `clock_gettime`.
        source: the service.
        raw_ns, real_ns, real_less_mono_ns: the readings; the last is REALTIME less MONOTONIC.
        half_ns: how far REALTIME was from true time at most.
        age_ns: how old the statement was.
        drift_ppb: how far the rate of MONOTONIC_RAW may be off; at most 10^9.
        poll_ns: by how much `until` is put off.
        until_raw_ns, last_until_raw_ns, void_raw_ns: readings of MONOTONIC_RAW; LONGEST_NS after
            `raw_ns` at most.
        tai_ns: TAI less UTC.
        holds, is_last: as in `Statement`.
    """

    cdef object result, read_raw, read_real, read_mono, holds, is_last
    cdef int32_t raw_code, real_code, mono_code
    cdef bint native
    cdef readonly str source
    cdef readonly int64_t raw_ns, real_ns, half_ns, age_ns, drift_ppb, tai_ns
    cdef int64_t real_less_mono_ns, poll_ns, until_ns, last_until_ns, void_ns

    # wide: what is known of one moment
    def __cinit__(
        self, result, readers, codes, str source, int64_t raw_ns, int64_t real_ns,
        int64_t real_less_mono_ns, int64_t half_ns, int64_t age_ns, int64_t drift_ppb,
        int64_t poll_ns, int64_t until_raw_ns, int64_t last_until_raw_ns, int64_t void_raw_ns,
        int64_t tai_ns, holds, is_last,
    ):
        self.result, self.source, self.holds, self.is_last = result, source, holds, is_last
        self.read_raw, self.read_real, self.read_mono = readers
        self.native = codes is not None
        if self.native:
            self.raw_code, self.real_code, self.mono_code = codes
        self.raw_ns, self.real_ns, self.real_less_mono_ns = raw_ns, real_ns, real_less_mono_ns
        self.half_ns, self.age_ns, self.drift_ppb, self.tai_ns = half_ns, age_ns, drift_ppb, tai_ns
        self.poll_ns, self.until_ns = poll_ns, until_raw_ns
        self.last_until_ns, self.void_ns = last_until_raw_ns, void_raw_ns
        if max(until_raw_ns, last_until_raw_ns, void_raw_ns) - raw_ns > LONGEST_NS:
            raise ValueError("an anchor is of use for LONGEST_NS at most")

    def now(self, str clock, bint fresh):
        """The result, now; None where the service is to be asked.

        clock: `REALTIME` or `TAI`. fresh: whether it has just been made: then it is used until it
        is void.
        """
        cdef int64_t raw, real, mono, age, half, estimate, jump
        if not (
            self.native
            and posix(self.raw_code, &raw)
            and posix(self.real_code, &real)
            and posix(self.mono_code, &mono)
        ):
            raw, real, mono = self.read_raw(), self.read_real(), self.read_mono()
        if not raw < (self.void_ns if fresh else self.until_ns):
            if not (raw < self.last_until_ns and self.is_last()):
                return None
            self.until_ns = min(raw + self.poll_ns, self.last_until_ns)
        # Steering leaves REALTIME less MONOTONIC alone.
        jump = real - mono - self.real_less_mono_ns
        if not -MOST_JUMP_NS < jump < MOST_JUMP_NS or (self.holds is not None and not self.holds()):
            return None
        age = raw - self.raw_ns
        half = self.half_ns + age * self.drift_ppb // PPB + 1
        estimate = self.real_ns + age
        if clock == "TAI":
            estimate += self.tai_ns
        return new_tuple(
            self.result,
            (estimate - half, estimate, estimate + half, clock, self.source, self.age_ns + age),
        )
