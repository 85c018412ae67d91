"""How far UTC is from REALTIME, as a time service bounds it: measured live, kept in recordings."""

from __future__ import annotations

from typing import Final, NamedTuple

MOST_WALL_BOUND_NS: Final = 1 << 50
"""A bound beyond 13 days is of no use, and sums of such bounds would overflow."""

TIME_SERVICES: Final = ("clockbound", "chrony", "adjtimex", "ptp4l")
"""The names of the services that bound a clock. A recording has their places here, from 1."""


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
