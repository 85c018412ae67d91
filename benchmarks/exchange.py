"""What an exchange costs: python -m benchmarks.exchange [--fuzzed 1000000]

A real server process on loopback, with and without a key. CPU time of the server a round, by one
client that sends one request at a time and by several at once; how wide the bar is and how far its
estimate is off, which is known: both sides read one clock. Then hostile datagrams: random bytes,
and requests of which some bytes are changed, cut off or added; between them a round, which shows
that the server has read those before. Exits with 1 where a row misses its bar.
"""

from __future__ import annotations

import argparse
import os
import re
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from random import Random
from typing import Final, NamedTuple

from benchmarks.table import Table
from tracetime.hosts.addresses import resolve
from tracetime.hosts.messages import LENGTH, write_request
from tracetime.hosts.ping import ping
from tracetime.hosts.rounds import Rounds
from tracetime.hosts.servers import Responder
from tracetime.hosts.transports import UdpTransport

ROUNDS: Final = 20_000
CLIENTS: Final = 8
PINGS: Final = 20
AT_ONCE: Final = 100
"""Hostile datagrams before a round: fewer than a socket's buffer holds."""

LEAST_ROUNDS: Final = 20_000
MOST_HALF_NS: Final = 10_000
MOST_ERROR_NS: Final = 2_000
MOST_GROWTH_KB: Final = 256


class Server(NamedTuple):
    """A server's address, its process, and the key."""

    address: str
    pid: int
    key: bytes | None
    key_file: str | None

    def cpu_s(self) -> float:
        """CPU time so far, s."""
        return int(Path(f"/proc/{self.pid}/schedstat").read_text().split()[0]) / 1e9

    def memory_kb(self) -> int:
        """Memory that it has in RAM, kB."""
        found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.pid}/status").read_text())
        assert found is not None
        return int(found[1])


