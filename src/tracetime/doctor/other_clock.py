"""Findings about groups of events that were read in another clock than they say.

The file's order shows it: a recorder writes a snapshot after the events that it had before, so an
event that stands before a snapshot, and claims to be later, is not on that time. Events that claim
to be earlier may just be late in the file; they are told where they are as much earlier everywhere,
and by an offset that is known.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain, combinations
from typing import Final, NamedTuple

import numpy as np

from tracetime.analysis.file_order import NEVER_NS, FileOrder, PlacedGroup
from tracetime.analysis.survey import Survey
from tracetime.clocks.families import COARSE, WALL
from tracetime.clocks.ids import ClockId
from tracetime.clocks.known_offsets import UNIX_NS, known_offset
from tracetime.doctor.catalogue import finding
from tracetime.doctor.catalogue.events import FAR_CAUSES
from tracetime.doctor.finding import EventSelection, Finding
from tracetime.graph.values import Mask
from tracetime.text import count, duration

_LEAST_NS: Final = 100_000_000
"""Events announced for the next frames claim to be later by less than this."""
_GAPS: Final = 2
"""In so many gaps between snapshots events have to be ahead while others are not."""
_UNIX: Final = "they are Unix times"
_STEADY: Final = 4
"""In so many gaps events have to be late by the same."""
_SLACK_NS: Final = 10_000_000
"""Offsets that differ by less are taken for one: a coarse clock's tick."""
_NEAR_NS: Final = 5_000_000
"""Work begins about so long after what asked for it."""
_MANY: Final = 40
"""Fewer events of two writers may be as many by chance."""
_SLOW: Final = 1.5
"""Readings that are too small by less are not told from those of a clock that drifts."""
_NARROW: Final = 1.1
"""A factor is known to a tenth, or it is none."""
_UNITS: Final = (1_000, 1_000_000, 1_000_000_000)
"""Factors that have a finding of their own: see far_events.py."""
_MOST_NAMED: Final = 3
"""Readings that match more clocks than this show nothing."""


class _Shift(NamedTuple):
    """How far the times of a group are ahead of its place in the file, and where.

    Attributes:
        least_ns, most_ns: what the shift can be, below 0 where they are behind.
        proven: whether nothing but another clock explains it.
    """

    group: PlacedGroup
    least_ns: int
    most_ns: int
    proven: bool


