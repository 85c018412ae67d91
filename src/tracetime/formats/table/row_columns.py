"""Columns of a batch as NumPy arrays: numbers, times, clocks and texts, with the row of a fault."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.clocks.ids import (
    FIRST_GLOBAL_CLOCK,
    FIRST_SEQUENCE_CLOCK,
    UINT32_MAX,
    ClockId,
    clock_id,
)
from tracetime.columns.arrays import values_of
from tracetime.columns.time_columns import TimeColumn, WrittenUnits, time_column
from tracetime.errors import TraceError, UsageError
from tracetime.text import printable
from tracetime.trace.events_table import CUT_OFF

EARLIER: Final = "earlier_ns"
"""A column of events beside `CUT_OFF`: how much earlier each may have been read."""

Numbers = npt.NDArray[np.uint32]

TO_CONVERT: Final = (
    "; or convert the table with `tracetime convert --map`, which takes more types (--float-unit)"
)


class Rows:
    """A batch of a table, whose first row is that one of the table.

    Args:
        units: in which the columns of the table were written.
    """

    def __init__(
        self, batch: pa.RecordBatch, first_row: int, units: WrittenUnits | None = None
    ) -> None:
        self.batch = batch
        self._units = WrittenUnits() if units is None else units
        self.first_row = first_row
        self._there = frozenset(batch.schema.names)

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __contains__(self, name: str) -> bool:
        return name in self._there

    def times(self, name: str) -> TimeColumn:
        """Readings of a clock.

        Raises:
            TraceError: of another type, floats among them.
        """
        try:
            return self._units.read(name, time_column(self.batch[name], name))
        except UsageError as error:
            raise TraceError(f"{error}{TO_CONVERT}") from error

    def whole(self, name: str, most: int) -> npt.NDArray[np.int64]:
        """Whole numbers from 0 to `most`; 0 where the column, or its value, is missing.

        Raises:
            TraceError: others.
        """
        if name not in self:
            return np.zeros(len(self), np.int64)
        column = self.batch[name]
        if pa.types.is_null(column.type):
            return np.zeros(len(self), np.int64)
        if not pa.types.is_integer(column.type):
            raise TraceError(f"column {name!r} is {column.type}: it is to hold whole numbers")
        values, missing = values_of(column)
        if missing is not None:
            values = np.where(missing, values.dtype.type(0), values)
        wrong = (values < 0) | (values > most)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise TraceError(
                f"column {name!r} has {values[row]} in row {self.first_row + row}: it takes 0 to "
                f"{most}"
            )
        return values.astype(np.int64, copy=False)

    def text(self, name: str) -> pa.DictionaryArray | None:
        """A column of texts, encoded; None where the table has none."""
        if name not in self:
            return None
        column = self.batch[name]
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
            return None
        if not pa.types.is_dictionary(column.type):
            return column.dictionary_encode()
        if not column.dictionary.null_count:
            return column
        # A null in the dictionary is a null of the column.
        return column.dictionary_decode().dictionary_encode()

    def number(self, name: str, kind: pa.DataType) -> pa.Array | None:
        """Numbers of a type; None where the column has none, or they do not fit."""
        column = self.batch[name]
        if not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
            return None
        try:
            return column.cast(kind)
        except pa.ArrowInvalid:
            return None

    def codes(self, name: str, known: dict[str, int], none: int) -> npt.NDArray[np.int64]:
        """Texts by their codes; `none` where there is none, or another text."""
        column = self.text(name)
        if column is None:
            return np.full(len(self), none, np.int64)
        codes = np.array([*(known.get(one, none) for one in column.dictionary.to_pylist()), none])
        return codes[self._indices(column)]

    def clocks(
        self, name: str, known: bool = False, parsed: dict[str, ClockId] | None = None
    ) -> tuple[Numbers, Numbers, Numbers]:
        """The number, sequence and machine_id of the clock of each row; number 0 for none.

        A name that no clock has is that of a clock which nothing ties.

        Args:
            known: refuse such names.
            parsed: the clocks of texts, to which those of others are added.

        Raises:
            TraceError: no clock has such a number.
        """
        column = self.text(name)
        if column is None:
            clock = self.whole(name, UINT32_MAX)
            scoped = (clock >= FIRST_SEQUENCE_CLOCK) & (clock < FIRST_GLOBAL_CLOCK)
            sequence = np.where(scoped, self.whole("sequence", UINT32_MAX), 0)
        else:
            texts, parsed = column.dictionary.to_pylist(), {} if parsed is None else parsed
            parsed |= {text: _clock(name, text, known) for text in texts if text not in parsed}
            ids = [parsed[text] for text in texts]
            which = self._indices(column)
            clock = np.array([*(one.clock for one in ids), 0])[which]
            sequence = np.array([*(one.sequence for one in ids), 0])[which]
        machine = self.whole("machine", UINT32_MAX)
        return clock.astype(np.uint32), sequence.astype(np.uint32), machine.astype(np.uint32)

    def _indices(self, column: pa.DictionaryArray) -> npt.NDArray[np.int64]:
        """The index in the dictionary of each row's value; -1 for none."""
        indices, missing = values_of(column.indices)
        known = indices.astype(np.int64)
        return known if missing is None else np.where(missing, np.int64(-1), known)


def _clock(column: str, text: str, known: bool) -> ClockId:
    if not text:
        # CSV does not tell it from null.
        return ClockId(0)
    try:
        clock = ClockId.parse(text)
    except UsageError as error:
        if not known:
            return unknown_clock(text)
        raise TraceError(f"column {column!r} has {printable(text, 60)!r}: {error}") from error
    if clock.machine or clock.file:
        raise TraceError(
            f"column {column!r} has {printable(text, 60)!r}: give machines in a column `machine`"
        )
    return clock


def unknown_clock(text: str) -> ClockId:
    """The clock that a text stands for which is no name of one."""
    return ClockId(clock_id(text))


def margins_of(given: TimeColumn) -> dict[str, npt.NDArray[np.int64]]:
    """The columns `EARLIER` and `CUT_OFF` of times."""
    return dict(zip((EARLIER, CUT_OFF), given.margins_ns(), strict=True))
