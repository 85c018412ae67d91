"""Findings about clocks that jumped: set back, wrapped, reset, stepped, suspended, misread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.survey import Survey, Values
from tracetime.clocks.families import NANOSECONDS, WALL
from tracetime.clocks.ids import BUILTIN_IDS, FIRST_GLOBAL_CLOCK, ClockId
from tracetime.doctor.attribution import blamed
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import Finding, Severity
from tracetime.doctor.incidents import BACK, settled, sleeps
from tracetime.doctor.jump_readings import Pair, Places, farthest_ns, spans_after, spans_read
from tracetime.graph.tube.results import PairDiscontinuity
from tracetime.graph.values import difference, gains
from tracetime.quantiles import median
from tracetime.text import count, duration

_BITS: Final = range(16, 64)
# Told by where the clock fell: beside a clock of another rate it jumps elsewhere, too.
_AT_FALLS: Final = ("counter-wraps", "clock-reset")
# Told by where it fell, too; how else it jumped is told beside that.
_SET: Final = ("realtime-set-back", "clock-ran-backwards")

Shared = Callable[[ClockId, ClockId], tuple[Values, Values, Values]]
_OTHER_UNIT: Final = 0.01
"""A clock whose rate is this far from nominal counts something else than ns."""

_JUMPS: Final = ("step", "reset", "possible_step")


class _Fall(NamedTuple):
    """Where a clock fell: in which snapshot, by how much (ns), and what it read then.

    advance: what it would have counted. off: the snapshot without which it did not fall, if there
    is one.
    """

    snapshot: int
    by: int
    advance: int
    after: int
    off: int | None


@dataclass(slots=True)
class _Jumper:
    """A clock and what is known of its jumps.

    Attributes:
        beside: the clocks that its jumps were seen against.
        found: jumps and outliers laid to it; one may be there once for each clock beside.
        once: the same, each once.
        falls: where it fell, wraps that were declared left out.
        wraps: where it fell because it is a short counter, as declared.
        alone: where it fell, if that was beside no other clock.
        backwards: whether it ran backwards otherwise.
    """

    clock: ClockId
    beside: set[ClockId] = field(default_factory=set)
    found: list[PairDiscontinuity] = field(default_factory=list)
    once: list[PairDiscontinuity] = field(default_factory=list)
    falls: list[_Fall] = field(default_factory=list)
    wraps: list[_Fall] = field(default_factory=list)
    alone: list[_Fall] = field(default_factory=list)
    backwards: bool = False


def jumps(survey: Survey) -> Iterator[Finding]:
    """One finding a clock and cause, and one a machine that slept."""
    yield from _open_wraps(survey)
    slept: dict[int, list[PairDiscontinuity]] = defaultdict(list)
    found = []
    for d in blamed(survey):
        if d.kind == "suspend":
            slept[d.src.machine].append(d)
        else:
            found.append(d)
    jumpers = _jumpers(survey, found)
    within = survey.count_within(_zones(survey, jumpers, slept.values()))
    misplaced = survey.count_within(_after_outliers(survey, jumpers))
    for machine, those in slept.items():
        yield _suspend(survey, machine, those, within)
    for jumper in jumpers:
        touched = sum(within.get(clock, 0) for clock in {jumper.clock, *jumper.beside})
        wrong = sum(misplaced.get(clock, 0) for clock in _placed_by(survey, jumper))
        yield from _findings(survey, jumper, touched, wrong)


def _suspend(
    survey: Survey, machine: int, found: list[PairDiscontinuity], within: dict[ClockId, int]
) -> Finding:
    """That a machine slept, whichever of its clocks show it."""
    clocks = {clock for d in found for clock in (d.src, d.dst)}
    told = sleeps(found)
    worst, touched = max(map(_size, told)), sum(within.get(clock, 0) for clock in clocks)
    size = farthest_ns(survey, told, 0)
    by_trace_clock = survey.trace_clock.clock == BUILTIN_IDS["BOOTTIME"]
    return finding(
        "suspend",
        "warning" if touched and worst > survey.tolerance_ns else "info",
        clocks=tuple(sorted(clocks)),
        packets=survey.packets_of(d.snapshots[-1] for d in told),
        events=touched,
        worst_ns=worst,
        parts=("boottime" if by_trace_clock else "other", *_size_parts(len(told), size)),
        which=f"machine {machine}" if machine else "the machine",
        often=_often(len(told)),
        size=duration(size),
    )


def _placed_by(survey: Survey, jumper: _Jumper) -> set[ClockId]:
    """The clocks whose events its readings place; of the trace clock, those it was seen against."""
    return jumper.beside if jumper.clock == survey.trace_clock else {jumper.clock}


_Spans = dict[ClockId, Values]


def _zones(
    survey: Survey, jumpers: list[_Jumper], slept: Iterable[list[PairDiscontinuity]]
) -> _Spans:
    """What each clock read about jumps of it, and of the clocks that it is placed by."""
    asked: dict[Pair, list[PairDiscontinuity]] = defaultdict(list)

    def ask(d: PairDiscontinuity, clocks: set[ClockId]) -> None:
        if _size(d) > survey.tolerance_ns:
            for clock in clocks:
                asked[clock, d.src if clock == d.dst else d.dst].append(d)

    for jumper in jumpers:
        for d in jumper.once:
            if d.kind in _JUMPS:
                ask(d, {jumper.clock, *jumper.beside})
    for d in chain.from_iterable(slept):
        ask(d, {d.src, d.dst})
    return _joined({pair: spans_read(survey, pair, found) for pair, found in asked.items()})


def _after_outliers(survey: Survey, jumpers: list[_Jumper]) -> _Spans:
    """Where floor uses the offset of an outlier: from it to the next snapshot, by clock."""
    asked: dict[Pair, list[PairDiscontinuity]] = defaultdict(list)
    for jumper in jumpers:
        placed = _placed_by(survey, jumper)
        for d in jumper.once:
            if d.kind == "outlier" and _size(d) > survey.tolerance_ns:
                other = survey.trace_clock if jumper.clock == survey.trace_clock else d.src
                for clock in placed:
                    asked[clock, other].append(d)
    return _joined({pair: spans_after(survey, pair, found) for pair, found in asked.items()})


def _joined(spans: dict[Pair, Values]) -> _Spans:
    """Spans of each clock, whichever other one it was read with."""
    by_clock: dict[ClockId, list[Values]] = defaultdict(list)
    for (clock, _), found in spans.items():
        by_clock[clock].append(found)
    return {clock: np.concatenate(found) for clock, found in by_clock.items()}


def _open_wraps(survey: Survey) -> Iterator[Finding]:
    """Counters that wrap too often for their snapshots."""
    for clock, error in survey.open_wraps.items():
        partner, used, packets = survey.reference(clock), survey.used.get(clock, 0), []
        if partner is not None:
            snapshots, _, others = survey.together(clock, partner)
            k = int(np.argmax(np.diff(others))) if len(others) > 1 else 0
            packets = survey.packets_of(snapshots[k : k + 2])
        yield finding(
            "counter-wraps",
            "error" if used else "info",
            clocks=(clock,),
            packets=packets,
            events=used,
            parts=("open", "open_why", "open_fix"),
            error=error,
        )


def _jumpers(survey: Survey, found: list[PairDiscontinuity]) -> list[_Jumper]:
    jumpers: dict[ClockId, _Jumper] = {}
    for d in found:
        jumper = jumpers.setdefault(d.dst, _Jumper(d.dst))
        jumper.beside.add(d.src)
        jumper.found.append(d)
    for info in survey.infos.values():
        if not info.monotonic and info.clock not in survey.open_wraps:
            jumper = jumpers.setdefault(info.clock, _Jumper(info.clock))
            jumper.falls = _falls(survey, info.clock, survey.unfolded)
            jumper.backwards = bool(jumper.falls) or info.clock not in survey.counters
            if jumper.backwards and not jumper.falls:
                jumper.alone = _falls_alone(survey, info.clock)
            if not jumper.backwards:
                jumper.wraps = _falls(survey, info.clock, survey.together)
    for jumper in jumpers.values():
        jumper.once = settled(jumper.found)
    return list(jumpers.values())


def _falls(survey: Survey, clock: ClockId, shared: Shared) -> list[_Fall]:
    """Where it fell beside the clock it is best compared with, else beside any that shows it."""
    partner = survey.reference(clock)
    for other in sorted(survey.neighbours(clock), key=lambda other: other != partner):
        snapshots, readings, theirs = shared(clock, other)
        fell = np.flatnonzero(readings[1:] < readings[:-1]).tolist()
        if fell:
            rate = _ticks_per_ns(readings, theirs)
            columns = (snapshots.tolist(), readings.tolist(), theirs.tolist())
            return [_fall(k, *columns, rate) for k in fell]
    return []


def _falls_alone(survey: Survey, clock: ClockId) -> list[_Fall]:
    """Where a clock fell in snapshots that no other one shares, or that were not taken whole."""
    found = []
    for read in survey.graph.readings() if survey.infos[clock].snapshots > 1 else ():
        if read.clock == clock:
            values = read.values_ns
            for k in np.flatnonzero(values[1:] < values[:-1]).tolist():
                by = int(values[k]) - int(values[k + 1])
                found.append(_Fall(int(read.snapshots[k + 1]), by, 0, int(values[k + 1]), None))
    return found


def _back(fall: _Fall) -> int:
    """How far back a clock was set: what it fell by, and what it would have counted meanwhile.

    Where the clock beside it fell, too, nothing says how long that was.
    """
    return fall.by + max(fall.advance, 0)


def _fall(
    k: int, snapshots: list[int], readings: list[int], theirs: list[int], rate: float
) -> _Fall:
    """The fall after the k-th of some snapshots."""

    def missing(i: int, j: int) -> int:
        """How much less it counted from i to j than it would have."""
        return round((theirs[j] - theirs[i]) * rate) - (readings[j] - readings[i])

    size, off = missing(k, k + 1), None
    for one, i, j in ((k, k - 1, k + 1), (k + 1, k, k + 2)):
        if i >= 0 and j < len(readings) and abs(missing(i, j)) <= BACK * size:
            off = snapshots[one]
    by = readings[k] - readings[k + 1]
    return _Fall(snapshots[k + 1], by, size - by, readings[k + 1], off)


def _set_at(falls: list[_Fall]) -> list[_Fall]:
    """Where a clock was set back: without those after one wrong reading, unless all are so."""
    return [fall for fall in falls if fall.off is None] or falls


def _ticks_per_ns(readings: Values, theirs: Values) -> float:
    """How fast a clock counts where it rises; 1 if that is about what it says."""
    rises_by, gaps = (difference(column[1:], column[:-1]) for column in (readings, theirs))
    rises = (rises_by > 0) & (gaps > 0)
    if rises.sum() < 3:
        return 1.0
    rate = median(rises_by[rises] / gaps[rises])
    return rate if abs(rate - 1) >= _OTHER_UNIT else 1.0


def _findings(survey: Survey, jumper: _Jumper, touched: int, misplaced: int) -> Iterator[Finding]:
    """What a clock's jumps come to: a cause for those that ran backwards, and each other kind."""
    clock = jumper.clock
    lost = sum(
        group.events for group in survey.groups_of(clock) if group.reason == "non_monotonic_source"
    )
    if jumper.wraps:
        # Who says how many bits it has knows that it wraps: that is normal then.
        declared = survey.graph.domain(clock).valid_bits
        yield _finding(survey, jumper, "counter-wraps", [], lost, declared, True)
    found = jumper.once
    bits: int | None = None
    by_code: dict[str, list[PairDiscontinuity]] = defaultdict(list)
    cause = None
    if jumper.backwards:
        cause, bits = _cause(survey, jumper, found)
        if cause in _SET and jumper.falls:
            by_code[cause] = []
            told = _holds_fall(found, _set_at(jumper.falls))
            for d, is_told in zip(found, told, strict=True):
                if not is_told:
                    by_code[_CODES[d.kind]].append(d)
        else:
            by_code[cause] = [] if cause in _AT_FALLS else found
    elif _collides(survey, jumper):
        by_code["clock-id-collision"] = jumper.found
    else:
        for d in found:
            by_code[_CODES[d.kind]].append(d)
    for code, those in by_code.items():
        wrong = misplaced if code == "snapshot-outlier" else 0
        events = (lost if code == cause else wrong) or touched
        if code == "clock-id-collision":
            # Nothing says of an event which of the two clocks it was read in.
            events = survey.used.get(clock, 0)
        made = _finding(survey, jumper, code, those, events, bits, code == cause)
        severity: Severity = "info"
        if wrong or (lost and code == cause):
            severity = "error"
        elif code == "clock-id-collision" or (
            (made.worst_ns or 0) > survey.tolerance_ns and (touched or code == "snapshot-outlier")
        ):
            severity = "warning"
        yield replace(made, severity=severity)


