"""`SourceRows`: for rows of a baked trace, what they read in its source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.perfetto.importer import Rows
from tracetime.errors import AS_IS
from tracetime.formats.perfetto.schema import KINDS
from tracetime.trace.events_table import SOURCE_STATUS, SOURCE_TIME, Columns

Numbers = npt.NDArray[np.int64]

_READ: Final = ("clock", "sequence", "timestamp", "source_ns", "snapshots")
_PLACED: Final = (("trace_time", SOURCE_TIME), ("status", SOURCE_STATUS))
_NEEDED: Final = ("packet", "kind", *_READ, "trace_time", "status")
_PACKET, _LEGACY = (
    next(n for n, kind in enumerate(KINDS) if kind.name == name)
    for name in ("packet", "track_event_legacy")
)
_KINDS: Final = 64
"""More than there are: packet * _KINDS + kind is another number for each pair."""


class SourceRows:
    """The rows of the source, in the order of the baked ones.

    Args:
        batches: columns of the source.
        packets: of each packet of the source, the number of the baked one, as far as it is known:
            a batch's are known when it is there.
    """

    def __init__(self, batches: Iterator[Columns], packets: list[npt.NDArray[np.uint64]]) -> None:
        self._batches = batches
        self._packets = packets
        self._first = 0  # packet of the source that `_packets` begin with
        self._rows = Rows(1).take()

    def add(self, columns: Columns) -> Columns:
        """The columns of a batch of the baked trace with what its rows read in the source.

        Where Perfetto's rule puts them there is in `SOURCE_TIME` and `SOURCE_STATUS`. A row that
        the source does not have, or not for sure, is one that names no clock there: nothing bounds
        it.
        """
        made = dict(columns)
        n = len(columns["packet"])
        source = self._until(int(columns["packet"][-1]) if n else -1)
        ours, theirs = _matched(columns, source)
        for name in _READ:
            made[name] = columns[name].copy()
            made[name][ours] = source[name][theirs]
        for name, there in _PLACED:
            made[there] = columns[name].copy()
        made[SOURCE_STATUS][:] = AS_IS
        for name, there in _PLACED:
            made[there][ours] = source[name][theirs]
        return made

    def _until(self, packet: int) -> Columns:
        """Take the rows of the packets up to a number of the baked trace."""
        parts = [self._rows]
        while not len(parts[-1]["packet"]) or int(parts[-1]["packet"][-1]) <= packet:
            batch = next(self._batches, None)
            if batch is None:
                break
            parts.append(batch | {"packet": self._baked_packets(batch["packet"])})
        rows = {name: np.concatenate([part[name] for part in parts]) for name in _NEEDED}
        end = int(np.searchsorted(rows["packet"], packet, side="right"))
        self._rows = {name: column[end:] for name, column in rows.items()}
        return {name: column[:end] for name, column in rows.items()}

    def _baked_packets(self, packets: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
        known = np.concatenate(self._packets)
        found = known[packets.astype(np.int64) - self._first]
        if len(packets):
            last = int(packets[-1])
            known = known[last - self._first :]
            self._first = last
        self._packets[:] = [known]
        return found


def _matched(columns: Columns, source: Columns) -> tuple[Numbers, Numbers]:
    """Which rows of a baked trace are which of its source.

    Rows of one kind in one packet are the same in order, where there are as many: items that were
    set aside leave no trace of which they were. A packet that took the time of its legacy timestamp
    is that row.
    """
    kinds = source["kind"].astype(np.int64)
    ours = _keys(columns["packet"], columns["kind"].astype(np.int64))
    theirs = _keys(source["packet"], kinds)
    legacy = np.flatnonzero(kinds == _LEGACY)
    if len(legacy):
        packets = source["packet"][legacy]
        moved = ~np.isin(_keys(packets, kinds[legacy]), ours)
        # The legacy row stands for the packet's own.
        gone = _keys(packets[moved], np.full(moved.sum(), _PACKET))
        theirs[np.isin(theirs, gone)] = -1
        theirs[legacy[moved]] = gone
    order_ours, order_theirs = (np.argsort(keys, kind="stable") for keys in (ours, theirs))
    ours, theirs = ours[order_ours], theirs[order_theirs]
    keys, first, count = np.unique(ours, return_index=True, return_counts=True)
    begin = np.searchsorted(theirs, keys, side="left")
    same = np.searchsorted(theirs, keys, side="right") - begin == count
    inside = np.arange(len(ours)) - np.repeat(first, count)
    taken = np.repeat(same, count)
    found = np.repeat(begin, count) + inside
    return order_ours[taken], order_theirs[found[taken]]


def _keys(packets: npt.NDArray[np.uint64], kinds: Numbers) -> Numbers:
    return packets.astype(np.int64) * _KINDS + kinds
