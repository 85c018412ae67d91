# Reading clocks between readings of a reference, without the GIL and without an object.
#
# A sweep reads the reference A and every other clock in turn: A, B1, A, B2, A, ...; each A closes one
# bracket and opens the next. For every clock the best bracket of some sweeps is selected: a narrow
# one, near the reference's own reading. The clocks are those of the system's `clock_gettime`, and the
# time stamp counter of x86-64 or the virtual counter of 64-bit Arm. Readings of other clocks are taken by the caller, in the order of the
# sweeps, and their brackets are selected by the same rules.

cdef extern from *:
    """
    #include <stdint.h>
    #if defined(_WIN32)
    static void tt_sleep(int64_t ns) { (void)ns; }
    #else
    #include <time.h>
    static void tt_sleep(int64_t ns) {
        struct timespec t = { (time_t)(ns / 1000000000), (long)(ns % 1000000000) };
        nanosleep(&t, NULL);
    }
    #endif

    #if (defined(__x86_64__) && defined(__GNUC__)) || (defined(_M_X64) && !defined(_M_ARM64EC))
    #if defined(_MSC_VER)
    #include <intrin.h>
    #include <immintrin.h>
    static int tt_tsc_steady(void) {
        int r[4];
        __cpuid(r, (int)0x80000000);
        if ((uint32_t)r[0] < 0x80000007u) return 0;
        __cpuid(r, (int)0x80000007);
        return (r[3] >> 8) & 1;
    }
    #else
    #include <cpuid.h>
    #include <x86intrin.h>
    static int tt_tsc_steady(void) {
        unsigned int a, b, c, d;
        if (!__get_cpuid(0x80000007u, &a, &b, &c, &d)) return 0;
        return (d >> 8) & 1;
    }
    #endif
    #define TT_TSC 1
    /* The counter may be read early or late by some instructions: fences keep the read between
       the readings of the reference around it. */
    static inline int64_t tt_tsc(void) {
        uint64_t v;
        _mm_lfence();
        v = __rdtsc();
        _mm_lfence();
        return (int64_t)v;
    }
    #else
    #define TT_TSC 0
    static int tt_tsc_steady(void) { return 0; }
    static int64_t tt_tsc(void) { return 0; }
    #endif
    """
    void sleep_ns "tt_sleep"(int64_t ns) nogil
    int64_t tsc "tt_tsc"() nogil
    bint tsc_steady "tt_tsc_steady"() nogil
    bint HAS_TSC "TT_TSC"

cdef extern from "common/posix_clock.h":
    bint posix "tt_posix"(int32_t clock, int64_t *out) nogil

cdef extern from "capture/arm_counter.h":
    int64_t arm_counter "tt_arm_counter"() nogil
    int64_t arm_hz "tt_arm_counter_hz"() nogil
    bint HAS_ARM_COUNTER "TT_ARM_COUNTER"

TSC_CODE = -0x7FFFFFFF - 1
"""The time stamp counter, among the numbers of `clock_gettime`."""
ARM_COUNTER_CODE = -0x7FFFFFFF
"""The virtual counter of Arm, likewise."""

cdef enum:
    OK = -1
    PAUSES = 7              # distances that vary: 0 to 6 readings are skipped, in turn
    MOST = 64               # clocks: their readings are on the stack


cdef inline bint read_clock(int32_t code, int64_t *out) noexcept nogil:
    """Read one clock: ns, or ticks of a counter; False if it cannot be read."""
    if code == INT32_MIN:
        if not HAS_TSC:
            return False
        out[0] = tsc()
        return True
    if code == INT32_MIN + 1:
        if not HAS_ARM_COUNTER:
            return False
        out[0] = arm_counter()
        return True
    return posix(code, out)


def has_tsc():
    """Whether this processor has a time stamp counter that the kernel can read (x86-64)."""
    return bool(HAS_TSC)


def tsc_is_steady():
    """Whether the processor says that its counter keeps one rate (CPUID 8000_0007, EDX bit 8)."""
    return bool(tsc_steady())


def arm_counter_hz():
    """Ticks a second of the virtual counter of 64-bit Arm (CNTFRQ_EL0), int; 0 if there is none."""
    return arm_hz()


def read_one(int32_t code):
    """One reading, int; None if the system does not know the clock."""
    cdef int64_t value
    return value if read_clock(code, &value) else None


def read_column(int32_t code, int64_t[::1] out, bint vary):
    """Fill `out` with readings one after the other; whether all could be read.

    vary: pause between them for varying times: the differences reveal the step of a clock only if
    they vary.
    """
    cdef int64_t i, k, wasted = 0
    cdef bint fine = True
    with nogil:
        for i in range(out.shape[0]):
            if not read_clock(code, &out[i]):
                fine = False
                break
            if vary:
                for k in range(i % PAUSES):
                    fine = fine and read_clock(code, &wasted)
    return fine


