"""The clusters of a trace's times: events far from all others, by whatever clock."""

from __future__ import annotations

from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from tracetime.errors import AS_IS
from tracetime.graph.values import Values
from tracetime.trace.event_clocks import run_starts
from tracetime.trace.events_table import Columns

_BUCKET: Final = 30
"""Times are counted by so many bits of ns, about a second."""
_GAP_NS: Final = 60_000_000_000
"""Less is a pause."""
_SPANS: Final = 10
"""So many times as long as either cluster is the gap between two."""


class Cluster(NamedTuple):
    """Events near each other, and far from all others.

    Attributes:
        least, most: their trace times, ns.
        packet: of the first.
    """

    least: int
    most: int
    events: int
    packet: int

    @property
    def length(self) -> int:
        return self.most - self.least


class TimeClusters:
    """The times of a trace's events, counted by the second."""

    def __init__(self) -> None:
        self._buckets = np.empty((5, 0), dtype=np.int64)

    def add(self, columns: Columns) -> None:
        """Take in the rows of a batch."""
        placed = columns["status"] <= AS_IS
        time = columns["trace_time"]
        starts = run_starts(time >> _BUCKET, placed.view(np.uint8))
        if not len(starts):
            return
        runs = np.array(
            [
                time[starts] >> _BUCKET,
                np.minimum.reduceat(time, starts),
                np.maximum.reduceat(time, starts),
                np.diff(np.append(starts, len(time))),
                columns["packet"][starts].astype(np.int64),
            ]
        )[:, placed[starts]]
        self._buckets = _joined(np.concatenate([self._buckets, runs], axis=1))

    def clusters(self) -> list[Cluster]:
        """The clusters in order of their times; one where no gap is long enough."""
        found: list[Cluster] = []
        for least, most, events, packet in self._buckets[1:].T.tolist():
            one = Cluster(least, most, events, packet)
            if found and one.least - found[-1].most <= _GAP_NS:
                one = _join(found.pop(), one)
            found.append(one)
        while len(found) > 1:
            gaps = [b.least - a.most for a, b in pairwise(found)]
            k = int(np.argmin(gaps))
            if gaps[k] > _SPANS * max(one.length for one in found):
                break
            found[k : k + 2] = [_join(*found[k : k + 2])]
        return found


def _join(one: Cluster, other: Cluster) -> Cluster:
    packet = min(one.packet, other.packet)
    return Cluster(one.least, other.most, one.events + other.events, packet)


def _joined(runs: Values) -> Values:
    """The sums of runs of one bucket."""
    runs = runs[:, np.argsort(runs[0], kind="stable")]
    starts = run_starts(runs[0])
    sums = (np.minimum, np.maximum, np.add, np.minimum)
    columns = [one.reduceat(row, starts) for one, row in zip(sums, runs[1:], strict=True)]
    return np.array([runs[0][starts], *columns]) if len(starts) else runs
