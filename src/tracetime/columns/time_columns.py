"""Columns of a table as readings of a clock: whole nanoseconds or ticks, and their resolutions.

Whole numbers are the readings themselves. What Arrow calls a timestamp or a duration counts from
its epoch in a unit of its own; a time zone says only how it is shown. A float of seconds is the
nearest float to what was read, and is taken only where the caller says its unit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Final, NamedTuple, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tracetime._kernels.common.columns import StepCounts, shortest_decimals
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.clocks.wall_time import NS_OF_UNIT, FloatUnit
from tracetime.columns.arrays import values_of
from tracetime.columns.resolutions import FloatResolutions, TimeResolutions
from tracetime.errors import UsageError
from tracetime.text import printable

_RUNS: Final = 4
_RUN: Final = 8192
"""Rows of a batch that are counted: so many runs of so many."""

_LONGEST: Final = 60
"""Characters of a text in an error."""


class TimeColumn(NamedTuple):
    """Readings of a clock, an element a row; ns in the types that have a unit.

    Attributes:
        values: int64; 0 where missing.
        missing: which are null; None where none is.
        is_ns: whether the column's type says that these are ns, whatever the clock counts.
        step_ns: the unit in which the readings were written: the rest of each was cut off.
        half_width_ns: int64, how far off each may be because it was rounded; None where exact.
        beyond: which are beyond int64 ns; `values` has the end of int64 there. None where none is.
        written_ns: int64, the decimal text that floats were read from; None of other types.
        unit_ns: what the column's type can tell apart: of floats at the greatest of them.
        resolutions: those of the times of the column; None where that is not known.
    """

    values: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_] | None
    is_ns: bool = False
    resolution_ns: int = 1
    half_width_ns: npt.NDArray[np.int64] | None = None
    beyond: npt.NDArray[np.bool_] | None = None
    written_ns: npt.NDArray[np.int64] | None = None
    unit_ns: int = 1
    resolutions: ColumnResolutions | None = None

    def is_beyond(self) -> npt.NDArray[np.bool_]:
        """A mask of the readings beyond int64 ns, one a row."""
        return np.zeros(len(self.values), np.bool_) if self.beyond is None else self.beyond

    @property
    def is_exact(self) -> bool:
        """Whether each reading is exact, to the last digit."""
        resolutions = self.resolutions
        exact = self.resolution_ns == 1 and self.half_width_ns is None
        return exact and (resolutions is None or resolutions.of_times.is_exact)

    def margins_ns(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The margins below and above each reading within which the clock may have read, ns.

        What cuts off the rest of a unit rounds down, or towards zero: of times before their epoch,
        or at it, nobody knows which.
        """
        half = self.half_width_ns
        if half is None:
            half = np.zeros_like(self.values)
        cut_off = self.resolution_ns - 1
        before, after = np.where(self.values <= 0, cut_off, 0), np.full_like(half, cut_off)
        if self.resolutions is not None and not self.resolutions.of_times.is_exact:
            written = self.values if self.written_ns is None else self.written_ns
            less, more = self.resolutions.of_times.margins(written)
            before, after = np.maximum(before, less), np.maximum(after, more)
        if self.resolutions is not None and self.half_width_ns is not None:
            less, more = self.resolutions.of_floats.margins(self.values, half)
            before, after = np.maximum(before, less), np.maximum(after, more)
        return half + before, half + after

    def is_missing(self) -> npt.NDArray[np.bool_]:
        """A mask of the nulls, one a row."""
        return np.zeros(len(self.values), np.bool_) if self.missing is None else self.missing

    def rows(self, rows: npt.NDArray[np.intp]) -> TimeColumn:
        """The column of some rows."""
        missing = None if self.missing is None else self.missing[rows]
        half = None if self.half_width_ns is None else self.half_width_ns[rows]
        beyond = None if self.beyond is None else self.beyond[rows]
        written = None if self.written_ns is None else self.written_ns[rows]
        return self._replace(
            values=self.values[rows],
            missing=missing,
            half_width_ns=half,
            beyond=beyond,
            written_ns=written,
        )


