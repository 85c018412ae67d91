"""What rows of a pair of clocks say alone: where they contradict each other, and when they were."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.values import Mask, Values

CLOSE_NS: Final = 1_000_000
"""Clocks that were set back by less, or read one way and the other, are in order."""

_MOST_RUNS: Final = 8
"""Of more runs of rows not every order is looked into."""

MOST_PIECES: Final = 16
"""A clock that was set as often has no stretches that tell when it read something."""


def along(rows: Rows) -> tuple[Values, Values]:
    """The readings of the lower clock of each row, and those of the higher."""
    lower_first = rows.one <= rows.other
    return (
        np.where(lower_first, rows.one_ns, rows.other_ns),
        np.where(lower_first, rows.other_ns, rows.one_ns),
    )


def neighbours_clash(
    clocks: Sequence[Clock], rows: Rows, readings: Values, which: Mask | None = None
) -> tuple[Values, Values]:
    """The rows that contradict the next one of their pair in the order of some readings.

    Args:
        clocks, rows: what is known.
        readings: of each row.
        which: those that count; all if None.

    Returns:
        their numbers, and by how much they contradict it, ns.
    """
    pair = rows.pairs(len(clocks))
    every = np.arange(len(pair)) if which is None else np.flatnonzero(which)
    order = every[np.lexsort((readings[every], pair[every]))]
    by = clash_ns(clocks, rows, order[:-1], order[1:])
    clash = (by > 0) & (pair[order[:-1]] == pair[order[1:]])
    return order[:-1][clash], by[clash]


def clash_ns(clocks: Sequence[Clock], rows: Rows, here: Values, there: Values) -> Values:
    """By how much rows of a pair contradict others of it, whatever else is known; ns, or 0."""
    one, other = rows.one_ns, rows.other_ns
    flipped = rows.one > rows.other
    least = np.where(flipped, -rows.most_ns, rows.least_ns)
    most = np.where(flipped, -rows.least_ns, rows.most_ns)
    # The offset of the readings is how much more the higher clock went on.
    offset = np.where(flipped, one - other, other - one)
    lowest = np.where(most == OPEN, -OPEN, offset - np.where(most == OPEN, 0, most))
    highest = np.where(least == -OPEN, OPEN, offset - np.where(least == -OPEN, 0, least))
    slopes = np.array([max(clock.later, clock.earlier) for clock in clocks], dtype=np.int64)
    drift = np.zeros(len(here), dtype=np.int64)
    for clock, reading in (
        (np.where(flipped, rows.other, rows.one), np.where(flipped, other, one)),
        (np.where(flipped, rows.one, rows.other), np.where(flipped, one, other)),
    ):
        drift += drifts(np.abs(reading[there] - reading[here]), slopes[clock[here]])
    by = np.zeros(len(here), dtype=np.int64)
    for low, high in ((there, here), (here, there)):
        known = (lowest[low] != -OPEN) & (highest[high] != OPEN)
        by[known] = np.maximum(by, lowest[low] - highest[high] - drift)[known]
    return by


def levels(one: Values, other: Values) -> Values:
    """Of rows of two clocks a number: alike where these are at about one offset.

    A row that is off alone is mistaken, or late: it is as the one before it.
    """
    offset = other - one
    order = np.argsort(offset, kind="stable")
    level = np.zeros(len(one), dtype=np.int64)
    # By so much those next to each other may have drifted apart.
    near = np.minimum(*(np.abs(np.diff(clock[order])) for clock in (one, other))) // 1000
    level[order[1:]] = np.cumsum(np.diff(offset[order]) > near + CLOSE_NS)
    alone = np.bincount(level)[level] == 1
    order = np.argsort(one, kind="stable")
    before = np.maximum.accumulate(np.where(alone[order], 0, np.arange(len(one))))
    level[order] = level[order][before]
    return np.unique(level, return_inverse=True)[1]


def longest_gap(readings: Values) -> int:
    """How far two neighbours of some readings are apart at most."""
    return int(np.diff(np.sort(readings)).max(initial=0))


def in_turn(one: Values, other: Values) -> Values:
    """About when rows of two clocks were, if one of them goes on wherever the other jumps.

    Rows between two jumps have about one offset. Those follow each other that are next to each
    other by the clock that went on: of all orders the one with the least gaps.
    """
    level = levels(one, other)
    n = int(level.max(initial=0)) + 1
    if not 1 < n <= _MOST_RUNS:
        return one
    ends = [
        [(int(clock[run].min()), int(clock[run].max())) for clock in (one, other)]
        for run in (np.flatnonzero(level == k) for k in range(n))
    ]
    gaps = [[_gap(before, after, longest_gap(one)) for after in ends] for before in ends]
    # By the runs that went before, and the last of them: how long the gaps are, and the order.
    least: dict[tuple[int, int], tuple[int, tuple[int, ...]]]
    least = {(1 << k, k): (0, (k,)) for k in range(n)}
    for so_far in range(1, 1 << n):
        for last in range(n):
            if (so_far, last) not in least:
                continue
            length, order = least[so_far, last]
            for k in range(n):
                there = (so_far | 1 << k, k)
                longer = (length + gaps[last][k], (*order, k))
                if not so_far >> k & 1 and (there not in least or longer < least[there]):
                    least[there] = longer
    _, order = min(least[(1 << n) - 1, k] for k in range(n))
    later = np.zeros(n, dtype=np.int64)
    for x, y in pairwise(order):
        later[y] = ends[x][0][1] + later[x] + gaps[x][y] % _JUMPED_BOTH_NS - ends[y][0][0]
    return one + later[level]


_JUMPED_BOTH_NS: Final = 1 << 50
"""A gap of no clock that went on: of many runs the fewest have one."""


def _gap(before: Sequence[tuple[int, int]], after: Sequence[tuple[int, int]], longest: int) -> int:
    """How long after a run another one began, by the clock that went on.

    By the first clock, if it went on by no more than the longest gap.
    """
    gaps = [begin - end for (_, end), (begin, _) in zip(before, after, strict=True)]
    if 0 <= gaps[0] <= longest:
        return gaps[0]
    return min((gap for gap in gaps if gap >= 0), default=_JUMPED_BOTH_NS)
