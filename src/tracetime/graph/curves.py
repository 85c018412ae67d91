"""The columns of a picture of two clocks: offsets, bars, drift and discontinuities.

Times and offsets become floats here, after a whole number was subtracted; `reporting/plot.py` draws
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import median, medians
from tracetime.errors import ONE_SIDED, PLACED
from tracetime.graph.decimation import decimate
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.pair import Pair, to_ns, to_ticks
from tracetime.graph.tube.results import Reached
from tracetime.graph.values import Floats, Mask, Values, ascending, difference, if_it_fits

if TYPE_CHECKING:
    from tracetime.graph.tube.policy import TubePolicy

MOST_POINTS: Final = 1200
"""Points of a curve, or snapshots, about; more are decimated."""

MOST_BREAKS: Final = 100
"""More marks would cover the picture."""

# Points past each end of the snapshots, and between two of few: bars bulge there.
_AROUND: Final = 8
_CHUNK: Final = 1 << 16
"""Points that are worked out at a time."""

_JUMPS: Final = ("suspend", "step", "reset")


class Break(NamedTuple):
    """A discontinuity in the picture: its zone in ns after the origin, and what it is.

    size_ns and rate_ppm are of the clock against the reference (`hub`), the lesser first.
    """

    kind: str
    start: float
    end: float
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


class Seen(NamedTuple):
    """Snapshots: time and offset (ns, the trend and jumps taken out), half-width, number.

    Orders are among them, as the bound that each gives; their number is -1.

    hub, clock: readings of the two, int64 ns (at the nominal rate, where they count ticks).
    """

    time: Floats
    offset: Floats
    half: Floats
    number: Values
    hub: Values
    clock: Values
    odd: Mask


class Sampled(NamedTuple):
    """The tube: time, estimate, low, high (ns, as Seen), half-width, distance of floor."""

    time: Floats
    estimate: Floats
    low: Floats
    high: Floats
    half: Floats
    floor: Floats


class Rate(NamedTuple):
    """Runs in which a rate held: their ends in ns after the origin, and ppm with its limits."""

    start: Floats
    end: Floats
    ppm: Floats
    low: Floats
    high: Floats


@dataclass(frozen=True, eq=False, slots=True)
class Curves:
    """The offset of `clock` against a reference clock, `hub`, over the time of the reference.

    Attributes:
        origin_ns: the reference's reading at time 0 of the picture.
        offset_ns: clock - hub at the first snapshot.
        trend_ppm: the drift that was taken out of the offsets.
        seen, sampled: see their classes; decimated, extremes and gaps kept.
        rate: of the longest runs.
        gap_time, gap_ppm, gap_span: drift from each snapshot to the next, and how long that is.
        breaks: discontinuities, by time; the first `MOST_BREAKS`.
        n_snapshots, n_orders, n_breaks: how many there are in all.
        median_bar_ns, most_bar_ns, most_floor_ns: half-widths within the coverage, and the
            greatest error of floor; NaN where nothing is known, or one side of the bars is open.
        drawn_bar_ns: the greatest half-width of all that is drawn, outside of the coverage, too.
        assumed: half-widths were assumed.
        steady: phase for an Allan deviation: (spacing_ns, offsets in ns) of the longest stretch of
            evenly spaced snapshots.
    """

    hub: ClockId
    clock: ClockId
    origin_ns: int
    offset_ns: int
    trend_ppm: float
    seen: Seen
    sampled: Sampled
    rate: Rate
    gap_time: Floats
    gap_ppm: Floats
    gap_span: Floats
    breaks: list[Break]
    n_snapshots: int
    n_orders: int
    n_breaks: int
    median_bar_ns: float
    most_bar_ns: float
    drawn_bar_ns: float
    most_floor_ns: float
    assumed: bool
    steady: tuple[float, Floats] | None

    def __repr__(self) -> str:
        return f"<Curves of {self.clock} against {self.hub}: {self.n_snapshots} snapshots>"

    @property
    def end(self) -> float:
        """The last moment of the picture, ns after the origin."""
        return float(self.sampled.time[-1])


def since(values: Values, origin: int) -> Floats:
    """values - origin, exact before it becomes a float, wherever int64 holds it."""
    # Subtracting in uint64 wraps, and the result is right where the true one fits.
    exact = (values.view(np.uint64) - np.uint64(origin & (1 << 64) - 1)).view(np.int64)
    return if_it_fits(exact, values.astype(np.float64) - float(origin))


_Convert = Callable[[Values], Reached]
"""A conversion of readings of a pair's clock a to b, both in ns."""


