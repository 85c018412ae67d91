"""What clock b read in each stretch between two falls of the offset: which readings are of two.

A clock that was set back may read the same again. A counter that was reset begins anew near zero:
where its stretches have no reading in common, each reading that snapshots saw is of one stretch,
and those before the first or after the last snapshot are of the stretch that is near.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import InverseTable, RowTable
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.tube import findings
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import Mask, Values, ascending

Interval = tuple[float, float]
"""Of readings of clock b, ends included: whole ns, or infinite."""

Ends = tuple[Values, Values, Values]
"""Values, and the earliest and the latest that each may be."""

_REACHED, _SEEN, _NEAR = 0, 1, 2

_SEVERAL: Final = -1
"""In place of a stretch: readings that may be of several."""


class AmbiguousValues(NamedTuple):
    """Ascending, disjoint intervals of clock b that may be two instants, ends included."""

    lows: Values
    highs: Values


class Held(NamedTuple):
    """Readings of clock b that are of one stretch, although bars of others reach them, too.

    Attributes:
        lows, highs: int64, ascending and disjoint intervals, ends included.
        first, last: of each interval, the snapshots at the ends of its stretch; -1 where the
            stretch has no end.
    """

    lows: Values
    highs: Values
    first: Values
    last: Values

    def which(self, lows: Values, highs: Values) -> Values:
        """The interval that holds all of each [low, high]; -1 where none does."""
        at = np.searchsorted(self.lows, lows, side="right") - 1
        return np.where((at >= 0) & (highs <= self.highs[at]), at, -1)

    def go_on(self, evidence: Evidence, drift: float, which: Values, ends: Ends, out: Ends) -> None:
        """Have bars go on from the ends of a stretch, where readings are beyond its snapshots.

        Args:
            which: the interval of each reading.
            drift: of the two clocks, ns per ns.
            ends: the readings, and the earliest and the latest that each may be.
            out: estimate, earliest and latest instant of each, which change in place.
        """
        estimate, earliest, latest = out
        values, lows, highs = ends
        for snapshots, sign in ((self.first, -1), (self.last, 1)):
            here = np.flatnonzero(snapshots[which] >= 0)
            at = snapshots[which[here]]
            a, sides = evidence.a[at], (evidence.low[at], evidence.high[at])
            # Outward: what lies farther out, by readings and by instants, and what lies closer.
            closer, farther = (lows, highs) if sign > 0 else (highs, lows)
            near, far = (earliest, latest) if sign > 0 else (latest, earliest)
            one, two = sides if sign > 0 else sides[::-1]
            most, least = sign * (farther[here] - a - one), sign * (closer[here] - a - two)
            most += np.ceil(most * (drift / (1 - drift))).astype(np.int64) + 1
            least -= np.ceil(least * drift).astype(np.int64) + 1
            for side, by in ((far, most), (near, least)):
                reached = sign * np.maximum(sign * side[here], sign * a + by)
                side[here] = np.where(by > 0, reached, side[here])
            middle = values[here] - (sides[0] + (sides[1] - sides[0]) // 2)
            estimate[here] = np.where(least > 0, middle, estimate[here])
        np.clip(estimate, earliest, latest, out=estimate)


class Stretches(NamedTuple):
    """The readings of clock b in its stretches.

    Attributes:
        disordered: those that more than one stretch reaches: which is less says nothing of which
            was first.
        ambiguous: those of them that may be two instants.
        held: those that are of one stretch.
    """

    disordered: AmbiguousValues
    ambiguous: AmbiguousValues
    held: Held | None


def stretches_of_b(segments: Segments, limits: Limits) -> Stretches:
    """Find which readings of clock b may be two instants: where its offset fell, b was set back."""
    if len(segments.first) == 1:
        return Stretches(_ambiguous([]), _ambiguous([]), None)
    fell = _falls(segments, limits)
    reached = _reached(segments, limits, fell)
    disordered = _ambiguous(_parts(reached))
    begins_anew = segments.evidence.known is None and not limits.wraps and bool(fell.any())
    if not begins_anew or not findings.are_resets(segments, limits)[fell].all():
        return Stretches(disordered, disordered, None)
    first = np.append(segments.first[0], segments.first[1:][fell])
    last = np.append(segments.last[:-1][fell], segments.last[-1])
    seen = _seen(segments, first, last)
    parts = _parts(reached, *_sides(segments, reached, seen))
    ours = [part for part in parts if part[2] != _SEVERAL and _is_int64(part[:2])]
    if not ours:
        return Stretches(disordered, _ambiguous(parts), None)
    stretch = np.array([one for _, _, one in ours], dtype=np.int64)
    # Nothing ends the first stretch before, and the last one after, the snapshots.
    first, last = first.copy(), last.copy()
    first[0] = last[-1] = -1
    held = Held(*_int64([part[:2] for part in ours]), first[stretch], last[stretch])
    return Stretches(disordered, _ambiguous(parts), held)


def _falls(segments: Segments, limits: Limits) -> Mask:
    """Whether clock b fell, or may have, from each segment to the next."""
    jumped = findings.jumps(segments, limits)
    # Beside a segment with an open side nobody knows whether b fell; the bars allow it.
    is_open = np.logical_or(*segments.open_sides)
    fell: Mask = (jumped.low < 0) & ~(is_open[:-1] | is_open[1:])
    fell &= ~segments.possible
    # That a machine slept does not say so.
    return fell & (~segments.forced | (jumped.high < 0))


def _reached(segments: Segments, limits: Limits, fell: Mask) -> list[Interval]:
    """What clock b may have read in each stretch; the first and the last have no end."""
    a, knots = segments.evidence.a, segments.knots
    j, k = segments.last[:-1][fell], segments.first[1:][fell]
    # In Python's integers: a reading and an offset together may be beyond int64.
    columns = (a[j], a[k], knots[j, 2], knots[k, 0], findings.jumps(segments, limits).spread[fell])
    ends: list[Interval] = []
    start = -math.inf
    for a_from, a_to, most, least, spread in zip(*(c.tolist() for c in columns), strict=True):
        ends.append((start, a_to + most + 1 + spread))
        start = a_from + least - spread
    return [*ends, (start, math.inf)]


def _seen(segments: Segments, first: Values, last: Values) -> list[Interval]:
    """What clock b read from the first to the last snapshot of each stretch."""
    a, knots = segments.evidence.a, segments.knots
    columns = (a[first], knots[first, 0], a[last], knots[last, 2])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [(begin + low, end + high + 1) for begin, low, end, high in rows]


def _sides(
    segments: Segments, reached: list[Interval], seen: list[Interval]
) -> tuple[list[Interval], list[Interval]]:
    """What each stretch surely has, and what is near the first and the last of them.

    The first, and the last, go on as far as those do that they share readings with.
    """
    held = reached.copy()
    held[0] = (seen[0][0], held[0][1])
    held[-1] = (held[-1][0], seen[-1][1])
    first, last = (
        [other for other in held if other[0] <= one[1] and other[1] >= one[0]]
        for one in (held[0], held[-1])
    )
    held[0] = (min(low for low, _ in first), held[0][1])
    held[-1] = (held[-1][0], max(high for _, high in last))
    a = segments.evidence.a
    span = int(a[-1]) - int(a[0])
    near = [(math.inf, -math.inf)] * len(held)
    near[0] = (held[0][0] - span, held[0][0])
    near[-1] = (held[-1][1], held[-1][1] + span)
    return held, near


def _parts(*levels: list[Interval]) -> list[tuple[float, float, int]]:
    """The readings of one stretch, or of several: ascending, (low, high, stretch or _SEVERAL).

    Args:
        levels: what the stretches may have read; which of that they surely did, and what is near
            them, where that decides.
    """
    edges = sorted(
        (value, level, sign, one)
        for level, stretches in enumerate(levels)
        for one, (low, high) in enumerate(stretches)
        if low <= high
        for value, sign in ((low, 1), (high + 1, -1))
    )
    count, total = [0, 0, 0], [0, 0, 0]
    found: list[tuple[float, float, int]] = []
    for (value, level, sign, one), (after, *_) in pairwise([*edges, (math.inf, 0, 0, 0)]):
        count[level] += sign
        total[level] += sign * one
        if value == after or count[_REACHED] < 2:
            continue
        decides = _SEEN if count[_SEEN] else _NEAR
        owner = total[decides] if count[decides] == 1 else _SEVERAL
        if found and found[-1][1] == value - 1 and found[-1][2] == owner:
            value = found.pop()[0]
        found.append((value, after - 1, owner))
    return found


def _ambiguous(parts: list[tuple[float, float, int]]) -> AmbiguousValues:
    return AmbiguousValues(*_int64([part[:2] for part in parts if part[2] == _SEVERAL]))


def _is_int64(interval: Interval) -> bool:
    """Whether int64 has any of an interval."""
    return interval[0] <= INT64_MAX and interval[1] >= INT64_MIN


def _int64(intervals: list[Interval]) -> tuple[Values, Values]:
    """The lows and the highs of intervals that int64 has some of."""
    kept = [
        (max(INT64_MIN, low), min(INT64_MAX, high))
        for low, high in intervals
        if _is_int64((low, high))
    ]
    made = np.array(kept, dtype=np.int64).reshape(-1, 2)
    return np.ascontiguousarray(made[:, 0]), np.ascontiguousarray(made[:, 1])


# The other direction of a tube: the values of clock b, cut into pieces for the kernel.
#
# The earliest value of a that b may stem from is in the first row that reaches so high, the latest
# in the last row that begins so low. A piece is a range of b in which neither row changes, and
# all of whose values are ambiguous, or none.


def inverse_of(rows: RowTable, near: int, n_near: int, ambiguous: AmbiguousValues) -> InverseTable:
    """The inverse of a table of rows; the `n_near` rows from `near` on have snapshots."""
    borders = rows.borders()
    reached = np.maximum.accumulate(borders[:, 1])
    coming = np.minimum.accumulate(borders[::-1, 0])[::-1]
    begins = [
        np.array([INT64_MIN]),
        reached[reached < INT64_MAX] + 1,
        coming,
        ambiguous.lows,
        ambiguous.highs[ambiguous.highs < INT64_MAX] + 1,
    ]
    starts = ascending(np.concatenate(begins))
    cells = _first_and_last(reached, coming, starts)
    is_twice = np.searchsorted(ambiguous.lows, starts, side="right") > np.searchsorted(
        ambiguous.highs, starts
    )
    # The last of the near rows continues beyond the snapshots.
    first = int(np.searchsorted(starts, coming[near]))
    last = int(np.searchsorted(starts, reached[max(near, near + n_near - 2)], side="right"))
    if n_near == 1 or last <= first:
        last = first + 1
    grid = make_grid(starts[first:last])
    return InverseTable(rows, starts, cells, is_twice.astype(np.uint8), first, last - first, grid)


def held_inverse(rows: RowTable, starts: Values, a: Values, held: Held) -> InverseTable:
    """The inverse of a table for readings that are of one stretch: by the rows of that alone.

    Args:
        starts: where rows begin, on clock a.
        a: readings of clock a in the snapshots that `held` names.
    """
    borders = rows.borders()
    begins, cells = [np.array([INT64_MIN])], [np.zeros((1, 2), dtype=np.int64)]
    for low, high, first, last in zip(*(column.tolist() for column in held), strict=True):
        r = 0 if first < 0 else int(np.searchsorted(starts, a[first], side="right")) - 1
        end = len(starts) if last < 0 else int(np.searchsorted(starts, a[last], side="right"))
        reached = np.maximum.accumulate(borders[r:end, 1])
        coming = np.minimum.accumulate(borders[r:end, 0][::-1])[::-1]
        edges = np.concatenate([[low], reached[reached < high] + 1, coming[coming <= high]])
        begins.append(edges := ascending(edges[edges >= low]))
        cells.append(r + _first_and_last(reached, coming, edges))
    every = np.concatenate(begins)
    kept = np.append(every[1:] > every[:-1], True)
    every, rows_of = every[kept], np.concatenate(cells)[kept]
    none = np.zeros(len(every), dtype=np.uint8)
    return InverseTable(rows, every, rows_of, none, 0, len(every), make_grid(every))


def _first_and_last(reached: Values, coming: Values, values: Values) -> Values:
    """The first of some rows that reaches each value, and the last that is not above it."""
    first = np.minimum(np.searchsorted(reached, values), len(reached) - 1)
    last = np.maximum(np.searchsorted(coming, values, side="right") - 1, 0)
    return np.stack([first, last], axis=1)
