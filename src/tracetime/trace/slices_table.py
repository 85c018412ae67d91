"""The table of slices: their durations, tracks and parents.

Its columns and types, and how arrays become batches. Formats decide which events make a slice.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrays import arrow_of
from tracetime.columns.arrow_tables import exact_in_pandas
from tracetime.graph.arguments import PolicyName, check_policy
from tracetime.trace.events_table import BATCH_ROWS

if TYPE_CHECKING:
    from tracetime.trace.slice_ends import SliceEnds

OPEN: Final = -1
"""The duration of a slice that did not end."""

NO_NUMBER: Final = INT64_MIN
"""The tid of a thread, or the pid of a process, that has none."""

_TEXT: Final = pa.dictionary(pa.int32(), pa.string())

SLICES_SCHEMA: Final = exact_in_pandas(
    pa.schema(
        [
            pa.field("id", pa.int64(), nullable=False),
            pa.field("ts", pa.int64(), nullable=False),
            pa.field("dur", pa.int64(), nullable=False),
            pa.field("depth", pa.int32(), nullable=False),
            pa.field("parent", pa.int64()),
            pa.field("name", _TEXT),
            pa.field("category", _TEXT),
            pa.field("track", pa.int64(), nullable=False),
            pa.field("track_name", _TEXT),
            pa.field("tid", pa.int64()),
            pa.field("thread_name", _TEXT),
            pa.field("pid", pa.int64()),
            pa.field("process_name", _TEXT),
            pa.field("args", pa.string()),
        ]
    )
)
"""The table of slices: columns and types, in order. ts and dur are in ns."""

BOUNDED_SLICES_SCHEMA: Final = exact_in_pandas(
    pa.schema(
        [
            *SLICES_SCHEMA,
            pa.field("earliest", pa.int64()),
            pa.field("latest", pa.int64()),
            pa.field("end_earliest", pa.int64()),
            pa.field("end_latest", pa.int64()),
            pa.field("dur_error_ns", pa.int64()),
            pa.field("clock", _TEXT),
            pa.field("end_clock", _TEXT),
        ]
    )
)
"""The table of slices by the tube policy: with error bars of both ends, where there are any."""

Strings: TypeAlias = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8]]
"""Strings by number: where each ends, and their UTF-8."""


def slices_schema(policy: PolicyName) -> pa.Schema:
    """Return the schema of slices by a policy.

    Raises:
        UsageError: no such policy.
    """
    check_policy(policy)
    return BOUNDED_SLICES_SCHEMA if policy == "tube" else SLICES_SCHEMA


@dataclass(frozen=True, eq=False, slots=True)
class Arrows:
    """The arrows of flows, from slice to slice; a trace without any has none.

    Attributes:
        columns: out, into, int64: ids of slices; named: whether the flow is called by a name and a
            category, both texts that may be null.
        lost: how many events of flows make none, by a key of `event_baking.reasons.REASONS`.
    """

    columns: Mapping[str, pa.Array]
    lost: Mapping[str, int]

    @classmethod
    def none(cls) -> Arrows:
        """The arrows of a trace whose events are in no flow."""
        columns = {name: pa.nulls(0, pa.int64()) for name in ("out", "into")}
        columns["named"] = pa.nulls(0, pa.bool_())
        columns |= {name: pa.nulls(0, _TEXT) for name in ("name", "category")}
        return cls(columns, {})


@dataclass(eq=False, slots=True)
class SliceReading:
    """The counts of a reading of slices, known at its end.

    Attributes:
        wants_arrows: whether to read `arrows` and `ends`, too; set before it is read.
        left_out: how many slices there was no room for.
        names_left_out: the same of names and arguments.
        unresolved: how many events have no trace time, of Perfetto's traces by floor: they begin
            and end nothing.
        not_nested: how many slices would cross others of their track, or lie deeper than 512:
            Perfetto has none of them, either.
        reversed: how many slices would end before they begin: they are left out, too.
        unmatched: how many events end a slice that has not begun.
    """

    left_out: int = 0
    names_left_out: int = 0
    unresolved: int = 0
    not_nested: int = 0
    reversed: int = 0
    unmatched: int = 0
    wants_arrows: bool = False
    arrows: Arrows | None = None
    ends: SliceEnds | None = None


class Slices(Iterator[pa.RecordBatch]):
    """The slices of a trace, batch by batch, in the order in which they began.

    Made by `Trace.slices`. Nothing comes before the whole trace has been read.

    Attributes:
        schema: of every batch.
    """

    def __init__(
        self,
        schema: pa.Schema,
        reading: SliceReading,
        batches: Generator[pa.RecordBatch, None, None],
    ) -> None:
        self.schema = schema
        self._reading = reading
        self._batches = batches

    def __next__(self) -> pa.RecordBatch:
        return next(self._batches)

    def close(self) -> None:
        """Stop reading; no batch follows."""
        self._batches.close()

    def read_all(self) -> pa.Table:
        """Return all that is left, as one table."""
        return pa.Table.from_batches(self, self.schema)

    def _read_with_arrows(self) -> tuple[pa.Table, Arrows]:
        """Return all slices, and the arrows between them."""
        self._reading.wants_arrows = True
        table = self.read_all()
        return table, self._reading.arrows or Arrows.none()

    @property
    def ends(self) -> SliceEnds | None:
        """Where they begin and end, for who reads them with arrows; known at the end."""
        return self._reading.ends

    @property
    def left_out(self) -> int:
        """The number of slices that there was no room for; known at the end."""
        return self._reading.left_out

    @property
    def names_left_out(self) -> int:
        """The number of names, and arguments, that there was no room for; known at the end."""
        return self._reading.names_left_out

    @property
    def unresolved(self) -> int:
        """The number of events without a trace time, which begin and end nothing; known at the end.

        Of Perfetto's traces by floor, whatever the policy.
        """
        return self._reading.unresolved

    @property
    def not_nested(self) -> int:
        """The number of slices left out that cross others or lie too deep; known at the end.

        They are left out, as in Perfetto.
        """
        return self._reading.not_nested

    @property
    def reversed(self) -> int:
        """The number of slices left out because they end before they begin; known at the end."""
        return self._reading.reversed

    @property
    def unmatched(self) -> int:
        """The number of events that end a slice that has not begun; known at the end."""
        return self._reading.unmatched


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """Tracks, threads and processes, by number.

    Attributes:
        tracks: name, thread and process of each; -1 for none, as everywhere here.
        threads: tid, name and process of each.
        processes: pid and name of each.
    """

    tracks: tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]
    threads: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32], npt.NDArray[np.int32]]
    processes: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]


Args: TypeAlias = Callable[
    [slice], tuple[npt.NDArray[np.bool_], npt.NDArray[np.int32], npt.NDArray[np.uint8]]
]
"""Of some slices, or the first of them: whether each has arguments, the texts' ends, the texts."""


