"""The rounds with other machines as packets of a trace: a RemoteClockSync an exchange.

Each packet has two rounds and no more, the second sent when the first is back: Perfetto pairs all
neighbouring rounds of a packet, and those of two exchanges would say what held between them. This
machine is the host, for its events need no conversion then; the other one is a client:

    client c1   it replies to a request          host h1   that reply is back, and
    client c2   it receives the next request     host h2   the reply to that is back

so that c1, h1, c2, h2 happened in this order. By Perfetto's rule the client is off by no more than
a quarter of h2 - h1 + c2 - c1, half of the mean round. What was measured is in the extension: the
readings of the rounds that bound the most.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Final

from tracetime._kernels.perfetto import packets
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.hosts.messages import boottime_ns, own_suspended_ns
from tracetime.hosts.rounds import Exchange
from tracetime.sources.posix import boot_id

CLIENT: Final = 1
"""The machine_id of the only other side."""

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_MONOTONIC: Final = BUILTIN_IDS["MONOTONIC"]
_SEQUENCE: Final = 1
_MOST_SUSPENDED_NS: Final = 1 << 60
"""A side may say anything; readers ignore more."""


def machine_packets(machine: int, name: str, boot: bytes, suspended_ns: int | None = None) -> bytes:
    """Return the packets that name a machine, and the boot its clock counts from.

    A machine of this very boot does not say so: its clock, as its own process read it, is kept
    apart from this process's.

    Args:
        machine: its machine_id.
        name: what it is called.
        boot: 16 bytes; empty or zero where that is not known.
        suspended_ns: how long it was suspended in that boot; None where that is not known.
    """
    named = packets.machine_packet(machine, name)
    if not any(boot) or boot == boot_id():
        return named
    if suspended_ns is not None and not 0 <= suspended_ns <= _MOST_SUSPENDED_NS:
        suspended_ns = None
    return named + packets.boot_packet(boot, machine, suspended_ns)


def exchange_packet(machine: int, made: Exchange) -> bytes:
    """Return the packet of an exchange with a machine, by its machine_id."""
    synced = [(made.c1_ns, made.h1_ns), (made.c2_ns, made.h2_ns)]
    return packets.remote_sync_packet(machine, _BOOTTIME, synced, [*made.rounds])


def write_exchanges(
    path: str | os.PathLike[str],
    exchanges: Iterable[Exchange],
    host: str,
    boot: bytes = b"",
    suspended_ns: int | None = None,
) -> None:
    """Write exchanges with one other side as a Perfetto trace.

    Args:
        path: of the file; it appears when it is whole.
        exchanges: in the order in which they were made.
        host: what the other side is called.
        boot: which boot its clock counts from; empty or zero where that is not known.
        suspended_ns: how long it was suspended in that boot; None where that is not known.

    Raises:
        UsageError: the file cannot be written.
    """
    made = list(exchanges)
    first_ns = made[0].h1_ns if made else boottime_ns()
    with whole_file(file_target(path)) as part, part.open("wb") as file:
        ours = boot_id()
        if ours:
            file.write(packets.boot_packet(ours))
        clocks = [(_BOOTTIME, first_ns, 1), (_MONOTONIC, first_ns - own_suspended_ns(), 1)]
        file.write(packets.snapshot_packet(_SEQUENCE, _BOOTTIME, clocks, b""))
        file.write(machine_packets(CLIENT, host, boot, suspended_ns))
        for one in made:
            file.write(exchange_packet(CLIENT, one))
