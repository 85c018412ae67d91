"""Medians and quantiles, as NumPy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime.columns.arrays import median, quantile

NUMBERS = st.lists(st.floats(-1e15, 1e15), min_size=1, max_size=40)


def test_the_middle_of_an_even_number_lies_between_two():
    assert median(np.array([4, 1, 3, 8])) == 3.5
    assert median(np.array([4, 1, 3])) == 3


def test_a_quantile_lies_in_a_line_between_two():
    assert quantile(np.array([10.0, 0.0, 20.0]), 0.25) == 5
    assert quantile(np.array([10.0, 0.0, 20.0]), 0.9) == 18
    assert quantile(np.array([7.0]), 1.0) == 7


@given(NUMBERS)
def test_medians_are_those_of_numpy(numbers):
    assert median(np.array(numbers)) == np.median(numbers)


@given(NUMBERS, st.floats(0, 1))
def test_quantiles_are_those_of_numpy(numbers, share):
    assert quantile(np.array(numbers), share) == np.quantile(numbers, share)
