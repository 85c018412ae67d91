"""Timestamps as callers give them, as int64 arrays, and back; exact differences of arrays."""

from __future__ import annotations

import operator
import sys
from datetime import date
from typing import TYPE_CHECKING, Any, Final, NamedTuple, SupportsIndex, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

from tracetime.clocks.int_arrays import check_int64
from tracetime.clocks.snapshot import INT64_MAX, INT64_MIN
from tracetime.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa

    from tracetime.graph.wall_values import WallTimes

Values: TypeAlias = npt.NDArray[np.int64]
"""Readings, offsets or places."""

Floats: TypeAlias = npt.NDArray[np.float64]

Mask: TypeAlias = npt.NDArray[np.bool_]
"""Which of some things."""

Marks: TypeAlias = npt.NDArray[np.uint8]
"""A status or bits of each of some things; none where 0."""

Result: TypeAlias = "int | npt.NDArray[np.int64] | pa.Int64Array | None"
"""What timestamps become: an int, an array, or one of Arrow's where errors are masked.

Of a Series of pandas one with its index.
"""

_WALL: Final = (str, date, np.datetime64)
"""What is a date and a time, or says one; pandas' Timestamp is a date, too."""

Number = TypeVar("Number", bound=np.number[Any])


def ascending(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """The values in order, each once.

    np.unique does the same, but hashes whole numbers first: a merge of a few sorted parts takes a
    tenth of the time. np.unique also loads numpy.ma, which nothing else needs.
    """
    merged = np.sort(values, kind="stable")
    once: npt.NDArray[Number] = merged[np.append(True, merged[1:] != merged[:-1])[: len(merged)]]
    return once


def difference(one: Values, other: Values) -> Floats:
    """The difference one - other, exact before it becomes a float, wherever int64 holds it."""
    # Subtracting in uint64 wraps, and the result is right where the true one fits.
    wrapped = (one.view(np.uint64) - other.view(np.uint64)).view(np.int64)
    return if_it_fits(wrapped, one.astype(np.float64) - other.astype(np.float64))


def gains(one: Values, other: Values) -> Floats:
    """The growth of one over the other, from each reading to the next; exact likewise."""
    steps, others = (np.diff(np.ascontiguousarray(v).view(np.uint64)) for v in (one, other))
    about = difference(one[1:], one[:-1]) - difference(other[1:], other[:-1])
    return if_it_fits((steps - others).view(np.int64), about)


def if_it_fits(wrapped: Values, about: Floats) -> Floats:
    """The differences in int64, if none has wrapped; else `about`, an approximation."""
    return np.where(np.abs(about) < 9e18, wrapped.astype(np.float64), about)


class Given(NamedTuple):
    """Timestamps to convert.

    Attributes:
        values: int64; 0 where missing.
        missing: a mask of the missing; None where none is.
        scalar: whether it was one timestamp.
        is_wall: whether they were dates and times; `values` are ns of a wall clock then.
        series: the Series of pandas that they were.
    """

    values: Values
    missing: npt.NDArray[np.bool_] | None
    scalar: bool
    is_wall: bool = False
    series: Any = None

    def shaped(
        self,
        values: npt.NDArray[np.signedinteger[Any]],
        bad: npt.NDArray[np.uint8] | None,
        mask: bool,
    ) -> Any:
        """The results in the shape in which the timestamps were given; null where `bad`."""
        missing = np.zeros(len(values), dtype=bool) if bad is None else bad.astype(bool)
        if self.missing is not None:
            missing |= self.missing
        if self.scalar:
            return None if missing.item() else values.item()
        if self.series is not None:
            return _as_series(values, missing if mask else None, self.series)
        if not mask:
            return values
        from tracetime.columns.arrays import arrow_of

        return arrow_of(values, missing)


def _as_series(values: npt.NDArray[Any], missing: npt.NDArray[np.bool_] | None, series: Any) -> Any:
    """A Series with the index of another one; of a type with nulls where errors are masked."""
    import pandas as pd

    column = values if missing is None else pd.arrays.IntegerArray(values, missing)
    return pd.Series(column, index=series.index, name=series.name)


def take(ts: Any) -> Given:
    """Read timestamps: whole numbers, or dates and times as ns of a wall clock.

    One of them, a list, a NumPy array (masked or not), an Arrow array, or a Series.

    Raises:
        UsageError: a float, a bool, a value out of int64, more than one dimension.
    """
    # SupportsIndex last: it looks for the method by its name, which takes us.
    if not isinstance(ts, (np.ndarray, bool, np.bool_)) and isinstance(ts, SupportsIndex):
        return Given(np.array([_check(operator.index(ts))], dtype=np.int64), None, True)
    if isinstance(ts, _WALL):
        return _of_wall(_wall_times([ts]), scalar=True)
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(ts, pandas.Series):
        return _take_column(ts)._replace(series=ts)
    return _take_column(ts)


def _take_column(ts: Any) -> Given:
    missing = None
    if not isinstance(ts, np.ndarray) and hasattr(ts, "dtype") and hasattr(ts, "__len__"):
        # Arrow takes datetimes for whole microseconds.
        ts = np.asarray(ts) if ts.dtype == object else _arrow_of(ts)
    if _is_arrow(ts):
        if str(ts.type).startswith(("timestamp", "date", "string", "large_string")):
            return _of_wall(_wall_times(ts))
        ts, missing = _values_and_missing(ts)
    elif _is_masked(ts):
        if ts.mask.any():
            missing = np.ma.getmaskarray(ts)
        ts = ts.filled(0)
    elif isinstance(ts, (list, tuple)):
        if any(isinstance(t, _WALL) for t in ts):
            return _of_wall(_wall_times(ts))
        if not all(isinstance(t, SupportsIndex) and not isinstance(t, bool) for t in ts):
            raise UsageError(
                "timestamps are whole numbers, or dates and times: no floats, no bools"
            )
        ts = np.array([_check(operator.index(t)) for t in ts], dtype=np.int64)
    elif not hasattr(ts, "__array__"):
        raise UsageError(
            f"timestamps are an int, a list, or a NumPy or Arrow array, not a {type(ts).__name__}"
        )
    array: npt.NDArray[Any] = np.asarray(ts)
    if array.ndim == 1 and array.dtype.kind == "M":
        return _of_wall(_wall_times(array), missing)
    if array.ndim == 1 and array.dtype.kind in "UO" and any(isinstance(t, _WALL) for t in array):
        return _of_wall(_wall_times(list(array)), missing)
    check_int64(array, "timestamps", "timestamp")
    return Given(np.ascontiguousarray(array, dtype=np.int64), missing, False)


def _wall_times(ts: Any) -> WallTimes:
    from tracetime.graph import wall_values

    if isinstance(ts, np.ndarray):
        return wall_values.of_array(ts)
    return wall_values.of_arrow(ts) if _is_arrow(ts) else wall_values.of_elements(ts)


def _of_wall(
    wall: WallTimes, masked: npt.NDArray[np.bool_] | None = None, *, scalar: bool = False
) -> Given:
    missing = wall.missing
    if masked is not None:
        missing = masked if missing is None else masked | missing
    return Given(wall.values, missing, scalar, is_wall=True)


def _values_and_missing(ts: Any) -> tuple[Any, npt.NDArray[np.bool_] | None]:
    """The values of an Arrow array of whole numbers, 0 where null, and a mask of nulls."""
    if not (str(ts.type).startswith(("int", "uint")) or str(ts.type) == "null"):
        raise UsageError(f"timestamps are whole numbers (int64), not {ts.type}")
    if str(ts.type) == "null":
        # The type of an array that is empty or holds nulls only.
        ts = ts.cast("int64")
    if hasattr(ts, "offset"):
        from tracetime.columns.arrays import values_of

        values, missing = values_of(ts)
        return values if missing is None else np.where(missing, 0, values), missing
    # An array in chunks.
    if ts.null_count:
        return ts.fill_null(0), np.asarray(ts.is_null())
    return ts, None


def _arrow_of(series: Any) -> Any:
    """A series of pandas or polars as an Arrow array: its nulls are nulls, not NaN."""
    import pyarrow as pa

    try:
        return series.to_arrow() if hasattr(series, "to_arrow") else pa.array(series)
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise UsageError(f"cannot read these timestamps: {error}") from error


def _is_masked(ts: Any) -> bool:
    # NumPy loads numpy.ma on first use: a caller with a masked array has loaded it.
    masked = sys.modules.get("numpy.ma")
    return masked is not None and isinstance(ts, masked.MaskedArray)


def _is_arrow(ts: Any) -> bool:
    return type(ts).__module__.partition(".")[0] == "pyarrow" and hasattr(ts, "null_count")


def _check(value: int) -> int:
    if not INT64_MIN <= value <= INT64_MAX:
        raise UsageError(f"timestamp {value} does not fit in int64")
    return value


def distances(one: Values, other: Values) -> npt.NDArray[np.uint64]:
    """Distances of values, in uint64: it holds the distance of any two int64."""
    apart: npt.NDArray[np.uint64] = np.maximum(one, other).view(np.uint64) - np.minimum(
        one, other
    ).view(np.uint64)
    return apart
