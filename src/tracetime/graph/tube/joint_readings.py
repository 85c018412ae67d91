"""What two clocks read at one instant each: readings of snapshots, and bounds from messages."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.graph.ticks import nominal_ns
from tracetime.graph.tube.evidence import FARTHEST
from tracetime.graph.tube.limits import MOST_DRIFT
from tracetime.graph.tube.measurements import Read
from tracetime.graph.tube.messages import Boxes
from tracetime.graph.tube.tick_periods import Tick
from tracetime.graph.values import Mask, Values, difference

# Two years in ns: with it, sums of offsets, centres and half-widths stay below FARTHEST.
_MARGIN: Final = 1 << 56


class JointReadings(NamedTuple):
    """What two clocks read at one instant each: arrays of one length.

    Attributes:
        snapshots: their numbers, int64.
        a_ns, b_ns: readings, int64.
        a_read, b_read: their centres and half-widths.
        boxed: which are the middles of bounds, whose half-widths do not include the clocks' ticks.
    """

    snapshots: Values
    a_ns: Values
    b_ns: Values
    a_read: Read
    b_read: Read
    boxed: Mask

    def only(self, chosen: Mask) -> JointReadings:
        """Some of them."""
        snapshots, a_ns, b_ns, *reads, boxed = self
        one, other = (Read(read.centre[chosen], read.half[chosen]) for read in reads)
        return JointReadings(
            snapshots[chosen], a_ns[chosen], b_ns[chosen], one, other, boxed[chosen]
        )

    def rows(self) -> list[tuple[int, int, int]]:
        """(snapshot, a, b) of each."""
        columns = (self.snapshots.tolist(), self.a_ns.tolist(), self.b_ns.tolist())
        return list(zip(*columns, strict=True))

    def with_boxes(self, boxes: Boxes) -> JointReadings:
        """These and bounds, in file order."""
        n = len(boxes.snapshots)
        zeros, boxed = np.zeros(n, dtype=np.int64), np.ones(n, dtype=bool)
        order = np.argsort(np.append(self.snapshots, boxes.snapshots), kind="stable")

        def both(own: npt.NDArray[Any], others: npt.NDArray[Any]) -> npt.NDArray[Any]:
            joined: npt.NDArray[Any] = np.append(own, others)[order]
            return joined

        return JointReadings(
            both(self.snapshots, boxes.snapshots),
            both(self.a_ns, boxes.one),
            both(self.b_ns, boxes.other),
            Read(both(self.a_read.centre, zeros), both(self.a_read.half, boxes.one_half)),
            Read(both(self.b_read.centre, zeros), both(self.b_read.half, boxes.other_half)),
            both(self.boxed, boxed),
        )

    def at_rates(self, a_rate: Fraction, b_rate: Fraction) -> JointReadings:
        """The same in ns, where readings count ticks of so many ns."""
        scaled = self
        if a_rate != 1:
            scaled = scaled._replace(
                a_ns=nominal_ns(self.a_ns, a_rate), a_read=self._scaled(self.a_read, a_rate)
            )
        if b_rate != 1:
            scaled = scaled._replace(
                b_ns=nominal_ns(self.b_ns, b_rate), b_read=self._scaled(self.b_read, b_rate)
            )
        return scaled

    def _scaled(self, read: Read, rate: Fraction) -> Read:
        """Half-widths in ns: those of bounds are in the ticks that the clock counts."""
        scaled = nominal_ns(read.half, rate) + 1
        return read._replace(half=np.where(self.boxed, scaled, read.half))

    def near(self) -> Mask:
        """Which are within what a tube can hold; one broken snapshot must not cost all."""
        near = np.abs(difference(self.b_ns, self.a_ns)) < FARTHEST - 2 * _MARGIN
        for read in (self.a_read, self.b_read):
            near &= (np.abs(read.centre) < _MARGIN) & (read.half < _MARGIN)
        return near

    @property
    def are_apart(self) -> bool:
        """Whether the clocks were read at different instants of the snapshots' reference."""
        return bool((self.a_read.centre != self.b_read.centre).any())

    def offsets(self, drift: float) -> tuple[Values, Values]:
        """Offsets b - a and their half-widths, ns; a half-width that is not known counts as 0.

        b's reading is moved to a's centre at the nominal rate.

        Args:
            drift: how far b may drift against the reference, by which centres are measured.
        """
        later = self.b_read.centre - self.a_read.centre
        spread = np.ceil(np.abs(later) * drift).astype(np.int64)
        halves = [np.maximum(read.half, 0) for read in (self.a_read, self.b_read)]
        return self.b_ns - later - self.a_ns, halves[0] + halves[1] + spread

    def learnt_drift(self, drift: float) -> float:
        """`drift`, and the error of the rate that `learn_rate` takes from the ends."""
        ends = [int(np.argmin(self.a_ns)), int(np.argmax(self.a_ns))]
        halves = [read.half[ends] for read in (self.a_read, self.b_read)]
        unsure_ns = sum(sum(half.clip(0).tolist()) for half in halves)
        span_ns = int(self.a_ns[ends[1]]) - int(self.a_ns[ends[0]])
        return min(drift + unsure_ns / max(span_ns, 1), MOST_DRIFT)


def with_tick(read: Read, tick: Tick | None, which: Mask) -> Read:
    """A clock's half-widths: of `which`, those below its tick do not include it and grow by it."""
    if tick is None:
        return read
    short = which & (read.half >= 0) & (read.half < tick.width_ns)
    return Read(read.centre, np.where(short, read.half + tick.width_ns, read.half))
