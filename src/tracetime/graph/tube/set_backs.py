"""Where orders show that a clock was set back, and along which of two clocks they are in order.

Along a clock that was set back, bounds from before and after stand among each other. Along the
other one that set-back is a break like any other. Where both clocks were set back, at different
times, the bounds at readings that a clock had twice are left out: the bars of such a reading hold
all its instants.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tracetime._kernels.evidence import faults
from tracetime.graph.tube.discontinuities import Discontinuities
from tracetime.graph.tube.evidence import (
    FARTHEST,
    HIGH_KNOWN,
    LOW_KNOWN,
    OPEN_HIGH,
    OPEN_LOW,
    Evidence,
)
from tracetime.graph.tube.findings import given_around, jumps
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Marks, Mask, Values


class Sweep(NamedTuple):
    """Bounds along one of two clocks.

    Attributes:
        evidence: the bounds.
        first: where segments begin, int64.
        keep: 0 where a bound contradicts those around it.
        rises: by break, whether the other clock is ahead by more after it.
    """

    evidence: Evidence
    first: Values
    keep: Marks
    rises: Mask

    @property
    def breaks(self) -> Values:
        """Readings at which segments begin, without the first."""
        begins: Values = self.evidence.a[self.first[1:]]
        return begins

    @property
    def wrong(self) -> Values:
        """Readings at which bounds contradict those around them."""
        left_out: Values = self.evidence.a[self.keep == 0]
        return left_out

    @property
    def n_faults(self) -> int:
        return len(self.breaks) + len(self.wrong)

    def sides(self) -> tuple[Values, Values]:
        """The bounds of the offset, open where a side says nothing."""
        known = self.evidence.sides
        low = np.where(known & LOW_KNOWN, self.evidence.low, OPEN_LOW)
        return low, np.where(known & HIGH_KNOWN, self.evidence.high, OPEN_HIGH)

    def falls(self, which: Mask | slice = slice(None)) -> tuple[Values, Values]:
        """What the other clock read twice, by some of the bounds: intervals, ends included."""
        a, (low, high) = self.evidence.a, self.sides()
        least = np.where(low == OPEN_LOW, OPEN_LOW, a + low)[which]
        most = np.where(high == OPEN_HIGH, OPEN_HIGH, a + high)[which]
        reached = np.maximum.accumulate(least)[:-1]
        fell = most[1:] < reached
        return united(most[1:][fell], reached[fell])


class Spans(NamedTuple):
    """Readings of a clock that may be several instants: int64 arrays.

    Attributes:
        first, last: what it read: ascending intervals, both ends included.
        low, high: the offset of the other clock was within these at each of the instants; open
            where nothing bounds it.
    """

    first: Values
    last: Values
    low: Values
    high: Values

    def has(self, values: Values) -> Mask:
        """Which readings are among them."""
        at = np.searchsorted(self.first, values, side="right") - 1
        found: Mask = (at >= 0) & (values <= self.last[at])
        return found

    def there(self) -> tuple[Values, Values]:
        """What the other clock may have read at these readings: intervals, ends included."""
        rows = list(zip(*(column.tolist() for column in self), strict=True))
        least = [_moved(np.array([first]), low, OPEN_LOW)[0] for first, _, low, _ in rows]
        most = [_moved(np.array([last]), high, OPEN_HIGH)[0] for _, last, _, high in rows]
        return np.array(least, dtype=np.int64), np.array(most, dtype=np.int64)

    def widen(self, lows: Values, highs: Values, earliest: Values, latest: Values) -> None:
        """Have bars of the other clock, of readings in [lows, highs], hold all their instants."""
        for first, last, low, high in zip(*(column.tolist() for column in self), strict=True):
            over = np.flatnonzero((lows <= last) & (highs >= first))
            begin, end = np.maximum(lows[over], first), np.minimum(highs[over], last)
            earliest[over] = np.minimum(earliest[over], _moved(begin, low, OPEN_LOW))
            latest[over] = np.maximum(latest[over], _moved(end, high, OPEN_HIGH))

    def widen_back(self, lows: Values, highs: Values, earliest: Values, latest: Values) -> None:
        """Have bars of the clock, of the other one's readings in [lows, highs], hold them all."""
        for first, last, low, high in zip(*(column.tolist() for column in self), strict=True):
            begin = np.maximum(_moved(lows, -high, OPEN_LOW) if high != OPEN_HIGH else first, first)
            end = np.minimum(_moved(highs, -low, OPEN_HIGH) if low != OPEN_LOW else last, last)
            over = begin <= end
            np.minimum(earliest, begin, out=earliest, where=over)
            np.maximum(latest, end, out=latest, where=over)


