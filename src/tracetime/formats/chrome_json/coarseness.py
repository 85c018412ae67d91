"""How much the decimal text of times leaves open: the digits that it was written with.

A file in which all times are whole microseconds had them cut off: each may have been up to 999 ns
later. With three decimals somewhere they are exact to the ns. The same holds of durations, and of
the lines of systrace. What counts is the whole file: programs drop zeros at the end.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.known_names import KnownNames

_ONE_DECIMAL: Final = 100
"""The step of times with one decimal, ns."""

_LONG_US: Final = 1 << 50
"""From here on, a double has one decimal at most (1.1e15 us: REALTIME)."""

_SHORTEST_NS: Final = 50
"""What the shortest text of a double with one decimal may be off that double, ns."""


class Coarseness(NamedTuple):
    """By how much the clock may have read less or more than the file says, ns.

    Attributes:
        early: less than the time of an event.
        late: more than the time of an event.
        early_to_zero: less than a time below 0: what is cut off there is often above.
        duration_late: how much longer a complete event may have lasted.
        line_late: more than the time of a line.
    """

    early: int
    late: int
    early_to_zero: int
    duration_late: int
    line_late: int

    @classmethod
    def of(cls, names: KnownNames) -> Coarseness:
        """That of a file that has been read."""
        steps = (names.time_step_ns, names.duration_step_ns, names.line_step_ns)
        late, duration_late, line_late = (max(step - 1, 0) for step in steps)
        longest_us = max(-names.first_ns, names.last_ns) // 1000
        if names.time_step_ns == _ONE_DECIMAL and longest_us >= _LONG_US:
            # A program that read the file as doubles has written it anew.
            off = math.ceil(math.ulp(longest_us) * 500) + _SHORTEST_NS
            return cls(off, off, off, duration_late, line_late)
        return cls(0, late, late if names.first_ns < 0 else 0, duration_late, line_late)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left open."""
        return not any(self)

    @property
    def step_ns(self) -> int:
        """How far apart two readings can be that the file writes alike, and one more."""
        return 1 + max(self.early + self.late, self.line_late)

    def open_sides(
        self, times: npt.NDArray[np.int64], is_line: npt.NDArray[np.bool_]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """By how much the clock may have read less, and more, than some times; ns."""
        early = np.where(times > 0, self.early, self.early_to_zero)
        return np.where(is_line, 0, early), np.where(is_line, self.line_late, self.late)