# long: a third of it is what it takes, and what it returns
def curves(
    tubes: TubePolicy,
    pair: Pair,
    hub: ClockId,
    span: tuple[int, int] | None = None,
    origin_ns: int | None = None,
    most: int = MOST_POINTS,
) -> Curves:
    """Make the picture of a pair.

    Args:
        tubes: by which the bars are drawn: as conversions have them, whatever their path is.
        pair: its tube.
        hub: the one of its clocks that is the reference.
        span: readings of the reference that the picture must include.
        origin_ns: the reference's reading at time 0; that of the first snapshot where None.
        most: points of a curve, about.
    """
    frame = _Frame(pair, hub, _conversion(tubes, pair), origin_ns)
    found = pair.tube.discontinuities
    time = frame.time(frame.a, frame.offset)
    sampled, most_bar, most_floor, drawn_bar = _sampled(
        frame, _reach(span, pair, frame.forward), most
    )
    breaks = []
    for d in found[:MOST_BREAKS]:
        ends = time[np.searchsorted(frame.a, [d.a_from, d.a_to]).clip(0, len(time) - 1)]
        breaks.append(
            Break(
                kind=d.kind,
                start=float(ends.min()),
                end=float(ends.max()),
                size_ns=_oriented(d.size_ns, frame.forward),
                rate_ppm=_oriented(d.rate_ppm, frame.forward),
                snapshots=tuple(
                    int(pair.snapshots[i]) for i in d.snapshots if i < len(pair.snapshots)
                ),
            )
        )
    gap_time, gap_ppm, gap_span = _gaps(frame, time, most)
    return Curves(
        hub=hub,
        clock=pair.b if frame.forward else pair.a,
        origin_ns=frame.origin,
        offset_ns=frame.base if frame.forward else -frame.base,
        trend_ppm=float(_ppm(np.array([frame.trend]), frame.forward)[0]),
        seen=_seen(frame, time, most),
        sampled=sampled,
        rate=_rate(frame, time, most),
        gap_time=gap_time,
        gap_ppm=gap_ppm,
        gap_span=gap_span,
        breaks=breaks,
        n_snapshots=len(pair.snapshots),
        n_orders=0 if pair.orders is None else len(pair.orders.a_ns),
        n_breaks=len(found),
        median_bar_ns=pair.known_bar_ns,
        most_bar_ns=most_bar,
        drawn_bar_ns=drawn_bar,
        most_floor_ns=most_floor,
        assumed=pair.assumed,
        steady=_steady(frame),
    )


def _conversion(tubes: TubePolicy, pair: Pair) -> _Convert:
    """The conversion that events have; of a counter that wraps, that of the unfolded readings."""
    if tubes.pairs.counter(pair.a) is not None or tubes.pairs.counter(pair.b) is not None:
        return pair.tube.convert
    rate = pair.rate_of(pair.b)

    def convert(points: Values) -> Reached:
        ticks = to_ticks(points, pair.a_rate, 0.5)[0]
        reached = tubes.convert(ticks, pair.a, pair.b, "estimated")[0]
        estimate, low, high = (to_ns(values, rate)[0] for values in reached[:3])
        low = np.where(reached.earliest == INT64_MIN, INT64_MIN, low)
        high = np.where(reached.latest == INT64_MAX, INT64_MAX, high)
        return Reached(estimate, low, high, reached.status)

    return convert


