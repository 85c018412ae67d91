"""Decimation keeps extremes and gaps, and leaves few points whatever the data."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tracetime.graph.decimation import decimate

COLUMNS = st.integers(1, 3000).flatmap(
    lambda n: st.lists(
        arrays.arrays(np.float64, n, elements=st.floats(-1e9, 1e9) | st.just(np.nan)),
        min_size=1,
        max_size=3,
    )
)


@given(COLUMNS, st.integers(4, 500))
def test_few_points_stay_and_the_extremes_are_among_them(columns, most):
    chosen = decimate(most, columns)
    n = len(columns[0])
    assert np.array_equal(chosen, np.unique(chosen))
    assert {0, n - 1} <= set(chosen.tolist())
    # A bucket keeps two extremes and one gap of each column; both sides of gaps that are few.
    assert len(chosen) <= max(most, 2 + most * 3 // 2 + 3 * len(columns) + 2 * most * len(columns))
    for column in columns:
        if not np.isnan(column).all():
            assert np.nanmin(column[chosen]) == np.nanmin(column)
            assert np.nanmax(column[chosen]) == np.nanmax(column)
        assert np.isnan(column[chosen]).any() == np.isnan(column).any()
        turns = np.flatnonzero(np.diff(np.isnan(column).astype(int)))
        if len(turns) <= most:
            assert {*turns.tolist(), *(turns + 1).tolist()} <= set(chosen.tolist())


def test_both_sides_of_a_gap_stay():
    column = np.zeros(10_000)
    column[5000:5003] = np.nan
    assert {4999, 5000, 5002, 5003} <= set(decimate(100, [column]).tolist())


def test_of_many_gaps_each_stretch_of_the_picture_keeps_one():
    column = np.arange(100_000.0)
    column[1::3] = np.nan
    chosen = decimate(100, [column])
    assert len(chosen) < 200
    drawn = column[chosen]
    assert np.isnan(drawn).sum() == 50


def test_points_to_keep_stay_where_they_are_few():
    column = np.zeros(10_000)
    few, many = np.zeros((2, 10_000), dtype=bool)
    few[[7, 4711]] = True
    many[::2] = True
    assert {7, 4711} <= set(decimate(100, [column], few).tolist())
    assert len(decimate(100, [column], many)) < 200
