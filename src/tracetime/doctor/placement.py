"""Findings about events beyond their snapshots, and about events that Perfetto drops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.event_distances import outside
from tracetime.analysis.groups import Group
from tracetime.analysis.rates import AGREE
from tracetime.analysis.survey import Survey
from tracetime.clocks.families import ONE_OSCILLATOR, ONE_RATE
from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.doctor.catalogue import CATALOGUE, finding
from tracetime.doctor.finding import EventSelection, Finding, names
from tracetime.errors import RESOLVED, TraceError, TracetimeError
from tracetime.text import count, duration

_BEGUN_EARLIER: Final = ("BOOTTIME", "REALTIME")
_FAR_NS: Final = 1_000_000_000
"""Recorders take a snapshot a second, so events nearer to one are usual."""
_FAR_OF_ONE_NS: Final = 10_000_000_000
"""Clocks that one oscillator drives stay near each other: Perfetto takes a snapshot of them as
often."""
_LONG_RUNNING_NS: Final = 60_000_000_000
"""A clock that began by so much before the trace does not read 0 in it."""
_MOST_BY_TUBE: Final = 200
"""For so many clocks the tube places events to measure how far floor is off; a tube takes time."""


def placement(survey: Survey) -> Iterator[Finding]:
    """Yield findings about events beyond the snapshots of their clock, at zero, and before it."""
    yield from _at_zero(survey)
    yield from _negative(survey)
    yield from _skipped(survey)
    yield from _late(survey)
    beyond = list(_beyond(survey))
    by_tube = {id(one) for one in sorted(beyond, key=_Beyond.rank)[:_MOST_BY_TUBE]}
    for one in beyond:
        yield from _outside(survey, one, id(one) in by_tube)


class _Beyond(NamedTuple):
    """Events of a group beyond the first or the last snapshot of their clock, read at `end_ns`."""

    group: Group
    end_ns: int
    before: bool

    def rank(self) -> int:
        return -self.group.events

    @property
    def at_ns(self) -> int:
        """The farthest of them."""
        return self.group.low_ns if self.before else self.group.high_ns


def _beyond(survey: Survey) -> Iterator[_Beyond]:
    counted = survey.counted
    rows = np.flatnonzero((counted.status == RESOLVED) & (counted.clock < len(survey.infos)))
    n, first, last = (column[counted.clock[rows]] for column in survey.reference_readings)
    near = np.array([_near_ticks(survey, clock) for clock in survey.infos], dtype=np.uint64)
    near = near[counted.clock[rows]]
    before = (n > 0) & (outside(counted.low_ns[rows], first, INT64_MAX) > near)
    after = (n > 0) & (outside(counted.high_ns[rows], INT64_MIN, last) > near)
    some = before | after
    columns = (column[some].tolist() for column in (first, last, before, after))
    for group, at, end, is_before, is_after in zip(
        counted.each(rows[some], survey.clocks), *columns, strict=True
    ):
        if beyond_doubt(survey, group.clock):
            continue
        if is_before:
            yield _Beyond(group, at, before=True)
        if is_after:
            yield _Beyond(group, end, before=False)


def _near_ticks(survey: Survey, clock: ClockId) -> int:
    """How far from its snapshots a clock's events usually are, in its ticks."""
    home = survey.equated or survey.trace_clock
    one = {clock.clock, home.clock} <= ONE_OSCILLATOR and clock.machine == home.machine
    return int((_FAR_OF_ONE_NS if one else _FAR_NS) / (survey.graph.domain(clock).ns_per_tick or 1))


def _late(survey: Survey) -> Iterator[Finding]:
    """Yield a finding about snapshots that come in the file after later events."""
    late = survey.trace.late_snapshots
    if late is None or not survey.late:
        return
    events = sum(beyond for beyond, _ in survey.late.values())
    worst = max(worst for _, worst in survey.late.values())
    yield finding(
        "snapshots-late",
        clocks=tuple(sorted(survey.late)),
        packets=(late.packet,),
        events=events,
        worst_ns=worst,
        selections=[
            EventSelection(clock, moved_ns=survey.straying_ns[clock]) for clock in survey.late
        ],
        late=duration(late.late_ns),
        clocks_late=names(survey.late),
    )


def beyond_doubt(survey: Survey, clock: ClockId) -> bool:
    """Return whether a clock cannot drift against the trace clock."""
    target = survey.trace_clock
    if clock == target or not clock.clock:
        return True
    if clock.machine != target.machine:
        return False
    # A sequence's own clock is an encoding of a clock of the machine, not a device.
    if clock.is_sequence_scoped:
        return True
    return {clock.clock, (survey.equated or target).clock} <= ONE_RATE