def other_clocks(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each group of events that stand elsewhere in the file than they claim."""
    order = survey.file_order
    if survey.trace.trace_clock_moves or (order.before > order.after + _LEAST_NS).any():
        # Trace time is not one clock, or the snapshots are not in order.
        return
    change_ns = survey.ways.change_ns
    # Of a clock that jumps, that is told.
    jumping = np.append(change_ns > _LEAST_NS, np.zeros(len(survey.clocks) - len(change_ns), bool))
    groups = [group for group in order.groups() if not jumping[group.clock]]
    ahead = [_ahead_in(order, group) for group in groups]
    live = np.zeros(len(order.before), dtype=bool)
    for group, is_ahead in zip(groups, ahead, strict=True):
        live[group.gap[~is_ahead & (group.most >= order.before[group.gap])]] = True
    shifts = []
    for group, is_ahead in zip(groups, ahead, strict=True):
        proven = np.count_nonzero(is_ahead & live[group.gap]) >= _GAPS
        if proven or _is_late_by_the_same(order, group):
            shifts.append(_Shift(group, *_bounds(order, group), bool(proven)))
    for alike in _alike(shifts):
        yield from _told(survey, alike)
    for group in groups:
        factor = _ticks(order, group)
        if factor is not None:
            yield _in_ticks(survey, group, factor)
    told = {shift.group.sequence for shift in shifts}
    as_many: dict[tuple[int, int], list[PlacedGroup]] = defaultdict(list)
    for group in groups:
        events = int(group.events.sum())
        if events >= _MANY and group.sequence not in told:
            as_many[group.clock, events].append(group)
    for one, another in chain.from_iterable(combinations(some, 2) for some in as_many.values()):
        yield from _lagging(survey, one, another)


def reused_sequences(survey: Survey) -> Iterator[Finding]:
    """Yield a finding for each packet sequence that several writers say they begin."""
    packet, sequence, machine = survey.written.firsts
    key = machine << 32 | sequence
    order = np.argsort(key, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(key[order])) + 1):
        if len(rows) < 2:
            continue
        number = int(sequence[rows[0]])
        own = [group for group in survey.file_order.groups() if group.sequence == number]
        yield finding(
            "sequence-reused",
            clocks=tuple(sorted({survey.clocks[group.clock] for group in own})),
            packets=packet[rows],
            events=sum(int(group.events.sum()) for group in own),
            selections=[EventSelection(sequence=number)],
            sequence=number,
            writers=count(len(rows), "writer"),
        )


def _ahead_in(order: FileOrder, group: PlacedGroup) -> Mask:
    """In which gaps a group has events later than a snapshot that stands after them."""
    after = order.after[group.gap]
    return (after < NEVER_NS) & (group.most > after + _LEAST_NS)


def _is_late_by_the_same(order: FileOrder, group: PlacedGroup) -> bool:
    """Whether a group stands later in the file than it claims, by about as much everywhere."""
    between = (order.before[group.gap] > -NEVER_NS) & (order.after[group.gap] < NEVER_NS)
    if np.count_nonzero(between) < _STEADY:
        return False
    late = order.before[group.gap[between]] - group.most[between]
    longest = np.diff(order.before[1:]).max(initial=0)
    return bool(
        late.min() > max(_LEAST_NS, late.max() - late.min()) and np.ptp(late) <= 2 * longest
    )


def _bounds(order: FileOrder, group: PlacedGroup) -> tuple[int, int]:
    """How far ahead the times of a group are, at least and at most, if none was written late."""
    known = order.after[group.gap] < NEVER_NS
    least = int((group.most - order.after[group.gap])[known].max())
    known = order.before[group.gap] > -NEVER_NS
    most = int((group.least - order.before[group.gap])[known].min(initial=NEVER_NS))
    longest = int(np.diff(order.before[1:]).max(initial=0))
    return least, most if least <= most else least + longest


def _alike(shifts: Sequence[_Shift]) -> Iterator[list[_Shift]]:
    """The shifts by what they are of: a sequence and a clock, in one direction."""
    by_clock: dict[tuple[int, int, bool], list[_Shift]] = {}
    for shift in shifts:
        key = shift.group.sequence, shift.group.clock, shift.least_ns > 0
        by_clock.setdefault(key, []).append(shift)
    yield from by_clock.values()


def _told(survey: Survey, shifts: Sequence[_Shift]) -> Iterator[Finding]:
    group = shifts[0].group
    least_ns, most_ns = max(s.least_ns for s in shifts), min(s.most_ns for s in shifts)
    least_ns, most_ns = min(least_ns, most_ns), max(least_ns, most_ns)
    clock = survey.clocks[group.clock]
    proven = any(shift.proven for shift in shifts)
    readings = [int(s.group.least.min()) + s.group.offset_ns for s in shifts]
    is_unix = clock.clock not in WALL and min(readings) in UNIX_NS
    known = _UNIX if is_unix else known_offset(least_ns, most_ns)
    others = _others(survey, clock, least_ns, most_ns)
    if not (proven or known or others):
        return
    size_ns = min(abs(least_ns), abs(most_ns))
    yield finding(
        "events-of-another-clock",
        "warning" if proven else "info",
        clocks=(clock,) if clock.clock else (),
        packets=[int(shift.group.packet.min()) for shift in shifts],
        events=sum(int(shift.group.events.sum()) for shift in shifts),
        worst_ns=size_ns,
        selections=[EventSelection(clock, sequence=group.sequence)],
        parts=(
            "ahead" if least_ns > 0 else "late",
            *(("matches", "as_read", "set_clock") if others else ("not_as_read", "find_clock")),
            *(("known_as",) if known and not others else ()),
        ),
        which=_name(clock, group.sequence),
        side="ahead of" if least_ns > 0 else "behind",
        size=duration(size_ns),
        place="their place in the file",
        known=known,
        others=" or ".join(map(str, others)),
    )


def _lagging(survey: Survey, one: PlacedGroup, other: PlacedGroup) -> Iterator[Finding]:
    """Yield a finding where as many events of two writers are apart as two clocks are."""
    if one.least.min() > other.least.min():
        one, other = other, one
    if one.sequence == other.sequence:
        return
    lag = other.least.min() - one.least.min(), other.most.max() - one.most.max()
    clock = survey.clocks[one.clock]
    home = clock if clock.clock else survey.trace_clock
    least_ns, most_ns = int(min(lag)), int(max(lag))
    if least_ns < 2 * _NEAR_NS or most_ns - least_ns > _NEAR_NS:
        return
    for group, way in ((one, -1), (other, 1)):
        low, high = (least_ns, most_ns) if way > 0 else (-most_ns, -least_ns)
        others = _others(survey, home, low, high, _NEAR_NS)
        if others:
            than = one if group is other else other
            yield finding(
                "events-of-another-clock",
                "info",
                clocks=(clock,) if clock.clock else (),
                packets=[int(group.packet.min())],
                events=int(group.events.sum()),
                worst_ns=least_ns,
                selections=[EventSelection(clock, sequence=group.sequence)],
                parts=("lagging", "matches", "set_clock"),
                which=_name(clock, group.sequence),
                side="ahead of" if way > 0 else "behind",
                size=duration(least_ns),
                place=f"those of sequence {than.sequence}, everywhere",
                others=" or ".join(map(str, others)),
                home=home,
            )
            return


def _name(clock: ClockId, sequence: int) -> str:
    which = str(clock) if clock.clock else "no clock"
    return f"{which} on sequence {sequence}" if sequence and not clock.sequence else which


def _others(
    survey: Survey, clock: ClockId, least_ns: int, most_ns: int, slack_ns: int = _SLACK_NS
) -> list[ClockId]:
    """The clocks of the machine that read as much more than another one; none if they are many."""
    found = []
    for other in survey.infos:
        if other.machine != clock.machine or other == clock or other.is_sequence_scoped:
            continue
        _, own, others = survey.together(clock, other)
        if len(own):
            apart = others[[0, -1]] - own[[0, -1]]
            if least_ns - slack_ns <= apart.min() and apart.max() <= most_ns + slack_ns:
                found.append(other)
    steady = [one for one in found if one.clock not in COARSE]
    return steady if len(steady) <= _MOST_NAMED else []


def _ticks(order: FileOrder, group: PlacedGroup) -> float | None:
    """By which factor the readings of a group are too small everywhere; None where by none."""
    before, after = order.before[group.gap], order.after[group.gap]
    between = (before > -NEVER_NS) & (after < NEVER_NS)
    if np.count_nonzero(between) < _STEADY:
        return None
    span = [column[between].astype(np.float64) for column in (before, after)]
    least, most = (column[between] + group.offset_ns for column in (group.least, group.most))
    if least.min() <= 0:
        return None
    at_least = ((span[0] + group.offset_ns) / most).max()
    at_most = ((span[1] + group.offset_ns) / least).min()
    # Values that are shifted by a constant are at one factor where they are large.
    grown = (most[-1] - most[0]) / (span[0][-1] - span[0][0] + 1)
    if not _SLOW <= at_least <= at_most <= _NARROW * at_least or grown * at_least > _NARROW:
        return None
    factor = float(at_least + at_most) / 2
    if any(abs(factor / unit - 1) < _NARROW - 1 for unit in _UNITS):
        return None
    return factor


def _in_ticks(survey: Survey, group: PlacedGroup, factor: float) -> Finding:
    clock = survey.clocks[group.clock]
    values = {"factor": f"{factor:.3g}", "mhz": f"{1000 / factor:.3g}"}
    title, why, fix = (text.format(**values) for text in FAR_CAUSES["ticks"])
    spans = survey.spans.get(clock)
    away = int(group.most.max()) + group.offset_ns - (spans.high if spans else 0)
    return finding(
        "events-far-from-trace",
        "error",
        clocks=(clock,) if clock.clock else (),
        packets=[int(group.packet.min())],
        events=int(group.events.sum()),
        worst_ns=abs(away),
        selections=[EventSelection(clock, sequence=group.sequence)],
        parts=("because",),
        which=_name(clock, group.sequence),
        side="before",
        cause=title,
        cause_why=why,
        cause_fix=fix,
    )
