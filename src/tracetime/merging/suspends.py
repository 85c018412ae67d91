"""Suspends of the machines that were recorded: bars to other machines are not carried over one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracetime.merging.merged_traces import MergedTraces

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


class Suspend(NamedTuple):
    """A suspend of the machine of a file, as its own BOOTTIME and MONOTONIC show.

    Attributes:
        file: the number of the first file of that machine, from 0.
        from_ns: it was after this reading of the file's trace clock.
        to_ns: it was before this reading of that clock.
    """

    file: Count
    from_ns: int
    to_ns: int


def suspends(traces: MergedTraces) -> Iterator[Suspend]:
    """The suspends of each machine that a file was recorded on, where there are other machines."""
    clocks = {info.clock for info in traces.graph.clocks()}
    if len({clock.machine for clock in clocks}) < 2:
        return
    seen = set()
    graph = traces.graph
    for file in traces.files:
        home = traces.home(file.number)
        if home in clocks and home.machine not in seen:
            seen.add(home.machine)
            with graph.lock:
                zones = graph.tubes.suspends(home)
            yield from (Suspend(file.number, *zone) for zone in zones)
