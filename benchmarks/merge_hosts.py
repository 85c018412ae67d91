"""Two hosts that exchange messages, merged: the truth is known, for both are this machine.

    python -m benchmarks.merge_hosts [--seconds 60] [--rate 100] [--seed 1]

Two processes record. One reads MONOTONIC_RAW; the other a clock that is a known function of it,
7 s ahead, whose rate changes every few seconds by up to 50 ppm, and a wall clock that is 8 ms
ahead. They send each other datagrams over loopback, through a relay that delays 30 % of them there
and 60 % back by a lognormal time, in the middle 100 us, with sigma 1.5, and never sleeps. A message
is received when the kernel stamps it. The files are merged with --match. For comparison they are
merged by their wall clocks, as if these were equal. Other work on the machine delays messages, and
one way more than the other: its load is printed. Exits with 1 where a row misses its bar.
"""

from __future__ import annotations

import argparse
import contextlib
import heapq
import multiprocessing
import os
import select
import socket
import struct
import sys
import tempfile
import time
from bisect import bisect_right
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from benchmarks.table import Table
from tracetime import ClockDomain, ClockId, Snapshot, record
from tracetime.graph.tube.bars import Bars
from tracetime.merging.joined import JoinedTraces

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from simulated import Clock, Machine, Taken

Values = npt.NDArray[np.int64]

OWN, WALL = ClockId.parse("BOOTTIME"), ClockId.parse("REALTIME")
AHEAD_NS: Final = 7_000_000_000
WALL_AHEAD_NS: Final = 8_000_000
MOST_CHANGE_PPM: Final = 50.0
LASTS_S: Final = 7.0
LOADS: Final = (0.3, 0.6)
"""Of how many messages each way the queues make the way longer."""

MEDIAN_NS: Final = 100_000
SIGMA: Final = 1.5
MATCH: Final = "send=send recv=receive key=message"
APART: Final = "a.pftrace,b.pftrace"
INSTANTS: Final = 20_000
MOST_ERROR_NS: Final = 5_000
TIMES_BETTER: Final = 10
S: Final = 1_000_000_000

_SO_TIMESTAMPNS: Final = 35
_STAMP: Final = struct.Struct("@ll")
_ANCILLARY: Final = 64


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

    def now(self) -> int:
        """What it reads now."""
        return self.at(_raw())

    def at(self, raw: int) -> int:
        """What it reads when MONOTONIC_RAW reads raw: as `read`, but quick."""
        at = max(bisect_right(self.raw_ns, raw) - 1, 0)
        since = raw - int(self.raw_ns[at])
        return int(self.own_ns[at]) + since + round(since * float(self.ppm[at]) * 1e-6)


def _urgent() -> None:
    """Let this process run before others, where it may: they would delay messages."""
    with contextlib.suppress(AttributeError, PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def _raw() -> int:
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)


class Host(Machine):
    """A sampler of a host: its own clock, and its wall clock."""

    def __init__(self, clock: Rates, wall_ahead_ns: int) -> None:
        super().__init__([Clock(ClockDomain("BOOTTIME")), Clock(ClockDomain("REALTIME"))])
        self._clock, self._wall_ahead_ns = clock, wall_ahead_ns

    def sample(self) -> Taken:
        before, wall, after = self._clock.now(), time.time_ns(), self._clock.now()
        half = (after - before) // 2 + 3
        snapshot = Snapshot(
            {OWN: before, WALL: wall + self._wall_ahead_ns},
            reference=OWN,
            half_width_ns={WALL: half},
            centre_ns={WALL: (after - before) // 2},
        )
        return Taken(snapshot, {}, {}, None)


def host(
    path: str, parity: int, clock: Rates, end_ns: int, ports: tuple[int, int], rate: float
) -> None:
    """Send messages through the relay and record them, until the end.

    Args:
        parity: 0 or 1: which host. Its messages have numbers of this parity.
        ports: of this host and of the relay.
        rate: messages a second.
    """
    _urgent()
    rng = np.random.default_rng(1_000 + parity)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link,
        record(path, interval=1.0, sampler=Host(clock, WALL_AHEAD_NS * parity)) as rec,
    ):
        link.bind(("127.0.0.1", ports[0]))
        link.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        number, due = parity, _raw()
        while (now := _raw()) < end_ns:
            if now >= due:
                data, sent = number.to_bytes(8, "big"), clock.now()
                link.sendto(data, ("127.0.0.1", ports[1]))
                rec.instant("send", timestamp=sent, clock="BOOTTIME", message=number)
                number += 2
                due += int(rng.exponential(1 / rate) * S)
            if select.select([link], [], [], max(0.0, (due - now) / S))[0]:
                data, came_in = _received(link)
                number_got = int.from_bytes(data, "big")
                got = clock.at(came_in)
                rec.instant("receive", timestamp=got, clock="BOOTTIME", message=number_got)


