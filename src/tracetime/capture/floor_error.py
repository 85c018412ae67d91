"""How far floor, Perfetto's rule, is off between the snapshots of a recording.

Floor uses the offset of the snapshot before, and interpolates nothing: just before the next one it
is off by the change of the offset in the meantime, whatever the bars of the tube are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import Snapshot
from tracetime.graph.tube.limits import Limits


class _Offset(NamedTuple):
    """When, in ns of the reference; how far a clock was ahead of trace time; its half-width."""

    at_ns: int
    ahead_ns: int
    half_ns: int


class FloorError:
    """Follows the snapshots of a recording.

    Args:
        domains: the clocks that are sampled.

    Attributes:
        errors_ns: by clock, how far floor was off at most, half-widths included.
    """

    def __init__(self, domains: Mapping[ClockId, ClockDomain]) -> None:
        self._domains = domains
        self._last: dict[ClockId, _Offset] = {}
        self.errors_ns: dict[ClockId, int] = {}

    def observe(self, snapshot: Snapshot, trace_clock: ClockId) -> None:
        """Add a snapshot of single readings in ns; `trace_clock` is what its clocks convert to."""
        if snapshot.reference is None or trace_clock not in snapshot.readings:
            return
        at_ns, _ = _at_the_reference(snapshot, snapshot.reference)
        trace_ns, trace_half_ns = _at_the_reference(snapshot, trace_clock)
        for clock in snapshot.clocks:
            if clock != trace_clock:
                ns, half_ns = _at_the_reference(snapshot, clock)
                now = _Offset(at_ns, ns - trace_ns, half_ns + trace_half_ns)
                before, self._last[clock] = self._last.get(clock), now
                if before is not None:
                    self._compare(clock, trace_clock, before, now)

    def _compare(self, clock: ClockId, trace_clock: ClockId, before: _Offset, now: _Offset) -> None:
        changed_ns = abs(now.ahead_ns - before.ahead_ns)
        one, other = (
            (self._domains.get(each) or ClockDomain.of_kind(each)).drift_ppm
            for each in (clock, trace_clock)
        )
        drifted_ns = Limits.of(one, other).spread(max(0, now.at_ns - before.at_ns))
        if changed_ns <= drifted_ns + before.half_ns + now.half_ns:
            # More is a step: around it the bars of the tube are wide, too.
            error_ns = changed_ns + now.half_ns
            self.errors_ns[clock] = max(self.errors_ns.get(clock, 0), error_ns)


def _at_the_reference(snapshot: Snapshot, clock: ClockId) -> tuple[int, int]:
    """What a clock read when the reference was read, and how far off that is."""
    value_ns = snapshot.readings[clock].value
    assert isinstance(value_ns, int)
    centre, half = snapshot.centre_ns.get(clock), snapshot.half_width_ns.get(clock)
    return value_ns - (0 if centre is None else int(centre[0])), 0 if half is None else int(half[0])
