"""Notes on the snapshots and messages of a Perfetto trace, known at its end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.clocks import ExchangeRounds, RemoteSyncs
from tracetime._kernels.perfetto.importer import Importer
from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.kernel_clock import contradiction
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.graph.clock_graph import inner
from tracetime.graph.graph import Graph
from tracetime.graph.tube.messages import Between, Boxes
from tracetime.text import count
from tracetime.trace.notes import Note
from tracetime.trace.trace import Trace

# The bounds by the RemoteClockSync messages of a trace, by clock: see
# `_kernels/perfetto/clocks/remote.pxi`, and `clocks/snapshot_extensions.pxi` for what is recorded
# of the rounds themselves.

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_HOST: Final = 0
"""The number of the machine that the service runs on, to which the others are clients."""

ClockOf = Callable[[tuple[int, int, int, int]], ClockId]
"""What (clock, sequence, file, machine) is in a graph."""


def bounds_between(syncs: RemoteSyncs, clock_of: ClockOf) -> Between:
    """The bounds, for a graph."""
    grouped = _Groups(syncs.bounds())
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
    unused, used = _Groups(syncs.unused_bounds()), _Groups(syncs.bounds())
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
    from tracetime.graph.adding import add_pings_of_many

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


class _Groups:
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


_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_READ_APART_NS: Final = 10_000_000
"""A recorder that is held up reads two clocks so far apart; beyond, one was set, or slept."""

_FTRACE_STATS, _TRACE_STATS = 34, 35
_BUFFERS, _OVERWRITTEN, _WRITER_LOSS = 1, 3, 19
_PHASE, _END_OF_TRACE, _CPU_STATS, _CPU, _OVERRUN = 1, 2, 2, 1, 3

Own = Callable[[], Graph]
"""Gives the graph of what the file itself has, which a source in it may replace."""


def notes_of(code: str, trace: Trace, known: Importer, own: Own) -> Iterator[Note]:
    """Yield the notes of one code; known: has seen the end of the file."""
    return _NOTES[code](trace, known, own) if code in _NOTES else iter(())


def _dropped(_trace: Trace, known: Importer, _own: Own) -> Iterator[Note]:
    """Events that recorders of tracetime's dropped, of all that are joined; at most 2^63 - 1."""
    events, packet = known.extensions.events_dropped, known.extensions.dropped_packet
    if events:
        yield Note("events-dropped", packets=() if packet < 0 else (packet,), events=events)


def _lost(_trace: Trace, known: Importer, _own: Own) -> Iterator[Note]:
    """Data that Perfetto's own counters of buffers and of ftrace say were lost.

    The last TraceStats counts, and of ftrace what came between the start and the end of the
    recording.
    """
    buffers: list[dict[int, int | bytes]] = []
    from tracetime.formats.perfetto.read.machine_facts import message_of

    before: dict[int, int] = {}
    after: dict[int, int] = {}
    buffers_at = rings_at = 0
    for field, message, packet in known.stats:
        if field == _TRACE_STATS:
            buffers = _all(message, _BUFFERS)
            buffers_at = packet
            continue
        is_end = message_of(message).get(_PHASE) == _END_OF_TRACE
        rings_at = packet if is_end else rings_at
        (after if is_end else before).update(_overruns(message))
    overrun = sum(max(0, n - before.get(cpu, 0)) for cpu, n in after.items())
    if lost := _sum(buffers, _WRITER_LOSS):
        values = {"lost": count(lost, "packet")}
        yield Note("recorder-lost-data", "writer", (buffers_at,), values=values)
    if overrun:
        yield Note("recorder-lost-data", "ftrace", (rings_at,), events=min(overrun, INT64_MAX))
    if overwritten := _sum(buffers, _OVERWRITTEN):
        values = {"chunks": count(overwritten, "chunk")}
        yield Note("recorder-lost-data", "buffer", (buffers_at,), values=values)


def _overruns(message: bytes) -> dict[int, int]:
    """The events that each CPU's ring has overwritten since it was made."""
    return {_number(cpu, _CPU): _number(cpu, _OVERRUN) for cpu in _all(message, _CPU_STATS)}


def _all(message: bytes, number: int) -> list[dict[int, int | bytes]]:
    """The messages in one field."""
    from tracetime.formats.perfetto.read.machine_facts import fields_of, message_of

    return [message_of(value) for found, value in fields_of(message) if found == number]


def _sum(messages: list[dict[int, int | bytes]], number: int) -> int:
    return sum(_number(message, number) for message in messages)


def _number(message: dict[int, int | bytes], number: int) -> int:
    value = message.get(number, 0)
    return value if isinstance(value, int) else 0


