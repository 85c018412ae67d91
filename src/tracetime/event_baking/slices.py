"""Slices as begins and ends on the tracks of their threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking.event_packets import Details, EventPackets
from tracetime.arrays import arrow_of, known_of
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.event_baking.columns import texts_of
from tracetime.event_baking.flows import Joined
from tracetime.event_baking.tracks import Owner, Tracks
from tracetime.slices_table import OPEN

_UNNAMED: Final = "slices"
_NONE: Final = -1
_OWNER: Final = ("pid", "process_name", "tid", "thread_name", "track_name")
_NESTED: Final = ("ts", "dur", "depth", "parent", "track")


class SliceTracks:
    """The tracks of slices: that of the thread itself is the first which has no other name."""

    def __init__(self, tracks: Tracks) -> None:
        self._tracks = tracks
        self._uuids = np.zeros(0, np.uint64)
        self._taken: set[int] = set()

    def of(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """The numbers of all tracks so far, those of the batch among them."""
        track, _ = known_of(batch["track"])
        most = int(track.max(initial=-1)) + 1
        if most > len(self._uuids):
            self._uuids = np.append(self._uuids, np.zeros(most - len(self._uuids), np.uint64))
        rows = np.flatnonzero(self._uuids[track] == 0)
        rows = rows[np.sort(np.unique(track[rows], return_index=True)[1])]
        owners = (batch[name].take(arrow_of(rows)).to_pylist() for name in _OWNER)
        for row, *of, name in zip(rows, *owners, strict=True):
            self._uuids[track[row]] = self._make(Owner(*of), name)
        return self._uuids

    def _make(self, of: Owner, name: str | None) -> int:
        owner = self._tracks.of(of)
        if owner and name is None and owner not in self._taken:
            self._taken.add(owner)
            return owner
        return self._tracks.beside(owner, name or of.thread or of.process or _UNNAMED)


def parents_first(slices: pa.Table) -> pa.Table:
    """Slices in an order in which each comes after the one that it lies in.

    Of spans that begin at one time, and by the tube of any, the table may have them otherwise.
    """
    columns = {name: known_of(slices[name].combine_chunks()) for name in _NESTED}
    (ts, _), (dur, _), (depth, _), (parent, known), (track, _) = columns.values()
    inside = np.flatnonzero(known)
    inside = inside[track[parent[inside]] == track[inside]]
    if (parent[inside] < inside).all():
        return slices
    begins, ends = ts.copy(), np.where(dur == OPEN, INT64_MAX, ts + np.maximum(dur, 0))
    inside = inside[np.argsort(depth[inside], kind="stable")]
    for those in np.split(inside, np.flatnonzero(np.diff(depth[inside])) + 1):
        begins[those] = np.maximum(begins[those], begins[parent[those]])
        ends[those] = np.minimum(ends[those], ends[parent[those]])
    rows = np.arange(len(ts))
    order = np.lexsort((rows, depth, ~ends, begins))
    place = np.empty(len(order), np.int64)
    place[order] = rows
    above = np.where(known, place[np.where(known, parent, 0)], 0)[order]
    moved = slices.take(arrow_of(order))
    at = slices.schema.get_field_index("parent")
    return moved.set_column(at, slices.schema.field(at), arrow_of(above, ~known[order]))


def open_inside(slices: pa.Table) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Durations, and which slices end although one lies in them that does not.

    The end of such a slice says which it ends, by name and category. Where that would be the inner
    one, this ends with it, as trace_processor has it once anything follows on the track.
    """
    columns = {name: known_of(slices[name].combine_chunks()) for name in _NESTED}
    (ts, _), (dur, _), _, (parent, known), (track, _) = columns.values()
    dur, holds_open = np.where(dur < OPEN, 0, dur), np.zeros(len(ts), np.uint8)
    ended_above: dict[int, int] = {}
    for row in np.flatnonzero(dur == OPEN).tolist():
        above = int(parent[row]) if known[row] and track[parent[row]] == track[row] else _NONE
        if above != _NONE and dur[above] == OPEN:
            above = ended_above.get(above, _NONE)
        if above == _NONE:
            continue
        ended_above[row], inner = above, _texts_at(slices, row)
        while above != _NONE:
            holds_open[above] = dur[above] != OPEN
            if holds_open[above] and _ends(_texts_at(slices, above), inner):
                outer = ended_above[row]
                dur[row] = ts[outer] + dur[outer] - ts[row]
                break
            inside = known[above] and track[parent[above]] == track[row]
            above = int(parent[above]) if inside else _NONE
    return dur, holds_open


def _texts_at(slices: pa.Table, row: int) -> tuple[str | None, str | None]:
    return slices["name"][row].as_py(), slices["category"][row].as_py()


def _ends(says: tuple[str | None, str | None], inner: tuple[str | None, str | None]) -> bool:
    """Whether an end of that name and category may be of a slice (MatchingIncompleteSliceIndex)."""
    (name, category), (inner_name, inner_category) = says, inner
    same_name = name is None or inner_name is None or name == inner_name
    return same_name and category in (None, inner_category)


def put_slices(
    packets: EventPackets, slices: pa.Table, tracks: Tracks, joined: Joined
) -> Iterator[None]:
    """Put slices; yields after every batch."""
    of_tracks, start = SliceTracks(tracks), 0
    durations, holds_open = open_inside(slices)
    for batch in slices.to_batches():
        ts, _ = known_of(batch["ts"])
        rows = slice(start, start + len(ts))
        dur = durations[rows]
        depth, _ = known_of(batch["depth"])
        track, _ = known_of(batch["track"])
        packets.put_slices(
            ts,
            dur,
            _latest(batch, "latest", ts),
            _latest(batch, "end_latest", ts + np.maximum(dur, 0)),
            holds_open[rows],
            depth,
            track.astype(np.int32),
            of_tracks.of(batch),
            Details(*(texts_of(batch[name]) for name in ("name", "category", "args"))),
            joined.of(start, len(ts)),
        )
        start += len(ts)
        yield
    packets.end_all()
    yield


def _latest(
    batch: pa.RecordBatch, name: str, times: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """A column of bounds: of floor's slices, which have none, their times."""
    if name not in batch.schema.names:
        return times
    values, known = known_of(batch[name])
    return np.where(known, values, INT64_MAX)
