"""What a written trace carries of its sources: their graph, and what clocks read at the events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import IO, Any, Final

import numpy as np

from tracetime._kernels.perfetto.packets import Sealer, baked_packet, stripped
from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.errors import PLACED
from tracetime.formats.perfetto.carried import NO_CLOCK, Head, encode_block, encode_head
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.formats.perfetto.schema import KINDS
from tracetime.graph.graph import Graph
from tracetime.graph.values import Values
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import BY_HOME, CUT_OFF, EARLY, HOME_NS, Columns
from tracetime.trace.slice_ends import SliceEnds

_TRACK_EVENT: Final = next(n for n, name in PAYLOAD_NAMES.items() if name == "track_event")
_PACKET, _LEGACY = (
    next(n for n, kind in enumerate(KINDS) if kind.name == name)
    for name in ("packet", "track_event_legacy")
)
_READ: Final = ("source_ns", "snapshots", CUT_OFF, EARLY)


class SealedFile:
    """A file whose blocks of packets get seals: what changes it later is noticed.

    mark, machine_id: as of `Carrier`.
    """

    def __init__(self, file: IO[bytes], mark: int, machine_id: int = 0) -> None:
        self._file = file
        self._sealer = Sealer(mark, machine_id)

    def write(self, packets: bytes) -> int:
        """Write whole packets."""
        return self._file.write(self._sealer.write(packets))

    def append(self, packets: bytes) -> None:
        """Write the last packets, of which nothing is carried."""
        self.write(packets)
        self._file.write(self._sealer.seal())


class StrippedFile:
    """A file whose packets say no boot and no host, and carry nothing of their sources."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def write(self, packets: bytes) -> int:
        """Write whole packets."""
        return self._file.write(stripped(packets))


class Carrier:
    """A maker of the packets that a trace carries beside its events.

    Args:
        graph: of all clocks of the sources.
        trace_clock: the clock of the output's times, among them.
        homes: clocks that events may be on without a snapshot: trace clocks of the sources.
        mark: the number of the policy.
        machines: the machine_id in the output of each of its machines, of which the first has the
            packets; without any, their numbers are.
        truncated: as of `Head`.
    """

    def __init__(
        self,
        graph: Graph,
        trace_clock: ClockId,
        homes: Iterable[ClockId],
        mark: int,
        machines: Sequence[int] = (),
        truncated: str = "",
    ) -> None:
        self._graph = graph
        self._truncated = truncated
        self._trace_clock = trace_clock
        self._mark = mark
        self._machines = machines
        state = graph.state
        pairs = (*state.orders.pairs(), *state.between.pairs())
        found = dict.fromkeys(info.clock for info in graph.clocks())
        found |= dict.fromkeys((*chain(*pairs), *state.domains, *state.events, *state.given))
        found |= dict.fromkeys((trace_clock, *homes))
        self._clocks = {clock: n for n, clock in enumerate(found)}

    def head(self, number: Callable[[int], int], name: Callable[[ClockId], str]) -> bytes:
        """The packet of the graph.

        number: gives the number in the output of a machine of the graph. name: gives the name of a
        clock.
        """
        clocks = [*self._clocks]
        machines = self._machines or range(1 + max(number(clock.machine) for clock in clocks))
        found = Head(self._graph, self._trace_clock, clocks, machines, self._truncated)
        # Those of many sequences share one line where they have no names.
        names = {clock: name(clock) for clock in self._clocks if not clock.sequence}
        return self._carried(encode_head(found, names, number))

    def _carried(self, data: bytes) -> bytes:
        return baked_packet(self._mark, data, self._machines[0] if self._machines else 0)

    def of_packets(
        self, columns: Columns, placed: Columns, bars: ErrorBars, without: int = -1
    ) -> bytes:
        """The packet of a batch of a Perfetto trace's rows.

        Args:
            columns: as they are in its own file.
            placed: as they are written, with what they read.
            bars: that placed them.
            without: a payload of which some packets are not written: nothing is carried of it.
        """
        is_placed = is_any_of(placed["status"], PLACED)
        rows = np.flatnonzero(is_placed & (columns["payload"] != without))
        kind = columns["kind"]
        legacy = rows[kind[rows] == _LEGACY]
        if len(legacy):
            # The packet has the time of its legacy timestamp.
            moved = np.isin(columns["packet"][rows], columns["packet"][legacy])
            rows = rows[~(moved & (kind[rows] == _PACKET))]
            kind = kind.copy()
            kind[legacy] = _PACKET
        written = {
            "kind": kind,
            "payload": columns["payload"],
            "packet_sequence": columns["packet_sequence"],
        }
        return self._packet(written, placed, rows, placed["trace_time"], bars)

    def of_events(self, placed: Columns, rows: Values, times: Values, bars: ErrorBars) -> bytes:
        """The packet of track events that were made of some rows, in the order of the packets.

        placed: as they were placed. times: of each of `rows`, as it is written.
        """
        if "earliest" not in placed:
            # Those that floor has placed.
            placed = bars.place(placed)
        picked = {name: column[rows] for name, column in placed.items() if name in _NEEDED}
        some = np.arange(len(rows))
        written = {
            "kind": np.full(len(rows), _PACKET),
            "payload": np.full(len(rows), _TRACK_EVENT),
            "packet_sequence": np.zeros(len(rows), np.uint32),
        }
        return self._packet(written, picked, some, times, bars)

    def of_slices(self, ends: SliceEnds, order: Values, written: Values, bars: ErrorBars) -> bytes:
        """The packet of track events that begin and end slices.

        Args:
            ends: of the slices.
            order: the slices in the order in which they were put.
            written: as `EventPackets.take_written` gives it.
            bars: that placed them.
        """
        number, times, is_end = written
        slices, is_end = order[number], is_end.astype(np.bool_)
        columns = {
            name: np.where(is_end, ends.ends[name][slices], begins[slices])
            for name, begins in ends.begins.items()
        }
        placed = bars.place(columns)
        for name in ("earliest", "latest"):
            placed[name] = placed[name].copy()
        # A slice that something else ends reads nothing there.
        nowhere = is_end & ~ends.ended[slices]
        placed["earliest"][nowhere], placed["latest"][nowhere] = 1, 0
        return self.of_events(placed, np.arange(len(times)), times, bars)

    def _packet(
        self,
        written: Columns,
        placed: Columns,
        rows: Values,
        times: Values,
        bars: ErrorBars,
    ) -> bytes:
        if not len(rows):
            return b""
        clock = np.full(len(times), NO_CLOCK, np.int64)
        source_ns = placed["source_ns"]
        has_bar = placed["earliest"] <= placed["latest"]
        by_home = placed[BY_HOME] if BY_HOME in placed else np.zeros(len(times), np.bool_)
        for own, group in bars._by_clock(placed, np.flatnonzero(has_bar)):
            here = by_home[group]
            clock[group[~here]] = self._clocks.get(own, NO_CLOCK)
            # A row is of the machine of its clock.
            if own.machine == bars.home.machine:
                clock[group[here]] = self._clocks[bars.home]
        if BY_HOME in placed:
            source_ns = np.where(by_home, placed[HOME_NS], source_ns)
        read: dict[str, Any] = {name: placed[name] for name in _READ if name in placed}
        read |= written | {"source_ns": source_ns}
        return self._carried(encode_block(read, rows, clock, times))


_NEEDED: Final = {*_READ, "earliest", "latest", "clock", "sequence", "machine", BY_HOME, HOME_NS}
