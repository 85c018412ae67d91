"""Findings about clocks that jumped: set back, wrapped, reset, stepped, suspended, misread."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np

from tracetime.clocks import BUILTIN_IDS, FIRST_GLOBAL_CLOCK, ClockId
from tracetime.doctor.finding import Finding, Severity, count, duration, first_packets
from tracetime.doctor.survey import Survey
from tracetime.graph.bounds import PairDiscontinuity

_WALL: Final = (BUILTIN_IDS["REALTIME"], BUILTIN_IDS["REALTIME_COARSE"])
_KERNEL: Final = tuple(BUILTIN_IDS[name] for name in BUILTIN_IDS if name != "TSC")
_BITS: Final = range(16, 64)
_JUMPS: Final = ("suspend", "step", "reset", "possible_step")

LOST_WHY: Final = (
    " One reading of it can then mean two instants, so Perfetto stops converting from it, for all "
    "of the file; converting to it still works."
)

_TWO_WHY: Final = (
    " With two snapshots alone, a clock that counts something other than ns looks the same: say "
    "what it counts with --clock-rate, and see whether this goes."
)

_WHY: Final = {
    "counter-wraps": (
        "The counter has {bits} bits and began again at 0: each fall is by 2^{bits} ticks."
    ),
    "clock-id-collision": (
        "Its readings jump to and fro between two lines: two clocks write under one number."
    ),
    "clock-reset": "The counter began again near zero: its device or driver was restarted.",
    "realtime-set-back": "The wall clock was set back, by hand or by NTP.",
    "clock-ran-backwards": (
        "Its readings fall from one snapshot to the next: it was set, it wrapped, or the trace "
        "joins several recordings."
    ),
    "snapshot-outlier": (
        "A reading contradicts those before and after it, which agree with each other: the "
        "snapshot was torn (its clocks not read together), or is corrupt."
    ),
    "suspend": (
        "The machine slept: BOOTTIME went on, clocks such as MONOTONIC stood still. This is normal."
    ),
    "clock-stepped": (
        "The clock was set, or the trace's clocks were read at different times: no drift explains "
        "it."
    ),
}
_FIX: Final = {
    "counter-wraps": (
        "Unfold the counter before writing it, or convert with `--policy tube --valid-bits "
        "{clock}={bits}`."
    ),
    "clock-id-collision": (
        "Give each clock a name of its own, and use the hash of it (tracetime.clock_id) as its "
        "number."
    ),
    "clock-reset": (
        "Give the clock a new number after a restart. `--policy tube` gives a bar that holds both "
        "instants a reading can mean."
    ),
    "realtime-set-back": (
        "Time events with BOOTTIME or MONOTONIC; keep REALTIME in the snapshots to convert to. "
        "`--policy tube` gives a bar that holds both instants a reading can mean."
    ),
    "clock-ran-backwards": (
        "Time events with a clock that only goes forward, and keep each recording in a trace of "
        "its own. `--policy tube` gives a bar that holds both instants a reading can mean."
    ),
    "snapshot-outlier": (
        "Read the clocks of a snapshot without interruption, best of several tries; `--policy "
        "tube` leaves the outlier out."
    ),
    "suspend": (
        "Nothing, while a snapshot follows each resume. Recording with BOOTTIME as trace clock "
        "avoids the question."
    ),
    "clock-stepped": (
        "Take a snapshot right after a clock is set. `--policy tube` shows between which two it "
        "happened, and bars that hold both sides."
    ),
}


@dataclass(slots=True)
class _Jumper:
    """A clock and what is known of its jumps.

    falls: (snapshot, fall, expected advance, reading after it), ns.
    """

    clock: ClockId
    beside: set[ClockId] = field(default_factory=set)
    found: list[PairDiscontinuity] = field(default_factory=list)
    falls: list[tuple[int, int, int, int]] = field(default_factory=list)


def jumps(survey: Survey) -> Iterator[Finding]:
    """One finding a clock and cause."""
    jumpers = _jumpers(survey)
    spans: dict[ClockId, list[tuple[int, int]]] = defaultdict(list)
    for jumper in jumpers:
        for d in jumper.found:
            if d.kind in _JUMPS and _size(d) > survey.tolerance_ns:
                for clock in {jumper.clock, *jumper.beside} - {survey.trace_clock}:
                    other = d.src if clock == d.dst else d.dst
                    at = survey.readings_at(clock, other, d.snapshots)
                    if len(at) >= 2:
                        spans[clock].append((min(at), max(at)))
    within = survey.count_within(spans)
    for jumper in jumpers:
        touched = sum(within.get(clock, 0) for clock in {jumper.clock, *jumper.beside})
        yield from _findings(survey, jumper, touched)


def _jumpers(survey: Survey) -> list[_Jumper]:
    jumpers: dict[ClockId, _Jumper] = {}
    for d in survey.discontinuities:
        if d.kind != "rate_change":
            culprit = d.src if d.kind == "suspend" and d.src == survey.trace_clock else d.dst
            jumper = jumpers.setdefault(culprit, _Jumper(culprit))
            jumper.beside.add(d.src if culprit == d.dst else d.dst)
            jumper.found.append(d)
    for info in survey.infos.values():
        if not info.monotonic:
            jumper = jumpers.setdefault(info.clock, _Jumper(info.clock))
            jumper.falls = _falls(survey, info.clock)
    return _suspends_together(list(jumpers.values()))


def _suspends_together(jumpers: list[_Jumper]) -> list[_Jumper]:
    """BOOTTIME's jumps against several clocks are one suspend each; keep one of each."""
    for jumper in jumpers:
        seen = set()
        kept = []
        for d in jumper.found:
            at = (d.kind, d.snapshots)
            if d.kind != "suspend" or at not in seen:
                kept.append(d)
            seen.add(at)
        jumper.found = kept
    return jumpers