def possible_set_backs(segments: Segments, limits: Limits) -> Spans:
    """Readings of clock b from the last bound before each rise of the offset to the first after it.

    Where no message came, clock a may have been set back, instead of b forward: it may then have
    read more than before the rise, and less than after it. The offsets are those of a from b.
    """
    rises = jumps(segments, limits).high > 0
    j, k = segments.last[:-1][rises], segments.first[1:][rises]
    here, knots = segments.evidence, segments.knots
    rows = []
    for before, after in zip(j.tolist(), k.tolist(), strict=True):
        low, high = int(knots[before, 0]), int(knots[after, 2]) + 1
        first, last = int(here.a[before]) + low, int(here.a[after]) + high
        if high - low < FARTHEST and OPEN_LOW <= first <= last <= OPEN_HIGH:
            spread = limits.spread(last - first)
            rows.append((first, last, -high - spread, -low + spread))
    return Spans(*np.array(rows, dtype=np.int64).reshape(-1, 4).T)


def untold(
    segments: Segments, evidence: Evidence, twice: Spans, known: Discontinuities
) -> Discontinuities:
    """Where clock a was set back and on again, or a bound is wrong, and no jump shows it.

    Args:
        segments: of the evidence, which has no readings that are two instants.
        evidence: as given.
        twice: these readings.
        known: the discontinuities that the evidence shows.
    """
    zones = [
        (first, last)
        for first, last in zip(twice.first.tolist(), twice.last.tolist(), strict=True)
        if first != OPEN_LOW
        and last != OPEN_HIGH
        and not ((known.a_from <= last) & (first <= known.a_to)).any()
    ]
    firsts, lasts = ([zone[side] for zone in zones] for side in (0, 1))
    on = given_around(segments, evidence, firsts, lasts)
    return Discontinuities.made("possible_step", (firsts, lasts), on)


def sweep(evidence: Evidence, drift: int) -> Sweep:
    """Bounds along a clock; drift in 2^-52."""
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    columns = (evidence.a, evidence.low, evidence.high, evidence.sides)
    first, _ = faults(*columns, drift, keep)
    rises = [_rises(columns, begin, k, drift / ONE) for begin, k in pairwise(first)]
    return Sweep(evidence, np.array(first, dtype=np.int64), keep, np.array(rises, dtype=bool))


def _rises(columns: tuple[Values, Values, Values, Marks], begin: int, k: int, drift: float) -> bool:
    """Whether bound k lies above all that those from `begin` to it allow; else it lies below."""
    a, low, high, known = (column[begin : k + 1] for column in columns)
    if not known[-1] & LOW_KNOWN:
        return False
    over = low[-1] - high[:-1] > drift * (a[-1] - a[:-1])
    return bool((over & (known[:-1] & HIGH_KNOWN != 0)).any())


def is_better(there: Sweep, here: Sweep) -> bool:
    """Whether bounds are in order along the one clock, on which the other fell, and not there."""
    if not len(there.falls(there.keep != 0)[0]):
        return False
    if there.n_faults == here.n_faults:
        # Both clocks read that one was set back: it is the one against which the other rises.
        return not len(here.wrong) and bool(here.rises.all())
    return there.n_faults < here.n_faults


