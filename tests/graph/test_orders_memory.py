"""How much memory orders take while they become bars and an estimate."""

from __future__ import annotations

import tracemalloc

import numpy as np

from tracetime import ClockGraph

N = 100_000
"""Messages there, and as many back."""


def test_orders_take_few_arrays_of_their_length() -> None:
    rng = np.random.default_rng(1)
    graph = ClockGraph()
    for here, there, ahead in (("an.a", "an.b", 5_000), ("an.b", "an.a", -5_000)):
        sent = np.sort(rng.integers(0, 10**11, N))
        graph.add_order((sent, here), (sent + ahead + rng.integers(20_000, 10**6, N), there))
    # What is imported for a first conversion is none of the orders'.
    few = ClockGraph()
    few.add_order((1, "an.a"), (2, "an.b"))
    few.convert(1, "an.a", "an.b", policy="tube")
    tracemalloc.start()
    try:
        graph.convert(10**9, "an.a", "an.b", policy="tube")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # Bytes of each order: some 16 numbers.
    assert peak / (2 * N) < 132
