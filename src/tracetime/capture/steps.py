"""Whether a clock of this machine has been set, or the machine has slept, since one last looked.

Cheap enough to ask ten times a second; what the step was, the snapshot taken then tells.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

STEP_NS: Final = 1_000_000
"""What counts as a step: slewing moves a clock by 500 ns a ms at most, and is no step."""

_SLEW: Final = 0.000_6
_TRIES: Final = 3
_NAMES: Final = ("CLOCK_REALTIME", "CLOCK_BOOTTIME", "CLOCK_TAI")


class StepWatch:
    """Compares clocks that may step with MONOTONIC, each time with the time before.

    Args:
        read_ns: reads a clock by its number in `time`; that of the system by default.
    """

    def __init__(self, read_ns: Callable[[int], int] = time.clock_gettime_ns) -> None:
        self._read_ns = read_ns
        self._clocks = [getattr(time, name) for name in _NAMES if hasattr(time, name)]
        self._monotonic = time.CLOCK_MONOTONIC
        self._last_ns = [0] * len(self._clocks)
        self._at_ns = 0
        self._width_ns = 0
        self.stepped()

    def stepped(self) -> bool:
        """Whether any has stepped since the last call; False the first time."""
        before_ns, readings, after_ns = self._bracket()
        middle_ns = (before_ns + after_ns) // 2
        offsets = [reading - middle_ns for reading in readings]
        passed_ns = middle_ns - self._at_ns
        width_ns = after_ns - before_ns
        allowed = STEP_NS + width_ns + self._width_ns + int(max(0, passed_ns) * _SLEW)
        stepped = any(
            abs(now - last) > allowed for now, last in zip(offsets, self._last_ns, strict=True)
        )
        first = self._at_ns == 0
        self._last_ns, self._at_ns, self._width_ns = offsets, middle_ns, width_ns
        return stepped and not first

    def _bracket(self) -> tuple[int, list[int], int]:
        """The narrowest of a few readings between two of MONOTONIC."""
        best: tuple[int, list[int], int] | None = None
        for _ in range(_TRIES):
            before_ns = self._read_ns(self._monotonic)
            readings = [self._read_ns(clock) for clock in self._clocks]
            after_ns = self._read_ns(self._monotonic)
            if best is None or after_ns - before_ns < best[2] - best[0]:
                best = before_ns, readings, after_ns
            if best[2] - best[0] < STEP_NS // 10:
                break
        assert best is not None
        return best
