"""Whether REALTIME was set, as the timer of the wall clock tells."""

from __future__ import annotations

import os

from tracetime._kernels.hosts import was_set
from tracetime.capture.steps import timer_of_the_wall_clock
from tracetime.errors import SourceError


class RealtimeSteps:
    """Tells when REALTIME was set; raises SourceError where the system does not say so."""

    def __init__(self) -> None:
        self._timer = timer_of_the_wall_clock()
        if self._timer < 0:
            raise SourceError("this system does not tell when REALTIME is set")

    def seen(self) -> bool:
        """Whether it was set since the last call."""
        return was_set(self._timer)

    def close(self) -> None:
        """Close the timer."""
        os.close(self._timer)
