"""The verb `bake`: a trace that Perfetto draws where a policy puts its events.

How packets of Perfetto's traces change is the kernel's (`_kernels/perfetto/bake.pyx`); what other
traces become is in event_baking/.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Final

from tracetime._kernels.perfetto.bake import Baker
from tracetime._kernels.perfetto.importer import Rows
from tracetime._kernels.perfetto.packets import baked_packet
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.json_facts import Document
from tracetime.errors import ConversionError, TraceError, UsageError
from tracetime.formats.perfetto.extension import BAKED_BY
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.graph.clock_graph import inner
from tracetime.text import printable
from tracetime.trace.abilities import PacketFile
from tracetime.trace.trace import Trace, check_trace
from tracetime.verbs.event_baking.carrying import Carrier, SealedFile, StrippedFile
from tracetime.verbs.event_baking.tube_times import TubeTimes
from tracetime.verbs.event_baking.writing import Output, write_events

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count, LeftOutReason

_BOOTTIME: Final = ClockId(BUILTIN_IDS["BOOTTIME"])
# Perfetto equates the BOOTTIME of every machine with these.
_SHARED: Final = (_BOOTTIME.clock, BUILTIN_IDS["TRACE_FILE"])


@dataclass(frozen=True, slots=True)
class BakeSummary(Document):
    """The outcome of baking a trace.

    Attributes:
        trace: the trace, as it was named.
        out: the trace that was written.
        trace_clock: the clock that all its timestamps are in.
        policy: how events came to trace time.
        bytes: its size.
        moved: items with a timestamp of their own that have their packet's now.
        stamped: packets that have a time of their own now: that of their items.
        kept_in_order: track events moved, within their bars, to the one before them.
        reversed: track events whose bars exclude the order of the file.
        as_floor: events that only floor places, of a trace baked by the tube.
        late_descriptors: descriptors of threads that floor drops, of a trace baked by the tube.
        rounded: timestamps whose field cannot hold the time.
        worst_rounding_ns: how far off the worst of them is, ns.
        unresolved: events without a trace time: Perfetto leaves them out.
        set_aside: items without one, moved to where Perfetto does not read.
        forced: begins and ends of slices, moved beyond their bars so that they nest.
        early: events of other formats before time 0.
        left_out: what else of other formats is not in the output.
        left_out_by: how much of that for each reason.
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
    """

    trace: str
    out: str
    trace_clock: ClockId
    policy: PolicyName
    bytes: Count
    moved: Count
    stamped: Count
    kept_in_order: Count
    reversed: Count
    as_floor: Count
    late_descriptors: Count
    rounded: Count
    worst_rounding_ns: Count
    unresolved: Count
    set_aside: Count
    forced: Count
    early: Count
    left_out: Count
    left_out_by: dict[LeftOutReason, Count]
    truncated: TraceError | None


def bake(
    trace: Trace,
    out: str | os.PathLike[str],
    *,
    policy: PolicyName = "tube",
    strip: bool = False,
    progress: Callable[[int], None] | None = None,
) -> BakeSummary:
    """Write `trace` to a Perfetto trace in which Perfetto's rule places events as `policy` does.

    Args:
        trace: a trace, read twice. One of another format becomes track events: slices, instants,
            counters and flows.
        out: path of the file to write, which is never compressed.
        policy: "floor", what Perfetto's rule makes of the trace itself, or "tube", the best
            estimate; of events that the tube cannot place, floor's. A trace that is baked already
            stays as it is, by either.
        strip: keep no error bars of the source, no ids of boots, and no names of machines.
        progress: called with the byte position reached in the file.

    Raises:
        UsageError: no such policy; a Perfetto trace of several machines on another clock than
            BOOTTIME, by floor, or by the tube where it cannot convert to the first machine's;
            `out` cannot be written, or is the trace.
        TraceError: as `Trace.events`. Whatever is raised, nothing is left of the file.
    """
    check_policy(policy)
    check_trace(trace)
    if trace.packets is None:
        return _bake_events(trace, out, policy, strip, progress)
    clock = trace.trace_clock if trace.baked_by else _trace_clock(trace, policy)
    baker = _baker(trace, clock, policy)
    tube = TubeTimes(trace, clock) if policy == "tube" and not trace.baked_by else None
    with whole_file(file_target(out)) as part, part.open("wb") as file:
        to, carrier = _begin(trace, clock, policy, file, strip)
        _write(trace, trace.packets, baker, tube, carrier, progress, to)
        size = file.tell()
    rows = baker.rows
    return BakeSummary(
        trace=trace.path,
        out=os.fspath(out),
        trace_clock=ClockId(clock.clock),
        policy=policy,
        bytes=size,
        moved=rows.moved,
        stamped=rows.stamped,
        kept_in_order=tube.order.kept if tube else 0,
        reversed=tube.order.reversed if tube else 0,
        as_floor=tube.as_floor if tube else 0,
        late_descriptors=tube.late_descriptors if tube else 0,
        rounded=rows.rounded,
        worst_rounding_ns=rows.worst_ns,
        unresolved=rows.unresolved,
        set_aside=rows.set_aside,
        forced=0,
        early=0,
        left_out=0,
        left_out_by={},
        truncated=trace.truncated,
    )


def _bake_events(
    trace: Trace,
    out: str | os.PathLike[str],
    policy: PolicyName,
    strip: bool,
    progress: Callable[[int], None] | None,
) -> BakeSummary:
    """Bake a trace that is none of Perfetto's."""
    with whole_file(file_target(out)) as part, part.open("wb") as file:
        mark = 1 + BAKED_BY.index(policy)
        carrier = Carrier(inner(trace.clocks), trace.trace_clock, (), mark)
        to: Output = StrippedFile(file) if strip else SealedFile(file, mark)
        written = write_events(trace, to, policy, progress, carrier=carrier)
        size = file.tell()
    return BakeSummary(
        trace=trace.path,
        out=os.fspath(out),
        trace_clock=written.clock,
        policy=policy,
        bytes=size,
        moved=0,
        stamped=0,
        kept_in_order=written.kept,
        reversed=0,
        as_floor=0,
        late_descriptors=0,
        rounded=0,
        worst_rounding_ns=0,
        unresolved=written.unresolved,
        set_aside=0,
        forced=written.forced,
        early=written.early,
        left_out=sum(written.left_out.values()),
        left_out_by=written.left_out,
        truncated=trace.truncated,
    )


