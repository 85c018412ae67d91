"""What samples are, as Arrow columns: the stream, the marker's text, the values of channels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime._kernels.xdf import text_places
from tracetime.formats.xdf.samples import Samples
from tracetime.formats.xdf.seconds import Values
from tracetime.formats.xdf.stream_header import StreamHeader
from tracetime.trace.events_table import TYPES

_COUNTER: Final = TYPES.index("counter")
_INSTANT: Final = TYPES.index("instant")

MOST_CHANNELS: Final = 32
"""Samples of more have no args: a table of numbers says them better."""

_FORMS: Final[dict[str, np.dtype[Any]]] = {
    "float32": np.dtype("<f4"),
    "double64": np.dtype("<f8"),
    "int8": np.dtype("<i1"),
    "int16": np.dtype("<i2"),
    "int32": np.dtype("<i4"),
    "int64": np.dtype("<i8"),
}

_NAMED: Final = {"category": "type", "track_name": "name", "process_name": "hostname"}
"""Columns, and what the header of a stream says of them."""


def names_of(samples: Samples) -> dict[str, pa.Array]:
    """The columns of names of samples; see `name_columns`."""
    present, stream, counts = np.unique(samples.stream, return_inverse=True, return_counts=True)
    headers = [samples.headers[index] for index in present.tolist()]
    # Values are made stream by stream.
    order = np.argsort(stream, kind="stable")
    places = np.split(samples.places[order], np.cumsum(counts)[:-1])
    described = [
        _described(header, samples.data, of_one)
        for header, of_one in zip(headers, places, strict=True)
    ]
    back = pa.array(np.argsort(order))
    columns = [pa.concat_arrays(column).take(back) for column in zip(*described, strict=True)]
    texts = {name: [getattr(h, field) for h in headers] for name, field in _NAMED.items()}
    names = {name: _repeated(given, stream) for name, given in texts.items()}
    names["track"] = pa.array(np.array([h.number for h in headers], np.uint64)[stream])
    types = [_INSTANT if header.is_text else _COUNTER for header in headers]
    names["type"] = pa.array(np.array(types, np.int8)[stream])
    names |= zip(("name", "value", "args"), columns, strict=True)
    names["name"] = names["name"].dictionary_encode()
    return names


def _described(
    header: StreamHeader, data: bytes, places: Values
) -> tuple[pa.Array, pa.Array, pa.Array]:
    """The name, the value and the args of each sample of one stream."""
    n = len(places)
    channels = header.channels if header.channels <= MOST_CHANNELS else 1
    if header.is_text:
        bounds = text_places(data, places, channels).tolist()
        rows = [[data[begin:end].decode(errors="replace") for begin, end in row] for row in bounds]
        markers = pa.array([row[0] for row in rows], pa.string())
        return markers, pa.nulls(n, pa.float64()), _text_args(rows, n)
    form = _FORMS[header.channel_format]
    content = np.frombuffer(data, np.uint8)
    windows = np.lib.stride_tricks.sliding_window_view(content, channels * form.itemsize)
    numbers = windows[places].view(form)
    with np.errstate(invalid="ignore"):  # a signalling NaN
        first = pa.array(numbers[:, 0].astype(np.float64))
    named = pa.repeat(pa.scalar(header.name or None, pa.string()), n)
    return named, first, _number_args(numbers)


def _repeated(texts: list[str], which: npt.NDArray[np.intp]) -> pa.Array:
    """One of some texts in each row; null where it is empty."""
    distinct = {text: k for k, text in enumerate(dict.fromkeys(filter(None, texts)))}
    codes = np.array([distinct.get(text, -1) for text in texts], np.int32)[which]
    known = pa.array(list(distinct), pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), known)


def _text_args(values: Sequence[Sequence[str]], n: int) -> pa.Array:
    if not values or len(values[0]) == 1:
        return pa.nulls(n, pa.string())
    texts = [
        json.dumps({"channels": row}, ensure_ascii=False, separators=(",", ":")) for row in values
    ]
    return pa.array(texts, pa.string())


def _number_args(values: Any) -> pa.Array:
    """The values of all channels, as JSON; null of one channel."""
    n, channels = values.shape
    if channels == 1:
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
