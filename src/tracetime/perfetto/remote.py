"""What the RemoteClockSync messages of a trace bound, by clock: see `_kernels/remote.pyx`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.remote import RemoteSyncs
from tracetime.clocks import ClockId
from tracetime.graph.between import Between, Boxes

_HOST: Final = 0
"""The number of the machine that the service runs on, to which the others are clients."""

ClockOf = Callable[[tuple[int, int, int, int]], ClockId]
"""What (clock, sequence, file, machine) is in a graph."""


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


def bounds_between(syncs: RemoteSyncs, clock_of: ClockOf) -> Between:
    """The bounds, for a graph."""
    boxes = {}
    for clock, machine, rows in _by_clock(syncs.bounds()):
        host, client = (clock_of((clock, 0, 0, m)) for m in (_HOST, machine))
        boxes[host, client] = Boxes(*rows)
    return Between(boxes, syncs.snapshots_worked_out())


def unused_bounds(syncs: RemoteSyncs, clock_of: ClockOf) -> list[UnusedBounds]:
    """What bounds nothing, by clock of the client."""
    unused = syncs.unused_bounds()
    if not unused.shape[1]:
        return []
    used = {(clock, machine): rows.shape[1] for clock, machine, rows in _by_clock(syncs.bounds())}
    return sorted(
        UnusedBounds(
            clock_of((clock, 0, 0, machine)), int(n.sum()), used.get((clock, machine), 0),
            int(packets[0]),
        )
        for clock, machine, (n, packets) in _by_clock(unused)
    )  # fmt: skip


def _by_clock(table: npt.NDArray[np.int64]) -> Iterator[tuple[int, int, npt.NDArray[np.int64]]]:
    """Clock, machine, and the other rows of a table that begins with these, as they appear."""
    order = np.lexsort(table[:2])
    table = table[:, order]
    keys, rows = table[:2], table[2:]
    starts = np.flatnonzero(np.diff(keys, axis=1, prepend=-1).any(axis=0))
    ends = np.append(starts[1:], keys.shape[1])
    appeared = np.argsort(order[starts])
    starts, ends = starts[appeared], ends[appeared]
    clocks, machines = keys[:, starts].tolist()
    for each in zip(clocks, machines, starts.tolist(), ends.tolist(), strict=True):
        clock, machine, start, end = each
        yield clock, machine, rows[:, start:end]
