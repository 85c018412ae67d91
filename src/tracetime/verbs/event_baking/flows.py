"""The arrows of a trace that is written: its flows, and arrows to slices from their parents."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking import Arrows as WrittenArrows
from tracetime._kernels.event_baking import Flows
from tracetime.columns.arrays import known_of
from tracetime.trace.slices_table import Arrows
from tracetime.verbs.event_baking.columns import Rows, texts_of

FIRST_FLOW: Final = 1 << 32
"""Below, trace_processor has numbers of its own for the flows that have names."""


class Joined:
    """The arrows between the slices of a table.

    Args:
        slices: rows in the order in which they are written; `id` is what arrows say of them.
        arrows: those of flows.
        first: the number before that of the first flow.
    """

    def __init__(self, slices: pa.Table, arrows: Arrows, first: int) -> None:
        place = np.empty(len(slices), np.int64)
        place[known_of(slices["id"].combine_chunks())[0]] = np.arange(len(slices))
        parents, children = _of_parents(slices)
        out, into = (known_of(arrows.columns[name])[0] for name in ("out", "into"))
        n = len(parents)
        self._begins = _sorted(np.append(place[out], parents))
        self._ends = _sorted(np.append(place[into], children))
        unnamed = pa.nulls(n, pa.string())
        self._arrows = WrittenArrows(
            FIRST_FLOW + first + 1,
            np.append(known_of(arrows.columns["named"].cast(pa.uint8()))[0], np.zeros(n, np.uint8)),
            *(
                texts_of(pa.concat_arrays([arrows.columns[name].cast(pa.string()), unnamed]))
                for name in ("name", "category")
            ),
        )
        self._n = len(out) + n

    @property
    def back(self) -> int:
        """The number of arrows left out, known at the end: Perfetto has none back in time."""
        return self._n - self._arrows.written

    def of(self, start: int, count: int) -> Flows:
        """The arrows of some slices, in their order."""
        return Flows(
            self._arrows, _part(self._begins, start, count), _part(self._ends, start, count)
        )


def _of_parents(slices: pa.Table) -> tuple[Rows, Rows]:
    """The parents that are on other tracks, and their children."""
    parent, known = known_of(slices["parent"].combine_chunks())
    track, _ = known_of(slices["track"].combine_chunks())
    children = np.flatnonzero(known)
    children = children[track[parent[children]] != track[children]]
    return parent[children], children


def _sorted(slices: Rows) -> tuple[Rows, Rows]:
    """The slices of arrows, in order, and the numbers of these arrows."""
    order = np.argsort(slices, kind="stable")
    return slices[order], order.astype(np.int64)


def _part(
    of: tuple[Rows, Rows], start: int, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    slices, arrows = of
    cuts = np.searchsorted(slices, np.arange(start, start + count + 1))
    return (cuts[1:] - cuts[0]).astype(np.int64), arrows[cuts[0] : cuts[-1]]
