"""Columns of a table as readings of a clock: whole nanoseconds or ticks, and how exact they are.

Whole numbers are the readings themselves. What Arrow calls a timestamp or a duration counts from
its epoch in a unit of its own; a time zone says only how it is shown. A float of seconds is the
nearest float to what was read, and is taken only where the caller says its unit.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.arrays import values_of
from tracetime.clocks.instants import NS_OF_UNIT, FloatUnit
from tracetime.errors import UsageError
from tracetime.text import printable

CLOCK_KEY: Final = b"tracetime.clock"
"""What the metadata of an Arrow field calls the clock of its times."""


class TimeColumn(NamedTuple):
    """Readings of a clock, an element a row; ns in the types that have a unit.

    Attributes:
        values: int64; 0 where missing.
        missing: which are null; None where none is.
        is_ns: whether the column's type says that these are ns, whatever the clock counts.
        step_ns: how long each reading lasts: the clock showed it from then until that much later.
        half_width_ns: int64, how far off each may be because it was rounded; None where exact.
    """

    values: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_] | None
    is_ns: bool = False
    step_ns: int = 1
    half_width_ns: npt.NDArray[np.int64] | None = None

    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Which are null, bool, one a row."""
        return np.zeros(len(self.values), np.bool_) if self.missing is None else self.missing

    def rows(self, rows: npt.NDArray[np.intp]) -> TimeColumn:
        """Some of the rows."""
        missing = None if self.missing is None else self.missing[rows]
        half = None if self.half_width_ns is None else self.half_width_ns[rows]
        return TimeColumn(self.values[rows], missing, self.is_ns, self.step_ns, half)


def time_column(
    column: pa.Array, name: str, first_row: int = 0, float_unit: FloatUnit | None = None
) -> TimeColumn:
    """Read an Arrow array as readings of a clock.

    Args:
        column: of whole numbers, timestamps, durations or floats.
        name: of the column, for errors.
        first_row: of the column in its table, for errors.
        float_unit: the unit of floats; they are rounded to the nearest ns, and a NaN is null.

    Raises:
        UsageError: another type; floats without their unit; a value beyond int64 ns.
    """
    kind, place = column.type, _Place(name, first_row)
    if pa.types.is_dictionary(kind):
        return time_column(column.dictionary_decode(), name, first_row, float_unit)
    if pa.types.is_null(kind):
        return TimeColumn(np.zeros(len(column), np.int64), np.ones(len(column), np.bool_))
    if pa.types.is_integer(kind):
        return _whole(column, place)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _counted(column, place)
    if pa.types.is_floating(kind):
        return _rounded(column, place, float_unit)
    raise place.error(
        f"is {kind}, not times: give whole numbers, timestamps, or floats with their unit"
        f"{_next_step(kind)}"
    )


def _next_step(kind: pa.DataType) -> str:
    """What makes times of a column of another type."""
    if pa.types.is_date(kind):
        return "; cast a date to timestamp, if midnight is meant"
    if pa.types.is_time(kind):
        return "; add the date to a time of day, as a timestamp"
    if pa.types.is_decimal(kind):
        return "; multiply decimals by the ns of their unit (10^9 of s), and cast them to int64"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "; cast text to one of these"
    return ""


class _Place(NamedTuple):
    """A column, whose rows are counted from `first_row`."""

    name: str
    first_row: int

    def error(self, what: str) -> UsageError:
        return UsageError(f"column {printable(self.name)!r} {what}")

    def error_at(self, wrong: npt.NDArray[np.bool_], values: npt.NDArray[Any]) -> UsageError:
        row = int(np.flatnonzero(wrong)[0])
        return self.error(
            f"does not fit in int64 nanoseconds: {values[row]} in row {self.first_row + row}"
        )


def _known(column: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The values of a column, 0 where null, and which are null."""
    values, missing = values_of(column)
    return (values if missing is None else np.where(missing, values.dtype.type(0), values)), missing


def _whole(column: pa.Array, place: _Place) -> TimeColumn:
    values, missing = _known(column)
    if values.dtype == np.uint64 and (wrong := values > np.uint64(np.iinfo(np.int64).max)).any():
        raise place.error_at(wrong, values)
    return TimeColumn(values.astype(np.int64, copy=False), missing)


def _counted(column: pa.Array, place: _Place) -> TimeColumn:
    """Timestamps and durations: whole numbers of their unit."""
    step_ns = NS_OF_UNIT[column.type.unit]
    values, missing = _known(column.view(pa.int64()))
    most = np.iinfo(np.int64).max // step_ns
    wrong = (values > most) | (values < -most)
    if wrong.any():
        raise place.error_at(wrong, values)
    ns = values.astype(np.int64) * step_ns
    return TimeColumn(ns, missing, True, _step_ns(ns, missing, step_ns))


def _step_ns(ns: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_] | None, unit_ns: int) -> int:
    """The unit that times were written in: the longest that all are multiples of.

    What reads a text or a file may give ns whatever the digits were.
    """
    known = ns if missing is None else ns[~missing]
    return next(
        (
            step
            for step in (NS_OF_UNIT["s"], NS_OF_UNIT["ms"], NS_OF_UNIT["us"])
            if step > unit_ns and len(known) and not (known % step).any()
        ),
        unit_ns,
    )


def _rounded(column: pa.Array, place: _Place, unit: FloatUnit | None) -> TimeColumn:
    if unit is None:
        raise place.error(
            f"holds floats ({column.type}), which are rounded already: convert it to whole "
            "nanoseconds where it comes from, or say what 1.0 is (float_unit, --float-unit: s, "
            "ms, us or ns) and have it rounded to ns"
        )
    if unit not in get_args(FloatUnit):
        raise UsageError(f"float_unit is {unit!r}: give one of {', '.join(get_args(FloatUnit))}")
    unit_ns = NS_OF_UNIT[unit]
    raw, missing = _known(column)
    floats = raw.astype(np.float64)
    absent = np.isnan(floats)
    if missing is not None:
        absent |= missing
    floats = np.where(absent, 0.0, floats)
    wrong = ~(np.abs(floats) < 2.0**63 / unit_ns)
    if wrong.any():
        raise place.error_at(wrong, floats)
    # The fraction of a float is exact; of a product with the unit it would not be.
    whole = np.floor(floats)
    parts = np.rint((floats - whole) * unit_ns).astype(np.int64)
    values = whole.astype(np.int64) * unit_ns + parts
    given = np.where(absent, raw.dtype.type(0), raw)
    spacing_ns = np.spacing(np.abs(given)).astype(np.float64) * unit_ns
    # Whole ns become a float of ns before they are divided, in NumPy and in C: rounded twice.
    twice_ns = np.spacing(np.abs(values).astype(np.float64))
    half = np.ceil(spacing_ns / 2 + twice_ns + 0.5).astype(np.int64)
    return TimeColumn(values, absent if absent.any() else None, True, 1, half)