cdef class Brackets:
    """Samples a set of clocks against the first of them.

    Args:
        codes: int32 numbers of `clock_gettime`, TSC_CODE or
            ARM_COUNTER_CODE; the first is the reference, which
            reads in ns. They are ignored where the caller takes the readings.
        drift: float64, one a clock: D, how far its rate may be from the reference's, ns per ns.
        extra_ns: int64, one a clock: added to every half-width (the ticks, rounding).
        tries: sweeps per snapshot, 1 or more.
    """

    cdef int32_t[::1] codes
    cdef double[::1] drift
    cdef int64_t[::1] extra
    cdef int64_t tries
    cdef Py_ssize_t m

    def __cinit__(self, codes, drift, extra_ns, int64_t tries):
        self.codes = np.array(codes, dtype=np.int32)
        self.drift = np.array(drift, dtype=np.float64)
        self.extra = np.array(extra_ns, dtype=np.int64)
        self.m = self.codes.shape[0]
        if not (
            1 <= self.m <= MOST and self.drift.shape[0] == self.m and self.extra.shape[0] == self.m
        ):
            raise ValueError("one drift and one extra for each of 1 to 64 clocks")
        if tries < 1:
            raise ValueError("one try or more")
        self.tries = tries

    @property
    def reads(self):
        """How many readings a snapshot takes."""
        return self.tries * (2 * self.m - 1)

    def fill(self, int64_t[:, ::1] readings, int64_t[:, ::1] centre_ns, int64_t[:, ::1] half_ns):
        """Take a snapshot for each row; columns are the clocks.

        readings: ns, or ticks of the time stamp counter. centre_ns: the middle of each bracket
        less the reference's reading. half_ns: half its width, stretched by D, and the extra;
        -1 where the reference went back in all of that clock's brackets. Of the reference: 0, 0.

        Returns the index of a clock that cannot be read, or -1.
        """
        return self.take(readings, centre_ns, half_ns, None)

    def fill_from(
        self, const int64_t[:, ::1] taken,
        int64_t[:, ::1] readings, int64_t[:, ::1] centre_ns, int64_t[:, ::1] half_ns,
    ):
        """As `fill`, with readings that the caller has taken: a row of `reads` for each snapshot."""
        if taken.shape[0] != readings.shape[0] or taken.shape[1] != self.reads:
            raise ValueError("readings have a row of so many reads for each snapshot")
        return self.take(readings, centre_ns, half_ns, taken)

    def group(
        self, int64_t[:, ::1] readings, int64_t[::1] deviation_ns, const int64_t[:, ::1] taken=None
    ):
        """Read all together, once between two readings of the reference; the best of the tries.

        deviation_ns: how far apart any two of the readings can be, ns of the reference: the width
        of the bracket; -1 if the reference went back in all tries. readings: the
        reference's first. `taken` holds m + 1 readings a try.

        Returns as `fill`.
        """
        cdef Py_ssize_t row, n = readings.shape[0]
        cdef int64_t failed = OK
        if readings.shape[1] != self.m or deviation_ns.shape[0] != n:
            raise ValueError("a column for each clock, a deviation for each row")
        if taken is not None and (
            taken.shape[0] != n or taken.shape[1] != self.tries * (self.m + 1)
        ):
            raise ValueError("readings have a row of tries x (clocks + 1) for each snapshot")
        with nogil:
            for row in range(n):
                failed = self.together(
                    NULL if taken is None else &taken[row, 0], &readings[row, 0], &deviation_ns[row]
                )
                if failed != OK:
                    break
        return failed

    cdef take(
        self, int64_t[:, ::1] readings, int64_t[:, ::1] centre_ns, int64_t[:, ::1] half_ns,
        const int64_t[:, ::1] taken,
    ):
        cdef Py_ssize_t row, n = readings.shape[0]
        cdef int64_t failed = OK
        if not (
            readings.shape[1] == centre_ns.shape[1] == half_ns.shape[1] == self.m
            and centre_ns.shape[0] == n and half_ns.shape[0] == n
        ):
            raise ValueError("a row for each snapshot, a column for each clock")
        if n == 0:
            return OK
        cdef int64_t *own = NULL
        if taken is None:
            # Allocated for each call: threads may share a kernel.
            own = <int64_t *>malloc(self.tries * (2 * self.m - 1) * sizeof(int64_t))
            if own == NULL:
                raise MemoryError
        with nogil:
            for row in range(n):
                if own != NULL:
                    failed = self.read_sweeps(own)
                    if failed != OK:
                        break
                self.select(
                    &taken[row, 0] if own == NULL else own,
                    &readings[row, 0], &centre_ns[row, 0], &half_ns[row, 0],
                )
            free(own)
        return failed

    cdef void select(
        self, const int64_t *taken, int64_t *readings, int64_t *centre, int64_t *half
    ) noexcept nogil:
        """Select the best bracket of each clock from a row of sweeps."""
        cdef Py_ssize_t i, m = self.m
        cdef int64_t trial, width, span, middle, apart, bound, error, nearest, least = -1
        cdef int64_t size = 2 * m - 1
        cdef const int64_t *a
        # The reference's own reading is that of the shortest sweep.
        for trial in range(self.tries):
            a = taken + trial * size
            span = a[size - 1] - a[0]
            if trial == 0 or (span >= 0 and (least < 0 or span < least)):
                least = span
                readings[0] = a[0]
        centre[0] = half[0] = 0
        for i in range(1, m):
            readings[i] = centre[i] = 0
            half[i] = -1
            least = nearest = -1
            for trial in range(self.tries):
                a = taken + trial * size + 2 * i - 2
                width = a[2] - a[0]
                # A reference that is set back proves nothing; set forward, it makes a wide bracket.
                if width < 0:
                    continue
                middle = a[0] + (width >> 1) - readings[0]
                apart = -middle if middle < 0 else middle
                bound = (
                    width - (width >> 1) + <int64_t>ceil(<double>width * (self.drift[i] / 2.0))
                )
                error = bound + <int64_t>ceil(<double>apart * self.drift[i])
                if least < 0 or error < least or (error == least and apart < nearest):
                    least, nearest = error, apart
                    readings[i], centre[i], half[i] = a[1], middle, bound + self.extra[i]

    cdef int64_t read_sweeps(self, int64_t *a) noexcept nogil:
        """Take the sweeps; returns as `fill`."""
        cdef Py_ssize_t i
        cdef int64_t trial
        for trial in range(self.tries):
            if not read_clock(self.codes[0], a):
                return 0
            for i in range(1, self.m):
                if not read_clock(self.codes[i], a + 2 * i - 1):
                    return i
                if not read_clock(self.codes[0], a + 2 * i):
                    return 0
            a += 2 * self.m - 1
        return OK

    cdef int64_t together(
        self, const int64_t *taken, int64_t *readings, int64_t *deviation
    ) noexcept nogil:
        """The group form: A, B1, B2, ..., A."""
        cdef Py_ssize_t i, m = self.m
        cdef int64_t trial, width
        cdef int64_t a[MOST + 1]
        deviation[0] = -1
        for trial in range(self.tries):
            for i in range(m + 1):
                if taken != NULL:
                    a[i] = taken[trial * (m + 1) + i]
                elif not read_clock(self.codes[i if i < m else 0], &a[i]):
                    return i if i < m else 0
            width = a[m] - a[0]
            if width >= 0 and (deviation[0] < 0 or width < deviation[0]):
                deviation[0] = width
                for i in range(m):
                    readings[i] = a[i]
        return OK


