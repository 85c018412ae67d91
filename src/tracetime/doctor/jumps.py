"""Findings about clocks that jumped: set back, wrapped, reset, stepped, suspended, misread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.survey import Survey
from tracetime.clocks.families import NANOSECONDS, NEVER_SET, WALL
from tracetime.clocks.ids import BUILTIN_IDS, FIRST_GLOBAL_CLOCK, ClockId
from tracetime.clocks.known_offsets import known_offset
from tracetime.columns.arrays import median
from tracetime.doctor.attribution import attributed_jumps
from tracetime.doctor.catalogue import finding
from tracetime.doctor.finding import EventSelection, Finding, all_of
from tracetime.doctor.incidents import BACK, distinct_jumps, distinct_suspends
from tracetime.doctor.jump_columns import JumpSnapshots, Pair, farthest_ns, spans_after, spans_read
from tracetime.graph.tube.discontinuities import KINDS, NO_DISCONTINUITIES, PairDiscontinuities
from tracetime.graph.values import Floats, Mask, Values, difference, gains
from tracetime.text import count, duration

_BITS: Final = range(16, 64)
"""Counters of fewer bits wrap too often to be recognised."""
# Reported where the clock fell: against a clock of another rate it jumps elsewhere, too.
_AT_FALLS: Final = ("counter-wraps", "clock-reset")
# Reported where the clock fell, too; its other jumps have findings of their own.
_SET: Final = ("realtime-set-back", "clock-ran-backwards")

Shared = Callable[[ClockId, ClockId], tuple[Values, Values, Values]]
_OTHER_UNIT: Final = 0.01
"""A clock whose rate is this far from nominal does not count ns."""

_LOST: Final = "non_monotonic_source"
_JUMPS: Final = ("step", "reset", "possible_step")


class _Fall(NamedTuple):
    """Where a clock fell: in which snapshot, by how much (ns), and what it read then.

    advance: what it would have counted. off: the snapshot without which it did not fall, or None.
    """

    snapshot: int
    by: int
    advance: int
    after: int
    off: int | None


@dataclass(slots=True)
class _JumpingClock:
    """A clock and what is known of its jumps.

    Attributes:
        references: the clocks that its jumps were seen against.
        found: its jumps and outliers; each may be there once for each reference.
        distinct: the same, each once.
        falls: where it fell, wraps that were declared left out.
        wraps: where it fell because it is a short counter, as declared.
        unpaired: where it fell, if no other clock shows it.
        backwards: whether it ran backwards otherwise.
    """

    clock: ClockId
    references: set[ClockId] = field(default_factory=set)
    found: PairDiscontinuities = NO_DISCONTINUITIES
    distinct: PairDiscontinuities = NO_DISCONTINUITIES
    falls: list[_Fall] = field(default_factory=list)
    wraps: list[_Fall] = field(default_factory=list)
    unpaired: list[_Fall] = field(default_factory=list)
    backwards: bool = False


def jumps(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each clock and cause, and one for each machine that slept."""
    yield from _open_wraps(survey)
    found = attributed_jumps(survey)
    is_suspend = found.kind_is("suspend")
    by_machine = found.take(is_suspend).by_machine()
    jumping_clocks = _jumping_clocks(survey, found.take(~is_suspend))
    within = _EventsWithin(survey, _zones(survey, jumping_clocks, by_machine.values()))
    misplaced = _EventsWithin(survey, _after_outliers(survey, jumping_clocks))
    for machine, those in by_machine.items():
        yield _suspend(survey, machine, those, within)
    for jumping in jumping_clocks:
        affected = within.of({jumping.clock, *jumping.references})
        wrong = misplaced.of(_placed_by(survey, jumping))
        yield from _findings(survey, jumping, affected, wrong)


class _Events(NamedTuple):
    """Events that a finding is about: how many, and which."""

    number: int
    selections: tuple[EventSelection, ...]

    def otherwise(self, others: _Events) -> _Events:
        """Return these if there are any, else the others."""
        return self if self.number else others


_NO_EVENTS: Final = _Events(0, ())


class _EventsWithin:
    """The events with readings in some spans, by clock; none of the trace clock are counted."""

    def __init__(self, survey: Survey, spans: _Spans) -> None:
        self._trace_clock = survey.trace_clock
        self._spans = spans
        self._counted = survey.count_within(spans)

    def of(self, clocks: set[ClockId]) -> _Events:
        """Return the events of some clocks."""
        number = sum(self._counted.get(clock, 0) for clock in clocks)
        return _Events(
            number,
            tuple(
                EventSelection(clock, spans=self._spans[clock])
                for clock in sorted(clocks)
                if clock in self._spans and clock != self._trace_clock
            ),
        )


