"""Are bars true where clocks that jump stand between others, and pairs were read at other times?

    python -m benchmarks.middle_clocks [--worlds 200] [--seed 1] [--family NAME]

Each pair of a chain of clocks was read, or exchanged messages, all the time or a part of it. Clocks
between others are set back, set forth and back, or reset, and some pair witnesses each jump.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.table import Table
from tracetime import ClockDomain, ClockGraph, Snapshot
from tracetime.graph.tube.results import Bars as Bar

Values = npt.NDArray[np.int64]

S: Final = 1_000_000_000
LONG_S: Final = 100
BOTH: Final[tuple[Bar, ...]] = ("guaranteed", "estimated")
SET_BY_S: Final = {"back": (-40, -1), "forth": (1, 60)}
HALF_NS: Final = 100


@dataclass
class Chain:
    """Clocks in a row, of which neighbours were read together.

    Attributes:
        names: of the clocks.
        reads: what each reads at instants, ns.
        graph: what is known of them.
        hidden: (from, to), ns: a clock was set, and set again before anything read it.
    """

    names: list[str]
    reads: list[Callable[[Values], Values]]
    graph: ClockGraph
    hidden: list[tuple[int, int]]

    def outside(self, t: Values) -> dict[tuple[str, str, str], tuple[int, float]]:
        """How often the truth is outside of bars, and by how much at most, s; nothing if never."""
        found = {}
        for first, last in self.hidden:
            t = t[(t < first) | (t > last)]
        for one, other in permutations(range(len(self.names)), 2):
            truth = self.reads[other](t)
            for bars in BOTH:
                got = self.graph.convert(
                    self.reads[one](t),
                    self.names[one],
                    self.names[other],
                    policy="tube",
                    bars=bars,
                    bounds=True,
                    errors="mask",
                )
                early, late = (side.to_numpy(zero_copy_only=False) for side in got[1:])
                off = np.fmax(early - truth, truth - late)
                if (out := off > 0).any():
                    found[self.names[one], self.names[other], bars] = (
                        int(out.sum()),
                        float(off[out].max()) / S,
                    )
        return found


def _clock(
    rng: np.random.Generator, jumps: list[tuple[int, str, int]]
) -> Callable[[Values], Values]:
    """A clock; jumps: (when, kind, by how much), ns."""
    ppm, start = rng.uniform(-50, 50), int(rng.integers(1_000, 100_000)) * S

    def read(t: Values) -> Values:
        ticks: Values = np.asarray(t, dtype=np.int64)
        reading = start + ticks + np.floor(ticks * ppm * 1e-6).astype(np.int64)
        for at, kind, by in jumps:
            after = ticks - at + by if kind == "reset" else reading + by
            reading = np.where(ticks >= at, after, reading)
        return reading

    return read


def _jumps(rng: np.random.Generator, kind: str, n: int) -> list[tuple[int, str, int]]:
    at = np.sort(rng.uniform(10, 90, n)) * S
    found = []
    for instant in at.astype(np.int64).tolist():
        if kind == "reset":
            found.append((instant, kind, int(rng.uniform(0.05, 2) * S)))
            continue
        by = int(rng.uniform(*SET_BY_S["back"]) * S)
        found.append((instant, kind, by))
        if kind == "there and on":
            found.append(
                (instant + int(rng.uniform(0.05, 0.6) * S), kind, int(-by * rng.uniform(0.5, 1.5)))
            )
        elif kind == "forth":
            found[-1] = (instant, kind, int(rng.uniform(*SET_BY_S["forth"]) * S))
    return found


def _one_near(
    rng: np.random.Generator, jumps: list[tuple[int, str, int]], others: list[tuple[int, str, int]]
) -> list[tuple[int, str, int]]:
    """Jumps of a clock, one of which is moved to within 1 s of one of another clock."""
    k, beside = int(rng.integers(len(jumps))), others[int(rng.integers(len(others)))][0]
    moved = beside + int(rng.uniform(-1, 1) * S)
    return sorted((moved if j == k else at, kind, by) for j, (at, kind, by) in enumerate(jumps))


@dataclass(frozen=True)
class Family:
    """What worlds of a family have.

    Attributes:
        kind: of jump.
        clocks: how many, the first of which is BOOTTIME.
        jumping: which of them jump, by number.
        few: whether the pairs that were read a part of the time have few snapshots.
        messages: whether the last pair exchanges messages.
        near: whether each clock that jumps does so once within 1 s of the one before it.
    """

    kind: str
    clocks: int = 3
    jumping: tuple[int, ...] = (1,)
    few: bool = False
    messages: bool = False
    near: bool = False


FAMILIES: Final = {
    "set back in the middle": Family("back"),
    "reset in the middle": Family("reset"),
    "set forth in the middle": Family("forth"),
    "set back and on in one gap": Family("there and on"),
    "set back, few snapshots of a pair": Family("back", few=True),
    "reset, few snapshots of a pair": Family("reset", few=True),
    "set back second of four": Family("back", clocks=4),
    "set back third of four": Family("back", clocks=4, jumping=(2,)),
    "two of four set back": Family("back", clocks=4, jumping=(1, 2)),
    "two jumps within 1 s": Family("back", clocks=4, jumping=(1, 2), near=True),
    "three of five set back": Family("back", clocks=5, jumping=(1, 2, 3)),
    "the end set back": Family("back", jumping=(2,)),
    "the end reset": Family("reset", jumping=(2,)),
    "set back, messages": Family("back", messages=True),
    "reset, messages": Family("reset", messages=True),
}


def chain(rng: np.random.Generator, family: Family) -> Chain:
    """A world of a family."""
    counter = family.kind == "reset"
    names = ["BOOTTIME", *(f"com.example.c{k}" for k in range(1, family.clocks))]
    if not counter and rng.random() < 0.5:
        names[family.jumping[0]] = "REALTIME"
    jumps = {k: _jumps(rng, family.kind, int(rng.integers(1, 3))) for k in family.jumping}
    if family.near:
        for before, after in pairwise(family.jumping):
            jumps[after] = _one_near(rng, jumps[after], jumps[before])
    reads = [_clock(rng, jumps.get(k, [])) for k in range(family.clocks)]
    graph = ClockGraph(
        domains=[ClockDomain(name, max_drift_ppm=500) for name in names[1:] if "com" in name]
    )
    declared = bool(rng.random() < 0.5)
    # Each clock that jumps is read all the time with one of its neighbours.
    whole = {
        k - int(rng.integers(0, 2)) if k + 1 < family.clocks else k - 1 for k in family.jumping
    }
    for pair, (one, other) in enumerate(pairwise(range(family.clocks))):
        low, high, n = 0.0, float(LONG_S), int(rng.integers(20, 60))
        if pair not in whole and rng.random() < 0.8:
            low, high = np.sort(rng.uniform(0, LONG_S, 2))
            n = int(rng.integers(1, 8)) if family.few else n
        t = rng.uniform(low, high, n) * S
        if pair in whole:
            beside = [
                at / S + d
                for k in (one, other)
                for at, *_ in jumps.get(k, [])
                for d in (-1.5, -1, 1, 1.5)
            ]
            t = np.append(t, np.array(beside) * S)
        t = np.sort(t).astype(np.int64)
        if family.messages and pair + 2 == family.clocks:
            _exchange(rng, graph, [(names[k], reads[k]) for k in (one, other)], t)
            continue
        readings = {
            names[k]: reads[k](t) + (rng.integers(-40, 41, len(t)) if k else 0)
            for k in (one, other)
        }
        if declared:
            graph.add_snapshot(
                Snapshot(readings, reference=names[one], half_width_ns={names[other]: HALF_NS})
            )
        else:
            graph.add_snapshot(readings)
    spells = [
        (before[0], after[0])
        for own in jumps.values()
        for before, after in pairwise(own)
        if after[0] - before[0] < S
    ]
    return Chain(names, reads, graph, spells)


def _exchange(
    rng: np.random.Generator,
    graph: ClockGraph,
    ends: list[tuple[str, Callable[[Values], Values]]],
    t: Values,
) -> None:
    """Messages of up to 2 ms, both ways, at instants."""
    for (one, sent), (other, received) in (ends, ends[::-1]):
        then = t + rng.integers(10_000, 2_000_000, len(t))
        graph.add_order((sent(t), one), (received(then), other))


def judged(
    family: Family, seeds: Sequence[int], seed: int
) -> tuple[int, int, list[tuple[int, object]]]:
    """How many worlds miss guaranteed bars, how many estimated ones, and what."""
    missed, worlds = dict.fromkeys(BOTH, 0), []
    for k in seeds:
        rng = np.random.default_rng([seed, k])
        world = chain(rng, family)
        found = world.outside(np.sort(rng.uniform(6, 94, 120) * S).astype(np.int64))
        for bars in BOTH:
            missed[bars] += any(key[2] == bars for key in found)
        if found:
            worlds.append((k, found))
    return missed["guaranteed"], missed["estimated"], worlds


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--worlds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", choices=FAMILIES)
    given = parser.parse_args()
    table = Table()
    for name, family in FAMILIES.items():
        if given.family in (None, name):
            guaranteed, estimated, worlds = judged(family, range(given.worlds), given.seed)
            table.row(
                f"{given.worlds} worlds: {name}",
                "0 worlds with a truth outside",
                f"{guaranteed} guaranteed, {estimated} estimated",
                not worlds,
            )
            for k, found in worlds[:2]:
                table.note(f"world {k}", str(found))
    return 1 if table.missed else 0


if __name__ == "__main__":
    sys.exit(main())
