"""Datagrams with the kernel's stamps, and clocks read one between two readings of another.

What is received is foreign: at most so many bytes of it are kept, and nothing here looks into them.
What the kernel says beside them is checked against its length.
"""

import os

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int32_t, int64_t, uint32_t

cdef extern from "common/posix_clock.h":
    bint posix "tt_posix"(int32_t clock, int64_t *out) nogil

cdef extern from "hosts/datagrams.h":
    enum: EINVAL
    enum: EINTR
    enum: MSG_DONTWAIT
    enum: MSG_ERRQUEUE
    enum: TT_MOST_BYTES
    ctypedef struct tt_datagram:
        int64_t stamp_ns
        uint32_t number
        bint departed
        uint32_t source_bytes
        unsigned char *source
        unsigned char *data
    int tt_receive(int fd, uint32_t most, int flags, tt_datagram *out) nogil
    int tt_send(int fd, const void *data, size_t n, const void *to, uint32_t to_bytes) nogil
    int tt_was_set(int timer) nogil


def read_between(int32_t clock, int32_t other):
    """Read another clock between two readings of a clock.

    Args:
        clock, other: numbers of `clock_gettime`.

    Returns:
        the three readings, ns.

    Raises:
        OSError: the system does not have one of them.
    """
    cdef int64_t before = 0, there = 0, after = 0
    if not (posix(clock, &before) and posix(other, &there) and posix(clock, &after)):
        raise failure(-EINVAL)
    return before, there, after


def was_set(int timer):
    """Whether a timer of the wall clock (timerfd_create(2)) says that it was set since the last call.
    """
    return tt_was_set(timer) != 0


cdef class Datagrams:
    """What comes in and leaves by a datagram socket; for one thread at a time.

    Args:
        fd: of the socket, which stays the caller's.
        clock: number of `clock_gettime`; its readings are taken beside.
        most: bytes of a datagram that are kept, 1 to 2,048.

    Raises:
        OSError: the system does not have the clock.
    """

    cdef int fd
    cdef int32_t clock
    cdef uint32_t most
    cdef tt_datagram got

    def __cinit__(self, int fd, int32_t clock, uint32_t most):
        cdef int64_t read_ns
        if not 1 <= most <= TT_MOST_BYTES:
            raise ValueError("1 to 2,048 bytes of a datagram are kept")
        if not posix(clock, &read_ns):
            raise failure(-EINVAL)
        self.fd, self.clock, self.most = fd, clock, most

    def receive(self):
        """Wait for a datagram, where the socket blocks.

        Returns:
            its first bytes; REALTIME ns when it came in by the kernel's stamp, None without one; a
            reading after, ns; who sent it, as the system writes addresses.

        Raises:
            OSError: as recvmsg(2).
        """
        cdef int64_t read_ns = 0
        cdef int n
        while True:
            with nogil:
                n = tt_receive(self.fd, self.most, 0, &self.got)
                posix(self.clock, &read_ns)
            if n != -EINTR:
                break
            PyErr_CheckSignals()
        if n < 0:
            raise failure(n)
        return (
            PyBytes_FromStringAndSize(<char *>self.got.data, n),
            self.got.stamp_ns or None,
            read_ns,
            PyBytes_FromStringAndSize(<char *>self.got.source, self.got.source_bytes),
        )

    def send(self, const unsigned char[::1] data not None, const unsigned char[::1] source not None):
        """Send a datagram to who sent another; returns a reading after, ns.

        Raises:
            OSError: as sendto(2).
        """
        cdef int64_t read_ns = 0
        cdef int failed
        if not data.shape[0] or not source.shape[0]:
            raise ValueError("a datagram has bytes, and who gets it an address")
        with nogil:
            failed = tt_send(
                self.fd, &data[0], <size_t>data.shape[0], &source[0], <uint32_t>source.shape[0]
            )
            posix(self.clock, &read_ns)
        if failed:
            raise failure(failed)
        return read_ns

    def departures(self, int most):
        """What the kernel says of datagrams that left, without waiting.

        Args:
            most: so many, and no more, at once.

        Returns:
            (number, REALTIME ns) each: which datagram of the socket, from 0 on modulo 2^32.
        """
        cdef list found = []
        while len(found) < most and tt_receive(
            self.fd, 0, MSG_ERRQUEUE | MSG_DONTWAIT, &self.got
        ) >= 0:
            if self.got.departed and self.got.stamp_ns:
                found.append((self.got.number, self.got.stamp_ns))
        return found

    def close(self):
        """Have every later call fail: the socket is closed, and its number may be another's."""
        self.fd = -1


cdef object failure(int failed):
    return OSError(-failed, os.strerror(-failed))
