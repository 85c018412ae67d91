"""Where rows of a pair of clocks contradict each other, whatever is known of other clocks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime.graph.epochs.rows import OPEN, Clock, Rows
from tracetime.graph.values import Mask, Values


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
