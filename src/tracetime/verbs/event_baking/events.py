"""The writer of events that are no slices: instants and values of counters."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.event_baking import Details, EventPackets, Series, Texts
from tracetime.clocks.int_arrays import is_any_of
from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrays import known_of
from tracetime.errors import PLACED
from tracetime.trace.events_table import (
    HAS_ARGS,
    HAS_CPU,
    HAS_PID,
    HAS_TID,
    HAS_VALUE,
    TYPES,
    Columns,
    Vocabulary,
)
from tracetime.verbs.event_baking.flows import Rows, number_rows, text_at, texts_in
from tracetime.verbs.event_baking.tracks import Owner, Tracks

_COUNTER: Final = TYPES.index("counter")
_METADATA: Final = TYPES.index("metadata")
_FLOWS: Final = tuple(TYPES.index(name) for name in ("flow_begin", "flow_step", "flow_end"))
_SLICES: Final = tuple(
    TYPES.index(name)
    for name in (
        "slice_begin",
        "slice_end",
        "instant",
        "slice_complete",
        "async_begin",
        "async_end",
        "async_instant",
        "mark",
    )
)
"""What slices are made of."""

_UNNAMED: Final = "events"
_LINE: Final = "systrace_line"


class EventWriter:
    """The writer of a trace's rows, batch by batch.

    Args:
        has_slices: whether slices are put, too: then only what is none is put here.
        as_chrome: of Chrome's JSON, whose times before 0 Perfetto does not take, and whose counters
            it has a rule for.

    Attributes:
        unresolved: rows without a trace time.
        early: rows before trace time 0.
        left_out: how many rows, or values of counters, are not put, by their reason.
    """

    def __init__(
        self,
        packets: EventPackets,
        tracks: Tracks,
        vocabulary: Vocabulary,
        has_slices: bool,
        as_chrome: bool,
    ) -> None:
        self._packets = packets
        self._tracks = tracks
        self._has_slices = has_slices
        self._as_chrome = as_chrome
        self._lines = [kind.name == _LINE for kind in vocabulary.kinds]
        self._series = Series(as_chrome)
        self.unresolved = self.early = self._not_events = self._without_number = 0
        self._written: list[Rows] = []

    @property
    def left_out(self) -> dict[str, int]:
        return {
            "no_track_event": self._not_events,
            "counter_without_number": self._without_number
            + (self._series.beside if self._as_chrome else 0),
        }

    def take_written(self) -> tuple[Rows, Rows]:
        """The rows of the last batch that have packets, in the order of these, and their times."""
        rows, times = np.concatenate([np.zeros((2, 0), np.int64), *self._written], axis=1)
        self._written.clear()
        return rows, times

    def _note(self, rows: Rows) -> None:
        """Note the rows of the packets since the last time, of those that were put."""
        written, times, _ = self._packets.take_written()
        self._written.append(np.stack([rows[written], times]))

    def put(self, columns: Columns) -> None:
        """Put a batch with names."""
        placed = is_any_of(columns["status"], PLACED)
        kinds = columns["type"]
        is_event = kinds != _METADATA
        self.unresolved += int(np.count_nonzero(~placed & is_event))
        rows = rows_with_time(columns)
        self.early += int(np.count_nonzero(self._are_early(columns) & placed & is_event))
        counters = rows[kinds[rows] == _COUNTER]
        self._put_counters(columns, counters)
        others = rows[kinds[rows] != _COUNTER]
        if not self._has_slices:
            self._put_instants(columns, others)
            return
        is_line = np.array(self._lines, np.bool_)[columns["kind"][others]]
        known = np.isin(kinds[others], (*_SLICES, *_FLOWS)) | (kinds[others] < 0) & ~is_line
        self._not_events += int(np.count_nonzero(~known))

    def _are_early(self, columns: Columns) -> npt.NDArray[np.bool_]:
        """A mask of the rows before time 0, of the output or of the source of slices."""
        early: npt.NDArray[np.bool_] = columns["trace_time"] < 0
        if self._as_chrome and self._has_slices:
            is_line = np.array(self._lines, np.bool_)[columns["kind"]]
            of_slice = np.isin(columns["type"], _SLICES) | (columns["type"] < 0) & ~is_line
            early = early | of_slice & (columns["source_ns"] < 0)
        return early

    def _put_instants(self, columns: Columns, rows: Rows) -> None:
        args = _args(columns, rows, columns["has"][rows] & HAS_ARGS != 0)
        names, categories = (texts_in(columns, name, rows) for name in ("name", "category"))
        self._packets.put_instants(
            columns["trace_time"][rows],
            number_rows(
                [_key(columns, name)[rows] for name in _OWNED_BY],
                lambda row: self._track(columns, int(rows[row])),
            ),
            Details(names, categories, args),
        )
        self._note(rows)

    def _put_counters(self, columns: Columns, rows: Rows) -> None:
        """Put a counter for each number in the arguments; named by the row where it has one value.

        Chrome's are always called by the member that the number is of, too.
        """
        has = columns["has"][rows]
        args = _args(columns, rows, has & HAS_ARGS != 0)
        which, values, ends, text = self._series.read(args)
        numbers = np.bincount(which, minlength=len(rows))
        own = (has & HAS_VALUE != 0) & (numbers < 2) & (not self._as_chrome)
        several = ~own[which]
        self._without_number += int(np.count_nonzero(~own & (numbers == 0)))
        single = rows[own]
        keys = [_key(columns, name) for name in (*_OWNED_BY, "name")]
        self._packets.put_values(
            columns["trace_time"][single],
            number_rows(
                [key[single] for key in keys],
                lambda row: self._counter(columns, int(single[row]), None),
            ),
            columns["value"][single],
        )
        self._note(single)
        member = pa.Array.from_buffers(
            pa.string(),
            len(ends),
            [None, pa.py_buffer(np.append(np.int32(0), ends)), pa.py_buffer(text)],
        ).dictionary_encode()
        codes, _ = known_of(member.indices)
        some, codes = rows[which[several]], codes[several]
        self._packets.put_values(
            columns["trace_time"][some],
            number_rows(
                [*(key[some] for key in keys), codes],
                lambda row: self._counter(
                    columns, int(some[row]), member.dictionary[int(codes[row])].as_py()
                ),
            ),
            values[several],
        )
        self._note(some)

    def _counter(self, columns: Columns, row: int, member: str | None) -> int:
        """The counter of a row: of its process, if known, as all its threads have it."""
        named, track = (
            text_at(columns, column, int(columns[column][row])) for column in ("name", "track_name")
        )
        owner = self._owner(columns, row)
        if self._as_chrome:
            # One with an id has that in the name of its track, and one without a pid has pid 0.
            name = track or named or ""
            owner = owner._replace(pid=0) if owner.process is None and owner.pid is None else owner
        else:
            name = named or track or _UNNAMED
        if owner.pid is not None or owner.process is not None:
            owner = owner._replace(tid=None, thread=None)
        full = name if member is None else f"{name} {member}"
        return self._tracks.counter(self._tracks.of(owner), full)

    def _track(self, columns: Columns, row: int) -> int:
        """The track of an instant: its own where it has one, else its owner's."""
        owner = self._tracks.of(self._owner(columns, row))
        name = text_at(columns, "track_name", int(columns["track_name"][row]))
        if owner and name is None:
            return owner
        return self._tracks.within(owner, name or _UNNAMED)

    def _owner(self, columns: Columns, row: int) -> Owner:
        has = int(columns["has"][row])
        return Owner(
            int(columns["pid"][row]) if has & HAS_PID else None,
            text_at(columns, "process_name", int(columns["process_name"][row])),
            int(columns["tid"][row]) if has & HAS_TID else None,
            text_at(columns, "thread_name", int(columns["thread_name"][row])),
            int(columns["cpu"][row]) if has & HAS_CPU else None,
        )


def rows_with_time(columns: Columns) -> Rows:
    """The rows of events with a time that a packet can hold; names and the like have none."""
    placed = is_any_of(columns["status"], PLACED) & (columns["trace_time"] >= 0)
    return np.flatnonzero(placed & (columns["type"] != _METADATA))


_NUMBERS: Final = {"pid": HAS_PID, "tid": HAS_TID, "cpu": HAS_CPU}
_OWNED_BY: Final = ("pid", "process_name", "tid", "thread_name", "cpu", "track_name")


def _key(columns: Columns, name: str) -> npt.NDArray[np.int64]:
    """A column of `_OWNED_BY`, with one number for none."""
    values = columns[name].astype(np.int64)
    if name in _NUMBERS:
        return np.where(columns["has"] & _NUMBERS[name] != 0, values, INT64_MIN)
    return values


def _args(columns: Columns, rows: Rows, known: npt.NDArray[np.bool_]) -> Texts:
    codes = np.where(known, rows, -1).astype(np.int32)
    return Texts(codes, columns["args:ends"], columns["args:text"])