class _Frame:
    """The picture's axes: how readings of clock a, and offsets b - a, become times and heights.

    Attributes:
        forward: the reference is the tube's a; else it is b, and offsets change their sign.
        a: the snapshots' readings of a, int64 ns.
        offset: their offsets less the first one's, `base`.
        number: of the snapshot at each of these, or -1 of an order.
        odd: marks outliers.
        froms, tos: the zones of jumps, on a.
        stretch: of each snapshot, how many jumps came before it.
        left: offsets less the trend.
    """

    def __init__(self, pair: Pair, hub: ClockId, convert: _Convert, origin_ns: int | None) -> None:
        evidence, found = pair.tube.evidence, pair.tube.discontinuities
        self.pair, self.convert = pair, convert
        self.forward = hub == pair.a
        self.a, self.r = evidence.a, evidence.r
        self.number = pair.numbers[evidence.order[evidence.group]]
        self.base = int(self.r[0])
        first = int(self.a[0]) + (0 if self.forward else self.base)
        self.origin = first if origin_ns is None else origin_ns
        self.offset = since(self.r, self.base)
        jumps = found.take(found.kind_is(*_JUMPS))
        self.froms, self.tos = jumps.a_from, jumps.a_to
        outliers = found.a_from[found.kind_is("outlier", "wrong_order")]
        self.odd: Mask = np.isin(self.a, outliers)
        self.trend = self._longest_rate()
        self.stretch = np.searchsorted(self.tos, self.a, side="right")
        self.left = self.offset - self.trend * since(self.a, int(self.a[0]))
        # Each stretch between two jumps is shifted so that its middle is at 0: the size of a jump
        # is written next to its mark, and on the scale it would hide everything else.
        kept = ~self.odd
        self._shift = medians(self.left[kept], self.stretch[kept], len(jumps) + 1)

    def _longest_rate(self) -> float:
        """The rate of the run that held longest, ns per ns."""
        runs = self.pair.tube.runs
        a = runs.evidence.a
        longest = int(np.argmax(difference(a[runs.last], a[runs.first])))
        return float(runs.slope[longest]) / ONE

    def height(self, at: Values, offset: Floats) -> Floats:
        """Offsets (less base) at readings of a, as heights in the picture."""
        flat: Floats = (
            offset
            - self.trend * since(at, int(self.a[0]))
            - self._shift[np.searchsorted(self.tos, at, side="right")]
        )
        return flat if self.forward else -flat

    def time(self, at: Values, offset: Floats) -> Floats:
        """ns after the origin, of readings of a at which the offset (less base) is known."""
        if self.forward:
            return since(at, self.origin)
        return since(at, self.origin - self.base) + offset


def _sampled(
    frame: _Frame, reach: tuple[int, int], most: int
) -> tuple[Sampled, float, float, float]:
    """The tube, and the greatest half-width and error of floor: the former also of all drawn."""
    a = frame.a
    points, drawn = _refined(frame, _points(a, reach))
    hidden = np.isnan(drawn[0])
    ends = np.zeros(len(points), dtype=bool)
    # They are readings of snapshots, which all are points.
    ends[np.searchsorted(points, np.append(frame.froms, frame.tos))] = True
    near = decimate(_MOST_LOOKED_AT, list(drawn[1:]), ends)
    kept = near[_bends(points[near], drawn[:, near], ends[near])]
    chosen = kept[decimate(most, [column[kept] for column in drawn[1:]], ends[kept])]
    covered = (points >= a[0]) & (points <= a[-1]) & ~hidden
    half, floor = drawn[3:]
    return (
        Sampled(_times(frame, points[chosen]), *(column[chosen] for column in drawn)),
        _most(half[covered]),
        _most(floor[covered]),
        _most(half[~hidden]),
    )


_PIXELS: Final = 400
"""Pixels that a panel is high, twice what they are: what is nearer to a line is drawn by it."""

_ACROSS: Final = 2000
"""Pixels that a panel is wide, twice: the tube is looked at no closer."""

_SPLIT: Final = 0.381966
"""Where a gap is divided: not in its middle, where the two sides of a peak may cancel out."""

_MOST_LOOKED_AT: Final = 50_000
"""Of about so many points those are chosen between which lines are what is drawn."""

_ROUNDS: Final = 11
_MOST_REFINED: Final = 20_000
"""Points that are added at most."""


