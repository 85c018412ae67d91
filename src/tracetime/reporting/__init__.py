"""`report`: one HTML file that shows what the clocks of a trace did.

`gather.py` works out what to tell; `page.py`, `sections.py` and `pairs.py` write it as HTML;
`figures.py` and `plot.py` draw. The file holds all it needs, BokehJS
included, and fetches nothing.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tracetime.atomic_file import file_target, whole_file
from tracetime.doctor import TOLERANCE_NS, Finding
from tracetime.trace import Trace, check_trace

__all__ = ["Report", "report"]


class Report(NamedTuple):
    """A report that was written.

    Attributes:
        path: of the file.
        size: of it, bytes.
        findings: the doctor's, worst first.
        pairs: (hub, clock) of those that have a picture, as they are called.
        left_out: clocks that have none.
    """

    path: str
    size: int
    findings: list[Finding]
    pairs: list[tuple[str, str]]
    left_out: list[str]


def report(trace: Trace, path: str | os.PathLike[str], tolerance_ns: int = TOLERANCE_NS) -> Report:
    """Write a report on the clocks of a trace: one HTML file that needs nothing else.

    Args:
        trace: as `open_trace` gives it; read from its start.
        path: of the file, replaced if it is there; `-` is no file name here.
        tolerance_ns: as in `diagnose`.

    Raises:
        UsageError: Bokeh is not installed (`pip install 'tracetime[report]'`), the file cannot
            be written, or `trace` is no open trace.
        TraceError: the trace cannot be read.
    """
    from tracetime.reporting.gather import gather
    from tracetime.reporting.page import page
    from tracetime.reporting.plot import Bokeh

    # Whoever has no Bokeh, or names no file, is told before the trace is read.
    Bokeh()
    check_trace(trace)
    target = file_target(path)
    facts = gather(trace, tolerance_ns)
    content = page(facts).encode("utf-8", "backslashreplace")
    with whole_file(target) as part:
        part.write_bytes(content)
    graph = facts.survey.graph
    return Report(
        os.fspath(path),
        len(content),
        facts.findings,
        [(graph.name(pair.hub), graph.name(pair.clock)) for pair in facts.pictured],
        facts.left_out,
    )
