"""The spans of a file as one table, for their slices."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.formats.replayed_slices import ARGS_LIMIT, NAMES_LIMIT
from tracetime.formats.span_table import MOST_SPANS, SpanTable
from tracetime.formats.spans.batch import ENDED, KINDS, Spans
from tracetime.formats.spans.parents import parents_of
from tracetime.formats.spans.resources import Resources
from tracetime.formats.spans.source import SpanSource
from tracetime.formats.spans.steps import Margins, SpanSteps
from tracetime.trace.events_table import CUT_OFF, EARLY, Columns

_COLUMNS: Final = ("resource", "trace", "id", "parent", "begin", "end", "kind", "marks")


class SpanCollector:
    """Collects the spans of a file; each batch is added once.

    Args:
        source: their format.
        steps: those of the same spans.
        with_args: keep their attributes.
    """

    def __init__(self, source: SpanSource, steps: SpanSteps, with_args: bool) -> None:
        self._source = source
        self._steps = steps
        self._columns: dict[str, list[npt.NDArray[Any]]] = {name: [] for name in _COLUMNS}
        self._names: list[pa.Array] = []
        self._args: list[pa.Array] | None = [] if with_args else None
        self._rooms = {"name": NAMES_LIMIT, "args": ARGS_LIMIT}
        self._spans = 0
        self._left_out = 0
        self._names_left_out = 0

    def add(self, spans: Spans) -> None:
        """Add a batch; what there is no room for is counted."""
        if self._spans + len(spans) > MOST_SPANS:
            self._left_out += len(spans)
            return
        self._spans += len(spans)
        for name, parts in self._columns.items():
            parts.append(getattr(spans, name))
        self._names.append(self._kept("name", spans.name.dictionary_encode()))
        if self._args is not None:
            self._args.append(self._kept("args", spans.args.cast(pa.large_string())))

    def _kept(self, which: str, texts: pa.Array) -> pa.Array:
        """Texts, null where there is no room for them."""
        size = (texts.dictionary if which == "name" else texts).nbytes
        if size > self._rooms[which]:
            self._names_left_out += len(texts) - texts.null_count
            return pa.nulls(len(texts), texts.type)
        self._rooms[which] -= size
        return texts

    def table(self, resources: Resources) -> SpanTable:
        """All spans; groups are the resources."""
        empty = {name: np.empty((0, 2) if name == "trace" else 0, np.int64) for name in _COLUMNS}
        columns: dict[str, npt.NDArray[Any]] = {
            name: np.concatenate(parts) if parts else empty[name]
            for name, parts in self._columns.items()
        }
        machine = resources.hosts_of(columns["resource"].astype(np.int32)).astype(np.uint32)
        begin, end = columns["begin"], columns["end"]
        of_begins = of_ends = None
        if not self._steps.is_exact:
            of_begins = self._steps.begins(machine, begin)
            of_ends = self._steps.ends(machine, begin, end)
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
    timestamp: npt.NDArray[np.int64],
    machine: npt.NDArray[np.uint32],
    cut_off_ns: int,
    margins: Margins | None,
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
