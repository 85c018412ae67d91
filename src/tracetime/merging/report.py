"""What a merge found: of each file what ties it, where its clock lies, and how far off."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Final

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.errors import ConversionError, UsageError
from tracetime.graph.tube.results import Inconsistency, PairDiscontinuity
from tracetime.merging.boots import BootDecision
from tracetime.merging.joined import JoinedTraces
from tracetime.merging.ties import Tie
from tracetime.merging.untied import advice, looked_for
from tracetime.text import printable

_INSTANTS: Final = 257


@dataclass(frozen=True, slots=True)
class FileReport:
    """Where one file lies on the timeline of the first.

    Attributes:
        name: of the file.
        clock: its trace clock, among the clocks of all files.
        ties: what ties it to others.
        offset_ns: the first file's trace clock less this one, in the middle of this file; None
            where nothing ties them.
        drift_ppm: how much faster the first file's clock runs over this file.
        constant_error_ns: how far the estimate strays from that offset at most.
        half_width_ns: half the bar, median and worst over the file; None where a side is open.
        worst_half_width_ns: see there.
        why_not: why it has no place on the first file's clock; None where it has one.
        looked_for: what could have tied it, each with why it did not; empty where it is tied.
        advice: which options would tie it; None where it is tied.
    """

    name: str
    clock: ClockId
    ties: tuple[Tie, ...]
    offset_ns: int | None = None
    drift_ppm: float | None = None
    constant_error_ns: int | None = None
    half_width_ns: int | None = None
    worst_half_width_ns: int | None = None
    why_not: str | None = None
    looked_for: tuple[str, ...] = ()
    advice: str | None = None


@dataclass(frozen=True, slots=True)
class MergeReport:
    """What `merge` found before it wrote anything.

    Attributes:
        clock: the trace clock of the first file: offsets are to it.
        files: one for each, in order.
        boots: which files are of one boot, pair by pair, and why.
        contradictions: loops of clocks whose evidence disagrees.
        wrong_orders: what ends before it began, beyond the bars: messages and collectives.
    """

    clock: ClockId
    files: tuple[FileReport, ...]
    boots: tuple[BootDecision, ...]
    contradictions: tuple[Inconsistency, ...]
    wrong_orders: tuple[PairDiscontinuity, ...]

    def check_tied(self) -> None:
        """Raise UsageError where a file has no place on the first one's clock, with what to do."""
        first = printable(self.files[0].name)
        for file in self.files[1:]:
            if file.advice is not None:
                name = printable(file.name)
                raise UsageError(f"nothing ties {name} to {first}: {file.advice}")
            if file.why_not is not None:
                raise UsageError(f"{printable(file.name)} has no place: {file.why_not}")

    def to_dict(self) -> dict[str, object]:
        """Return the report in the types of JSON."""
        return {
            "clock": str(self.clock),
            "files": [
                asdict(file)
                | {"clock": str(file.clock), "ties": [tie._asdict() for tie in file.ties]}
                for file in self.files
            ],
            "boots": [decision._asdict() for decision in self.boots],
            "contradictions": [
                one._asdict()
                | {"src": str(one.src), "dst": str(one.dst), "via": [str(c) for c in one.via]}
                for one in self.contradictions
            ],
            "wrong_orders": [
                one._asdict() | {"src": str(one.src), "dst": str(one.dst)}
                for one in self.wrong_orders
            ],
        }


def report_of(joined: JoinedTraces) -> MergeReport:
    """Measure where each file lies on the timeline of the first."""
    return MergeReport(
        joined.home(0),
        tuple(_file(joined, file.number) for file in joined.files),
        tuple(joined.boots.decisions),
        tuple(joined.graph.inconsistencies()),
        tuple(one for one in joined.graph.discontinuities() if one.kind == "wrong_order"),
    )


def _file(joined: JoinedTraces, number: int) -> FileReport:
    file, home = joined.files[number], joined.home(number)
    ties = tuple(tie for tie in joined.ties if number in (tie.one, tie.other))
    if file.span is None:
        return FileReport(file.name, home, ties, why_not="it has no event on its trace clock")
    low, high = file.span
    times = np.array([low + (high - low) * k // (_INSTANTS - 1) for k in range(_INSTANTS)])
    try:
        bounds = joined.graph.convert(times, home, joined.home(0), policy="tube", bounds=True)
    except ConversionError as error:
        if _is_tied(joined, number):
            return FileReport(file.name, home, ties, why_not=str(error))
        return FileReport(
            file.name,
            home,
            ties,
            why_not="none of what ties files was found",
            looked_for=looked_for(joined, number),
            advice=advice(joined.files[0], file),
        )
    offsets = bounds.estimate - times
    middle = int(offsets[_INSTANTS // 2])
    widths = bounds.latest - bounds.earliest
    ends = np.iinfo(np.int64)
    is_open = bool((bounds.earliest == ends.min).any() or (bounds.latest == ends.max).any())
    half = None if is_open else (widths + 1) // 2
    lasts = int(times[-1] - times[0])
    return FileReport(
        file.name,
        home,
        ties,
        offset_ns=middle,
        drift_ppm=float(offsets[-1] - offsets[0]) / lasts * 1e6 if lasts else 0.0,
        constant_error_ns=int(np.max(np.abs(offsets - middle))),
        half_width_ns=None if half is None else int(np.median(half)),
        worst_half_width_ns=None if half is None else int(np.max(half)),
    )


def _is_tied(joined: JoinedTraces, number: int) -> bool:
    """Whether ties lead from a file to the first, over others or at once."""
    reached, grown = {0}, True
    while grown:
        ends = [{tie.one, tie.other} for tie in joined.ties]
        found = reached.union(*(pair for pair in ends if pair & reached))
        grown, reached = found != reached, found
    return number in reached
