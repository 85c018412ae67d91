"""RemoteClockSync: what two machines' clocks read at one instant, from pings between them.

After ProtoTraceReader::ParseRemoteClockSync and CalculateClockOffsets
(src/trace_processor/importers/proto/proto_trace_reader.cc). Client readings come first, then the
host's, then the client's again: neighbouring rounds make two round trips.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from google.protobuf.message import DecodeError

from tracetime.clocks import BUILTIN_IDS
from tracetime.errors import TraceError

ROUNDS_APART_NS: Final = 30_000_000_000
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_UINT64: Final = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class Sync:
    """One RemoteClockSync: the client's readings of each round, and (clock, host, client) pairs."""

    client_rounds: list[list[tuple[int, int]]] = field(default_factory=list)
    instants: list[tuple[int, int, int]] = field(default_factory=list)


def read_sync(payload: bytes, offset: int, packet: int) -> Sync:
    """Work out a RemoteClockSync message.

    Raises:
        TraceError: it cannot be parsed.
    """
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import RemoteClockSync

    message = RemoteClockSync()
    try:
        message.ParseFromString(payload)
    except DecodeError as error:
        raise TraceError("a RemoteClockSync cannot be parsed", offset, packet) from error
    sync = Sync()
    rounds: list[dict[int, tuple[int, int]]] = []
    for synced in message.synced_clocks:
        host = {clock.clock_id: clock.timestamp for clock in synced.host_clocks.clocks}
        client = {clock.clock_id: clock.timestamp for clock in synced.client_clocks.clocks}
        rounds.append(
            {clock: (host.get(clock, 0), client.get(clock, 0)) for clock in host | client}
        )
        sync.client_rounds.append(
            [(clock.clock_id, _signed(clock.timestamp)) for clock in synced.client_clocks.clocks]
        )
    anchors = {clock: host for readings in rounds for clock, (host, _) in readings.items() if host}
    for clock, offsets in sorted(_offsets(rounds).items()):
        mean = _truncated(_signed(sum(offsets)), len(offsets))
        anchor = anchors[clock]
        sync.instants.append((clock, _signed(anchor), _signed(anchor + mean)))
    return sync


def _offsets(rounds: list[dict[int, tuple[int, int]]]) -> dict[int, list[int]]:
    offsets: dict[int, list[int]] = {}
    for first, second in pairwise(rounds):
        elapsed = second.get(_BOOTTIME, (0, 0))[1] - first.get(_BOOTTIME, (0, 0))[1]
        if elapsed & _UINT64 >= ROUNDS_APART_NS:
            continue
        for clock, (host1, client1) in first.items():
            host2, client2 = second.get(clock, (0, 0))
            if host1 and client1 and host2 and client2:
                offsets.setdefault(clock, []).extend(
                    (
                        _signed(_truncated(_signed(client1 + client2), 2) - host1),
                        _signed(client2 - _truncated(_signed(host1 + host2), 2)),
                    )
                )
    return offsets


def _signed(value: int) -> int:
    """Reinterpret an unsigned 64-bit value as int64."""
    value &= _UINT64
    return value - (1 << 64) if value >> 63 else value


def _truncated(dividend: int, divisor: int) -> int:
    """Divide as C does, towards zero."""
    quotient = abs(dividend) // divisor
    return quotient if dividend >= 0 else -quotient
