"""Bars where half-widths are assumed: they hold what single snapshots say.

A tube is what all snapshots of a run have in common. A step below twice the half-width leaves them
something in common: a sliver that holds the offset on neither side of it. What each snapshot says
on its own is true however the offset stepped before or after. So the bar between two snapshots
also holds what the one before says, and what the one after does, at the rate of their runs.

Half-widths that were learnt are as wide as the clocks stray in a few snapshots. The same holds for
them, where what snapshots have in common is a sliver, and beside those that may be late or show a
step, as nothing tells: the first one, the last one, and one between two steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import LATEST_NS
from tracetime.graph.tube.limits import MOST_DRIFT, ONE
from tracetime.graph.tube.order_rows import Rows, since
from tracetime.graph.tube.runs import FEW, Runs
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Floats, Mask, Values

_BEFORE, _POINT, _BREAK, _AFTER = 0, 2, 3, 4
"""Kinds of rows (_kernels/evidence/runs.pxi)."""

_AT, _MODE, _LIMIT = 0, 13, 14
_LINES: Final = ((-1, 1), (1, 7))
"""Words of a row's bar (_kernels/tube.pxd): the sign of each side, and its first line."""

_WORDS: Final = 3
"""Of a line: ns, part, slope."""

_HULL: Final = 1
_BESIDE: Final = 3
"""Snapshots on either side of a short segment that its bars hold: fewer than half may be late."""

_MOST_APART: Final = 20
"""So many snapshots that lie apart, one after the other, are where the offset was."""

_APART: Final = 3
"""So many times what is held of a snapshot is the half-width of one that lies apart, learnt."""

_CHUNK: Final = 1 << 15
"""Rows that are worked out at a time."""


class Hold(NamedTuple):
    """What bars hold of each snapshot.

    Attributes:
        half_ns: so much to either side of what it read, and no more than its half-width.
        apart_ns: one with a wider half-width lies apart: it would widen bars on its far side, too.
        sliver_ns: bars need hold nothing where none are narrower at a snapshot; None: always.
        doubtful_ns: readings of clock a: a snapshot there is late, or the offset jumped beside it,
            which nobody can tell. Bars beside it hold it, and those beyond it, all the same.
    """

    half_ns: int
    apart_ns: int
    sliver_ns: int | None
    doubtful_ns: Values

    @classmethod
    def learnt(cls, half_ns: int, sliver_ns: int, doubtful_ns: Values) -> Hold:
        return cls(half_ns, _APART * half_ns, sliver_ns, doubtful_ns)

    @classmethod
    def declared(cls, half_ns: int) -> Hold:
        return cls(half_ns, half_ns, None, np.empty(0, dtype=np.int64))

    def is_needed(self, runs: Runs) -> bool:
        """Whether some bars are slivers of what snapshots say."""
        if self.sliver_ns is None:
            return True
        return bool((runs.knots[:, 2] - runs.knots[:, 0] < self.sliver_ns).any())

    def rows(self, rows: Rows, runs: Runs) -> Values:
        """Which rows hold what snapshots say: all, or those beside doubtful ones."""
        if self.is_needed(runs):
            return np.arange(len(rows.cells))
        doubtful = np.append(0, np.isin(runs.evidence.a, self.doubtful_ns).cumsum())
        k, next_k = rows.cells[:, 1], rows.cells[:, 2]
        return np.flatnonzero(doubtful[next_k + 1] > doubtful[k])


class _Ends(NamedTuple):
    """The first and the last value of each row; of those without an end, the anchor twice."""

    kinds: Values
    at: Values
    first: Values
    last: Values

    @classmethod
    def of(cls, rows: Rows, bars: Values, which: Values) -> _Ends:
        kinds, at = rows.cells[which, 0], bars[which, _AT]
        after = np.append(rows.starts[1:], rows.starts[-1:])[which] - 1
        is_open = (kinds == _BEFORE) | (kinds == _AFTER)
        first = np.where(is_open, at, rows.starts[which])
        return cls(kinds, at, first, np.where(is_open, at, np.maximum(after, first)))


class _Side(NamedTuple):
    """One side of some rows: how far out it is, ns, the sign of the side times the offset.

    Attributes:
        first, last: int64, at the ends of each row.
        slope: of rows without an end: how it goes on, ns per ns.
    """

    first: Values
    last: Values
    slope: Floats


