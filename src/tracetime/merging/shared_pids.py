"""Pids that name two processes, in files that the caller says to be of one boot."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from tracetime.merging.files import MergedFile, of_file
from tracetime.merging.merged_traces import MergedTraces

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count


class SharedPid(NamedTuple):
    """A pid that is one process in one file, and another in the other.

    Attributes:
        one: the number of a file, from 0.
        other: the number of the other.
        pid: the number of both processes.
        one_name: what the one file calls it.
        other_name: what the other file calls it.
    """

    one: Count
    other: Count
    pid: int
    one_name: str
    other_name: str


def shared_pids(traces: MergedTraces) -> Iterator[SharedPid]:
    """The pids to which two files of one boot, as the caller says, give no common name.

    Within a boot a number is used again, and a process changes its name: where the files prove
    that, names say nothing.

    Raises:
        TraceError: a file is damaged.
    """
    known: dict[int, dict[int, set[str]]] = {}
    for pair in traces.boots.given:
        one, other = sorted(pair)
        for number in (one, other):
            if number not in known:
                known[number] = _names(traces.files[number])
        for pid in sorted(known[one].keys() & known[other].keys()):
            here, there = known[one][pid], known[other][pid]
            if not here & there:
                yield SharedPid(one, other, pid, min(here), min(there))


def _names(file: MergedFile) -> dict[int, set[str]]:
    """The names of each process of the first machine, by pid."""
    with of_file(file.name):
        table = file.trace.sql(
            "select distinct pid, process_name from events where pid is not null "
            f"and process_name is not null and machine = {file.home.machine}"
        )
    names: dict[int, set[str]] = {}
    for pid, name in zip(*(column.to_pylist() for column in table.columns), strict=True):
        names.setdefault(pid, set()).add(name)
    return names
