"""The files that are merged: what each is called, of which boots it is, and when it was taken."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import UsageError
from tracetime.formats import open_traces
from tracetime.formats.perfetto.read.boot_facts import BootFacts, boot_facts
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.text import did_you_mean, printable
from tracetime.trace import Trace

BOOTTIME = ClockId(BUILTIN_IDS["BOOTTIME"])


@dataclass(frozen=True, slots=True)
class MergedFile:
    """One of the traces that are merged.

    Attributes:
        number: from 0, in the order in which they are given.
        name: what options and the report call it: the end of its path, unique among the files.
        trace: open.
        span: trace time of its first and last event, by floor; None without events.
        facts: what it says of its boot.
    """

    number: int
    name: str
    trace: Trace
    span: tuple[int, int] | None
    facts: BootFacts

    @property
    def home(self) -> ClockId:
        """Its trace clock, as the file itself calls it."""
        return self.trace.trace_clock

    @property
    def machines(self) -> set[int]:
        """The machines that its clocks are of."""
        clocks = (info.clock for info in self.trace.clocks.clocks())
        return {self.home.machine, *(clock.machine for clock in clocks)}


def open_files(inputs: Iterable[str | os.PathLike[str]], stack: ExitStack) -> list[MergedFile]:
    """Open the traces of some paths; archives have several. The stack closes them.

    Raises:
        UsageError: fewer than two traces; a file is given twice, or cannot be read.
        TraceError: a file is damaged.
    """
    traces: list[Trace] = []
    for path in _different(inputs):
        for trace in open_traces(path):
            traces.append(stack.enter_context(trace))
    if len(traces) < 2:
        raise UsageError("merging takes two traces or more: give the path of each")
    names = _names([trace.path for trace in traces])
    return [
        MergedFile(number, name, trace, _span(trace), _facts(trace))
        for number, (name, trace) in enumerate(zip(names, traces, strict=True))
    ]


def _different(inputs: Iterable[str | os.PathLike[str]]) -> list[str | os.PathLike[str]]:
    """The paths; raise UsageError where two of them are one file."""
    paths = list(inputs)
    seen: dict[str, str] = {}
    for path in paths:
        real, text = os.path.realpath(path), os.fspath(path)
        if real in seen:
            raise UsageError(
                f"{printable(seen[real])} and {printable(text)} are one file: give each file once"
            )
        seen[real] = text
    return paths


def file_named(files: Sequence[MergedFile], text: str) -> MergedFile:
    """Return the file that an option names: by its name or path.

    Raises:
        UsageError: no file, or several, have it.
    """
    for keys in ((f.name for f in files), (f.trace.path for f in files)):
        found = [file for file, key in zip(files, keys, strict=True) if key == text]
        if len(found) == 1:
            return found[0]
    known = [file.name for file in files]
    near = did_you_mean(text, known) or ": there are " + ", ".join(map(printable, known))
    raise UsageError(f"{printable(text)!r} is none of the files{near}")


def _names(paths: Sequence[str]) -> list[str]:
    """The shortest ends of paths that tell them apart; with a number where nothing does."""
    if len(set(paths)) < len(paths):
        return [f"{path}#{number}" for number, path in enumerate(paths)]
    parts = [Path(path).parts for path in paths]
    for n in range(1, max(map(len, parts)) + 1):
        names = ["/".join(one[-n:]) for one in parts]
        if len(set(names)) == len(names):
            return names
    return list(paths)


def _span(trace: Trace) -> tuple[int, int] | None:
    least: int | None = None
    most: int | None = None
    for batch in trace.events(policy="floor"):
        times = batch.column("trace_time").drop_null().to_numpy(zero_copy_only=False)
        if len(times):
            low, high = int(np.min(times)), int(np.max(times))
            least = low if least is None else min(least, low)
            most = high if most is None else max(most, high)
    return None if least is None or most is None else (least, most)


def _facts(trace: Trace) -> BootFacts:
    return boot_facts(trace) if isinstance(trace, PerfettoTrace) else BootFacts()
