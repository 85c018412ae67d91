"""Is the truth inside every bar that orders give? Kinds of worlds, a seed each.

A kind says which bars hold in it: guaranteed ones always, estimated ones where docs/error-bars.md
promises it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from benchmarks.order_worlds import (
    A,
    B,
    Clocks,
    Delays,
    Messages,
    Model,
    S,
    Values,
    World,
    add_messages,
    answers,
    beyond,
    both_ways,
    domain,
    graph_of,
    offset_beyond,
    readings,
)
from benchmarks.table import Table
from tracetime import ClockGraph, Snapshot
from tracetime.graph.tube.results import Bars

C: Final = "com.example.c"
US: Final = 1_000
DRIFT: Final = 200e-6
BOTH: Final[tuple[Bars, ...]] = ("estimated", "guaranteed")
GUARANTEED: Final[tuple[Bars, ...]] = ("guaranteed",)


@dataclass
class Case:
    """A graph, what its clocks read at random instants, and the bars that hold.

    reads: by clock, int64, of one length.
    """

    graph: ClockGraph
    reads: dict[str, Values]
    bars: tuple[Bars, ...] = BOTH
    pairs: list[tuple[str, str]] = field(default_factory=lambda: [(A, B), (B, A)])


def _case(
    rng: np.random.Generator, model: Model, bars: tuple[Bars, ...] = BOTH, min_delay_ns: int = 0
) -> Case:
    world = model.world(rng)
    reads = readings(world, beyond(rng, model.clocks.seconds), model)
    return Case(graph_of(world, model, min_delay_ns), dict(zip((A, B), reads, strict=True)), bars)


SHORT: Final = Clocks(seconds=120)


def queues(rng: np.random.Generator) -> Case:
    kind, load = str(rng.choice(["lognormal", "pareto"])), float(rng.choice([0.1, 0.5, 0.9]))
    return _case(rng, Model(float(10 ** rng.uniform(0, 2)), SHORT, **both_ways(kind, load)))


def asymmetric(rng: np.random.Generator) -> Case:
    there, back = Delays(float(rng.uniform(0, 1e5))), Delays(float(rng.uniform(0, 1e5)))
    return _case(rng, Model(50, SHORT, there, back))


def least_delay(rng: np.random.Generator) -> Case:
    return _case(rng, Model(50, SHORT), min_delay_ns=19_500)


def rarely_back(rng: np.random.Generator) -> Case:
    return _case(rng, Model(100, SHORT, share_back=0.02))


def thin(rng: np.random.Generator) -> Case:
    """Clocks that wander by up to 1 ppm per root second, and 2 to 100 messages one way."""
    clocks = Clocks(
        seconds=float(rng.choice([60, 600, 3600])), walk=float(10 ** rng.uniform(-8, -6))
    )
    kind, load = str(rng.choice(["lognormal", "pareto"])), float(rng.choice([0.1, 0.5, 0.9]))
    model = Model(float(10 ** rng.uniform(0.5, 1.5)), clocks, **both_ways(kind, load))
    world = model.world(rng)
    rarer = str(rng.choice(["there", "back"]))
    sent, got = getattr(world, rarer)
    some = np.sort(rng.choice(len(sent), min(len(sent), int(10 ** rng.uniform(0.3, 2)))))
    world = replace(world, **{rarer: Messages(sent[some], got[some])})
    reads = readings(world, rng.uniform(0, clocks.seconds, 1000) * S)
    return Case(graph_of(world), dict(zip((A, B), reads, strict=True)))


def few(rng: np.random.Generator) -> Case:
    """A handful of messages, or none one way."""
    return _case(rng, Model(float(rng.uniform(0.02, 0.2)), SHORT))


def one_way(rng: np.random.Generator) -> Case:
    return _case(rng, Model(50, SHORT, share_back=0.0))


def far_apart(rng: np.random.Generator) -> Case:
    """Clocks as far apart as REALTIME and MONOTONIC."""
    return _case(rng, Model(20, SHORT, a_ns=10**12, b_ns=1_768_469_400 * S))


def coarse(rng: np.random.Generator) -> Case:
    tick = [int(rng.choice([1, 100, 1_000, 16_000, 1_000_000])) for _ in range(2)]
    return _case(rng, Model(50, SHORT, tick_a_ns=tick[0], tick_b_ns=tick[1]))


def hidden_ticks(rng: np.random.Generator) -> Case:
    """Ticks that no domain declares: readings show them."""
    tick = [int(rng.choice([1, 1_000, 1_000_000, 15_625_000])) for _ in range(2)]
    model = Model(50, SHORT, tick_a_ns=tick[0], tick_b_ns=tick[1])
    world = model.world(rng)
    reads = readings(world, beyond(rng, model.clocks.seconds), model)
    graph = graph_of(world, replace(model, tick_a_ns=1, tick_b_ns=1))
    return Case(graph, dict(zip((A, B), reads, strict=True)))


def knees(rng: np.random.Generator) -> Case:
    clocks = replace(SHORT, walk=1e-9, knees=[(rng.uniform(20, 100) * S, _sign(rng, 2e-6, 50e-6))])
    return _case(rng, Model(50, clocks))


def steps(rng: np.random.Generator) -> Case:
    clocks = replace(SHORT, steps=[(rng.uniform(30, 90) * S, _sign(rng, 2e5, 5e6))])
    return _case(rng, Model(50, clocks))


def any_rates(rng: np.random.Generator) -> Case:
    """Rates that change at any time, within the limits: the estimated bars promise nothing."""
    at = np.sort(rng.uniform(0, 120, 20)) * S
    rates = rng.uniform(-80e-6, 80e-6, 21)
    changes = [(float(t), float(d)) for t, d in zip(at, np.diff(rates), strict=True)]
    clocks = Clocks(seconds=120, ppm=float(rates[0] * 1e6), knees=changes)
    return _case(rng, Model(float(10 ** rng.uniform(0, 2)), clocks), GUARANTEED)


def _sign(rng: np.random.Generator, low: float, high: float) -> float:
    return float(rng.choice([-1, 1]) * rng.uniform(low, high))


def wrong(rng: np.random.Generator) -> Case:
    """Wrong matches: a few messages seem to arrive before they were sent."""
    model = Model(50, SHORT)
    world, _ = with_wrong(rng, model.world(rng))
    reads = readings(world, beyond(rng, 120), model)
    return Case(graph_of(world), dict(zip((A, B), reads, strict=True)))


def with_wrong(
    rng: np.random.Generator, world: World, away: float | None = None
) -> tuple[World, set[int]]:
    """Two wrong matches of each direction, none near `away`.

    Also the numbers, in a graph of the world, of those that arrived before they were sent.
    """
    changed: list[Messages] = []
    false: set[int] = set()
    for messages, on_a in ((world.there, world.there.sent), (world.back, world.back.got)):
        t = (on_a - world.a_ns).astype(np.float64)
        fit = (t > 5 * S) & (t < 115 * S)
        if away is not None:
            fit &= np.abs(t - away) > 5 * S
        picked = rng.choice(np.flatnonzero(fit), 2, replace=False)
        got = messages.got.copy()
        got[picked] -= rng.uniform(5e5, 5e6, 2).astype(np.int64)
        changed.append(Messages(messages.sent, got))
        offset = world.truth(on_a) * (-1 if changed[1:] else 1)
        delay = got - messages.sent - offset
        begin = len(world.there.sent) if changed[1:] else 0
        false |= {begin + int(k) for k in picked if delay[k] < -US}
    return replace(world, there=changed[0], back=changed[1]), false


def with_snapshots(rng: np.random.Generator) -> Case:
    """Messages, and snapshots with measured half-widths, of the same clocks."""
    model = Model(20, SHORT)
    world = model.world(rng)
    t = np.sort(rng.uniform(0, 120, int(rng.integers(1, 30)))) * S
    half = (10 ** rng.uniform(2, 5, len(t))).astype(np.int64)
    a = np.floor(t).astype(np.int64)
    b, error = a + world.truth(a).astype(np.int64), rng.uniform(-1, 1, len(t)) * half
    graph = graph_of(world)
    graph.add_snapshot(
        Snapshot({A: a, B: b + error.astype(np.int64)}, reference=A, half_width_ns={B: half + 4})
    )
    reads = readings(world, beyond(rng, 120))
    return Case(graph, dict(zip((A, B), reads, strict=True)))


def pings(rng: np.random.Generator) -> Case:
    """Pings every second, as orders: the reply stays anywhere between."""
    world = Model(2, SHORT).world(rng)
    n = 100
    sent = np.sort(rng.uniform(0, 119, n)) * S
    got = sent + Delays().draw(rng, n)
    replied = got + rng.exponential(1e6, n)
    back = replied + Delays().draw(rng, n)
    on_a = (np.floor(t).astype(np.int64) for t in (sent, back))
    on_b = (np.floor(t + world.offset(t)).astype(np.int64) for t in (got, replied))
    graph = ClockGraph(domains=[domain(A), domain(B)])
    first, last = on_a
    graph.add_pings(A, B, first, *on_b, last)
    reads = readings(world, beyond(rng, 120))
    return Case(graph, dict(zip((A, B), reads, strict=True)))


def hops(rng: np.random.Generator) -> Case:
    """A and C exchange messages with B only, or all do."""
    models = [Model(float(10 ** rng.uniform(0, 1.5)), SHORT) for _ in range(3)]
    to_b, to_c = models[0].world(rng), models[1].world(rng)
    t = beyond(rng, 120)
    a, b = readings(to_b, t)
    # The second world runs on B's time.
    _, c = readings(to_c, t + offset_beyond(to_b, t))
    graph = ClockGraph(domains=[domain(A), domain(B), domain(C)])
    add_messages(graph, to_b, (A, B))
    add_messages(graph, to_c, (B, C))
    reads = {A: a, B: b, C: c}
    return Case(graph, reads, pairs=[(A, C), (C, A), (A, B), (C, B)])


KINDS: Final[dict[str, Callable[[np.random.Generator], Case]]] = {
    "messages both ways, queues": queues,
    "asymmetric least delays": asymmetric,
    "a least delay that is known": least_delay,
    "50/s there, 1/s back": rarely_back,
    "a few messages": few,
    "one direction": one_way,
    "clocks 56 years apart": far_apart,
    "ticks up to 1 ms": coarse,
    "ticks that none declares": hidden_ticks,
    "knees of 2 to 50 ppm": knees,
    "steps of 0.2 to 5 ms": steps,
    "rates that change at any time": any_rates,
    "wrong matches": wrong,
    "mixed with snapshots": with_snapshots,
    "pings": pings,
    "over two hops": hops,
    "2 to 100 messages one way, clocks that wander": thin,
}


def rows(table: Table, n_seeds: int) -> None:
    """A row a kind: 0 outside."""
    for number, (name, make) in enumerate(KINDS.items()):
        counts = {"estimated": 0, "guaranteed": 0}
        worst: dict[int, str] = {}
        for seed in range(1, n_seeds + 1):
            case = make(np.random.default_rng([seed, number]))
            for bars in case.bars:
                for src, dst in case.pairs:
                    got = answers(case.graph, src, dst, case.reads[src], case.reads[dst], bars)
                    out = int((got.outside > 0).sum())
                    counts[bars] += out
                    if out:
                        worst[seed] = f"{out} {bars}, by up to {got.outside.max():,.0f} ns"
        table.row(
            f"{name}, {n_seeds} seeds",
            "0 outside",
            f"{counts['estimated']} estimated, {counts['guaranteed']} guaranteed",
            not worst,
        )
        for seed, what in list(worst.items())[:5]:
            table.note("outside", f"seed {seed}: {what}")
