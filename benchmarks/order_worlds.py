"""Graphs of clocks that exchange messages, and how the graph's answers compare with the truth.

The worlds are those of the tests (tests/helpers/message_worlds.py): two clocks, A and B, and
delays of tens of microseconds. A seed gives the same world everywhere.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tracetime import ClockDomain, ClockGraph
from tracetime.graph.tube.results import Bars

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from message_worlds import Clocks, Delays, Messages, Model, World, both_ways
from set_back_worlds import SetClock, SetWorld, missed_ns

__all__ = [
    "Clocks",
    "Delays",
    "Messages",
    "Model",
    "SetClock",
    "SetWorld",
    "World",
    "both_ways",
    "missed_ns",
]

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

S: Final = 1_000_000_000
A: Final = "com.example.a"
B: Final = "com.example.b"


def domain(name: str, tick_ns: int = 1, wander_ppm: float | None = None) -> ClockDomain:
    """A clock of a machine of its own; two of them drift by 200 ppm at most."""
    return ClockDomain(
        name, max_drift_ppm=66.66, oscillator=name, tick_ns=tick_ns, wander_ppm=wander_ppm
    )


def graph_of(
    world: World,
    model: Model | None = None,
    min_delay_ns: int = 0,
    wander_ppm: float | None = None,
) -> ClockGraph:
    """A graph of A and B with all messages as orders: those from A first."""
    ticks = (model.tick_a_ns, model.tick_b_ns) if model else (1, 1)
    clocks = [domain(name, tick, wander_ppm) for name, tick in zip((A, B), ticks, strict=True)]
    graph = ClockGraph(domains=clocks)
    add_messages(graph, world, (A, B), min_delay_ns)
    return graph


def add_messages(
    graph: ClockGraph, world: World, clocks: tuple[str, str], min_delay_ns: int = 0
) -> None:
    """Add both directions of a world to a graph, between two clocks of it."""
    one, other = clocks
    there, back = world.there, world.back
    graph.add_order(before=(there.sent, one), after=(there.got, other), min_delay_ns=min_delay_ns)
    graph.add_order(before=(back.sent, other), after=(back.got, one), min_delay_ns=min_delay_ns)


def inner(seconds: float, n: int = 1181, margin: float = 5.0) -> Floats:
    """Even instants (ns of A from its beginning), without the ends."""
    return np.linspace(margin * S, (seconds - margin) * S, n)


def beyond(rng: np.random.Generator, seconds: float, n: int = 1000) -> Floats:
    """Random instants, a tenth of the span beyond either end among them."""
    return np.sort(rng.uniform(-0.1, 1.1, n) * seconds * S)


def readings(world: World, t: Floats, model: Model | None = None) -> tuple[Values, Values]:
    """What A and B read at instants (true ns of A from its beginning)."""
    ticks = (model.tick_a_ns, model.tick_b_ns) if model else (1, 1)
    # The offset is known within the world's span; its rate goes on beyond.
    sides = []
    for at, tick, begin in (
        (t, ticks[0], world.a_ns),
        (t + offset_beyond(world, t), ticks[1], world.b_ns),
    ):
        sides.append((np.floor(at / tick) * tick).astype(np.int64) + begin)
    return sides[0], sides[1]


def offset_beyond(world: World, t: Floats) -> Floats:
    """The offset, at instants before or after the world's messages, too: its last rate goes on."""
    first = -0.5 * S
    last = float(max(world.there.sent[-1:].max(initial=0), world.back.got[-1:].max(initial=0)))
    last -= world.a_ns
    inside = np.clip(t, first, last)
    ends = np.array([first, first + 0.2 * S, last - 0.2 * S, last])
    known = world.offset(ends)
    rates = (known[1] - known[0]) / (0.2 * S), (known[3] - known[2]) / (0.2 * S)
    out: Floats = world.offset(inside) + np.where(t < first, rates[0], rates[1]) * (t - inside)
    return out


@dataclass
class Answers:
    """What a graph says of B at readings of A, against the truth.

    error: of the estimates, ns; half: the half-width of each bar; outside: by how much the truth is
    outside each bar, 0 within.
    """

    error: Floats
    half: Floats
    outside: Floats

    @property
    def rms(self) -> float:
        return float(np.sqrt(np.nanmean(self.error**2)))

    @property
    def worst(self) -> float:
        return float(np.nanmax(np.abs(self.error)))

    @property
    def median_half(self) -> float:
        return float(np.nanmedian(self.half))


def answers(
    graph: ClockGraph,
    src: str,
    dst: str,
    values: Values,
    truth: Values,
    bars: Bars = "estimated",
) -> Answers:
    """Convert values from src to dst, and compare. An open side holds any truth."""
    got = graph.convert(values, src, dst, policy="tube", bars=bars, bounds=True, errors="mask")
    estimate, early, late = (_less(side, truth) for side in got)
    outside = np.fmax(np.fmax(early, -late), 0.0)
    return Answers(estimate, (late - early) / 2, np.nan_to_num(outside))


def _less(side: pa.Array, truth: Values) -> Floats:
    """side - truth, NaN where the side is null."""
    known = side.is_valid().to_numpy(zero_copy_only=False)
    values = side.fill_null(0).to_numpy()
    return np.where(known, (values - truth).astype(np.float64), np.nan)
