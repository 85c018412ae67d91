"""Two hosts that exchange messages, merged: the truth is known, for both are this machine.

    python -m benchmarks.merge_hosts [--seconds 60] [--rate 100] [--seed 1]

Two processes record with the clocks of benchmarks.relayed_hosts; the wall clock of the second one
is 8 ms ahead. They send each other datagrams over loopback, through its relay, which never sleeps.
A message is received when the kernel stamps it. The files are merged with --match. For comparison
they are merged by their wall clocks, as if these were equal. Other work on the machine delays
messages, and one way more than the other: its load is printed. Exits with 1 where a row misses its
bar.
"""

from __future__ import annotations

import argparse
import os
import select
import socket
import struct
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import numpy as np

from benchmarks.relayed_hosts import (
    Rates,
    S,
    free_ports,
    pass_on,
    placed,
    raw_ns,
    run_together,
    urgent,
)
from benchmarks.table import Table
from tracetime import ClockDomain, ClockId, Snapshot, record
from tracetime.merging.merged_traces import MergedTraces

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from simulated import Clock, Machine, Taken

OWN, WALL = ClockId.parse("BOOTTIME"), ClockId.parse("REALTIME")
WALL_AHEAD_NS: Final = 8_000_000
MATCH: Final = "send=send recv=receive key=message"
APART: Final = "a.pftrace,b.pftrace"
INSTANTS: Final = 20_000
MOST_ERROR_NS: Final = 5_000
TIMES_BETTER: Final = 10

_SO_TIMESTAMPNS: Final = 35
_STAMP: Final = struct.Struct("@ll")
_ANCILLARY: Final = 64


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
    urgent()
    rng = np.random.default_rng(1_000 + parity)
    with (
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link,
        record(path, interval=1.0, sampler=Host(clock, WALL_AHEAD_NS * parity)) as rec,
    ):
        link.bind(("127.0.0.1", ports[0]))
        link.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        number, due = parity, raw_ns()
        while (now := raw_ns()) < end_ns:
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
    now_ns, here_ns = time.time_ns(), raw_ns()
    return data, here_ns - (now_ns - seconds * S - ns)


def relay(port: int, hosts: tuple[int, int], end_ns: int, seed: int) -> None:
    """Pass each message on to the other host: its number says whose it is."""

    def target(data: bytes, _: Any) -> tuple[int, Any]:
        sender = data[-1] % 2
        return sender, ("127.0.0.1", hosts[1 - sender])

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(("127.0.0.1", port))
        pass_on(link, target, end_ns, np.random.default_rng(seed), sleeps=False)


def recorded(
    folder: Path, seconds: float, rate: float, seed: int
) -> tuple[list[Path], Rates, tuple[int, int]]:
    """The files of both hosts, the clock of the second, and between which raw times they were."""
    begin = raw_ns() + S
    end = begin + int(seconds * S)
    clocks = Rates.same(), Rates.drawn(np.random.default_rng(seed), begin, seconds)
    paths = [folder / "a.pftrace", folder / "b.pftrace"]
    here, there, between = free_ports(3)
    sides = enumerate(zip(paths, clocks, (here, there), strict=True))
    run_together(
        [
            (relay, (between, (here, there), end + S, seed)),
            *(
                (host, (str(path), parity, clock, end, (port, between), rate / 2))
                for parity, (path, clock, port) in sides
            ),
        ]
    )
    return paths, clocks[1], (begin, end)


def rows(table: Table, seconds: float, rate: float, seed: int) -> None:
    """Record, merge and compare."""
    load, cores = os.getloadavg()[0], os.cpu_count() or 1
    with tempfile.TemporaryDirectory() as folder:
        paths, clock, (begin, end) = recorded(Path(folder), seconds, rate, seed)
        load = max(load, os.getloadavg()[0])
        truth = np.random.default_rng(seed).integers(begin + S, end, INSTANTS)
        with MergedTraces(paths, match=[MATCH], different=[APART]) as joined:
            n = sum(tie.ties for tie in joined.ties)
            ends, reads = (joined.home(1), joined.home(0)), clock.read(truth)
            guaranteed = placed(joined.clocks, ends, reads, truth, "guaranteed")
            ours = placed(joined.clocks, ends, reads, truth)
        wall = "a.pftrace:REALTIME=b.pftrace:REALTIME+0ms+-20ms"
        with MergedTraces(paths, sync=[wall], different=[APART]) as joined:
            by_wall = placed(joined.clocks, (joined.home(1), joined.home(0)), reads, truth)
    what = f"{n:,} messages in {seconds:.0f} s, seed {seed}, load {load:.1f} of {cores} cores"
    table.row(
        f"{what}: {INSTANTS:,} instants",
        "truth inside every bar",
        f"outside {ours.outside} estimated, {guaranteed.outside} guaranteed; bar "
        f"+- {ours.half_ns / 1e3:,.1f} us (median)",
        not ours.outside + guaranteed.outside,
    )
    error = ours.median_ns
    bar = f"median <= {MOST_ERROR_NS / 1e3:.0f} us"
    got = f"median {error / 1e3:,.2f} us, worst {ours.worst_ns / 1e3:,.1f} us"
    table.row("the same, error", bar, got, error <= MOST_ERROR_NS)
    naive = by_wall.median_ns
    table.row(
        "the same, against equal wall clocks",
        f"median <= 1/{TIMES_BETTER}",
        f"{naive / 1e3:,.0f} us by wall clocks: 1/{naive / error:,.0f}",
        error * TIMES_BETTER <= naive,
    )


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