class ColumnResolutions:
    """The resolution of the times of a column, by counts of their rows."""

    def __init__(self, is_float: bool) -> None:
        self.is_settled = False
        self.of_floats = FloatResolutions()
        self._is_float = is_float
        self._counts = StepCounts()
        self._unit_ns = 1
        self._rows = 0
        self._judged = 0
        self._of_times: TimeResolutions | None = None

    def count(self, given: TimeColumn) -> None:
        """Count some rows, of many those in four runs: sources may take turns."""
        self._unit_ns = max(self._unit_ns, given.unit_ns)
        written = given.values if given.written_ns is None else given.written_ns
        absent = given.is_missing() | given.is_beyond()
        length = len(written)
        for part in range(_RUNS if length > _RUNS * _RUN else 1):
            rows = slice(None) if length <= _RUNS * _RUN else _run(part, length)
            self._counts.add(written[rows], absent[rows].view(np.uint8))
            if given.half_width_ns is not None:
                values, half = given.values[rows], given.half_width_ns[rows]
                # A time that repeats shows no more.
                counts = ~absent[rows] & np.append(True, values[1:] != values[:-1])[: len(values)]
                self.of_floats.count(values[counts], half[counts])
        self._rows += length

    @property
    def of_times(self) -> TimeResolutions:
        """The resolution by all rows that were counted, or by half of them."""
        if self._of_times is None or self._rows > 2 * self._judged:
            self._judged = self._rows
            # The half-widths of floats hold what doubles cost.
            self._of_times = TimeResolutions.of(
                self._counts, unit_ns=self._unit_ns, doubles=not self._is_float
            )
        return self._of_times

    def settle(self) -> None:
        """Take the rows counted so far for the whole column."""
        self.is_settled = True
        self._judged = self._rows
        self._of_times = None


