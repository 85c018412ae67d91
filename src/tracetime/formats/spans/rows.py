"""The rows of spans in the events table: where each begins and ends, and the events within it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.columns.arrays import arrow_of, texts_of
from tracetime.formats.spans.batch import ENDED, Spans
from tracetime.formats.spans.batch import KINDS as SPAN_KINDS
from tracetime.formats.spans.resources import Resources
from tracetime.trace.events_table import BATCH_ROWS, TYPES, Columns, Kind

KINDS: Final = (Kind("span"), Kind("span_end"), Kind("span_event"))
BEGIN, END, EVENT = range(3)
_AT_ONCE: Final = 2 * BATCH_ROWS
"""The begins and ends of a batch of spans."""
_TYPES: Final = np.array(
    [TYPES.index(name) for name in ("slice_begin", "slice_end", "instant")], np.int8
)


def rows_of(
    spans: Spans, resources: Resources, names: bool
) -> Iterator[tuple[Columns, dict[str, pa.Array]]]:
    """Yield the rows of some spans, some at a time: a span may have any number of events.

    Of each span they are its begin, its end if it has one, its events. Also, with names, the
    columns of `NAMES_SCHEMA` that they have.
    """
    n = len(spans)
    ended = np.flatnonzero(spans.marks & ENDED)
    of = np.concatenate([np.arange(n), ended, spans.event_span])
    kind = np.repeat(
        np.array([BEGIN, END, EVENT], np.uint8), [n, len(ended), len(spans.event_span)]
    )
    order = np.argsort(of, kind="stable")
    first = np.flatnonzero(kind[order] == BEGIN)
    host = resources.hosts_of(spans.resource)
    time = np.concatenate([spans.begin, spans.end[ended], spans.event_time])
    texts = _texts(spans, ended) if names else {}
    for start in range(0, len(order), _AT_ONCE):
        unsorted = order[start : start + _AT_ONCE]
        rows = of[unsorted]
        columns: Columns = {
            "packet": (spans.first + rows).astype(np.uint64),
            "item": (np.arange(start, start + len(rows)) - first[rows]).astype(np.uint32),
            "kind": kind[unsorted],
            "offset": spans.offset[rows].astype(np.uint64),
            "clock": np.full(len(rows), BUILTIN_IDS["REALTIME"], np.uint32),
            "machine": host[rows].astype(np.uint32),
            "timestamp": time[unsorted],
        }
        named = {name: of_all.take(arrow_of(unsorted)) for name, of_all in texts.items()}
        if names:
            named |= _shared(spans, resources, rows, columns["kind"])
        yield columns, named


def _texts(spans: Spans, ended: npt.NDArray[np.intp]) -> dict[str, pa.Array]:
    """The texts of spans, of their ends, and of their events."""
    names = [spans.name, spans.name.take(arrow_of(ended)), spans.event_name]
    args = [spans.args, pa.nulls(len(ended), pa.string()), spans.event_args]
    return {"name": pa.concat_arrays(names), "args": pa.concat_arrays(args)}


def _shared(
    spans: Spans, resources: Resources, rows: npt.NDArray[np.int64], kind: npt.NDArray[np.uint8]
) -> dict[str, pa.Array]:
    """What rows have that those of many spans share."""
    resource = arrow_of(spans.resource[rows])
    return {
        "category": pa.DictionaryArray.from_arrays(
            arrow_of(spans.kind[rows].astype(np.int32), kind == EVENT), texts_of(SPAN_KINDS)
        ),
        "type": arrow_of(_TYPES[kind]),
        "track_name": resources.host_names().take(resource),
        "process_name": resources.services().take(resource),
        "pid": resources.pids().take(resource),
    }
