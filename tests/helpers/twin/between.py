"""What the rounds of a RemoteClockSync bound: plain and slow, one round after the other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from .wire import INT64_MAX, INT64_MIN, signed

LONGEST_NS = 1 << 55
SLEWED = 1000
REALTIME, REALTIME_COARSE, MONOTONIC, MONOTONIC_COARSE, MONOTONIC_RAW, BOOTTIME = range(1, 7)
MAY_STAND = {REALTIME_COARSE, MONOTONIC_COARSE}
MAY_FALL = {REALTIME, REALTIME_COARSE}
STEADY = (BOOTTIME, MONOTONIC, MONOTONIC_RAW)

Clocks = Sequence[tuple[int, int]]
Span = tuple[int, int]


class Bound(NamedTuple):
    """Where a clock stood on both machines at one instant; of the client's rounds, the second."""

    clock: int
    round: int
    host: Span
    client: Span


def bounds_of(rounds: Sequence[tuple[Clocks, Clocks]]) -> tuple[list[Bound], dict[int, int]]:
    """The bounds that make sense, and by clock how many do not.

    rounds: (clock, reading) of the client and of the host.
    """
    read = [(once(client), once(host)) for client, host in rounds]
    found: dict[int, list[Bound]] = {}
    wrong: set[tuple[int, int]] = set()
    for number, ((client1, host1), (client2, host2)) in enumerate(pairwise(read), 1):
        for clock in host1.keys() & client2.keys():
            host, client = (host1[clock],) * 2, (client2[clock],) * 2
            spans: list[tuple[Span | None, Span | None]] = []
            if clock in client1:
                spans.append((host, span(clock, client1, client2)))
            if clock in host2:
                spans.append((span(clock, host1, host2), client))
            for one, other in spans:
                if one is None or other is None:
                    wrong.add((clock, number))
                bound = Bound(clock, number, one or (0, 0), other or (0, 0))
                found.setdefault(clock, []).append(bound)
    used, unused = [], {}
    for clock, bounds in sorted(found.items()):
        for bound in bounds:
            if any((clock, bound.round + k) in wrong for k in (-1, 0, 1)):
                unused[clock] = unused.get(clock, 0) + 1
            else:
                used.append(bound)
    return used, unused


def once(clocks: Clocks) -> dict[int, int]:
    """By clock what was read of it; 0 is nothing, and of two of one clock neither counts."""
    found: dict[int, int] = {}
    for clock, reading in clocks:
        found[clock] = 0 if clock in found else signed(reading)
    return {clock: reading for clock, reading in found.items() if reading}


def span(clock: int, first: dict[int, int], second: dict[int, int]) -> Span | None:
    low, high = first[clock], second[clock]
    if low > high or (low == high and clock not in MAY_STAND):
        return None
    steady = next((c for c in STEADY if c in first and c in second), None)
    if clock in MAY_FALL and steady is not None:
        elapsed = second[steady] - first[steady]
        if 0 < elapsed < LONGEST_NS:
            elapsed += -(-elapsed // SLEWED)
            low, high = min(low, high - elapsed), max(high, low + elapsed)
    fits = low >= INT64_MIN and high <= min(low + LONGEST_NS, INT64_MAX)
    return (low, high) if fits else None
