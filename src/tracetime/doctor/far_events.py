"""Findings about events far from every snapshot of their clock, and from the span of the trace.

The distances are measured in `analysis/event_distances.py`. Here the numbers show the cause: a
factor of 1,000, deltas taken for absolute values or the reverse, or the readings of another clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tracetime.analysis.event_distances import NEAR_NS, OF_THE_FILE, Span, Stray
from tracetime.analysis.survey import Survey
from tracetime.clocks.ids import ClockId
from tracetime.doctor.catalogue import finding
from tracetime.doctor.catalogue.events import FAR_CAUSES
from tracetime.doctor.finding import EventSelection, Finding, Severity, names
from tracetime.doctor.placement import beyond_doubt

_FAR_NS: Final = 600_000_000_000
"""No recorder pauses for so long by itself, with no snapshot and no event in between."""
_MANY: Final = 3
"""Fewer values show no pattern."""
_SPREAD: Final = 0.3
"""Scaled events have to cover this part of the clock's span: a few small values fit anywhere."""
_RISING: Final = 0.9
"""Absolute values rise more often than this from one event to the next; deltas do not."""
_FACTORS: Final = (1_000, 1_000_000, 1_000_000_000)
_UNITS: Final = {1: "ns", 1_000: "us", 1_000_000: "ms", 1_000_000_000: "s"}
_MOST_NAMED: Final = 2
"""Readings that match more clocks than this show nothing."""
_MOST_CLOCKS: Final = 64
"""So many clocks are compared for each cause; a trace can have very many."""


@dataclass(frozen=True, slots=True)
class _Cause:
    """Why events are far away: clocks of one number with the same `code` are one finding."""

    code: tuple[Any, ...]
    title: str = ""
    why: str = ""
    fix: str = ""


@dataclass(slots=True)
class _Found:
    """The clocks of one number whose events are far away for one cause."""

    cause: _Cause
    clocks: list[ClockId] = field(default_factory=list)
    stray: Stray = field(default_factory=Stray)
    selections: list[EventSelection] = field(default_factory=list)


def far_events(survey: Survey) -> Iterator[Finding]:
    """Yield findings about events far from their clock's snapshots and the trace, by cause."""
    spans, strays = survey.spans, survey.strays
    if strays is None or not strays.found:
        return
    trace = strays.trace
    groups: dict[tuple[Any, ...], _Found] = {}
    named = dict(islice(_that_may_be_meant(spans), _MOST_CLOCKS))
    near_ns, far_ns = max(NEAR_NS, trace.step), max(_FAR_NS, 2 * trace.step)
    length = trace.length + strays.reach(True, near_ns) + strays.reach(False, near_ns)
    for before in (True, False):
        near, far = strays.reach(before, near_ns), strays.reach(before, far_ns)
        for (clock, side), by_scale in strays.found.items():
            if side != before:
                continue
            own, cause = spans.get(clock), None
            there = _beyond(by_scale.values(), NEAR_NS)
            if own is not None:
                cause = _absolute(survey, clock, own, there)
                if cause is None:
                    there = _beyond(by_scale.values(), near)
                    cause = _cause(survey, clock, own, there, length)
            if cause is None:
                there = _beyond(by_scale.values(), far)
                if there.events:
                    cause = _other_clock(named, clock, there) or _explained("none", ("none",))
            if cause is not None:
                key = (clock.clock, clock.machine, before, *cause.code)
                found = groups.setdefault(key, _Found(cause))
                found.clocks.append(clock)
                found.stray.add(there)
                found.selections.append(EventSelection(clock, spans=((there.low, there.high),)))
    are_tied = survey.graph.tubes.machines.are_tied
    for (_, _, before, *_), found in groups.items():
        if not found.cause.title and (
            # Events that a rule alone places have another finding: machine-not-synchronised.
            not are_tied(found.clocks[0], survey.trace_clock)
            # So do events before the zero of trace time, and those so far away that their clock
            # may have drifted.
            or (before and found.stray.near > trace.low)
            or not (_ended(found.stray, trace) or beyond_doubt(survey, found.clocks[0]))
        ):
            continue
        yield _finding(found, trace, "before" if before else "after")


def _ended(stray: Stray, trace: Span) -> bool:
    """Return whether a recorder that took snapshots regularly took none for very long."""
    return trace.readings >= _MANY and stray.near > 10 * trace.step


