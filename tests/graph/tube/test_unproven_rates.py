"""Two snapshots prove no rate: guaranteed bars have the limits, estimated ones say what they take."""

from __future__ import annotations

import numpy as np
import pytest

from tracetime import ClockGraph, Snapshot
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import ONE, Limits
from tracetime.graph.tube.tube import Tube

S = 10**9
PPM = 1_000_000
RAW, GPU = "MONOTONIC_RAW", "com.example.gpu"


def graph_of(at, offset, *, half=100, clocks=(RAW, GPU)):
    src, dst = clocks
    graph = ClockGraph()
    known = {dst: np.full(len(at), half)}
    graph.add_snapshot(Snapshot({src: at, dst: at + offset}, reference=src, half_width_ns=known))
    return graph


def is_marked(graph, at, *, bars="estimated", clocks=(RAW, GPU)):
    (step,) = graph.explain(at, *clocks, policy="tube", bars=bars).steps
    return step.rate_unproven


def line(n):
    at = np.arange(n, dtype=np.int64) * 10 * S
    return at, at // 50_000


@pytest.mark.parametrize(("n", "expected"), [(1, False), (2, True), (3, False), (20, False)])
def test_a_rate_of_two_snapshots_is_marked(n, expected):
    """One shows none, and its bars have the limits; three that agree prove one."""
    graph = graph_of(*line(n))
    assert is_marked(graph, 5 * S) is expected
    assert ("prove no rate" in str(graph.explain(5 * S, RAW, GPU, policy="tube"))) is expected


def test_guaranteed_bars_take_no_such_rate():
    graph = graph_of(*line(2))
    assert not is_marked(graph, 5 * S, bars="guaranteed")
    jumped = 5 * S + np.arange(-500, 501) * 1_000
    for offset in (0, 200_000):
        bar = graph.convert(jumped, RAW, GPU, policy="tube", bounds=True, bars="guaranteed")
        assert (bar.earliest <= jumped + offset).all()
        assert (jumped + offset <= bar.latest).all()


def test_clocks_that_tick_alike_need_no_proof():
    clocks = ("MONOTONIC", "BOOTTIME")
    graph = graph_of(*line(2), clocks=clocks)
    still = graph_of(line(2)[0], np.zeros(2, dtype=np.int64), clocks=clocks)
    assert not is_marked(still, 5 * S, clocks=clocks)
    # These two jumped: neither side has a rate to show.
    assert not is_marked(graph, 5 * S, clocks=clocks)


def test_the_mark_is_where_two_snapshots_stand_alone():
    """A jump parts the last two from the others."""
    at, offset = line(12)
    graph = graph_of(at, offset + np.where(at >= 100 * S, 3600 * S, 0))
    assert [is_marked(graph, int(x) * S) for x in (-5, 35, 95, 105, 125)] == [
        False, False, True, True, True,
    ]  # fmt: skip


def test_a_recorded_frequency_proves_a_rate():
    at, offset = line(2)
    told = np.full(2, round(20 / PPM * ONE))
    limits = Limits.of(100, 500)
    marks = [
        Tube(Evidence.of(at, offset, 100, correction=given), limits).rate_unproven()
        for given in (told, None)
    ]
    assert marks == [False, True]
