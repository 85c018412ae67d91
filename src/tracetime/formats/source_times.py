"""The resolutions of the times of a file, source by source: hosts, or interfaces."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from tracetime._kernels.common.columns import StepCounts
from tracetime.clocks.snapshot import INT64_MIN
from tracetime.columns.resolutions import TimeResolutions
from tracetime.graph.values import Values, difference
from tracetime.text import duration
from tracetime.trace.notes import Note

# Streams whose time runs backwards: of a capture's interface, of a source of samples.

USUAL_NS: Final = 10**9
"""Queues of a network card write packets of one interface out of order, by ms."""

_NAMED: Final = 3
"""So many streams are named in a title."""


def backwards(
    events: int, packet: int | None, streams: Sequence[str], size_ns: int | None
) -> Iterator[Note]:
    """Yield the note about streams whose time runs backwards, if there are such events.

    Args:
        events: how many events are earlier than what comes before them.
        packet: of the first of them.
        streams: those that they are of.
        size_ns: by how much at most; None where that is not known.
    """
    if events and packet is not None:
        more = f" and {len(streams) - _NAMED} more" if len(streams) > _NAMED else ""
        values = {
            "stream": ", ".join(streams[:_NAMED]) + more,
            "streams": streams,
            "by": f" up to {duration(size_ns)}" if size_ns else "",
        }
        yield Note(
            "stream-backwards", packets=(packet,), events=events, size_ns=size_ns, values=values
        )


class BackwardStreams:
    """Events that are earlier than one before them in their stream, by more than is usual.

    Streams are apart: one may be written after another one, as `mergecap -a` does.

    Attributes:
        events: how many there are.
        size_ns: by how much at most.
        first: the packet of the first of them.
        streams: those that they are of.
    """

    def __init__(self) -> None:
        self.events = self.size_ns = 0
        self.first: int | None = None
        self.streams: set[int] = set()
        self._latest: dict[int, int] = {}

    def add(self, stream: Values, ns: Values, packet: Values) -> None:
        """Look at the events that follow: of which stream each is, its time, and its packet."""
        rows = np.argsort(stream, kind="stable")
        ns, on = ns[rows], stream[rows]
        begins = np.flatnonzero(np.r_[True, on[1:] != on[:-1]][: len(on)])
        latest = np.array(ns, dtype=np.int64)
        for begin, end in pairwise([*begins.tolist(), len(on)]):
            number = int(on[begin])
            latest[begin] = max(latest[begin], self._latest.get(number, INT64_MIN))
            np.maximum.accumulate(latest[begin:end], out=latest[begin:end])
            self._latest[number] = int(latest[end - 1])
        early = difference(latest, ns)
        found = early > USUAL_NS
        if found.any():
            self.events += int(np.count_nonzero(found))
            self.size_ns = max(self.size_ns, int(early.max()))
            self.streams.update(on[found].tolist())
            if self.first is None:
                self.first = int(packet[rows[found]].min())


_MOST_APART: Final = 256
"""So many sources are judged by themselves, the others by unit: the counts of one take 40 kB."""


class SourceResolutions:
    """A counter of the times of a file by source, which finds their resolutions at the end.

    doubles: whether a program may have computed its times as floats.
    """

    def __init__(self, *, doubles: bool) -> None:
        self._doubles = doubles
        self._counts: dict[tuple[int, int], StepCounts] = {}
        self._judged: dict[tuple[int, int], TimeResolutions] | None = None

    def add(self, sources: Values, units: Values, times: Values) -> None:
        """Add times, ns; of each its source, by number, and the resolution of its source."""
        for key, rows in _groups(sources, units):
            self._counts.setdefault(key, StepCounts()).add(times[rows])

    @property
    def longest_ns(self) -> int:
        """The longest resolution of times, longer than that of their source.

        0 where they stand on none.
        """
        return max((one.longest_ns for one in self._resolutions.values()), default=0)

    @property
    def is_exact(self) -> bool:
        """Whether all times are exact but for the resolution of their source."""
        return all(one.is_exact for one in self._resolutions.values())

    def margins(self, sources: Values, units: Values, times: Values) -> tuple[Values, Values]:
        """The margins of each time within which the clock may have read; see `TimeResolutions`."""
        before, after = np.zeros(len(times), np.int64), np.zeros(len(times), np.int64)
        for key, rows in _groups(sources, units):
            resolutions = self._resolutions.get(key)
            if resolutions is not None and not resolutions.is_exact:
                before[rows], after[rows] = resolutions.margins(times[rows])
        return before, after

    @property
    def _resolutions(self) -> dict[tuple[int, int], TimeResolutions]:
        if self._judged is None:
            self._judged = {
                key: TimeResolutions.of(counts, unit_ns=key[1], doubles=self._doubles)
                for key, counts in self._counts.items()
            }
        return self._judged


def _groups(
    sources: Values, units: Values
) -> Iterator[tuple[tuple[int, int], npt.NDArray[np.intp]]]:
    """The rows that are counted together, in their order, by source and unit."""
    apart = np.minimum(sources, _MOST_APART)
    if not len(apart):
        return
    if (apart == apart[0]).all() and (units == units[0]).all():
        yield (int(apart[0]), int(units[0])), np.arange(len(apart))
        return
    order = np.lexsort((apart, units))
    one, unit = apart[order], units[order]
    starts = np.flatnonzero(np.r_[True, (one[1:] != one[:-1]) | (unit[1:] != unit[:-1])])
    for rows in np.split(order, starts[1:]):
        yield (int(apart[rows[0]]), int(units[rows[0]])), rows
