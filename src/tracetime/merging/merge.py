"""The verb `merge`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import replace

from tracetime.clocks.domain import ClockDomain
from tracetime.errors import UsageError
from tracetime.merging.manifest import write_archive
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.perfetto_output import ENDING, write_trace
from tracetime.merging.report import MergeReport, report_of
from tracetime.trace.open_options import MAX_CLOCKS, MAX_EXPANSION, MAX_TUBES, OrderSource
from tracetime.trace.trace import Trace


# long: half of it is its docstring
def merge(  # noqa: PLR0913  the options of the command
    inputs: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    *,
    sync: Iterable[str] = (),
    match: Iterable[str] = (),
    together: Iterable[str] = (),
    same: Iterable[str] = (),
    different: Iterable[str] = (),
    assume_wall_clock: str | None = None,
    explain: tuple[str, str] | None = None,
    partial: bool = False,
    max_expansion: int = MAX_EXPANSION,
    max_clocks: int = MAX_CLOCKS,
    max_tubes: int = MAX_TUBES,
    domains: Iterable[ClockDomain] = (),
    orders: OrderSource | None = None,
    before_writing: Callable[[MergeReport], None] | None = None,
    opened: Callable[[Trace], object] | None = None,
    processes: int = 0,
) -> MergeReport:
    """Put traces of several files on one timeline, say how far off each may be, and write them.

    Args:
        inputs: paths of traces and archives, of any format: two traces or more, or an archive with
            a perfetto_manifest, whose offsets, names of machines and trace time are used.
        out: path of a Perfetto trace (.pftrace) of all events, on BOOTTIME of the first file, or on
            the trace time of a manifest; or of a zip archive (.zip) of the inputs, byte for byte,
            with a perfetto_manifest that has a constant offset for each; None to write nothing.
        sync: offsets that are known, each `A:CLOCK=B:CLOCK+OFFSET+-HALF`: when CLOCK of file B
            reads t, that of file A reads t + OFFSET, give or take HALF. Both have a unit, such as
            `20ms`; OFFSET may be in `ticks` of A's clock.
        match: which events are messages between files, each `send=EVENT recv=EVENT key=ARG,ARG`.
        together: which slices no file leaves before all have entered them, each
            `name=SLICE key=ARG,ARG`. The collectives of PyTorch are found without it.
        same, different: pairs of files, `A,B`, that are of one boot of one machine, or are not.
        assume_wall_clock: how far from UTC any wall clock is at most whose kernel does not say it
            itself, such as `20ms`; nothing checks it. None to assume nothing.
        explain: two files of which the report tells the evidence.
        partial, max_expansion, max_clocks, max_tubes, domains, orders: how each file is read, as
            of `open_trace`.
        before_writing: called with the report before anything is written, or found unfit for it.
        opened: called with each trace once it is open; its `on_read` tells how far it is read.
        processes: how many processes, forked from this one, bake Perfetto traces of 50 MB or more;
            0 for threads. Only for a program without threads of its own, on Linux.

    Raises:
        UsageError: fewer than two traces, without a manifest; an option that cannot be read; with
            `out`, a file that nothing ties to the timeline, or that Perfetto cannot place by a
            manifest.
        TraceError: a file is damaged. Whatever is raised, nothing is left of the output.
    """
    if out is not None and not os.fspath(out).endswith((ENDING, ".zip")):
        raise UsageError(
            f"{os.fspath(out)!r} ends in neither {ENDING}, a Perfetto trace of all events, nor "
            ".zip, an archive of the files with a perfetto_manifest"
        )
    if processes < 0 or (processes and not hasattr(os, "fork")):
        raise UsageError(f"processes={processes}: 0, or more where processes can be forked (Linux)")
    with MergedTraces(
        inputs,
        sync=sync,
        match=match,
        together=together,
        same=same,
        different=different,
        opened=opened,
        assume_wall_clock=assume_wall_clock,
        reading={
            "partial": partial,
            "max_expansion": max_expansion,
            "max_clocks": max_clocks,
            "max_tubes": max_tubes,
            "domains": tuple(domains),
            "orders": orders,
        },
    ) as traces:
        report = report_of(traces, explain)
        if before_writing is not None:
            before_writing(report)
        if out is None:
            return report
        if os.fspath(out).endswith(ENDING):
            return replace(report, written=write_trace(traces, report, out, processes))
        write_archive(traces, report, out)
        return report
