"""RemoteClockSync: what two machines' clocks read at one instant, from pings between them.

After ProtoTraceReader::ParseRemoteClockSync and CalculateClockOffsets
(src/trace_processor/importers/proto/proto_trace_reader.cc). Client readings come first, then the
host's, then the client's again: neighbouring rounds make two round trips. Perfetto takes the mean
of what their middles say. Here is, too, what they bound, however long either way took: where the
one machine's clock stood while the other's was read.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from tracetime.clocks import BUILTIN_IDS, ClockId
from tracetime.errors import TraceError
from tracetime.graph.between import LONGEST_NS, Between, Boxes
from tracetime.snapshot import INT64_MAX, INT64_MIN

ROUNDS_APART_NS: Final = 30_000_000_000
_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_UINT64: Final = (1 << 64) - 1

_MAY_STAND: Final = frozenset(BUILTIN_IDS[name] for name in ("REALTIME_COARSE", "MONOTONIC_COARSE"))
_MAY_FALL: Final = frozenset(BUILTIN_IDS[name] for name in ("REALTIME", "REALTIME_COARSE"))
# What a clock that may be set is held against: the first goes on while the machine sleeps, too.
_STEADY: Final = tuple(BUILTIN_IDS[name] for name in ("BOOTTIME", "MONOTONIC", "MONOTONIC_RAW"))
_Span = tuple[int, int]

_SLEWED: Final = 1000
"""Clocks of one machine gain no more than a thousandth on each other (twice 500 ppm)."""


class Bound(NamedTuple):
    """Where a clock stood on both machines at one instant, ns, both ends included.

    Attributes:
        clock: its number.
        round: of the client's rounds, the second of the two that bound it.
    """

    clock: int
    round: int
    host: tuple[int, int]
    client: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sync:
    """One RemoteClockSync.

    Attributes:
        client_rounds: the client's readings of each round.
        instants: (clock, host, client) by Perfetto's mean.
        bounds: what its rounds bound.
        unused: by clock, how many of them do not: a clock fell from one round to the next, or
            stood still.
    """

    client_rounds: list[list[tuple[int, int]]] = field(default_factory=list)
    instants: list[tuple[int, int, int]] = field(default_factory=list)
    bounds: list[Bound] = field(default_factory=list)
    unused: dict[int, int] = field(default_factory=dict)


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
    _bound(message.synced_clocks, sync)
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


def _bound(rounds: Iterable[Any], sync: Sync) -> None:
    """Note what neighbouring rounds bound, however far apart they are."""
    read = [(_once(one.client_clocks.clocks), _once(one.host_clocks.clocks)) for one in rounds]
    found: dict[int, list[Bound]] = {}
    wrong: set[tuple[int, int]] = set()
    for number, ((client1, host1), (client2, host2)) in enumerate(pairwise(read), 1):
        for clock in host1.keys() & client2.keys():
            host, client = _point(host1[clock]), _point(client2[clock])
            spans: list[tuple[_Span | None, _Span | None]] = []
            if clock in client1:
                # The host was read after the client's first reading and before its second.
                spans.append((host, _span(clock, client1, client2)))
            if clock in host2:
                spans.append((_span(clock, host1, host2), client))
            for host_span, client_span in spans:
                if host_span is None or client_span is None:
                    wrong.add((clock, number))
                    host_span = client_span = (0, 0)
                bound = Bound(clock, number, host_span, client_span)
                found.setdefault(clock, []).append(bound)
    for clock, bounds in sorted(found.items()):
        for bound in bounds:
            # Nothing tells which of the readings is wrong: the rounds beside have them, too.
            if any((clock, bound.round + k) in wrong for k in (-1, 0, 1)):
                sync.unused[clock] = sync.unused.get(clock, 0) + 1
            else:
                sync.bounds.append(bound)


def _once(clocks: Iterable[Any]) -> dict[int, int]:
    """The readings of one machine in a round; 0 is none, and of two of one clock neither counts."""
    found: dict[int, int] = {}
    for clock in clocks:
        found[clock.clock_id] = 0 if clock.clock_id in found else _signed(clock.timestamp)
    return {clock: reading for clock, reading in found.items() if reading}


def _point(reading: int) -> _Span:
    return reading, reading


def _span(clock: int, first: dict[int, int], second: dict[int, int]) -> _Span | None:
    """What a clock may have read between two rounds; None where its readings make no sense."""
    low, high = first[clock], second[clock]
    if low > high or (low == high and clock not in _MAY_STAND):
        return None
    steady = next((c for c in _STEADY if c in first and c in second), None)
    if clock in _MAY_FALL and steady is not None:
        # One that was set in between stood on the line of its first reading, or of its second.
        elapsed = second[steady] - first[steady]
        if 0 < elapsed < LONGEST_NS:
            elapsed += -(-elapsed // _SLEWED)
            low, high = min(low, high - elapsed), max(high, low + elapsed)
    fits = low >= INT64_MIN and high <= min(low + LONGEST_NS, INT64_MAX)
    return (low, high) if fits else None


class UnusedBounds(NamedTuple):
    """Readings of RemoteClockSync messages that bound nothing.

    Attributes:
        clock: on the client's machine.
        unused: how many bounds make no sense: a clock fell from one round to the next, or stood
            still.
        used: how many others there are.
        packet: of the first message with such.
    """

    clock: ClockId
    unused: int
    used: int
    packet: int


class RemoteBounds:
    """What the RemoteClockSync messages of a trace bound, gathered as it is read."""

    def __init__(self) -> None:
        # By (clock, machine of the client): rows of a snapshot's number, host and client spans.
        self._boxes: dict[tuple[int, int], array[int]] = {}
        self._unused: dict[tuple[int, int], tuple[int, int]] = {}
        self._worked_out = array("q")

    def add(
        self, sync: Sync, machine: int, packet: int, rounds: Sequence[int],
        instants: Mapping[int, int],
    ) -> None:  # fmt: skip
        """Take in a message of a machine.

        rounds, instants: the numbers of the snapshots that were made of its client_rounds, and by
        clock of its instants.
        """
        self._worked_out.extend(instants.values())
        if machine == _HOST:
            return
        for bound in sync.bounds:
            number = instants.get(bound.clock, rounds[bound.round])
            rows = self._boxes.setdefault((bound.clock, machine), array("q"))
            rows.extend((number, *bound.host, *bound.client))
        for clock, n in sync.unused.items():
            before, first = self._unused.get((clock, machine), (0, packet))
            self._unused[clock, machine] = before + n, first

    def between(self, clock_of: Callable[[tuple[int, int, int, int]], ClockId]) -> Between:
        """The bounds, for a graph; clock_of: what (clock, sequence, file, machine) is there."""
        boxes = {}
        for (clock, machine), rows in self._boxes.items():
            columns = np.array(rows, dtype=np.int64).reshape(-1, 5).T
            order = np.argsort(columns[0], kind="stable")
            host, client = (clock_of((clock, 0, 0, m)) for m in (_HOST, machine))
            boxes[host, client] = Boxes(*np.ascontiguousarray(columns[:, order]))
        return Between(boxes, self._worked_out)

    def unused(
        self, clock_of: Callable[[tuple[int, int, int, int]], ClockId]
    ) -> list[UnusedBounds]:
        """What bounds nothing, by clock of the client."""
        found = []
        for (clock, machine), (n, packet) in self._unused.items():
            used = len(self._boxes.get((clock, machine), ())) // 5
            found.append(UnusedBounds(clock_of((clock, 0, 0, machine)), n, used, packet))
        return sorted(found)


_HOST: Final = 0
"""The number of the machine that the service runs on, to which the others are clients."""


def _signed(value: int) -> int:
    """Reinterpret an unsigned 64-bit value as int64."""
    value &= _UINT64
    return value - (1 << 64) if value >> 63 else value


def _truncated(dividend: int, divisor: int) -> int:
    """Divide as C does, towards zero."""
    quotient = abs(dividend) // divisor
    return quotient if dividend >= 0 else -quotient
