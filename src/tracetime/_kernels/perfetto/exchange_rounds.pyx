# cython: boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The rounds of exchanges with other machines, as the extension of a RemoteClockSync has them.

Content and meaning: docs/tracetime_extension.proto, `rounds_ns`.
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free

import numpy as np

from tracetime._kernels.common.encode cimport unzigzag
from tracetime._kernels.common.memory cimport grow
from tracetime._kernels.common.wire cimport (
    BYTES, Field, Span, nothing, read_field, read_varint, span_of,
)
from tracetime._kernels.perfetto.extension cimport MOST_BITS
from tracetime._kernels.perfetto.fields cimport EXT_ROUNDS_NS

cdef enum:
    MOST_ROUNDS = 64                # of one exchange
    # Rates of two clocks differ by no more than a thousandth (twice 500 ppm).
    STEADY = 999
    TICKS_NS = 4

# BOOTTIME of 36 years: sums below cannot overflow.
cdef int64_t LATEST_NS = <int64_t>1 << 60


cdef inline bint can_be(const ExchangeRound *one) noexcept nogil:
    """Whether neither clock runs back, and the client kept it no longer than it took."""
    cdef int64_t away, kept
    if not (
        0 <= one.sent_ns < LATEST_NS and 0 <= one.received_ns < LATEST_NS
        and 0 <= one.replied_ns < LATEST_NS and 0 <= one.returned_ns < LATEST_NS
    ):
        return False
    away = one.returned_ns - one.sent_ns
    kept = one.replied_ns - one.received_ns
    return away >= 0 and 0 <= kept <= away + away / STEADY + TICKS_NS


cdef class ExchangeRounds:
    """The rounds of all exchanges so far."""

    def __dealloc__(self):
        free(self.rounds)

    cdef bint take(
        self, Span extension, uint32_t machine, int64_t client_ns, int64_t host_ns
    ) except -1 nogil:
        """Keep the rounds of an extension: all of them, or none where one makes no sense.

        client_ns, host_ns: BOOTTIME of both in the first round of its packet.
        """
        cdef const uint8_t *at = extension.data
        cdef Span packed = nothing()
        cdef Field f
        cdef ExchangeRound *one
        cdef int64_t n = 0
        while at < extension.end:
            at = read_field(at, extension.end, &f)
            if at == NULL:
                return False
            if f.number == EXT_ROUNDS_NS and f.wire == BYTES:
                packed = span_of(&f)
        if not (0 <= client_ns < LATEST_NS and 0 <= host_ns < LATEST_NS):
            return False
        while packed.data < packed.end:
            if n == MOST_ROUNDS:
                return False
            grow(
                <void **>&self.rounds, &self.capacity, self.n + n + 1, sizeof(ExchangeRound)
            )
            one = &self.rounds[self.n + n]
            one.machine = machine
            if not self.read_round(&packed, one, client_ns, host_ns):
                return False
            n += 1
        self.n += n
        return n > 0

    cdef bint read_round(
        self, Span *packed, ExchangeRound *one, int64_t client_ns, int64_t host_ns
    ) noexcept nogil:
        """Read the next four numbers of an array; False where they are no round."""
        cdef int64_t most = <int64_t>1 << MOST_BITS
        cdef int64_t[4] numbers
        cdef uint64_t value
        cdef int i
        for i in range(4):
            packed.data = read_varint(packed.data, packed.end, &value)
            if packed.data == NULL:
                return False
            numbers[i] = unzigzag(value)
            if not -most <= numbers[i] <= most:
                return False
        one.sent_ns = host_ns + numbers[0]
        one.received_ns = client_ns + numbers[1]
        one.replied_ns = one.received_ns + numbers[2]
        one.returned_ns = one.sent_ns + numbers[3]
        return can_be(one)

    def table(self):
        """int64[5, n], in file order: the client's machine, sent, received, replied, returned;
        ns of BOOTTIME of the host, the client, the client, and the host.
        """
        cdef int64_t i
        table = np.empty((5, self.n), dtype=np.int64)
        cdef int64_t[:, ::1] out = table
        for i in range(self.n):
            out[0, i] = self.rounds[i].machine
            out[1, i] = self.rounds[i].sent_ns
            out[2, i] = self.rounds[i].received_ns
            out[3, i] = self.rounds[i].replied_ns
            out[4, i] = self.rounds[i].returned_ns
        return table