def _falls(survey: Survey, clock: ClockId) -> list[tuple[int, int, int, int]]:
    """Where it fell beside the clock it is best compared with, else beside any that shows it."""
    partner = survey.partner(clock)
    others = [] if partner is None else [partner]
    others += [other for other in survey.neighbours(clock) if other != partner]
    for other in others:
        snapshots, readings, theirs = survey.together(clock, other)
        found = [
            (
                int(snapshots[k + 1]),
                int(readings[k]) - int(readings[k + 1]),
                int(theirs[k + 1]) - int(theirs[k]),
                int(readings[k + 1]),
            )
            for k in np.flatnonzero(readings[1:] < readings[:-1]).tolist()
        ]
        if found:
            return found
    return []


def _findings(survey: Survey, jumper: _Jumper, touched: int) -> Iterator[Finding]:
    """What a clock's jumps come to: a cause for those that ran backwards, and each other kind."""
    clock = jumper.clock
    info = survey.infos.get(clock)
    lost = sum(
        group.events
        for group in survey.by_clock.get(clock, [])
        if group.reason == "non_monotonic_source"
    )
    by_code: dict[str, list[PairDiscontinuity]] = defaultdict(list)
    bits = None
    if info is not None and not info.monotonic:
        code, bits = _cause(survey, jumper)
        by_code[code] = list(jumper.found)
    else:
        for d in jumper.found:
            by_code[_CODES[d.kind]].append(d)
        steps = sorted(by_code["clock-stepped"], key=lambda d: d.a_from)
        off: set[int] = set()
        for k, (one, other) in enumerate(pairwise(steps)):
            if k not in off and _there_and_back(one, other):
                off |= {k, k + 1}
                by_code["snapshot-outlier"].append(one)
        by_code["clock-stepped"] = [d for k, d in enumerate(steps) if k not in off]
        by_code = {code: found for code, found in by_code.items() if found}
        if _alternates(jumper.found) and clock.clock >= FIRST_GLOBAL_CLOCK:
            by_code = {"clock-id-collision": list(jumper.found)}
    for code, found in by_code.items():
        numbers = [d.snapshots[-1] for d in found] or [fall[0] for fall in jumper.falls]
        sizes = [_size(d) for d in found] or [
            fall + advance for _, fall, advance, _ in jumper.falls
        ]
        backwards = info is not None and not info.monotonic
        worst = max(sizes, default=0)
        severity: Severity = "info"
        if lost:
            severity = "error"
        elif code == "clock-id-collision" or (
            worst > survey.tolerance_ns and (touched or code == "snapshot-outlier")
        ):
            severity = "warning"
        yield Finding(
            code, severity, _title(survey, jumper, code, found, worst),
            tuple(sorted({clock, *(jumper.beside if code == "suspend" else ())})),
            first_packets(survey.packets_of(numbers)), lost or touched, worst,
            _WHY[code].format(bits=bits)
            + (LOST_WHY if backwards else "")
            + (_TWO_WHY if code == "clock-stepped" and _of_two(survey, found) else ""),
            _FIX[code].format(bits=bits, clock=clock),
        )  # fmt: skip


