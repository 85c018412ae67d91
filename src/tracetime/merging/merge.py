"""The verb `merge`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from tracetime.errors import UsageError
from tracetime.merging.joined import JoinedTraces
from tracetime.merging.manifest import write_archive
from tracetime.merging.report import MergeReport, report_of


def merge(  # noqa: PLR0913  the options of the command
    inputs: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None,
    *,
    sync: Iterable[str] = (),
    match: Iterable[str] = (),
    together: Iterable[str] = (),
    same: Iterable[str] = (),
    different: Iterable[str] = (),
    before_writing: Callable[[MergeReport], None] | None = None,
) -> MergeReport:
    """Put traces of several files on one timeline, say how far off each may be, and write them.

    Args:
        inputs: paths of traces and archives, of any format: two traces or more.
        out: path of a zip archive of the inputs, byte for byte, with a perfetto_manifest that has
            a constant offset for each; None to write nothing.
        sync: offsets that are known, each `A:CLOCK=B:CLOCK+OFFSET+-HALF`: when CLOCK of file B
            reads t, that of file A reads t + OFFSET, give or take HALF.
        match: which events are messages between files, each `send=EVENT recv=EVENT key=ARG,ARG`.
        together: which slices no file leaves before all have entered them, each
            `name=SLICE key=ARG,ARG`. The collectives of PyTorch are found without it.
        same, different: pairs of files, `A,B`, that are of one boot of one machine, or are not.
        before_writing: called with the report before anything is written, or found unfit for it.

    Raises:
        UsageError: fewer than two traces; an option that cannot be read; with `out`, a file that
            nothing ties to the first, or that Perfetto cannot place by a manifest.
        TraceError: a file is damaged. Whatever is raised, nothing is left of the output.
    """
    if out is not None and not os.fspath(out).endswith(".zip"):
        raise UsageError(f"{os.fspath(out)!r} does not end in .zip: merge writes an archive")
    with JoinedTraces(
        inputs, sync=sync, match=match, together=together, same=same, different=different
    ) as joined:
        report = report_of(joined)
        if before_writing is not None:
            before_writing(report)
        if out is not None:
            write_archive(joined, report, out)
        return report
