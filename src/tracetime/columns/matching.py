"""Messages sent and received, matched by their keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.int_arrays import IntArray
from tracetime.columns.arrays import arrow_of, values_of
from tracetime.errors import UsageError

KeyColumn: TypeAlias = IntArray | Sequence[str] | npt.NDArray[np.str_] | pa.Array | pa.ChunkedArray
"""Whole numbers or text, one for each message: a list, or a 1-d array of any library."""

Keys: TypeAlias = KeyColumn | tuple[KeyColumn, ...]
"""What tells messages apart: a column, or a tuple of columns of one length."""

_TEXTS: Final = ("string", "large_string", "string_view")


class MatchedMessages(NamedTuple):
    """The numbers of messages received and of the same messages sent.

    On each side every message is matched, repeated or unmatched.

    Attributes:
        sent: of each match the index among the keys sent; 1-d int64, ascending.
        received: of each match the index among the keys received; 1-d int64, as long as `sent`.
        repeated_sent, repeated_received: how many messages of that side are left out because
            their key occurs twice or more on either side.
        unmatched_sent, unmatched_received: how many messages of that side have a key that the
            other side lacks, or none: one of its columns is null.
    """

    sent: npt.NDArray[np.int64]
    received: npt.NDArray[np.int64]
    repeated_sent: int
    repeated_received: int
    unmatched_sent: int
    unmatched_received: int


def match_messages(sent: Keys, received: Keys) -> MatchedMessages:
    """Match messages by keys that both ends know: a sequence number, an id, several columns.

    A key that occurs twice on a side is refused: which of its messages arrived is not known, and
    a wrong match is evidence of something that did not happen.

    Args:
        sent: the keys of the messages that were sent: a column, or a tuple of columns that make
            the key together. Whole numbers or text, as a list or a 1-d array of NumPy, Arrow,
            pandas or polars.
        received: the keys of the messages that were received, in as many columns.

    Returns:
        The indices of the matches on both sides, and how many messages have none. For
        `ClockGraph.add_order`: `before=(sent_ts[m.sent], clock)`,
        `after=(received_ts[m.received], clock)`.

    Raises:
        UsageError: keys that are neither whole numbers nor text, columns of different lengths,
            another number of columns or another type of column on the other side.
    """
    sides = [keys if isinstance(keys, tuple) else (keys,) for keys in (sent, received)]
    n, m, codes, known = number_keys(*sides)
    every = int(codes.max(initial=-1)) + 1
    is_sent = np.arange(n + m) < n
    index = np.concatenate([np.arange(n), np.arange(m)])
    places, counts = [], []
    for side in (is_sent & known, ~is_sent & known):
        counts.append(np.bincount(codes[side], minlength=every))
        place = np.zeros(every, dtype=np.int64)
        place[codes[side]] = index[side]
        places.append(place)
    matched = np.flatnonzero((counts[0] == 1) & (counts[1] == 1))
    matched = matched[np.argsort(places[0][matched])]
    repeated = (counts[0] > 1) | (counts[1] > 1)
    twice, also = (int(count[repeated].sum()) for count in counts)
    return MatchedMessages(
        places[0][matched],
        places[1][matched],
        twice,
        also,
        n - len(matched) - twice,
        m - len(matched) - also,
    )


def _column(column: Any) -> pa.Array:
    """A column as an Arrow array of int64, uint64, large text, or of nulls alone."""
    if isinstance(column, str):
        raise UsageError("keys are a column, one for each message, not a single text")
    if isinstance(column, np.ndarray):
        # Arrow does not take the order of bytes that networks use.
        column = column.astype(column.dtype.newbyteorder("="), copy=False)
    if not isinstance(column, (pa.Array, pa.ChunkedArray)):
        try:
            column = pa.array(column)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            raise UsageError(f"cannot read these keys: {error}") from error
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_integer(kind):
        return column if kind == pa.uint64() else column.cast(pa.int64())
    if pa.types.is_null(kind):
        return column
    if str(kind) in _TEXTS:
        return column.cast(pa.large_string())
    raise UsageError(f"keys are whole numbers or text, not {kind}")


def _length(columns: Sequence[pa.Array]) -> int:
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise UsageError(f"the columns of a key have one length, not {sorted(lengths)}")
    return lengths.pop()


def number_keys(
    sent: Sequence[KeyColumn], received: Sequence[KeyColumn]
) -> tuple[int, int, npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """A number for each key, the same for equal keys, of both sides after each other.

    Returns:
        how many are sent and received, the numbers, which are below the number of messages, and
        which keys are known: none of their columns is null.

    Raises:
        UsageError: as `match_messages`.
    """
    columns, others = ([_column(column) for column in side] for side in (sent, received))
    if len(columns) != len(others) or not columns:
        raise UsageError(
            f"keys have {len(columns)} columns where sent and {len(others)} where received: "
            "give the same columns of both sides"
        )
    n, m = _length(columns), _length(others)
    codes, known = _codes(_concatenate(columns[0], others[0]))
    for one, other in zip(columns[1:], others[1:], strict=True):
        more, also = _codes(_concatenate(one, other))
        # Below the square of the number of messages: it fits.
        joined = codes * (int(more.max(initial=0)) + 1) + more
        codes, _ = _codes(arrow_of(joined))
        known &= also
    return n, m, codes, known


def _concatenate(one: pa.Array, other: pa.Array) -> pa.Array:
    """The keys of both sides in one column."""
    nulls = pa.types.is_null(one.type) or pa.types.is_null(other.type)
    if not nulls and pa.types.is_integer(one.type) != pa.types.is_integer(other.type):
        raise UsageError("keys of one column are numbers on one side and text on the other")
    # The last serves whole numbers beyond int64.
    for kind in (one.type, other.type, pa.uint64()):
        try:
            return pa.concat_arrays([one.cast(kind), other.cast(kind)])
        except pa.ArrowException:
            continue
    raise UsageError("keys of one column are negative on one side and beyond int64 on the other")


def _codes(column: pa.Array) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The number of each value among the distinct ones, 0 for null, and a mask of the others."""
    values, missing = values_of(column.dictionary_encode().indices)
    if missing is None:
        return values.astype(np.int64), np.ones(len(values), dtype=bool)
    return np.where(missing, 0, values).astype(np.int64), ~missing
