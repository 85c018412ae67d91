"""Traces given as bytes, merged into one Perfetto trace, and where their events are to be in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from baked_events import packets_of
from reading import opened

import tracetime as tt
from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.placing import target_of
from tracetime.trace.events_table import record_batch, schema_of

Event = tuple[str, str, int]
"""Kind, payload and time on the clock of the merged trace."""


LEFT_OUT = ("service_event", "trace_uuid", "synchronization_marker")
BY_TUBE = (
    "resolved",
    "non_monotonic_source",
    "no_path",
    "unknown_source_clock",
    "unknown_target_clock",
)


class Merged(NamedTuple):
    """A merged trace.

    paths: of its files. options: that it was merged by.
    """

    data: bytes
    report: tt.MergeReport
    paths: list[Path]
    options: dict[str, Any]

    @property
    def packets(self) -> Any:
        return packets_of(self.data)

    def slices(self) -> pa.Table:
        with opened(self.data) as trace:
            return trace.slices().read_all()

    def rows(self) -> list[Event]:
        """The placed rows by Perfetto's rule, but for packets that no file has."""
        with opened(self.data) as trace:
            return [row for row in placed(trace.read_all()) if row[1] not in LEFT_OUT]

    @contextmanager
    def joined(self) -> Iterator[MergedTraces]:
        options = dict(self.options)
        reading = {"domains": options.pop("domains", ())}
        with MergedTraces(self.paths, reading=reading, **options) as joined:
            yield joined


def placed(table: pa.Table) -> list[Event]:
    rows = zip(
        *(table[name].to_pylist() for name in ("kind", "payload", "trace_time")), strict=True
    )
    return [(kind, payload or "", time) for kind, payload, time in rows if time is not None]


def merged(folder: Path, files: dict[str, bytes | str], **options: Any) -> Merged:
    """Merge files of these names and contents."""
    paths = []
    for name, content in files.items():
        path = folder / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        paths.append(path)
    return merged_paths(folder, paths, **options)


def merged_paths(folder: Path, paths: list[Path], **options: Any) -> Merged:
    out = folder / "merged.pftrace"
    report = tt.merge(paths, out, **options)
    return Merged(out.read_bytes(), report, paths, options)


def wanted(joined: MergedTraces) -> list[Event]:
    """Where the events of all files are, by the graph of all, one conversion an event."""
    return [event for file in joined.files for event in wanted_of(joined, file.number)]


def wanted_of(joined: MergedTraces, number: int) -> list[Event]:
    """The same of one file; what the graph does not place goes with the trace clock of the file."""
    trace, target = joined.files[number].trace, target_of(joined)
    indexes = {machine: index for index, machine in enumerate(trace.machines)}
    incremental = {info.clock for info in trace.clocks.clocks() if info.incremental}
    made = []
    for columns in trace.placed_columns("floor"):
        table = record_batch(columns, trace.vocabulary, schema_of("floor"))
        for row, source_ns in zip(table.to_pylist(), columns["source_ns"], strict=True):
            if row["payload"] in LEFT_OUT:
                continue
            clock = ClockId(row["clock"], row["sequence"], indexes.get(row["machine"], 0))
            time = None
            may_be = BY_TUBE[: 1 if clock in incremental else None]
            if row["status"] in may_be:
                time = on_target(joined, int(source_ns), joined.boots.clock(number, clock), target)
            if time is None and row["trace_time"] is not None:
                time = on_target(joined, row["trace_time"], joined.home(number), target)
            if time is not None and time >= 0:
                made.append((row["kind"], row["payload"] or "", time))
    return made


def on_target(joined: MergedTraces, ns: int, clock: ClockId, target: ClockId) -> int | None:
    if clock == target:
        return ns
    try:
        tubes = joined.graph.tubes
        reached = tubes.convert(np.array([ns]), clock, target, "estimated", lambda _: None)[0]
    except ConversionError:
        return None
    return int(reached.estimate[0]) if reached.status[0] in tt.errors.PLACED else None