_CODES: Final = {
    "suspend": "suspend",
    "step": "clock-stepped",
    "possible_step": "clock-stepped",
    "reset": "clock-reset",
    "outlier": "snapshot-outlier",
}


def _title(
    survey: Survey, jumper: _Jumper, code: str, found: list[PairDiscontinuity], worst: int
) -> str:
    clock = jumper.clock
    times = max(len(found), len(jumper.falls) if not found else 0, 1)
    often = "once" if times == 1 else f"{times:,} times"
    by = f"by {duration(worst)}" if times == 1 else f"by up to {duration(worst)}"
    return {
        "counter-wraps": f"{clock} wraps: it fell back {often}",
        "clock-id-collision": f"{clock} is written by two clocks, {duration(worst)} apart",
        "clock-reset": f"{clock} was reset {often}",
        "realtime-set-back": f"{clock} was set back {often}, {by}",
        "clock-ran-backwards": f"{clock} ran backwards {often}, {by}",
        "snapshot-outlier": f"{clock}: {count(times, 'snapshot')} off {by}, against all about it",
        "suspend": f"the machine slept {often}, {by.replace('by ', 'for ')}",
        "clock-stepped": f"{clock} was stepped {often}, {by}",
    }[code]


def _cause(survey: Survey, jumper: _Jumper) -> tuple[str, int | None]:
    """Why a clock ran backwards, and for a counter that wrapped its bits."""
    clock, falls = jumper.clock, jumper.falls
    kinds = {d.kind for d in jumper.found}
    if clock.clock in _WALL:
        return "realtime-set-back", None
    bits = _bits(survey, clock, falls)
    if bits is not None:
        return "counter-wraps", bits
    if clock.clock >= FIRST_GLOBAL_CLOCK and _alternates(jumper.found):
        return "clock-id-collision", None
    if kinds == {"outlier"}:
        return "snapshot-outlier", None
    if falls and all(0 <= after <= 1.1 * advance + 1_000_000 for _, _, advance, after in falls):
        return "clock-reset", None
    return "clock-ran-backwards", None


def _bits(survey: Survey, clock: ClockId, falls: list[tuple[int, int, int, int]]) -> int | None:
    """The bits of a counter all of whose falls are wraps: from the top of a power of 2 to 0."""
    if not falls or clock.clock in _KERNEL:
        return None
    unit = survey.infos[clock].unit_ns
    for bits in _BITS:
        modulus = unit << bits
        if all(
            # By as much as it was going to count, and so that no other size would do.
            abs(fall + advance - modulus) <= (slack := advance * 0.01 + 1_000_000)
            and 0 <= after <= 1.1 * advance + 1_000_000
            and fall < modulus
            and 20 * slack < modulus
            for _, fall, advance, after in falls
        ):
            return bits
    return None


def _there_and_back(one: PairDiscontinuity, other: PairDiscontinuity) -> bool:
    """Whether two jumps away and back are one reading that is off."""
    if one.size_ns is None or other.size_ns is None or one.src != other.src:
        return False
    away, back = sum(one.size_ns) / 2, sum(other.size_ns) / 2
    return one.snapshots[-1] == other.snapshots[0] and abs(away + back) <= 0.01 * abs(away)


def _of_two(survey: Survey, found: list[PairDiscontinuity]) -> bool:
    """Whether all that is known of the clock's rate is two readings."""
    return all(len(survey.together(d.dst, d.src)[0]) == 2 for d in found)


def _alternates(found: list[PairDiscontinuity]) -> bool:
    """Whether the offset jumps to and fro by about one size, twice at least."""
    sized = sorted((d for d in found if d.size_ns is not None), key=lambda d: d.a_from)
    if len(sized) < 2 or len({d.src for d in sized}) > 1:
        return False
    middles = [(d.size_ns[0] + d.size_ns[1]) / 2 for d in sized if d.size_ns is not None]
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
