"""The slices of a table whose rows have a begin and an end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.columns.arrays import arrow_of, texts_of, values_of
from tracetime.formats.table.event_names import names_of
from tracetime.formats.table.row_columns import EARLIER, Rows, margins_of
from tracetime.graph.values import Values
from tracetime.trace.events_table import CUT_OFF
from tracetime.trace.slices_table import OPEN, Owners, SliceReading, Strings, slice_batches

# The nesting of slices of one track, by their begins.

MOST_DEPTH: Final = 128
"""Slices within each other, at most: each depth takes a pass over those that are left."""


def nest(track: Values, begin: Values, end: Values) -> tuple[Values, Values]:
    """The depth and the parent of slices: -1 for none, and as the depth of those too deep.

    Args:
        track: a number for each slice.
        begin, end: when; end is not before begin.
    """
    n = len(track)
    depth, parent = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
    begins = np.sort(begin)
    from_rank, to_rank = np.searchsorted(begins, begin), np.searchsorted(begins, end)
    rows = np.lexsort((np.arange(n), -(end - begin), begin, track))
    group = track[rows]
    for level in range(MOST_DEPTH):
        if not len(rows):
            break
        outer = _outermost(group, from_rank[rows], to_rank[rows], n + 1)
        depth[rows[outer]] = level
        # The last of them before each is what it lies in: their groups begin with one.
        within = rows[np.maximum.accumulate(np.where(outer, np.arange(len(rows)), 0))]
        rows, group = rows[~outer], within[~outer]
        parent[rows] = group
    parent[depth < 0] = -1
    return depth, parent


def _outermost(
    group: Values, from_rank: Values, to_rank: Values, ranks: int
) -> npt.NDArray[np.bool_]:
    """A mask of slices in no other, of groups ordered by begin: the first, and each next.

    Each is followed by the first that begins when it has ended.

    Args:
        from_rank, to_rank: how many slices begin before each begins, and before it ends.
        ranks: more than any of these.
    """
    n = len(group)
    starts = np.append(True, group[1:] != group[:-1])
    base = np.cumsum(starts) * ranks
    after = np.searchsorted(base + from_rank, base + to_rank)
    following = np.append(np.maximum(after, np.arange(n) + 1), n)
    found = np.append(starts, False)
    # Those that follow by 1, 2, 4 ... steps, until all are found.
    while not found[followers := following[found]].all():
        found[followers] = True
        following = following[following]
    return found[:n]


MOST_SLICES: Final = 1 << 26
"""Slices that are kept until all are known."""

_TEXTS: Final = ("name", "category", "track_name", "thread_name", "process_name")
_NUMBERS: Final = ("tid", "pid")
_MARGINS: Final = tuple(f"{end} {side}" for end in ("ts", "end") for side in (EARLIER, CUT_OFF))


class TableSlices:
    """Slices of rows, as they are added.

    Args:
        begin, end: the columns of their times.
        is_placed: whether each of the two is on the clock of trace time.
    """

    def __init__(self, begin: str, end: str, is_placed: tuple[bool, bool]) -> None:
        self._columns = (begin, end)
        self._is_placed = is_placed
        self._codes: dict[str, int] = {}
        self._batches: list[dict[str, Values]] = []
        self._count = 0
        self.reading = SliceReading()

    def add(self, rows: Rows) -> None:
        """Take the slices of a batch."""
        begin, end = (rows.times(name) for name in self._columns)
        named = names_of(rows)
        part = {name: self._encode(named.get(name), len(rows)) for name in _TEXTS}
        part |= {name: _numbers(named.get(name), len(rows)) for name in _NUMBERS}
        has_begin, has_end = ~begin.is_missing(), ~end.is_missing()
        ended = has_end & ~end.is_beyond() & self._is_placed[1]
        begun = has_begin & ~begin.is_beyond() & self._is_placed[0]
        part |= {"ts": begin.values}
        for side, given in (("ts", begin), ("end", end)):
            part |= {f"{side} {name}": margin for name, margin in margins_of(given).items()}
        part["end"] = np.where(ended, end.values, INT64_MAX)
        self.reading.unresolved += int(
            np.count_nonzero(has_begin & ~begun) + np.count_nonzero(has_end & ~ended)
        )
        reversed_ = begun & (part["end"] < part["ts"])
        self.reading.reversed += int(np.count_nonzero(reversed_))
        kept = np.flatnonzero(begun & ~reversed_)
        chosen = kept[: MOST_SLICES - self._count]
        self.reading.left_out += len(kept) - len(chosen)
        self._count += len(chosen)
        self._batches.append({name: column[chosen] for name, column in part.items()})

    def _encode(self, column: pa.Array | None, rows: int) -> Values:
        """Texts by number, -1 for none."""
        if column is None:
            return np.full(rows, -1, np.int64)
        codes = [
            self._codes.setdefault(text, len(self._codes)) for text in column.dictionary.to_pylist()
        ]
        indices, missing = values_of(column.indices)
        indices = indices.astype(np.int64)
        which = indices if missing is None else np.where(missing, np.int64(-1), indices)
        numbers: Values = np.array([*codes, -1], np.int64)[which]
        return numbers

    def batches(
        self, clocks: tuple[str, str] | None, moved: Callable[[Values], Values] | None = None
    ) -> Iterable[pa.RecordBatch]:
        """The slices, in the order in which they began.

        clocks: by the tube, those of both ends. moved: gives each time the one to write.
        """
        whole = {
            name: np.concatenate([np.empty(0, np.int64), *(part[name] for part in self._batches)])
            for name in (*_TEXTS, *_NUMBERS, "ts", "end", *_MARGINS)
        }
        if moved is not None:
            whole["ts"] = moved(whole["ts"])
            ends = np.maximum(whole["ts"], moved(whole["end"]))
            whole["end"] = np.where(whole["end"] == INT64_MAX, INT64_MAX, ends)
        order = np.argsort(whole["ts"], kind="stable")
        whole = {name: column[order] for name, column in whole.items()}
        track, owners = _owners(whole)
        depth, parent = nest(track, whole["ts"], whole["end"])
        is_open = whole["end"] == INT64_MAX
        columns = {
            "ts": whole["ts"],
            "dur": np.where(is_open, OPEN, whole["end"] - whole["ts"]),
            "depth": depth.astype(np.int32),
            "parent": parent.astype(np.int32),
            "track": track.astype(np.int32),
            "name": whole["name"].astype(np.int32),
            "category": whole["category"].astype(np.int32),
        }
        bars = {} if clocks is None else _bars(whole, is_open, clocks)
        kept = depth >= 0
        self.reading.left_out += int(np.count_nonzero(~kept))
        if not kept.all():
            # Parents are not as deep as what lies in them, so that all of them are kept.
            numbers = np.cumsum(kept) - 1
            columns["parent"] = np.where(parent < 0, -1, numbers[parent]).astype(np.int32)
            columns = {name: column[kept] for name, column in columns.items()}
            bars = {name: column.filter(pa.array(kept)) for name, column in bars.items()}
        return slice_batches(columns, owners, self._strings(), bars, None)

    def _strings(self) -> Strings:
        texts = [text.encode() for text in self._codes]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int32)
        return ends, np.frombuffer(b"".join(texts), np.uint8)


def _numbers(column: pa.Array | None, rows: int) -> Values:
    """Numbers of threads and processes, -1 for none."""
    if column is None:
        return np.full(rows, -1, np.int64)
    values, missing = values_of(column)
    values = values.astype(np.int64)
    return values if missing is None else np.where(missing, np.int64(-1), values)


def _owners(slices: dict[str, Values]) -> tuple[Values, Owners]:
    """The track of each slice, and whose they are: one for each thread, process and name."""
    keys = ("pid", "process_name", "tid", "thread_name", "track_name")
    order = np.lexsort([slices[key] for key in keys])
    ordered = [slices[key][order] for key in keys]
    first = np.ones(len(order), np.bool_)
    first[1:] = np.logical_or.reduce([one[1:] != one[:-1] for one in ordered]) if len(order) else []
    track = np.empty(len(order), np.int64)
    track[order] = np.cumsum(first) - 1
    pid, process_name, tid, thread_name, track_name = (one[first] for one in ordered)
    every = np.arange(len(pid), dtype=np.int32)
    thread = np.where(tid < 0, -1, every).astype(np.int32)
    process = np.where((pid < 0) & (process_name < 0), -1, every).astype(np.int32)
    owners = Owners(
        (track_name.astype(np.int32), thread, process),
        (tid, thread_name.astype(np.int32), process),
        (pid, process_name.astype(np.int32)),
    )
    return track, owners


def _bars(
    slices: dict[str, Values], is_open: npt.NDArray[np.bool_], clocks: tuple[str, str]
) -> dict[str, pa.Array]:
    """The columns of bars: times of the trace clock itself, to their last digit."""
    ts, end = slices["ts"], slices["end"]
    before, after, end_before, end_after = (slices[name] for name in _MARGINS)
    earliest, end_earliest = (
        np.maximum(value, INT64_MIN + by) - by for value, by in ((ts, before), (end, end_before))
    )
    latest, end_latest = (
        np.minimum(value, INT64_MAX - by) + by for value, by in ((ts, after), (end, end_after))
    )
    dur_error = np.maximum(before + end_after, after + end_before)
    names = texts_of(clocks)
    first = np.zeros(len(ts), np.int32)
    clock, end_clock = (
        pa.DictionaryArray.from_arrays(arrow_of(numbers, missing), names, safe=False)
        for numbers, missing in ((first, None), (first + 1, is_open))
    )
    return {
        "earliest": arrow_of(earliest),
        "latest": arrow_of(latest),
        "end_earliest": arrow_of(end_earliest, is_open),
        "end_latest": arrow_of(end_latest, is_open),
        "dur_error_ns": arrow_of(dur_error, is_open),
        "clock": clock,
        "end_clock": end_clock,
    }