def _refined(frame: _Frame, points: Values) -> tuple[Values, Floats]:
    """Points, with others between, so that lines from one to the next are what is drawn there."""
    drawn = _all_drawn(frame, points)
    near = max((int(points[-1]) - int(points[0])) // _ACROSS, 1)
    open_ = np.ones(max(len(points) - 1, 0), dtype=bool)
    for _ in range(_ROUNDS):
        gaps = np.diff(points.view(np.uint64))
        left = np.flatnonzero(open_ & (gaps > near))[:_MOST_REFINED]
        if not len(left):
            break
        step = np.maximum((gaps[left] * _SPLIT).astype(np.uint64), np.uint64(1))
        added = (points[left].view(np.uint64) + step).view(np.int64)
        there = _all_drawn(frame, added)
        share = step / gaps[left]
        line = drawn[:, left] + share * (drawn[:, left + 1] - drawn[:, left])
        bent = _off(there, line, _pixel(drawn)) > 1
        order = np.argsort(np.append(points, added), kind="stable")
        points = np.append(points, added)[order]
        drawn = np.concatenate([drawn, there], axis=1)[:, order]
        open_ = np.zeros(len(points) - 1, dtype=bool)
        places = np.searchsorted(points, added[bent])
        open_[places - 1] = open_[places] = True
    return points, drawn


def _pixel(drawn: Floats) -> Floats:
    """The height of a pixel for each column: of the estimate and its bar, then of logarithms."""
    ranges = []
    for rows in (drawn[:3], np.log(np.maximum(drawn[3:], 1.0))):
        known = rows[np.isfinite(rows)]
        size = float(known.max() - known.min()) if len(known) else 0.0
        ranges += [max(size, 1e-9) / _PIXELS] * len(rows)
    return np.array(ranges)[:, None]


def _off(one: Floats, other: Floats, pixel: Floats) -> Floats:
    """How many pixels two curves are apart at most; infinite where one of them has a gap."""
    logs = [np.append(c[:3], np.log(np.maximum(c[3:], 1.0)), axis=0) for c in (one, other)]
    apart = np.abs(logs[0] - logs[1]) / pixel
    gap = np.isnan(one) != np.isnan(other)
    off: Floats = np.where(gap, np.inf, np.nan_to_num(apart, nan=0.0)).max(axis=0)
    return off


def _bends(points: Values, drawn: Floats, keep: Mask) -> Values:
    """The points between which lines are what is drawn: of each line the worst is added."""
    chosen = keep.copy()
    gap = np.isnan(drawn)
    turns = np.flatnonzero((gap[:, 1:] != gap[:, :-1]).any(axis=0))
    chosen[turns] = chosen[turns + 1] = chosen[[0, -1]] = True
    time, pixel = since(points, int(points[0])), _pixel(drawn)
    filled = np.nan_to_num(drawn, nan=0.0, posinf=0.0, neginf=0.0)
    at = np.flatnonzero(chosen)
    begins, ends = at[:-1], at[1:]
    while True:
        open_ = ends - begins > 1
        begins, ends = begins[open_], ends[open_]
        if not len(begins):
            return np.flatnonzero(chosen)
        sizes = ends - begins - 1
        firsts = np.cumsum(sizes) - sizes
        owner = np.repeat(np.arange(len(sizes)), sizes)
        between = np.arange(len(owner)) + (begins + 1 - firsts)[owner]
        slope = (filled[:, ends] - filled[:, begins]) / (time[ends] - time[begins])
        line = slope[:, owner] * (time[between] - time[begins][owner]) + filled[:, begins[owner]]
        off = _off(filled[:, between], line, pixel)
        worst = np.maximum.reduceat(off, firsts)
        hits = np.flatnonzero((off == worst[owner]) & (off > 1))
        hits = hits[np.append(True, np.diff(owner[hits]) > 0)] if len(hits) else hits
        added, of = between[hits], owner[hits]
        chosen[added] = True
        begins, ends = np.append(begins[of], added), np.append(added, ends[of])


def _all_drawn(frame: _Frame, points: Values) -> Floats:
    """What there is at some points, worked out in parts."""
    hidden = _within(points, frame.froms, frame.tos)
    drawn = np.empty((5, len(points)))
    for begin in range(0, len(points), _CHUNK):
        some = slice(begin, begin + _CHUNK)
        _draw(frame, points[some], hidden[some], drawn[:, some])
    return drawn


def _draw(frame: _Frame, points: Values, hidden: Mask, columns: Floats) -> None:
    """Write what there is at some points: the tube, its half-width, and the error of floor.

    hidden: marks those that are not drawn, within zones; those without a bar are marked, too.
    """
    there = frame.convert(points)
    bad = ~is_any_of(there.status, PLACED)
    estimate, low, high = (_offsets(b, points, frame.base) for b in there[:3])
    is_open = there.status == ONE_SIDED
    low[is_open & (there.earliest == INT64_MIN)] = np.nan
    high[is_open & (there.latest == INT64_MAX)] = np.nan
    heights = [frame.height(points, offset) for offset in (estimate, low, high)]
    if not frame.forward:
        heights[1:] = heights[:0:-1]
    columns[:] = *heights, (high - low) / 2, _floor_error(frame, points, estimate)
    hidden |= bad
    columns[:, hidden] = np.nan


def _times(frame: _Frame, points: Values) -> Floats:
    """When some points are, ns after the origin."""
    there = frame.convert(points)
    known = is_any_of(there.status, PLACED)
    return frame.time(points, np.where(known, _offsets(there.estimate, points, frame.base), 0.0))


def _floor_error(frame: _Frame, points: Values, estimate: Floats) -> Floats:
    """How far floor is from the estimate, which uses the snapshots alone; NaN without any."""
    a, offset = frame.a, frame.offset
    if frame.pair.orders is not None:
        read = frame.number >= 0
        a, offset = a[read], offset[read]
    if not len(a):
        return np.full(len(points), np.nan)
    before = np.maximum(np.searchsorted(a, points, side="right") - 1, 0)
    return np.abs(estimate - offset[before])


def _within(points: Values, froms: Values, tos: Values) -> Mask:
    """Which points are between the ends of any zone."""
    some = froms < tos
    begun = np.searchsorted(np.sort(froms[some]), points, side="left")
    ended = np.searchsorted(np.sort(tos[some]), points, side="right")
    inside: Mask = begun > ended
    return inside


def _seen(frame: _Frame, time: Floats, most: int) -> Seen:
    """The snapshots, decimated where they are many."""
    evidence, a = frame.pair.tube.evidence, frame.a
    height = frame.height(a, frame.offset)
    few = _chosen(most, height, frame.odd | np.isin(a, np.concatenate([frame.froms, frame.tos])))
    one, other = a[few], (a + frame.r)[few]
    hub, clock = (one, other) if frame.forward else (other, one)
    half = np.where(evidence.one_sided, 0.0, evidence.half)
    return Seen(time[few], height[few], half[few], frame.number[few], hub, clock, frame.odd[few])


def _chosen(most: int, column: Floats, keep: Mask) -> Values:
    """The points to draw: extremes, and regular ones, since extremes look like two lines."""
    regular = np.arange(len(column)) % max(1, -(-2 * len(column) // most)) == 0
    keep = regular if keep.sum() > most // 4 else keep | regular
    return decimate(most if len(column) <= most else most // 2, [column], keep)


def _rate(frame: _Frame, time: Floats, most: int) -> Rate:
    """The runs, or the longest of them where they are many."""
    runs = frame.pair.tube.runs
    start, end = (
        time[np.searchsorted(frame.a, runs.evidence.a[ends]).clip(0, len(time) - 1)]
        for ends in (runs.first, runs.last)
    )
    slopes = [runs.slope, runs.slope_low, runs.slope_high]
    if not frame.forward:
        slopes[1:] = slopes[:0:-1]
    kept = np.sort(np.argsort(start - end, kind="stable")[:most])
    ppm = (_ppm(slope[kept] / ONE, frame.forward) for slope in slopes)
    return Rate(start[kept], end[kept], *ppm)


def _reach(span: tuple[int, int] | None, pair: Pair, forward: bool) -> tuple[int, int]:
    """Where the picture begins and ends, on clock a; a little past the snapshots at least."""
    a, r = pair.tube.evidence.a, pair.tube.evidence.r
    first, last = int(a[0]), int(a[-1])
    margin = max((last - first) // 50, 1000)
    low, high = first - margin, last + margin
    if span is not None:
        low = min(low, span[0] - (0 if forward else int(r[0])))
        high = max(high, span[1] - (0 if forward else int(r[-1])))
    return max(low, INT64_MIN), min(high, INT64_MAX)


def _points(a: Values, reach: tuple[int, int]) -> Values:
    """Readings to sample the tube at: snapshots, half-way between, just before; past the ends."""
    between = (a[1:].view(np.uint64) - a[:-1].view(np.uint64)) >> np.uint64(1)
    middle = (a[:-1].view(np.uint64) + between).view(np.int64)
    out = [a, middle, a[1:] - 1]
    for end, far in ((int(a[0]), reach[0]), (int(a[-1]), reach[1])):
        step = (far - end) // _AROUND
        out.append(np.array([end + step * k for k in range(_AROUND)] + [far], dtype=np.int64))
    if len(a) < 50:
        # With few snapshots the bars in between need more than three points.
        share = (a[1:].view(np.uint64) - a[:-1].view(np.uint64)) // np.uint64(_AROUND)
        for k in range(1, _AROUND):
            out.append((a[:-1].view(np.uint64) + share * np.uint64(k)).view(np.int64))
    return ascending(np.concatenate(out))


def _offsets(b: Values, a: Values, base: int) -> Floats:
    """b - a - base, in floats."""
    wrapped = (b.view(np.uint64) - a.view(np.uint64)).view(np.int64)
    about = b.astype(np.float64) - a.astype(np.float64)
    exact = np.abs(about) < 4e18
    result: Floats = np.where(exact, since(wrapped, base), about - base)
    return result


def _oriented(limits: tuple[Any, Any] | None, forward: bool) -> tuple[Any, Any] | None:
    if limits is None or forward:
        return limits
    return -limits[1], -limits[0]


def _ppm(slope: Floats, forward: bool) -> Floats:
    """The rate of the clock against the reference less 1, in ppm, from slopes of b - a over a.

    It is infinite where the reference stands still.
    """
    with np.errstate(divide="ignore"):
        result: Floats = (slope if forward else -slope / (1 + slope)) * 1e6
    return result


def ppm_of(slope: int, forward: bool) -> float:
    """The same of a slope in 2^-52, as of runs; forward: the clock is the tube's b."""
    return float(_ppm(np.array([slope / ONE]), forward)[0])


def _gaps(frame: _Frame, time: Floats, most: int) -> tuple[Floats, Floats, Floats]:
    """Drift from each snapshot to the next of its stretch: middle of the gap, ppm, its length."""
    a, r = frame.a, frame.r
    kept = np.flatnonzero(~frame.odd & (frame.number >= 0))
    one, two = kept[:-1], kept[1:]
    same = frame.stretch[one] == frame.stretch[two]
    one, two = one[same], two[same]
    span = (a[two].view(np.uint64) - a[one].view(np.uint64)).astype(np.float64)
    ppm = _ppm((r[two] - r[one]) / np.maximum(span, 1.0), frame.forward)
    middle = (time[one] + time[two]) / 2
    few = _chosen(most, ppm, np.zeros(len(ppm), dtype=bool))
    return middle[few], ppm[few], span[few]


def _most(values: Floats) -> float:
    return float(values.max()) if len(values) else float("nan")


# Spacings within a tenth of the median count as even.
_EVEN: Final = 0.1
# Fewer points make no Allan deviation.
_LEAST_STEADY: Final = 16


def _steady(frame: _Frame) -> tuple[float, Floats] | None:
    """The longest stretch of evenly spaced snapshots: spacing and offsets, in ns."""
    a, stretch = frame.a, frame.stretch
    kept = np.flatnonzero(~frame.odd & (frame.number >= 0))
    if len(kept) < _LEAST_STEADY:
        return None
    span = np.diff(since(a[kept], int(a[kept[0]])))
    spacing = median(span)
    even = np.abs(span - spacing) <= _EVEN * spacing
    even &= stretch[kept[1:]] == stretch[kept[:-1]]
    edges = np.flatnonzero(np.diff(np.concatenate([[0], even.astype(np.int8), [0]])))
    starts, ends = edges[::2], edges[1::2]
    if not len(starts):
        return None
    longest = int(np.argmax(ends - starts))
    chosen = kept[starts[longest] : ends[longest] + 1]
    if len(chosen) < _LEAST_STEADY:
        return None
    time = since(a[chosen], int(a[chosen[0]]))
    grid = np.arange(len(chosen)) * (time[-1] / (len(chosen) - 1))
    return spacing, np.interp(grid, time, frame.left[chosen])
