"""Stands for what the doctor looks at: readings, events and jumps just as a test says them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from tracetime.clocks.domain import ClockDomain
from tracetime.clocks.ids import ClockId
from tracetime.graph.info import ClockInfo, Readings
from tracetime.graph.tube.discontinuities import PairDiscontinuities
from tracetime.graph.tube.results import PairDiscontinuity

S = 1_000_000_000
BOOT, MONO, RAW, REAL, COARSE = (ClockId(k) for k in (6, 3, 5, 1, 2))
X, Y, Z = (ClockId(200 + k) for k in range(3))

Rows = tuple[Any, Any, Any]


class Survey:
    """Clocks read every second, the k-th snapshot in packet 100 + k.

    Args:
        n: snapshots.
        jumps: the clocks, and by how much each went on more from a snapshot on.
        found: what is known to have happened between two of them.
        lacking: the snapshots that are without a clock.
        events: what events of a clock read.
        lost: how many events of a clock have no trace time as it ran backwards.
    """

    def __init__(
        self,
        n: int,
        jumps: Mapping[ClockId, Mapping[int, int]],
        *found: PairDiscontinuity,
        trace_clock: ClockId = BOOT,
        lacking: Mapping[ClockId, set[int]] | None = None,
        events: Mapping[ClockId, list[int]] | None = None,
        lost: Mapping[ClockId, int] | None = None,
        units: Mapping[ClockId, int] | None = None,
        tolerance_ns: int = 1_000_000,
    ) -> None:
        self.discontinuities = PairDiscontinuities.of(found)
        # A clock is the same by what it says, whichever object says it.
        self.trace_clock, self.tolerance_ns = replace(trace_clock), tolerance_ns
        self.events, self.lost = events or {}, lost or {}
        lacking = lacking or {}
        self.reads: dict[ClockId, dict[int, int]] = {
            clock: {
                k: 50 * S + k * S + sum(by for at, by in more.items() if at <= k)
                for k in range(n)
                if k not in lacking.get(clock, ())
            }
            for clock, more in jumps.items()
        }
        self.by_number: dict[tuple[int, int], list[ClockId]] = {}
        for clock in jumps:
            self.by_number.setdefault((clock.clock, clock.machine), []).append(clock)
        self.series = {tuple(c for c in jumps if k in self.reads[c]) for k in range(n)}
        self.infos = {
            clock: ClockInfo(
                clock,
                (units or {}).get(clock, 1),
                False,
                self._rises(clock),
                len(reads),
                next(iter(reads.values()), None),
                None,
            )
            for clock, reads in self.reads.items()
        }
        self.used = {clock: len(read) for clock, read in self.events.items()}
        self.counters: dict[ClockId, Any] = {}
        self.open_wraps: dict[ClockId, Exception] = {}
        self.domains: dict[ClockId, ClockDomain] = {}
        self.graph = SimpleNamespace(
            domain=self._domain, contents=SimpleNamespace(readings=self._readings)
        )

    def _rises(self, clock: ClockId) -> bool:
        values = list(self.reads[clock].values())
        return values == sorted(values)

    def _domain(self, clock: ClockId) -> ClockDomain:
        return self.domains.get(clock) or ClockDomain.of_kind(clock)

    def _readings(self) -> Iterator[Readings]:
        for clock, reads in self.reads.items():
            snapshots, values = (
                np.array(part, dtype=np.int64) for part in (list(reads), list(reads.values()))
            )
            yield Readings(clock, snapshots, values, values, values)

    def series_of(self, clock: ClockId) -> list[tuple[ClockId, ...]]:
        return [clocks for clocks in self.series if clock in clocks]

    def neighbours(self, clock: ClockId) -> list[ClockId]:
        return sorted({other for clocks in self.series_of(clock) for other in clocks} - {clock})

    def reference(self, clock: ClockId) -> ClockId | None:
        others = self.neighbours(clock)
        if not others:
            return None
        return replace(self.trace_clock if self.trace_clock in others else others[0])

    def together(self, one: ClockId, other: ClockId) -> Rows:
        shared = sorted(self.reads[one].keys() & self.reads[other].keys())
        rows = (shared, *([self.reads[clock][k] for k in shared] for clock in (one, other)))
        return tuple(np.array(row, dtype=np.int64) for row in rows)  # type: ignore[return-value]

    def unfolded(self, one: ClockId, other: ClockId) -> Rows:
        snapshots, readings, others = self.together(one, other)
        return snapshots, self.counters.get(one, readings), others

    def packets_of(self, snapshots: Iterable[int]) -> list[int]:
        return [100 + int(k) for k in snapshots]

    def count_within(self, spans: Mapping[ClockId, Any]) -> dict[ClockId, int]:
        return {
            clock: 0
            if clock == self.trace_clock
            else sum(
                any(low <= at <= high for low, high in within) for at in self.events.get(clock, ())
            )
            for clock, within in spans.items()
        }

    def groups_of(self, clock: ClockId) -> list[Any]:
        return [
            SimpleNamespace(events=self.lost.get(clock, 0), reason="non_monotonic_source"),
            SimpleNamespace(events=1000, reason="resolved"),
        ]


def counter(clock: ClockId, bits: int) -> ClockDomain:
    return ClockDomain(clock, ns_per_tick=Fraction(1), valid_bits=bits)


def jump(src, dst, size, *snapshots, kind="step") -> PairDiscontinuity:
    sizes = (size, size) if isinstance(size, int) else size
    return PairDiscontinuity(src, dst, kind, 0, 1, sizes, None, snapshots or (3, 4))