@dataclass(frozen=True, eq=False, slots=True)
class _Snapshots:
    """Those that say something, ascending, and which of them each row holds.

    Attributes:
        a, low, high: int64 ns, one a snapshot.
        least, most: the rates at which the offset may go on from it, ns per ns.
        begin, end: int64, one a row: the first and the last snapshot that it holds.
    """

    a: Values
    low: Values
    high: Values
    least: Floats
    most: Floats
    begin: Values
    end: Values

    def side(self, ends: _Ends, which: slice, sign: int) -> _Side:
        """How far out the snapshots of some of the rows are."""
        begin, end = self.begin[which], self.end[which]
        edges = self.high if sign > 0 else -self.low
        firsts, lasts = edges[begin], edges[begin]
        slopes = np.full(len(begin), -np.inf)
        back = ends.kinds == _BEFORE
        here = np.arange(len(begin))
        for step in range(int((end - begin).max()) + 1):
            here = here[begin[here] + step <= end[here]]
            k = begin[here] + step
            rates = np.sort(sign * np.stack([self.least[k], self.most[k]]), axis=0)
            for reached, x in ((firsts, ends.first[here]), (lasts, ends.last[here])):
                rise = (rates * since(x, self.a[k])).max(axis=0)
                at = edges[k] + np.ceil(rise).astype(np.int64)
                reached[here] = np.maximum(reached[here], at) if step else at
            slopes[here] = np.maximum(slopes[here], np.where(back[here], -rates[0], rates[1]))
        return _Side(firsts, lasts, np.where(back, -slopes, slopes))


def holding_intervals(
    rows: Rows, which: Values, runs: Runs, segments: Segments, drift: int, hold: Hold
) -> Rows:
    """The same rows, the bars of some no narrower than what the snapshots beside them say.

    Args:
        which: these rows, of `Hold.rows`.
        drift: in 2^-52.
    """
    snapshots = _snapshots(rows.cells[which], runs, segments, drift, hold)
    bars = rows.bars.copy()
    for begin in range(0, len(which), _CHUNK):
        chunk = slice(begin, begin + _CHUNK)
        ends = _Ends.of(rows, bars, which[chunk])
        _hold_sides(bars, which[chunk], ends, [snapshots.side(ends, chunk, s) for s, _ in _LINES])
    return rows._replace(bars=bars)


def holding_rows(bars: Values, which: Values, rows: Rows) -> Values:
    """Guaranteed bars of rows, some no narrower than the estimated ones, of `holding_intervals`."""
    bars = bars.copy()
    for begin in range(0, len(which), _CHUNK):
        chunk = which[begin : begin + _CHUNK]
        ends, sides = _Ends.of(rows, bars, chunk), []
        for sign, word in _LINES:
            line = rows.bars[chunk, word : word + _WORDS]
            first, last = (_outward(line, x, ends.at, sign) for x in (ends.first, ends.last))
            sides.append(_Side(first, last, sign * line[:, 2] / ONE))
        _hold_sides(bars, chunk, ends, sides)
    return bars


def _hold_sides(bars: Values, which: Values, ends: _Ends, sides: Sequence[_Side]) -> None:
    """Have some bars hold what is beside them."""
    some = bars[which]
    for (sign, word), beside in zip(_LINES, sides, strict=True):
        _hold(some, ends, beside, sign, word)
    some[:, _MODE] = some[:, _LIMIT] = 0
    bars[which] = some


def _hold(bars: Values, ends: _Ends, beside: _Side, sign: int, word: int) -> None:
    """Make one side of bars a line that holds both of its lines, and what is beside it."""
    one, two = (bars[:, at : at + _WORDS] for at in (word, word + _WORDS))
    hull = bars[:, _MODE] & _HULL != 0
    (one_first, one_last), (two_first, two_last) = (
        [_outward(line, x, ends.at, sign) for x in (ends.first, ends.last)] for line in (one, two)
    )
    # Between the ends, what is within both lines bulges out of the line through its ends.
    ahead, behind = (one_first - two_first).astype(float), (two_last - one_last).astype(float)
    crosses = ~hull & (ahead * behind > 0)
    bulge = np.zeros(len(bars))
    np.divide(ahead * behind, np.abs(ahead + behind), out=bulge, where=crosses)
    first, last = (
        np.maximum(np.where(hull, np.maximum(x, y), np.minimum(x, y)), z)
        for x, y, z in ((one_first, two_first, beside.first), (one_last, two_last, beside.last))
    )
    span, rise = since(ends.last, ends.first), (last - first).astype(float)
    # Steeper than a clock may drift, the offset jumped: both ends all over.
    steep = np.abs(rise) > MOST_DRIFT * span
    first = np.where(steep, np.maximum(first, last), first)
    slope = np.zeros(len(bars))
    np.divide(rise, span, out=slope, where=~steep & (span > 0))
    goes_on = np.stack([sign * one[:, 2] / ONE, sign * two[:, 2] / ONE, beside.slope])
    slope = np.where(ends.kinds == _AFTER, goes_on.max(axis=0), slope)
    slope = np.where(ends.kinds == _BEFORE, goes_on.min(axis=0), slope)
    # The slope is a float that is rounded to 2^-52: so far off the line's other end may be.
    rounded = np.where(slope != 0, (np.abs(rise) * 4 + span) / ONE, 0.0)
    back = np.ceil(slope * since(ends.at, ends.first) + bulge + rounded).astype(np.int64)
    turned = np.rint(sign * slope * ONE).astype(np.int64)
    line = np.stack([sign * (first + back), np.zeros_like(first), turned], axis=1)
    bars[:, word : word + 2 * _WORDS] = np.tile(line, 2)


