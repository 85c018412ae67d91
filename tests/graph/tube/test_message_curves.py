"""The estimate between machines: a curve through the fastest messages, while the bars stay."""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

import numpy as np
import pytest

from tracetime.graph.tube import message_curves
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.order_estimate import LEAST_PINGS
from tracetime.graph.tube.tube import Converted, Tube

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
        return Tube.build(Evidence.of(self.a, self.r, self.h), LIMITS, messages=messages)


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


def asked(tube: Tube, at: np.ndarray) -> list[Converted]:
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


def missed(of: Messages, tube: Tube) -> float:
    """Root mean square of the estimate's error among the messages, ns."""
    at = np.linspace(of.a[0], of.a[-1], 999).astype(int)
    error = (tube.convert(at).estimate - at - offsets(at)).astype(float)
    return float(np.sqrt(np.mean(error**2)))


def test_the_fastest_messages_say_more_than_the_middles_of_all() -> None:
    worlds = [sent(60, seed) for seed in range(30)]
    curved, plain = (
        np.array([missed(of, of.tube(messages=messages)) for of in worlds])
        for messages in (True, False)
    )
    assert np.median(curved) < 0.8 * np.median(plain)
    assert curved.mean() < 0.8 * plain.mean()


@pytest.mark.parametrize("world", ["few messages", "one message", "a change of rate"])
def test_the_runs_say_more_where_pings_are_few_or_the_rate_changed(world: str) -> None:
    of = WORLDS[world]
    at = everywhere(of)
    curved, plain = (of.tube(messages=messages).convert(at) for messages in (True, False))
    assert np.array_equal(curved.estimate, plain.estimate)


def test_so_few_pings_are_no_curve() -> None:
    """Windows hold 5 messages, at least."""
    for n, expected in ((5 * LEAST_PINGS - 3, True), (5 * LEAST_PINGS, False)):
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


def test_one_segment_has_a_curve_while_the_rate_changes_in_another() -> None:
    of = sent(110, step_ns=50 * MS, change_s=495)
    of.r[:] += np.maximum(of.a - of.a[80], 0) * 60 // 10**6
    curved, plain = (of.tube(messages=messages) for messages in (True, False))
    for here, expected in ((slice(50), False), (slice(50, None), True)):
        at = of.a[here]
        same = np.array_equal(curved.convert(at).estimate, plain.convert(at).estimate)
        assert same == expected


def test_two_bursts_are_two_pings() -> None:
    near = sent(60)
    a = BEGIN + np.arange(60) * MS + np.repeat([0, 600 * S], 30)
    of = Messages(a, offsets(a), near.r - near.true + offsets(a), near.h)
    at = everywhere(of)
    curved, plain = (of.tube(messages=messages).convert(at) for messages in (True, False))
    assert np.array_equal(curved.estimate, plain.estimate)


def test_no_curve_is_fitted_to_a_few_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    """There may be thousands of machines, each with a few."""
    monkeypatch.setattr(message_curves, "segment_curves", None)
    sent(39).tube()
    with pytest.raises(TypeError):
        sent(40).tube()


def test_a_stray_bends_no_curve() -> None:
    """One message that contradicts the rate of those about it, but not the limits on drift."""
    of = sent(60)
    others = Messages(*(np.delete(column, 30) for column in of))
    of.r[30] += 3 * MS
    tube = of.tube()
    assert tube.runs.strays[30]
    missed = tube.convert(of.a).estimate - others.tube().convert(of.a).estimate
    assert np.abs(np.delete(missed, 30)).max() < 100
