"""The rates of clocks, measured against their reference clocks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from tracetime.clocks.ids import ClockId
from tracetime.columns.arrays import medians
from tracetime.graph.values import Values, difference, gains

OTHER_UNIT: Final = 0.01
"""A rate this far from nominal is no drift: the clock counts something else."""

LEAST_OFF_NS: Final = 100_000
"""Another unit is visible as soon as it has moved a clock by this much."""

AGREE: Final = 0.1
"""A gap agrees with a rate where it differs by no more than this part of it."""

_LEAST_SPAN_NS: Final = 1_000_000_000
"""Over a shorter time, the scatter of readings hides drift."""

LEAST_SNAPSHOTS: Final = 3
"""Fewer have one gap at most, which agrees with itself."""

_LEAST_SHARE: Final = 0.8
"""Of the gaps: with fewer that agree, the clock has no one rate."""


class Rate(NamedTuple):
    """The rate of a clock: ns gained per ns of its reference; and the first snapshots of both."""

    reference: ClockId
    rate: float
    snapshots: Values


class SharedReadings(NamedTuple):
    """The readings of a clock and its reference in the snapshots that they share, in file order."""

    reference: ClockId
    snapshots: Values
    readings: Values
    others: Values


def rates_of(read: Mapping[ClockId, SharedReadings]) -> dict[ClockId, Rate]:
    """The rates that most gaps between snapshots agree on, of all clocks together.

    Clocks with none are left out: gaps do not agree, or snapshots are few or too close.
    """
    known = {clock: one for clock, one in read.items() if len(one.others) >= LEAST_SNAPSHOTS}
    if not known:
        return {}
    sizes = np.array([len(one.others) for one in known.values()])
    ends = np.cumsum(sizes)
    readings = np.concatenate([one.readings for one in known.values()])
    others = np.concatenate([one.others for one in known.values()])
    # Without the steps from the last reading of a clock to the first of the next.
    inner = np.delete(np.arange(len(others) - 1), ends[:-1] - 1)
    gaps = difference(others[1:], others[:-1])[inner]
    gained = gains(readings, others)[inner]
    which = np.repeat(np.arange(len(known)), sizes - 1)
    good = gaps > 0
    # 0 where no reading follows a lower one: such a clock has no length, and so no rate.
    rates = medians(gained[good] / gaps[good], which[good], len(known))
    off = np.abs(gained - gaps * rates[which])
    agree = off <= np.maximum(AGREE * np.abs(rates[which]) * np.abs(gaps), 2_000)
    share = np.bincount(which, agree, len(known)) / (sizes - 1)
    length = difference(others[ends - 1], others[ends - sizes])
    # A clock that falls in most gaps has no rate. Drift is visible after a second, another unit as
    # soon as it exceeds the scatter of readings.
    size = np.abs(rates)
    is_visible = (length >= _LEAST_SPAN_NS) | (
        (size >= OTHER_UNIT) & (size * length >= LEAST_OFF_NS)
    )
    is_known = (rates >= -1) & (share >= _LEAST_SHARE) & is_visible
    return {
        clock: Rate(one.reference, rate, one.snapshots[:LEAST_SNAPSHOTS])
        for (clock, one), rate, has_rate in zip(
            known.items(), rates.tolist(), is_known.tolist(), strict=True
        )
        if has_rate
    }
