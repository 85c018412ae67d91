"""`report`: one HTML file that shows what the clocks of a trace did.

`gather.py` works out what to tell; `page.py`, `sections.py` and `pairs.py` write it as HTML;
`figures.py` and `graph/plot.py` draw. The file holds all it needs, BokehJS
included, and fetches nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

from tracetime.doctor import TOLERANCE_NS, Finding
from tracetime.errors import UsageError
from tracetime.perfetto.reader import Trace

__all__ = ["Report", "report"]

_TEMPORARY: Final = ".part"


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
        UsageError: Bokeh is not installed (`pip install 'tracetime[report]'`), or the file cannot
            be written.
        TraceError: the trace cannot be read.
    """
    from tracetime.graph.plot import Bokeh
    from tracetime.report.gather import gather
    from tracetime.report.page import page

    # Whoever has no Bokeh is told before the trace is read.
    Bokeh()
    facts = gather(trace, tolerance_ns)
    content = page(facts).encode("utf-8", "backslashreplace")
    target = Path(path)
    half_done = target.with_name(target.name + _TEMPORARY)
    try:
        half_done.write_bytes(content)
        half_done.replace(target)
    except OSError as error:
        half_done.unlink(missing_ok=True)
        raise UsageError(f"cannot write {target}: {error.strerror or error}") from error
    graph = facts.survey.graph
    return Report(
        str(target),
        len(content),
        facts.findings,
        [(graph.name(pair.hub), graph.name(pair.clock)) for pair in facts.pictured],
        facts.left_out,
    )


class _Callable(ModuleType):
    """`tracetime.report` is this package as soon as anything imports it, and a function by name."""

    def __call__(self, *args: Any, **options: Any) -> Report:
        return report(*args, **options)


sys.modules[__name__].__class__ = _Callable
