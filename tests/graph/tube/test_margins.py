"""How far apart two readings are at least and at most."""

import numpy as np
import pytest
from drifting import S, truth
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, Margin, Snapshot

LOW, HIGH = -(2**63), 2**63 - 1


def test_the_margin_is_the_distance_of_bars(graph):
    raw = int(truth(np.array([1300 * S]))[0])
    bar = graph.convert(raw, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True)
    at = 1300 * S + 10_000
    margin = graph.order((raw, "MONOTONIC_RAW"), (at, "BOOTTIME"), margin=True)
    # Compared on the steadier of the two.
    assert margin == Margin(
        -1, pytest.approx(at - bar.latest, abs=1), pytest.approx(at - bar.earliest, abs=1)
    )
    assert margin.least_ns <= 10_000 <= margin.most_ns
    turned = graph.order((at, "BOOTTIME"), (raw, "MONOTONIC_RAW"), margin=True)
    assert turned == Margin(1, -margin.most_ns, -margin.least_ns)


def test_margins_of_arrays_are_those_of_their_elements(graph):
    raws = truth(np.arange(1100, 1400, 10) * S)
    at = np.arange(1100, 1400, 10) * S + np.resize([-10_000, 0, 10_000], 30)
    found = graph.order((raws, "MONOTONIC_RAW"), (at, "BOOTTIME"), margin=True)
    each = [
        graph.order((int(raw), "MONOTONIC_RAW"), (int(other), "BOOTTIME"), margin=True)
        for raw, other in zip(raws, at, strict=True)
    ]
    assert [*zip(*(side.tolist() for side in found), strict=True)] == each
    signs, least, most = found
    assert (signs == graph.order((raws, "MONOTONIC_RAW"), (at, "BOOTTIME"))).all()
    assert ((signs == -1) == (least > 0)).all()
    assert ((signs == 1) == (most < 0)).all()


@given(st.integers(-(2**62), 2**62), st.integers(-(2**62), 2**62))
def test_of_one_clock_it_is_exact(one, other):
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 0, "MONOTONIC": 0})
    found = graph.order((one, "BOOTTIME"), (other, "BOOTTIME"), margin=True)
    assert found == ((one > other) - (one < other), other - one, other - one)


def test_what_is_beyond_int64_is_open():
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 0, "MONOTONIC": 0})
    found = graph.order((LOW + 1, "BOOTTIME"), (HIGH - 1, "BOOTTIME"), margin=True)
    assert (found.order, found.most_ns) == (-1, None)
    found = graph.order((HIGH - 1, "BOOTTIME"), (LOW + 1, "BOOTTIME"), margin=True)
    assert (found.order, found.least_ns) == (1, None)


def test_what_nothing_bounds_is_open():
    graph = ClockGraph()
    graph.add_order(before=(1_000, "com.example.a"), after=(5_250, "com.example.b"))
    sides = (1_050, "com.example.a"), (6_000, "com.example.b")
    found = graph.order(*sides, margin=True)
    assert found.order == -1
    assert 0 < found.least_ns <= 700
    assert found.most_ns is None
    assert graph.order(*sides[::-1], margin=True) == (1, None, -found.least_ns)
    arrays = graph.order(([1_050], "com.example.a"), sides[1], margin=True)
    assert arrays.most_ns.tolist() == [HIGH]
    masked = graph.order(([1_050], "com.example.a"), sides[1], margin=True, errors="mask")
    assert masked.most_ns.to_pylist() == [None]


@pytest.mark.parametrize("back", [30, 50])
def test_it_holds_over_a_clock_that_was_set_back(back):
    at = np.arange(0, 200, 5) * S
    wall = np.where(at < 100 * S, at, at - back * S) + 10**18
    graph = ClockGraph()
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": at, "REALTIME": wall}, reference="BOOTTIME", half_width_ns={"REALTIME": 10}
        )
    )
    rng = np.random.default_rng(back)
    one, other = rng.integers(0, 195 * S, (2, 300))
    walls = [np.where(t < 100 * S, t, t - back * S) + 10**18 for t in (one, other)]
    found = graph.order((walls[0], "REALTIME"), (walls[1], "REALTIME"), margin=True)
    assert (found.least_ns <= other - one).all()
    assert (other - one <= found.most_ns).all()
    assert (np.sign(one - other) * found.order >= 0).all()
    mixed = graph.order((walls[0], "REALTIME"), (other, "BOOTTIME"), margin=True)
    assert (mixed.least_ns <= other - one).all()
    assert (other - one <= mixed.most_ns).all()


def test_ticks_count_as_ns():
    graph = ClockGraph(domains=[ClockDomain("com.example.gpu", ns_per_tick="125/6")])
    ticks = np.arange(0, 10**6, 10**4)
    graph.add_snapshot({"com.example.gpu": ticks, "com.example.other": ticks * 125 // 6})
    found = graph.order((48, "com.example.gpu"), (96, "com.example.gpu"), margin=True)
    assert found.order == -1
    assert found.least_ns <= 1000 <= found.most_ns
    assert found.most_ns - found.least_ns <= 2


def test_errors_are_masked(graph):
    found = graph.order(([5, 6], "TSC"), (5, "BOOTTIME"), margin=True, errors="mask")
    assert [side.to_pylist() for side in found] == [[None, None]] * 3
    assert graph.order((5, "TSC"), (5, "BOOTTIME"), errors="mask") is None
