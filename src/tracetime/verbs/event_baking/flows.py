"""The arrows of a trace that is written: its flows, and arrows to slices from their parents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking import Arrows as WrittenArrows
from tracetime._kernels.event_baking import Flows, Texts
from tracetime.columns.arrays import known_of
from tracetime.trace.events_table import Columns
from tracetime.trace.slices_table import Arrows

Rows = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]


def texts_of(column: pa.Array) -> Texts:
    """The texts of a column of texts, or of a dictionary of them."""
    if pa.types.is_dictionary(column.type):
        codes, known = known_of(column.indices)
        column = column.dictionary
    else:
        codes = np.arange(len(column), dtype=np.int32)
        known = _known(column)
    _, offsets, data = column.buffers()
    ends = np.zeros(0, np.int32)
    if offsets is not None:
        ends = np.frombuffer(offsets, np.int32, len(column) + 1, column.offset * 4)[1:]
    text = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    return Texts(np.where(known, codes, -1).astype(np.int32), ends, text)


def _known(column: pa.Array) -> npt.NDArray[np.bool_]:
    validity = column.buffers()[0]
    if validity is None:
        return np.ones(len(column), np.bool_)
    bits = np.unpackbits(np.frombuffer(validity, np.uint8), bitorder="little")
    known: npt.NDArray[np.bool_] = bits[column.offset : column.offset + len(column)] != 0
    return known


def texts_in(columns: Columns, name: str, rows: Rows) -> Texts:
    """The texts of a column of events, in some rows."""
    return Texts(
        columns[name][rows].astype(np.int32), columns[f"{name}:ends"], columns[f"{name}:text"]
    )


def text_at(columns: Columns, name: str, code: int) -> str | None:
    """The text of a code; None for -1."""
    if code < 0:
        return None
    ends = columns[f"{name}:ends"]
    start = int(ends[code - 1]) if code else 0
    return bytes(columns[f"{name}:text"][start : int(ends[code])]).decode(errors="replace")


def number_rows(
    keys: Sequence[npt.NDArray[Any]], make: Callable[[int], int]
) -> npt.NDArray[np.uint64]:
    """Number rows by their keys.

    Args:
        keys: columns of numbers.
        make: called with a row of each combination that occurs; gives its number.
    """
    first, group = group_rows(keys)
    return np.array([make(row) for row in first.tolist()], np.uint64)[group]


def group_rows(keys: Sequence[npt.NDArray[Any]]) -> tuple[Rows, Rows]:
    """The first row of each combination of keys, in order, and the combination of each row."""
    order = np.lexsort(keys)
    differs = np.ones(len(order), np.bool_)
    differs[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    first = order[differs]
    as_they_occur = np.argsort(first)
    place = np.empty(len(first), np.int64)
    place[as_they_occur] = np.arange(len(first))
    group = np.empty(len(order), np.int64)
    group[order] = place[np.cumsum(differs) - 1]
    return first[as_they_occur], group


FIRST_FLOW: Final = 1 << 32
"""Below, trace_processor has numbers of its own for the flows that have names."""


class SliceArrows:
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
        self._begins = _sort(np.append(place[out], parents))
        self._ends = _sort(np.append(place[into], children))
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
    def n_left_out(self) -> int:
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


def _sort(slices: Rows) -> tuple[Rows, Rows]:
    """The slices of arrows, in order, and the numbers of these arrows."""
    order = np.argsort(slices, kind="stable")
    return slices[order], order.astype(np.int64)


def _part(
    of: tuple[Rows, Rows], start: int, count: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    slices, arrows = of
    cuts = np.searchsorted(slices, np.arange(start, start + count + 1))
    return (cuts[1:] - cuts[0]).astype(np.int64), arrows[cuts[0] : cuts[-1]]