def _outside(survey: Survey, beyond: _Beyond, by_tube: bool) -> Iterator[Finding]:
    (group, end_ns, before), clock, at = beyond, beyond.group.clock, beyond.at_ns
    off = _off(survey, clock, at, abs(at - end_ns), by_tube)
    if off is None or off[1] <= survey.tolerance_ns:
        return
    least_ns, most_ns = off
    span = (group.low_ns, end_ns - 1) if before else (end_ns + 1, group.high_ns)
    events = survey.count_within({clock: [span]})[clock]
    yield finding(
        "used-before-first-snapshot" if before else "used-after-last-snapshot",
        "error" if least_ns > survey.tolerance_ns else "warning",
        clocks=(clock,),
        packets=[group.first_packet if before else group.last_packet],
        events=events,
        worst_ns=most_ns,
        selections=[EventSelection(clock, spans=(span,))],
        parts=("by_rate",) if least_ns else ("by_limits",),
        away=duration(abs(at - end_ns) * float(survey.graph.domain(clock).ns_per_tick or 1)),
        least=duration(least_ns),
    )


def _off(
    survey: Survey, clock: ClockId, reading_ns: int, away_ns: int, by_tube: bool
) -> tuple[int, int] | None:
    """Return how far floor is off for a reading, at least and at most; None if it has no bar.

    It is 0 at least where floor's time is within the bar.
    """
    # TRACE_FILE does not drift against the clock that a rule equates it with.
    target = survey.equated or survey.trace_clock
    given = np.array([reading_ns], dtype=np.int64)
    if not by_tube:
        return _off_by_rate(survey, clock, target, away_ns)
    try:
        there, _ = survey.graph.tubes.convert(given, clock, target, "estimated")
        reading = reading_ns // survey.infos[clock].unit_ns
        placed = survey.trace.clocks.convert(reading, clock, target)
    except TraceError:
        # No more tubes are allowed.
        return _off_by_rate(survey, clock, target, away_ns)
    except TracetimeError:
        return None
    if there.status[0] != RESOLVED:
        return None
    early, late = placed - int(there.earliest[0]), int(there.latest[0]) - placed
    return max(-early, -late, 0), max(early, late)


def _off_by_rate(
    survey: Survey, clock: ClockId, target: ClockId, away_ns: int
) -> tuple[int, int] | None:
    """Return the same without a tube: by the clock's rate, else by the limits of drift."""
    rate = survey.rates.get(clock)
    if rate is not None:
        off_ns = abs(rate.rate) * away_ns
        return int(off_ns * (1 - AGREE)), int(off_ns * (1 + AGREE))
    if survey.path(clock) is None:
        return None
    ppm = sum(survey.graph.domain(one).drift_ppm for one in (clock, target))
    return 0, int(ppm * 1e-6 * away_ns)


def _at_zero(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each clock that has events at 0, far from all that it read."""
    if survey.trace.perfetto_reads == "json":
        # Its format has a note of them.
        return
    kind = CATALOGUE["odd-times"].kinds["zero"]
    for clock, (events, packet) in survey.at_zero.items():
        span = survey.spans.get(clock)
        # That of an incremental clock is a sum, which may be 0.
        if span is None or survey.infos[clock].incremental or span.low < _LONG_RUNNING_NS:
            continue
        yield finding(
            "odd-times",
            kind.severity,
            clocks=(clock,),
            packets=[packet],
            events=events,
            worst_ns=span.low,
            selections=[EventSelection(clock, spans=((0, 0),))],
            what=f"{count(events, 'event')} at 0 of {clock}, {duration(span.low)} before the rest",
            kind_why=kind.why,
            kind_fix=kind.fix,
        )


def _negative(survey: Survey) -> Iterator[Finding]:
    groups = survey.counted.each(np.flatnonzero(survey.counted.negative), survey.clocks)
    if groups:
        least = min(group.least_ns for group in groups)
        events = sum(group.negative for group in groups)
        begun = [c for c in _BEGUN_EARLIER if BUILTIN_IDS[c] != survey.trace_clock.clock]
        yield finding(
            "negative-trace-time",
            clocks=tuple(sorted({group.clock for group in groups})),
            packets=(group.negative_packet for group in groups),
            events=events,
            worst_ns=-least,
            selections=[
                EventSelection(group.clock, group.reason, before_zero=True) for group in groups
            ],
            parts=(
                ("of_snapshots", "earlier_clock")
                if survey.trace.perfetto_reads != "json"
                else ("as_written", "offset")
            ),
            trace_clock=survey.trace_clock,
            begun=" or ".join(begun),
        )


def _skipped(survey: Survey) -> Iterator[Finding]:
    groups = survey.of("skipped_incremental_state")
    if groups:
        events = sum(group.events for group in groups)
        yield finding(
            "lost-incremental-state",
            clocks=tuple(sorted({group.clock for group in groups})),
            packets=(group.first_packet for group in groups),
            events=events,
            selections=[EventSelection(group.clock, group.reason) for group in groups],
            need="it needs" if events == 1 else "they need",
        )
