"""What samples are, as Arrow columns: the stream, the marker's text, the values of channels."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tracetime.events_table import TYPES
from tracetime.formats.xdf.stream_header import StreamHeader

_COUNTER: Final = TYPES.index("counter")
_INSTANT: Final = TYPES.index("instant")

MOST_CHANNELS: Final = 32
"""Samples of more have no args: a table of numbers says them better."""

_NAMED = ("category", "track_name", "process_name")


def names_of(header: StreamHeader, values: Any) -> dict[str, pa.Array]:
    """The columns of names of some samples of one stream; see `name_columns`.

    Args:
        values: of the samples, as `Samples` has them.
    """
    n = len(values)
    texts = dict(zip(_NAMED, (header.type, header.name, header.hostname), strict=True))
    names = {name: _repeated(text, n) for name, text in texts.items()}
    names["track"] = pa.array(np.full(n, header.number, np.uint64))
    names["type"] = pa.array(np.full(n, _INSTANT if header.is_text else _COUNTER, np.int8))
    if header.is_text:
        markers = pa.array([row[0] for row in values], pa.string())
        names["name"] = markers.dictionary_encode()
        names["value"] = pa.nulls(n, pa.float64())
        names["args"] = _text_args(values, n)
    else:
        names["name"] = _repeated(header.name, n)
        with np.errstate(invalid="ignore"):  # a signalling NaN
            names["value"] = pa.array(values[:, 0].astype(np.float64))
        names["args"] = _number_args(values)
    return names


def joined(parts: Sequence[dict[str, pa.Array]]) -> dict[str, pa.Array]:
    """The columns of names of samples of several streams, one after another."""
    return {name: _joined([part[name] for part in parts]) for name in parts[0]}


def _joined(arrays: list[pa.Array]) -> pa.Array:
    column = pa.chunked_array(arrays)
    return column.unify_dictionaries().combine_chunks()


def _repeated(text: str, n: int) -> pa.Array:
    """A text n times; nulls where it is empty."""
    codes = pa.array(np.zeros(n, np.int32), mask=np.full(n, not text))
    return pa.DictionaryArray.from_arrays(codes, pa.array([text], pa.string()))


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
