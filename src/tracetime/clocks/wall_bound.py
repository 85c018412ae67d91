"""How far UTC is from REALTIME, as a time service bounds it: measured live, kept in recordings."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.int64]

MOST_WALL_BOUND_NS: Final = 1 << 50
"""A bound beyond 13 days is of no use, and sums of such bounds would overflow."""

TIME_SERVICES: Final = ("clockbound", "chrony", "adjtimex", "ptp4l")
"""The names of the services that bound a clock. A recording has their places here, from 1."""

_STEERED: Final = 8
"""chronyd changes the rate of REALTIME by up to 1/12."""


class WallBound(NamedTuple):
    """What bounds REALTIME when it was read.

    Attributes:
        earliest_ns, latest_ns: UTC less the reading was neither below nor above that, ns.
        source: the time service that says so: `clockbound`, `chrony`, `ptp4l` or
            `adjtimex`.
    """

    earliest_ns: int
    latest_ns: int
    source: str


def contradiction(times: Values, earliest: Values, latest: Values) -> tuple[int, int] | None:
    """The first bound that no course of REALTIME leads to from those before, and by how much, ns.

    None where there is one; it is steered by up to 1/8.

    Args:
        times: what REALTIME read, ns, in the order of the readings.
        earliest, latest: bounds of UTC less each, ns.
    """
    low, high, before_ns = int(earliest[0]), int(latest[0]), int(times[0])
    bounds = zip(times.tolist(), earliest.tolist(), latest.tolist(), strict=True)
    for place, (at_ns, least, most) in enumerate(bounds):
        steered_ns = abs(at_ns - before_ns) // _STEERED
        low, high, before_ns = max(low - steered_ns, least), min(high + steered_ns, most), at_ns
        if low > high:
            return place, low - high
    return None
