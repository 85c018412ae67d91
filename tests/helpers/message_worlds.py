"""Two clocks that send each other messages: what is true is known.

The time of a world is the reading of clock A, in ns from 0; offsets are B - A. Both are floats, for
they are small; readings are int64. A seed gives the same world in every test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

S = 1_000_000_000
US = 1_000
PPM = 1e-6

Values = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Offset = Callable[[Floats], Floats]


class Messages(NamedTuple):
    """Readings of messages of one direction, int64 ns, in the order they were sent."""

    sent: Values
    got: Values


class Bounds(NamedTuple):
    """What messages say of B - A: where on A, from below and from above; int64 ns, a ascending.

    `above` marks those that bound from above; the other side is None of theirs (see `open_sides`).
    """

    a: Values
    bound: Values
    above: npt.NDArray[np.bool_]

    def open_sides(self, widest: int) -> tuple[Values, Values, Values]:
        """a, low, high; the side that says nothing is `widest` beyond the other."""
        low = np.where(self.above, self.bound - widest, self.bound)
        high = np.where(self.above, self.bound, self.bound + widest)
        return self.a, low, high

    def floats(self, origin: int = 0) -> tuple[Floats, Floats, Floats]:
        """a, low, high less an origin of the offsets; the open sides are infinite."""
        value = (self.bound - origin).astype(np.float64)
        low, high = np.where(self.above, -np.inf, value), np.where(self.above, value, np.inf)
        return self.a.astype(np.float64), low, high


@dataclass(frozen=True)
class Delays:
    """The delays of one direction: `base_ns`, a little jitter, and queues for a share `load`."""

    base_ns: float = 20_000.0
    load: float = 0.5
    kind: str = "lognormal"
    jitter_ns: float = 500.0

    def draw(self, rng: np.random.Generator, n: int) -> Floats:
        delay = self.base_ns + rng.exponential(self.jitter_ns, n)
        busy = rng.random(n) < self.load
        if self.kind == "lognormal":
            queue = rng.lognormal(np.log(50_000.0), 1.5, n)
        elif self.kind == "pareto":
            queue = 5_000.0 * (1 + rng.pareto(1.5, n))
        else:
            raise ValueError(f"no such kind of delay: {self.kind}")
        return delay + busy * queue


@dataclass(frozen=True)
class Clocks:
    """B against A: a rate whose error walks at random, knees and steps.

    walk: ns per ns and root second. knees: (at, change of rate); steps: (at, size in ns); times in
    ns on A.
    """

    seconds: float = 600.0
    ppm: float = 30.0
    walk: float = 1e-8
    knees: Sequence[tuple[float, float]] = ()
    steps: Sequence[tuple[float, float]] = ()

    def draw(self, rng: np.random.Generator) -> Offset:
        """The offset over A's readings."""
        every_s = 0.05
        at = np.arange(-1, self.seconds + 1, every_s)
        rate = self.ppm * PPM + np.cumsum(rng.normal(0, self.walk * every_s**0.5, len(at)))
        gained = np.cumsum((rate[1:] + rate[:-1]) / 2 * every_s * S)
        line = np.r_[0.0, gained] + rng.uniform(-1e6, 1e6)

        def offset(x: Floats) -> Floats:
            out: Floats = np.interp(x, at * S, line)
            for start, rate in self.knees:
                out = out + rate * np.maximum(x - start, 0.0)
            for start, size in self.steps:
                out = out + np.where(x >= start, size, 0.0)
            return out

        return offset


@dataclass(frozen=True)
class World:
    """Two clocks and what they send.

    offset: the truth. there: A's readings as sent, B's as got; back: the other way round.
    a_ns, b_ns: readings of the clocks at the beginning; offsets count from b_ns - a_ns.
    """

    offset: Offset
    there: Messages
    back: Messages
    a_ns: int = 0
    b_ns: int = 0

    @property
    def origin_ns(self) -> int:
        """What `offset` counts from."""
        return self.b_ns - self.a_ns

    def truth(self, a: Values) -> Floats:
        """B - A less `origin_ns`, at readings of A."""
        return self.offset((a - self.a_ns).astype(np.float64))

    def bounds(self, min_delay_ns: int = 0, drift: float = 0.0, tick_ns: int = 1) -> Bounds:
        """The evidence of all messages; tick_ns: what is added for the ticks of the clocks."""
        least = int(np.floor(min_delay_ns * (1 - drift)))
        a = np.concatenate([self.there.sent, self.back.got])
        bound = np.concatenate(
            [
                self.there.got - self.there.sent - least + tick_ns,
                self.back.sent - self.back.got + least - tick_ns,
            ]
        )
        above = np.arange(len(a)) < len(self.there.sent)
        order = np.argsort(a, kind="stable")
        return Bounds(a[order], bound[order], above[order])


@dataclass(frozen=True)
class Model:
    """A kind of world; `world(seed)` is one of them.

    rate: messages per second, both ways together. share_back: the share of those from B that are
    kept. a_ns, b_ns: where the readings begin. tick_a_ns, tick_b_ns: what the clocks step by.
    """

    rate: float = 100.0
    clocks: Clocks = field(default_factory=Clocks)
    there: Delays = field(default_factory=Delays)
    back: Delays = field(default_factory=Delays)
    share_back: float = 1.0
    a_ns: int = 0
    b_ns: int = 0
    tick_a_ns: int = 1
    tick_b_ns: int = 1

    def world(self, seed: int | np.random.Generator) -> World:
        rng = np.random.default_rng(seed)
        offset = self.clocks.draw(rng)
        span = self.clocks.seconds * S
        n, m = rng.poisson(self.rate * self.clocks.seconds / 2, 2)
        sent_a = np.sort(rng.uniform(0, span, n))
        sent_b = np.sort(rng.uniform(0, span, m))
        got_b = sent_a + self.there.draw(rng, n)
        got_a = sent_b + self.back.draw(rng, m)
        there = Messages(self._a(sent_a), self._b(got_b + offset(got_b)))
        back = Messages(self._b(sent_b + offset(sent_b)), self._a(got_a))
        if self.share_back < 1:
            kept = rng.random(m) < self.share_back
            back = Messages(back.sent[kept], back.got[kept])
        return World(offset, there, back, self.a_ns, self.b_ns)

    def _a(self, at: Floats) -> Values:
        return _ticked(at, self.tick_a_ns) + self.a_ns

    def _b(self, at: Floats) -> Values:
        return _ticked(at, self.tick_b_ns) + self.b_ns


def both_ways(kind: str = "lognormal", load: float = 0.5, **rest: float) -> dict[str, Delays]:
    """`there` and `back` of a model alike."""
    delays = Delays(kind=kind, load=load, **rest)
    return {"there": delays, "back": delays}


def _ticked(at: Floats, tick_ns: int) -> Values:
    return (np.floor(at / tick_ns) * tick_ns).astype(np.int64)
