"""The other direction of a tube: the values of clock b, cut into pieces for the kernel.

The earliest value of a that b may stem from is in the first row that reaches so high, the latest
in the last row that begins so low. A piece is a stretch of b in which neither row changes, and all
of whose values are ambiguous, or none.
"""

from __future__ import annotations

import numpy as np

from tracetime._kernels.graph import make_grid
from tracetime._kernels.tube import InverseTable, RowTable
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.graph.tube.evidence import Values
from tracetime.graph.tube.stretches import AmbiguousValues, Held
from tracetime.graph.values import ascending


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
