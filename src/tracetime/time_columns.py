"""Columns of a table as readings of a clock: whole nanoseconds or ticks, and how exact they are.

Whole numbers are the readings themselves. What Arrow calls a timestamp or a duration counts from
its epoch in a unit of its own; a time zone says only how it is shown. A float of seconds is the
nearest float to what was read, and is taken only where the caller says its unit.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime.arrays import values_of
from tracetime.clocks.instants import NS_OF_UNIT, FloatUnit
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
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
        step_ns: the unit in which the readings were written: the rest of each was cut off.
        half_width_ns: int64, how far off each may be because it was rounded; None where exact.
        beyond: which are beyond int64 ns; `values` has the end of int64 there. None where none is.
    """

    values: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_] | None
    is_ns: bool = False
    step_ns: int = 1
    half_width_ns: npt.NDArray[np.int64] | None = None
    beyond: npt.NDArray[np.bool_] | None = None

    def is_beyond(self) -> npt.NDArray[np.bool_]:
        """Which are beyond int64 ns, bool, one a row."""
        return np.zeros(len(self.values), np.bool_) if self.beyond is None else self.beyond

    @property
    def is_exact(self) -> bool:
        """Whether each was read as it says, to the last digit."""
        return self.step_ns == 1 and self.half_width_ns is None

    def margins_ns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """How much earlier, and how much later, each may have been read than it says.

        What cuts off the rest of a unit rounds down, or towards zero: of times before their epoch,
        or at it, nobody knows which.
        """
        half = self.half_width_ns
        if half is None:
            half = np.zeros_like(self.values)
        cut_off = self.step_ns - 1
        return half + np.where(self.values <= 0, cut_off, 0), half + cut_off

    def is_missing(self) -> npt.NDArray[np.bool_]:
        """Which are null, bool, one a row."""
        return np.zeros(len(self.values), np.bool_) if self.missing is None else self.missing

    def rows(self, rows: npt.NDArray[np.intp]) -> TimeColumn:
        """Some of the rows."""
        missing = None if self.missing is None else self.missing[rows]
        half = None if self.half_width_ns is None else self.half_width_ns[rows]
        beyond = None if self.beyond is None else self.beyond[rows]
        return TimeColumn(self.values[rows], missing, self.is_ns, self.step_ns, half, beyond)


class WrittenUnits:
    """In which unit each column of a table was written, by all of it that has been read.

    A few times may be whole ms by chance.
    """

    def __init__(self) -> None:
        self._steps_ns: dict[str, int] = {}

    def read(self, name: str, given: TimeColumn) -> TimeColumn:
        """Take some rows of a column; return them with the unit of all that were taken."""
        step_ns = min(given.step_ns, self._steps_ns.get(name, given.step_ns))
        self._steps_ns[name] = step_ns
        return given._replace(step_ns=step_ns)

    def is_settled(self, name: str, kind: pa.DataType) -> bool:
        """Whether no further row of a column of a type changes its unit."""
        if not (pa.types.is_timestamp(kind) or pa.types.is_duration(kind)):
            return True
        return self._steps_ns.get(name) == NS_OF_UNIT[kind.unit] or kind.unit == "s"


def learn_units(
    units: WrittenUnits,
    schema: pa.Schema,
    columns: Iterable[str],
    batches: Iterable[pa.RecordBatch],
) -> None:
    """Read columns of times as far as is necessary to know in which units they were written."""
    kinds = {name: schema.field(name).type for name in columns}
    for batch in batches:
        unsettled = [name for name, kind in kinds.items() if not units.is_settled(name, kind)]
        if not unsettled:
            return
        for name in unsettled:
            units.read(name, time_column(batch[name], name))


