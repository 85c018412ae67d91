"""Rows of several numbers in two columns are what lists of tuples are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tracetime.columns.ragged import Ragged

NUMBERS = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-3, 3)
ROWS = st.lists(st.lists(NUMBERS, max_size=4).map(tuple), max_size=9)


@given(ROWS)
def test_rows_are_what_was_given(rows):
    ragged = Ragged.of(rows)
    assert list(ragged) == rows and len(ragged) == len(rows)
    assert list(ragged.ascending()) == [tuple(sorted(row)) for row in rows]
    assert ragged.row.tolist() == [k for k, row in enumerate(rows) for _ in row]
    full = Ragged.of(row for row in rows if row)
    assert full.firsts.tolist() == [row[0] for row in rows if row]
    assert full.lasts.tolist() == [row[-1] for row in rows if row]


@given(ROWS, st.data())
def test_some_rows_and_some_numbers_of_rows(rows, data):
    ragged = Ragged.of(rows)
    marked = data.draw(st.lists(st.booleans(), min_size=len(rows), max_size=len(rows)))
    kept = [row for row, keep in zip(rows, marked, strict=True) if keep]
    assert list(ragged.take(np.array(marked, dtype=bool))) == kept
    order = data.draw(st.permutations(range(len(rows))))
    assert list(ragged.take(np.array(order, dtype=np.int64))) == [rows[k] for k in order]
    positive = [tuple(number for number in row if number > 0) for row in rows]
    assert list(ragged.only(ragged.flat > 0)) == positive


@given(ROWS, ROWS)
def test_rows_one_after_another_and_beside_each_other(rows, others):
    one, other = Ragged.of(rows), Ragged.of(others)
    assert list(Ragged.joined([one, other])) == rows + others
    n = min(len(rows), len(others))
    beside = one.take(np.arange(n)).beside(other.take(np.arange(n)))
    assert list(beside) == [left + right for left, right in zip(rows, others, strict=False)]


def test_slices_of_a_column():
    column = np.arange(10, 20)
    starts, ends = np.array([3, 0, 5]), np.array([5, 1, 5])
    assert list(Ragged.slices(starts, ends, column)) == [(13, 14), (10,), ()]
