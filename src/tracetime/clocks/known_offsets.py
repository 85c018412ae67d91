"""Offsets between clocks that are the same everywhere: time scales, zones, epochs, counters."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

_S: Final = 1_000_000_000
UNIX_NS: Final = range(1_000_000_000 * _S, 4_000_000_000 * _S)
"""Readings of Unix time from 2001 to 2096: no machine runs for so long."""
_ZONE_NS: Final = 900 * _S
_MOST_ZONES: Final = 56
"""Time zones are up to 14 hours from UTC, in quarters of an hour."""
_NARROW: Final = 20
"""An offset that is not known to one part in so many matches nothing."""


def _since_1970(year: int, month: int = 1, day: int = 1) -> int:
    return abs(int(datetime(year, month, day, tzinfo=UTC).timestamp())) * _S


_SCALES: Final = (
    (37 * _S, "as TAI and UTC are"),
    (18 * _S, "as GPS and UTC are"),
    (19 * _S, "as TAI and GPS are"),
    (1 * _S, "as by a leap second"),
    (1 << 32, "2^32 ns: an upper half is off by one"),
    (1 << 31, "2^31 ns: a sign is taken for a bit"),
    ((1 << 32) * 1_000, "2^32 us: a counter wrapped"),
    ((1 << 32) * 1_000_000, "2^32 ms: a counter wrapped"),
    (_since_1970(1601), "as 1601 (Windows) and 1970 are"),
    (_since_1970(1904), "as 1904 (Mac OS) and 1970 are"),
    (_since_1970(1980, 1, 6), "as 1980 (GPS) and 1970 are"),
    (_since_1970(1980), "as 1980 (DOS) and 1970 are"),
    (_since_1970(2000), "as 2000 and 1970 are"),
    (_since_1970(2001), "as 2001 (Apple) and 1970 are"),
)


def known_offset(least_ns: int, most_ns: int) -> str:
    """Return what is known to be that far apart, for a sentence; empty where nothing is.

    Args:
        least_ns, most_ns: the least and the most that the offset can be, whatever its sign.
    """
    least_ns, most_ns = sorted((abs(least_ns), abs(most_ns)))
    if (most_ns - least_ns) * _NARROW > most_ns:
        return ""
    found = [text for ns, text in _every(most_ns) if least_ns <= ns <= most_ns]
    return found[0] if len(found) == 1 else ""


def _every(most_ns: int) -> Iterator[tuple[int, str]]:
    yield from _SCALES
    zones = most_ns // _ZONE_NS
    if 0 < zones <= _MOST_ZONES:
        hours, quarters = divmod(zones, 4)
        minutes = f":{15 * quarters:02}" if quarters else ""
        yield zones * _ZONE_NS, f"as local time and UTC are (a zone of {hours}{minutes} h)"
