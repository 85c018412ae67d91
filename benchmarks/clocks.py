"""Simulated pairs of clocks, from a seed; benchmarks and tests compare the tube with them.

The truth is the offset of clock b from clock a as a function of a, on a fine grid, in ns.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Values = npt.NDArray[np.int64]

START_NS = 1_000_000_000_000_000
OFFSET_NS = 1_700_000_000_000_000_000
STEP_S = 0.1


@dataclass
class Pair:
    """A pair of clocks: the truth on a grid, and snapshots of it.

    Attributes:
        t: seconds since START_NS on clock a, ascending.
        offset: offset less OFFSET_NS at each, ns; linear in between.
        jumps: (second, ns): from that second on the offset is larger by ns.
    """

    t: Floats
    offset: Floats
    jumps: list[tuple[float, float]]

    def at(self, a_ns: Values) -> Values:
        """The reading of clock b when a reads a_ns, rounded to whole ns."""
        seconds = (a_ns - START_NS) * 1e-9
        offset = np.interp(seconds, self.t, self.offset)
        for when, size in self.jumps:
            offset = offset + size * (seconds >= when)
        return a_ns + OFFSET_NS + np.rint(offset).astype(np.int64)


def nanoseconds(seconds: Floats) -> Values:
    """Seconds since the start as readings of clock a."""
    return START_NS + np.rint(np.asarray(seconds) * 1e9).astype(np.int64)


def oscillator(
    rng: np.random.Generator,
    seconds: float = 3600.0,
    *,
    mean: float = 20e-6,
    temperature: float = 0.2e-6,
    walk: float = 1e-10,
    white: float = 1e-9,
    margin: float = 0.0,
) -> Pair:
    """A crystal against another: white FM, random-walk FM, and slow changes of temperature."""
    n = int((seconds + 2 * margin) / STEP_S)
    t = np.arange(n) * STEP_S - margin
    rate = (
        mean * rng.uniform(0.5, 1.5) * rng.choice([-1, 1])
        + temperature * np.sin(2 * np.pi * t / rng.uniform(1200, 2400) + rng.uniform(0, 6))
        + np.cumsum(rng.normal(0, walk, n))
        + rng.normal(0, white, n)
    )
    return Pair(t, np.concatenate([[0], np.cumsum(rate[:-1] * STEP_S)]) * 1e9, [])


def knees(rng: np.random.Generator, seconds: float, rates: Floats, times: Floats) -> Pair:
    """A rate that changes at `times` and is constant in between."""
    t = np.concatenate([[-100.0], times, [seconds + 100.0]])
    offset = np.concatenate([[0], np.cumsum(np.diff(t) * rates)]) * 1e9
    return Pair(t, offset, [])


def brackets(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Half-widths and errors of local brackets, ns."""
    half = rng.uniform(50, 250, n)
    return half, rng.uniform(-half, half)


def pings(rng: np.random.Generator, n: int) -> tuple[Floats, Floats]:
    """Half-widths and errors of pings with heavy-tailed delays, ns."""
    there, back = (30e3 + rng.pareto(1.5, n) * 10e3 for _ in range(2))
    return (there + back) / 2, (there - back) / 2


def snapshots(pair: Pair, a_ns: Values, half: Floats, error: Floats) -> tuple[Values, Values]:
    """Offsets and half-widths (int64 ns) of snapshots of a pair; the bar holds the truth."""
    return (
        pair.at(a_ns) - a_ns + np.rint(error).astype(np.int64),
        np.ceil(half).astype(np.int64) + 1,
    )
