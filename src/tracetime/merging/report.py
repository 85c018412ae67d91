"""The report of a merge: the ties of each file, its offset, and the half-width of its bar."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.clocks.json_facts import Document, as_json
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.tube.results import Bounds, Inconsistency, PairDiscontinuity
from tracetime.graph.values import Values
from tracetime.merging.alignment import LEAST
from tracetime.merging.boots import BootDecision
from tracetime.merging.evidence_between import evidence_between, instants_of
from tracetime.merging.files import MergedFile
from tracetime.merging.manifest_reading import Attribute
from tracetime.merging.manifest_ties import manifests
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.message_ties import MessageRule, ties_nothing
from tracetime.merging.missing_ties import advice, missing_ties
from tracetime.merging.output_report import WrittenTrace
from tracetime.merging.pair_evidence import PairEvidence
from tracetime.merging.steps import ClockJumps, ClockStep, Suspend, clock_steps, suspends
from tracetime.merging.ties import Tie
from tracetime.text import of_file, printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

# Pids that name two processes, in files that the caller says to be of one boot.


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
            f"and process_name is not null and machine = {file.home.machine} "
            # PyTorch names the processes of GPUs that it has no event of.
            "and kind <> 'metadata'"
        )
    names: dict[int, set[str]] = {}
    for pid, name in zip(*(column.to_pylist() for column in table.columns), strict=True):
        names.setdefault(pid, set()).add(name)
    return names


@dataclass(frozen=True, slots=True)
class FileReport:
    """The place of one file on the timeline.

    Attributes:
        name: the end of its path that tells it from the others.
        clock: its trace clock, among the clocks of all files.
        ties: what ties it to other files.
        offset_ns: the timeline's clock less its trace clock, in its middle; null: not tied.
        drift_ppm: how much faster the timeline's clock runs over it, where neither jumped; null
            where nothing says.
        drift_half_ppm: half the bar of that drift, by the bars at both ends; null: open, or all of
            the file is one instant.
        constant_error_ns: how far the estimate strays from that offset at most, ns.
        half_width_ns: half the bar, the median over it; null: open.
        worst_half_width_ns: half the bar at worst; null: open.
        read_twice: how many of 257 instants its clock, which was set back, may have read twice.
        why_not: why it has no place; null where it has one.
        looked_for: what could have tied it, and why it did not.
        advice: which options would tie it; null where it is tied.
        empty: whether it has no event on its trace clock: nothing of it is written.
        truncated: why the rest of it was not read; null where all of it was.
    """

    name: str
    clock: ClockId
    ties: tuple[Tie, ...]
    offset_ns: int | None = None
    drift_ppm: float | None = None
    drift_half_ppm: float | None = None
    constant_error_ns: Count | None = None
    half_width_ns: Count | None = None
    worst_half_width_ns: Count | None = None
    read_twice: Count = 0
    why_not: str | None = None
    looked_for: tuple[str, ...] = ()
    advice: str | None = None
    empty: bool = False
    truncated: str | None = None


class WrongOrder(NamedTuple):
    """A message or collective that ends before it begins.

    Attributes:
        src: the one clock.
        dst: the other clock.
        at_ns: when, on src.
        size_ns: by how much too early, at least; null where the bar is open.
    """

    src: ClockId
    dst: ClockId
    at_ns: int
    size_ns: Count | None


@as_json(
    "clock files boots contradictions _wrong_orders steps suspends without_ties shared_pids "
    "explained written reference trace_time attributes left_out"
)
@dataclass(frozen=True, slots=True)
class MergeReport(Document):
    """The report of `merge`, made before it writes anything.

    Attributes:
        clock: that of the timeline, which offsets are to: the trace clock of the first file, unless
            a manifest chooses another.
        files: the files, in the order of the arguments.
        boots: what ties the files of each boot of one machine, and why the first is not of others.
        contradictions: loops of clocks whose evidence disagrees.
        wrong_orders: messages and collectives that end before they begin, beyond the bars.
        steps: clocks that were set while they were recorded.
        suspends: machines that slept while they were recorded: bars to others end there.
        without_ties: the rules of --match and --together that tie no files.
        shared_pids: of files that are said to be of one boot: numbers that are two processes.
        explained: with --explain, the evidence between two files; else null.
        written: the Perfetto trace that was written; null without one.
        reference: the number of the file that the timeline's clock is of.
        trace_time: what a manifest chooses for the timeline, in words; null where none does.
        attributes: what manifests say of their archives.
        left_out: what archives have that is no trace.
    """

    clock: ClockId
    files: tuple[FileReport, ...]
    boots: tuple[BootDecision, ...]
    contradictions: tuple[Inconsistency, ...]
    wrong_orders: tuple[PairDiscontinuity, ...]
    steps: tuple[ClockStep, ...]
    suspends: tuple[Suspend, ...] = ()
    without_ties: tuple[str, ...] = ()
    shared_pids: tuple[SharedPid, ...] = ()
    explained: PairEvidence | None = None
    written: WrittenTrace | None = None
    reference: Count = 0
    trace_time: str | None = None
    attributes: tuple[Attribute, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def _wrong_orders(self) -> list[WrongOrder]:
        """Messages and collectives that end before they begin, beyond the bars."""
        return [
            WrongOrder(one.src, one.dst, one.a_from, one.size_ns and min(map(abs, one.size_ns)))
            for one in self.wrong_orders
        ]

    @property
    def is_tied(self) -> bool:
        """Whether every file has a place on the timeline."""
        return all(file.why_not is None or file.empty for file in self.files)

    def check_tied(self) -> None:
        """Raise UsageError where a file has no place on the timeline, with what to do."""
        first = printable(self.files[self.reference].name)
        if all(file.empty for file in self.files):
            raise UsageError("none of the files has an event on its trace clock: nothing to merge")
        if not self.is_tied and self.files[self.reference].empty:
            which = "the first file" if self.trace_time is None else "which has the trace time"
            raise UsageError(
                f"{first}, {which}, has no event on its trace clock, and nothing ties others to "
                "it: give a file with events first"
            )
        for file in self.files:
            if file.empty:
                continue
            if file.advice is not None:
                name = printable(file.name)
                raise UsageError(f"nothing ties {name} to {first}:\n  {file.advice}")
            if file.why_not is not None:
                on = "" if self.trace_time is None else f" on {self.trace_time}"
                raise UsageError(f"{printable(file.name)} has no place{on}: {file.why_not}")


def report_of(traces: MergedTraces, explain: tuple[str, str] | None = None) -> MergeReport:
    """Measure where each file lies on the timeline.

    Args:
        explain: two files of which the evidence is told.

    Raises:
        UsageError: there are no such two files.
    """
    contradictions, found = traces.clocks.inconsistencies(), _order_discontinuities(traces)
    wrong = [one for one in found if one.kind == "wrong_order"]
    steps, suspended = tuple(clock_steps(traces, found)), tuple(suspends(traces))
    jumps = ClockJumps(traces, steps, suspended)
    return MergeReport(
        traces.timeline,
        tuple(_file(traces, file.number, jumps) for file in traces.files),
        tuple(traces.boots.decisions),
        tuple(contradictions),
        tuple(wrong),
        steps,
        suspended,
        tuple(_without_ties(traces)),
        tuple(shared_pids(traces)),
        None
        if explain is None
        else evidence_between(traces, explain, jumps, contradictions, wrong),
        reference=traces.reference.file,
        trace_time=_trace_time(traces),
        attributes=tuple(one for found, _ in manifests(traces.files) for one in found.attributes),
        left_out=tuple(traces.left_out),
    )


def _trace_time(traces: MergedTraces) -> str | None:
    """The clock that a manifest chooses, and the file that has it; None where none does."""
    file, clock, is_given = traces.reference
    if not is_given:
        return None
    of = traces.files[file]
    name = of.machine_names.get(clock.machine)
    machine = "" if name is None else f" ({printable(name)})"
    return f"{of.trace.clocks.name(clock)} of {printable(of.name)}{machine}"


def _order_discontinuities(traces: MergedTraces) -> list[PairDiscontinuity]:
    """The discontinuities of the clocks that orders tie; others need no tube for that."""
    graph = traces.graph
    with graph.lock:
        return list(graph.tubes.discontinuities(graph.state.orders.pairs()))


def _without_ties(traces: MergedTraces) -> Iterator[str]:
    """A text for each rule of the caller that ties no files."""
    for text, rule in traces.given.items():
        if isinstance(rule, MessageRule):
            messages = traces.messages[rule]
            if not messages.ties:
                why = ties_nothing(traces.files, rule, messages)
                yield f"--match {printable(text)}: {why}"
            continue
        together = traces.together[rule]
        if not together.ties:
            n = sum(len(side.starts) for side in together.collectives)
            found = f"{n} slices in all {len(traces.files)} files"
            yield f"--together {printable(text)}: {found}; it takes {LEAST} alike in two of them"


def _file(traces: MergedTraces, number: int, jumps: ClockJumps) -> FileReport:
    truncated = traces.files[number].trace.truncated
    found = _place_file(traces, number, jumps)
    return found if truncated is None else replace(found, truncated=str(truncated))


def _place_file(traces: MergedTraces, number: int, jumps: ClockJumps) -> FileReport:
    file, home = traces.files[number], traces.home(number)
    ties = tuple(traces.ties_of(number))
    if file.span is None:
        why_not = "it has no event on its trace clock"
        return FileReport(file.name, home, ties, why_not=why_not, empty=True)
    times = instants_of(file.span)
    try:
        bounds, known = _bounds(traces, times, home)
    except ConversionError as error:
        if number in traces.tied:
            return FileReport(file.name, home, ties, why_not=str(error))
        return FileReport(
            file.name,
            home,
            ties,
            why_not="its ties lead to other files" if ties else "none of what ties files was found",
            looked_for=missing_ties(traces, number),
            advice=advice(traces.files[traces.reference.file], file),
        )
    times, twice = times[known], int((~known).sum())
    offsets = bounds.estimate - times
    middle = int(offsets[len(times) // 2])
    widths = bounds.latest - bounds.earliest
    ends = np.iinfo(np.int64)
    is_open = bool((bounds.earliest == ends.min).any() or (bounds.latest == ends.max).any())
    half = None if is_open else (widths + 1) // 2
    drift = jumps.drift(times, bounds, traces.timeline, (number, traces.reference.file))
    return FileReport(
        file.name,
        home,
        ties,
        offset_ns=middle,
        drift_ppm=drift.ppm,
        drift_half_ppm=drift.half_ppm,
        constant_error_ns=int(np.max(np.abs(offsets - middle))),
        half_width_ns=None if half is None else int(np.median(half)),
        worst_half_width_ns=None if half is None else int(np.max(half)),
        read_twice=twice,
    )


def _bounds(
    traces: MergedTraces, times: Values, home: ClockId
) -> tuple[Bounds[Values, Values], npt.NDArray[np.bool_]]:
    """The bars of times of a file on the timeline, and a mask of those that its clock read once.

    Raises:
        ConversionError: there is no such time, or none that the clock read once.
    """
    try:
        return _convert(traces, times, home), np.ones(len(times), dtype=bool)
    except ConversionError as error:
        if error.reason != "ambiguous_source":
            raise
        estimate = traces.clocks.convert(times, home, traces.timeline, policy="tube", errors="mask")
        known = estimate.is_valid().to_numpy(zero_copy_only=False)
        if not known.any():
            raise
        return _convert(traces, times[known], home), known


def _convert(traces: MergedTraces, times: Values, home: ClockId) -> Bounds[Values, Values]:
    return traces.clocks.convert(times, home, traces.timeline, policy="tube", bounds=True)