def _received(link: socket.socket) -> tuple[bytes, int]:
    """A message, and MONOTONIC_RAW when it came in: the kernel stamps it by REALTIME."""
    data, [(_, _, stamp)], _, _ = link.recvmsg(8, _ANCILLARY)
    seconds, ns = _STAMP.unpack(stamp)
    # REALTIME first: so a stamp becomes no earlier than it was.
    now_ns, raw_ns = time.time_ns(), _raw()
    return data, raw_ns - (now_ns - seconds * S - ns)


def relay(port: int, hosts: tuple[int, int], end_ns: int, seed: int) -> None:
    """Pass each message on to the other host, later."""
    _urgent()
    rng = np.random.default_rng(seed)
    waiting: list[tuple[int, bytes]] = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", port))
        while (now := _raw()) < end_ns:
            while waiting and waiting[0][0] <= now:
                _, data = heapq.heappop(waiting)
                link.sendto(data, ("127.0.0.1", hosts[1 - data[-1] % 2]))
            # It never sleeps: to wake takes 50 us and more, which no network takes.
            if select.select([link], [], [], 0)[0]:
                data = link.recv(8)
                slow = rng.random() < LOADS[data[-1] % 2]
                delay = int(rng.lognormal(np.log(MEDIAN_NS), SIGMA)) if slow else 0
                heapq.heappush(waiting, (_raw() + delay, data))


def _ports() -> list[int]:
    links = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(3)]
    for link in links:
        link.bind(("127.0.0.1", 0))
    ports = [int(link.getsockname()[1]) for link in links]
    for link in links:
        link.close()
    return ports


def recorded(
    folder: Path, seconds: float, rate: float, seed: int
) -> tuple[list[Path], Rates, tuple[int, int]]:
    """The files of both hosts, the clock of the second, and between which raw times they were."""
    begin = _raw() + S
    end = begin + int(seconds * S)
    clocks = Rates.same(), Rates.drawn(np.random.default_rng(seed), begin, seconds)
    paths = [folder / "a.pftrace", folder / "b.pftrace"]
    here, there, between = _ports()
    run = multiprocessing.get_context("spawn").Process
    passing = run(target=relay, args=(between, (here, there), end + S, seed))
    hosts = [
        run(target=host, args=(str(path), parity, clock, end, (port, between), rate / 2))
        for parity, (path, clock, port) in enumerate(zip(paths, clocks, (here, there), strict=True))
    ]
    for one in (passing, *hosts):
        one.start()
    for one in (*hosts, passing):
        one.join()
        if one.exitcode:
            raise SystemExit(f"a process of this benchmark ended with {one.exitcode}")
    return paths, clocks[1], (begin, end)


def rows(table: Table, seconds: float, rate: float, seed: int) -> None:
    """Record, merge and compare."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        paths, clock, (begin, end) = recorded(Path(folder), seconds, rate, seed)
        load = max(load, os.getloadavg()[0])
        truth = np.random.default_rng(seed).integers(begin + S, end, INSTANTS)
        with JoinedTraces(paths, match=[MATCH], different=[APART]) as joined:
            n = sum(tie.ties for tie in joined.ties)
            outside = {}
            for bars in ("guaranteed", "estimated"):
                estimate, outside[bars], half = _placed(joined, clock.read(truth), truth, bars)
        wall = "a.pftrace:REALTIME=b.pftrace:REALTIME+0ms+-20ms"
        with JoinedTraces(paths, sync=[wall], different=[APART]) as joined:
            by_wall, _, _ = _placed(joined, clock.read(truth), truth, "estimated")
    what = f"{n:,} messages in {seconds:.0f} s, seed {seed}, load {load:.1f} of {cores} cores"
    table.row(
        f"{what}: {INSTANTS:,} instants",
        "truth inside every bar",
        f"outside {outside['estimated']} estimated, {outside['guaranteed']} guaranteed; bar "
        f"+- {half / 1e3:,.1f} us (median)",
        not any(outside.values()),
    )
    error = float(np.median(np.abs(estimate)))
    bar = f"median <= {MOST_ERROR_NS / 1e3:.0f} us"
    got = f"median {error / 1e3:,.2f} us, worst {np.abs(estimate).max() / 1e3:,.1f} us"
    table.row("the same, error", bar, got, error <= MOST_ERROR_NS)
    naive = float(np.median(np.abs(by_wall)))
    table.row(
        "the same, against equal wall clocks",
        f"median <= 1/{TIMES_BETTER}",
        f"{naive / 1e3:,.0f} us by wall clocks: 1/{naive / error:,.0f}",
        error * TIMES_BETTER <= naive,
    )


def _placed(
    joined: JoinedTraces, reads: Values, truth: Values, bars: Bars
) -> tuple[Values, int, float]:
    """How far estimates are off, how many truths are outside, and half the bar in the middle."""
    got = joined.graph.convert(
        reads, joined.home(1), joined.home(0), policy="tube", bars=bars, bounds=True
    )
    outside = int(((got.earliest > truth) | (truth > got.latest)).sum())
    return got.estimate - truth, outside, float(np.median(got.latest - got.earliest)) / 2


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--rate", type=float, default=100.0, help="messages a second, both ways")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    table = Table()
    rows(table, options.seconds, options.rate, options.seed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
