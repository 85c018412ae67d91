"""Bases: clocks of a machine that tick alike, whose offset is constant until one of them jumps.

BOOTTIME and MONOTONIC differ by the time that the machine slept, REALTIME by how it was set. So any
change beyond the half-widths is a jump, however small. Guaranteed bars keep the drift that the two
clocks declare: a jump that is found only parts what they rest on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime._kernels.evidence import cut
from tracetime.graph.tube.evidence import Evidence, Values
from tracetime.graph.tube.limits import Limits

Mask = npt.NDArray[np.bool_]
Parts = Sequence[tuple[int, int]]

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


def stretches(evidence: Evidence, parts: Parts, drift: int) -> Stretches:
    """The stretches of each part that a drift within the limit explains; drift in 2^-52."""
    keep = np.ones(len(evidence.a), dtype=np.uint8)
    ends = []
    for begin, end in parts:
        here = slice(begin, end)
        columns = evidence.a[here], evidence.low[here], evidence.high[here]
        lefts, rights = cut(*columns, drift, keep[here])
        ends.append(np.array([lefts, [*rights[1:], end - begin]], dtype=np.int64) + begin)
    first, after = np.concatenate(ends, axis=1)
    return Stretches(keep != 0, first, after)


def in_base(
    evidence: Evidence, limits: Limits, parts: Parts, drifting: Stretches, drift: int
) -> Stretches | None:
    """The stretches in which the offset of two clocks of a base is constant; None if they are none.

    drifting: what they are if the clocks drift, by `drift`.
    """
    if not limits.one_rate:
        return None
    constant = stretches(evidence, parts, 0)
    most = max(_MOST_CONTRADICTIONS, _MOST_SHARE * (len(evidence.a) - 1))
    if constant.n_contradictions - drifting.n_contradictions > most:
        return None
    longest = int((constant.after - constant.first).max())
    if limits.if_confirmed is not None and longest < LEAST_TO_CONFIRM:
        return None
    if not evidence.assumed:
        return constant
    begins = {begin for begin, _ in parts} | set(_levels(evidence.r, constant))
    return stretches(evidence, list(pairwise(sorted([*begins, len(evidence.a)]))), drift)


def _levels(r: Values, constant: Stretches) -> list[int]:
    """Where the offset jumped from one level to another; r: the offsets."""
    kept = np.flatnonzero(constant.keep)
    found = []
    for first in constant.first[1:].tolist():
        k = int(np.searchsorted(kept, first))
        size = abs(int(r[kept[k]]) - int(r[kept[k - 1]]))
        n = 1 if size > _SURE_NS else 2 if size > _LARGE_NS else 3
        sides = r[kept[max(k - n, 0) : k]], r[kept[k : k + n]]
        if all(len(side) == n and _ALIKE * int(np.ptp(side)) <= size for side in sides):
            found.append(first)
    return found
