"""Is the truth inside the bars of orders where clocks are set back? Kinds of worlds, a seed each.

A bar of a reading that a clock had twice holds one of its instants, and all of them where the graph
says that there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Final

import numpy as np

from benchmarks.order_worlds import A, B, S, SetClock, SetWorld, missed_ns
from benchmarks.table import Table

C: Final = "com.example.c"
BEGINS: Final = 10**15

Sets = Sequence[tuple[float, float]]


def _world(rng: np.random.Generator, *sets: Sets, share_back: float = 1.0, n: int = 0) -> SetWorld:
    named = zip((A, B, C), sets, strict=False)
    clocks = [
        SetClock(name, moved, float(rng.uniform(-60, 60)), BEGINS + int(rng.integers(10**6)))
        for name, moved in named
    ]
    rate = float(rng.choice([10, 100, 1_000]))
    return SetWorld(clocks, 120, rate, share_back, n, shuffled=bool(rng.random() < 0.5))


def _size(rng: np.random.Generator, most: float = 20.0, least: float = 1e-3) -> float:
    return -float(10 ** rng.uniform(np.log10(least), np.log10(most))) * S


def one(rng: np.random.Generator) -> SetWorld:
    moved = [[], []]
    moved[int(rng.integers(2))] = [(60 * S, _size(rng, 60))]
    return _world(rng, *moved)


def several(rng: np.random.Generator) -> SetWorld:
    return _world(rng, [(at * S, _size(rng, 10)) for at in (30, 60, 90)], [])


def both(rng: np.random.Generator) -> SetWorld:
    return _world(rng, [(40 * S, _size(rng))], [(90 * S, _size(rng))])


def back_and_forward(rng: np.random.Generator) -> SetWorld:
    return _world(rng, [(40 * S, _size(rng))], [(90 * S, -_size(rng))])


def rarely_back(rng: np.random.Generator) -> SetWorld:
    """By more than the clocks may drift between two messages back."""
    return _world(rng, [(60 * S, _size(rng, least=0.02))], [], share_back=0.05)


def with_snapshots(rng: np.random.Generator) -> SetWorld:
    return _world(rng, [(40 * S, _size(rng))], [(90 * S, _size(rng))], n=20)


def mesh(rng: np.random.Generator) -> SetWorld:
    moved: list[Sets] = [[(at * S, _size(rng, 10))] for at in (30, 60, 90)]
    moved[int(rng.integers(3))] = []
    return _world(rng, *moved)


KINDS: Final[dict[str, Callable[[np.random.Generator], SetWorld]]] = {
    "one clock is set back by 1 ms to 60 s": one,
    "set back three times": several,
    "both are set back": both,
    "one is set back, one forward": back_and_forward,
    "20 messages there, one back": rarely_back,
    "both are set back, snapshots too": with_snapshots,
    "two of three clocks are set back": mesh,
}


def rows(table: Table, n_seeds: int) -> None:
    """A row a kind: 0 outside the guaranteed bars, and no message called wrong."""
    for number, (name, make) in enumerate(KINDS.items()):
        outside = wrong = 0
        worst: dict[int, str] = {}
        for seed in range(1, n_seeds + 1):
            rng = np.random.default_rng([seed, number])
            world = make(rng)
            graph, t = world.graph(rng), world.instants(rng)
            for src, dst in permutations(world.clocks, 2):
                missed, _ = missed_ns(graph, src, dst, t, "guaranteed")
                if missed.any():
                    outside += int((missed > 0).sum())
                    worst[seed] = f"{src.name} to {dst.name} by up to {missed.max():,.0f} ns"
            wrong += sum(found.kind == "wrong_order" for found in graph.discontinuities())
        table.row(
            f"{name}, {n_seeds} seeds",
            "0 outside, 0 wrong",
            f"{outside} outside, {wrong} wrong",
            not outside and not wrong,
        )
        for seed, what in list(worst.items())[:5]:
            table.note("outside", f"seed {seed}: {what}")
