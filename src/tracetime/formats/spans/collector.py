"""The resolutions of spans beside the unit of the file: hosts keep less than it has.

An end may have been measured as a duration, and an event likewise: where it is finer than the begin
of its span it is as far off as that, too.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.clocks.snapshot import INT64_MAX
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.formats.replayed_slices import ARGS_LIMIT, NAMES_LIMIT
from tracetime.formats.source_times import SourceResolutions
from tracetime.formats.span_trace import MOST_SPANS, SpanTable
from tracetime.formats.spans.batch import ENDED, KINDS, Spans
from tracetime.formats.spans.resources import Resources, SpanSource
from tracetime.graph.values import Mask, Values
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns

Rows = npt.NDArray[np.intp]
Margins = tuple[Values, Values]
"""By how much less, and more, than it says a host's clock may have read at each time, ns."""


class SpanResolutions:
    """The resolutions of times and durations of each host; each batch is added once.

    Args:
        unit_ns: of the file's times.
        adds_up: whether the file gives durations, and no ends.
    """

    def __init__(self, unit_ns: int, adds_up: bool) -> None:
        self._unit_ns = unit_ns
        self._adds_up = adds_up
        self._times = SourceResolutions(doubles=True)
        self._durations = SourceResolutions(doubles=False)

    def add(self, spans: Spans, hosts: npt.NDArray[np.int32]) -> None:
        """Count the times of a batch; hosts: of each span, by number."""
        host = hosts.astype(np.int64)
        ended = np.flatnonzero((spans.marks & ENDED != 0) & (spans.end >= spans.begin))
        for times, of in (
            (spans.begin, host),
            (spans.end[ended], host[ended]),
            (spans.event_time, host[spans.event_span]),
        ):
            self._times.add(of, self._units(times), times)
        lasted = spans.end[ended] - spans.begin[ended]
        self._durations.add(host[ended], self._units(lasted), lasted)

    @property
    def longest_ns(self) -> int:
        """The longest resolution, longer than the unit; 0 without any."""
        return max(self._times.longest_ns, self._durations.longest_ns)

    @property
    def is_exact(self) -> bool:
        """Whether times are exact but for the unit."""
        return self._times.is_exact and self._durations.is_exact

    def begins(self, hosts: npt.NDArray[np.integer], begin: Values) -> Margins:
        """The margins of begins of spans."""
        return self._times.margins(hosts.astype(np.int64), self._units(begin), begin)

    def events(self, hosts: npt.NDArray[np.integer], begin: Values, time: Values) -> Margins:
        """The margins of events; begin: of their spans."""
        own, from_begin = self.begins(hosts, time), self.begins(hosts, begin)
        early, late = (
            np.where(one >= other, one, one + other)
            for one, other in zip(own, from_begin, strict=True)
        )
        return early, late

    def ends(self, hosts: npt.NDArray[np.integer], begin: Values, end: Values) -> Margins:
        """The margins of ends; begin: of their spans."""
        lasted = end - begin
        durations = self._durations.margins(hosts.astype(np.int64), self._units(lasted), lasted)
        sides = zip(self.begins(hosts, end), self.begins(hosts, begin), durations, strict=True)
        early, late = (self._of_ends(*side) for side in sides)
        return early, late

    def _of_ends(self, own: Values, begin: Values, lasted: Values) -> Values:
        """One side of ends, by the sides of their times, of the begins, and of the durations."""
        summed = begin + np.maximum(own, lasted)
        if self._adds_up:
            return summed
        return np.where(own >= np.maximum(begin, lasted), own, summed)

    def _units(self, times: Values) -> Values:
        return np.full(len(times), self._unit_ns, np.int64)


def later(times: Values, by_ns: Values) -> Values:
    """The times shifted later, at most to the end of int64."""
    moved: Values = np.minimum(times, INT64_MAX - by_ns) + by_ns
    return moved


# The parent of each span of a file, by its id.

Words = npt.NDArray[np.uint64]


class Parents(NamedTuple):
    """Spans by their parents.

    Attributes:
        row: of each span's parent, the first in the file that has the id; -1 without one.
        is_sure: whether no other span has the parent's id.
        is_repeated: whether another span has its id.
        is_orphan: whether it names a parent that is not there.
        is_looped: whether it is its own ancestor, by what the file says.
    """

    row: Rows
    is_sure: Mask
    is_repeated: Mask
    is_orphan: Mask
    is_looped: Mask


def parents_of(trace: Words, span: Words, parent: Words) -> Parents:
    """Find the parents of spans.

    Args:
        trace: uint64[n, 2], ids of traces.
        span: uint64[n], ids within them.
        parent: uint64[n], ids of parents in the same trace; 0 for none.
    """
    n = len(span)
    code = _number_ids(np.tile(trace, (2, 1)), np.concatenate([span, parent]))
    ours, theirs = code[:n], code[n:]
    first = np.full(2 * n, -1, np.int64)
    first[ours[::-1]] = np.arange(n, dtype=np.int64)[::-1]
    times = np.bincount(ours, minlength=2 * n)
    row = np.where(parent != 0, first[theirs], -1)
    is_orphan = (parent != 0) & (row < 0)
    is_looped = _are_looped(row)
    row[is_looped] = -1
    return Parents(row, (row >= 0) & (times[theirs] == 1), times[ours] > 1, is_orphan, is_looped)


