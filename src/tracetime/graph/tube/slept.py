"""What a tube does not know of the offset because a machine slept; see suspends.py."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.values import Values


class Open(NamedTuple):
    """Readings of clocks a and b, both ends included, at which nothing bounds one by the other."""

    a_first: int
    a_last: int
    b_first: int
    b_last: int


class Slept(NamedTuple):
    """Where machines slept, by readings of the clocks a and b of a tube.

    Attributes:
        cuts: of a, with which the evidence after a suspend begins, int64, ascending.
        opens: where nothing is known.
    """

    cuts: Values
    opens: tuple[Open, ...]

    def open(
        self, lows: Values, highs: Values, earliest: Values, latest: Values, *, inverse: bool
    ) -> None:
        """Open the bars of readings in [lows, highs], of a or inversely of b, that may be there."""
        for a_first, a_last, b_first, b_last in self.opens:
            first, last = (b_first, b_last) if inverse else (a_first, a_last)
            over = (lows <= last) & (highs >= first)
            earliest[over], latest[over] = OPEN_LOW, OPEN_HIGH


NEVER_SLEPT: Final = Slept(np.empty(0, dtype=np.int64), ())
