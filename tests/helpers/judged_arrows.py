"""Slices and arrows of a source as they are to be in what is baked of it, corners that track events have
included: docs/howto/bake.md names them."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path
from typing import Any, NamedTuple

from baked_events import packets_of
from judged import Rows, plain, slice_of
from trace_engine import Flow, Said

import tracetime as tt
from tracetime.graph.arguments import PolicyName

_OPEN = -1
_ARROW = ("out", "into", "name", "category")
Row = dict[str, Any]


class Wanted(NamedTuple):
    """What the engine is to have of an output.

    slices, arrows: of the output. said: the arrows as the source says them.
    moved: how many begins and ends are at the time of the event before them on their track.
    """

    slices: Rows
    arrows: Rows
    said: Rows
    moved: int


class _Track:
    """The slices of a track, as begins and ends that do not go back."""

    def __init__(self) -> None:
        self.open: list[Row] = []
        self.reached_ns = -(1 << 63)
        self.moved = 0

    def reach(self, ns: int) -> int:
        self.moved += ns < self.reached_ns
        self.reached_ns = max(self.reached_ns, ns)
        return self.reached_ns

    def begin(self, row: Row) -> None:
        self.end_until(row["depth"])
        row["end"] = row["ts"] + row["dur"] if row["dur"] != _OPEN else None
        row["ts"] = self.reach(row["ts"])
        self.open.append(row)

    def end_until(self, depth: int) -> None:
        while len(self.open) > depth:
            row = self.open.pop()
            if row["end"] is not None:
                row["dur"] = self.reach(row["end"]) - row["ts"]


def wanted(path: Path, policy: PolicyName = "floor") -> Wanted:
    """What a source says, as its output is to have it."""
    with tt.open_trace(path) as trace:
        table, arrows = trace.slices(policy)._read_with_arrows()
    rows = table.to_pylist()
    columns = {name: column.to_pylist() for name, column in arrows.columns.items()}
    joined = list(zip(*(columns[name] for name in _ARROW), strict=True))
    said = _flows(rows, joined)
    by_id = {row["id"]: row for row in rows}
    tracks: defaultdict[int, _Track] = defaultdict(_Track)
    for row in rows:
        row["dur"] = row["dur"] if row["dur"] >= _OPEN else 0
        _end_with_its_namesake(row, by_id)
    for row in rows:
        tracks[row["track"]].begin(row)
    for track in tracks.values():
        track.end_until(0)
    for row in rows:
        # It began after the end, or has come to it.
        if any(one["ts"] + one["dur"] <= row["ts"] for one in _around(row, by_id)):
            row["dur"] = 0
    return Wanted(
        Counter(plain(slice_of(row)) for row in rows),
        _flows(rows, joined),
        said,
        sum(track.moved for track in tracks.values()),
    )


def _flows(rows: list[Row], joined: list[Any]) -> Rows:
    slices = {row["id"]: plain(slice_of(row)) for row in rows}
    return Counter(Flow(slices[out], slices[into], *named) for out, into, *named in joined)


def _around(row: Row, by_id: dict[int, Row]) -> list[Row]:
    """Of a slice without an end, those that it lies in and that have one; the innermost first."""
    around, above = [], by_id.get(row["parent"]) if row["dur"] == _OPEN else None
    while above is not None:
        around += [above] if above["dur"] != _OPEN else []
        above = by_id.get(above["parent"])
    return around


def _end_with_its_namesake(row: Row, by_id: dict[int, Row]) -> None:
    """A slice without an end ends with the innermost around it where an end of its name is outside."""
    around = _around(row, by_id)
    if any(_may_end(one, row) for one in around):
        row["dur"] = around[0]["ts"] + around[0]["dur"] - row["ts"]


def _may_end(outer: Row, inner: Row) -> bool:
    same = None in (outer["name"], inner["name"]) or outer["name"] == inner["name"]
    return same and outer["category"] in (None, inner["category"])


def written_arrows(said: Said) -> Rows:
    """The arrows that the engine has."""
    return Counter(one._replace(begin=plain(one.begin), end=plain(one.end)) for one in said.flows)


def flow_ids(path: Path) -> tuple[Rows, Rows]:
    """The ids of flows that events of a file begin, and those that they end, as often as they do."""
    begun: Rows = Counter()
    ended: Rows = Counter()
    for packet in packets_of(path.read_bytes()):
        event = packet.track_event
        begun.update(event.flow_ids)
        ended.update(event.terminating_flow_ids)
        if event.legacy_event.unscoped_id:
            ids = {ord("s"): begun, ord("t"): ended}[event.legacy_event.phase]
            ids[event.legacy_event.unscoped_id] += 1
    return begun, ended


def is_back(arrow: Flow) -> bool:
    """Whether an arrow may lead back in the order of packets: to what does not begin after it."""
    begin, end = arrow.begin, arrow.end
    return bool(begin.ts >= end.ts)


def without_made_up(rows: Rows) -> Rows:
    """Rows without the numbers of threads and processes that have texts instead."""
    made: Rows = Counter()
    for row, count in rows.items():
        made[_numbered(row)] += count
    return made


def _numbered(row: Any) -> Any:
    if isinstance(row, Flow):
        return row._replace(begin=_numbered(row.begin), end=_numbered(row.end))
    return row._replace(**{key: _small(getattr(row, key)) for key in ("tid", "pid")})


def _small(number: int | None) -> int | None:
    return None if number is None or number > 1000 or number == 0 else number
