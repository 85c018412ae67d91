"""What a picture of two clocks shows, as columns: offsets, bars, drift, and where they broke.

Times and offsets become floats here, of what is left when a whole number was taken away first; how
they are drawn is said in `plot.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks import ClockId
from tracetime.errors import RESOLVED
from tracetime.graph.pairs import Pair
from tracetime.graph.thin import thin
from tracetime.graph.tube.limits import ONE
from tracetime.snapshot import INT64_MAX, INT64_MIN

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

MOST_SAMPLES: Final = 1200
MOST_SNAPSHOTS: Final = 1000
MOST_BREAKS: Final = 100
_AROUND: Final = 8
_JUMPS: Final = ("suspend", "step", "reset")


class Break(NamedTuple):
    """A discontinuity in the picture: its zone in ns after the origin, and what it is.

    size_ns and rate_ppm are of the clock against the hub, the lesser first.
    """

    kind: str
    start: float
    end: float
    size_ns: tuple[int, int] | None
    rate_ppm: tuple[float, float] | None
    snapshots: tuple[int, ...]


class Seen(NamedTuple):
    """Snapshots: time and offset (ns, the trend and jumps taken out), half-width, number."""

    time: Floats
    offset: Floats
    half: Floats
    number: Values
    reading: Values
    odd: npt.NDArray[np.bool_]


class Sampled(NamedTuple):
    """The tube: time, estimate, low, high (ns, as Seen), half-width, how far floor is from it."""

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
    """The offset of `clock` against `hub` over the hub's time.

    Attributes:
        origin_ns: what the hub read at time 0 of the picture.
        offset_ns: clock - hub at the first snapshot.
        trend_ppm: the drift that was taken out of the offsets.
        seen, sampled, rate: see their classes; thinned, gaps and extremes kept.
        gap_time, gap_ppm, gap_span: drift from each snapshot to the next, and how long that is.
        breaks: discontinuities, by time; the first `MOST_BREAKS`.
        n_snapshots, n_breaks: how many there are in all.
        median_bar_ns, most_bar_ns, most_floor_ns: half-widths within the coverage, and how far
            floor is off at most; NaN where nothing is known.
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
    n_breaks: int
    median_bar_ns: float
    most_bar_ns: float
    most_floor_ns: float
    assumed: bool
    steady: tuple[float, Floats] | None

    @property
    def end(self) -> float:
        """The last moment of the picture, ns after the origin."""
        return float(self.sampled.time[-1])


def since(values: Values, origin: int) -> Floats:
    """values - origin, exact before it becomes a float, wherever int64 holds it."""
    # Subtracting in uint64 wraps, and the result is right where the true one fits.
    exact = (values.view(np.uint64) - np.uint64(origin & (1 << 64) - 1)).view(np.int64)
    about = values.astype(np.float64) - float(origin)
    return np.where(np.abs(about) < 9e18, exact.astype(np.float64), about)


