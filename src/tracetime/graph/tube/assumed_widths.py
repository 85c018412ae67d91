"""Half-widths of snapshots that give none: those that nobody declares, and those that are declared
by assumption, wider where snapshots show that they do not hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.evidence import half_widths
from tracetime.clocks.ids import FIRST_GLOBAL_CLOCK, ClockId
from tracetime.graph.tube.evidence import WIDEST
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.own_intervals import Hold
from tracetime.graph.values import Floats, Values

Rows = npt.NDArray[np.intp]

_LEAST_NS: Final = 1_000
"""Reading two clocks in turn takes about as long."""

_LEAST_OF_DEVICE_NS: Final = 2_000
"""The same where one of them is a device's: its driver asks it over a bus."""

_LESS_SCATTER: Final = 4
"""Readings of a clock that was set back are mixed up in its own order: neighbours there differ by
so many times more at least."""

_FEW: Final = 9
"""Fewer readings of clocks that tick alike do not deny that."""

_FAR_WIDER: Final = 4
"""Half-widths that are so many times wider if clocks tick alike say that these do not."""

NEIGHBOURS: Final = 20
"""Snapshots that say where one of them should lie: fewer than half may be off."""

MOST_WIDTHS: Final = 20
"""So many declared half-widths are the most that is taken for noise of reading; farther off, a
snapshot is an outlier, or one of the clocks was set."""

_FEWEST: Final = 3
"""Fewer snapshots say nothing."""

_MOST_AGREE: Final = 0.7
"""The share of the neighbours that should agree within the declared half-width."""

_CHUNK: Final = 1 << 14
"""Snapshots that are worked out at a time."""


class Learnt(NamedTuple):
    """Half-widths that were learnt.

    Attributes:
        half_ns: int64, one a snapshot.
        held_ns: how much bars hold of a snapshot.
        sliver_ns: how narrow they are if they hold too little, where the clocks may stray within
            the half-widths; else 0.
        doubtful: which snapshots may be late, or show a step: nobody can tell.
    """

    half_ns: Values
    held_ns: int
    sliver_ns: int
    doubtful: npt.NDArray[np.bool_]

    def hold(self, a_ns: Values) -> Hold:
        """What bars hold of the snapshots; a_ns: readings of the clock that they run along."""
        return Hold.learnt(self.held_ns, self.sliver_ns, a_ns[self.doubtful])


def least_assumed_ns(clocks: Iterable[ClockId], ticks_ns: int) -> int:
    """The least half-width of readings of some clocks that give none; ticks_ns: of these."""
    device = any(clock.clock >= FIRST_GLOBAL_CLOCK for clock in clocks)
    return min(max(_LEAST_OF_DEVICE_NS if device else _LEAST_NS, ticks_ns), WIDEST)


def learnt(a_ns: Values, r_ns: Values, limits: Limits, least_ns: int) -> Learnt:
    """Return a half-width for each snapshot, learnt from it and its neighbours.

    The least one; else three times how far most are off the line of their
    neighbours, and one and a half times how far this one is. Where there are fewer than 9, as wide
    as any one of them may be off. Whichever clock was set back, the half-widths are the same.

    Args:
        a_ns: readings of one clock, in any order, ns.
        r_ns: offset of the other clock at each, ns.
        least_ns: of `least_assumed_ns`.
    """
    b_ns = a_ns + r_ns
    x, order = a_ns, np.arange(len(a_ns))
    if not (np.all(a_ns[1:] > a_ns[:-1]) and np.all(b_ns[1:] >= b_ns[:-1])):
        by_a, by_b = np.lexsort((r_ns, a_ns)), np.lexsort((r_ns, b_ns))
        scatter, turned = (np.abs(np.diff(r_ns[by].astype(float))).sum() for by in (by_a, by_b))
        x, order = (b_ns, by_b) if _LESS_SCATTER * turned < scatter else (a_ns, by_a)
    # The readings tell whether a wall clock was slewed alone, and whether a clock is what its name
    # says, which ticks like another.

    def widths(level: bool) -> Learnt:
        return Learnt(*half_widths(x[order], r_ns[order], least_ns, limits.drift, level))

    found = widths(limits.one_rate)
    favour = _FAR_WIDER if limits.tick_alike else 1
    sum_ns = float(found.half_ns.sum())
    # No half-width is below the least: where these are near it, others are not far narrower.
    is_open = len(a_ns) >= _FEW and sum_ns >= favour * float(least_ns) * len(a_ns)
    if limits.one_rate and (is_open or not limits.tick_alike):
        apart = widths(False)
        if favour * float(apart.half_ns.sum()) <= sum_ns:
            found = apart
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return found._replace(half_ns=found.half_ns[back], doubtful=found.doubtful[back])