cdef class Lag:
    """How far a coarse clock has lagged behind the fine one that it follows.

    Args:
        fine, coarse: int32 numbers of `clock_gettime`.

    Attributes:
        least_ns: at some moment the lag was at most this; INT64_MAX before the first reading.
        most_ns: at some moment it was at least this; INT64_MIN before the first reading.
    """

    cdef int32_t fine, coarse
    cdef readonly int64_t least_ns, most_ns
    cdef bint ended

    def __cinit__(self, int32_t fine, int32_t coarse):
        self.fine, self.coarse = fine, coarse
        self.least_ns, self.most_ns = INT64_MAX, INT64_MIN
        self.ended = False

    def observe(self, int64_t times):
        """Read both so often, one after the other; whether they could be read."""
        cdef bint fine = True
        cdef int64_t i
        with nogil:
            for i in range(times):
                if not self.read():
                    fine = False
                    break
        return fine

    def watch(self, int64_t rest_ns):
        """Read them repeatedly, with so much rest between, until another thread calls `end`."""
        with nogil:
            while not self.ended and self.read():
                sleep_ns(rest_ns)

    def end(self):
        """End `watch`."""
        self.ended = True

    def add(self, int64_t before_ns, int64_t coarse_ns, int64_t after_ns):
        """Add one reading of the coarse clock, between two of the fine one."""
        self.update(before_ns, coarse_ns, after_ns)

    cdef bint read(self) noexcept nogil:
        cdef int64_t before, coarse, after
        if not (
            read_clock(self.fine, &before)
            and read_clock(self.coarse, &coarse)
            and read_clock(self.fine, &after)
        ):
            return False
        self.update(before, coarse, after)
        return True

    cdef void update(self, int64_t before, int64_t coarse, int64_t after) noexcept nogil:
        # These bounds hold however long it took from one reading to the next.
        self.most_ns = max(self.most_ns, before - coarse)
        self.least_ns = min(self.least_ns, after - coarse)
