"""Which rates between two clocks their orders allow, the limits on drift set aside."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import cores
from tracetime.graph.tube.limits import ONE
from tracetime.graph.tube.segments import only
from tracetime.graph.values import Values

if TYPE_CHECKING:
    from tracetime.clocks.json_types import NotNegative
    from tracetime.graph.tube.pair import Pair
    from tracetime.graph.tube.tube import Tube

_ANY: Final = ONE
"""A clock that runs backwards, or twice as fast, is beyond every limit."""


class FeasibleRates(NamedTuple):
    """The rates of one clock against another that no evidence contradicts, ppm.

    low_ppm, high_ppm: of the mean rate; None for a side that nothing bounds. wander_ppm: how far
    the rate strays from its mean; 0 where one rate fits all evidence.

    Attributes:
        low_ppm: the least; null where nothing bounds it.
        high_ppm: the greatest; null where nothing bounds it.
        wander_ppm: how far the rate strays from it; 0: one rate fits all.
    """

    low_ppm: float | None
    high_ppm: float | None
    wander_ppm: NotNegative

    def inverse(self) -> FeasibleRates:
        """The rates of the other clock against this one."""
        low, high = (
            None if ppm is None else -ppm / (1 + ppm * 1e-6)
            for ppm in (self.high_ppm, self.low_ppm)
        )
        return FeasibleRates(low, high, self.wander_ppm)

    def in_words(self, limit_ppm: float) -> str:
        """The range, and whether limits of so many ppm to either side bound it more narrowly."""
        low, high, wander = self
        binds = low is None or low < -limit_ppm, high is None or high > limit_ppm
        sides = {(True, True): "", (True, False): " below", (False, True): " above"}
        return (
            _range(low, high)
            + (f", give or take {wander:g} ppm" if wander and (low, high) != (None, None) else "")
            + (f"; the drift limits bind{sides[binds]}" if any(binds) else "")
        )


def _range(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        if high is not None:
            return f"at most {high:+,.0f} ppm"
        return "anything" if low is None else f"at least {low:+,.0f} ppm"
    places = max(0, math.ceil(1 - math.log10(max(high - low, 1e-6))))
    return f"{low:+,.{places}f} to {high:+,.{places}f} ppm"


def feasible_rates(pair: Pair, a_ns: int) -> FeasibleRates | None:
    """The rates of b against a that the evidence of the run around a reading of a allows.

    None without orders, and where no rate fits all of that evidence.
    """
    if pair.orders is None:
        return None
    tube = pair.tube
    runs = tube.runs
    firsts, lasts = runs.evidence.a[runs.first], runs.evidence.a[runs.last]
    run = max(int(np.searchsorted(firsts, a_ns, side="right")) - 1, 0)
    given = _given(tube, int(firsts[run]), int(lasts[run]))
    # With the limits needless orders were left out, and the limits are set aside here.
    for wander in (0, int(runs.wander[runs.segment[run]])):
        found = _slopes(tube, given, wander)
        if found is not None:
            low, high = (None if abs(slope) >= _ANY else slope / ONE * 1e6 for slope in found)
            return FeasibleRates(low, high, wander / ONE * 1e6)
    return None


def _given(tube: Tube, first: int, last: int) -> Values:
    """The evidence from one reading of clock a to another, without what is wrong."""
    a = tube.evidence.a
    given = np.arange(*np.searchsorted(a, (first, last + 1)), dtype=np.int64)
    return given[~np.isin(given, tube.left_out)]


def _slopes(tube: Tube, given: Values, wander: int) -> tuple[int, int] | None:
    """The least and the greatest slope, in 2^-52, within `_ANY`; None where none fits all."""
    if not len(given):
        return None
    here = only(tube.evidence, given)
    ends = np.zeros(1, dtype=np.int64), np.array([len(given) - 1], dtype=np.int64)
    wanders = np.array([wander], dtype=np.int64)
    _, _, last, low, high = cores(here.a, here.low, here.high, *ends, wanders, _ANY, here.known)
    return (int(low[0]), int(high[0])) if len(last) == 1 else None