def widened(a_ns: Values, r_ns: Values, width_ns: int, drift: float) -> Values:
    """Return a half-width for each snapshot: the declared one, and more where it lies apart.

    A snapshot that lies up to twice the declared half-width from all others contradicts none of
    them: what they have in common would then be a sliver beside the truth. So the interval of one
    that lies apart reaches up to the declared half-width beyond where the neighbours say that the
    offset is, on either side: they do not know it better than that.

    Args:
        a_ns: readings of the ordering clock, in any order, ns.
        r_ns: offset of the other clock at each, ns.
        width_ns: as declared.
        drift: how fast the offset may change, ns per ns.
    """
    order = np.argsort(a_ns, kind="stable")
    off = np.empty(len(a_ns))
    off[order] = off_line(a_ns[order], r_ns[order], width_ns, drift)
    more = np.ceil(np.clip(2 * off - width_ns, 0.0, off))
    return np.int64(width_ns) + np.where(off <= MOST_WIDTHS * width_ns, more, 0).astype(np.int64)


def off_line(a_ns: Values, r_ns: Values, width_ns: int, drift: float) -> Floats:
    """How far each offset is from where its neighbours say: those about it, or of one side.

    Those that it is nearest to: a clock may have been set on the other side. Neighbours that do
    not agree among themselves know it no better than they agree.

    a_ns: ascending.
    """
    n = len(a_ns)
    size = min(NEIGHBOURS, n - 1) + 1
    missed = np.zeros(n)
    for begin in range(0, n if size >= _FEWEST else 0, _CHUNK):
        rows = np.arange(begin, min(begin + _CHUNK, n))
        off = np.full(len(rows), np.inf)
        for before in (size // 2, size - 1, 0):
            # What is in its place by some of them needs no others.
            asked = np.flatnonzero(2 * off > width_ns)
            k = rows[asked]
            first = np.clip(k - before, 0, n - size)
            near = first[:, None] + np.arange(size)
            found = _off_neighbours(a_ns, r_ns, k[:, None], near, width_ns, drift)
            off[asked] = np.minimum(off[asked], found)
        missed[rows] = off
    return missed


def _off_neighbours(
    a_ns: Values, r_ns: Values, rows: Rows, near: Rows, width_ns: int, drift: float
) -> Floats:
    """How far each row is from the line of some rows about it."""
    x = (a_ns[near] - a_ns[rows]).astype(np.float64)
    y = (r_ns[near] - r_ns[rows]).astype(np.float64)
    span = near.shape[1] // 2
    run, rise = x[:, span:] - x[:, :-span], y[:, span:] - y[:, :-span]
    slopes = np.divide(rise, run, out=np.zeros_like(rise), where=run != 0)
    slope = np.clip(np.median(slopes, axis=1), -drift, drift)
    left = y - slope[:, None] * x
    at = np.median(left, axis=1)
    rank = int(_MOST_AGREE * near.shape[1])
    apart = np.partition(np.abs(left - at[:, None]), rank, axis=1)[:, rank]
    off: Floats = np.abs(at) + np.maximum(apart - width_ns, 0.0)
    return off
