"""What samples are, as Arrow columns: the stream, the marker's text, the values of channels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.formats.xdf.stream_header import StreamHeader
from tracetime.trace.events_table import TYPES

_COUNTER: Final = TYPES.index("counter")
_INSTANT: Final = TYPES.index("instant")

MOST_CHANNELS: Final = 32
"""Samples of more have no args: a table of numbers says them better."""

_NAMED: Final = {"category": "type", "track_name": "name", "process_name": "hostname"}
"""Columns, and what the header of a stream says of them."""


def names_of(parts: Sequence[tuple[StreamHeader, Any]]) -> dict[str, pa.Array]:
    """The columns of names of samples; see `name_columns`.

    Args:
        parts: the stream and the values of samples that follow each other, as `Samples` has them.
    """
    each: dict[int, tuple[StreamHeader, list[Any]]] = {}
    for header, values in parts:
        each.setdefault(header.number, (header, []))[1].append(values)
    number = {stream: k for k, stream in enumerate(each)}
    headers = [header for header, _ in each.values()]
    lengths = [len(some) for _, some in parts]
    stream = np.repeat([number[header.number] for header, _ in parts], lengths)
    # Values are made stream by stream.
    back = np.argsort(np.argsort(stream, kind="stable"))
    described = [_described(*of_one) for of_one in each.values()]
    columns = [
        pa.concat_arrays(column).take(pa.array(back)) for column in zip(*described, strict=True)
    ]
    texts = {name: [getattr(h, field) for h in headers] for name, field in _NAMED.items()}
    names = {name: _repeated(given, stream) for name, given in texts.items()}
    names["track"] = pa.array(np.array([h.number for h in headers], np.uint64)[stream])
    types = [_INSTANT if header.is_text else _COUNTER for header in headers]
    names["type"] = pa.array(np.array(types, np.int8)[stream])
    names |= zip(("name", "value", "args"), columns, strict=True)
    names["name"] = names["name"].dictionary_encode()
    return names


def _described(header: StreamHeader, values: list[Any]) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The name, the value and the args of each sample of one stream."""
    if header.is_text:
        rows = list(chain.from_iterable(values))
        markers = pa.array([row[0] for row in rows], pa.string())
        return markers, pa.nulls(len(rows), pa.float64()), _text_args(rows, len(rows))
    numbers = np.concatenate(values)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        first = pa.array(numbers[:, 0].astype(np.float64))
    named = pa.repeat(pa.scalar(header.name or None, pa.string()), len(numbers))
    return named, first, _number_args(numbers)


def _repeated(texts: list[str], which: npt.NDArray[np.intp]) -> pa.Array:
    """One of some texts in each row; null where it is empty."""
    distinct = {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)))}
    codes = np.array([distinct.get(text, -1) for text in texts], np.int32)[which]
    known = pa.array(list(distinct), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)


def _text_args(values: Sequence[Sequence[str]], n: int) -> pa.Array:
    if not values or not 1 < len(values[0]) <= MOST_CHANNELS:
        return pa.nulls(n, pa.string())
    texts = [
        json.dumps({"channels": row}, ensure_ascii=False, separators=(",", ":")) for row in values
    ]
    return pa.array(texts, pa.string())


def _number_args(values: Any) -> pa.Array:
    """The values of all channels, as JSON; null of one channel, and of very many."""
    n, channels = values.shape
    if not 1 < channels <= MOST_CHANNELS:
        return pa.nulls(n, pa.string())
    import pyarrow.compute as pc

    columns = []
    for channel in range(channels):
        numbers = values[:, channel]
        texts = pa.array(numbers).cast(pa.string())
        # JSON has no number for these.
        columns.append(pc.if_else(pa.array(np.isfinite(numbers)), texts, "null"))
    inner = pc.binary_join_element_wise(*columns, ",")
    return pc.binary_join_element_wise('{"channels":[', inner, "]}", "")