def _trace_clock(trace: Trace, policy: PolicyName) -> ClockId:
    """The clock of the timestamps in the output, of a trace that is not baked."""
    name, home = printable(trace.path), trace.trace_clock
    if home.is_sequence_scoped:
        raise UsageError(
            f"the trace clock of {name} is {home}, of a packet sequence: packets of "
            "others cannot name it"
        )
    if len(trace.machines) == 1 or home.clock in _SHARED:
        return home
    why = (
        f"{name} has {len(trace.machines)} machines on {home}: their packets can "
        "name trace time only where that is BOOTTIME"
    )
    if policy == "floor":
        raise UsageError(f"{why}; the tube policy puts them on it")
    try:
        trace.clocks.path(home, _BOOTTIME, policy="tube")
    except ConversionError as error:
        raise UsageError(
            f"{why}, and {error.message}: bake a trace whose snapshots have both clocks"
        ) from error
    return _BOOTTIME


def _baker(trace: Trace, clock: ClockId, policy: PolicyName) -> Baker:
    baked = trace.baked_by is not None
    mark = 1 + BAKED_BY.index(policy)
    several = len(trace.machines) > 1
    is_home = clock == trace.trace_clock and clock.machine == 0
    first = trace.machines[0]
    return Baker(clock.clock, first, mark, several, is_home, baked)


def _begin(
    trace: Trace, clock: ClockId, policy: PolicyName, file: IO[bytes], strip: bool
) -> tuple[Output, Carrier | None]:
    """Write the packet that says that the trace is baked.

    Returns the file for the other packets, and what makes those of what clocks read.
    """
    to: Output = StrippedFile(file) if strip else file
    if trace.baked_by:
        # Its times are final: its packets stay, and so does what it says of them.
        return to, None
    mark, first = 1 + BAKED_BY.index(policy), trace.machines[0]
    carrier = None
    if not strip:
        to = SealedFile(file, mark, first)
        homes = (trace.trace_clock,)
        carrier = Carrier(inner(trace.clocks), clock, homes, mark, trace.machines)
    to.write(baked_packet(mark, b"", first))
    return to, carrier


def _write(
    trace: Trace,
    packets: PacketFile,
    baker: Baker,
    tube: TubeTimes | None,
    carrier: Carrier | None,
    progress: Callable[[int], None] | None,
    file: Output,
) -> None:
    """Write the packets, batch by batch, with what clocks read."""
    bars = trace._error_bars("estimated", {}) if tube is None else tube.bars
    if carrier is not None:
        file.write(carrier.head(int, trace.clocks.name))
    for columns in packets.observed(baker, progress):
        placed = columns if tube is None else tube.place(columns)
        file.write(baker.write(placed))
        if carrier is None:
            continue
        if tube is None:
            own = {name: columns[name] for name in ("trace_time", "status")}
            placed = bars.place(columns) | own
        file.write(carrier.of_packets(columns, placed, bars))
    # The packets after the last row.
    file.write(baker.write(Rows(1).take()))
