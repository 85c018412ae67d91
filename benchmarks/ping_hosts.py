"""Two hosts of which one pings the other: the truth is known, for both are this machine.

    python -m benchmarks.ping_hosts [--seconds 600] [--pause 0.1] [--seed 1]

Two network namespaces are joined by a veth pair; where they cannot be made, all is on loopback, and
the row says so. `UdpServer` replies in one, and `Pinging` asks from the other, through the relay of
benchmarks.relayed_hosts, with its clocks. What either side reads of BOOTTIME, the kernel's stamps
included, becomes MONOTONIC_RAW within a bracket; the server's clock is a known function of that.

The same packets are read in five ways, at 20,000 instants: by the tube of the rounds, and by that
of the trace that `tracetime ping -o` writes; by Perfetto's mean, of two rounds of each burst, as
its own relay writes them, and of that trace; and by the fastest round of each burst alone, whose
middle is taken for the offset, with a straight line to the next. Exits with 1 where a row misses
its bar.
"""

from __future__ import annotations

import argparse
import os
import socket
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks.namespaces import Side, joined_namespaces
from benchmarks.relayed_hosts import (
    Placed,
    Rates,
    S,
    Values,
    free_ports,
    pass_on,
    placed,
    raw_ns,
    run_together,
)
from benchmarks.table import Table
from tracetime import open_trace
from tracetime.graph.tube.results import Bars
from tracetime.hosts.messages import bracket
from tracetime.hosts.ping import HERE, THERE, Pinging, graph_of
from tracetime.hosts.recording import write_exchanges
from tracetime.hosts.rounds import Exchange, Round
from tracetime.hosts.servers import Responder, UdpServer
from tracetime.hosts.transports import TimedReply, Transport, UdpTransport

KEY: Final = b"a key of the benchmark, no secret"
PORTS: Final = (9010, 9011)
MOST_STEERED: Final = 0.0005
"""How much faster BOOTTIME may be than MONOTONIC_RAW: the most that NTP steers."""

INSTANTS: Final = 20_000
TIMES_BETTER: Final = 5
BARS: Final[tuple[Bars, ...]] = ("guaranteed", "estimated")
OF: Final = ("rounds", "trace")


class Options(NamedTuple):
    """What the command says."""

    seconds: float
    pause: float
    seed: int


class Raw(NamedTuple):
    """MONOTONIC_RAW at an instant, at the earliest and the latest."""

    earliest_ns: int
    latest_ns: int

    @classmethod
    def at(cls, boottime_ns: int) -> Raw:
        """When BOOTTIME read so: a little while ago."""
        now = bracket(time.CLOCK_MONOTONIC_RAW)
        steered = int((now.at_ns - boottime_ns) * MOST_STEERED) + 1
        return cls(boottime_ns - now.high_ns - steered, boottime_ns - now.low_ns + steered)


class RawTransport:
    """To the other side, by MONOTONIC_RAW of this one."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.close = transport.close
        self.rounds: list[Round] = []

    def exchange(self, request: bytes, take: Any, timeout_s: float) -> TimedReply | None:
        made = self._transport.exchange(request, take, timeout_s)
        if made is None:
            return None
        sent, returned = Raw.at(made.sent_ns), Raw.at(made.returned_ns)
        here = sent.earliest_ns, returned.latest_ns
        self.rounds.append(Round(here[0], made.reply.received_ns, made.reply.replied_ns, here[1]))
        return TimedReply(made.reply, *here)


class DriftingResponder(Responder):
    """Replies with readings of a clock that is a function of MONOTONIC_RAW."""

    def __init__(self, clock: Rates, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self._clock = clock

    def reply(
        self, nonce: bytes, received_ns: int, replied_ns: int, before: tuple[bytes, int] | None
    ) -> bytes | None:
        received = self._clock.at(Raw.at(received_ns).latest_ns)
        replied = self._clock.at(Raw.at(replied_ns).earliest_ns)
        if before is not None:
            before = before[0], self._clock.at(Raw.at(before[1]).earliest_ns)
        return super().reply(nonce, received, replied, before)


class Place(NamedTuple):
    """Where a process of the benchmark runs: a namespace or none, and the addresses."""

    side: Side | None
    server: tuple[str, int]
    relay: tuple[str, int]

    def enter(self) -> None:
        if self.side is not None:
            self.side.enter()


def serve(place: Place, clock: Rates, end_ns: int) -> None:
    """Reply until the end."""
    place.enter()
    with patch("tracetime.hosts.servers.Responder", partial(DriftingResponder, clock)):
        server = UdpServer("{}:{}".format(*place.server), KEY, 1_000_000)
    with closing(server):
        threading.Thread(target=server.serve, daemon=True).start()
        time.sleep((end_ns - raw_ns()) / S)


def relay(place: Place, end_ns: int, seed: int) -> None:
    """Pass requests on to the server, and its replies to who sent the last request."""
    place.enter()
    client: list[Any] = [None]

    def target(_: bytes, sender: Any) -> tuple[int, Any]:
        if sender == place.server:
            return 1, client[0]
        client[0] = sender
        return 0, place.server

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.bind(place.relay)
        pass_on(link, target, end_ns, np.random.default_rng(seed), sleeps=True)


def ask(place: Place, folder: Path, pause_s: float, end_ns: int) -> None:
    """Make bursts until the end, and write what came of them."""
    place.enter()
    transport = RawTransport(UdpTransport("{}:{}".format(*place.relay)))
    pairs = []
    with closing(transport):
        pinging = Pinging(transport, KEY)
        while raw_ns() < end_ns:
            n = len(transport.rounds)
            pinging.burst()
            pairs.append(transport.rounds[n : n + 2])
            time.sleep(pause_s)
    write_exchanges(folder / "ping.pftrace", pinging.rounds.exchanges, "server")
    # The side that replies is Perfetto's client, and reads its clock when it sends.
    plain = [
        Exchange(one.replied_ns, one.returned_ns, other.replied_ns, other.returned_ns)
        for one, other in (pair for pair in pairs if len(pair) == 2)
    ]
    write_exchanges(folder / "perfetto.pftrace", plain, "server")
    np.save(folder / "rounds.npy", np.array(pinging.rounds.kept, np.int64))


def recorded(folder: Path, sides: tuple[Side, Side] | None, options: Options) -> Rates:
    """Run all; returns the server's clock."""
    begin = raw_ns() + S
    end = begin + int(options.seconds * S)
    clock = Rates.drawn(np.random.default_rng(options.seed), begin, options.seconds)
    if sides is None:
        server, between = (("127.0.0.1", port) for port in free_ports(2))
        here = there = Place(None, server, between)
    else:
        server, between = ((sides[1].address, port) for port in PORTS)
        here, there = (Place(side, server, between) for side in sides)
    run_together(
        [
            (serve, (there, clock, end + 2 * S)),
            (relay, (there, end + 2 * S, options.seed)),
            (ask, (here, folder, options.pause, end)),
        ]
    )
    return clock


