"""The writer of a whole trace as packets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple, Protocol

import numpy as np

from tracetime._kernels.event_baking import EventPackets
from tracetime._kernels.perfetto import packets as made
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.columns.arrays import known_of
from tracetime.errors import UsageError
from tracetime.formats.name_columns import name_columns
from tracetime.formats.perfetto.extension import BAKED_BY
from tracetime.graph.arguments import PolicyName
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import REALTIME, Columns
from tracetime.trace.slices_table import Slices
from tracetime.trace.trace import Trace
from tracetime.verbs.event_baking.carrying import Carrier
from tracetime.verbs.event_baking.events import EventWriter, rows_with_time
from tracetime.verbs.event_baking.flows import SliceArrows
from tracetime.verbs.event_baking.reasons import nonzero_counts
from tracetime.verbs.event_baking.slices import parents_first, put_slices
from tracetime.verbs.event_baking.tracks import OutputNumbers, Tracks

_CLEARED: Final = 1
"""A sequence flag: what was interned before does not count."""

_BOOTTIME: Final = BUILTIN_IDS["BOOTTIME"]
_LAST_OF_KERNEL: Final = _BOOTTIME


class Output(Protocol):
    """A file that takes packets."""

    def write(self, packets: bytes, /) -> int:
        """Write whole packets; returns how many bytes these became."""


class WriteSummary(NamedTuple):
    """The outcome of writing.

    Attributes:
        clock: the clock of the timestamps.
        kept, forced: begins and ends that came to the time of the event before them on their track,
            within their bars and beyond.
        unresolved: events without a trace time.
        early: events before time 0, of the output or of their own file.
        left_out: what else is not written, by a key of `REASONS`.
        free_pid: the first pid that a trace which follows in the same file may give out.
    """

    clock: ClockId
    kept: int
    forced: int
    unresolved: int
    early: int
    left_out: dict[str, int]
    free_pid: int


def write_events(
    trace: Trace,
    file: Output,
    policy: PolicyName,
    progress: Callable[[int], None] | None = None,
    place: OutputNumbers | None = None,
    carrier: Carrier | None = None,
) -> WriteSummary:
    """Write the events of a trace of any format as track events.

    Args:
        trace: an open one; it is read twice where it has slices.
        file: gets the packets.
        policy: where its events go.
        progress: called with the byte position reached.
        place: the numbers of the packets; those of the only trace of a file by default.
        carrier: makes the packets of what clocks read.

    Raises:
        TraceError: as `Trace.events`.
    """
    place = OutputNumbers() if place is None else place
    clock = clock_of(trace) if place.clock is None else place.clock
    slices = _slices_of(trace, policy, progress)
    packets, tracks = EventPackets(place.sequence, clock, place.machine), Tracks(place)
    if place.snapshot:
        file.write(made.baked_packet(1 + BAKED_BY.index(policy), None if carrier is None else b""))
        if carrier is not None:
            file.write(carrier.head(int, trace.clocks.name))
    file.write(made.state_packet(place.sequence, _CLEARED, True, False, 0, place.machine))
    tied = not place.snapshot
    bars = trace._error_bars("estimated", {})
    as_chrome = trace.perfetto_reads == "json"
    events = EventWriter(packets, tracks, trace.vocabulary, slices is not None, as_chrome)
    for columns in _batches(trace, policy, progress):
        if not tied:
            times = columns["trace_time"][rows_with_time(columns)]
            if len(times):
                file.write(_snapshot(trace, place, clock, int(times.min()), policy))
                tied = True
        events.put(columns)
        file.write(tracks.take())
        file.write(packets.take())
        written = events.take_written()
        if carrier is not None:
            file.write(carrier.of_events(columns, *written, bars))
    left_out = events.left_out
    if slices is not None:
        left_out |= _write_slices(slices, file, packets, tracks, place.first, (carrier, bars))
    return WriteSummary(
        ClockId(clock),
        packets.kept,
        packets.forced,
        events.unresolved,
        events.early,
        nonzero_counts(left_out),
        tracks.free_pid,
    )


def _write_slices(
    slices: Slices,
    file: Output,
    packets: EventPackets,
    tracks: Tracks,
    first: int,
    carried: tuple[Carrier | None, ErrorBars],
) -> dict[str, int]:
    """Write slices; returns what is not written, by a key of `REASONS`.

    first: the number of their first flow. carried: what makes the packets of what clocks read, and
    the bars that placed them.
    """
    carrier, bars = carried
    table, arrows = slices._read_with_arrows()
    table, outer, order = parents_first(table)
    flows = SliceArrows(table, arrows, first)
    for _ in put_slices(packets, table, outer, tracks, flows):
        file.write(tracks.take())
        file.write(packets.take())
        written = packets.take_written()
        if carrier is not None and slices.ends is not None:
            file.write(carrier.of_slices(slices.ends, order, written, bars))
    return {**arrows.lost, "no_room": slices.left_out, "arrow_back": flows.n_left_out}


def _batches(
    trace: Trace, policy: PolicyName, progress: Callable[[int], None] | None
) -> Iterator[Columns]:
    """The batches of rows, with names."""
    if not trace.rows_are_of_slices:
        yield from trace.placed_columns(policy, progress, names=True)
        return
    # Its slices are written with theirs: rows are counted alone.
    for columns in trace.placed_columns(policy, progress):
        yield columns | name_columns({}, len(columns["status"]))


def clock_of(trace: Trace) -> int:
    """The clock of the output's timestamps: the kernel's own, else BOOTTIME's number."""
    home = trace.trace_clock.clock
    return home if 0 < home <= _LAST_OF_KERNEL else _BOOTTIME


def _slices_of(
    trace: Trace, policy: PolicyName, progress: Callable[[int], None] | None
) -> Slices | None:
    """The slices of a trace; None of one without."""
    try:
        return trace.slices(policy, progress)
    except UsageError:
        return None


def _snapshot(trace: Trace, place: OutputNumbers, clock: int, ns: int, policy: PolicyName) -> bytes:
    """The packet that names the trace clock, and gives the reading of REALTIME at a time."""
    readings = [(clock, ns, 1)]
    if clock != REALTIME.clock:
        wall = trace.clocks.convert(
            np.array([ns]), trace.trace_clock, REALTIME, policy=policy, errors="mask"
        )
        values, known = known_of(wall)
        if known[0] and values[0] >= 0:
            readings.append((REALTIME.clock, int(values[0]), 1))
    return made.snapshot_packet(place.sequence, clock, readings, b"")
