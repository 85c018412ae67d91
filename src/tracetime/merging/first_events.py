"""Files that are aligned at an event which they have in common: the first of a name in each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from tracetime.clocks.snapshot import Snapshot
from tracetime.errors import UsageError
from tracetime.graph.adding import add_snapshot
from tracetime.graph.graph import Graph
from tracetime.merging.boots import Boots
from tracetime.merging.files import MergedFile
from tracetime.merging.ties import Tie
from tracetime.text import of_file, printable


class _Instant(NamedTuple):
    """The time of an event on the trace clock of its file, and how far off that can be, ns.

    of: so many of its name there are.
    """

    time_ns: int
    half_ns: int
    of: int


def add_first_events(
    graph: Graph, files: Sequence[MergedFile], boots: Boots, name: str
) -> list[Tie]:
    """Tie each file to the first one: the first event of that name happened in both at once.

    It is one instant alone: away from it, bars grow by the drift of the clocks.

    Raises:
        UsageError: a file has no such event that the tube places within two bounds, or is of one
            boot with the first file.
        TraceError: a file is damaged.
    """
    ours, ties = _first(files[0], name), []
    for file in files[1:]:
        theirs = _first(file, name)
        here, there = (boots.clock(one.number, one.home) for one in (files[0], file))
        if here == there:
            raise UsageError(
                f"{files[0].name} and {file.name} have one clock, so that no event aligns them: "
                "say that they are different"
            )
        first = graph.state.version[0]
        halves = {there: ours.half_ns + theirs.half_ns}
        reads = {here: ours.time_ns, there: theirs.time_ns}
        add_snapshot(graph, Snapshot(reads, reference=here, half_width_ns=halves))
        snapshots = range(first, graph.state.version[0])
        words = f"the first {printable(name)!r} in both"
        if max(ours.of, theirs.of) > 1:
            words += f", of {ours.of:,} and {theirs.of:,}: you vouch that they are one instant"
        ties.append(Tie(files[0].number, file.number, "sync", 1, words, snapshots=snapshots))
    return ties


def _first(file: MergedFile, name: str) -> _Instant:
    found, of = None, 0
    with of_file(file.name):
        for batch in file.trace.events("tube", names=True):
            named = pc.equal(batch["name"].cast(pa.string()), name)
            rows = batch.filter(named).select(["trace_time", "earliest", "latest"])
            for time, earliest, latest in zip(*(c.to_pylist() for c in rows.columns), strict=True):
                if None in (time, earliest, latest):
                    continue
                of += 1
                if found is None or time < found[0]:
                    found = time, max(time - earliest, latest - time)
    if found is None:
        raise UsageError(
            f"{file.name} has no event {printable(name)!r} with an error bar: `tracetime sql "
            "FILE` says which names it has (select name, count(*) from events group by 1)"
        )
    return _Instant(*found, of)
