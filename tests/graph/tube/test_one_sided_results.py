"""Results of messages that all go one way: an open side is None, null, or the end of int64."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tracetime import ClockDomain, ClockGraph, ConversionError, Snapshot
from tracetime.errors import AMBIGUOUS_SOURCE, RESOLVED
from tracetime.graph.tube.results import Reached

HOST, DEVICE, OTHER = "MONOTONIC_RAW", "a.device", "an.other"
S = 10**9
INT64 = np.iinfo(np.int64)


@pytest.fixture
def graph() -> ClockGraph:
    """Clocks without drift; one message from the host to the device, 20 ns ahead of it by 4 us."""
    domains = [ClockDomain(c, max_drift_ppm=0, wander_ppm=0) for c in (HOST, DEVICE, OTHER)]
    graph = ClockGraph(domains=domains)
    graph.add_order((1_000, HOST), (5_020, DEVICE))
    return graph


def test_an_open_side_is_none(graph: ClockGraph) -> None:
    assert graph.convert(2_000, HOST, DEVICE, policy="tube", bounds=True) == (6_022, None, 6_022)
    back = graph.convert(6_022, DEVICE, HOST, policy="tube", bounds=True)
    assert back == (2_000, 2_000, None)
    assert graph.convert(2_000, HOST, DEVICE, policy="tube") == 6_022


def test_an_open_side_of_arrays(graph: ClockGraph) -> None:
    bar = graph.convert([1_000, 2_000], HOST, DEVICE, policy="tube", bounds=True)
    assert bar.estimate.tolist() == bar.latest.tolist() == [5_022, 6_022]
    assert bar.earliest.tolist() == [INT64.min] * 2
    back = graph.convert([5_022], DEVICE, HOST, policy="tube", bounds=True)
    assert (back.earliest.tolist(), back.latest.tolist()) == ([1_000], [INT64.max])


def test_an_open_side_is_null(graph: ClockGraph) -> None:
    given = pa.array([1_000, None, 2_000])
    bar = graph.convert(given, HOST, DEVICE, policy="tube", bounds=True, errors="mask")
    assert bar.estimate.to_pylist() == bar.latest.to_pylist() == [5_022, None, 6_022]
    assert bar.earliest.to_pylist() == [None] * 3
    one = graph.convert(1_000, HOST, DEVICE, policy="tube", bounds=True, errors="mask")
    assert one == (5_022, None, 5_022)
    assert graph.convert(1_000, HOST, DEVICE, policy="tube", errors="mask") == 5_022


def test_some_sides_of_some_values_are_open(graph: ClockGraph) -> None:
    """A clock of few GHz beyond int64: overflow is still an error, or null."""
    top = INT64.max - 10
    with pytest.raises(ConversionError, match="does not fit in int64"):
        graph.convert([0, top], HOST, DEVICE, policy="tube")
    bar = graph.convert([0, top], HOST, DEVICE, policy="tube", bounds=True, errors="mask")
    assert bar.estimate.to_pylist() == [4_022, None]
    assert bar.earliest.to_pylist() == [None, None]
    assert bar.latest.to_pylist() == [4_022, None]


def test_hops_add_the_closed_sides(graph: ClockGraph) -> None:
    snapshot = {DEVICE: [0, S], OTHER: [100, S + 100]}
    graph.add_snapshot(Snapshot(snapshot, reference=DEVICE, half_width_ns={OTHER: [10, 10]}))
    bar = graph.convert(2_000, HOST, OTHER, policy="tube", bounds=True)
    assert bar.earliest is None
    assert bar.latest == 6_022 + 100 + 10
    back = graph.convert(bar.latest, OTHER, HOST, policy="tube", bounds=True)
    assert back.latest is None
    assert back.earliest is not None
    assert back.earliest <= 2_000


def test_two_hops_of_opposite_directions_leave_both_sides_open(graph: ClockGraph) -> None:
    graph.add_order((7_000, OTHER), (5_500, DEVICE))
    bar = graph.convert(2_000, HOST, OTHER, policy="tube", bounds=True)
    assert (bar.earliest, bar.latest) == (None, None)
    assert bar.estimate == 6_022 + 1_500 - 2
    back = graph.convert(bar.estimate, OTHER, HOST, policy="tube", bounds=True)
    assert (back.earliest, back.latest) == (None, None)
    assert abs(back.estimate - 2_000) <= 4


def test_order_answers_what_it_can(graph: ClockGraph) -> None:
    # The device has 6,022 at the latest when the host has 2,000.
    assert graph.order((2_000, HOST), (6_023, DEVICE)) == -1
    assert graph.order((2_000, HOST), (6_022, DEVICE)) == 0
    assert graph.order((2_000, HOST), (-S, DEVICE)) == 0
    assert graph.order((6_023, DEVICE), (2_000, HOST)) == 1
    assert graph.order(([2_000, 1_000], HOST), (5_500, DEVICE)).tolist() == [0, -1]


def test_an_explanation_says_what_is_open(graph: ClockGraph) -> None:
    found = graph.explain(2_000, HOST, DEVICE, policy="tube")
    assert (found.result, found.earliest, found.latest) == (6_022, None, 6_022)
    hop = found.steps[0]
    assert (hop.earliest, hop.latest, hop.half_width_ns) == (None, 6_022, None)
    assert hop.earliest_by is None
    assert hop.latest_by is not None
    assert "at 6022 at the latest, and nothing says how much earlier (-? +0 ns)" in str(found)
    back = str(graph.explain(6_022, DEVICE, HOST, policy="tube"))
    assert "at 2000 at the earliest, and nothing says how much later (-0 +? ns)" in back


def test_one_message_back_closes_the_bar(graph: ClockGraph) -> None:
    graph.add_order((5_100, DEVICE), (1_130, HOST))
    bar = graph.convert(2_000, HOST, DEVICE, policy="tube", bounds=True)
    assert (bar.earliest, bar.latest) == (5_968, 6_022)


def test_a_path_prefers_closed_bars(graph: ClockGraph) -> None:
    """Not the direct hop, which is open, but by a clock that both exchange messages with."""
    graph.add_pings(HOST, OTHER, 1_000, 9_500, 9_600, 2_100)
    graph.add_pings(OTHER, DEVICE, 9_000, 5_500, 5_600, 10_100)
    assert len(graph.path(HOST, DEVICE, policy="tube")) == 3
    bar = graph.convert(2_000, HOST, DEVICE, policy="tube", bounds=True)
    assert bar.earliest is not None
    assert bar.latest is not None
    assert bar.latest <= 6_024


def test_an_explanation_where_only_another_segment_bounds_a_side() -> None:
    """Messages both ways, then a step, then messages one way."""
    graph = ClockGraph()
    for k in range(10):
        graph.add_order((k * S, DEVICE), (k * S + 20_000, OTHER))
        graph.add_order((k * S + 5_000, OTHER), (k * S + 30_000, DEVICE))
    for k in range(11, 20):
        graph.add_order((k * S, DEVICE), ((k - 1) * S, OTHER))
    hop = graph.explain(15 * S, DEVICE, OTHER, policy="tube").steps[0]
    assert (hop.earliest, hop.earliest_by) == (None, None)
    assert hop.latest_by is not None
    assert hop.latest_by.before_ts == 15 * S


@pytest.mark.parametrize("beyond", [-(2**63), -(2**63) + 1_000])
def test_where_the_closed_side_is_beyond_int64_there_is_no_estimate(
    graph: ClockGraph, beyond: int
) -> None:
    with pytest.raises(ConversionError, match="does not fit in int64") as refused:
        graph.convert(beyond, DEVICE, HOST, policy="tube")
    assert refused.value.reason == "overflow"
    bar = graph.convert([0, beyond], DEVICE, HOST, policy="tube", bounds=True, errors="mask")
    assert [side.to_pylist()[1] for side in bar] == [None, None, None]
    assert bar.earliest.to_pylist()[0] == bar.estimate.to_pylist()[0]


def test_the_bar_of_two_instants_may_be_open_too() -> None:
    low, high = np.array([INT64.min, 5, INT64.min]), np.array([9, INT64.max, 7])
    status = np.array([AMBIGUOUS_SOURCE, AMBIGUOUS_SOURCE, RESOLVED], dtype=np.uint8)
    reached = Reached(np.zeros(3, np.int64), low, high, status)
    no_earliest, no_latest = reached.open_sides()
    assert no_earliest.tolist() == [True, False, False]
    assert no_latest.tolist() == [False, True, False]
