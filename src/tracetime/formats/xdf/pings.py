"""The recorder's measurements of the clock of a host, as columns."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.arrays import median, quantile
from tracetime.formats.xdf.chunks import Seconds, nanoseconds
from tracetime.graph.values import Values

_DRIFT: Final = 1.6e-3
"""How fast two steady clocks may drift apart: each is slewed by 500 ppm at most."""

_FEW: Final = 3
"""So many pings say how far two streams are apart."""


class Pings(NamedTuple):
    """Readings of a host's clock and the recorder's, in the order of the latter.

    Attributes:
        host_ns, recorder_ns: int64, simultaneous.
        packet: int64, the chunk that each stands in.
    """

    host_ns: Values
    recorder_ns: Values
    packet: Values

    @classmethod
    def of(cls, when: Seconds, offset: Seconds, packet: Values) -> Pings:
        """The pings of ClockOffset chunks, all of which are times.

        LabRecorder asks every 5 s, and LSL answers with the last offset that it measured: where
        a host is gone, with the same one for ever. An offset that is the one before, to the last
        bit, is no other measurement, unless all are one, and nobody measured.
        """
        fresh = np.ones(len(offset), np.bool_)
        if (offset != offset[:1]).any():
            fresh[1:] = offset[1:] != offset[:-1]
        host_ns = nanoseconds(when[fresh])
        return cls(host_ns, host_ns + nanoseconds(offset[fresh]), packet[fresh]).sorted()

    def sorted(self) -> Pings:
        """The pings in the order of the recorder's clock."""
        return self.rows(np.argsort(self.recorder_ns, kind="stable"))

    def rows(self, rows: npt.NDArray[np.intp] | npt.NDArray[np.bool_]) -> Pings:
        """The chunks of some rows."""
        return Pings(*(column[rows] for column in self))

    def joined(self, other: Pings) -> Pings:
        """The sum of these and others."""
        pairs = zip(self, other, strict=True)
        return Pings(*(np.concatenate(pair) for pair in pairs)).sorted()

    @property
    def offset_ns(self) -> Values:
        """The offset of the recorder's clock from the host's."""
        return self.recorder_ns - self.host_ns

    def jumps(self, least_ns: int, lag: int = 1) -> npt.NDArray[np.bool_]:
        """Whether the offset jumps from each to the next, by more than this and the drift.

        lag: 2 for the one after the next.
        """
        apart = self.recorder_ns[lag:] - self.recorder_ns[:-lag]
        jump = np.abs(self.offset_ns[lag:] - self.offset_ns[:-lag])
        jumps: npt.NDArray[np.bool_] = jump > least_ns + np.ceil(apart * _DRIFT)
        return jumps

    def apart(self, least_ns: int, jump_ns: int) -> npt.NDArray[np.intp]:
        """The rows of pings at least so far apart, but for those that jump by more."""
        kept: list[int] = []
        until = low = high = INT64_MIN
        pairs = zip(self.recorder_ns.tolist(), self.offset_ns.tolist(), strict=True)
        for k, (time, offset) in enumerate(pairs):
            if time >= until or offset < low or offset > high:
                kept.append(k)
                until, low, high = time + least_ns, offset - jump_ns, offset + jump_ns
        return np.array(kept, np.intp)

    def are_alone(self, least_ns: int) -> npt.NDArray[np.bool_]:
        """A mask of pings that jump from the one before, and back to the one after."""
        jumps = self.jumps(least_ns)
        alone = np.zeros(len(self.packet), np.bool_)
        alone[1:-1] = jumps[:-1] & jumps[1:] & ~self.jumps(least_ns, lag=2)
        return alone

    def scatter_ns(self, jump_ns: int) -> float:
        """Twice what all but a tenth are off the line between those before and after.

        jump_ns: pings that jump by more are not compared. 0 of fewer than three.
        """
        left = self.rows(~self.are_alone(jump_ns))
        jumps = left.jumps(jump_ns)
        of_one = np.flatnonzero(~(jumps[:-1] | jumps[1:]))
        first, between, last = (left.rows(of_one + k) for k in range(3))
        whole = np.maximum(last.recorder_ns - first.recorder_ns, 1)
        part = (between.recorder_ns - first.recorder_ns) / whole
        off = between.offset_ns - first.offset_ns - part * (last.offset_ns - first.offset_ns)
        return 2 * quantile(np.abs(off), 0.9) if len(off) else 0.0

    def usually_off_ns(self, others: Pings, jump_ns: int) -> float:
        """The median of what others are off the line between those of these around each.

        jump_ns: pings that jump by more are not compared. 0 of fewer than three.
        """
        after = np.searchsorted(self.recorder_ns, others.recorder_ns)
        between = np.flatnonzero((after > 0) & (after < len(self.packet)))
        between = between[~self.jumps(jump_ns)[after[between] - 1]]
        if len(between) < _FEW:
            return 0.0
        first, last = self.rows(after[between] - 1), self.rows(after[between])
        whole = np.maximum(last.recorder_ns - first.recorder_ns, 1)
        part = (others.recorder_ns[between] - first.recorder_ns) / whole
        rise = part * (last.offset_ns - first.offset_ns)
        return median(np.abs(others.offset_ns[between] - first.offset_ns - rise))