def fastest_alone(rounds: Values, reads: Values) -> Values:
    """What this machine reads, by the middles of the rounds and the lines between them."""
    here, there = (rounds[:, 0] + rounds[:, 3]) // 2, (rounds[:, 1] + rounds[:, 2]) // 2
    ahead = there - here
    since = np.interp(reads - there[0], there - there[0], ahead - ahead[0])
    return reads - ahead[0] - np.rint(since).astype(np.int64)


def compare(table: Table, what: str, folder: Path, clock: Rates, seed: int) -> None:
    """Place the instants in each way, and say how far off they are."""
    rounds = np.load(folder / "rounds.npy")
    truth = np.random.default_rng(seed).integers(rounds[0, 3] + S, rounds[-1, 0], INSTANTS)
    reads = clock.read(truth)
    pinged = graph_of([Round(*made) for made in rounds.tolist()])
    with open_trace(folder / "ping.pftrace") as trace:
        tubes = {
            (of, bars): placed(graph, (THERE, HERE), reads, truth, bars)
            for of, graph in (("rounds", pinged), ("trace", trace.clocks))
            for bars in BARS
        }
    means = {}
    for name in ("perfetto", "ping"):
        with open_trace(folder / f"{name}.pftrace") as trace:
            means[name] = _error(trace.clocks.convert(reads, THERE, HERE) - truth)
    alone = _error(fastest_alone(rounds, reads) - truth)
    table.row(
        f"{what}: {INSTANTS:,} instants",
        "truth inside every bar",
        "; ".join(_says(of, tubes[of, "guaranteed"], tubes[of, "estimated"]) for of in OF),
        not sum(one.outside for one in tubes.values()),
    )
    for of in OF:
        ours = tubes[of, "estimated"]
        median_ns = ours.median_ns
        got = f"{median_ns / 1e3:,.2f} us, worst {ours.worst_ns / 1e3:,.1f} us; "
        perfetto = means["ping"]
        table.row(
            f"the tube of the {of}, error, against Perfetto's mean of that trace",
            f"median <= 1/{TIMES_BETTER}",
            f"{got}{perfetto / 1e3:,.2f} us: 1/{perfetto / median_ns:,.1f}",
            median_ns * TIMES_BETTER <= perfetto,
        )
        table.row(
            f"the tube of the {of}, error, against the fastest rounds alone",
            "median <= theirs",
            f"{got}{alone / 1e3:,.2f} us",
            median_ns <= alone,
        )
    plain = f"median {means['perfetto'] / 1e3:,.2f} us"
    table.note("Perfetto's mean of two rounds of each burst, error", plain)


def _error(off_ns: Values) -> float:
    return float(np.median(np.abs(off_ns)))


def _says(of: str, guaranteed: Placed, estimated: Placed) -> str:
    return (
        f"{of}: outside {guaranteed.outside} guaranteed, {estimated.outside} estimated, "
        f"+- {guaranteed.half_ns / 1e3:,.1f} and {estimated.half_ns / 1e3:,.1f} us (median)"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--pause", type=float, default=0.1, help="seconds between bursts")
    parser.add_argument("--seed", type=int, default=1)
    options = Options(**vars(parser.parse_args()))
    table = Table()
    with tempfile.TemporaryDirectory() as name:
        folder, load = Path(name), os.getloadavg()[0]
        with ExitStack() as stack:
            try:
                sides = stack.enter_context(joined_namespaces())
            except OSError as error:
                table.note("network namespaces", str(error))
                sides = None
            clock = recorded(folder, sides, options)
        load = max(load, os.getloadavg()[0])
        what = (
            f"{options.seconds:.0f} s over {'veth' if sides else 'loopback'}, a burst each "
            f"{options.pause:g} s, seed {options.seed}, load {load:.1f} of {os.cpu_count()} cores"
        )
        compare(table, what, folder, clock, options.seed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
