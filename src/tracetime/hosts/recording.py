"""The rounds of a ping as a trace: a RemoteClockSync an exchange.

Each packet has two rounds and no more, the second sent when the first is back: Perfetto pairs all
neighbouring rounds of a packet, and those of two exchanges would say what held between them. This
machine is the host, for its events need no conversion then; the other one is the client, machine 1:

    client c1   it replies to a request          host h1   that reply is back, and
    client c2   it receives the next request     host h2   the reply to that is back

so that c1, h1, c2, h2 happened in this order. By Perfetto's rule the client is off by no more than
a quarter of h2 - h1 + c2 - c1, half of the mean round.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from tracetime._kernels.perfetto import packets
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.hosts.epochs import boottime_ns
from tracetime.hosts.rounds import Exchange
from tracetime.sources.boot import boot_id

CLIENT: Final = 1
"""The machine_id of the other side."""

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_SEQUENCE: Final = 1


def write_exchanges(path: str | os.PathLike[str], exchanges: Iterable[Exchange], host: str) -> None:
    """Write exchanges with one other side as a Perfetto trace.

    Args:
        path: of the file; it appears when it is whole.
        exchanges: in the order in which they were made.
        host: what the other side is called.

    Raises:
        UsageError: the file cannot be written.
    """
    made = list(exchanges)
    first_ns = made[0].h1_ns if made else boottime_ns()
    with whole_file(file_target(path)) as part, part.open("wb") as file:
        boot = boot_id()
        if boot:
            file.write(packets.boot_packet(boot))
        file.write(packets.snapshot_packet(_SEQUENCE, _BOOTTIME, [(_BOOTTIME, first_ns, 1)], b""))
        file.write(packets.machine_packet(CLIENT, host))
        for c1, h1, c2, h2 in made:
            file.write(packets.remote_sync_packet(CLIENT, _BOOTTIME, [(c1, h1), (c2, h2)]))
