"""How fast each clock runs beside the one it is best compared with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from tracetime.clocks.ids import ClockId
from tracetime.graph.values import difference, gains
from tracetime.quantiles import medians

Values = npt.NDArray[np.int64]

OTHER_UNIT: Final = 0.01
"""A rate this far from nominal is no drift: the clock counts something else."""
LEAST_OFF_NS: Final = 100_000

AGREE: Final = 0.1
"""A gap agrees with a rate where it differs by no more than this part of it."""

_LEAST_SPAN_NS: Final = 1_000_000_000
LEAST_SNAPSHOTS: Final = 3
_MOST: Final = 0.8


class Rate(NamedTuple):
    """How fast a clock runs beside its partner: ns gained per ns; and its first snapshots."""

    partner: ClockId
    rate: float
    snapshots: Values


class Read(NamedTuple):
    """What a clock and its partner read in the snapshots that they share, in file order."""

    partner: ClockId
    snapshots: Values
    readings: Values
    others: Values


def rates_of(read: Mapping[ClockId, Read]) -> dict[ClockId, Rate]:
    """The rates that most gaps between snapshots agree on; of all clocks together.

    Clocks with none are left out: gaps do not agree, or snapshots are few or too close.
    """
    known = {clock: told for clock, told in read.items() if len(told.others) >= LEAST_SNAPSHOTS}
    if not known:
        return {}
    sizes = np.array([len(told.others) for told in known.values()])
    ends = np.cumsum(sizes)
    readings = np.concatenate([told.readings for told in known.values()])
    others = np.concatenate([told.others for told in known.values()])
    # Without the steps from the last reading of a clock to the first of the next.
    inner = np.delete(np.arange(len(others) - 1), ends[:-1] - 1)
    gaps = difference(others[1:], others[:-1])[inner]
    gained = gains(readings, others)[inner]
    which = np.repeat(np.arange(len(known)), sizes - 1)
    good = gaps > 0
    # 0 where no reading is after the one before: such a clock has no length to show it by, either.
    rates = medians(gained[good] / gaps[good], which[good], len(known))
    off = np.abs(gained - gaps * rates[which])
    agree = off <= np.maximum(AGREE * np.abs(rates[which]) * np.abs(gaps), 2_000)
    share = np.bincount(which, agree, len(known)) / (sizes - 1)
    length = difference(others[ends - 1], others[ends - sizes])
    # What falls in most gaps has no rate that its readings tell. Drift shows in a second, another
    # unit as soon as it is beyond any scatter of readings.
    size = np.abs(rates)
    shows = (length >= _LEAST_SPAN_NS) | ((size >= OTHER_UNIT) & (size * length >= LEAST_OFF_NS))
    told = (rates >= -1) & (share >= _MOST) & shows
    return {
        clock: Rate(one.partner, rate, one.snapshots[:LEAST_SNAPSHOTS])
        for (clock, one), rate, is_told in zip(
            known.items(), rates.tolist(), told.tolist(), strict=True
        )
        if is_told
    }
