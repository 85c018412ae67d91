"""Differences of times are taken as whole numbers: a float of 2^60 ns is off by 128."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from building import BOOTTIME, REALTIME, event, snapshot, trace
from faults import GPU, S
from hypothesis import example, given
from hypothesis import strategies as st
from reading import opened

from tracetime import ClockDomain, ClockGraph, ClockId, Snapshot, diagnose
from tracetime.analysis.floor_cost import floor_cost_at_snapshots
from tracetime.graph.clock_graph import inner
from tracetime.graph.tube.wraps import Counter, open_wraps
from tracetime.graph.values import difference, gains

INT64 = st.integers(-(2**63), 2**63 - 1)
WALL = 1_700_000_000_123_456_789
# Distances that are no multiple of what floats near WALL are spaced by.
UNEVEN = [5000 * S + k * 1_234_567_891 for k in range(40)]


@given(st.lists(st.tuples(INT64, INT64), min_size=1, max_size=6))
@example([(2**63 - 1, -(2**63)), (-(2**63), 2**63 - 1)])
def test_differences_are_exact_before_they_are_floats(pairs):
    one, other = (np.array(column, dtype=np.int64) for column in zip(*pairs, strict=True))
    true = [a - b for a, b in pairs]
    assert difference(one, other).tolist() == pytest.approx([float(d) for d in true], rel=1e-15)
    for found, exact in zip(difference(one, other), true, strict=True):
        assert abs(exact) >= 2**53 or found == exact
    for found, exact in zip(gains(one, other), np.diff(np.array(true, dtype=object)), strict=True):
        assert abs(exact) >= 2**53 or found == exact or max(map(abs, true)) > 2**62


def wall_trace():
    """REALTIME is BOOTTIME and a constant; events in both."""
    packets = []
    for t in UNEVEN:
        packets.append(snapshot({BOOTTIME: t, REALTIME: t + WALL}))
        packets.append(event(t + WALL + S // 2, REALTIME))
    return trace(*packets)


def test_a_constant_offset_is_no_drift():
    """It was said to drift by 256 ns."""
    with opened(wall_trace()) as read:
        assert diagnose(read, tolerance_ns=0) == []


def test_what_floor_costs_is_nothing_where_nothing_drifts():
    with opened(wall_trace()) as read:
        cost = floor_cost_at_snapshots(inner(read.clocks), ClockId(BOOTTIME), [ClockId(REALTIME)])
    assert (cost.at_most_ns, cost.drift_ns) == (0, 0)


@pytest.mark.parametrize("start", [0, 1 << 60])
def test_a_counters_gaps_are_exact(start):
    steps = np.cumsum([0, 300, 301, 302, 303], dtype=np.int64)
    counter = Counter(1 << 61, np.arange(5), start + steps)
    _, after = counter.around(np.array([9], dtype=np.int64))
    assert after.tolist() == [start + int(steps[-1]) + 301]
    short = counter._replace(modulus=304)
    assert open_wraps(ClockId(GPU), short, Fraction(1)) is None
    assert open_wraps(ClockId(GPU), short._replace(modulus=303), Fraction(1)) is not None


# Clocks of more than 1 GHz


@pytest.mark.parametrize("learnt", [False, True])
@pytest.mark.parametrize("ghz", [Fraction(37, 10), Fraction(10), Fraction(100)])
def test_the_bar_of_a_clock_faster_than_1_ghz_holds_its_ticks(ghz, learnt):
    """In the nanosecond that a bar ends with there are several ticks."""
    random = Random(5)
    for _ in range(40):
        half_ns, ppm = random.choice((2, 3, 4)), Fraction(random.randint(-60, 60))
        start = random.randint(0, 10**15)

        def ticks(t, ppm=ppm, start=start):
            return int((t * (1 + ppm / 10**6) + start) * ghz)

        times = [1000 * S + k * S + random.randint(0, 10**6) for k in range(5)]
        # Read as far from then as the half-width allows, which holds a step of either clock.
        most = (half_ns * 10 - 14) * 100
        read = [ticks(t + Fraction(random.randint(-most, most), 1000)) for t in times]
        rate = None if learnt else 1 / ghz
        graph = ClockGraph(domains=[ClockDomain("TSC", ns_per_tick=rate, max_drift_ppm=100)])
        graph.add_snapshot(
            Snapshot(
                {"BOOTTIME": times, "TSC": read},
                reference="BOOTTIME",
                half_width_ns={"TSC": half_ns},
            )
        )
        instants = [t + Fraction(random.randint(-3000, 3000), 1000) for t in times * 60]
        truth = np.array([ticks(t) for t in instants])
        for bars in ("estimated", "guaranteed"):
            found = graph.convert(
                [int(t) for t in instants], "BOOTTIME", "TSC", policy="tube", bounds=True, bars=bars
            )
            assert (found.earliest <= truth).all()
            assert (truth <= found.latest).all()


def test_the_last_tick_of_int64():
    graph = ClockGraph(domains=[ClockDomain("TSC", ns_per_tick=Fraction(2, 5))])
    graph.add_snapshot({"BOOTTIME": [1000, 2000], "TSC": [2500, 5000]})
    found = graph.convert([2**63 - 1], "BOOTTIME", "TSC", policy="tube", bounds=True, errors="mask")
    assert [side.to_pylist() for side in found] == [[None]] * 3


# Arrays of nothing


@pytest.mark.parametrize(
    "nothing",
    [
        pa.nulls(0),
        pa.array([], pa.null()),
        pa.chunked_array([], pa.null()),
        pa.chunked_array([pa.nulls(0), pa.nulls(0)]),
    ],
)
def test_an_empty_array_of_type_null_is_an_empty_array(nothing):
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": 1, "MONOTONIC": 2})
    for options in ({}, {"policy": "tube"}, {"errors": "mask"}):
        found = graph.convert(nothing, "BOOTTIME", "MONOTONIC", **options)
        assert len(found) == 0
        assert str(found.type if "errors" in options else found.dtype) == "int64"
    bounds = graph.convert(nothing, "BOOTTIME", "MONOTONIC", policy="tube", bounds=True)
    assert [len(side) for side in bounds] == [0, 0, 0]
    assert graph.order((nothing, "BOOTTIME"), (nothing, "MONOTONIC")).tolist() == []