def _suspend(
    survey: Survey, machine: int, found: PairDiscontinuities, within: _EventsWithin
) -> Finding:
    """Return the finding that a machine slept, whichever of its clocks show it."""
    clocks = {clock for pair in found.by_pair() for clock in pair}
    suspends = distinct_suspends(found)
    worst, (affected, selections) = int(suspends.most_ns.max()), within.of(clocks)
    size = farthest_ns(survey, suspends, 0)
    by_trace_clock = survey.trace_clock.clock == BUILTIN_IDS["BOOTTIME"]
    return finding(
        "suspend",
        "warning" if affected and worst > survey.tolerance_ns else "info",
        clocks=tuple(sorted(clocks)),
        packets=survey.packets_of(suspends.snapshots.lasts),
        events=affected,
        worst_ns=worst,
        selections=selections,
        parts=("boottime" if by_trace_clock else "other", *_size_parts(len(suspends), size)),
        which=f"machine {machine}" if machine else "the machine",
        often=_often(len(suspends)),
        size=duration(size),
    )


def _placed_by(survey: Survey, jumping: _JumpingClock) -> set[ClockId]:
    """Return the clocks whose events its readings place; for the trace clock, its references."""
    return jumping.references if jumping.clock == survey.trace_clock else {jumping.clock}


_Spans = dict[ClockId, Values]


def _zones(
    survey: Survey, jumping_clocks: list[_JumpingClock], by_machine: Iterable[PairDiscontinuities]
) -> _Spans:
    """Return what each clock read around its jumps, and those of the clocks that place it."""
    jumped: dict[Pair, list[PairDiscontinuities]] = defaultdict(list)

    def large(found: PairDiscontinuities) -> PairDiscontinuities:
        return found.take(found.most_ns > survey.tolerance_ns)

    for jumping in jumping_clocks:
        found = large(jumping.distinct.take(jumping.distinct.kind_is(*_JUMPS)))
        for clock in jumping.references if found else ():
            jumped[clock, jumping.clock].append(found)
        for (src, _), those in found.by_pair().items():
            jumped[jumping.clock, src].append(those)
    for suspends in by_machine:
        for (src, dst), those in large(suspends).by_pair().items():
            jumped[src, dst].append(those)
            jumped[dst, src].append(those)
    return _joined(survey, jumped, spans_read)


def _after_outliers(survey: Survey, jumping_clocks: list[_JumpingClock]) -> _Spans:
    """Return where floor uses the offset of an outlier: from it to the next snapshot, by clock."""
    placed_by: dict[Pair, list[PairDiscontinuities]] = defaultdict(list)
    for jumping in jumping_clocks:
        placed, found = _placed_by(survey, jumping), jumping.distinct
        outliers = found.kind_is("outlier") & (found.most_ns > survey.tolerance_ns)
        for (src, _), those in found.take(outliers).by_pair().items():
            other = survey.trace_clock if jumping.clock == survey.trace_clock else src
            for clock in placed:
                placed_by[clock, other].append(those)
    return _joined(survey, placed_by, spans_after)


def _joined(
    survey: Survey,
    jumped: dict[Pair, list[PairDiscontinuities]],
    spans: Callable[[Survey, Pair, PairDiscontinuities], Values],
) -> _Spans:
    """Return the spans of each clock, whichever other one it was read with."""
    by_clock: dict[ClockId, list[Values]] = defaultdict(list)
    for pair, found in jumped.items():
        by_clock[pair[0]].append(spans(survey, pair, PairDiscontinuities.joined(found)))
    return {clock: np.concatenate(found) for clock, found in by_clock.items()}


def _open_wraps(survey: Survey) -> Iterator[Finding]:
    """Yield findings about counters that wrap too often for their snapshots."""
    for clock, error in survey.open_wraps.items():
        reference, used, packets = survey.reference(clock), survey.used.get(clock, 0), []
        if reference is not None:
            snapshots, _, others = survey.together(clock, reference)
            k = int(np.argmax(np.diff(others))) if len(others) > 1 else 0
            packets = survey.packets_of(snapshots[k : k + 2])
        yield finding(
            "counter-wraps",
            "error" if used else "info",
            clocks=(clock,),
            packets=packets,
            events=used,
            selections=all_of([clock]),
            parts=("open", "open_why", "open_fix"),
            error=error,
        )


