"""The estimate between machines: a curve through the fastest messages, while the bars stay."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from seeds import seeds

from tracetime.graph.tube import order_curves
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_curves import LEAST_MESSAGES
from tracetime.graph.tube.results import Reached
from tracetime.graph.tube.tube import Tube

S, MS, US = 10**9, 10**6, 10**3
LIMITS = Limits(400e-6, 1e-6)
BEGIN = 10**13


class Messages(NamedTuple):
    """What messages bound: readings of a, the true offsets there, and the evidence's columns."""

    a: np.ndarray
    true: np.ndarray
    r: np.ndarray
    h: np.ndarray

    def tube(self, *, messages: bool = True) -> Tube:
        return Tube(Evidence.of(self.a, self.r, self.h), LIMITS, messages=messages)


def offsets(
    a: np.ndarray, knee_ppm: float = 0.0, step_ns: int = 0, change_s: int = 455
) -> np.ndarray:
    """The true offset, 20 ppm a second; from an instant on by another rate, or stepped."""
    t = a - BEGIN
    late = np.maximum(t - change_s * S, 0)
    return np.rint(7 * S + t * 20e-6 + late * knee_ppm * 1e-6 + (late > 0) * step_ns).astype(int)


def sent(n: int, seed: int = 1, **changes: float) -> Messages:
    """A message every 10 s, at least 20 us and 200 us more on the average each way."""
    random = np.random.default_rng(seed)
    a = BEGIN + np.arange(n) * 10 * S
    there, back = (20 * US + random.exponential(200 * US, (2, n))).astype(int)
    true = offsets(a, **changes)
    return Messages(a, true, true + (back - there) // 2, (there + back) // 2 + 1)


def everywhere(of: Messages) -> np.ndarray:
    """Readings of a among the messages, at them and far beyond."""
    ends = (of.a[0], of.a[-1])
    return np.sort(
        np.concatenate([np.linspace(*ends, 999).astype(int), of.a, [ends[0] - S, ends[1] + 99 * S]])
    )


def asked(tube: Tube, at: np.ndarray) -> list[Reached]:
    """Both kinds of bars, both ways."""
    return [
        tube.convert(at + inverse * 7 * S, bars=bars, inverse=inverse)
        for bars, inverse in product(("estimated", "guaranteed"), (False, True))
    ]


WORLDS = {
    "one rate": sent(60),
    "few messages": sent(5),
    "one message": sent(1),
    "a change of rate": sent(60, knee_ppm=60),
    "a step": sent(60, step_ns=50 * MS),
    "a fall": sent(60, step_ns=-20 * S),
}


@pytest.mark.parametrize("of", WORLDS.values(), ids=WORLDS.keys())
def test_bars_are_the_same_and_hold_the_estimate(of: Messages) -> None:
    at = everywhere(of)
    answers = (asked(of.tube(messages=messages), at) for messages in (True, False))
    for curved, plain in zip(*answers, strict=True):
        assert np.array_equal(curved.earliest, plain.earliest)
        assert np.array_equal(curved.latest, plain.latest)
        assert np.array_equal(curved.status, plain.status)
        known = curved.status == 0
        assert (curved.earliest <= curved.estimate)[known].all()
        assert (curved.estimate <= curved.latest)[known].all()


def missed(of: Messages, tube: Tube, **changes: float) -> float:
    """Root mean square of the estimate's error among the messages, ns."""
    at = np.linspace(of.a[0], of.a[-1], 999).astype(int)
    error = (tube.convert(at).estimate - at - offsets(at, **changes)).astype(float)
    return float(np.sqrt(np.mean(error**2)))


def test_the_fastest_messages_say_more_than_the_middles_of_all() -> None:
    worlds = [sent(60, seed) for seed in range(30)]
    curved, plain = (
        np.array([missed(of, of.tube(messages=messages)) for of in worlds])
        for messages in (True, False)
    )
    assert np.median(curved) < 0.8 * np.median(plain)
    assert curved.mean() < 0.8 * plain.mean()


@pytest.mark.parametrize("world", ["few messages", "one message"])
def test_the_runs_say_more_where_pings_are_few(world: str) -> None:
    of = WORLDS[world]
    at = everywhere(of)
    curved, plain = (of.tube(messages=messages).convert(at) for messages in (True, False))
    assert np.array_equal(curved.estimate, plain.estimate)


def test_so_few_pings_are_no_curve() -> None:
    for n, expected in ((LEAST_MESSAGES - 1, True), (LEAST_MESSAGES, False)):
        of = sent(n)
        at = everywhere(of)
        estimates = [of.tube(messages=messages).convert(at).estimate for messages in (True, False)]
        assert np.array_equal(*estimates) == expected


@pytest.mark.parametrize(("before", "after"), [(50, 5), (5, 50), (50, 60)])
def test_each_segment_has_a_curve_of_its_own_or_none(before: int, after: int) -> None:
    of = sent(before + after, step_ns=50 * MS, change_s=10 * before - 5)
    curved, plain = (of.tube(messages=messages) for messages in (True, False))
    for here in (slice(before), slice(before, None)):
        mine = Messages(*(column[here] for column in of))
        at = np.linspace(*mine.a[[0, -1]], 99).astype(int)
        alone = mine.tube().convert(at).estimate
        assert np.abs(curved.convert(at).estimate - alone).max() <= 1
        same = np.array_equal(curved.convert(at).estimate, plain.convert(at).estimate)
        assert same == (len(mine.a) == 5)


@pytest.mark.parametrize("knee_ppm", [20, 60])
def test_a_curve_turns_where_the_rate_changes(knee_ppm: int) -> None:
    changes = {"knee_ppm": knee_ppm, "change_s": 1005}
    worlds = [sent(200, seed, **changes) for seed in range(20)]
    curved, plain = (
        np.median([missed(of, of.tube(messages=messages), **changes) for of in worlds])
        for messages in (True, False)
    )
    assert curved < 0.8 * plain


@pytest.mark.parametrize("seed", seeds(4))
def test_a_rate_that_strays_within_the_bounds_does_not_leave_the_bar(seed: int) -> None:
    """Each message alone leaves 100 us open: a tube of one rate bends within, and misses."""
    random = np.random.default_rng(seed)
    a = BEGIN + np.arange(600) * S // 10
    knots = np.arange(0, 71, 7) * S
    strayed = np.cumsum(np.append(0, random.uniform(-25e-6, 25e-6, 10) * 7 * S))
    there, back = (60 * US + random.exponential(40 * US, (2, 600))).astype(int)
    true = 7 * S + np.interp(a - BEGIN, knots, strayed).astype(int)
    of = Messages(a, true, true + (back - there) // 2, (there + back) // 2 + 1)
    at = np.linspace(*a[[0, -1]], 2999).astype(int)
    truth = at + 7 * S + np.interp(at - BEGIN, knots, strayed)
    found = of.tube().convert(at)
    assert np.all((found.earliest <= truth + 1) & (truth - 1 <= found.latest))
    assert np.median(found.latest - found.earliest) < 300 * US


def test_two_bursts_are_two_pings() -> None:
    near = sent(60)
    a = BEGIN + np.arange(60) * MS + np.repeat([0, 600 * S], 30)
    of = Messages(a, offsets(a), near.r - near.true + offsets(a), near.h)
    at = everywhere(of)
    curved, plain = (of.tube(messages=messages).convert(at) for messages in (True, False))
    assert np.array_equal(curved.estimate, plain.estimate)


def test_no_curve_is_fitted_to_a_few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of machines, each with a few."""
    monkeypatch.setattr(order_curves, "segment_curves", None)
    sent(LEAST_MESSAGES - 1).tube()
    with pytest.raises(TypeError):
        sent(LEAST_MESSAGES).tube()


def test_a_stray_bends_no_curve() -> None:
    """One message that contradicts the rate of those about it, but not the limits on drift."""
    of = sent(60)
    others = Messages(*(np.delete(column, 30) for column in of))
    of.r[30] += 3 * MS
    tube = of.tube()
    assert tube.runs.strays[30]
    missed = tube.convert(of.a).estimate - others.tube().convert(of.a).estimate
    assert np.abs(np.delete(missed, 30)).max() < 100
