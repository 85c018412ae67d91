from libc.stdint cimport int64_t, uint32_t

from tracetime._kernels.common.wire cimport Span

# A request to a client and its reply; ns of the BOOTTIME of both.
cdef struct ExchangeRound:
    int64_t machine                 # of the client, its index
    int64_t sent_ns
    int64_t received_ns
    int64_t replied_ns
    int64_t returned_ns


cdef class ExchangeRounds:
    cdef ExchangeRound *rounds
    cdef int64_t n, capacity

    cdef bint take(
        self, Span extension, uint32_t machine, int64_t client_ns, int64_t host_ns
    ) except -1 nogil
    cdef bint read_round(
        self, Span *packed, ExchangeRound *one, int64_t client_ns, int64_t host_ns
    ) noexcept nogil
