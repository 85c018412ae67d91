"""What the times of spans leave open beside the unit of the file: hosts keep less than it has.

An end may have been measured as a duration, and an event likewise: where it is finer than the begin
of its span it is as far off as that, too.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tracetime.clocks.snapshot import INT64_MAX
from tracetime.formats.source_steps import SourceSteps
from tracetime.formats.spans.batch import ENDED, Spans

Values = npt.NDArray[np.int64]
Margins = tuple[Values, Values]
"""By how much less, and more, than it says a host's clock may have read at each time, ns."""


class SpanSteps:
    """The steps that times and durations of each host stand on; each batch is added once.

    Args:
        unit_ns: of the file's times.
        adds_up: whether the file gives durations, and no ends.
    """

    def __init__(self, unit_ns: int, adds_up: bool) -> None:
        self._unit_ns = unit_ns
        self._adds_up = adds_up
        self._times = SourceSteps(doubles=True)
        self._durations = SourceSteps(doubles=False)

    def add(self, spans: Spans, hosts: npt.NDArray[np.int32]) -> None:
        """Count the times of a batch; hosts: of each span, by number."""
        host = hosts.astype(np.int64)
        ended = np.flatnonzero((spans.marks & ENDED != 0) & (spans.end >= spans.begin))
        for times, of in (
            (spans.begin, host),
            (spans.end[ended], host[ended]),
            (spans.event_time, host[spans.event_span]),
        ):
            self._times.add(of, self._units(times), times)
        lasted = spans.end[ended] - spans.begin[ended]
        self._durations.add(host[ended], self._units(lasted), lasted)

    @property
    def longest_ns(self) -> int:
        """The longest step, longer than the unit; 0 without any."""
        return max(self._times.longest_ns, self._durations.longest_ns)

    @property
    def is_exact(self) -> bool:
        """Whether nothing is left open beside the unit."""
        return self._times.is_exact and self._durations.is_exact

    def begins(self, hosts: npt.NDArray[np.integer], begin: Values) -> Margins:
        """Those of begins of spans."""
        return self._times.margins(hosts.astype(np.int64), self._units(begin), begin)

    def events(self, hosts: npt.NDArray[np.integer], begin: Values, time: Values) -> Margins:
        """Those of events; begin: of their spans."""
        own, from_begin = self.begins(hosts, time), self.begins(hosts, begin)
        early, late = (
            np.where(one >= other, one, one + other)
            for one, other in zip(own, from_begin, strict=True)
        )
        return early, late

    def ends(self, hosts: npt.NDArray[np.integer], begin: Values, end: Values) -> Margins:
        """Those of ends; begin: of their spans."""
        lasted = end - begin
        durations = self._durations.margins(hosts.astype(np.int64), self._units(lasted), lasted)
        sides = zip(self.begins(hosts, end), self.begins(hosts, begin), durations, strict=True)
        early, late = (self._of_ends(*side) for side in sides)
        return early, late

    def _of_ends(self, own: Values, begin: Values, lasted: Values) -> Values:
        """One side of ends, by that of their own, of the begins, and of the durations."""
        summed = begin + np.maximum(own, lasted)
        if self._adds_up:
            return summed
        return np.where(own >= np.maximum(begin, lasted), own, summed)

    def _units(self, times: Values) -> Values:
        return np.full(len(times), self._unit_ns, np.int64)


def later(times: Values, by_ns: Values) -> Values:
    """Times that are later by so much, at most the end of int64."""
    moved: Values = np.minimum(times, INT64_MAX - by_ns) + by_ns
    return moved