def _holds_fall(found: list[PairDiscontinuity], falls: list[_Fall]) -> list[bool]:
    """Between the snapshots of which jumps a clock fell."""
    at, places = np.sort(np.array([fall.snapshot for fall in falls], dtype=np.int64)), Places(found)
    before, until = (
        np.searchsorted(at, ends, side="right") for ends in (places.lows, places.highs)
    )
    told: list[bool] = (until > before).tolist()
    return told


def _finding(
    survey: Survey, jumper: _Jumper, code: str, found: list[PairDiscontinuity], events: int,
    bits: int | None, is_cause: bool,
) -> Finding:  # fmt: skip
    """A finding about some jumps, else about where the clock fell.

    is_cause: whether that is why Perfetto stops converting from the clock.
    """
    clock, falls = jumper.clock, jumper.falls or jumper.wraps or jumper.alone
    if code in _SET:
        falls = _set_at(falls)
    numbers = [d.snapshots[-1] for d in found] or [fall.snapshot for fall in falls]
    if code == "snapshot-outlier":
        off = {number for d in found if d.kind == "outlier" for number in d.snapshots}
        numbers = sorted(off | {fall.off for fall in falls if fall.off is not None})
    sizes = [_size(d) for d in found] or [_back(fall) for fall in falls]
    worst = max(sizes, default=0)
    seen, times = farthest_ns(survey, found, worst), max(len(numbers), 1)
    parts = ["fell", "fell_why", "fell_fix", *_size_parts(times, seen)]
    if is_cause:
        parts.append("lost")
    if code == "clock-stepped" and _of_two(survey, found):
        parts.append("two")
    return finding(
        code,
        "info",
        clocks=(clock,),
        packets=survey.packets_of(numbers),
        events=events,
        worst_ns=worst or None,
        parts=parts,
        often=_often(times),
        size=duration(seen),
        snapshots=count(times, "snapshot"),
        bits=bits,
    )