def curves(
    pair: Pair, hub: ClockId, span: tuple[int, int] | None = None, origin_ns: int | None = None
) -> Curves:
    """Work out the picture of a pair.

    Args:
        pair: its tube.
        hub: the one of its clocks that gives the time.
        span: readings of the hub that the picture has to reach from and to.
        origin_ns: the hub's reading at time 0; that of the first snapshot where None.
    """
    evidence = pair.tube.evidence
    forward = hub == pair.a
    clock = pair.b if forward else pair.a
    a, r = evidence.a, evidence.r
    first = int(a[0]) + (0 if forward else int(r[0]))
    origin = first if origin_ns is None else origin_ns
    base = int(r[0])
    sign = 1.0 if forward else -1.0

    found = pair.tube.discontinuities
    jumps = [d for d in found if d.kind in _JUMPS]
    froms = np.array([d.a_from for d in jumps], dtype=np.int64)
    tos = np.array([d.a_to for d in jumps], dtype=np.int64)
    odd = np.isin(a, np.array([d.a_from for d in found if d.kind == "outlier"], dtype=np.int64))

    here = pair.tube.runs
    slope, weight = (
        here.slope / ONE,
        since(here.evidence.a[here.last], int(a[0]))
        - since(here.evidence.a[here.first], int(a[0])),
    )
    trend = float(slope[np.argmax(weight)]) if len(slope) else 0.0
    # Each stretch between two jumps is shifted so that its middle lies at 0: what a jump was is
    # written beside its mark, and what it would do to the scale hides everything else.
    stretch = np.searchsorted(tos, a, side="right")
    left = since(r, base) - trend * since(a, int(a[0]))
    shift = np.zeros(len(jumps) + 1)
    for k in range(len(shift)):
        inside = left[(stretch == k) & ~odd]
        shift[k] = np.median(inside) if len(inside) else 0.0

    def flat(at: Values, offset: Floats) -> Floats:
        """Offsets b - a of readings of a, as the picture has them."""
        result: Floats = sign * (
            offset - trend * since(at, int(a[0])) - shift[np.searchsorted(tos, at, side="right")]
        )
        return result

    def times(at: Values, offset: Floats) -> Floats:
        """ns after the origin, of readings of a where the offset less `base` is known."""
        if forward:
            return since(at, origin)
        return since(at, origin - base) + offset

    points = _points(a, _reach(span, pair, forward))
    there = pair.tube.convert(points)
    bad = there.status != RESOLVED
    estimate, low, high = (_offsets(b, points, base) for b in there[:3])
    if not forward:
        low, high = high, low
    inside = np.zeros(len(points), dtype=bool)
    for start, end in zip(froms.tolist(), tos.tolist(), strict=True):
        inside |= (points > start) & (points < end)
    covered = (points >= a[0]) & (points <= a[-1]) & ~inside & ~bad
    half = np.abs(high - low) / 2
    before = np.maximum(np.searchsorted(a, points, side="right") - 1, 0)
    floor = np.abs(estimate - since(r, base)[before])
    gone = bad | inside
    drawn = [
        np.where(gone, np.nan, column)
        for column in (flat(points, estimate), flat(points, low), flat(points, high), half, floor)
    ]
    time = times(points, np.where(bad, 0.0, estimate))
    ends = np.isin(points, np.concatenate([froms, tos]))
    chosen = thin(MOST_SAMPLES, drawn[1:], ends)
    sampled = Sampled(time[chosen], *(column[chosen] for column in drawn))

    given = pair.snapshots[evidence.order[evidence.group]]
    ends = np.isin(a, np.concatenate([froms, tos])) | odd
    offset = flat(a, since(r, base))
    few = thin(MOST_SNAPSHOTS, [offset], ends if ends.sum() < MOST_SNAPSHOTS else None)
    seen_time = times(a, since(r, base))
    reading = a + (0 if forward else r)
    seen = Seen(seen_time[few], offset[few], evidence.half[few], given[few], reading[few], odd[few])

    breaks = [
        Break(
            d.kind, *_zone(times, d.a_from, d.a_to, a, since(r, base)),
            _turned(d.size_ns, forward), _turned(d.rate_ppm, forward),
            tuple(int(pair.snapshots[i]) for i in d.snapshots),
        )
        for d in found[:MOST_BREAKS]
    ]  # fmt: skip
    gaps = _gaps(seen_time, a, r, stretch, odd, forward)
    rate = Rate(
        seen_time_of(here.evidence.a[here.first], a, seen_time),
        seen_time_of(here.evidence.a[here.last], a, seen_time),
        *(
            _ppm(column / ONE, forward)
            for column in (
                here.slope,
                here.slope_low if forward else here.slope_high,
                here.slope_high if forward else here.slope_low,
            )
        ),
    )
    return Curves(
        hub=hub,
        clock=clock,
        origin_ns=origin,
        offset_ns=base if forward else -base,
        trend_ppm=float(_ppm(np.array([trend]), forward)[0]),
        seen=seen,
        sampled=sampled,
        rate=rate,
        gap_time=gaps[0],
        gap_ppm=gaps[1],
        gap_span=gaps[2],
        breaks=breaks,
        n_snapshots=len(pair.snapshots),
        n_breaks=len(found),
        median_bar_ns=pair.bar_ns,
        most_bar_ns=_most(half[covered]),
        most_floor_ns=_most(floor[covered]),
        assumed=pair.assumed,
        steady=_steady(a, left, stretch, odd),
    )