def time_column(column: pa.Array, name: str, float_unit: FloatUnit | None = None) -> TimeColumn:
    """Read an Arrow array as readings of a clock.

    Args:
        column: of whole numbers, timestamps, durations or floats.
        name: of the column, for errors.
        float_unit: the unit of floats; they are rounded to the nearest ns, and a NaN is null.

    Raises:
        UsageError: another type; floats without their unit.
    """
    kind = column.type
    if pa.types.is_dictionary(kind):
        return time_column(column.dictionary_decode(), name, float_unit)
    if pa.types.is_null(kind):
        return TimeColumn(np.zeros(len(column), np.int64), np.ones(len(column), np.bool_))
    if pa.types.is_integer(kind):
        return _whole(column)
    if pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        return _counted(column)
    if pa.types.is_floating(kind):
        return _rounded(column, name, float_unit)
    raise _error(
        name,
        f"is {kind}, not times: give whole numbers, timestamps, or floats with their unit"
        f"{_next_step(kind)}",
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


def _error(name: str, what: str) -> UsageError:
    return UsageError(f"column {printable(name)!r} {what}")


def refuse_beyond(given: TimeColumn, name: str, first_row: int = 0) -> TimeColumn:
    """Return a column whose times are all within int64 ns.

    Args:
        given: of the column called `name`.
        first_row: of these in their table, for errors.

    Raises:
        UsageError: one is not.
    """
    beyond = np.flatnonzero(given.is_beyond())
    if len(beyond):
        raise _error(name, f"does not fit in int64 nanoseconds in row {first_row + int(beyond[0])}")
    return given


def _known(column: pa.Array) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_] | None]:
    """The values of a column, 0 where null, and which are null."""
    values, missing = values_of(column)
    return (values if missing is None else np.where(missing, values.dtype.type(0), values)), missing


def _whole(column: pa.Array) -> TimeColumn:
    values, missing = _known(column)
    beyond = None
    if values.dtype == np.uint64 and (far := values > np.uint64(INT64_MAX)).any():
        beyond, values = far, np.where(far, np.uint64(INT64_MAX), values)
    return TimeColumn(values.astype(np.int64, copy=False), missing, beyond=beyond)


def _counted(column: pa.Array) -> TimeColumn:
    """Timestamps and durations: whole numbers of their unit."""
    step_ns = NS_OF_UNIT[column.type.unit]
    values, missing = _known(column.view(pa.int64()))
    most = INT64_MAX // step_ns
    far = (values > most) | (values < -most)
    ns = values.astype(np.int64, copy=False) * np.int64(step_ns)
    if not far.any():
        return TimeColumn(ns, missing, True, _step_ns(ns, missing, step_ns))
    ns = np.where(far, np.where(values > 0, INT64_MAX, INT64_MIN), ns)
    unknown = far if missing is None else far | missing
    return TimeColumn(ns, missing, True, _step_ns(ns, unknown, step_ns), beyond=far)


def _step_ns(ns: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_] | None, unit_ns: int) -> int:
    """The unit that times were written in: the longest that all are multiples of.

    What reads a text or a file may give ns whatever the digits were.
    """
    known = ns if missing is None else ns[~missing]
    return next(
        (
            step
            for step in (NS_OF_UNIT["s"], NS_OF_UNIT["ms"], NS_OF_UNIT["us"])
            if step > unit_ns and not (known % step).any()
        ),
        unit_ns,
    )


def _rounded(column: pa.Array, name: str, unit: FloatUnit | None) -> TimeColumn:
    if unit is None:
        raise _error(
            name,
            f"holds floats ({column.type}), which are rounded already: convert it to whole "
            "nanoseconds where it comes from, or say what 1.0 is (float_unit, --float-unit: s, "
            "ms, us or ns) and have it rounded to ns",
        )
    if unit not in get_args(FloatUnit):
        raise UsageError(f"float_unit is {unit!r}: give one of {', '.join(get_args(FloatUnit))}")
    unit_ns = NS_OF_UNIT[unit]
    raw, missing = _known(column)
    floats = raw.astype(np.float64)
    absent = np.isnan(floats)
    if missing is not None:
        absent |= missing
    far = ~absent & ~(np.abs(floats) < 2.0**63 / unit_ns)
    above = floats > 0
    floats = np.where(absent | far, 0.0, floats)
    # The fraction of a float is exact; of a product with the unit it would not be.
    whole = np.floor(floats)
    parts = np.rint((floats - whole) * unit_ns).astype(np.int64)
    values = whole.astype(np.int64) * unit_ns + parts
    given = np.where(absent | far, raw.dtype.type(0), raw)
    spacing_ns = np.spacing(np.abs(given)).astype(np.float64) * unit_ns
    # Whole ns become a float of ns before they are divided, in NumPy and in C: rounded twice.
    twice_ns = np.spacing(np.abs(values).astype(np.float64))
    half = np.ceil(spacing_ns / 2 + twice_ns + 0.5).astype(np.int64)
    values = np.where(far, np.where(above, INT64_MAX, INT64_MIN), values)
    beyond = far if far.any() else None
    return TimeColumn(values, absent if absent.any() else None, True, 1, half, beyond)
