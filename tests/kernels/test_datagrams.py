"""Datagrams and their stamps, against Python's sockets; nothing foreign is read past its end."""

from __future__ import annotations

import os
import signal
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from platforms import LINUX

from tracetime._kernels.hosts import Datagrams, read_between, was_set
from tracetime.hosts.stamps import _ASKED, _SO_TIMESTAMPING

S = 1_000_000_000
MOST = 97
STAMPS = struct.Struct("@llllll")
FAMILIES = [(socket.AF_INET, "127.0.0.1")]
if Path("/proc/net/if_inet6").exists():
    FAMILIES.append((socket.AF_INET6, "::1"))


class Ends:
    """A socket that asks for stamps, and one that sends to it."""

    def __init__(self, family: int, host: str, *, stamps: bool = True) -> None:
        self.here, self.there = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        for sock in (self.here, self.there):
            sock.bind((host, 0))
        if stamps:
            self.here.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPING, _ASKED)
        self.there.connect(self.here.getsockname())
        self.here.setblocking(False)
        self.datagrams = Datagrams(self.here.fileno(), time.CLOCK_MONOTONIC, MOST)

    def close(self) -> None:
        self.here.close()
        self.there.close()


@pytest.fixture(params=FAMILIES, ids=lambda of: of[1])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    with closing(Ends(*request.param)) as made:
        yield made


def as_python_reads(sock: socket.socket) -> tuple[bytes, int | None]:
    """The datagram that comes next, which stays, and its stamp."""
    data, ancillary, _, _ = sock.recvmsg(MOST, 512, socket.MSG_PEEK)
    for level, kind, stamps in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPING):
            seconds, ns, *_ = STAMPS.unpack(stamps)
            return data, seconds * S + ns
    return data, None


def port_of(source: bytes) -> int:
    return int.from_bytes(source[2:4], "big")


@LINUX
@given(st.lists(st.binary(max_size=3 * MOST), min_size=1, max_size=5))
def test_what_comes_in_is_what_python_receives(ends: Ends, sent: list[bytes]) -> None:
    for data in sent:
        ends.there.send(data)
    for data in sent:
        before = time.monotonic_ns()
        expected = as_python_reads(ends.here)
        got, stamp, read_ns, source = ends.datagrams.receive()
        assert (got, stamp) == expected == (data[:MOST], stamp)
        assert stamp is not None
        assert before <= read_ns <= time.monotonic_ns()
        assert port_of(source) == ends.there.getsockname()[1]


@LINUX
def test_departures_are_counted_and_stamped(ends: Ends) -> None:
    ends.there.send(b"request")
    source = ends.datagrams.receive()[3]
    assert ends.datagrams.departures(9) == []
    for _ in range(2):
        before = time.time_ns()
        ends.datagrams.send(b"reply", source)
        after = time.time_ns()
    assert [ends.there.recv(9) for _ in range(2)] == [b"reply"] * 2
    (first, one), (second, other) = ends.datagrams.departures(1) + ends.datagrams.departures(9)
    assert (first, second) == (0, 1)
    assert one <= before <= other <= after


def test_without_stamps_there_are_datagrams() -> None:
    with closing(Ends(*FAMILIES[0], stamps=False)) as ends:
        ends.there.send(b"request")
        data, stamp, _, source = ends.datagrams.receive()
        assert (data, stamp) == (b"request", None)
        assert ends.datagrams.send(b"reply", source) <= time.monotonic_ns()
        assert ends.there.recv(9) == b"reply"
        assert ends.datagrams.departures(9) == []


def test_errors_are_those_of_the_system() -> None:
    with closing(Ends(*FAMILIES[0], stamps=False)) as ends:
        with pytest.raises(BlockingIOError):
            ends.datagrams.receive()
        with pytest.raises(OSError, match="not supported|Invalid"):
            ends.datagrams.send(b"reply", b"\xff" * 28)
        for data, source in ((b"", b"\0" * 16), (b"reply", b"")):
            with pytest.raises(ValueError, match="has bytes"):
                ends.datagrams.send(data, source)
        ends.datagrams.close()
        with pytest.raises(OSError, match="Bad file descriptor"):
            ends.datagrams.receive()


@pytest.mark.parametrize("most", [0, 2049])
def test_so_many_bytes_are_kept(most: int) -> None:
    with pytest.raises(ValueError, match="1 to 2,048"):
        Datagrams(0, time.CLOCK_MONOTONIC, most)


def test_a_signal_ends_the_wait() -> None:
    class Told(Exception):
        pass

    def tell(*_: object) -> None:
        raise Told

    before = signal.signal(signal.SIGALRM, tell)
    try:
        with closing(Ends(*FAMILIES[0], stamps=False)) as ends:
            ends.here.setblocking(True)
            # Again and again: the first may come before the wait.
            signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
            with pytest.raises(Told):
                ends.datagrams.receive()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_clock_is_read_between_two_readings_of_another() -> None:
    readings = read_between(time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC)
    assert list(readings) == sorted(readings)
    before, real, after = time.time_ns(), read_between(1, time.CLOCK_REALTIME)[1], time.time_ns()
    assert before <= real <= after
    for call in (
        lambda: read_between(time.CLOCK_MONOTONIC, 1_000),
        lambda: Datagrams(0, 1_000, MOST),
    ):
        with pytest.raises(OSError, match="Invalid argument"):
            call()


@LINUX
def test_a_timer_says_once_that_the_clock_was_set() -> None:
    """It is readable then, like this counter."""
    told = os.eventfd(1, os.EFD_NONBLOCK)
    try:
        assert [was_set(told), was_set(told)] == [True, False]
    finally:
        os.close(told)
    assert was_set(told), "who cannot tell says so"
