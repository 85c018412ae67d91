"""How a period is found, step by step: what is looked at, and what is made of it."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from kept import check_kept

from tracetime.graph.tube import lattice
from tracetime.graph.tube.lattice import _common_divisor, _period, _plausible, _refined, _small


@pytest.mark.parametrize(
    ("small", "plausible"),
    [
        # A multiple is known within 16 for each period in it.
        ([84.0], True), ([83.9], False), ([116.0], True), ([116.1], False),
        ([15.0], True), ([17.0], False),
        # Up to 156.25, a quarter of the period over that; longer ones do not count.
        ([156.25], False), ([156.3], True), ([100.0, 300.0, 340.0, 450.0], True),
        # One in five may be off.
        ([100.0] * 4 + [50.0], True), ([100.0] * 3 + [50.0], False),
        ([100.0] * 8 + [50.0, 51.0], True), ([100.0] * 7 + [50.0, 51.0], False),
        ([], True),
    ],
)  # fmt: skip
def test_a_guess_that_most_short_differences_are_multiples_of(
    small: list[float], plausible: bool
) -> None:
    made = _plausible(np.array(small), np.array([100.0, 1e9]))
    assert made.tolist()[0] == plausible


def test_a_short_guess_is_decided_within_one_and_a_half_of_it() -> None:
    for far, plausible in ((105.0, False), (105.1, True)):
        assert _plausible(np.array([far]), np.array([70.0])).tolist() == [plausible]


@pytest.mark.parametrize(("n_off", "divisor"), [(0, 10), (1, 10), (2, 10), (3, 1)])
def test_the_common_divisor_of_all_but_a_twentieth(n_off: int, divisor: int) -> None:
    gaps = np.array([10, 30, 20, 70, 90] * 8, dtype=np.uint64)
    gaps[:n_off] += np.uint64(1)
    assert _common_divisor(gaps) == divisor
    # What is left of groups of five counts as well.
    assert _common_divisor(np.append(gaps, gaps[-3:])) == divisor


@pytest.mark.parametrize("group", range(12))
def test_periods_are_refined_as_before(group: int) -> None:
    results: list[Any] = []
    for seed in range(8):
        chance = Random(1_000 * group + seed)
        period = [64.2, 77.7, 130.0, 1_000.4, 16_666.67, 5e5][int(chance.random() * 6)]
        n, most = 15 + int(chance.random() * 50), 1 + int(chance.random() * [3, 12, 90][seed % 3])
        times = [1 + int(chance.random() * most) for _ in range(n)]
        noise = [0.4, 1.0, 6.0, 14.0][seed // 2 % 4]
        steps = np.array([t * period + (chance.random() - 0.5) * 2 * noise for t in times])
        for k in range(int(n * [0.0, 0.06, 0.11][seed // 3 % 3])):
            steps[k] = chance.random() * period * most
        known = np.sort(np.abs(steps))
        known = known[known > 2]
        small, guesses = _small(known)
        results.append(
            [
                len(small),
                float(small.sum()),
                len(guesses),
                float(sum(guesses)),
                [
                    _refined(known, small, period * f)
                    for f in (0.5, 0.93, 0.99, 1.0, 1.02, 1.3, 2.0)
                ],
                [_refined(known, known, period * f) for f in (0.98, 1.0, 1.1)],
                _period(np.rint(steps)),
            ]
        )
    check_kept("lattices", f"refined, {group}", results)


def test_no_period_is_sought_of_steps_of_which_many_are_no_multiples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step below half a period is the 0th multiple of it."""
    monkeypatch.setattr(lattice, "_small", pytest.fail)
    steps = np.append(np.full(848, 1.0), 1407.0)
    assert _period(steps) is None
