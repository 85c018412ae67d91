"""What the RemoteClockSync messages of a trace bound, by clock: see
`_kernels/perfetto/clocks/remote.pxi`, and `clocks/snapshot_extensions.pxi` for what is recorded of
the rounds themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.clocks import ExchangeRounds, RemoteSyncs
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.graph.adding import add_pings_of_many
from tracetime.graph.graph import Graph
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.trace.notes import Note

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_HOST: Final = 0
"""The number of the machine that the service runs on, to which the others are clients."""

ClockOf = Callable[[tuple[int, int, int, int]], ClockId]
"""What (clock, sequence, file, machine) is in a graph."""


def bounds_between(syncs: RemoteSyncs, clock_of: ClockOf) -> Between:
    """The bounds, for a graph."""
    grouped = _Grouped(syncs.bounds())
    hosts = {clock: clock_of((clock, 0, 0, _HOST)) for clock in set(grouped.clocks)}
    pairs = [
        (hosts[clock], clock_of((clock, 0, 0, machine)))
        for clock, machine in zip(grouped.clocks, grouped.machines, strict=True)
    ]
    return Between(pairs, Boxes(*grouped.rows), grouped.ends, syncs.snapshots_worked_out())


def unused_bounds(syncs: RemoteSyncs, clock_of: ClockOf) -> Iterator[Note]:
    """Yield the readings that bound nothing, by clock of the client."""
    if not syncs.unused_bounds().size:
        return
    unused, used = _Grouped(syncs.unused_bounds()), _Grouped(syncs.bounds())
    counts = np.diff(used.ends, prepend=0).tolist()
    n_used = dict(zip(zip(used.clocks, used.machines, strict=True), counts, strict=True))
    begins = [0, *unused.ends.tolist()][:-1]
    sums, packets = np.add.reduceat(unused.rows[0], begins), unused.rows[1, begins]
    found = zip(unused.clocks, unused.machines, sums.tolist(), packets.tolist(), strict=True)
    for clock, n, used_too, packet in sorted(
        (clock_of((clock, 0, 0, machine)), n, n_used.get((clock, machine), 0), packet)
        for clock, machine, n, packet in found
    ):
        values = {"unused": n, "used": used_too}
        yield Note("machine-sync-unusable", packets=(packet,), clocks=(clock,), values=values)


def add_rounds(graph: Graph, rounds: ExchangeRounds) -> None:
    """Add two orders for each recorded round: sent and received, replied and returned.

    They are ns: a clock that the file, or the caller, has count otherwise is left out.
    """
    table = rounds.table()
    if not table.size:
        return
    other = {info.clock for info in graph.clocks() if info.unit_ns != 1}
    declared = graph.state.domains
    other |= {clock for clock, domain in declared.items() if not _counts_ns(domain)}
    here = ClockId(_BOOTTIME, machine=_HOST)
    clients = {machine: ClockId(_BOOTTIME, machine=machine) for machine in set(table[0].tolist())}
    fit = sorted(machine for machine, clock in clients.items() if clock not in other)
    table = table[:, np.isin(table[0], fit)]
    if here in other or not table.size:
        return
    there, which = [clients[machine] for machine in fit], np.searchsorted(fit, table[0])
    add_pings_of_many(graph, here, there, which, table[1:])


def _counts_ns(domain: ClockDomain) -> bool:
    return domain.ns_per_tick in (None, 1) and domain.valid_bits == 64


class _Grouped:
    """The rows of a table that begins with clocks and machines, by these as they first appear.

    Attributes:
        clocks, machines: of each group.
        rows: the other ones of the table, those of one group together.
        ends: where those of each group end.
    """

    def __init__(self, table: npt.NDArray[np.int64]) -> None:
        keys = table[0] | table[1] << 32
        _, firsts, group = np.unique(keys, return_index=True, return_inverse=True)
        appear = np.argsort(firsts)
        group = np.argsort(appear)[group]
        self.clocks, self.machines = table[:2, firsts[appear]].tolist()
        self.rows = table[2:, np.argsort(group, kind="stable")]
        self.ends = np.cumsum(np.bincount(group, minlength=len(firsts)))