_CODES: Final = {
    "step": "clock-stepped",
    "possible_step": "clock-stepped",
    "reset": "clock-reset",
    "outlier": "snapshot-outlier",
}


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _size_parts(times: int, size: int) -> list[str]:
    """The parts of a text that say by how much."""
    return (["by"] if size else []) + (["up_to"] if times > 1 else [])


def _cause(
    survey: Survey, jumper: _Jumper, found: list[PairDiscontinuity]
) -> tuple[str, int | None]:
    """Why a clock ran backwards, and for a counter that wrapped its bits."""
    clock, falls = jumper.clock, jumper.falls
    bits = _bits(survey, clock, falls)
    if bits is not None:
        return "counter-wraps", bits
    if _collides(survey, jumper):
        return "clock-id-collision", None
    if {d.kind for d in found} == {"outlier"} or (falls and all(f.off is not None for f in falls)):
        return "snapshot-outlier", None
    if clock.clock in WALL:
        return "realtime-set-back", None
    if falls and all(0 <= fall.after <= 1.1 * fall.advance + 1_000_000 for fall in falls):
        return "clock-reset", None
    return "clock-ran-backwards", None


def _bits(survey: Survey, clock: ClockId, falls: list[_Fall]) -> int | None:
    """The bits of a counter all of whose falls are wraps: from the top of a power of 2 to 0."""
    if not falls or clock.clock in NANOSECONDS:
        return None
    unit = survey.infos[clock].unit_ns
    for bits in _BITS:
        modulus = unit << bits
        if all(
            # By as much as it was going to count, and so that no other size would do.
            abs(fall.by + fall.advance - modulus) <= (slack := fall.advance * 0.01 + 1_000_000)
            and 0 <= fall.after <= 1.1 * fall.advance + 1_000_000
            and fall.by < modulus
            and 20 * slack < modulus
            for fall in falls
        ):
            return bits
    return None