def _jumping_clocks(survey: Survey, found: PairDiscontinuities) -> list[_JumpingClock]:
    jumping_clocks: dict[ClockId, _JumpingClock] = {}
    for those in found.grouped(found.dst):
        clock, references = those.clocks[those.dst[0]], {src for src, _ in those.by_pair()}
        jumping_clocks[clock] = _JumpingClock(clock, references, those)
    for info in survey.infos.values():
        if not info.monotonic and info.clock not in survey.open_wraps:
            jumping = jumping_clocks.setdefault(info.clock, _JumpingClock(info.clock))
            jumping.falls = _falls(survey, info.clock, survey.unfolded)
            jumping.backwards = bool(jumping.falls) or info.clock not in survey.counters
            if jumping.backwards and not jumping.falls:
                jumping.unpaired = _unpaired_falls(survey, info.clock)
            if not jumping.backwards:
                jumping.wraps = _falls(survey, info.clock, survey.together)
    for jumping in jumping_clocks.values():
        jumping.distinct = distinct_jumps(jumping.found)
    return list(jumping_clocks.values())


def _falls(survey: Survey, clock: ClockId, shared: Shared) -> list[_Fall]:
    """Return where it fell against its reference clock, else against any clock that shows it."""
    reference = survey.reference(clock)
    for other in sorted(survey.neighbours(clock), key=lambda other: other != reference):
        snapshots, readings, theirs = shared(clock, other)
        fell = np.flatnonzero(readings[1:] < readings[:-1])
        if len(fell):
            return _falls_after(fell, snapshots, readings, theirs)
    return []


def _unpaired_falls(survey: Survey, clock: ClockId) -> list[_Fall]:
    """Return where a clock fell in snapshots without other clocks, or in rejected ones."""
    found = []
    for read in survey.graph.contents.readings() if survey.infos[clock].snapshots > 1 else ():
        if read.clock == clock:
            values = read.values_ns
            for k in np.flatnonzero(values[1:] < values[:-1]).tolist():
                by = int(values[k]) - int(values[k + 1])
                found.append(_Fall(int(read.snapshots[k + 1]), by, 0, int(values[k + 1]), None))
    return found


def _back(fall: _Fall) -> int:
    """Return how far back a clock was set: its fall, and what it would have counted meanwhile.

    Where its reference clock fell, too, that time is unknown.
    """
    return fall.by + max(fall.advance, 0)


def _falls_after(k: Values, snapshots: Values, readings: Values, theirs: Values) -> list[_Fall]:
    """Return the falls after some of the snapshots, by number."""
    rate, last = _ticks_per_ns(readings, theirs), len(readings) - 1

    def missing(i: Values, j: Values) -> Floats:
        """Return how much less it counted from i to j than it would have."""
        i, j = np.maximum(i, 0), np.minimum(j, last)
        advance = np.rint(difference(theirs[j], theirs[i]) * rate)
        return advance - difference(readings[j], readings[i])

    size, off = missing(k, k + 1), np.full(len(k), -1)
    for one, i, j in ((k, k - 1, k + 1), (k + 1, k, k + 2)):
        without = (i >= 0) & (j <= last) & (np.abs(missing(i, j)) <= BACK * size)
        off[without] = snapshots[one[without]]
    columns = (snapshots[k + 1], readings[k], readings[k + 1], size, off)
    return [
        _Fall(at, before - after, int(total) - (before - after), after, None if one < 0 else one)
        for at, before, after, total, one in zip(*(c.tolist() for c in columns), strict=True)
    ]


def _set_at(falls: list[_Fall]) -> list[_Fall]:
    """Return the falls by which a clock was set back: without those after one wrong reading."""
    return [fall for fall in falls if fall.off is None] or falls


def _ticks_per_ns(readings: Values, theirs: Values) -> float:
    """Return how fast a clock counts where it rises; 1 if that is about its nominal rate."""
    rises_by, gaps = (difference(column[1:], column[:-1]) for column in (readings, theirs))
    rises = (rises_by > 0) & (gaps > 0)
    if rises.sum() < 3:
        return 1.0
    rate = median(rises_by[rises] / gaps[rises])
    return rate if abs(rate - 1) >= _OTHER_UNIT else 1.0


