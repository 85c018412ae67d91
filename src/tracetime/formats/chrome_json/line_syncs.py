"""What lines of systrace say of other clocks: atrace writes them at the end of its trace.

    tracing_mark_write: trace_event_clock_sync: parent_ts=50260.126953      MONOTONIC, s
    tracing_mark_write: trace_event_clock_sync: realtime_ts=1416429213123   REALTIME, ms

atrace reads the clock, and then writes the line. It keeps MONOTONIC in a float of 32 bits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import INT64_MAX

BETWEEN_NS: Final = 1_000_000
"""How long atrace is assumed to take from its reading to the line, at most."""

_SYNC: Final = re.compile(rb"trace_event_clock_sync: (parent|realtime)_ts=(\d{1,13}(?:\.\d{1,9})?)")
_MONOTONIC: Final = ClockId(BUILTIN_IDS["MONOTONIC"])
_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_MS: Final = 1_000_000


class LineSync(NamedTuple):
    """One reading of another clock.

    Attributes:
        ns: of the line.
        clock: that was read.
        reading_ns: what it read.
        half_width_ns: how far off that can be.
    """

    ns: int
    clock: ClockId
    reading_ns: int
    half_width_ns: int


def line_syncs(lines: Sequence[tuple[int, bytes]]) -> list[LineSync]:
    """The readings of (ns, text of the line), in file order.

    Passed over are others, lines before the last one, and readings beyond int64.
    """
    found: list[LineSync] = []
    for ns, text in lines:
        match = _SYNC.fullmatch(text)
        if match is None:
            continue
        value = match[2].decode()
        if match[1] == b"realtime":
            # Whole ms, cut.
            reading, half = int(Decimal(value)) * _MS + _MS // 2, _MS // 2
            clock = _REALTIME
        else:
            reading, half = int(Decimal(value) * 10**9), _float_half_ns(value)
            clock = _MONOTONIC
        if reading > INT64_MAX or (found and ns < found[-1].ns):
            continue
        found.append(LineSync(ns, clock, reading, half + BETWEEN_NS))
    return found


def _float_half_ns(seconds: str) -> int:
    """Half the step of the float of 32 bits that a number was, if it was one; else of its text."""
    nearest = np.float32(seconds)
    digits = len(seconds.partition(".")[2])
    if f"{nearest:.{digits}f}" == seconds:
        return int(float(np.spacing(nearest)) * 5e8) + 1
    return int(10 ** (9 - digits) // 2) + 1
