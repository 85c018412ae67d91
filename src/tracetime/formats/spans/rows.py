"""The rows of spans in the events table: where each begins and ends, and the events within it."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.arrays import arrow_of, texts_of
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.events_table import TYPES, Columns, Kind
from tracetime.formats.spans.batch import ENDED, Spans
from tracetime.formats.spans.batch import KINDS as SPAN_KINDS
from tracetime.formats.spans.resources import Resources

KINDS: Final = (Kind("span"), Kind("span_end"), Kind("span_event"))
BEGIN, END, EVENT = range(3)
_TYPES: Final = np.array(
    [TYPES.index(name) for name in ("slice_begin", "slice_end", "instant")], np.int8
)


def rows_of(spans: Spans, resources: Resources, names: bool) -> tuple[Columns, dict[str, pa.Array]]:
    """Return the rows of some spans: of each its begin, its end if it has one, its events.

    Also, with names, the columns of `NAMES_SCHEMA` that they have.
    """
    n = len(spans)
    ended = np.flatnonzero(spans.marks & ENDED)
    of = np.concatenate([np.arange(n), ended, spans.event_span])
    kind = np.repeat(
        np.array([BEGIN, END, EVENT], np.uint8), [n, len(ended), len(spans.event_span)]
    )
    order = np.argsort(of, kind="stable")
    of, kind = of[order], kind[order]
    host = resources.hosts_of(spans.resource)[of]
    first = np.maximum.accumulate(np.where(kind == BEGIN, np.arange(len(of)), 0))
    columns: Columns = {
        "packet": (spans.first + of).astype(np.uint64),
        "item": (np.arange(len(of)) - first).astype(np.uint32),
        "kind": kind,
        "offset": spans.offset[of].astype(np.uint64),
        "clock": np.full(len(of), BUILTIN_IDS["REALTIME"], np.uint32),
        "machine": host.astype(np.uint32),
        "timestamp": np.concatenate([spans.begin, spans.end[ended], spans.event_time])[order],
    }
    return columns, _named(spans, resources, of, kind, order) if names else {}


def _named(
    spans: Spans,
    resources: Resources,
    of: npt.NDArray[np.int64],
    kind: npt.NDArray[np.uint8],
    order: npt.NDArray[np.intp],
) -> dict[str, pa.Array]:
    n = len(spans)
    events = len(spans.event_span)
    ends = pa.nulls(len(of) - n - events, pa.string())
    of_spans = arrow_of(of)
    is_event = kind == EVENT
    unsorted = arrow_of(order)
    every = pa.concat_arrays([spans.name, spans.name.take(_ended(spans)), spans.event_name])
    args = pa.concat_arrays([spans.args, ends, spans.event_args])
    resource = arrow_of(spans.resource).take(of_spans)
    return {
        "name": every.take(unsorted),
        "category": pa.DictionaryArray.from_arrays(
            arrow_of(spans.kind[of].astype(np.int32), is_event), texts_of(SPAN_KINDS)
        ),
        "type": arrow_of(_TYPES[kind]),
        "track_name": resources.host_names().take(resource),
        "process_name": resources.services().take(resource),
        "pid": resources.pids().take(resource),
        "args": args.take(unsorted),
    }


def _ended(spans: Spans) -> pa.Array:
    return arrow_of(np.flatnonzero(spans.marks & ENDED))
