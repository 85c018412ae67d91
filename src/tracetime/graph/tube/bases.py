"""Bases: clocks of a machine that tick alike, whose offset is constant until one of them jumps.

BOOTTIME and MONOTONIC differ by the time that the machine slept, REALTIME by how it was set. So any
change beyond the half-widths is a jump, however small. Guaranteed bars keep the drift that the two
clocks declare: a jump that is found only parts what they rest on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from tracetime._kernels.evidence import cut
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.values import Mask, Values, ascending

LEAST_TO_CONFIRM: Final = 8
"""So many snapshots of a segment confirm that one oscillator drives both clocks."""

_MOST_CONTRADICTIONS: Final = 3
_MOST_SHARE: Final = 0.2
"""Where more than three changes, in more than a fifth of the gaps, contradict a base, it is none:
systems other than Linux slew their wall clocks alone."""

_SURE_NS: Final = 100_000_000
_LARGE_NS: Final = 10_000_000
_ALIKE: Final = 10
"""Where nobody says how snapshots were read, one may be late. A jump shows on two levels, each of
two snapshots, three below 10 ms, one above 100 ms, that agree to a tenth of it."""

_FEW: Final = np.arange(3)


class Stretches(NamedTuple):
    """Stretches of snapshots that nothing contradicts.

    Attributes:
        keep: bool, which snapshots are no outliers.
        first, after: int64, one a stretch: where it begins, and the first snapshot after it; those
            that could belong to the next one as well are after it.
    """

    keep: Mask
    first: Values
    after: Values

    @property
    def n_contradictions(self) -> int:
        return len(self.first) - 1 + int((~self.keep).sum())


def stretches(evidence: Evidence, begins: Values, drift: int) -> Stretches:
    """The stretches that a drift within the limit explains.

    begins: where the snapshots are parted anyway, ascending, the first one 0. drift: in 2^-52.
    """
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    found = cut(evidence.a, evidence.low, evidence.high, drift, keep, begins)
    first, after = np.array(found, dtype=np.int64)
    return Stretches(keep != 0, first, after)


def in_base(
    evidence: Evidence, limits: Limits, begins: Values, drifting: Stretches, drift: int
) -> tuple[Stretches | None, int]:
    """The stretches in which the offset of two clocks of a base is constant; None if they are none.

    And how many gaps contradict that they are of one, where that is why; else 0.
    begins: as of `stretches`. drifting: what they are if the clocks drift, by `drift`.
    """
    if not limits.one_rate:
        return None, 0
    constant = stretches(evidence, begins, 0)
    most = max(_MOST_CONTRADICTIONS, _MOST_SHARE * (len(evidence.a) - 1))
    more = constant.n_contradictions - drifting.n_contradictions
    if more > most:
        return None, more
    longest = int((constant.after - constant.first).max())
    if limits.if_confirmed is not None and longest < LEAST_TO_CONFIRM:
        return None, 0
    if not evidence.assumed:
        return constant, 0
    levels = constant.first[1:][_are_levels(evidence, constant)]
    return stretches(evidence, ascending(np.append(begins, levels)), drift), 0


def _are_levels(evidence: Evidence, constant: Stretches) -> Mask:
    """Before which stretches but the first the offset jumped, from one level to another."""
    kept = np.flatnonzero(constant.keep)
    r, low, high = (side[kept] for side in (evidence.r, evidence.low, evidence.high))
    k = np.searchsorted(kept, constant.first[1:])
    # A change that half-widths explain may be one of reading.
    jumped = (low[k] > high[k - 1]) | (high[k] < low[k - 1])
    size = np.abs(r[k] - r[k - 1])
    n = np.where(size > _SURE_NS, 1, np.where(size > _LARGE_NS, 2, 3))
    jumped &= (k >= n) & (k + n <= len(kept))
    for side in (k[:, None] - 1 - _FEW, k[:, None] + _FEW):
        off = np.abs(r[np.clip(side, 0, len(kept) - 1)] - r[side[:, :1]])
        jumped &= np.where(n[:, None] > _FEW, off, 0).max(axis=1) <= size // _ALIKE
    return jumped
