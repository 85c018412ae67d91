"""A change of offset that no single change of rate explains may be a jump: bars hold both sides."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime import ClockGraph, ClockId, Snapshot
from tracetime.clocks.families import KINDS, may_jump
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

S, MS, US = 10**9, 10**6, 10**3
BARS = ("estimated", "guaranteed")
PAIRS = [
    ("MONOTONIC", "BOOTTIME"),
    ("BOOTTIME", "REALTIME"),
    ("MONOTONIC_RAW", "BOOTTIME"),
    ("MONOTONIC_RAW", "com.example.gpu"),
    ("com.example.gpu", "com.example.nic"),
]


def stepped(src, dst, step, *, gap=10 * S, n=20, after=10, ppm=0, h=100):
    """A graph whose dst jumps nine tenths on the way to snapshot `after`, and its true reading."""
    at = np.arange(n, dtype=np.int64) * gap
    jump = (after - 1) * gap + 9 * gap // 10

    def true(x):
        return x + 9 * S + x * ppm // 1_000_000 + np.where(x >= jump, step, 0)

    graph = ClockGraph()
    snapshot = {src: at, dst: true(at)}
    graph.add_snapshot(Snapshot(snapshot, reference=src, half_width_ns={dst: np.full(n, h)}))
    return graph, true, np.linspace(at[0], at[-1], 2001).astype(np.int64)


def assert_holds(graph, src, dst, at, true):
    for bars in BARS:
        there = graph.convert(at, src, dst, policy="tube", bounds=True, bars=bars)
        assert (there.earliest <= true(at)).all(), bars
        assert (true(at) <= there.latest).all(), bars


@pytest.mark.parametrize(("src", "dst"), PAIRS)
@pytest.mark.parametrize("step", [US, 50 * US, MS, 5 * MS, -5 * MS, 9 * MS])
@pytest.mark.parametrize("after", [1, 2, 10, 18, 19])
def test_bars_hold_a_step_wherever_it_is(src, dst, step, after):
    graph, true, at = stepped(src, dst, step, after=after)
    assert_holds(graph, src, dst, at, true)


@pytest.mark.parametrize(("src", "dst"), PAIRS[:-1])
@pytest.mark.parametrize("after", [1, 2, 10, 18, 19])
def test_bars_hold_a_step_that_no_drift_explains(src, dst, after):
    graph, true, at = stepped(src, dst, 99 * MS, after=after)
    assert_holds(graph, src, dst, at, true)


def test_bars_of_clocks_that_never_jump_are_those_of_the_drift():
    """Neither MONOTONIC nor MONOTONIC_RAW is set, and both stop in a sleep: one was slewed."""
    graph, true, at = stepped("MONOTONIC_RAW", "MONOTONIC", 3 * MS)
    bar = graph.convert(at, "MONOTONIC_RAW", "MONOTONIC", policy="tube", bounds=True)
    # A jump is out of the question: the offset came as far at 600.3 ppm.
    assert int((bar.latest - bar.earliest).max()) < 3.5 * MS


def test_a_change_of_rate_within_a_gap_is_no_jump():
    """Two lines that meet between their snapshots need no jump."""
    at = np.arange(20, dtype=np.int64) * 10 * S
    offset = np.maximum(at - 95 * S, 0) // 10_000
    made = Tube(Evidence.of(at, offset, 100), Limits.of(100, 500, may_jump=True))
    assert made.n_possible == 0
    assert [found.kind for found in made.discontinuities] == ["rate_change"]


def test_one_snapshot_after_a_jump_is_told_by_bars_alone():
    graph, _, _ = stepped("MONOTONIC_RAW", "com.example.gpu", 3 * MS, after=19)
    assert list(graph.discontinuities()) == []


def test_a_recorded_frequency_explains_a_change_of_offset():
    """A kernel that says that it slewed did not set the clock."""
    at = np.arange(20, dtype=np.int64) * 10 * S
    faster = np.where(at >= 180 * S, 300, 0)
    offset = np.maximum(at - 180 * S, 0) * 300 // 1_000_000
    limits = Limits.of(100, 500, may_jump=True)
    corrected = np.rint(faster * 1e-6 * 2**52).astype(np.int64)
    told, untold = (
        Tube(Evidence.of(at, offset, 100, correction=correction), limits)
        for correction in (corrected, None)
    )
    assert told.n_possible == 0
    assert untold.n_possible == 1


spans = st.lists(st.integers(1, 10 * S), min_size=4, max_size=14)


@settings(max_examples=200)
@given(st.data(), spans)
def test_bars_that_allow_a_jump_hold_those_that_do_not(data, gaps):
    at = np.cumsum(gaps).astype(np.int64)
    n = len(at)
    steps = data.draw(st.lists(st.integers(-MS, MS), min_size=n, max_size=n))
    some = data.draw(st.lists(st.booleans(), min_size=n, max_size=n))
    offset = np.cumsum(np.where(some, 0, steps)).astype(np.int64)
    limits = Limits.of(100, 500)
    evidence = Evidence.of(at, offset, data.draw(st.integers(1, 10_000)))
    old, new = (Tube(evidence, replace(limits, may_jump=jump)) for jump in (False, True))
    points = np.linspace(at[0], at[-1], 301).astype(np.int64)
    here, there = (tube.convert(points, bars="guaranteed") for tube in (old, new))
    assert (there.earliest <= here.earliest).all()
    assert (here.latest <= there.latest).all()


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("MONOTONIC", "MONOTONIC_RAW", False),
        ("BOOTTIME", "BOOTTIME@machine7", False),
        ("MONOTONIC", "BOOTTIME", True),
        ("MONOTONIC", "MONOTONIC@machine7", True),
        ("REALTIME", "BOOTTIME", True),
        ("REALTIME", "REALTIME_COARSE", True),
        ("com.example.gpu", "MONOTONIC_RAW", True),
    ],
)
def test_clocks_jump_that_are_set_or_stop_alone(one, other, expected):
    clocks = ClockId.parse(one), ClockId.parse(other)
    assert may_jump(*clocks) is expected
    assert may_jump(*clocks[::-1]) is expected


def test_every_builtin_clock_has_a_kind():
    assert set(KINDS) >= {"REALTIME", "MONOTONIC", "BOOTTIME", "TSC", "PERF", "TRACE_FILE"}
