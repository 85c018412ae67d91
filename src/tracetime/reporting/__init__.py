"""`report`: one HTML file on the clocks of a trace.

`facts.py` measures what the report says; `page.py`, `sections.py` and `pairs.py` write it as HTML;
`figures.py` and `plot.py` draw. The file contains all it needs, BokehJS included.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from tracetime.atomic_file import file_target, whole_file
from tracetime.doctor import TOLERANCE_NS, Finding
from tracetime.text import printable
from tracetime.trace.trace import Trace, check_trace

__all__ = ["Report", "report"]


class Report(NamedTuple):
    """The path and the size of a report that was written.

    Attributes:
        path: of the file.
        size: of the file, bytes.
        findings: the doctor's, worst first.
        pairs: names (reference, clock) of the pairs that have a picture.
        left_out: names of the clocks that have none.
        verdict: the findings in a sentence, without its full stop.
    """

    path: str
    size: int
    findings: list[Finding]
    pairs: list[tuple[str, str]]
    left_out: list[str]
    verdict: str

    def __repr__(self) -> str:
        return f"<Report {printable(self.path)}: {self.verdict}>"


def report(trace: Trace, path: str | os.PathLike[str], tolerance_ns: int = TOLERANCE_NS) -> Report:
    """Write a report on the clocks of a trace: one HTML file that needs nothing else.

    Args:
        trace: as `open_trace` gives it; read from its start.
        path: of the file, which is replaced if it exists; `-` is an ordinary name.
        tolerance_ns: as in `diagnose`.

    Raises:
        UsageError: Bokeh is not installed (`pip install 'tracetime[report]'`), the file cannot
            be written, or `trace` is no open trace.
        TraceError: the trace cannot be read.
    """
    from tracetime.reporting.facts import gather
    from tracetime.reporting.models import check_bokeh
    from tracetime.reporting.page import page

    # Errors of Bokeh and of the path come before the trace is read.
    check_bokeh()
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
        [(graph.name(pair.reference), graph.name(pair.clock)) for pair in facts.pictured],
        facts.left_out,
        facts.verdict,
    )
