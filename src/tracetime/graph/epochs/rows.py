"""All evidence on clocks as rows, each a bound of the time between two readings.

A node is the first instant at which a clock read something. Between two nodes of a clock that
neither jumped nor stood still between them lies a wait, which the clock's drift bounds; a row
bounds the time from a node of one clock to a node of another. All in whole ns, rounded away from
the truth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.epochs import drifts
from tracetime.graph.values import Mask, Values

OPEN: Final = 1 << 62
"""Stands for a bound that says nothing: as a least time negative, as a greatest one positive."""

WIDEST: Final = 1 << 60
"""A bound beyond it (36 years) says nothing."""

_ONE: Final = 1 << 52
"""A slope of 1 ns per ns, as the kernels count."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What is known of how a clock runs.

    Attributes:
        drift: how far its rate may be from 1, ns per ns, below 1.
        tick_ns: how long a reading may last, by the clock itself.
        jumps: whether it may be set, reset, or stand still.
        back: whether a jump may take it back.
        machine: the machine whose suspends it stands still in; None where it goes on.
    """

    drift: float
    tick_ns: int = 1
    jumps: bool = True
    back: bool = True
    machine: int | None = None

    @property
    def later(self) -> int:
        """How much more time than a reading's rise may pass, in 2^-52 of the rise, rounded up."""
        drift = Fraction(self.drift)
        return math.ceil(drift / (1 - drift) * _ONE)

    @property
    def earlier(self) -> int:
        """How much less time than a reading's rise may pass, in 2^-52 of the rise, rounded up."""
        drift = Fraction(self.drift)
        return math.ceil(drift / (1 + drift) * _ONE)

    @property
    def faster(self) -> int:
        """How much more than the time it may go on by, in 2^-52 of the time, rounded up."""
        return math.ceil(Fraction(self.drift) * _ONE)

    def drift_of(self, other: Clock) -> int:
        """How fast another clock gets ahead of this one at most, or falls behind, rounded up.

        In 2^-52 of what this one goes on by.
        """
        drift = Fraction(self.drift)
        return math.ceil((drift + Fraction(other.drift)) / (1 - drift) * _ONE)

    def lasts_ns(self, ticks_ns: int) -> int:
        """How much time passes at most while the clock goes on by some ns, rounded up."""
        return ticks_ns - (-ticks_ns * self.later // _ONE)


class Rows(NamedTuple):
    """Bounds of the time from a reading of one clock to a reading of another: int64, of one length.

    Attributes:
        one, other: the clocks, by number.
        one_ns, other_ns: what they read.
        least_ns, most_ns: from the node of `one` to that of `other`; -OPEN and OPEN where a side
            says nothing.
    """

    one: Values
    other: Values
    one_ns: Values
    other_ns: Values
    least_ns: Values
    most_ns: Values

    @classmethod
    def offsets(
        cls,
        clocks: Sequence[Clock],
        pair: tuple[int, int],
        one_ns: Values,
        bounds: tuple[Values, Values],
        known: tuple[Mask, Mask],
    ) -> Rows:
        """Rows of bounds of how far the other clock was ahead when one read something.

        Args:
            clocks: all of them.
            pair: the numbers of the two; ticks are in the bounds already.
            one_ns: when, by the first clock of the pair.
            bounds: the least and the most that the other was ahead, ns.
            known: which of each side say something; one of them does.
        """
        low, high = bounds
        middle = np.where(
            known[0] & known[1], low + (high - low) // 2, np.where(known[0], low, high)
        )
        # The other clock reads the middle before or after, by what it may still have to go.
        other, n = clocks[pair[1]], len(one_ns)
        sooner, later = (
            away + drifts(away, np.full(n, other.later, dtype=np.int64))
            for away in (np.where(known[1], high - middle, 0), np.where(known[0], middle - low, 0))
        )
        return cls(
            np.full(n, pair[0], dtype=np.int64),
            np.full(n, pair[1], dtype=np.int64),
            one_ns,
            one_ns + middle,
            np.where(known[1], -sooner, -OPEN),
            np.where(known[0], later, OPEN),
        )

    @classmethod
    def all(cls, *parts: Rows) -> Rows:
        """Rows after each other."""
        if not parts:
            return cls(*(np.empty(0, dtype=np.int64) for _ in cls._fields))
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def pairs(self, n_clocks: int) -> Values:
        """A number for the two clocks of each row, whichever is the first: lower * n + higher."""
        return np.minimum(self.one, self.other) * n_clocks + np.maximum(self.one, self.other)

    def only(self, chosen: Mask | Values) -> Rows:
        """Some of them: those marked, or by place."""
        return Rows(*(column[chosen] for column in self))
