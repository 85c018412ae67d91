"""Dates and times as callers give them, as ns of a wall clock; those without a zone are UTC."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.clocks.wall_time import NS_OF_UNIT, NS_PER_DAY, looks_like_wall_time, parse_wall_time
from tracetime.errors import UsageError

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS: Final = {**NS_OF_UNIT, "m": NS_OF_UNIT["min"], "D": NS_PER_DAY}
_ARROW: Final = {"date32[day]": NS_PER_DAY, "date64[ms]": NS_OF_UNIT["ms"]}
"""The unit of Arrow's dates, ns."""


class WallTimes(NamedTuple):
    """Readings of a wall clock, ns, 0 where missing; and a mask of the missing, if any."""

    values: npt.NDArray[np.int64]
    missing: npt.NDArray[np.bool_] | None


def of_array(array: npt.NDArray[Any]) -> WallTimes:
    """The readings of an array of datetime64, exactly; NaT is missing.

    Raises:
        UsageError: of months or years, finer than ns, or beyond int64 ns.
    """
    unit, times = np.datetime_data(array.dtype)
    counts = np.ascontiguousarray(array).view(np.int64)
    missing = np.isnat(array)
    if unit not in _UNITS and not missing.all():
        raise UsageError(f"datetime64[{unit}] is no whole number of ns: give datetime64[ns]")
    return _scaled(counts, missing, _UNITS.get(unit, 1) * times)


def of_arrow(column: Any) -> WallTimes:
    """The readings of an Arrow array of timestamps, dates or texts; null is missing.

    Raises:
        UsageError: a text that is no date and time; beyond int64 ns.
    """
    kind = str(column.type)
    if "string" in kind:
        return of_elements(column.to_pylist())
    missing = np.asarray(column.is_null())
    counts = column.cast("int32" if kind.startswith("date32") else "int64").fill_null(0)
    unit_ns = _ARROW.get(kind) or NS_OF_UNIT[column.type.unit]
    return _scaled(np.asarray(counts).astype(np.int64), missing, unit_ns)


def of_elements(elements: Iterable[Any]) -> WallTimes:
    """The readings of texts, datetimes, dates, datetime64 and pandas' Timestamps, one by one.

    Raises:
        UsageError: another type; as `of_array`.
    """
    found = [_reading(one) for one in elements]
    missing = np.array([ns is None for ns in found], dtype=np.bool_)
    far = next((ns for ns in found if ns is not None and abs(ns) > INT64_MAX), None)
    if far is not None:
        raise _beyond()
    return WallTimes(
        np.array([ns or 0 for ns in found], dtype=np.int64), missing if missing.any() else None
    )


def _reading(one: Any) -> int | None:
    if one is None:
        return None
    if isinstance(one, str):
        if looks_like_wall_time(one):
            return parse_wall_time(str(one))
        raise UsageError(
            f"{one!r} is no date and time such as 2026-08-22T14:48:40.5: give other readings as "
            "whole numbers"
        )
    if hasattr(one, "to_datetime64"):
        # Of pandas, in UTC: a datetime, too, but that stops at microseconds.
        one = one.to_datetime64()
    if isinstance(one, np.datetime64):
        values, missing = of_array(np.array([one]))
        return None if missing is not None else values.item()
    if isinstance(one, datetime):
        aware = one if one.tzinfo is not None else one.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(microseconds=1) * NS_OF_UNIT["us"]
    if isinstance(one, date):
        return (one.toordinal() - _EPOCH.toordinal()) * NS_PER_DAY
    raise UsageError(f"{one!r} is no date and time, as others among the timestamps are")


def _scaled(
    counts: npt.NDArray[np.int64], missing: npt.NDArray[np.bool_], unit_ns: int
) -> WallTimes:
    known = np.where(missing, 0, counts)
    if len(known) and max(int(known.max()), -int(known.min())) > INT64_MAX // unit_ns:
        raise _beyond()
    return WallTimes(known * unit_ns, missing if missing.any() else None)


def _beyond() -> UsageError:
    return UsageError("a date and time does not fit in int64 ns: give one from 1678 to 2261")