def _reach(span: tuple[int, int] | None, pair: Pair, forward: bool) -> tuple[int, int]:
    """Where the picture begins and ends, on clock a; past the snapshots by a little at least."""
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
        # Few snapshots: bars bulge in between, which three points do not show.
        share = (a[1:].view(np.uint64) - a[:-1].view(np.uint64)) // np.uint64(_AROUND)
        for k in range(1, _AROUND):
            out.append((a[:-1].view(np.uint64) + share * np.uint64(k)).view(np.int64))
    return np.unique(np.concatenate(out))


def _offsets(b: Values, a: Values, base: int) -> Floats:
    """b - a - base, in floats."""
    wrapped = (b.view(np.uint64) - a.view(np.uint64)).view(np.int64)
    about = b.astype(np.float64) - a.astype(np.float64)
    exact = np.abs(about) < 4e18
    result: Floats = np.where(exact, since(wrapped, base), about - base)
    return result


def _zone(times: Any, a_from: int, a_to: int, a: Values, offset: Floats) -> tuple[float, float]:
    ends = np.searchsorted(a, np.array([a_from, a_to])).clip(0, len(a) - 1)
    start, end = times(a[ends], offset[ends]).tolist()
    return min(start, end), max(start, end)


def seen_time_of(at: Values, a: Values, time: Floats) -> Floats:
    """The picture's time of some snapshots, given by their readings of a."""
    result: Floats = time[np.searchsorted(a, at).clip(0, len(a) - 1)]
    return result


def _turned(limits: tuple[Any, Any] | None, forward: bool) -> tuple[Any, Any] | None:
    if limits is None or forward:
        return limits
    return -limits[1], -limits[0]


def _ppm(slope: Floats, forward: bool) -> Floats:
    """The rate of the clock against the hub less 1, in ppm, of slopes of b - a over a."""
    result: Floats = (slope if forward else -slope / (1 + slope)) * 1e6
    return result


def ppm_of(slope: int, forward: bool) -> float:
    """The same of a slope in 2^-52, as runs have it; forward: the clock is the tube's b."""
    return float(_ppm(np.array([slope / ONE]), forward)[0])


def _gaps(
    time: Floats, a: Values, r: Values, stretch: Values, odd: npt.NDArray[np.bool_], forward: bool
) -> tuple[Floats, Floats, Floats]:
    """Drift from each snapshot to the next of its stretch: middle of the gap, ppm, its length."""
    kept = np.flatnonzero(~odd)
    one, two = kept[:-1], kept[1:]
    same = stretch[one] == stretch[two]
    one, two = one[same], two[same]
    if not len(one):
        return np.zeros(0), np.zeros(0), np.zeros(0)
    span = (a[two].view(np.uint64) - a[one].view(np.uint64)).astype(np.float64)
    ppm = _ppm((r[two] - r[one]) / np.maximum(span, 1.0), forward)
    middle = (time[one] + time[two]) / 2
    few = thin(MOST_SNAPSHOTS, [ppm])
    return middle[few], ppm[few], span[few]


def _most(values: Floats) -> float:
    return float(values.max()) if len(values) else float("nan")


_EVEN: Final = 0.1
_LEAST_STEADY: Final = 16


def _steady(
    a: Values, left: Floats, stretch: Values, odd: npt.NDArray[np.bool_]
) -> tuple[float, Floats] | None:
    """The longest stretch of evenly spaced snapshots: spacing and offsets, in ns."""
    kept = np.flatnonzero(~odd)
    if len(kept) < _LEAST_STEADY:
        return None
    span = np.diff(since(a[kept], int(a[kept[0]])))
    spacing = float(np.median(span))
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
    return spacing, np.interp(grid, time, left[chosen])