def read_twice(here: Sweep, there: Sweep, late_ns: int) -> Spans | None:
    """The readings that a clock had twice, and the offsets there; None without any.

    here: along it; there: along the other clock. late_ns: by how much a bound may be wider than
    what was read.
    """
    surely = there.falls(there.keep != 0)
    a, (low, high) = here.evidence.a, here.sides()
    sides = ((low, OPEN_LOW), (high, OPEN_HIGH))
    both = (low != OPEN_LOW) & (high != OPEN_HIGH)
    late = np.where(both, high - low, 0) + late_ns
    rows = []
    for fell in zip(*(ends.tolist() for ends in there.falls()), strict=True):
        touched = a[(a - late <= fell[1]) & (a + late >= fell[0])]
        begin = min([fell[0], *touched[:1].tolist()])
        end = max([fell[1], *touched[-1:].tolist()])
        if not _is_mixed(here, surely, begin, end):
            continue
        which = (a >= begin) & (a <= end)
        least, most = _range(low, high, which)
        # Of a set-back between two messages the readings beside them are not known.
        beyond = max(_longest_gap(a[which & (side != nothing)]) for side, nothing in sides)
        if least != OPEN_LOW and most != OPEN_HIGH:
            # The clock was set back by that much at most.
            beyond = max(beyond, most - least - (end - begin))
        rows.append((begin - beyond, end + beyond))
    if not rows:
        return None
    return _spans(here, *united(*np.array(rows, dtype=np.int64).T))


def _spans(here: Sweep, first: Values, last: Values) -> Spans:
    """Intervals with the offsets in them."""
    a, sides = here.evidence.a, here.sides()
    ends = zip(first.tolist(), last.tolist(), strict=True)
    rows = [(begin, end, *_range(*sides, (a >= begin) & (a <= end))) for begin, end in ends]
    # Nothing is left that says what was before, or after.
    if first[0] <= a[0]:
        rows.insert(0, (OPEN_LOW, rows[0][0] - 1, OPEN_LOW, OPEN_HIGH))
    if last[-1] >= a[-1]:
        rows.append((rows[-1][1] + 1, OPEN_HIGH, OPEN_LOW, OPEN_HIGH))
    return Spans(*np.array(rows, dtype=np.int64).T)


def _is_mixed(here: Sweep, surely: tuple[Values, Values], first: int, last: int) -> bool:
    """Whether a clock was set back where the other one's readings say that it fell.

    Else that one was set back, and is out of order itself: then the offset falls here. A bound that
    is wrong seems to be a fall as well; surely: those without such bounds.
    """
    rises = here.rises[(here.breaks >= first) & (here.breaks <= last)]
    wrong = (here.wrong >= first) & (here.wrong <= last)
    fell = (surely[0] <= last) & (surely[1] >= first)
    return bool(rises.any() or (wrong.any() and fell.any()))


def _longest_gap(a: Values) -> int:
    return int(np.diff(a).max(initial=0))


def _range(low: Values, high: Values, which: Mask) -> tuple[int, int]:
    """The least low side and the greatest high side of some bounds; open without any."""
    lows, highs = low[which & (low != OPEN_LOW)], high[which & (high != OPEN_HIGH)]
    least = int(lows.min()) if len(lows) else OPEN_LOW
    return least, int(highs.max()) if len(highs) else OPEN_HIGH


def united(first: Values, last: Values) -> tuple[Values, Values]:
    """Intervals as ascending, disjoint ones."""
    order = np.argsort(first, kind="stable")
    first, last = first[order], np.maximum.accumulate(last[order])
    begins = np.append(True, first[1:] > last[:-1])[: len(first)]
    ends = np.append(begins[1:], True)[: len(first)]
    return first[begins], last[ends]


def _moved(values: Values, by: int, when_open: int) -> Values:
    """values + by within int64; when_open for all where `by` is open."""
    if by in (OPEN_LOW, OPEN_HIGH):
        return np.full_like(values, when_open)
    fits: Values = np.clip(values, OPEN_LOW - min(by, 0), OPEN_HIGH - max(by, 0))
    return fits + by