def slice_batches(
    slices: Mapping[str, npt.NDArray[Any]],
    owners: Owners,
    strings: Strings,
    bars: Mapping[str, pa.Array],
    args: Args | None,
) -> Iterator[pa.RecordBatch]:
    """Yield slices as batches; each column of text has one dictionary in all of them.

    Args:
        slices: ts, dur, depth, parent, track, name, category.
        owners: of their tracks.
        strings: what numbers of names stand for.
        bars: the columns of `BOUNDED_SLICES_SCHEMA` that `SLICES_SCHEMA` has not, or none.
        args: gives their arguments; None: they are not read.
    """
    columns = _columns(slices, owners, strings, bars)
    schema = BOUNDED_SLICES_SCHEMA if bars else SLICES_SCHEMA
    total, start = len(slices["ts"]), 0
    while start < total:
        count = min(BATCH_ROWS, total - start)
        if args is None:
            texts = pa.nulls(count, pa.string())
        else:
            has, ends, text = args(slice(start, start + count))
            count = len(has)
            texts = _texts(has, ends, text)
        arrays = [
            texts if field.name == "args" else columns[field.name].slice(start, count)
            for field in schema
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        start += count


def _columns(
    slices: Mapping[str, npt.NDArray[Any]],
    owners: Owners,
    strings: Strings,
    bars: Mapping[str, pa.Array],
) -> dict[str, pa.Array]:
    """All columns but the arguments, whole."""
    track = slices["track"]
    track_names, track_threads, track_processes = owners.tracks
    tids, thread_names, thread_processes = owners.threads
    pids, process_names = owners.processes
    thread = track_threads[track]
    process = np.where(thread < 0, track_processes[track], _at(thread_processes, thread))
    parent = slices["parent"]
    columns = {
        "id": arrow_of(np.arange(len(track), dtype=np.int64)),
        "ts": arrow_of(slices["ts"]),
        "dur": arrow_of(slices["dur"]),
        "depth": arrow_of(slices["depth"]),
        "parent": arrow_of(parent.astype(np.int64), parent < 0),
        "name": texts_by_number(slices["name"], strings),
        "category": texts_by_number(slices["category"], strings),
        "track": arrow_of(track.astype(np.int64)),
        "track_name": texts_by_number(track_names[track], strings),
        "tid": _numbers(_at(tids, thread), thread < 0),
        "thread_name": texts_by_number(_at(thread_names, thread), strings),
        "pid": _numbers(_at(pids, process), process < 0),
        "process_name": texts_by_number(_at(process_names, process), strings),
    }
    return {**columns, **bars}


def _at(values: npt.NDArray[Any], which: npt.NDArray[np.int32]) -> npt.NDArray[Any]:
    """The values of numbers, -1 for those of none."""
    return np.append(values, values.dtype.type(-1))[which]


def _numbers(values: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_]) -> pa.Array:
    return arrow_of(values, missing | (values == NO_NUMBER))


def texts_by_number(codes: npt.NDArray[np.int32], strings: Strings) -> pa.Array:
    """Return strings by number as a dictionary of those that occur; null for -1."""
    ends, text = strings
    used = np.zeros(len(ends) + 1, dtype=np.bool_)
    used[codes] = True
    used[-1] = False
    which = np.cumsum(used, dtype=np.int32) - np.int32(1)
    missing = codes < 0
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    every = pa.Array.from_buffers(
        pa.string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
    names = every.take(arrow_of(np.flatnonzero(used[:-1])))
    indices = np.where(missing, np.int32(0), which[codes])
    return pa.DictionaryArray.from_arrays(arrow_of(indices, missing), names, safe=False)


def _texts(
    has: npt.NDArray[np.bool_], ends: npt.NDArray[np.int32], text: npt.NDArray[np.uint8]
) -> pa.Array:
    offsets = np.concatenate([np.zeros(1, np.int32), ends])
    mask = pa.py_buffer(np.packbits(has, bitorder="little"))
    return pa.Array.from_buffers(
        pa.string(), len(ends), [mask, pa.py_buffer(offsets), pa.py_buffer(text)]
    )
