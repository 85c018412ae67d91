"""The one run of a few snapshots that share a rate: as where runs are searched."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from tracetime.graph.tube import runs
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.runs import find_runs
from tracetime.graph.tube.segments import find_segments
from tracetime.graph.tube.tube import Tube

DRIFT, WANDER = 100e-6, 1e-6
LIMITS = st.builds(
    Limits,
    drift=st.sampled_from([0.0, 20e-6, DRIFT, 0.0015]),
    wander=st.sampled_from([0.0, WANDER, 1e-3]),
    wander_declared=st.booleans(),
)
STEPS_NS = st.integers(0, 1 << 40)
OFFSETS_NS = st.one_of(st.integers(-300, 300), st.integers(-(10**6), 10**6))


@st.composite
def few_snapshots(draw):
    steps = draw(st.lists(STEPS_NS, min_size=1, max_size=12))
    first = draw(st.integers(-(1 << 62), 1 << 61))
    a = first + np.cumsum(np.array(steps, dtype=np.int64))
    slope = draw(st.sampled_from([0.0, 30e-6, -90e-6, 140e-6]))
    r = np.array([draw(OFFSETS_NS) for _ in steps], dtype=np.int64)
    r += np.rint(slope * (a - a[0])).astype(np.int64)
    h = np.array([draw(st.integers(0, 2_000)) for _ in steps], dtype=np.int64)
    return Evidence.of(a, r, h, assumed=draw(st.booleans()))


def searched(make):
    """What is made without the short way."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(runs, "_single_run", lambda segments, limits: None)
        return make()


def assert_same(one, other):
    assert type(one) is type(other)
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    else:
        assert one == other


def evidence_of(*rows):
    return Evidence.of(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


@example(evidence_of((0, 5, 3)), Limits(DRIFT, WANDER))
@example(evidence_of((0, 0, 1), (10**9, 0, 1), (2 * 10**9, 10_000, 1)), Limits(DRIFT, WANDER))
@given(few_snapshots(), LIMITS)
def test_it_is_the_run_that_a_search_finds(evidence, limits):
    segments = find_segments(evidence, limits)
    short = runs._single_run(segments, limits)
    assume(short is not None)
    found = searched(lambda: find_runs(segments, limits))
    for field in fields(runs.Runs):
        one, other = getattr(short, field.name), getattr(found, field.name)
        if field.name == "evidence":
            for column in fields(Evidence):
                assert_same(getattr(one, column.name), getattr(other, column.name))
        else:
            assert_same(one, other)


@given(few_snapshots(), LIMITS)
def test_tubes_are_the_same_bit_for_bit(evidence, limits):
    values = np.concatenate([evidence.a, evidence.a + 12_345, evidence.a - 10**12])
    short = Tube(evidence, limits)
    found = searched(lambda: Tube(evidence, limits))
    for inverse in (False, True):
        for bars in ("estimated", "guaranteed"):
            here = short.convert(values, bars=bars, inverse=inverse)
            there = found.convert(values, bars=bars, inverse=inverse)
            for one, other in zip(here, there, strict=True):
                assert_same(one, other)
    assert list(short.discontinuities) == list(found.discontinuities)
    assert short.has_set_back == found.has_set_back


def test_two_rates_are_searched():
    rows = [(k * 10**9, round(1e-5 * k * 10**9), 5) for k in range(6)]
    rows += [((6 + k) * 10**9, 60_000 - round(5e-5 * k * 10**9), 5) for k in range(6)]
    limits = Limits(DRIFT, WANDER)
    segments = find_segments(evidence_of(*rows), limits)
    assert runs._single_run(segments, limits) is None
    assert len(find_runs(segments, limits).first) > 1