def _of_two(survey: Survey, found: list[PairDiscontinuity]) -> bool:
    """Whether all that is known of the clock's rate is two readings."""
    return all(len(survey.together(*pair)[0]) == 2 for pair in {(d.dst, d.src) for d in found})


def _collides(survey: Survey, jumper: _Jumper) -> bool:
    """Whether two clocks write under the number of one."""
    if jumper.clock.clock < FIRST_GLOBAL_CLOCK:
        return False
    return _alternates(jumper.found) or _on_two_lines(survey, jumper.clock)


def _on_two_lines(survey: Survey, clock: ClockId) -> bool:
    """Whether all jumps from one snapshot to the next are of one size, thrice to and fro."""
    partner = survey.reference(clock)
    if partner is None:
        return False
    _, readings, theirs = survey.together(clock, partner)
    gaps, moved = difference(theirs[1:], theirs[:-1]), gains(readings, theirs)
    limit = survey.graph.domain(clock).drift_ppm + survey.graph.domain(partner).drift_ppm
    jumps = moved[np.abs(moved) > np.abs(gaps) * limit * 1e-6 + survey.tolerance_ns]
    if len(jumps) < 4:
        return False
    sizes, signs = np.abs(jumps), np.sign(jumps)
    return bool(sizes.min() >= 0.9 * sizes.max() and np.all(signs[1:] != signs[:-1]))


def _alternates(found: list[PairDiscontinuity]) -> bool:
    """Whether the offset jumps to and fro by about one size, twice at least."""
    sized = sorted((d for d in found if d.size_ns is not None), key=lambda d: d.a_from)
    if len(sized) < 2 or len({d.src for d in sized}) > 1:
        return False
    middles = [sum(d.size_ns) for d in sized if d.size_ns is not None]
    if len(sized) == 2 and sized[0].snapshots[-1] == sized[1].snapshots[0]:
        # Away in one snapshot and back in the next is one reading that is off.
        return False
    outliers = all(d.kind == "outlier" for d in sized)
    largest, least = max(map(abs, middles)), min(map(abs, middles))
    if least < 0.9 * largest:
        return False
    signs = np.sign(middles)
    return bool(np.all(signs == signs[0]) if outliers else np.all(signs[1:] != signs[:-1]))


def _size(d: PairDiscontinuity) -> int:
    """How far a discontinuity jumped at most, ns."""
    return 0 if d.size_ns is None else max(abs(d.size_ns[0]), abs(d.size_ns[1]))
