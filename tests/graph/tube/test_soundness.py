"""A few of the random worlds of benchmarks/soundness.py: what was true is inside every bar."""

from __future__ import annotations

import numpy as np
import pytest
from seeds import seeds

from benchmarks.soundness import CLASSES, Drawn, Tally

MISSES = ("outside estimated", "outside guaranteed", "certain and wrong")


@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", seeds(12))
def test_what_was_true_is_inside(name: str, seed: int) -> None:
    rng = np.random.default_rng([7, seed])
    tally = Tally()
    tally.add(CLASSES[name](rng), rng, f"world {seed}")
    assert tally.counts["converted"] >= 1_000
    assert {miss: tally.counts[miss] for miss in MISSES} == dict.fromkeys(MISSES, 0), tally.worst
    assert tally.counts["unanswered"] <= tally.counts["converted"] // 10


def test_a_truth_outside_is_counted() -> None:
    """Clocks that run faster than they say, after their snapshots were taken."""
    rng = np.random.default_rng(7)
    world = CLASSES["rates that wander as declared"](rng).world
    for clock in world.clocks:
        clock.ppm = clock.ppm + 5 * clock.domain.drift_ppm * rng.uniform(1, 2)
    tally = Tally()
    tally.add(Drawn(world), rng, "faster than declared")
    assert tally.counts["outside estimated"] > 0
    assert tally.counts["outside guaranteed"] > 0
