"""Instants as people write them: 12.5s, 14:48:40.5, a date and time in ISO 8601, or a number.

Decimals become whole nanoseconds by integers alone: no float holds a time.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from tracetime.clocks.wall_time import looks_like_wall_time, parse_time_of_day, parse_wall_time
from tracetime.errors import UsageError

_S: Final = 10**9
NS_OF_UNIT: Final = {"ns": 1, "us": 10**3, "ms": 10**6, "s": _S, "min": 60 * _S, "h": 3600 * _S}
"""Units of time, as options and instants are written in them."""

FloatUnit = Literal["s", "ms", "us", "ns"]
"""What 1.0 is in a column of floats that are times."""

_MOST_CHARACTERS: Final = 40
"""Of a number; an int64 in ns has 19 digits."""

_NUMBER: Final = re.compile(r"[+-]?\d+(_\d+)*", re.ASCII)
_ELAPSED: Final = re.compile(r"(\d+)(?:\.(\d+))? ?([a-z]+)", re.IGNORECASE | re.ASCII)
_TIME_OF_DAY: Final = re.compile(r"\d\d?:", re.ASCII)
"""How a time of day begins; a date begins with a year."""

Kind = Literal["reading", "elapsed", "time_of_day", "wall_time"]


class Instant(NamedTuple):
    """An instant, as it was written.

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
    if _TIME_OF_DAY.match(text):
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
