"""The verb `bake`: a trace that Perfetto draws where a policy puts its events.

How packets of Perfetto's traces change is the kernel's (`_kernels/perfetto/bake.pyx`); what other
traces become is in event_baking/.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import IO, Final

from tracetime._kernels.perfetto.bake import Baker
from tracetime._kernels.perfetto.importer import Rows
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import ConversionError, TraceError, UsageError
from tracetime.formats.perfetto.extension import BAKED_BY
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.text import printable
from tracetime.trace.abilities import PacketFile
from tracetime.trace.trace import Trace, check_trace
from tracetime.verbs.event_baking.tube_times import TubeTimes
from tracetime.verbs.event_baking.writing import write_events

_BOOTTIME: Final = ClockId(BUILTIN_IDS["BOOTTIME"])
# Perfetto equates the BOOTTIME of every machine with these.
_SHARED: Final = (_BOOTTIME.clock, BUILTIN_IDS["TRACE_FILE"])


@dataclass(frozen=True, slots=True)
class BakeSummary:
    """What came of baking a trace.

    Attributes:
        trace, out: paths of the trace and of what was written.
        trace_clock: the clock that all baked timestamps are in.
        policy: how they came there.
        bytes: how long the output is.
        moved: items that had a timestamp of their own, and now have that of their packet.
        stamped: packets that have a time of their own now: they had no timestamp, and their items
            took the latest time before them, or one that was not placed, and their items were.
        kept_in_order: by the tube, track events moved to the one before them, within their bars, so
            that both are in the order of the file.
        reversed: track events whose bars exclude the order of the file.
        as_floor: by the tube, events that it cannot place, which stay where Perfetto puts them.
        rounded: timestamps whose field cannot hold the time exactly.
        worst_rounding_ns: how far off the worst of these is.
        unresolved: events without a trace time, which Perfetto leaves out now as before.
        set_aside: items without one, in a message whose clock is tied now, or whose packet has one
            now: Perfetto would place them wrongly, so they are in a field that it does not read.
        forced: of a trace of another format, begins and ends of slices moved to the one before them
            on their track although their bars exclude that order: slices nest as in the source.
        early: of a trace of another format, events before time 0, which Perfetto does not take.
        left_out: of a trace of another format, what else is not in the output.
        left_out_by: how much of that for which reason; docs/howto/bake.md lists them.
        truncated: the error after which the rest of the file was not read.
    """

    trace: str
    out: str
    trace_clock: ClockId
    policy: PolicyName
    bytes: int
    moved: int
    stamped: int
    kept_in_order: int
    reversed: int
    as_floor: int
    rounded: int
    worst_rounding_ns: int
    unresolved: int
    set_aside: int
    forced: int
    early: int
    left_out: int
    left_out_by: dict[str, int]
    truncated: TraceError | None

    def to_dict(self) -> dict[str, object]:
        """Return the summary in the types of JSON."""
        facts: dict[str, object] = {
            field.name: getattr(self, field.name) for field in fields(BakeSummary)
        }
        facts["trace_clock"] = str(self.trace_clock)
        if self.truncated is not None:
            facts["truncated"] = self.truncated.to_dict()
        return facts


def bake(
    trace: Trace,
    out: str | os.PathLike[str],
    *,
    policy: PolicyName = "tube",
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
        return _bake_events(trace, out, policy, progress)
    clock = trace.trace_clock if trace.baked_by else _trace_clock(trace, policy)
    target = file_target(out)
    baker = _baker(trace, clock, policy)
    tube = TubeTimes(trace, clock) if policy == "tube" and not trace.baked_by else None
    with whole_file(target) as part, part.open("wb") as file:
        _write(trace.packets, baker, tube, progress, file)
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
    progress: Callable[[int], None] | None,
) -> BakeSummary:
    """Bake a trace that is none of Perfetto's."""
    with whole_file(file_target(out)) as part, part.open("wb") as file:
        written = write_events(trace, file, policy, progress)
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
    """The clock of the output's timestamps, of a trace that is not baked."""
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
    # The times of a baked trace are final: its packets stay, and so does what it says of them.
    baked = trace.baked_by is not None
    mark = 1 + BAKED_BY.index(policy)
    several = len(trace.machines) > 1
    is_home = clock == trace.trace_clock and clock.machine == 0
    return Baker(
        clock.clock, trace.machines[0], mark, several, is_home, baked, carries_source=not baked
    )


def _write(
    packets: PacketFile,
    baker: Baker,
    tube: TubeTimes | None,
    progress: Callable[[int], None] | None,
    file: IO[bytes],
) -> None:
    """Write the packets, batch by batch."""
    for columns in packets.observed(baker, progress):
        file.write(baker.write(columns if tube is None else tube.place(columns)))
    # What comes after the last row.
    file.write(baker.write(Rows(1).take()))
