"""Flows: which slices an arrow of the timeline joins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking.event_packets import Flows
from tracetime.arrays import known_of
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.event_baking.columns import Codes, Rows, numbered
from tracetime.events_table import HAS_PID, HAS_TID, TYPES, Columns
from tracetime.slices_table import OPEN

FLOW_TYPES = tuple(TYPES.index(name) for name in ("flow_begin", "flow_step", "flow_end"))
_ENDS = FLOW_TYPES[2]
_NONE = -1


class FlowEvents:
    """The events of flows, as they are added: they begin or end at a slice of their thread."""

    def __init__(self) -> None:
        self._parts: list[dict[str, Rows]] = []
        self._texts: dict[tuple[str | None, str | None], int] = {}

    def add(self, columns: Columns, rows: Rows, texts: npt.NDArray[np.uint64]) -> None:
        """Take some rows of a batch; texts: a number for each name and category."""
        has = columns["has"][rows]
        self._parts.append(
            {
                "ts": columns["trace_time"][rows],
                "id": columns["track"][rows].view(np.int64),
                "texts": texts.astype(np.int64),
                "ends": (columns["type"][rows] == _ENDS).astype(np.int64),
                "pid": np.where(has & HAS_PID, columns["pid"][rows].astype(np.int64), _NONE),
                "tid": np.where(has & HAS_TID, columns["tid"][rows], _NONE),
            }
        )

    def number(self, name: str | None, category: str | None) -> int:
        """The number of a name and a category: flows of others are others."""
        return self._texts.setdefault((name, category), len(self._texts))

    def whole(self) -> dict[str, Rows]:
        """All of them, by column."""
        names = ("ts", "id", "texts", "ends", "pid", "tid")
        return {
            name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in self._parts)])
            for name in names
        }


class Joined(NamedTuple):
    """Flows of slices.

    Attributes:
        begins, ends: the slices and the flows that go on from them, and that end at them.
        lost: events of flows in no slice.
    """

    begins: tuple[Rows, npt.NDArray[np.uint64]]
    ends: tuple[Rows, npt.NDArray[np.uint64]]
    lost: int

    def of(self, start: int, count: int) -> Flows:
        """Those of some slices, in their order."""
        return Flows(_part(self.begins, start, count), _part(self.ends, start, count))


def joined(slices: pa.Table, events: FlowEvents, first: int) -> Joined:
    """Join slices by the flows of events, and to parents on other tracks.

    first: the number before the first flow's.
    """
    columns = {
        name: known_of(slices[name].combine_chunks())
        for name in ("ts", "dur", "parent", "track", "pid", "tid")
    }
    by_parent, children = _of_parents(columns)
    n = len(children)
    child_flows = (first + 1 + np.arange(n)).astype(np.uint64)
    flows = events.whole()
    which = _enclosing(columns, flows)
    found = np.flatnonzero(which != _NONE)
    numbers = iter(range(first + n + 1, first + n + 1 + len(which)))
    ids = numbered([flows[name][found] for name in ("id", "texts")], lambda _: next(numbers))
    ending = flows["ends"][found] != 0
    return Joined(
        _sorted(np.append(by_parent, which[found][~ending]), np.append(child_flows, ids[~ending])),
        _sorted(np.append(children, which[found][ending]), np.append(child_flows, ids[ending])),
        len(which) - len(found),
    )


Known = Mapping[str, tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]]


def _of_parents(slices: Known) -> tuple[Rows, Rows]:
    """The parents that are on other tracks, and the slices whose they are."""
    (parent, known), (track, _) = slices["parent"], slices["track"]
    children = np.flatnonzero(known)
    children = children[track[parent[children]] != track[children]]
    return parent[children], children


def _enclosing(slices: Known, flows: Mapping[str, Rows]) -> Rows:
    """The slice of each event of a flow, -1 for none: the innermost of its thread at that time.

    An end that is in none is of the next one.
    """
    (ts, _), (dur, _), (parent, has_parent) = (slices[name] for name in ("ts", "dur", "parent"))
    if not len(flows["ts"]) or not len(ts):
        return np.full(len(flows["ts"]), _NONE)
    end = np.where(dur == OPEN, INT64_MAX, ts + np.maximum(dur, 0))
    above = np.append(np.where(has_parent, parent, _NONE), _NONE)
    (pid, has_pid), (tid, has_tid) = slices["pid"], slices["tid"]
    threads: dict[tuple[int, int], int] = {}

    def thread(pids: Rows, tids: Rows) -> Codes:
        return numbered(
            [pids, tids],
            lambda row: threads.setdefault((int(pids[row]), int(tids[row])), len(threads)),
        ).astype(np.int32)

    of_flow = thread(flows["pid"], flows["tid"])
    of_slice = thread(np.where(has_pid, pid, _NONE), np.where(has_tid, tid, _NONE))
    of_slice[~has_tid] = _NONE
    by_time = np.lexsort((np.arange(len(ts)), ts, of_slice))
    starts = np.searchsorted(of_slice[by_time], np.arange(len(threads) + 1))
    found = np.full(len(of_flow), _NONE)
    order = np.argsort(of_flow, kind="stable")
    cuts = np.searchsorted(of_flow[order], np.arange(len(threads) + 1))
    for one in range(len(threads)):
        rows, those = order[cuts[one] : cuts[one + 1]], by_time[starts[one] : starts[one + 1]]
        if not len(rows) or not len(those):
            continue
        at = flows["ts"][rows]
        last = np.searchsorted(ts[those], at, side="right")
        inside = np.append(those, _NONE)[last - 1]
        inside[last == 0] = _NONE
        while (gone := (inside != _NONE) & (end[inside] < at)).any():
            inside[gone] = above[inside[gone]]
        following = np.append(those, _NONE)[last]
        late = (inside == _NONE) & (flows["ends"][rows] != 0)
        found[rows] = np.where(late, following, inside)
    return found


def _sorted(slices: Rows, flows: npt.NDArray[np.uint64]) -> tuple[Rows, npt.NDArray[np.uint64]]:
    order = np.lexsort((flows, slices))
    slices, flows = slices[order], flows[order]
    kept = np.ones(len(slices), np.bool_)
    kept[1:] = (slices[1:] != slices[:-1]) | (flows[1:] != flows[:-1])
    return slices[kept], flows[kept]


def _part(
    of: tuple[Rows, npt.NDArray[np.uint64]], start: int, count: int
) -> tuple[Rows, npt.NDArray[np.uint64]]:
    slices, flows = of
    cuts = np.searchsorted(slices, np.arange(start, start + count + 1))
    return (cuts[1:] - cuts[0]).astype(np.int64), flows[cuts[0] : cuts[-1]]
