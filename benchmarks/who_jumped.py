"""Who jumped? Random worlds of clocks, one of which jumps once, while a few messages are mistaken.

Where a third clock witnesses it, the one that jumped is named alone, the mistaken messages are
named, and what other clocks read is within the guaranteed bars.
`python -m benchmarks.who_jumped --worlds 500`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from benchmarks.exact_bars import between, guaranteed_bars
from benchmarks.table import Table
from tracetime.graph.epochs.breaks import Findings, find_breaks
from tracetime.graph.epochs.nodes import Nodes
from tracetime.graph.epochs.rows import Clock, Rows

Values = npt.NDArray[np.int64]

S: Final = 1_000_000_000
LONG_S: Final = 60
DRIFT: Final = 50e-6
PATTERNS: Final = ("ring", "mesh", "chain", "star", "random")


@dataclass
class JumpingWorld:
    """Clocks that exchange messages for a minute.

    Attributes:
        reads: what each reads at instants, int64 ns.
        culprit: the one that jumps, by number.
        rows: the messages.
        mistaken: the messages that are matched wrongly, by number.
    """

    reads: list[Callable[[Values], Values]]
    culprit: int
    rows: Rows
    mistaken: set[int]

    @property
    def clocks(self) -> list[Clock]:
        return [Clock(DRIFT) for _ in self.reads]


def _pairs(rng: np.random.Generator, pattern: str, n: int) -> list[tuple[int, int]]:
    """Who sends to whom."""
    if pattern == "ring":
        return [(k, (k + 1) % n) for k in range(n)]
    if pattern == "mesh":
        return [(i, j) for i in range(n) for j in range(n) if i != j]
    if pattern == "chain":
        there = [(k, k + 1) for k in range(n - 1)]
    elif pattern == "star":
        there = [(0, k) for k in range(1, n)]
    else:
        there = [(int(rng.integers(k)), k) for k in range(1, n)]
        i, j = rng.permutation(n)[:2].tolist()
        there.append((i, j))
    return there + [(j, i) for i, j in there]


def jumping_world(rng: np.random.Generator, most_clocks: int = 8) -> JumpingWorld:
    """A world of 3 to `most_clocks` clocks, of which one jumps by 10 ms to 100 s, either way."""
    n = int(rng.integers(3, most_clocks + 1))
    pattern, culprit = PATTERNS[int(rng.integers(len(PATTERNS)))], int(rng.integers(n))
    size = int(rng.choice([-1, 1]) * 10 ** rng.uniform(7, 11))
    at = int(rng.uniform(15, 45) * S)
    ppm, start = rng.uniform(-40, 40, n), rng.integers(10**12, 10**14, n)

    def reads(clock: int) -> Callable[[Values], Values]:
        def read(t: Values) -> Values:
            drifted: Values = np.floor(t * ppm[clock] * 1e-6).astype(np.int64)
            jumped = np.where(t >= at, size, 0) if clock == culprit else 0
            reading: Values = start[clock] + t + drifted + jumped
            return reading

        return read

    clocks = [reads(k) for k in range(n)]
    every, to_mistake = int(10 ** rng.uniform(8.3, 9.3)), int(rng.integers(0, 3))
    rows, mistaken, n_rows = list[Rows](), set[int](), 0
    for i, j in _pairs(rng, pattern, n):
        sent = np.sort(rng.integers(0, LONG_S * S, LONG_S * S // every))
        received = clocks[j](sent + (2e5 + rng.exponential(5e5, len(sent))).astype(np.int64))
        # One way round a ring, nothing tells a late message from a slow one.
        if to_mistake and len(sent) > 6 and pattern != "ring":
            k = int(rng.integers(2, len(sent) - 2))
            received[k] -= int(10 ** rng.uniform(7.5, 9))
            mistaken.add(n_rows + k)
            to_mistake -= 1
        rows.append(between([Clock(DRIFT)] * n, (i, j), (clocks[i](sent), received)))
        n_rows += len(sent)
    return JumpingWorld(clocks, culprit, Rows.all(*rows), mistaken)


@dataclass
class Judged:
    """What was found of some worlds."""

    alone: int = 0
    tied: int = 0
    wrong: list[int] = field(default_factory=list)
    mistaken: int = 0
    named: int = 0
    instants: int = 0
    outside: int = 0

    def judge(self, seed: int, world: JumpingWorld, rng: np.random.Generator) -> None:
        """Look into one world, whose seed is noted where the wrong clock is blamed."""
        found = find_breaks(Nodes(world.clocks, world.rows))
        blamed = {c for tied in found.breaks for one in tied for c in one.clocks}
        if blamed == {world.culprit}:
            self.alone += 1
        elif world.culprit in blamed:
            self.tied += 1
        else:
            self.wrong.append(seed)
        left_out = {one.row for tied in found.breaks for one in tied}
        self.mistaken += len(world.mistaken)
        self.named += len(world.mistaken & left_out)
        self._look_outside(world, found, rng)

    def _look_outside(self, world: JumpingWorld, found: Findings, rng: np.random.Generator) -> None:
        t = np.sort(rng.integers(S, (LONG_S - 1) * S, 12))
        for _ in range(2):
            source, target = rng.permutation(len(world.reads))[:2].tolist()
            bars = guaranteed_bars(found, source, world.reads[source](t), target)
            truth = world.reads[target](t)
            self.instants += len(t)
            self.outside += int(((bars.earliest > truth) | (bars.latest < truth)).sum())


def judged(worlds: range, seed: int) -> Judged:
    """What was found of worlds of one seed."""
    found = Judged()
    for k in worlds:
        rng = np.random.default_rng([seed, k])
        found.judge(k, jumping_world(rng), rng)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=4)
    given = parser.parse_args()
    table, n = Table(), given.worlds
    found = judged(range(n), given.seed)
    table.row(
        f"{n} worlds of 3 to 8 clocks: who jumped",
        ">= 97 % right alone, none wrong",
        f"{found.alone} right alone, {found.tied} tied, {len(found.wrong)} wrong",
        found.alone >= 0.97 * n and not found.wrong,
    )
    table.row(
        "messages matched wrongly",
        ">= 99 % named",
        f"{found.named} of {found.mistaken}",
        found.named >= 0.99 * found.mistaken,
    )
    table.row(
        "instants outside the guaranteed bars",
        "0",
        f"{found.outside} of {found.instants}",
        not found.outside,
    )
    for seed in found.wrong[:5]:
        table.note("wrong clock", f"world {seed}")
    return table.missed


if __name__ == "__main__":
    sys.exit(main())
