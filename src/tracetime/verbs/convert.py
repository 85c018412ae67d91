"""The verb `convert`: every event of a trace, on trace time, or every slice, into a table file.

Reading goes on in the calling thread, writing in another. The file appears under its name when it
is complete, or not at all.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tracetime.analysis.floor_cost import FloorCost
from tracetime.analysis.groups import EventCounts
from tracetime.analysis.summary import ConvertOptions, Summary, summarise
from tracetime.atomic_file import file_target
from tracetime.clocks.domain import domain_facts
from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document
from tracetime.columns.arrays import known_of
from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.errors import TraceError
from tracetime.graph.arguments import PolicyName
from tracetime.graph.clock_graph import inner
from tracetime.graph.ticks import refuse_floor_of_ticks
from tracetime.tables.output import TableOutput, table_metadata
from tracetime.tables.writers import table_writer
from tracetime.trace.events_table import Columns, record_batch, schema_of, with_names

if TYPE_CHECKING:
    from tracetime.analysis.trace_instants import Span
    from tracetime.clocks.json_types import Count
    from tracetime.graph.tube.results import Bars
    from tracetime.trace.facts import TraceWarning
    from tracetime.trace.trace import Trace


# long: a third of it says what it takes
def convert(  # noqa: PLR0913  the options of the command
    trace: Trace,
    out: str | os.PathLike[str],
    *,
    to: Any = None,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    names: bool = False,
    span: Span | None = None,
    kind: str | None = None,
    part_of: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> Summary:
    """Write every event of `trace`, on trace time, to a table file.

    Args:
        trace: an open trace; it is read from its start.
        out: the file, .parquet, .arrow or .csv by its ending. It is written under a temporary name
            in the same directory and renamed when it is complete.
        to: a clock. Adds the column to_time: trace_time converted to that clock, with every
            snapshot of the trace, null where that fails.
        policy, bars: how events come to trace time; see `Trace.events`. to_time follows them.
        names: add the columns of `NAMES_SCHEMA`, after all others; see `Trace.events`.
        span: of trace time; only events within it are written and counted.
        kind: the format of the file, where its ending does not say it: parquet, arrow or csv.
        part_of: the file is a part of a data set: its first column is `trace`, with this text.
        progress: called with the byte position reached in the trace.

    Returns:
        A Summary of what was written.

    Raises:
        UsageError: no such format, clock, policy or bars; `to` counts ticks, by floor; `out` cannot
            be written, or is the trace.
        ConversionError: the trace clock does not convert to `to` at all.
        TraceError: as `Trace.events`. Whatever is raised, nothing is left of the file.
    """
    target = file_target(out)
    writer_class = table_writer(target, kind)
    schema = placed_schema = schema_of(policy)
    to_clock = None
    if to is not None:
        to_clock = trace.clocks.clock(to, known=True)
        trace.clocks.path(trace.trace_clock, to_clock, policy=policy)
        if policy == "floor":
            refuse_floor_of_ticks(inner(trace.clocks), trace.trace_clock, to_clock)
        schema = exact_in_pandas(schema.append(pa.field("to_time", pa.int64())))
    if names:
        schema = with_names(schema)
    counts = EventCounts()

    def metadata() -> dict[str, str]:
        return _metadata(trace, policy, bars)

    def on(clock: ClockId, trace_time: pa.Array, by: PolicyName) -> pa.Array:
        return trace.clocks.convert(
            trace_time, trace.trace_clock, clock, policy=by, bars=bars, errors="mask"
        )

    with TableOutput(target, part_of) as output:
        # To know the trace clock, the trace is read: only where the format needs it first.
        output.start(writer_class, schema, metadata() if writer_class.metadata_first else {})
        cost = FloorCost(reordered=0) if policy == "tube" else None
        reading = trace.placed_columns(policy, progress, bars=bars, names=names, observer=cost)
        for columns in reading:
            batch = record_batch(columns, trace.vocabulary, placed_schema)
            if span is not None:
                batch, columns = _within(batch, columns, span)
            if to_clock is not None:
                to_time = on(to_clock, batch["trace_time"], policy)
                counts.to_time.add(to_time, batch["trace_time"])
                if policy == "floor":
                    counts.to_time.compare(to_time, on(to_clock, batch["trace_time"], "tube"))
                arrays = batch.columns
                arrays.insert(len(placed_schema), to_time)
                batch = pa.RecordBatch.from_arrays(arrays, schema=schema)
            output.put(batch)
            counts.add(columns)
        if cost is not None:
            cost.finish()
        # While the rest is being written.
        options = ConvertOptions(policy, bars, to_clock, names)
        summary = summarise(trace, reading, counts, os.fspath(out), options, cost)
        output.finish(metadata())
    return summary


@dataclass(frozen=True, slots=True)
class SlicesSummary(Document):
    """The outcome of writing slices.

    Attributes:
        trace: the trace, as it was named.
        out: the file that was written.
        trace_clock: the clock that trace time counts in.
        policy: how events came to trace time.
        bars: the error bars of the tube policy; null with floor, which has none.
        rows: how many slices there are.
        open: how many of them do not end.
        unresolved: events without a trace time, of Perfetto's traces by floor whatever the policy:
            they begin and end no slice.
        left_out: slices that there was no room for.
        names_left_out: names and arguments that there was no room for.
        not_nested: slices left out, as in Perfetto: they cross others of their track, or lie too
            deep.
        reversed: slices left out because they end before they begin.
        unmatched: events that end a slice that has not begun.
        warnings: what is wrong in the trace and did not end its reading: the first of them.
        n_warnings: how many warnings there are in all.
        events_dropped: events that the recorder says it dropped: they are not in the trace.
        truncated: with --partial, the error after which the rest was not read; null if all was
            read.
    """

    trace: str
    out: str
    trace_clock: ClockId
    policy: PolicyName
    bars: Bars | None
    rows: Count
    open: Count
    unresolved: Count
    left_out: Count
    names_left_out: Count
    not_nested: Count
    reversed: Count
    unmatched: Count
    warnings: tuple[TraceWarning, ...]
    n_warnings: Count
    events_dropped: Count
    truncated: TraceError | None


def convert_slices(  # noqa: PLR0913  the options of the command
    trace: Trace,
    out: str | os.PathLike[str],
    *,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    span: Span | None = None,
    kind: str | None = None,
    part_of: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> SlicesSummary:
    """Write every slice of `trace` to a table file; see `Trace.slices`.

    Args:
        trace, out, kind, part_of, progress: as of `convert`.
        policy, bars: how both ends of a slice come to trace time.
        span: of trace time; only slices that last, or are instants, within it are written.

    Raises:
        UsageError: no such format, policy or bars, or a trace without slices; `out` cannot be
            written, or is the trace.
        TraceError: as `Trace.events`. Whatever is raised, nothing is left of the file.
    """
    from tracetime.trace.slices_table import OPEN

    target = file_target(out)
    writer_class = table_writer(target, kind)
    slices = trace.slices(policy, progress, bars=bars)
    rows = still_open = 0
    with TableOutput(target, part_of) as output:
        first = _metadata(trace, policy, bars) if writer_class.metadata_first else {}
        output.start(writer_class, slices.schema, first)
        for batch in slices:
            if span is not None:
                batch = _slices_within(batch, span)
            output.put(batch)
            rows += batch.num_rows
            still_open += int(np.count_nonzero(np.asarray(batch["dur"]) == OPEN))
        output.finish(_metadata(trace, policy, bars))
    return SlicesSummary(
        trace=trace.path,
        out=os.fspath(out),
        trace_clock=trace.trace_clock,
        policy=policy,
        bars=bars if policy == "tube" else None,
        rows=rows,
        open=still_open,
        unresolved=slices.unresolved,
        left_out=slices.left_out,
        names_left_out=slices.names_left_out,
        not_nested=slices.not_nested,
        reversed=slices.reversed,
        unmatched=slices.unmatched,
        warnings=tuple(trace.warnings),
        n_warnings=trace.n_warnings,
        events_dropped=trace.events_dropped,
        truncated=trace.truncated,
    )


def _metadata(trace: Trace, policy: PolicyName, bars: Bars) -> dict[str, str]:
    """The metadata of a table file; asking for the trace clock reads the trace."""
    facts = table_metadata(trace.trace_clock, policy, bars)
    if policy == "tube":
        limits = [domain_facts(domain, str(domain.id)) for domain in trace.domains]
        facts |= {"tracetime.limits": json.dumps(limits)}
    return facts


def _within(batch: pa.RecordBatch, columns: Columns, span: Span) -> tuple[pa.RecordBatch, Columns]:
    """Return the rows within a span, and their columns that are counted."""
    times, keep = known_of(batch["trace_time"])
    if span.start is not None:
        keep = keep & (times >= span.start)
    if span.until is not None:
        keep = keep & (times < span.until)
    return batch.filter(pa.array(keep)), {
        name: column[keep] for name, column in columns.items() if ":" not in name
    }


def _slices_within(batch: pa.RecordBatch, span: Span) -> pa.RecordBatch:
    """Return the slices that last, or are instants, within a span."""
    from tracetime.trace.slices_table import OPEN

    ts, dur = np.asarray(batch["ts"]), np.asarray(batch["dur"])
    keep = np.ones(len(ts), dtype=np.bool_)
    if span.start is not None:
        keep &= (ts >= span.start) | (ts + dur > span.start) | (dur == OPEN)
    if span.until is not None:
        keep &= ts < span.until
    return batch.filter(pa.array(keep))
