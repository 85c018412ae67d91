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
from tracetime._kernels.perfetto.rows import Rows
from tracetime.analysis.kept_order import KeptOrder
from tracetime.atomic_file import file_target, whole_file
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.error_bars import ErrorBars
from tracetime.errors import TraceError, UsageError
from tracetime.event_baking.writing import write_events
from tracetime.events_table import Columns
from tracetime.formats.perfetto.extension import BAKED_BY
from tracetime.formats.perfetto.payload_names import PAYLOAD_NAMES
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.text import printable
from tracetime.trace import Trace, check_trace

# Perfetto equates the BOOTTIME of every machine with these.
_SHARED: Final = (BUILTIN_IDS["BOOTTIME"], BUILTIN_IDS["TRACE_FILE"])
_TRACK_EVENT: Final = next(n for n, name in PAYLOAD_NAMES.items() if name == "track_event")


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
        rounded: timestamps whose field cannot hold the time exactly.
        worst_rounding_ns: how far off the worst of these is.
        unresolved: events without a trace time, which Perfetto leaves out now as before.
        set_aside: items without one, in a message whose clock is tied now: Perfetto would place
            them wrongly, so they are in a field that it does not read.
        forced: of a trace of another format, begins and ends of slices moved to the one before them
            on their track although their bars exclude that order: slices nest as in the source.
        left_out: of a trace of another format, events that track events of Perfetto's cannot be,
            or that there was no room for.
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
    rounded: int
    worst_rounding_ns: int
    unresolved: int
    set_aside: int
    forced: int
    left_out: int
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
            estimate. A trace that is baked already stays as it is, by either.
        progress: called with the byte position reached in the file.

    Raises:
        UsageError: no such policy; a Perfetto trace of several machines on another clock than
            BOOTTIME; `out` cannot be written, or is the trace.
        TraceError: as `Trace.events`. Whatever is raised, nothing is left of the file.
    """
    check_policy(policy)
    check_trace(trace)
    if not isinstance(trace, PerfettoTrace):
        return _bake_events(trace, out, policy, progress)
    perfetto = _checked(trace)
    target = file_target(out)
    baker = _baker(perfetto, policy)
    order = KeptOrder(_TRACK_EVENT)
    place: Callable[[Columns], Columns] | None = None
    if policy == "tube":
        to = ErrorBars(perfetto.clocks, perfetto.trace_clock, perfetto.machines, "estimated", {})

        def place(columns: Columns) -> Columns:
            return order.keep(columns, to.place(columns))

    with whole_file(target) as part, part.open("wb") as file:
        _write(perfetto, baker, place, progress, file)
        size = file.tell()
    rows = baker.rows
    return BakeSummary(
        trace=trace.path,
        out=os.fspath(out),
        trace_clock=ClockId(trace.trace_clock.clock),
        policy=policy,
        bytes=size,
        moved=rows.moved,
        stamped=rows.stamped,
        kept_in_order=order.kept,
        reversed=order.reversed,
        rounded=rows.rounded,
        worst_rounding_ns=rows.worst_ns,
        unresolved=rows.unresolved,
        set_aside=rows.set_aside,
        forced=0,
        left_out=0,
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
        rounded=0,
        worst_rounding_ns=0,
        unresolved=written.unresolved,
        set_aside=0,
        forced=written.forced,
        left_out=written.left_out,
        truncated=trace.truncated,
    )


def _checked(trace: PerfettoTrace) -> PerfettoTrace:
    """The trace, if it can be baked."""
    name = printable(trace.path)
    if len(trace.machines) > 1 and trace.trace_clock.clock not in _SHARED:
        raise UsageError(
            f"{name} has {len(trace.machines)} machines on {trace.trace_clock}: their packets can "
            "name trace time only where that is BOOTTIME"
        )
    if trace.trace_clock.is_sequence_scoped:
        raise UsageError(
            f"the trace clock of {name} is {trace.trace_clock}, of a packet sequence: packets of "
            "others cannot name it"
        )
    return trace


def _baker(trace: PerfettoTrace, policy: PolicyName) -> Baker:
    home = trace.trace_clock
    # The times of a baked trace are final: they stay, and so does what it says of them.
    mark = 1 + BAKED_BY.index(trace.baked_by or policy)
    several = len(trace.machines) > 1
    return Baker(home.clock, trace.machines[0], mark, several, home.machine == 0)


def _write(
    trace: PerfettoTrace,
    baker: Baker,
    place: Callable[[Columns], Columns] | None,
    progress: Callable[[int], None] | None,
    file: IO[bytes],
) -> None:
    """Write the packets, batch by batch."""
    for columns in trace.observed(baker, progress):
        file.write(baker.write(columns if place is None else place(columns)))
    # What comes after the last row.
    file.write(baker.write(Rows(1).take()))
