"""Machines that sleep, and count it by a clock of whole seconds; what they tell each other.

True time is ns from 0. Each machine's clocks drift by up to 500 ppm, whatever their rate was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random

from tracetime.clocks.ids import BUILTIN_IDS, ClockId
from tracetime.clocks.snapshot import Snapshot
from tracetime.graph.clock_graph import ClockGraph

S = 1_000_000_000
MS = 1_000_000
US = 1_000
PPM = 1e-6


@dataclass
class Sleep:
    """A suspend of a machine.

    Attributes:
        begin_ns, end_ns: true time.
        counted_ns: how long BOOTTIME says that it took.
    """

    begin_ns: int
    end_ns: int
    counted_ns: int


@dataclass
class Machine:
    """A machine with MONOTONIC, BOOTTIME and REALTIME.

    Attributes:
        number: its machine_id.
        sleeps: ascending.
        knees: (true time, ppm): its rate from then on.
        boot_ns: true time at which its MONOTONIC is 1 s.
    """

    number: int
    sleeps: list[Sleep] = field(default_factory=list)
    knees: list[tuple[int, float]] = field(default_factory=lambda: [(0, 0.0)])
    boot_ns: int = -100 * S
    ahead_ns: int = 1_700_000_000 * S

    def awake(self, at_ns: int) -> bool:
        return not any(one.begin_ns <= at_ns <= one.end_ns for one in self.sleeps)

    def monotonic_ns(self, at_ns: int) -> int:
        slept = sum(min(at_ns, one.end_ns) - min(at_ns, one.begin_ns) for one in self.sleeps)
        drifted = 0.0
        for (begin, ppm), (end, _) in zip(
            self.knees, [*self.knees[1:], (1 << 60, 0.0)], strict=True
        ):
            drifted += ppm * PPM * max(0, self._awake_ns(min(at_ns, end)) - self._awake_ns(begin))
        return at_ns - self.boot_ns - slept + round(drifted)

    def _awake_ns(self, at_ns: int) -> int:
        return at_ns - sum(min(at_ns, one.end_ns) - min(at_ns, one.begin_ns) for one in self.sleeps)

    def boottime_ns(self, at_ns: int) -> int:
        counted = sum(one.counted_ns for one in self.sleeps if one.end_ns <= at_ns)
        return self.monotonic_ns(at_ns) + counted

    def realtime_ns(self, at_ns: int) -> int:
        return self.boottime_ns(at_ns) + self.ahead_ns

    def clock(self, name: str) -> ClockId:
        return ClockId(BUILTIN_IDS[name], machine=self.number)

    def read(self, name: str, at_ns: int) -> int:
        return {
            "MONOTONIC": self.monotonic_ns,
            "BOOTTIME": self.boottime_ns,
            "REALTIME": self.realtime_ns,
        }[name](at_ns)

    def snapshots(self, graph: ClockGraph, at_ns: list[int]) -> None:
        """Read all three clocks at once, each of these times."""
        names = ("MONOTONIC", "BOOTTIME", "REALTIME")
        reference = self.clock("MONOTONIC")
        for at in at_ns:
            graph.add_snapshot(
                Snapshot(
                    {self.clock(name): self.read(name, at) for name in names},
                    reference=reference,
                    half_width_ns={self.clock(name): 100 for name in names[1:]},
                )
            )


def burst(
    graph: ClockGraph,
    one: Machine,
    other: Machine,
    name: str,
    at_ns: int,
    random: Random,
    n: int = 4,
) -> None:
    """A few messages there and back, if both are awake."""
    for _ in range(n):
        there, kept, back = (random.randrange(5 * US, 200 * US) for _ in range(3))
        times = [at_ns, at_ns + there, at_ns + there + kept, at_ns + there + kept + back]
        if all(one.awake(at) and other.awake(at) for at in times):
            ours, theirs = one.clock(name), other.clock(name)
            sent, got, replied, returned = times
            graph.add_order((one.read(name, sent), ours), (other.read(name, got), theirs))
            graph.add_order((other.read(name, replied), theirs), (one.read(name, returned), ours))
        at_ns = times[-1] + random.randrange(MS)


def misses(
    graph: ClockGraph, machines: list[Machine], names: list[str], times: list[int]
) -> list[tuple[ClockId, ClockId, int, int]]:
    """Where the truth is outside guaranteed bars: clocks, true time, by how much.

    Instants at which a machine sleeps are left out.
    """
    found = []
    for one in machines:
        for other in machines:
            if one is other:
                continue
            awake = [at for at in times if one.awake(at) and other.awake(at)]
            for name in names:
                src, dst = one.clock(name), other.clock(name)
                read = [one.read(name, at) for at in awake]
                truth = [other.read(name, at) for at in awake]
                bars = graph.convert(
                    read, src, dst, policy="tube", bounds=True, bars="guaranteed", errors="mask"
                )
                for at, true, low, high in zip(
                    awake, truth, bars.earliest.tolist(), bars.latest.tolist(), strict=True
                ):
                    # A clock's reading is rounded to ns; None is an open side.
                    by = max(
                        -1 if low is None else low - true - 2,
                        -1 if high is None else true - high - 2,
                    )
                    if by > 0:
                        found.append((src, dst, at, by))
    return found
