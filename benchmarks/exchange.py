"""What an exchange costs: python -m benchmarks.exchange

A real server process on loopback. Rounds a second of one client, one request at a time; CPU time of
the server a round; how wide the bar is and how far its estimate is off, which is known: both sides
read one clock.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from tracetime.hosts.messages import write_request
from tracetime.hosts.ping import ping
from tracetime.hosts.responder import Responder
from tracetime.hosts.rounds import Rounds
from tracetime.hosts.transports import UdpTransport

ROUNDS = 20_000
PINGS = 20


@contextmanager
def serving() -> Iterator[tuple[str, int]]:
    """A server's address, and its process."""
    command = [sys.executable, "-m", "tracetime", "serve", "--bind", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--per-second", "1000000"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        found = re.match(r"replying on (\S+);", process.stderr.readline())
        assert found is not None
        try:
            yield found[1], process.pid
        finally:
            process.terminate()


def cpu_s(pid: int) -> float:
    """CPU time of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def without_sockets() -> float:
    """CPU time of a reply, s: the bytes alone."""
    responder, request = Responder(), write_request(bytes(16))
    start = time.process_time()
    for k in range(ROUNDS):
        nonce = responder.take(request, "here", k)
        assert nonce is not None
        responder.reply(nonce, k, k, None)
    return (time.process_time() - start) / ROUNDS


def main() -> None:
    print(f"replies as bytes alone: {1 / without_sockets():,.0f} a second of CPU time")
    with serving() as (address, pid), closing(UdpTransport(address)) as transport:
        rounds = Rounds()
        start, before = time.monotonic(), cpu_s(pid)
        for _ in range(ROUNDS):
            transport.exchange(rounds.request(), rounds.take, 1.0)
        took, used = time.monotonic() - start, cpu_s(pid) - before
        print(f"one at a time: {ROUNDS / took:,.0f} rounds a second")
        print(f"server: {ROUNDS / used:,.0f} rounds a second of CPU time")
        found = sorted(
            (one.half_width_ns, abs(one.offset_ns)) for one in (ping(address) for _ in range(PINGS))
        )
    print(f"half of the bar: {found[PINGS // 2][0]:,} ns (median), {found[-1][0]:,} (worst)")
    print(f"error: {max(error for _, error in found):,} ns (worst)")


if __name__ == "__main__":
    main()
