"""What a merge found: of each file what ties it, where its clock lies, and how far off."""

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
from tracetime.merging.alignment import LEAST
from tracetime.merging.boots import BootDecision
from tracetime.merging.drift import Jumps
from tracetime.merging.evidence_between import evidence_between, instants_of
from tracetime.merging.joined import JoinedTraces
from tracetime.merging.manifest_reading import Attribute
from tracetime.merging.manifest_ties import manifests
from tracetime.merging.message_ties import MessageRule, ties_nothing
from tracetime.merging.pair_evidence import PairEvidence
from tracetime.merging.shared_pids import SharedPid, shared_pids
from tracetime.merging.steps import ClockStep, clock_steps
from tracetime.merging.suspends import Suspend, suspends
from tracetime.merging.ties import Tie
from tracetime.merging.untied import advice, looked_for
from tracetime.merging.written import WrittenTrace
from tracetime.text import printable

if TYPE_CHECKING:
    from tracetime.clocks.json_types import Count

Values = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FileReport:
    """Where one file lies on the timeline.

    Attributes:
        name: the end of its path that tells it from the others.
        clock: its trace clock, among the clocks of all files.
        ties: what ties it to other files.
        offset_ns: the timeline's clock less its trace clock, in its middle; null: not tied.
        drift_ppm: how much faster the timeline's clock runs over it, where neither jumped; null
            where nothing says.
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
    """What `merge` found before it wrote anything.

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
                raise UsageError(f"nothing ties {name} to {first}: {file.advice}")
            if file.why_not is not None:
                on = "" if self.trace_time is None else f" on {self.trace_time}"
                raise UsageError(f"{printable(file.name)} has no place{on}: {file.why_not}")


def report_of(joined: JoinedTraces, explain: tuple[str, str] | None = None) -> MergeReport:
    """Measure where each file lies on the timeline.

    Args:
        explain: two files of which the evidence is told.

    Raises:
        UsageError: there are no such two files.
    """
    contradictions, found = joined.clocks.inconsistencies(), _of_orders(joined)
    wrong = [one for one in found if one.kind == "wrong_order"]
    steps, slept = tuple(clock_steps(joined, found)), tuple(suspends(joined))
    jumps = Jumps(joined, steps, slept)
    return MergeReport(
        joined.timeline,
        tuple(_file(joined, file.number, jumps) for file in joined.files),
        tuple(joined.boots.decisions),
        tuple(contradictions),
        tuple(wrong),
        steps,
        slept,
        tuple(_without_ties(joined)),
        tuple(shared_pids(joined)),
        None
        if explain is None
        else evidence_between(joined, explain, jumps, contradictions, wrong),
        reference=joined.reference.file,
        trace_time=_trace_time(joined),
        attributes=tuple(one for found, _ in manifests(joined.files) for one in found.attributes),
        left_out=tuple(joined.left_out),
    )


def _trace_time(joined: JoinedTraces) -> str | None:
    """The clock that a manifest chooses, and whose it is; None where none does."""
    file, clock, is_given = joined.reference
    if not is_given:
        return None
    of = joined.files[file]
    name = of.machine_names.get(clock.machine)
    machine = "" if name is None else f" ({printable(name)})"
    return f"{of.trace.clocks.name(clock)} of {printable(of.name)}{machine}"


def _of_orders(joined: JoinedTraces) -> list[PairDiscontinuity]:
    """What contradicts, of the clocks that orders tie; others need no tube for that."""
    graph = joined.graph
    with graph.lock:
        return list(graph.tubes.discontinuities(graph.state.orders.pairs()))


def _without_ties(joined: JoinedTraces) -> Iterator[str]:
    """The rules that the caller gave in vain."""
    for text, rule in joined.given.items():
        if isinstance(rule, MessageRule):
            messages = joined.messages[rule]
            if not messages.ties:
                why = ties_nothing(joined.files, rule, messages)
                yield f"--match {printable(text)}: {why}"
            continue
        together = joined.together[rule]
        if not together.ties:
            found = f"{sum(together.counts)} slices in all {len(joined.files)} files"
            yield f"--together {printable(text)}: {found}; it takes {LEAST} alike in two of them"


def _file(joined: JoinedTraces, number: int, jumps: Jumps) -> FileReport:
    truncated = joined.files[number].trace.truncated
    found = _placed(joined, number, jumps)
    return found if truncated is None else replace(found, truncated=str(truncated))


def _placed(joined: JoinedTraces, number: int, jumps: Jumps) -> FileReport:
    file, home = joined.files[number], joined.home(number)
    ties = tuple(joined.ties_of(number))
    if file.span is None:
        why_not = "it has no event on its trace clock"
        return FileReport(file.name, home, ties, why_not=why_not, empty=True)
    times = instants_of(file.span)
    try:
        bounds, known = _bounds(joined, times, home)
    except ConversionError as error:
        if number in joined.tied:
            return FileReport(file.name, home, ties, why_not=str(error))
        return FileReport(
            file.name,
            home,
            ties,
            why_not="its ties lead to other files" if ties else "none of what ties files was found",
            looked_for=looked_for(joined, number),
            advice=advice(joined.files[joined.reference.file], file),
        )
    times, twice = times[known], int((~known).sum())
    offsets = bounds.estimate - times
    middle = int(offsets[len(times) // 2])
    widths = bounds.latest - bounds.earliest
    ends = np.iinfo(np.int64)
    is_open = bool((bounds.earliest == ends.min).any() or (bounds.latest == ends.max).any())
    half = None if is_open else (widths + 1) // 2
    ends_of = number, joined.reference.file
    return FileReport(
        file.name,
        home,
        ties,
        offset_ns=middle,
        drift_ppm=jumps.drift_ppm(times, bounds.estimate, joined.timeline, ends_of),
        constant_error_ns=int(np.max(np.abs(offsets - middle))),
        half_width_ns=None if half is None else int(np.median(half)),
        worst_half_width_ns=None if half is None else int(np.max(half)),
        read_twice=twice,
    )


def _bounds(
    joined: JoinedTraces, times: Values, home: ClockId
) -> tuple[Bounds[Values, Values], npt.NDArray[np.bool_]]:
    """Times of a file on the timeline, and which of them its clock read once.

    Raises:
        ConversionError: there is no such time, or none that the clock read once.
    """
    try:
        return _convert(joined, times, home), np.ones(len(times), dtype=bool)
    except ConversionError as error:
        if error.reason != "ambiguous_source":
            raise
        estimate = joined.clocks.convert(times, home, joined.timeline, policy="tube", errors="mask")
        known = estimate.is_valid().to_numpy(zero_copy_only=False)
        if not known.any():
            raise
        return _convert(joined, times[known], home), known


def _convert(joined: JoinedTraces, times: Values, home: ClockId) -> Bounds[Values, Values]:
    return joined.clocks.convert(times, home, joined.timeline, policy="tube", bounds=True)
