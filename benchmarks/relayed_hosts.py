"""Hosts whose clocks are known, and the relay between them: what benchmarks of hosts share.

All run on this machine, each in a process of its own. One reads MONOTONIC_RAW, the other a clock
that is a known function of it, 7 s ahead, whose rate changes every few seconds by up to 50 ppm. The
relay delays 30 % of the datagrams there and 60 % back by a lognormal time, in the middle 100 us,
with sigma 1.5.
"""

from __future__ import annotations

import contextlib
import heapq
import multiprocessing
import os
import select
import socket
import time
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime import ClockGraph, ClockId
from tracetime.graph.tube.results import Bars

Values = npt.NDArray[np.int64]

AHEAD_NS: Final = 7_000_000_000
MOST_CHANGE_PPM: Final = 50.0
LASTS_S: Final = 7.0
LOADS: Final = (0.3, 0.6)
"""Of how many datagrams each way the queues make the way longer."""

MEDIAN_NS: Final = 100_000
SIGMA: Final = 1.5
SPUN_NS: Final = 500_000
MOST_BYTES: Final = 1500
S: Final = 1_000_000_000


def raw_ns() -> int:
    """Read MONOTONIC_RAW."""
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Rates(NamedTuple):
    """A clock as a function of MONOTONIC_RAW: knots, what it reads there, and its rate after."""

    raw_ns: Values
    own_ns: Values
    ppm: npt.NDArray[np.float64]

    @classmethod
    def same(cls) -> Rates:
        """MONOTONIC_RAW itself."""
        return cls(np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(1))

    @classmethod
    def drawn(cls, rng: np.random.Generator, begin_ns: int, seconds: float) -> Rates:
        """Changes of rate by up to 50 ppm, from before the begin to after the end."""
        lasts = rng.uniform(0.5, 1.5, int(seconds / LASTS_S) + 4) * LASTS_S * S
        raw = begin_ns - 5 * S + np.concatenate([[0], np.cumsum(lasts)]).astype(np.int64)
        ppm = rng.uniform(-MOST_CHANGE_PPM / 2, MOST_CHANGE_PPM / 2, len(raw))
        gained = np.rint(np.diff(raw) * ppm[:-1] * 1e-6).astype(np.int64)
        ahead = AHEAD_NS + np.concatenate([[0], np.cumsum(gained)])
        return cls(raw, raw + ahead, ppm)

    def read(self, raw_ns: Values) -> Values:
        """What it reads when MONOTONIC_RAW reads raw_ns, int64."""
        at = np.maximum(np.searchsorted(self.raw_ns, raw_ns, side="right") - 1, 0)
        since = raw_ns - self.raw_ns[at]
        return self.own_ns[at] + since + np.rint(since * self.ppm[at] * 1e-6).astype(np.int64)

    def at(self, raw_ns: int) -> int:
        """As `read`, of one reading, but quick."""
        at = max(bisect_right(self.raw_ns, raw_ns) - 1, 0)
        since = raw_ns - int(self.raw_ns[at])
        return int(self.own_ns[at]) + since + round(since * float(self.ppm[at]) * 1e-6)

    def now(self) -> int:
        """What it reads now."""
        return self.at(raw_ns())


def urgent() -> None:
    """Let this process run before others, where it may: they would delay datagrams."""
    with contextlib.suppress(AttributeError, PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def pass_on(
    link: socket.socket,
    target: Callable[[bytes, Any], tuple[int, Any]],
    end_ns: int,
    rng: np.random.Generator,
    *,
    sleeps: bool,
) -> None:
    """Pass each datagram on, later, until MONOTONIC_RAW reads `end_ns`.

    Args:
        link: where they come in and leave.
        target: says of a datagram and its sender which way it goes, 0 or 1, and to what address.
        end_ns: the end.
        rng: of the delays.
        sleeps: while no datagram is on its way. To wake takes 50 us and more, as no network does.
    """
    urgent()
    waiting: list[tuple[int, bytes, Any]] = []
    while (now := raw_ns()) < end_ns:
        while waiting and waiting[0][0] <= now:
            _, data, address = heapq.heappop(waiting)
            link.sendto(data, address)
        # A sleep is late by the slack of timers, 50 us: the last of it is spun.
        wait = waiting[0][0] - now - SPUN_NS if waiting else S // 10
        if select.select([link], [], [], max(0, wait) / S if sleeps else 0)[0]:
            data, sender = link.recvfrom(MOST_BYTES)
            way, address = target(data, sender)
            slow = rng.random() < LOADS[way]
            delay = int(rng.lognormal(np.log(MEDIAN_NS), SIGMA)) if slow else 0
            heapq.heappush(waiting, (raw_ns() + delay, data, address))


class Placed(NamedTuple):
    """What came of converting instants whose truth is known, ns.

    Attributes:
        median_ns, worst_ns: how far the estimates are off.
        outside: so many bars do not hold the truth.
        half_ns: half of a bar, the median.
    """

    median_ns: float
    worst_ns: int
    outside: int
    half_ns: float


def placed(
    graph: ClockGraph,
    ends: tuple[ClockId, ClockId],
    reads: Values,
    truth: Values,
    bars: Bars = "estimated",
) -> Placed:
    """Convert readings of the first of two clocks to the second, which read `truth` then."""
    got = graph.convert(reads, *ends, policy="tube", bars=bars, bounds=True)
    off = np.abs(got.estimate - truth)
    outside = int(((got.earliest > truth) | (truth > got.latest)).sum())
    half = float(np.median(got.latest - got.earliest)) / 2
    return Placed(float(np.median(off)), int(off.max()), outside, half)


def free_ports(n: int) -> list[int]:
    """Ports of 127.0.0.1 that nobody has."""
    links = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(n)]
    for link in links:
        link.bind(("127.0.0.1", 0))
    ports = [int(link.getsockname()[1]) for link in links]
    for link in links:
        link.close()
    return ports


def run_together(calls: Sequence[tuple[Callable[..., None], tuple[Any, ...]]]) -> None:
    """Call each function in a process of its own, and wait for all; exits where one fails."""
    run = multiprocessing.get_context("spawn").Process
    processes = [run(target=function, args=given) for function, given in calls]
    try:
        for one in processes:
            one.start()
        for one in processes:
            one.join()
            if one.exitcode:
                raise SystemExit(f"a process of this benchmark ended with {one.exitcode}")
    finally:
        for one in processes:
            if one.is_alive():
                one.kill()
