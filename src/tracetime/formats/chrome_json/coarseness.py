"""How much the decimal text of times leaves open: the digits that it was written with.

A file in which all times are whole microseconds had them cut off or rounded. With three decimals
somewhere those that have them are exact to the ns; what clearly stands on longer steps does not.
The same holds of durations; the lines of systrace are cut off. What counts is the whole file:
programs drop zeros at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.columns.time_steps import TimeSteps

if TYPE_CHECKING:
    from tracetime._kernels.chrome_json.reader import KnownNames

Values = npt.NDArray[np.int64]

_ONE_DECIMAL: Final = 100
"""The step of times with one decimal, ns."""


class Coarseness(NamedTuple):
    """By how much the clock may have read less or more than the file says.

    Attributes:
        times, durations: the steps of events, and of how long complete events last.
        unit_ns: what all times of events are multiples of: 1000, 100, 10 or 1.
        slack_ns: what the last time may be off where it went through doubles.
        line_late: more than the time of a line.
    """

    times: TimeSteps
    durations: TimeSteps
    unit_ns: int
    slack_ns: int
    line_late: int

    @classmethod
    def of(cls, names: KnownNames) -> Coarseness:
        """That of a file that has been read."""
        unit_ns, duration_ns, line_ns = (
            max(step, 1)
            for step in (names.time_step_ns, names.duration_step_ns, names.line_step_ns)
        )
        times = TimeSteps.of(names.times, unit_ns=unit_ns, of_unit=True)
        durations = TimeSteps.of(names.durations, unit_ns=duration_ns, of_unit=True, doubles=False)
        farthest = np.array([max(abs(names.first_ns), abs(names.last_ns))])
        return cls(times, durations, unit_ns, int(times.slack_at(farthest)[0]), line_ns - 1)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left open."""
        return self.times.is_exact and self.durations.is_exact and not self.line_late

    @property
    def step_ns(self) -> int:
        """How far apart two readings can be that the file writes alike, and one more."""
        # A program that read the file as doubles has written it anew.
        doubled = 2 * self.slack_ns if self.unit_ns == _ONE_DECIMAL else 0
        return max(self.unit_ns + doubled, 1 + self.line_late)

    def open_sides(self, times: Values, is_line: npt.NDArray[np.bool_]) -> tuple[Values, Values]:
        """By how much the clock may have read less, and more, than some times; ns."""
        early, late = self.times.margins(times)
        return np.where(is_line, 0, early), np.where(is_line, self.line_late, late)

    def duration_sides(self, times: Values, durations: Values) -> tuple[Values, Values]:
        """By how much less, and more, complete events may have lasted than they say, ns.

        times, durations: when they begin, and how long they last, ns.
        """
        shorter, longer = self.durations.margins(durations)
        slack = np.where(longer > 0, self.times.slack_at(times), 0)
        return np.minimum(shorter + slack, np.maximum(durations, 0)), longer + slack