def _finding(found: _Found, trace: Span, side: str) -> Finding:
    cause, stray = found.cause, found.stray
    clocks = tuple(sorted(found.clocks))
    which = names(clocks) if clocks[0].clock else "without a clock"
    severity: Severity = "error" if cause.title or _ended(stray, trace) else "warning"
    return finding(
        "events-far-from-trace",
        severity,
        clocks=tuple(clock for clock in clocks if clock.clock),
        packets=[stray.packet],
        events=stray.events,
        worst_ns=stray.far,
        selections=found.selections,
        parts=("because",) if cause.title else (),
        which=which,
        side=side,
        cause=cause.title,
        cause_why=cause.why,
        cause_fix=cause.fix,
    )


def _explained(name: str, code: tuple[Any, ...], **values: object) -> _Cause:
    """Return a cause with the texts of that name."""
    title, why, fix = (text.format(**values) for text in FAR_CAUSES[name])
    return _Cause(code, title, why, fix)


def _absolute(survey: Survey, clock: ClockId, own: Span, there: Stray) -> _Cause | None:
    """Return the cause that an incremental clock's timestamps are absolute: none is less than
    its readings."""
    info = survey.infos[clock]
    if not info.incremental or there.events < _MANY or there.raw_low * info.unit_ns < own.low:
        return None
    return _explained("absolute", ("absolute",))


def _cause(survey: Survey, clock: ClockId, own: Span, there: Stray, length: int) -> _Cause | None:
    """What the numbers of some events say that they are.

    length: of the trace, with the events about it, ns.
    """
    info = survey.infos[clock]
    if info.incremental or not there.events:
        return None
    margin = max(own.length, length, min(_FAR_NS, own.low // 5))
    low, high = own.low - margin, own.high + margin
    for factor in _FACTORS:
        for larger in (True, False):
            ends = [there.low * factor, there.high * factor]
            if not larger:
                ends = [there.low // factor, there.high // factor]
            if _within(ends[0], ends[1], low, high) and (
                # A clock that started near 0 has all small values in its range.
                low > 0 or (there.events >= _MANY and ends[1] - ends[0] > _SPREAD * own.length > 0)
            ):
                return _factor(survey, clock, factor, larger=larger)
    if (
        clock.is_sequence_scoped
        and there.events >= _MANY
        and there.high < own.low
        and there.raw_low >= 0
        and there.raw_sum * info.unit_ns <= max(own.low, 2 * margin)
        # Absolute values, read in file order, would rise.
        and there.rises <= _RISING * (there.events - 1)
    ):
        return _explained("deltas", ("deltas",))
    return None


def _factor(survey: Survey, clock: ClockId, factor: int, *, larger: bool) -> _Cause:
    unit_ns = survey.infos[clock].unit_ns
    written = unit_ns * factor if larger else unit_ns // factor
    code = "factor", factor, larger
    turned = "Multiplied" if larger else "Divided"
    if written in _UNITS and unit_ns in _UNITS:
        units = {"written": _UNITS[written], "unit": _UNITS[unit_ns]}
        return _explained("unit", code, turned=turned, factor=factor, **units)
    size = "small" if larger else "large"
    return _explained("factor", code, turned=turned, factor=factor, size=size)


def _other_clock(spans: Mapping[ClockId, Span], clock: ClockId, there: Stray) -> _Cause | None:
    """Return the cause that the events were read in another clock, whose readings they match."""
    others = [
        other
        for other, span in spans.items()
        if other != clock
        and other.machine == clock.machine
        and _within(there.low, there.high, span.low - NEAR_NS, span.high + NEAR_NS)
    ]
    if not 0 < len(others) <= _MOST_NAMED:
        return None
    stated = f"as read in {clock}" if clock.clock else "without a clock"
    return _explained(
        "clock", ("clock", *others), others=" or ".join(map(str, others)), stated=stated
    )


def _that_may_be_meant(spans: Mapping[ClockId, Span]) -> Iterator[tuple[ClockId, Span]]:
    for clock, span in spans.items():
        if not clock.is_sequence_scoped and clock.clock != OF_THE_FILE[1]:
            yield clock, span


def _within(low: int, high: int, least: int, most: int) -> bool:
    return least <= low and high <= most


def _beyond(strays: Iterable[Stray], reached: int) -> Stray:
    """Return the strays that are further away than what is connected to the trace, as one."""
    every = Stray()
    for stray in strays:
        if stray.near > reached:
            every.add(stray)
    return every