def _number_ids(trace: Words, span: Words) -> Rows:
    """A number for each pair of ids, the same for equal ones."""
    order = np.lexsort((span, trace[:, 1], trace[:, 0]))
    words = (trace[:, 0], trace[:, 1], span)
    differs = np.zeros(len(order), np.bool_)
    for word in words:
        sorted_ids = word[order]
        differs[1:] |= sorted_ids[1:] != sorted_ids[:-1]
    code = np.empty(len(order), np.int64)
    code[order] = np.cumsum(differs)
    return code


def _are_looped(parent: Rows) -> Mask:
    """A mask of rows on a ring of parents."""
    # The last place stands for no span.
    above = np.append(parent, -1)
    for _ in range(max(len(parent), 1).bit_length()):
        above = above[above]
    looped = np.zeros(len(parent), np.bool_)
    # After so many steps who still has an ancestor is at a ring, and all of the ring is reached.
    looped[above[:-1][above[:-1] >= 0]] = True
    return looped


# The spans of a file as one table, for their slices.

_COLUMNS: Final = ("resource", "trace", "id", "parent", "begin", "end", "kind", "marks")


class SpanCollector:
    """Collects the spans of a file; each batch is added once.

    Args:
        source: their format.
        resolutions: those of the same spans.
        with_args: keep their attributes.
    """

    def __init__(self, source: SpanSource, resolutions: SpanResolutions, with_args: bool) -> None:
        self._source = source
        self._resolutions = resolutions
        self._columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _COLUMNS}
        self._names: list[pa.Array] = []
        self._args: list[pa.Array] | None = [] if with_args else None
        self._rooms = {"name": NAMES_LIMIT, "args": ARGS_LIMIT}
        self._spans = 0
        self._left_out = 0
        self._names_left_out = 0

    def add(self, spans: Spans) -> None:
        """Add a batch; spans without room are counted."""
        if self._spans + len(spans) > MOST_SPANS:
            self._left_out += len(spans)
            return
        self._spans += len(spans)
        for name, parts in self._columns.items():
            parts.append(getattr(spans, name))
        self._names.append(self._limit_texts("name", spans.name.dictionary_encode()))
        if self._args is not None:
            self._args.append(self._limit_texts("args", spans.args.cast(pa.large_string())))

    def _limit_texts(self, which: str, texts: pa.Array) -> pa.Array:
        """The texts, null where there is no room for them."""
        size = (texts.dictionary if which == "name" else texts).nbytes
        if size > self._rooms[which]:
            self._names_left_out += len(texts) - texts.null_count
            return pa.nulls(len(texts), texts.type)
        self._rooms[which] -= size
        return texts

    def table(self, resources: Resources) -> SpanTable:
        """The table of all spans; groups are the resources."""
        empty = {name: np.empty((0, 2) if name == "trace" else 0, np.int64) for name in _COLUMNS}
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.concatenate(parts) if parts else empty[name]
            for name, parts in self._columns.items()
        }
        machine = resources.hosts_of(columns["resource"].astype(np.int32)).astype(np.uint32)
        begin, end = columns["begin"], columns["end"]
        of_begins = of_ends = None
        if not self._resolutions.is_exact:
            of_begins = self._resolutions.begins(machine, begin)
            of_ends = self._resolutions.ends(machine, begin, end)
        names = pa.chunked_array(self._names, pa.dictionary(pa.int32(), pa.string()))
        args = None
        if self._args is not None:
            args = pa.concat_arrays([pa.nulls(0, pa.large_string()), *self._args])
        return SpanTable(
            begins=_readings(begin, machine, self._source.begin_cut_ns, of_begins),
            ends=_readings(end, machine, self._source.end_cut_ns, of_ends),
            ended=columns["marks"] & ENDED != 0,
            parent=parents_of(columns["trace"], columns["id"], columns["parent"]).row,
            group=columns["resource"].astype(np.int32),
            name=names.unify_dictionaries().combine_chunks(),
            category=pa.DictionaryArray.from_arrays(
                arrow_of(columns["kind"].astype(np.int32)), texts_of(KINDS)
            ),
            args=args,
            owners={
                "track_name": resources.host_names(),
                "process_name": resources.services(),
                "pid": resources.pids(),
            },
            groups=len(resources.resources),
            left_out=self._left_out,
            names_left_out=self._names_left_out,
        )


def _readings(
    timestamp: Values, machine: npt.NDArray[np.uint32], cut_off_ns: int, margins: Margins | None
) -> Columns:
    columns: Columns = {
        "timestamp": timestamp,
        "clock": np.full(len(timestamp), BUILTIN_IDS["REALTIME"], np.uint32),
        "machine": machine,
    }
    if margins is not None:
        columns[EARLY], columns[CUT_OFF] = margins[0], margins[1] + cut_off_ns
    elif cut_off_ns:
        columns[CUT_OFF] = np.full(len(timestamp), cut_off_ns, np.int64)
    return columns
