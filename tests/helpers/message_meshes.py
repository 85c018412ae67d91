"""Several clocks that send each other messages: what is true is known.

Times of a mesh are ns from 0 of no clock; every clock has an offset from them. Readings are int64.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
from message_worlds import Clocks, Delays, S

from tracetime import ClockGraph, ClockId
from tracetime.clocks.domain import ClockDomain

Values = npt.NDArray[np.int64]
Link = tuple[int, int]


class MessageMesh:
    """n clocks and what they send each other.

    Args:
        n: how many clocks; all pairs of them are linked, unless `links` says which.
        rate: messages per second and link, both ways together; or by link.
        asymmetry_ns: standard deviation of by how much more a link's way there takes, and less
            its way back.
        links: the pairs of clocks that send messages.
        silent: (from, to) of the ways that carry none.

    Attributes:
        graph: the orders of all messages.
        ids: the clocks.
        more_ns: by link, how much more than 20 us its way there takes at least.
    """

    def __init__(
        self,
        seed: int,
        n: int,
        *,
        rate: float | Mapping[Link, float] = 100.0,
        seconds: float = 60.0,
        asymmetry_ns: float = 0.0,
        links: Collection[Link] = (),
        silent: Collection[Link] = (),
    ) -> None:
        rng = np.random.default_rng(seed)
        clocks = [Clocks(seconds, rng.uniform(-30, 30)) for _ in range(n)]
        self._offsets = [clock.draw(rng) for clock in clocks]
        self._start = rng.integers(0, 10**12, n)
        self.ids = [ClockId(200 + k) for k in range(n)]
        domains = [ClockDomain(clock, max_drift_ppm=100, wander_ppm=0.5) for clock in self.ids]
        self.graph = ClockGraph(domains=domains)
        self.more_ns: dict[Link, float] = {}
        self.links = list(links or combinations(range(n), 2))
        for i, j in self.links:
            more = rng.normal(0, asymmetry_ns) if asymmetry_ns else 0.0
            self.more_ns[i, j] = more
            for src, dst, base in ((i, j, 20_000 + more), (j, i, 20_000 - more)):
                if (src, dst) not in silent:
                    per_s = rate[i, j] if isinstance(rate, Mapping) else rate
                    many = rng.poisson(per_s * seconds / 2)
                    sent = np.sort(rng.uniform(0, seconds * S, many))
                    got = sent + Delays(base_ns=base).draw(rng, many)
                    self.graph.add_order(
                        (self.true(src, sent), self.ids[src]), (self.true(dst, got), self.ids[dst])
                    )

    def true(self, clock: int, at: Any) -> Values:
        """What a clock reads at times."""
        reading = np.asarray(at, dtype=np.float64) + self._offsets[clock](np.asarray(at))
        return np.floor(reading).astype(np.int64) + self._start[clock]