def _run(part: int, length: int) -> slice:
    first = part * (length // _RUNS)
    return slice(first, first + _RUN)


class WrittenUnits:
    """The unit of each column of a table, by all rows that have been read.

    A few times may be whole ms by chance.
    """

    def __init__(self) -> None:
        self._resolutions_ns: dict[str, int] = {}
        self._resolutions: dict[str, ColumnResolutions] = {}

    def read(self, name: str, given: TimeColumn) -> TimeColumn:
        """Take some rows of a column; return them with the unit of all that were taken."""
        resolution_ns = min(
            given.resolution_ns, self._resolutions_ns.get(name, given.resolution_ns)
        )
        self._resolutions_ns[name] = resolution_ns
        resolutions = self._resolutions.get(name)
        if resolutions is None:
            resolutions = ColumnResolutions(given.half_width_ns is not None)
            self._resolutions[name] = resolutions
        if not resolutions.is_settled:
            resolutions.count(given)
        return given._replace(resolution_ns=resolution_ns, resolutions=resolutions)

    def settled(self) -> WrittenUnits:
        """The units of the rows so far, which learn of no others; for a batch that stands alone."""
        units = WrittenUnits()
        units._resolutions_ns = dict(self._resolutions_ns)
        units._resolutions = dict(self._resolutions)
        return units

    @property
    def longest_ns(self) -> int:
        """The longest resolution of the times that were read; 0 without any."""
        every = self._resolutions.values()
        return max(
            (max(one.of_times.longest_ns, one.of_floats.longest_ns) for one in every), default=0
        )

    def settle(self) -> None:
        """Take the rows read so far for the whole table."""
        for one in self._resolutions.values():
            one.settle()


def learn_units(
    units: WrittenUnits,
    columns: Iterable[str],
    batches: Iterable[pa.RecordBatch],
    float_unit: FloatUnit | None = None,
) -> None:
    """Read columns of times to know in which units they were written.

    Raises:
        UsageError: as `time_column`.
    """
    names = list(columns)
    for batch in batches:
        for name in names:
            units.read(name, time_column(batch[name], name, float_unit))
    units.settle()


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
        return _from_counts(column)
    if pa.types.is_floating(kind):
        return _from_floats(column, name, float_unit)
    raise _error(
        name,
        f"is {kind}, not times: give whole numbers, timestamps, or floats with their unit"
        f"{_next_step(kind)}{_odd_text(column)}",
    )


def _next_step(kind: pa.DataType) -> str:
    """The advice on times in a column of another type."""
    if pa.types.is_date(kind):
        return "; cast a date to timestamp, if midnight is meant"
    if pa.types.is_time(kind):
        return "; add the date to a time of day, as a timestamp"
    if pa.types.is_decimal(kind):
        return "; multiply decimals by the ns of their unit (10^9 of s), and cast them to int64"
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return "; cast text to one of these"
    return ""


_SHAPES: Final = (
    r"^[-+]?\d+$",
    r"^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d([.,]\d+)?)?)?$",
    r"^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)? ?([Zz]|[-+]\d\d(:?\d\d)?)$",
)
"""Whole numbers, times without a zone, and times with one: as which a column of CSV is read."""


def _odd_text(column: pa.Array) -> str:
    """The row whose text keeps a column from being times, and how to write it in a CSV."""
    kind = column.type
    if not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return ""
    shapes = np.full(len(column), len(_SHAPES))
    for shape, pattern in enumerate(_SHAPES):
        shapes[pc.match_substring_regex(column, pattern).fill_null(False).to_numpy(False)] = shape
    rows = np.flatnonzero(column.is_valid().to_numpy(False))
    if not len(rows):
        return ""
    of_none = rows[shapes[rows] == len(_SHAPES)]
    others = rows[shapes[rows] != shapes[rows[0]]]
    row = int(next(iter([*of_none[:1], *others[:1], rows[0]])))
    return (
        f". Row {row} has {printable(column[row].as_py(), _LONGEST)!r}: in a CSV, write whole "
        "numbers without separators, or dates and times (2026-09-21T10:00:00.5Z) that all have a "
        "time zone, or all none"
    )


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
    """The values of a column, 0 where null, and a mask of nulls."""
    values, missing = values_of(column)
    return (values if missing is None else np.where(missing, values.dtype.type(0), values)), missing


def _whole(column: pa.Array) -> TimeColumn:
    values, missing = _known(column)
    beyond = None
    if values.dtype == np.uint64 and (far := values > np.uint64(INT64_MAX)).any():
        beyond, values = far, np.where(far, np.uint64(INT64_MAX), values)
    return TimeColumn(values.astype(np.int64, copy=False), missing, beyond=beyond)


def _from_counts(column: pa.Array) -> TimeColumn:
    """The readings of timestamps and durations: whole numbers of their unit."""
    unit_ns = NS_OF_UNIT[column.type.unit]
    values, missing = _known(column.view(pa.int64()))
    most = INT64_MAX // unit_ns
    far = (values > most) | (values < -most)
    ns = values.astype(np.int64, copy=False) * np.int64(unit_ns)
    if not far.any():
        return TimeColumn(ns, missing, True, _resolution_ns(ns, missing, unit_ns), unit_ns=unit_ns)
    ns = np.where(far, np.where(values > 0, INT64_MAX, INT64_MIN), ns)
    unknown = far if missing is None else far | missing
    resolution_ns = _resolution_ns(ns, unknown, unit_ns)
    return TimeColumn(ns, missing, True, resolution_ns, beyond=far, unit_ns=unit_ns)


def _resolution_ns(
    ns: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_] | None, unit_ns: int
) -> int:
    """The resolution of times: the longest unit that all are multiples of.

    What reads a text or a file may give ns whatever the digits were.
    """
    known = ns if missing is None else ns[~missing]
    return next(
        (
            resolution
            for resolution in (NS_OF_UNIT["s"], NS_OF_UNIT["ms"], NS_OF_UNIT["us"])
            if resolution > unit_ns and not (known % resolution).any()
        ),
        unit_ns,
    )


def _from_floats(column: pa.Array, name: str, unit: FloatUnit | None) -> TimeColumn:
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
    missing = absent if absent.any() else None
    is_single = raw.dtype == np.float32
    # Floats of 16 bits have no digits to tell apart.
    kept = np.where(absent | far, 0.0, raw.astype(np.float64))
    power = round(math.log10(unit_ns))
    written = (
        values if raw.dtype.itemsize < 4 else shortest_decimals(kept, values, power, is_single)
    )
    least = max(1, math.ceil(spacing_ns[~(absent | far)].max(initial=0)))
    return TimeColumn(values, missing, True, 1, half, beyond, written, least)
