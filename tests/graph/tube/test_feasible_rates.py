"""The rates that orders allow, the limits on drift set aside, against every pair of them."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from seeds import seeds

from tracetime import ClockDomain, ClockGraph
from tracetime.graph.tube.binding import FeasibleRates, feasible_rates

A, B = "com.example.a", "com.example.b"
S = 10**9


def graph_of(there, back, drift_ppm=100, **declared):
    """there, back: (sent, received) of the messages from A to B, and from B to A."""
    graph = ClockGraph(
        domains=[ClockDomain(c, max_drift_ppm=drift_ppm, oscillator=c, **declared) for c in (A, B)]
    )
    for before, after, messages in ((A, B, there), (B, A, back)):
        for sent, received in messages:
            graph.add_order((int(sent), before), (int(received), after))
    return graph


def rates_of(graph, at=S):
    return graph.explain(at, A, B, policy="tube").steps[0].rates


def by_every_pair(there, back):
    """The least and the greatest slope between highs and lows; a tick of 1 ns at each end."""
    highs = [(sent, received - sent + 2) for sent, received in there]
    lows = [(received, sent - received - 2) for sent, received in back]
    least, most = [], []
    for (x, high), (y, low) in product(highs, lows):
        if x > y:
            most.append(Fraction(high - low, x - y))
        elif x < y:
            least.append(Fraction(low - high, y - x))
    return tuple(float(slope * 10**6) for slope in (max(least), min(most)))


@pytest.mark.parametrize("seed", seeds(20))
def test_they_are_those_that_no_two_orders_contradict(seed):
    """Most of these messages say nothing within the limits, and something beyond them."""
    random = np.random.default_rng(seed)
    sent, replied = np.sort(random.integers(0, S // 50, (2, 30)), axis=1)
    there = [
        (t, t + 25_000 + int(d)) for t, d in zip(sent, random.exponential(90_000, 30), strict=True)
    ]
    back = [
        (t, t - 4_900 + int(d))
        for t, d in zip(replied, random.exponential(90_000, 30), strict=True)
    ]
    low, high, wander = rates_of(graph_of(there, back), S // 100)
    assert (low, high) == pytest.approx(by_every_pair(there, back), rel=1e-6)
    assert wander == 0
    assert low < -200 < 200 < high


def there_and_back(at, offset, half=10_000):
    """A message each way at these readings of A, B ahead by these offsets."""
    return [(t, t + o + half) for t, o in zip(at, offset, strict=True)], [
        (t + o - half, t) for t, o in zip(at, offset, strict=True)
    ]


def test_within_the_limits_they_are_narrower_and_turn_with_the_direction():
    at = range(0, 100 * S, S)
    graph = graph_of(*there_and_back(at, [t * 50 // 10**6 for t in at]))
    there, back = (graph.explain(50 * S, *ends, policy="tube") for ends in ((A, B), (B, A)))
    low, high, wander = there.steps[0].rates
    assert 49.5 < low < 50 < high < 50.5
    assert wander == 0
    assert str(there).endswith(f"rate of {B} against {A} by orders alone: +49.80 to +50.20 ppm")
    assert back.steps[0].rates == pytest.approx(
        (-high / (1 + high / 1e6), -low / (1 + low / 1e6), 0)
    )


def test_each_stretch_of_one_rate_has_its_own():
    at = np.arange(0, 200 * S, S)
    offset = np.where(at < 100 * S, 0, (at - 100 * S) * 50 // 10**6)
    graph = graph_of(*there_and_back(at.tolist(), offset.tolist()))
    before, after = rates_of(graph, 20 * S), rates_of(graph, 180 * S)
    assert before.low_ppm < 0 < before.high_ppm < 2
    assert 48 < after.low_ppm < 50 < after.high_ppm < 52


def test_a_rate_that_wanders_is_told_with_its_wander():
    at = np.arange(0, 400 * S, S) + np.random.default_rng(1).integers(0, S // 1000, 400)
    offset = np.rint(20e3 * np.sin(at / (30 * S))).astype(int)
    graph = graph_of(*there_and_back(at.tolist(), offset.tolist(), 2_000), wander_ppm=1)
    low, high, wander = rates_of(graph, 200 * S)
    assert wander == pytest.approx(2)
    assert low < 0 < high
    said = str(graph.explain(200 * S, A, B, policy="tube"))
    assert "ppm, give or take 2 ppm" in said


def test_a_wrong_order_counts_for_nothing():
    at = range(0, 100 * S, S)
    there, back = there_and_back(at, [0] * 100)
    right = rates_of(graph_of(there, back), 50 * S)
    graph = graph_of([*there, (50 * S + 7, 40 * S)], back)
    assert [found.kind for found in graph.discontinuities()] == ["wrong_order"]
    assert rates_of(graph, 50 * S) == right


def test_one_way_they_are_open():
    graph = graph_of([(0, 5_000), (S, S + 5_000)], [])
    assert rates_of(graph) == (None, None, 0)
    assert "by orders alone: anything; the drift limits bind" in str(
        graph.explain(S, A, B, policy="tube")
    )


@pytest.mark.parametrize(
    ("rates", "said"),
    [
        ((-50.0, 2_637.2, 0.0), "-50 to +2,637 ppm; the drift limits bind above"),
        (
            (-2_739.4, 12.0, 0.5),
            "-2,739 to +12 ppm, give or take 0.5 ppm; the drift limits bind below",
        ),
        ((None, 12.0, 0.0), "at most +12 ppm; the drift limits bind below"),
        ((12.0, None, 0.0), "at least +12 ppm; the drift limits bind above"),
        ((1.23456, 1.2378, 0.0), "+1.2346 to +1.2378 ppm"),
    ],
)
def test_in_words(rates, said):
    assert FeasibleRates(*rates).in_words(200.0) == said


def test_snapshots_alone_say_nothing_of_it():
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": [0, S], B: [0, S]})
    assert graph.explain(S, "BOOTTIME", B, policy="tube").steps[0].rates is None
    assert feasible_rates(graph._graph.tubes.pair(*graph.edges()[0][:2]), 0) is None


def test_where_every_order_is_left_out_no_rate_is_told():
    end = 2**63 - 1
    graph = ClockGraph()
    graph.add_order((end, A), (end, B))
    graph.add_order((end, B), (end, A))
    assert graph.explain(0, A, B, policy="tube").steps[0].rates is None
