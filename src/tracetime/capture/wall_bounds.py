"""The distance of UTC from REALTIME at a sample, as a time service of this machine bounds it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection
from typing import Any, Final

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.kernel_clock import WallBound
from tracetime.clocks.snapshot import Snapshot
from tracetime.errors import SourceError
from tracetime.sources.time_service.service import TimeService

_REALTIME: Final = ClockId(BUILTIN_IDS["REALTIME"])
_RAW: Final = ClockId(BUILTIN_IDS["MONOTONIC_RAW"])
_STEERED: Final = 8
"""By that part the rates of two clocks differ at most: chronyd steers by up to 1/12."""


class WallBounds:
    """The bounds of REALTIME in samples, one after the other.

    A sample is bounded after it is taken: what the service is asked then does not disturb it.

    Args:
        service: bounds true time; None for no bounds.
        clocks: that are sampled. Bounds need REALTIME and MONOTONIC_RAW among them.
    """

    def __init__(self, service: TimeService | None, clocks: Collection[ClockId]) -> None:
        self._service = service if {_REALTIME, _RAW} <= {*clocks} else None
        if self._service is not None:
            # From its first answer on it notices that REALTIME is set.
            with contextlib.suppress(SourceError):
                self._service.now()

    def of(self, snapshot: Snapshot) -> WallBound | None:
        """The bound of REALTIME in a snapshot that has just been taken; None without one."""
        if self._service is None or not {_REALTIME, _RAW} <= snapshot.readings.keys():
            return None
        real_ns, raw_ns = _reading(snapshot, _REALTIME), _reading(snapshot, _RAW)
        try:
            true = self._service.at(raw_ns, real_ns)
        except SourceError:
            return None
        apart_ns = abs(_of(snapshot.centre_ns, _REALTIME) - _of(snapshot.centre_ns, _RAW))
        halves_ns = _of(snapshot.half_width_ns, _REALTIME) + _of(snapshot.half_width_ns, _RAW)
        # Between the two readings each clock went on at a rate of its own.
        within_ns = apart_ns + halves_ns
        within_ns += within_ns // _STEERED + 1
        return WallBound(
            true.earliest_ns - real_ns - within_ns,
            true.latest_ns - real_ns + within_ns,
            true.source,
        )


def _reading(snapshot: Snapshot, clock: ClockId) -> int:
    value = snapshot.readings[clock].value
    assert isinstance(value, int)
    return value


def _of(columns: Any, clock: ClockId) -> int:
    """A half-width or centre; 0 for the reference."""
    return int(columns[clock][0]) if clock in columns else 0
