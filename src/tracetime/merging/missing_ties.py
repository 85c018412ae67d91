"""Files without ties: the evidence that was looked for, and advice to the caller."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import product
from typing import Final

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.errors import ConversionError, UsageError
from tracetime.merging.boot_runs import runs, stretches_of
from tracetime.merging.collectives import why_not_together
from tracetime.merging.files import MergedFile
from tracetime.merging.merged_traces import MergedTraces, machine_of
from tracetime.merging.message_ties import why_no_messages
from tracetime.text import printable

_REALTIME: Final = BUILTIN_IDS["REALTIME"]


def missing_ties(traces: MergedTraces, number: int) -> tuple[str, ...]:
    """The evidence that could have tied a file to that of the timeline, each with why not."""
    return tuple(_missing_ties(traces, number))


def _missing_ties(traces: MergedTraces, number: int) -> Iterator[str]:
    first, file = traces.files[traces.reference.file], traces.files[number]
    decision = traces.boots.decision(first.number, number)
    why = decision.reason
    if decision.same:
        names = [printable(f.name) for f in (first, file) if not f.has_kernel_clock]
        why = f"{why}, but there is no clock of the kernel's in {' and '.join(names)}"
    yield f"one boot: {why}"
    for here, there in _separate_stretches(first, file):
        yield (
            f"one boot: {printable(machine_of(first, here))} and "
            f"{printable(machine_of(file, there))} are of one boot, but of other times: the "
            "machine slept in between, or may have, which BOOTTIME may count wrongly: ask it while "
            "it records"
        )
    for which in (first, file):
        if which.number in traces.wall_clocks:
            yield f"wall clocks: {printable(which.name)}: {traces.wall_clocks[which.number]}"
    for together, found in traces.together.items():
        if together.name is not None or "collectives" in first.trace.shares & file.trace.shares:
            yield f"collectives: {why_not_together(first, file, together, found)}"
    if "calls" in first.trace.shares & file.trace.shares:
        yield "spans: none has its parent in the other file"
    elif not traces.messages:
        yield "messages: none are known by themselves in files of these formats; see --match"
    for rule, messages in traces.messages.items():
        yield f"messages: {why_no_messages(first, file, rule, messages.counts)}"


def _separate_stretches(one: MergedFile, other: MergedFile) -> Iterator[tuple[int, int]]:
    """The machines of two files that are of one boot, but not of one time."""
    ours, theirs = stretches_of(one), stretches_of(other)
    for (here, boot), (there, its) in product(one.trace.boots.items(), other.trace.boots.items()):
        homes = here == one.home.machine, there == other.home.machine
        if boot == its and not all(homes):
            stretches = ours[here], theirs[there]
            known = all(stretch.span is not None for stretch in stretches)
            if known and len(set(runs(dict(enumerate(stretches))).values())) > 1:
                yield here, there


def advice(one: MergedFile, other: MergedFile) -> str:
    """The options of `merge` that would tie two files, a line for each case."""
    first, second = one.name, other.name
    names = printable(shlex.quote(f"{first},{second}"))
    wall = _has_realtime(one) and _has_realtime(other)
    here, there = ("REALTIME",) * 2 if wall else (_clock(one), _clock(other))
    sync = printable(shlex.quote(f"{first}:{here}={second}:{there}+0ms+-10ms"))
    lines = [
        f"if you know how far apart two of their clocks are: --sync {sync} with your numbers",
        f"  (when {there} of {printable(second)} reads t, {here} of {printable(first)} reads t + "
        "0 ms, give or take 10 ms: you vouch for it)",
        "if one event is in both: --at NAME",
        "if they exchange messages or take part in collectives: --match or --together",
    ]
    if wall:
        lines.insert(0, "if their wall clocks are within 20 ms of UTC: --assume-wall-clock 20ms")
    if one.has_kernel_clock and other.has_kernel_clock:
        lines.insert(0, f"if they are of one boot of one machine: --same {names}")
    return "\n  ".join(lines)


def _has_realtime(file: MergedFile) -> bool:
    if file.home.machine:
        return False
    clock = ClockId(_REALTIME)
    if clock == file.home:
        return True
    try:
        # By floor: a tube takes ms, and there may be thousands of files.
        file.trace.clocks.path(file.home, clock)
    except ConversionError:
        return False
    return True


def _clock(file: MergedFile) -> str:
    """The text of a file's trace clock for --sync: its name where that can be parsed."""
    graph, text = file.trace.clocks, str(file.home)
    name = graph.name(file.home)
    try:
        return name if graph.clock(name) == file.home and not set(name) & set(":=+-") else text
    except UsageError:
        return text
