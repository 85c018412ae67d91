"""Slices as begins and ends on the tracks of their threads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking import Details, EventPackets, open_inside
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import arrow_of, known_of
from tracetime.columns.arrays import texts_of as arrow_texts_of
from tracetime.trace.slices_table import NO_NUMBER, OPEN
from tracetime.verbs.event_baking.flows import Rows, SliceArrows, group_rows, texts_of
from tracetime.verbs.event_baking.tracks import Owner, Tracks

_UNNAMED: Final = "slices"
_NONE: Final = -1
_OWNER: Final = ["pid", "process_name", "tid", "thread_name", "track_name"]
_NESTED: Final = ("depth", "parent", "track")


class SliceTracks:
    """The tracks of slices: a thread's own track is the first without another name."""

    def __init__(self, packets: EventPackets, tracks: Tracks) -> None:
        self._packets = packets
        self._tracks = tracks
        self._uuids = np.zeros(0, np.uint64)
        self._taken: set[int] = set()

    def of(self, batch: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """The uuids of all tracks so far, with those of the batch."""
        track, _ = known_of(batch["track"])
        most = int(track.max(initial=-1)) + 1
        if most > len(self._uuids):
            self._uuids = np.append(self._uuids, np.zeros(most - len(self._uuids), np.uint64))
        rows = np.flatnonzero(self._uuids[track] == 0)
        rows = rows[np.sort(np.unique(track[rows], return_index=True)[1])]
        if len(rows):
            self._uuids[track[rows]] = self._add_tracks(batch.select(_OWNER).take(arrow_of(rows)))
        return self._uuids

    def _add_tracks(self, tracks: pa.RecordBatch) -> npt.NDArray[np.uint64]:
        """The uuids of new tracks, made from their owners and names."""
        first, group = group_rows([_key(column) for column in tracks])
        owners, own, names = [], np.zeros(len(first), np.uint64), []
        for k, (*of, name) in enumerate(zip(*(_plain(c, first) for c in tracks), strict=True)):
            owner = Owner(*of)
            owners.append(self._tracks.of(owner))
            names.append(name or owner.thread or owner.process or _UNNAMED)
            if owners[k] and name is None and owners[k] not in self._taken:
                self._taken.add(owners[k])
                own[k] = owners[k]
        numbers = np.zeros(len(group), np.uint64)
        numbers[first] = own
        (beside,) = np.nonzero(numbers == 0)
        start, group = self._tracks.new(len(beside)), group[beside]
        numbers[beside] = np.arange(start, start + len(beside), dtype=np.uint64)
        self._packets.put_tracks(
            start,
            np.array(owners, np.uint64)[group],
            texts_of(pa.DictionaryArray.from_arrays(arrow_of(group), arrow_texts_of(names))),
        )
        return numbers


def _key(column: pa.Array) -> npt.NDArray[np.int64]:
    """A column of numbers, with one for none, or of texts by number, -1 for none."""
    if pa.types.is_dictionary(column.type):
        values, known = known_of(column.indices)
        return np.where(known, values, _NONE)
    values, known = known_of(column)
    return np.where(known, values, NO_NUMBER)


def _plain(column: pa.Array, rows: Rows) -> list[Any]:
    some = column.take(arrow_of(rows))
    if pa.types.is_dictionary(some.type):
        some = some.dictionary_decode()
    return list(some.to_pylist())


def _outer(slices: pa.Table) -> tuple[Rows, npt.NDArray[np.int32]]:
    """The slice that holds each on its track, -1 for none, and the depths.

    A parent need not hold it: that may be on another track, or over before it begins.
    """
    (depth, _), (parent, known), (track, _) = (
        known_of(slices[name].combine_chunks()) for name in _NESTED
    )
    parent = np.where(known, parent, _NONE)
    holds = known & (track[parent] == track) & (depth[parent] < depth)
    return np.where(holds, parent, _NONE), depth


def parents_first(slices: pa.Table) -> tuple[pa.Table, Rows, Rows]:
    """Slices ordered so that each comes after the one that holds it, the holders' rows, the order.

    Of spans that begin at one time, and by the tube of any, the table may have them otherwise.
    """
    outer, depth = _outer(slices)
    inside = np.flatnonzero(outer != _NONE)
    if (outer[inside] < inside).all():
        return slices, outer, np.arange(len(outer))
    (ts, _), (dur, _), (parent, known) = (
        known_of(slices[name].combine_chunks()) for name in ("ts", "dur", "parent")
    )
    begins, ends = ts.copy(), np.where(dur == OPEN, INT64_MAX, ts + np.maximum(dur, 0))
    inside = inside[np.argsort(depth[inside], kind="stable")]
    for those in np.split(inside, np.flatnonzero(np.diff(depth[inside])) + 1):
        begins[those] = np.maximum(begins[those], begins[outer[those]])
        ends[those] = np.minimum(ends[those], ends[outer[those]])
    rows = np.arange(len(ts))
    order = np.lexsort((rows, depth, ~ends, begins))
    place = np.empty(len(order), np.int64)
    place[order] = rows
    above = np.where(known, place[np.where(known, parent, 0)], 0)[order]
    moved = slices.take(arrow_of(order))
    at = slices.schema.get_field_index("parent")
    moved = moved.set_column(at, slices.schema.field(at), arrow_of(above, ~known[order]))
    outer = outer[order]
    return moved, np.where(outer == _NONE, _NONE, place[outer]), order


def _open_inside(
    slices: pa.Table, outer: Rows
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """Durations, and a mask of slices that end although one inside does not."""
    (ts, _), (dur, _) = (known_of(slices[name].combine_chunks()) for name in ("ts", "dur"))
    name, category = (_key(slices[one].combine_chunks()) for one in ("name", "category"))
    return open_inside(
        ts,
        np.where(dur < OPEN, 0, dur),
        outer,
        name.astype(np.int32),
        category.astype(np.int32),
    )


def put_slices(
    packets: EventPackets, slices: pa.Table, outer: Rows, tracks: Tracks, arrows: SliceArrows
) -> Iterator[None]:
    """Put slices, as `parents_first` gives them; yields after every batch."""
    of_tracks, start = SliceTracks(packets, tracks), 0
    durations, holds_open = _open_inside(slices, outer)
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
            arrows.of(start, len(ts)),
        )
        start += len(ts)
        yield
    packets.end_all()
    yield


def _latest(
    batch: pa.RecordBatch, name: str, times: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """The column of upper bounds; for floor's slices, which have none, their times."""
    if name not in batch.schema.names:
        return times
    values, known = known_of(batch[name])
    return np.where(known, values, INT64_MAX)
