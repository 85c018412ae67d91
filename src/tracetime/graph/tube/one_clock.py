"""Which of two readings of one clock came first: as they read, but where it was set back."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.errors import RESOLVED
from tracetime.graph.tube.pair import Pair, hop, to_ns
from tracetime.graph.tube.pairs import Pairs
from tracetime.graph.tube.results import Bars, Reached
from tracetime.graph.tube.stretches import AmbiguousValues
from tracetime.graph.values import Mask, Values

Signs = npt.NDArray[np.int8]


class Side(NamedTuple):
    """What is compared: readings known within intervals, int64 arrays of one length."""

    earliest: Values
    latest: Values

    def widened(self, twice: AmbiguousValues) -> tuple[Side, Mask]:
        """The same, with all of each interval of `twice` that they touch; and which touch any."""
        lows, highs = twice
        first = np.minimum(np.searchsorted(highs, self.earliest), len(highs) - 1)
        last = np.maximum(np.searchsorted(lows, self.latest, side="right") - 1, 0)
        touched = (lows[first] <= self.latest) & (highs[first] >= self.earliest)
        wide = Side(
            np.where(touched, np.minimum(lows[first], self.earliest), self.earliest),
            np.where(touched, np.maximum(highs[last], self.latest), self.latest),
        )
        return wide, touched

    def over(self, pair: Pair, clock: ClockId, bars: Bars) -> Side:
        """The same on the other clock of a pair, with bars."""
        known = np.full(len(self.earliest), RESOLVED, dtype=np.uint8)
        return Side(*hop(pair, clock, Reached(self.earliest, *self, known), bars)[1:3])


def signs_of(one: Side, other: Side) -> Signs:
    """-1 where one is before the other, 1 where it is after it, 0 where they overlap."""
    return (one.earliest > other.latest).astype(np.int8) - (one.latest < other.earliest)


def in_order(
    pairs: Pairs, clock: ClockId, signs: Signs, sides: tuple[Side, Side], bars: Bars
) -> Signs:
    """Which of two readings came first, where the clock may have been set back in between.

    Below all values that it may have read twice, it read a value before those above them. Of two
    among these values the bars on a clock that was not set back decide, which hold all instants
    that each can be.

    Args:
        signs: which is less, as `signs_of`.
        sides: the readings, in ns or ticks.
    """
    found = pairs.read_twice(clock)
    if not found:
        pair = pairs.to_one_set_back(clock)
        if pair is None:
            return signs
        on, (one, other) = _other(pair, clock), (side.over(pair, clock, bars) for side in sides)
        return in_order(pairs, on, signs, (one, other), bars)
    before, after, doubtful = (np.zeros(len(signs), dtype=bool) for _ in range(3))
    for pair in found:
        rate = pair.rate_of(clock)
        given = [Side(*(to_ns(ends, rate)[0] for ends in side)) for side in sides]
        twice = pair.tube.read_twice(inverse=clock == pair.b)
        (one, touch), (other, too) = (side.widened(twice) for side in given)
        unsure = (touch | too) & (signs != 0) & (signs_of(one, other) == 0)
        doubtful |= unsure
        rows = np.flatnonzero(unsure)
        if len(rows) and _orders(pairs, pair, _other(pair, clock)):
            chosen = (Side(side.earliest[rows], side.latest[rows]) for side in sides)
            there = signs_of(*(side.over(pair, clock, bars) for side in chosen))
            before[rows] |= there < 0
            after[rows] |= there > 0
    return np.where(doubtful, after.astype(np.int8) - before, signs)


def steadied(
    pairs: Pairs, clock: ClockId, sides: tuple[Side, Side], bars: Bars
) -> tuple[ClockId, tuple[Side, Side]] | None:
    """The sides on a clock that shows how far apart they are; None where none does.

    That is `clock`, but where it may have been set back in between.
    """
    found = pairs.read_twice(clock)
    pair = next((p for p in found if _orders(pairs, p, _other(p, clock))), None)
    if found and pair is None:
        return None
    pair = pair or pairs.to_one_set_back(clock)
    if pair is None:
        return clock, sides
    one, other = (side.over(pair, clock, bars) for side in sides)
    there = _other(pair, clock), (one, other)
    return there if found else steadied(pairs, *there, bars)


def _other(pair: Pair, clock: ClockId) -> ClockId:
    return pair.a if clock == pair.b else pair.b


def _orders(pairs: Pairs, pair: Pair, reference: ClockId) -> bool:
    """Whether what was earlier is less on the other clock of a pair.

    The wraps of a counter may be counted along the very clock that was set back.
    """
    either = pair.tube.is_either_way or pair.tube.may_have_fallen
    return not either and pairs.counter(reference) is None and not pairs.was_set_back(reference)