def _findings(
    survey: Survey, jumping: _JumpingClock, affected: _Events, misplaced: _Events
) -> Iterator[Finding]:
    """Yield the findings about a clock: one for why it ran backwards, one for each other kind."""
    clock = jumping.clock
    lost = _Events(
        sum(group.events for group in survey.groups_of(clock) if group.reason == _LOST),
        (EventSelection(clock, _LOST),),
    )
    if jumping.wraps:
        # A counter whose bits were declared is expected to wrap.
        declared = survey.graph.domain(clock).valid_bits
        yield _finding(survey, jumping, "counter-wraps", NO_DISCONTINUITIES, lost, declared, True)
    found = jumping.distinct
    bits: int | None = None
    by_code: dict[str, PairDiscontinuities] = {}
    cause = None
    if jumping.backwards:
        cause, bits = _cause(survey, jumping, found)
        if cause in _SET and jumping.falls:
            other = ~_contain_falls(found, _set_at(jumping.falls))
            by_code = {cause: NO_DISCONTINUITIES, **_by_code(found.take(other))}
        else:
            by_code[cause] = NO_DISCONTINUITIES if cause in _AT_FALLS else found
    elif _collides(survey, jumping):
        by_code["clock-id-collision"] = jumping.found
    else:
        by_code = _by_code(found)
    for code, those in by_code.items():
        wrong = misplaced if code == "snapshot-outlier" else _NO_EVENTS
        events = (lost if code == cause else wrong).otherwise(affected)
        if code == "clock-id-collision":
            # It is unknown which of the two clocks an event was read in.
            events = _Events(survey.used.get(clock, 0), all_of([clock]))
        made = _finding(survey, jumping, code, those, events, bits, code == cause)
        severity = made.severity
        if wrong.number or (lost.number and code == cause):
            severity = "error"
        elif code == "clock-id-collision" or (
            (made.worst_ns or 0) > survey.tolerance_ns
            and (affected.number or code == "snapshot-outlier")
        ):
            severity = "warning"
        yield replace(made, severity=severity)


def _by_code(found: PairDiscontinuities) -> dict[str, PairDiscontinuities]:
    """Return jumps and outliers by the code of their finding."""
    codes = [*_CODES.values()]
    of_kind = np.array([codes.index(_CODES.get(kind, codes[0])) for kind in KINDS])
    return {_CODES[KINDS[those.kind[0]]]: those for those in found.grouped(of_kind[found.kind])}


def _contain_falls(found: PairDiscontinuities, falls: list[_Fall]) -> Mask:
    """Return for each jump whether the clock fell between its snapshots."""
    at, snapshots = (
        np.sort(np.array([fall.snapshot for fall in falls], dtype=np.int64)),
        JumpSnapshots(found),
    )
    before, until = (
        np.searchsorted(at, ends, side="right") for ends in (snapshots.lows, snapshots.highs)
    )
    contain_falls: Mask = until > before
    return contain_falls


def _finding(
    survey: Survey,
    jumping: _JumpingClock,
    code: str,
    found: PairDiscontinuities,
    events: _Events,
    bits: int | None,
    is_cause: bool,
) -> Finding:
    """Return a finding about some jumps or, without any, about where the clock fell.

    is_cause: whether Perfetto stops converting from the clock because of it.
    """
    clock, falls = jumping.clock, jumping.falls or jumping.wraps or jumping.unpaired
    if code in _SET:
        falls = _set_at(falls)
    numbers = found.snapshots.lasts if found else [fall.snapshot for fall in falls]
    if code == "snapshot-outlier":
        off = [fall.off for fall in falls if fall.off is not None]
        outliers = found.take(found.kind_is("outlier")).snapshots.flat
        numbers = np.unique(np.append(outliers, np.array(off, dtype=np.int64)))
    worst = int(found.most_ns.max()) if found else max(map(_back, falls), default=0)
    seen, times = farthest_ns(survey, found, worst), max(len(numbers), 1)
    parts = ["fell", "fell_why", *_size_parts(times, seen)]
    is_declared = survey.graph.domain(clock).valid_bits == bits
    parts.append("declared_fix" if bits and is_declared else "fell_fix")
    if is_cause:
        parts.append("lost")
    if code == "clock-stepped" and _of_two(survey, found):
        parts.append("two")
    known = ""
    if times == 1 and code in ("clock-stepped", "realtime-set-back") and clock.clock in WALL:
        known = known_offset(seen - _KNOWN_NS, seen + _KNOWN_NS)
    if known:
        parts.append("known_as")
    never = code == "clock-ran-backwards" and clock.clock in NEVER_SET and seen > _KNOWN_NS
    if never:
        parts += ["never", "never_why"]
    return finding(
        code,
        "warning" if never else "info",
        clocks=(clock,),
        packets=survey.packets_of(numbers),
        events=events.number,
        worst_ns=worst or None,
        selections=events.selections,
        parts=parts,
        often=_often(times),
        size=duration(seen),
        known=known,
        snapshots=count(times, "snapshot"),
        bits=bits,
    )


