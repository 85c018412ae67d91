"""The other direction of a tube: the values of clock b, cut into pieces for the kernel.

The earliest value of a that b may stem from is in the first row that reaches so high, the latest
in the last row that begins so low. A piece is a stretch of b in which neither row changes, and all
of whose values are ambiguous, or none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import InverseTable, RowTable
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.tube import findings
from tracetime.graph.tube.evidence import Values
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.segments import Segments
from tracetime.graph.values import ascending


class AmbiguousValues(NamedTuple):
    """Ascending, disjoint intervals of clock b that may be two instants, ends included."""

    lows: Values
    highs: Values


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
    cells = np.stack(
        [
            np.minimum(np.searchsorted(reached, starts), len(reached) - 1),
            np.maximum(np.searchsorted(coming, starts, side="right") - 1, 0),
        ],
        axis=1,
    )
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


def ambiguous_values(segments: Segments, limits: Limits) -> AmbiguousValues:
    """The values of clock b that may be two instants: where its offset fell, b was set back."""
    if len(segments.first) == 1:
        return _overlaps([])
    return _overlaps(_stretches_of_b(segments, limits))


def _stretches_of_b(segments: Segments, limits: Limits) -> list[tuple[float, float]]:
    """What clock b may have read between one fall of the offset and the next.

    The ends are whole ns or infinite; the first and last stretch have no end.
    """
    a, knots = segments.evidence.a, segments.knots
    jumped = findings.jumps(segments, limits)
    # Beside a segment with an open side nobody knows whether b fell; the bars allow it.
    is_open = np.logical_or(*segments.open_sides)
    fell = (jumped.low < 0) & ~(is_open[:-1] | is_open[1:])
    fell &= ~segments.possible
    # That a machine slept does not say so.
    fell &= ~segments.forced | (jumped.high < 0)
    j, k = segments.last[:-1][fell], segments.first[1:][fell]
    # In Python's integers: a reading and an offset together may be beyond int64.
    columns = (a[j], a[k], knots[j, 2], knots[k, 0], jumped.spread[fell])
    ends: list[tuple[float, float]] = []
    start: float = -np.inf
    for a_from, a_to, most, least, spread in zip(*(c.tolist() for c in columns), strict=True):
        ends.append((start, a_to + most + 1 + spread))
        start = a_from + least - spread
    return [*ends, (start, np.inf)]


def _overlaps(stretches: list[tuple[float, float]]) -> AmbiguousValues:
    """Where two or more of some intervals overlap."""
    # Where one begins as another ends, they overlap.
    edges = sorted([(low, False) for low, _ in stretches] + [(high, True) for _, high in stretches])
    lows, highs, depth = [], [], 0
    for value, ends in edges:
        depth += -1 if ends else 1
        if depth == 1 and ends:
            highs.append(value)
        elif depth == 2 and not ends:
            lows.append(value)
    there = [
        (max(INT64_MIN, low), min(INT64_MAX, high))
        for low, high in zip(lows, highs, strict=True)
        if low <= INT64_MAX and high >= INT64_MIN
    ]
    made = np.array(there, dtype=np.int64).reshape(-1, 2)
    return AmbiguousValues(np.ascontiguousarray(made[:, 0]), np.ascontiguousarray(made[:, 1]))