def _outward(lines: Values, x: Values, at: Values, sign: int) -> Values:
    """How far out lines with their anchors are at x, rounded up."""
    rise = (lines[:, 1] + lines[:, 2] * since(x, at)) / ONE
    outward: Values = sign * lines[:, 0] + np.ceil(sign * rise).astype(np.int64)
    return outward


def _snapshots(cells: Values, runs: Runs, segments: Segments, drift: int, hold: Hold) -> _Snapshots:
    """What the rows of a tube hold: the snapshots at their ends.

    Beyond one that lies apart, the next that does not. At a snapshot that ends a run, the one
    before as well: it may be late. Where a segment is so short that nobody can tell whether the
    offset jumped or some snapshots are off, those beside it.
    """
    here, kept = runs.evidence, np.flatnonzero(runs.strays == 0)
    kinds, k, next_k = cells[:, :3].T
    at, to = np.searchsorted(kept, k, side="right") - 1, np.searchsorted(kept, next_k)
    begin = at - np.isin(kinds, (_POINT, _AFTER))
    end = to + np.isin(kinds, (_BEFORE, _POINT))
    apart = (here.high - here.low > 2 * hold.apart_ns) | np.isin(here.a, hold.doubtful_ns)
    apart = apart[kept]
    begin, end = _in_place(apart, begin, -1), _in_place(apart, end, 1)
    first, last = (np.searchsorted(kept, ends) for ends in (segments.first, segments.last))
    short = last - first < FEW
    first = np.maximum(first - short * _BESIDE, 0)
    last = np.minimum(last + short * _BESIDE, len(kept) - 1)
    own, other = (np.searchsorted(segments.first, of, side="right") - 1 for of in (k, next_k))
    begin = np.where(short[own], first[own], np.maximum(begin, first[own]))
    end = np.where(short[other], last[other], np.minimum(end, last[other]))
    if hold.sliver_ns is not None:
        lows, highs = _levels(here.r[kept])
        begin, end = np.maximum(begin, lows[at]), np.minimum(end, highs[to])
    least, most = _rates(runs, segments, drift)
    low, high = (
        np.maximum(here.low, here.r - hold.half_ns),
        np.minimum(here.high, here.r + hold.half_ns),
    )
    return _Snapshots(here.a[kept], low[kept], high[kept], least[kept], most[kept], begin, end)


def _levels(r: Values) -> tuple[Values, Values]:
    """The first and the last snapshot that may be of one level with each; r: the offsets.

    Beyond a step of more than `LATEST_NS` nothing is late by so much.
    """
    steps = np.flatnonzero(np.abs(np.diff(r)) > LATEST_NS)
    of = np.searchsorted(steps, np.arange(len(r)))
    return np.append(0, steps + 1)[of], np.append(steps, len(r) - 1)[of]


def _in_place(apart: Mask, k: Values, sign: int) -> Values:
    """The nearest snapshot from each of k on, back or on, that does not lie apart."""
    order = np.arange(len(apart))
    if sign < 0:
        near = np.maximum.accumulate(np.where(apart, -1, order))
    else:
        near = np.minimum.accumulate(np.where(apart, len(order), order)[::-1])[::-1]
    near = np.where(np.abs(near - order) > _MOST_APART, order, near)
    return near[np.clip(k, 0, len(order) - 1)]


def _rates(runs: Runs, segments: Segments, drift: int) -> tuple[Floats, Floats]:
    """The rates at which the offset may go on from each snapshot, ns per ns.

    Those of its run; where that proves none, of the nearest runs of its segment that do; without
    any, all within the limits. Between two runs, those of both.
    """
    proven = runs.width < drift
    order = np.arange(len(proven))
    before = np.maximum.accumulate(np.where(proven, order, 0))
    after = np.minimum.accumulate(np.where(proven, order, order[-1])[::-1])[::-1]
    lows, highs = (runs.slope - runs.width) / ONE, (runs.slope + runs.width) / ONE
    least, most = np.full(len(order), np.inf), np.full(len(order), -np.inf)
    for near in (before, after):
        tells = proven[near] & (runs.segment[near] == runs.segment)
        least = np.where(tells, np.minimum(least, lows[near]), least)
        most = np.where(tells, np.maximum(most, highs[near]), most)
    none = least > most
    least[none], most[none] = -drift / ONE, drift / ONE
    k = np.arange(len(runs.evidence.a))
    own = np.maximum(np.searchsorted(runs.first, k, side="right") - 1, 0)
    other = np.where(k > runs.last[own], np.minimum(own + 1, order[-1]), own)
    return np.minimum(least[own], least[other]), np.maximum(most[own], most[other])
