"""REALTIME readings as ISO 8601 wall-clock time, and back, to the nanosecond.

Integers only: datetime stops at microseconds, and a float holds no absolute time. Days are counted
in the proleptic Gregorian calendar, without leap seconds, as in POSIX time.
"""

from __future__ import annotations

import re
from datetime import date
from typing import Final, Literal, NamedTuple

from tracetime.errors import UsageError

NS_PER_S: Final = 1_000_000_000
NS_PER_DAY: Final = 86_400 * NS_PER_S
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()

_ISO = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    r"(?:([Zz])|([+-])(\d\d):?(\d\d)?)?",
    re.ASCII,
)
_TIME_OF_DAY = re.compile(r"(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?[Zz]?", re.ASCII)
_FORM: Final = "2026-08-22T14:48:40.123456789Z, or with an offset such as +02:00 in place of Z"


def looks_like_wall_time(text: str) -> bool:
    """Whether `text` is meant as a date and a time, right or wrong: it holds a colon."""
    return ":" in text


def parse_wall_time(text: str) -> int:
    """Return the REALTIME reading, in ns since 1970-01-01T00:00:00Z, that `text` names.

    A time without a zone is UTC.

    Raises:
        UsageError: no ISO 8601 date and time, no such day or time, or more than nine decimals.
    """
    match = _ISO.fullmatch(text.strip())
    if match is None:
        raise UsageError(f"cannot read {text!r} as a wall-clock time: write it as {_FORM}")
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    fraction, _, sign, offset_hours, offset_minutes = match.groups()[6:]
    try:
        days = date(year, month, day).toordinal() - _EPOCH_DAY
    except ValueError as error:
        raise UsageError(f"there is no day {text[:10]}: {error}") from None
    offset = int(offset_hours or 0) * 60 + int(offset_minutes or 0)
    if int(offset_minutes or 0) > 59 or offset > 1439:
        raise _no_such_time(text)
    if sign == "-":
        offset = -offset
    since_midnight = _since_midnight(text, (hour, minute, second), fraction)
    return days * NS_PER_DAY - offset * 60 * NS_PER_S + since_midnight


def parse_time_of_day(text: str) -> int:
    """Return the ns since midnight, UTC, that a time of day such as ``14:48:40.5`` names.

    Raises:
        UsageError: no such time, or more than nine decimals.
    """
    match = _TIME_OF_DAY.fullmatch(text)
    if match is None:
        raise UsageError(
            f"cannot read {text!r} as a time of day: write it as 14:48 or 14:48:40.123456789; "
            "it is UTC"
        )
    hour, minute, second = (int(part or 0) for part in match.groups()[:3])
    return _since_midnight(text, (hour, minute, second), match[4])


def _since_midnight(text: str, time: tuple[int, int, int], fraction: str | None) -> int:
    hour, minute, second = time
    if hour > 23 or minute > 59 or second > 59:
        raise _no_such_time(text)
    fraction = (fraction or "").rstrip("0")
    if len(fraction) > 9:
        raise UsageError(f"{text!r} has more than nine decimals: REALTIME counts nanoseconds")
    seconds = hour * 3600 + minute * 60 + second
    return seconds * NS_PER_S + int(fraction.ljust(9, "0"))


def _no_such_time(text: str) -> UsageError:
    return UsageError(
        f"there is no time {text!r}: hours go to 23, minutes and seconds to 59 (POSIX time, "
        "and so REALTIME, has no leap seconds)"
    )


def format_wall_time(ns: int) -> str:
    """Return `ns` since 1970-01-01T00:00:00Z as ``2026-08-22T14:48:40.123456789Z``.

    Takes every int64 (the years 1677 to 2262). Always nine decimals, as many as are known.
    """
    days, rest = divmod(ns, NS_PER_DAY)
    seconds, fraction = divmod(rest, NS_PER_S)
    day = date.fromordinal(_EPOCH_DAY + days).isoformat()
    hour, minute, second = seconds // 3600, seconds // 60 % 60, seconds % 60
    return f"{day}T{hour:02}:{minute:02}:{second:02}.{fraction:09}Z"


# Instants as people write them: 12.5s, 14:48:40.5, a date and time in ISO 8601, or a number.
#
# Decimals become whole nanoseconds by integers alone: no float holds a time.

_S: Final = 10**9
NS_OF_UNIT: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": _S, "min": 60 * _S, "h": 3600 * _S}
"""Units of time, as options and instants are written in them."""

FloatUnit = Literal["s", "ms", "us", "ns"]
"""What 1.0 is in a column of floats that are times."""

_MOST_CHARACTERS: Final = 40
"""Of a number; an int64 in ns has 19 digits."""

_NUMBER: Final = re.compile(r"[+-]?\d+(_\d+)*", re.ASCII)
_ELAPSED: Final = re.compile(r"(\d+)(?:\.(\d+))? ?([a-z]+)", re.IGNORECASE | re.ASCII)
_IS_TIME_OF_DAY: Final = re.compile(r"\d\d?:", re.ASCII)
"""How a time of day begins; a date begins with a year."""

Kind = Literal["reading", "elapsed", "time_of_day", "wall_time"]


class Instant(NamedTuple):
    """An instant in the form in which it was written.

    Attributes:
        kind: what `ns` counts. reading: what a clock read, in its own unit; elapsed: ns from the
            start of the trace; time_of_day: ns from midnight, UTC; wall_time: ns of REALTIME.
        ns: the number.
    """

    kind: Kind
    ns: int


def parse_instant(text: str) -> Instant:
    """Return the instant that `text` says.

    Raises:
        UsageError: it says none, or one that is no whole number of nanoseconds.
    """
    text = text.strip()
    if _IS_TIME_OF_DAY.match(text):
        return Instant("time_of_day", parse_time_of_day(text))
    if looks_like_wall_time(text):
        return Instant("wall_time", parse_wall_time(text))
    if len(text) <= _MOST_CHARACTERS:
        if _NUMBER.fullmatch(text):
            return Instant("reading", int(text))
        match = _ELAPSED.fullmatch(text)
        if match is not None and match[3].lower() in NS_OF_UNIT:
            return Instant("elapsed", _elapsed(text, match))
    raise UsageError(
        f"cannot read {text!r} as a time: give a whole number, a time after the start of the trace "
        "such as 12.5s, a time of day such as 14:48:40.5, or a date and time such as "
        "2026-08-22T14:48:40.123456789Z"
    )


def _elapsed(text: str, match: re.Match[str]) -> int:
    decimals = (match[2] or "").rstrip("0")
    scale: int = 10 ** len(decimals)
    ns, rest = divmod(int(match[1] + decimals) * NS_OF_UNIT[match[3].lower()], scale)
    if rest:
        raise UsageError(f"{text!r} is no whole number of nanoseconds")
    return ns
