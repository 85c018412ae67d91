"""Many traces as one data set: converted and examined on all cores, and only where they changed.

A data set is a directory, or a URL of fsspec. Its tables are directories of Parquet files with one
schema, a file for each trace; the column `trace` says which. docs/howto/fleet.md has the layout.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tracetime.errors import UsageError
from tracetime.fleet.figures import DataSetSummary
from tracetime.fleet.options import Options
from tracetime.fleet.part import convert_one
from tracetime.fleet.pool import run_in_pool, start_quiet_tracker
from tracetime.fleet.run import Engine, FleetSummary, Progress, run
from tracetime.trace.open_options import OpenOptions

if TYPE_CHECKING:
    from tracetime.graph.arguments import PolicyName
    from tracetime.graph.tube.results import Bars

__all__ = [
    "MEMORY",
    "DataSetSummary",
    "FleetSummary",
    "Progress",
    "convert",
    "doctor",
    "slices",
    "summary",
    "summary_page",
]

MEMORY: Final = 2 << 30
"""Bytes that a worker may take for a trace, unless another limit is given."""

Uris = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


def convert(  # noqa: PLR0913  the options of the command
    uris: Uris,
    out: str | os.PathLike[str],
    *,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    to: str | None = None,
    names: bool = False,
    address: str | None = None,
    workers: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> FleetSummary:
    """Write every event of many traces to the table `events` of a data set.

    What the data set has of a trace stays where neither the trace nor the options have changed. A
    trace that cannot be read is rejected, with its error in a file, and the others are converted.

    Processes are started: a script that calls this does so below `if __name__ == "__main__":`.

    Args:
        uris: paths, patterns, directories, `@` and a file that lists these, or URLs that fsspec
            opens; one or many. A directory stands for all files below it.
        out: the data set, a directory or a URL of one.
        policy, bars, to, names: as of `tracetime convert`; the same for all parts of a data set.
        address: of a cluster of Ray, whose workers are used instead of processes of this machine's
            own: HOST:PORT, "auto" for the one that this machine belongs to, "local" to start one.
        workers: traces in work at once; by default one for each CPU that this process may use, or
            of the cluster.
        memory: bytes that each may take, beyond what its process needs to start. Enforced on Linux:
            a trace that needs more is rejected.
        progress: called after each trace.
        reading: how traces are opened: options of `open_trace`.

    Returns:
        What was done.

    Raises:
        UsageError: no traces; the data set has parts with other options, or cannot be written; Ray
            is not installed, or cannot be used at this address.
    """
    options = Options("events", policy, bars, to, names, reading=_opening(reading))
    return _run(uris, out, options, _engine(address, workers, memory), progress)


def slices(  # noqa: PLR0913  the options of the command
    uris: Uris,
    out: str | os.PathLike[str],
    *,
    policy: PolicyName = "floor",
    bars: Bars = "estimated",
    address: str | None = None,
    workers: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> FleetSummary:
    """Write every slice of many traces to the table `slices` of a data set; see `convert`."""
    options = Options("slices", policy, bars, reading=_opening(reading))
    return _run(uris, out, options, _engine(address, workers, memory), progress)


def doctor(
    uris: Uris,
    out: str | os.PathLike[str],
    *,
    tolerance_ns: int | None = None,
    address: str | None = None,
    workers: int | None = None,
    memory: int = MEMORY,
    progress: Callable[[Progress], None] | None = None,
    **reading: Any,
) -> FleetSummary:
    """Write the findings on the clocks of many traces to the table `findings`; see `convert`.

    The table `clocks` beside it says how they run.

    Args:
        tolerance_ns: by how much events may be misplaced before that is an error; by default that
            of `diagnose`.
        uris, out, address, workers, memory, progress, reading: as of `convert`. A trace that is cut
            off is a finding, and not rejected.
    """
    from tracetime.doctor import TOLERANCE_NS

    tolerance = TOLERANCE_NS if tolerance_ns is None else tolerance_ns
    opening = _opening({"partial": True, **reading})
    options = Options("findings", tolerance_ns=tolerance, reading=opening)
    return _run(uris, out, options, _engine(address, workers, memory), progress)


def summary(
    dataset: str | os.PathLike[str], *, against: str | os.PathLike[str] | None = None
) -> DataSetSummary:
    """Sum up how the clocks of many traces run, by model of machine and pair of clocks.

    Args:
        dataset: with the tables that `doctor` makes.
        against: another data set: `comparison` then says what is worse than there.

    Raises:
        UsageError: a data set is not there, lacks one of the tables, or is damaged.
    """
    from tracetime.fleet.summary_queries import summary_of

    return summary_of(dataset, against)


def summary_page(summary: DataSetSummary, path: str | os.PathLike[str]) -> int:
    """Write a summary as one HTML file that needs nothing else; return its size, bytes.

    Raises:
        UsageError: the file cannot be written.
    """
    from tracetime.fleet.summary_html import write_page

    return write_page(summary, path)


def _opening(reading: dict[str, Any]) -> OpenOptions:
    return OpenOptions(**{**reading, "domains": tuple(reading.get("domains", ()))})


def _run(
    uris: Uris,
    out: str | os.PathLike[str],
    options: Options,
    engine: Engine,
    progress: Callable[[Progress], None] | None,
) -> FleetSummary:
    many = [uris] if isinstance(uris, (str, os.PathLike)) else uris
    paths = [os.fspath(one) for one in many]
    return run(paths, os.fspath(out), options, engine, convert_one, progress)


def _engine(address: str | None, workers: int | None, memory: int) -> Engine:
    """The engine that calls the function of one trace: a pool of processes, or Ray."""
    if workers is not None and workers < 1:
        raise UsageError(f"workers is {workers}: use 1 or more")
    if address is None:
        start_quiet_tracker()
        return partial(run_in_pool, workers=workers or default_workers(), memory=memory)
    from tracetime.fleet.ray_tasks import LOCAL, run_in_ray

    if address == LOCAL:
        workers = workers or default_workers()
    return partial(run_in_ray, address=address, workers=workers, memory=memory)


def default_workers() -> int:
    """The default number of workers: one for each CPU that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