_KNOWN_NS: Final = 20_000_000
"""A step that differs by less from a known offset is that: a coarse clock's tick."""
_CODES: Final = {
    "step": "clock-stepped",
    "possible_step": "clock-stepped",
    "reset": "clock-reset",
    "outlier": "snapshot-outlier",
}


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _size_parts(times: int, size: int) -> list[str]:
    """Return the parts of a text that give the size."""
    return (["by"] if size else []) + (["up_to"] if times > 1 else [])


def _cause(
    survey: Survey, jumping: _JumpingClock, found: PairDiscontinuities
) -> tuple[str, int | None]:
    """Return why a clock ran backwards, and the bits of a counter that wrapped."""
    clock, falls = jumping.clock, jumping.falls
    bits = _bits(survey, clock, falls)
    if bits is not None:
        return "counter-wraps", bits
    if _collides(survey, jumping):
        return "clock-id-collision", None
    all_off = bool(found) and bool(found.kind_is("outlier").all())
    if all_off or (falls and all(f.off is not None for f in falls)):
        return "snapshot-outlier", None
    if clock.clock in WALL:
        return "realtime-set-back", None
    if falls and all(0 <= fall.after <= 1.1 * fall.advance + 1_000_000 for fall in falls):
        return "clock-reset", None
    return "clock-ran-backwards", None


def _bits(survey: Survey, clock: ClockId, falls: list[_Fall]) -> int | None:
    """Return the bits of a counter whose falls are all wraps: from a power of 2 to 0."""
    if not falls or clock.clock in NANOSECONDS:
        return None
    unit = survey.infos[clock].unit_ns
    for bits in _BITS:
        modulus = unit << bits
        if all(
            # The fall is that of this size, and of no other.
            abs(fall.by + fall.advance - modulus) <= (slack := fall.advance * 0.01 + 1_000_000)
            and 0 <= fall.after <= 1.1 * fall.advance + 1_000_000
            and fall.by < modulus
            and 20 * slack < modulus
            for fall in falls
        ):
            return bits
    return None


def _of_two(survey: Survey, found: PairDiscontinuities) -> bool:
    """Return whether the rate of the clock is known from two readings only."""
    return all(len(survey.together(dst, src)[0]) == 2 for src, dst in found.by_pair())


def _collides(survey: Survey, jumping: _JumpingClock) -> bool:
    """Return whether two clocks write under one number."""
    if jumping.clock.clock < FIRST_GLOBAL_CLOCK:
        return False
    return _alternates(jumping.found) or _on_two_lines(survey, jumping.clock)


def _on_two_lines(survey: Survey, clock: ClockId) -> bool:
    """Return whether all jumps between snapshots have one size, back and forth at least thrice."""
    reference = survey.reference(clock)
    if reference is None:
        return False
    _, readings, theirs = survey.together(clock, reference)
    gaps, moved = difference(theirs[1:], theirs[:-1]), gains(readings, theirs)
    limit = survey.graph.domain(clock).drift_ppm + survey.graph.domain(reference).drift_ppm
    jumps = moved[np.abs(moved) > np.abs(gaps) * limit * 1e-6 + survey.tolerance_ns]
    if len(jumps) < 4:
        return False
    sizes, signs = np.abs(jumps), np.sign(jumps)
    return bool(sizes.min() >= 0.9 * sizes.max() and np.all(signs[1:] != signs[:-1]))


def _alternates(found: PairDiscontinuities) -> bool:
    """Return whether the offset jumps back and forth by about one size, at least twice."""
    sized = found.take(found.sized)
    sized = sized.take(np.argsort(sized.a_from, kind="stable"))
    if len(sized) < 2 or (sized.src != sized.src[0]).any():
        return False
    middles = sized.low + sized.high
    if len(sized) == 2 and sized.snapshots.lasts[0] == sized.snapshots.firsts[1]:
        # A jump away in one snapshot and back in the next is one wrong reading.
        return False
    sizes, signs = np.abs(middles), np.sign(middles)
    if sizes.min() < 0.9 * sizes.max():
        return False
    outliers = sized.kind_is("outlier").all()
    return bool(np.all(signs == signs[0]) if outliers else np.all(signs[1:] != signs[:-1]))