def _late_trace_clock(trace: Trace, known: Importer, _own: Own) -> Iterator[Note]:
    """A packet that names another trace clock after conversions had begun.

    Perfetto stays with the clock it had (ClockTracker::SetGlobalClock).
    """
    if known.clocks.late_clock is not None:
        packet, clock, machine = known.clocks.late_clock
        clocks = ClockId(clock, machine=machine), trace.trace_clock
        yield Note("trace-clock-changed-late", packets=(packet,), clocks=clocks)


def _moves(_trace: Trace, known: Importer, _own: Own) -> Iterator[Note]:
    """Snapshots of other machines that moved trace time to their clocks, and messages that did.

    Perfetto lets each machine do so until its first conversion (ClockTracker::SetGlobalClock), and
    ties clocks of RemoteClockSync to the trace clock's machine, though the host has read its own.
    """
    for packet, clock, machine, is_late in known.clocks.moves:
        yield Note(
            "trace-clock-moved",
            "move",
            (packet,),
            clocks=(ClockId(clock, machine=machine),),
            values={"is_late": is_late},
        )
    if known.snapshots.n_stray_syncs:
        yield Note("trace-clock-moved", "stray", events=known.snapshots.n_stray_syncs)
    if known.clocks.n_own_syncs:
        yield Note("trace-clock-moved", "own", events=known.clocks.n_own_syncs)


def _late_snapshots(_trace: Trace, known: Importer, own: Own) -> Iterator[Note]:
    """Snapshots that follow events which they would have placed.

    Perfetto converts by what it has read: such events take an older offset.
    """
    clocks = known.clocks
    if clocks.n_late_snapshots:
        packet = int(own().contents.packets()[clocks.latest_snapshot])
        values = {"snapshots": clocks.n_late_snapshots}
        size_ns = clocks.latest_snapshot_ns
        yield Note("snapshots-late", packets=(packet,), size_ns=size_ns, values=values)


def _unused_bounds(_trace: Trace, known: Importer, own: Own) -> Iterator[Note]:
    """Messages between machines that bound nothing: a clock fell or stopped between them."""
    return unused_bounds(known.snapshots.remote, own().state.clock)


def _contradictions(trace: Trace, _known: Importer, _own: Own) -> Iterator[Note]:
    """Machines whose time service contradicts what it said before: no course of REALTIME fits.

    A clock that was set, and a machine that slept, have findings of their own.
    """
    graph, bounds = inner(trace.clocks), trace.wall_bounds()
    for machine in sorted(set(bounds[1].tolist())):
        numbers, _, earliest, latest, _ = bounds[:, bounds[1] == machine]
        realtime, boottime, monotonic = (
            ClockId(BUILTIN_IDS[name], machine=machine)
            for name in ("REALTIME", "BOOTTIME", "MONOTONIC")
        )
        moved_ns = [_moved_ns(graph, boottime, other) for other in (realtime, monotonic)]
        snapshots, wall, _ = graph.shared(realtime, boottime)
        _, here, there = np.intersect1d(snapshots, numbers, return_indices=True)
        if not len(here) or max(moved_ns) > _READ_APART_NS:
            continue
        earliest, latest = earliest[there] - moved_ns[0], latest[there] + moved_ns[0]
        found = contradiction(wall[here], earliest, latest)
        if found is not None:
            place, apart_ns = found
            number = int(snapshots[here[place]])
            yield Note(
                "time-service-contradicts",
                packets=(int(trace.snapshot_packets[number]),),
                events=None,
                size_ns=apart_ns,
                clocks=(realtime,),
                values={"snapshot": number},
            )


def _moved_ns(graph: Graph, one: ClockId, other: ClockId) -> int:
    """The change of the offset of two clocks, in all snapshots."""
    _, here, there = graph.shared(one, other)
    return int(np.ptp(there - here)) if len(here) else 0


def _unsynchronised(trace: Trace, _known: Importer, _own: Own) -> Iterator[Note]:
    """A kernel that said that nothing keeps its time, of a trace that has its REALTIME."""
    if trace.is_unsynchronised and any(
        info.clock.clock == _REALTIME.clock for info in trace.clocks.clocks()
    ):
        yield Note("realtime-unsynchronised", events=None, clocks=(_REALTIME,))


_NOTES: Final[Mapping[str, Callable[[Trace, Importer, Own], Iterator[Note]]]] = {
    "events-dropped": _dropped,
    "machine-sync-unusable": _unused_bounds,
    "recorder-lost-data": _lost,
    "realtime-unsynchronised": _unsynchronised,
    "snapshots-late": _late_snapshots,
    "time-service-contradicts": _contradictions,
    "trace-clock-changed-late": _late_trace_clock,
    "trace-clock-moved": _moves,
}