@contextmanager
def serving(with_key: bool) -> Iterator[Server]:
    """Start a server."""
    command = [sys.executable, "-m", "tracetime", "serve", "--bind", "127.0.0.1:0"]
    command += ["--per-second", "1000000"]
    with ExitStack() as stack:
        key = key_file = None
        if with_key:
            key = os.urandom(24).hex().encode()
            file = stack.enter_context(tempfile.NamedTemporaryFile())
            file.write(key)
            file.flush()
            key_file = file.name
            command += ["--key-file", key_file]
        process = stack.enter_context(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        stack.callback(process.terminate)
        assert process.stderr is not None
        found = re.match(r"replying on (\S+);", process.stderr.readline())
        assert found is not None
        yield Server(found[1], process.pid, key, key_file)


def without_sockets() -> float:
    """CPU time of a reply, s: the bytes alone."""
    responder, request = Responder(), write_request(bytes(16))
    start = time.process_time()
    for k in range(ROUNDS):
        nonce = responder.take(request, "here", k)
        assert nonce is not None
        responder.reply(nonce, k, k, None)
    return (time.process_time() - start) / ROUNDS


def one_at_a_time(server: Server) -> tuple[float, float]:
    """Rounds a second, and a second of the server's CPU time."""
    rounds = Rounds(server.key)
    with closing(UdpTransport(server.address)) as transport:
        start, before = time.monotonic(), server.cpu_s()
        for _ in range(ROUNDS):
            transport.exchange(rounds.request(), rounds.take, 1.0)
        return ROUNDS / (time.monotonic() - start), ROUNDS / (server.cpu_s() - before)


def several_at_once(server: Server) -> float:
    """Rounds a second of the server's CPU time; a client sends again when it has its reply."""
    family, place = resolve(server.address)[0]
    request = write_request(os.urandom(16), server.key)
    with ExitStack() as stack:
        links = [
            stack.enter_context(socket.socket(family, socket.SOCK_DGRAM)) for _ in range(CLIENTS)
        ]
        poll = select.poll()
        for link in links:
            link.connect(place)
            poll.register(link, select.POLLIN)
        by_number = {link.fileno(): link for link in links}
        before, replied = server.cpu_s(), 0
        for link in links:
            link.send(request)
        while replied < ROUNDS:
            for number, _ in poll.poll(1000):
                by_number[number].recv(LENGTH)
                by_number[number].send(request)
                replied += 1
        return replied / (server.cpu_s() - before)


def speed(table: Table, server: Server) -> None:
    """The rows of speed, and of how good a bar is."""
    signed = "signed" if server.key else "not signed"
    a_second, a_core = one_at_a_time(server)
    bar = f">= {LEAST_ROUNDS:,} a second of CPU time"
    for what, got in (
        (f"one request at a time, {signed}; {a_second:,.0f} rounds a second", a_core),
        (f"{CLIENTS} clients at once, {signed}", several_at_once(server)),
    ):
        table.row(f"server, {what}", bar, f"{got:,.0f}", got >= LEAST_ROUNDS)
    found = [ping(server.address, key_file=server.key_file) for _ in range(PINGS)]
    half = sorted(one.half_width_ns for one in found)
    error = max(abs(one.offset_ns) for one in found)
    inside = all(one.earliest_ns <= 0 <= one.latest_ns for one in found)
    table.row(
        f"ping, {signed}, load {os.getloadavg()[0]:.1f}",
        f"bar <= +-{MOST_HALF_NS / 1e3:.0f} us, error <= {MOST_ERROR_NS / 1e3:.0f} us",
        f"+-{half[PINGS // 2]:,} ns (median), {half[-1]:,} (worst); error {error:,} ns (worst)",
        inside and half[PINGS // 2] <= MOST_HALF_NS and error <= MOST_ERROR_NS,
    )


def hostile(random: Random, request: bytes, signed: bool) -> bytes:
    """Bytes that are no request of who has the key."""
    while True:
        data = bytearray(request if random.random() < 0.8 else random.randbytes(LENGTH))
        for _ in range(random.randint(1, 4)):
            data[random.randrange(LENGTH)] ^= random.randint(1, 255)
        if random.random() < 0.2:
            data = data[: random.randrange(LENGTH)] + random.randbytes(random.randrange(100))
        # Without a key another nonce makes another request.
        nonce = data[8:24] if not signed and len(data) == LENGTH else request[8:24]
        if data != request[:8] + nonce + request[24:]:
            return bytes(data)


def fuzz(table: Table, server: Server, n: int) -> None:
    """The row of hostile datagrams."""
    family, place = resolve(server.address)[0]
    random, request = Random(1), write_request(os.urandom(16), server.key)
    some = [hostile(random, request, server.key is not None) for _ in range(10_007)]
    answers, lost, before = 0, 0, 0
    with closing(socket.socket(family, socket.SOCK_DGRAM)) as link:
        link.connect(place)
        link.settimeout(1.0)
        for k in range(0, n, AT_ONCE):
            if k == n // 10 // AT_ONCE * AT_ONCE:
                before = server.memory_kb()
            for i in range(k, k + AT_ONCE):
                link.send(some[i % len(some)])
            link.send(request)
            try:
                answers += link.recv(LENGTH)[8:24] != request[8:24]
            except TimeoutError:
                lost += 1
        link.settimeout(0.1)
        try:
            while True:
                link.recv(LENGTH)
                answers += 1
        except TimeoutError:
            pass
    grown = server.memory_kb() - before
    table.row(
        f"{n:,} hostile datagrams, {'signed' if server.key else 'not signed'}",
        f"none answered, memory grows by <= {MOST_GROWTH_KB} kB",
        f"{answers} answered, {grown} kB; {lost} of {n // AT_ONCE:,} rounds between lost",
        not answers and not lost and grown <= MOST_GROWTH_KB,
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--fuzzed", type=int, default=1_000_000, help="hostile datagrams")
    options = parser.parse_args()
    table = Table()
    table.note("replies as bytes alone, a second of CPU time", f"{1 / without_sockets():,.0f}")
    for with_key in (False, True):
        with serving(with_key) as server:
            speed(table, server)
            fuzz(table, server, options.fuzzed)
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
