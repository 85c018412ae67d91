"""The speed of the tube beside what it must show: python benchmarks/tube_speed.py"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from clocks import START_NS, Values, brackets

from tracetime.graph.tube import Evidence, Limits, Tube

LIMITS = Limits(200e-6, 1e-6)


def best(work: Callable[[], object], times: int = 4) -> float:
    """Seconds of the fastest of some tries."""
    taken = []
    for _ in range(times):
        start = perf_counter()
        work()
        taken.append(perf_counter() - start)
    return min(taken)


def snapshots(n: int) -> tuple[Values, Values, Values]:
    rng = np.random.default_rng(n)
    rate = 20e-6 + np.cumsum(rng.normal(0, 1e-11, n)) + rng.normal(0, 1e-10, n)
    half, error = brackets(rng, n)
    a = START_NS + np.arange(n, dtype=np.int64) * 10_000_000_000
    return (
        a,
        np.rint(np.cumsum(rate * 10) * 1e9 + error).astype(np.int64),
        np.ceil(half).astype(np.int64) + 1,
    )


def main() -> None:
    a, r, h = snapshots(1_000)
    tube = Tube.build(Evidence.of(a, r, h), LIMITS)
    values = np.sort(np.random.default_rng(1).integers(a[0], a[-1], 10_000_000))
    copy = best(values.copy)
    back = tube.convert(values).estimate
    shuffled = np.random.default_rng(2).permutation(values)
    floor = best(lambda: shuffled + r[np.searchsorted(a, shuffled, side="right") - 1], 2)
    print(f"a NumPy copy of 10^7 values: {copy * 100:.2f} ns each; floor: {floor * 100:.1f}")
    for what, given, inverse in (("a to b", values, False), ("b to a", back, True)):
        taken = best(lambda: tube.convert(given, inverse=inverse))  # noqa: B023
        print(f"{what}, sorted: {taken * 100:.1f} ns each, {taken / copy:.1f}x copy (bar 15)")
    taken = best(lambda: tube.convert(shuffled), 2)
    print(f"a to b, random: {taken * 100:.1f} ns each, {taken / floor:.2f}x floor (bar 1.5)")
    many = snapshots(1_000_000)
    taken = best(lambda: Tube.build(Evidence.of(*many), LIMITS), 3)
    print(f"tube of 10^6 snapshots: {taken:.2f} s (bar 0.5)")


if __name__ == "__main__":
    main()
