"""The schedule of snapshots: as seldom as the target for the error between them allows.

Between two snapshots, T apart, a clock whose rate wanders by w from its mean is off by at most
w T / 2 from the line through them. With the half-width h of a snapshot the error is h + w T / 2,
which must stay below the target. w is the larger of what the clocks declare and what is measured;
before a clock's rate is known, the drift that it is allowed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import Snapshot, single
from tracetime.errors import UsageError
from tracetime.graph.tube.limits import Limits

SHORTEST_NS: Final = 10_000_000
"""More snapshots would disturb the machine that is recorded."""

LONGEST_NS: Final = 60_000_000_000
"""A minute: by then a clock that was set is noticed, also if the system does not report it."""

_KEPT: Final = 0.9
"""The part of a measured wander that is kept with each snapshot: rates calm down again, and after
20 snapshots a tenth of it is left."""

_READS_PER_WRAP: Final = 4
"""How often a counter is read at least while it wraps once: two would do to count its wraps."""


@dataclass
class _LastSnapshot:
    """The last snapshot of one clock.

    Attributes:
        at_ns: when, ns of the reference.
        offset_ns, half_ns: its offset from the reference, and its half-width.
        rate, noise: its rate before that, and how far off that may be, ns per ns.
        wander: how far its rate wanders, ns per ns, as measured.
    """

    at_ns: int
    offset_ns: int
    half_ns: int
    rate: float | None = None
    noise: float = 0.0
    wander: float | None = None


class Schedule:
    """The interval to the next snapshot.

    Args:
        domains: the clocks that are sampled.
        interval_ns: from one snapshot to the next; with a target, the first one.
        target_error_ns: how far conversions between snapshots may be off; None for a fixed
            interval.
        shortest_ns, longest_ns: limits of the interval if it adapts.

    Raises:
        UsageError: a number out of range.
    """

    def __init__(
        self,
        domains: Mapping[ClockId, ClockDomain],
        *,
        interval_ns: int,
        target_error_ns: int | None = None,
        shortest_ns: int = SHORTEST_NS,
        longest_ns: int = LONGEST_NS,
    ) -> None:
        if not 0 < shortest_ns <= longest_ns:
            raise UsageError("the shortest interval is above 0, and not above the longest")
        if interval_ns < 1_000_000:
            raise UsageError(f"an interval is 1 ms or more, not {interval_ns} ns")
        if target_error_ns is not None and target_error_ns < 1:
            raise UsageError(f"the target for the error is 1 ns or more, not {target_error_ns}")
        self._domains = domains
        self._target_ns = target_error_ns
        self._shortest_ns = shortest_ns
        wraps_ns = [ns for ns in map(_longest_of, domains.values()) if ns is not None]
        self._longest_ns = min([longest_ns, *wraps_ns])
        self._limits: dict[ClockId, Limits] = {}
        self._seen: dict[ClockId, _LastSnapshot] = {}
        self._within: dict[ClockId, bool] = {}
        self._interval_ns = min([interval_ns, *wraps_ns])
        if target_error_ns is not None:
            self._interval_ns = self._clamp(self._interval_ns)

    @property
    def interval_ns(self) -> int:
        """The time from one snapshot to the next, ns."""
        return self._interval_ns

    @property
    def out_of_reach(self) -> set[ClockId]:
        """Clocks whose half-width alone was never below the target: no interval helps."""
        return {clock for clock, ever in self._within.items() if not ever}

    def observe(self, snapshot: Snapshot) -> None:
        """Learn from a snapshot, in ns, and adapt the interval to the next."""
        if self._target_ns is None or snapshot.reference is None:
            return
        reference_ns = single(snapshot.readings[snapshot.reference].value)
        wanted = []
        for clock in snapshot.clocks:
            if clock == snapshot.reference or clock not in snapshot.half_width_ns:
                continue
            centre_ns = int(snapshot.centre_ns[clock][0]) if clock in snapshot.centre_ns else 0
            at_ns = reference_ns + centre_ns
            half_ns = int(snapshot.half_width_ns[clock][0])
            offset_ns = single(snapshot.readings[clock].value) - at_ns
            wander = self._wander(clock, snapshot.reference, at_ns, offset_ns, half_ns)
            left_ns = self._target_ns - half_ns
            self._within[clock] = left_ns > 0 or self._within.get(clock, False)
            if left_ns <= 0:
                continue
            wanted.append(int(min(2 * left_ns / wander, 1e18)) if wander else self._longest_ns)
        # The interval grows by steps, because one calm interval proves little; it shrinks at once.
        longest_ns = min([2 * self._interval_ns, *wanted])
        self._interval_ns = self._clamp(longest_ns)

    def _wander(
        self, clock: ClockId, reference: ClockId, at_ns: int, offset_ns: int, half_ns: int
    ) -> float:
        """The assumed wander of the rate, ns per ns; keeps the snapshot for the next one."""
        limits = self._limits.get(clock)
        if limits is None:
            limits = self._limits[clock] = self._limits_of(clock, reference)
        before = self._seen.get(clock)
        now = self._seen[clock] = _LastSnapshot(at_ns, offset_ns, half_ns)
        if before is None or at_ns <= before.at_ns:
            return limits.drift
        passed_ns = at_ns - before.at_ns
        moved_ns = offset_ns - before.offset_ns
        unsure_ns = half_ns + before.half_ns
        if abs(moved_ns) > limits.spread(passed_ns) + unsure_ns:
            # A step: the rate before says nothing about the rate now.
            return limits.drift
        now.rate, now.noise = moved_ns / passed_ns, unsure_ns / passed_ns
        if before.rate is None:
            # The drift is known, as precisely as the half-widths allow.
            now.wander = None
            return max(limits.wander, min(now.noise, limits.drift))
        changed = max(0.0, abs(now.rate - before.rate) - now.noise - before.noise)
        now.wander = max(changed, _KEPT * (before.wander or 0.0))
        return max(limits.wander, now.wander)

    def _limits_of(self, clock: ClockId, reference: ClockId) -> Limits:
        one, other = (
            self._domains.get(each) or ClockDomain.of_kind(each) for each in (reference, clock)
        )
        return Limits.of(
            one.drift_ppm,
            other.drift_ppm,
            (one.wander_ppm, other.wander_ppm),
            shared_oscillator=one.oscillator is not None and one.oscillator == other.oscillator,
        )

    def _clamp(self, interval_ns: int) -> int:
        return max(min(interval_ns, self._longest_ns), min(self._shortest_ns, self._longest_ns))


def _longest_of(domain: ClockDomain) -> int | None:
    """The longest time that a clock may remain unread: a part of the time in which it wraps."""
    if domain.valid_bits == 64 or domain.ns_per_tick is None:
        return None
    return max(1, int((1 << domain.valid_bits) * domain.ns_per_tick) // _READS_PER_WRAP)
