"""Snapshots that hold one reading of a clock, and contradict each other about the other clock."""

import numpy as np
import pytest

from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

S = 1_000_000_000


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize(
    ("a", "r"),
    [
        ([1, 1], [0, 8]),
        ([1, 1, 2], [0, 8, 8]),
        ([1, 2, 2, 2, 3], [0, 0, 5, 9, 9]),
        # A suspend: the clock reads the same before and after it.
        ([*range(1, 21), *range(20, 41)], [0] * 20 + [8] * 21),
        # Set back by 10 s: each of ten readings is two instants.
        ([*range(1, 31), *range(21, 41)], [0] * 30 + [10] * 20),
    ],
)
def test_a_bar_holds_every_instant_that_a_reading_was_seen_at(a, r, bars):
    a, r = np.array(a) * S, np.array(r) * S
    tube = Tube(Evidence.of(a, r, 1_000), Limits(1e-4, 1e-6))
    found = tube.convert(a, bars=bars)
    assert np.all((found.earliest <= a + r) & (a + r <= found.latest))
    back = tube.convert(a + r, bars=bars, inverse=True)
    assert np.all((back.earliest <= a) & (a <= back.latest))
    beside = tube.convert(a[:1] - 1, bars=bars)
    assert beside.latest[0] - beside.earliest[0] < 2_010
