"""Many values at a time, in floats and vectors, come to what each comes to alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

S = 10**9


def tube_of(seed, ppm, half):
    random = np.random.default_rng(seed)
    a = 10**15 + np.arange(12, dtype=np.int64) * 10 * S
    r = np.rint((a - a[0]) * (ppm * 1e-6) + random.integers(-half, half + 1, 12)).astype(np.int64)
    return Tube(Evidence.of(a, r + 7 * S, half), Limits(600e-6, 1e-6)), a


@settings(max_examples=40)
@given(
    st.integers(0, 99),
    st.sampled_from([0.0, 1e-3, 20.0, -499.0, 500.0]),
    st.sampled_from([1, 50, 10**6]),
    st.sampled_from(["estimated", "guaranteed"]),
    st.integers(0, 100 * S),
    st.sampled_from([1, 2, 997, 10**6]),
)
def test_an_array_to_the_steadier_clock_is_what_its_values_are_alone(
    seed, ppm, half, bars, start, step
):
    tube, a = tube_of(seed, ppm, half)
    values = a[0] + 7 * S + start + np.arange(700, dtype=np.int64) * step
    many = tube.convert(values, bars=bars, inverse=True)
    alone = [tube.convert(values[k : k + 1], bars=bars, inverse=True) for k in range(0, 700, 7)]
    for column, single in zip(many, zip(*alone, strict=True), strict=True):
        assert column[::7].tolist() == np.concatenate(single).tolist()


@pytest.mark.parametrize("half", [0, 50])
def test_the_ends_of_bars_are_exact_where_lines_meet_whole_numbers(half):
    """Of a clock at the nominal rate every line is at a whole number, everywhere."""
    tube, a = tube_of(3, 0.0, half)
    values = a[3] + 7 * S + np.arange(1024, dtype=np.int64)
    back = tube.convert(values, inverse=True)
    low, high = (tube.convert(ends) for ends in (back.earliest, back.latest))
    assert (low.latest >= values).all()
    assert (high.earliest <= values).all()
    assert (tube.convert(back.earliest - 1).latest < values).all()
    assert (tube.convert(back.latest + 1).earliest > values).all()


@settings(max_examples=60)
@given(
    st.integers(0, 99),
    st.sampled_from([0.0, 1e-3, 20.0, -499.0, 500.0]),
    st.sampled_from([0, 1, 50, 10**6]),
    st.sampled_from(["estimated", "guaranteed"]),
    st.integers(-20 * S, 100 * S),
    st.sampled_from([1, 997, 10**6, 10**8]),
    st.sampled_from([0, 1, 3, 1_000, 10**6, 4 * S]),
    st.randoms(use_true_random=False),
)
def test_intervals_to_the_steadier_clock_are_what_they_are_alone(
    seed, ppm, half, bars, start, step, width, random
):
    tube, a = tube_of(seed, ppm, half)
    values = a[0] + 7 * S + start + np.arange(700, dtype=np.int64) * step
    ends = [np.array([random.randint(0, width) for _ in values], dtype=np.int64) for _ in range(2)]
    within = values - ends[0], values + ends[1]
    many = tube.convert(values, bars=bars, inverse=True, within=within)
    for k in range(0, 700, 7):
        here = slice(k, k + 1)
        alone = tube.convert(
            values[here], bars=bars, inverse=True, within=(within[0][here], within[1][here])
        )
        for column, single in zip(many, alone, strict=True):
            assert column[k] == single[0]
