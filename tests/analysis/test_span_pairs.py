"""Spans of different clocks: which certainly overlap, are certainly apart, or neither."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime._kernels.common.columns import count_crossing, count_others
from tracetime.analysis.undecided_overlaps import SpanColumns, count_undecided, pairs_to_show


def span(begin, end, bar=0, group=0, instant=False):
    """A span whose ends are off by up to `bar`."""
    earliest, latest = (begin - bar, end - bar), (begin + bar, end + bar)
    begun, ended = min(latest[0], latest[1]), max(earliest[0], earliest[1])
    return (earliest[0], begun, ended, latest[1], instant, group)


def spans(*rows):
    kinds = (np.int64, np.int64, np.int64, np.int64, np.bool_, np.int64)
    columns = zip(*rows, strict=True) if rows else [()] * 6
    return SpanColumns(*(np.array(c, kind) for c, kind in zip(columns, kinds, strict=True)))


def verdict(one, other):
    """What the bars of two spans say."""
    for a, b in ((one, other), (other, one)):
        if a[3] < b[0]:
            return "apart"
    if one[2] > other[1] and other[2] > one[1]:
        return "overlap"
    return "undecided"


def naive(rows):
    """The undecided pairs of different groups, one by one."""
    return {
        (i, j)
        for i, j in combinations(range(len(rows)), 2)
        if rows[i][5] != rows[j][5]
        and not (rows[i][4] and rows[j][4])
        and verdict(rows[i], rows[j]) == "undecided"
    }


def counts(*rows):
    return count_undecided(spans(*rows)).tolist()


@pytest.mark.parametrize(
    ("name", "one", "other", "undecided"),
    [
        ("certain overlap", span(0, 100, 5), span(50, 150, 5, 1), 0),
        ("one within the other", span(0, 100, 5), span(40, 60, 5, 1), 0),
        ("certainly apart", span(0, 100, 5), span(111, 150, 5, 1), 0),
        ("bars of an end and a begin meet", span(0, 100, 5), span(104, 150, 5, 1), 1),
        ("bars just touch", span(0, 100, 5), span(110, 150, 5, 1), 1),
        ("ends touch, without bars", span(0, 100), span(100, 150, 0, 1), 1),
        ("one ns apart, without bars", span(0, 100), span(101, 150, 0, 1), 0),
        ("one ns of overlap, without bars", span(0, 100), span(99, 150, 0, 1), 0),
        ("an instant within", span(0, 100, 5), span(50, 50, 5, 1, True), 0),
        ("an instant at the end", span(0, 100, 5), span(98, 98, 5, 1, True), 1),
        ("two instants", span(50, 50, 5, 0, True), span(50, 50, 5, 1, True), 0),
        ("shorter than their bars", span(50, 51, 9), span(52, 53, 9, 1), 1),
        ("of one group", span(0, 100, 5), span(104, 150, 5), 0),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_worked_examples(name, one, other, undecided):
    assert counts(one, other) == counts(other, one) == [undecided, undecided]
    shown = pairs_to_show(spans(one, other), np.arange(2), np.array([0, 1]), 5)
    assert len(shown) == undecided


def test_no_spans():
    assert counts() == []
    assert pairs_to_show(spans(), np.arange(0), np.arange(0), 5) == []


@st.composite
def many(draw):
    """Spans with bars of any width, close to each other."""
    rows = []
    for _ in range(draw(st.integers(0, 14))):
        begin = draw(st.integers(0, 40))
        bar = draw(st.integers(0, 8))
        instant = draw(st.booleans()) and draw(st.booleans())
        end = begin if instant else begin + draw(st.integers(0, 25))
        end_bar = bar if instant else draw(st.integers(0, 8))
        ends = max(begin - bar, end - end_bar), max(begin + bar, end + end_bar)
        group = draw(st.sampled_from([0, 1, 2, 17, 90 + len(rows)]))
        begun = begin + bar
        rows.append((begin - bar, min(begun, ends[1]), ends[0], ends[1], instant, group))
    return rows


@given(many())
def test_counts_are_those_of_a_comparison_of_every_pair(rows):
    expected = [0] * len(rows)
    for i, j in naive(rows):
        expected[i] += 1
        expected[j] += 1
    assert counts(*rows) == expected


@given(many())
def test_all_pairs_are_shown_where_there_are_few(rows):
    made = spans(*rows)
    affected = np.flatnonzero(count_undecided(made))
    shown = pairs_to_show(made, affected, made.group, 1000)
    assert sorted(tuple(sorted(pair)) for pair in shown) == sorted(naive(rows))


def test_each_two_clocks_are_shown_before_two_have_a_second_pair():
    rows = [
        span(0, 1000, 300),
        span(1100, 2000, 300, 1),
        span(1200, 2000, 300, 1),
        span(5000, 5050, 20, 2),
        span(5060, 5100, 20, 0),
    ]
    made = spans(*rows)
    affected = np.flatnonzero(count_undecided(made))
    shown = [tuple(sorted(p)) for p in pairs_to_show(made, affected, made.group, 2)]
    assert shown == [(0, 1), (3, 4)]
    shown = [tuple(sorted(p)) for p in pairs_to_show(made, affected, made.group, 3)]
    assert shown == [(0, 1), (3, 4), (0, 2)]


def test_of_very_many_pairs_the_longest_spans_are_looked_at():
    n = 3000
    rows = [span(k, k + 10, 100_000, k % 2) for k in range(n)]
    rows[7] = span(7, 50_007, 100_000, 1)
    rows[8] = span(8, 60_008, 100_000, 0)
    made = spans(*rows)
    found = count_undecided(made)
    assert int(found.sum()) // 2 == (n // 2) ** 2
    (pair,) = pairs_to_show(made, np.flatnonzero(found), made.group, 1)
    assert set(pair) == {7, 8}


def test_extreme_times_do_not_overflow():
    far = 1 << 62
    rows = [
        (-2 * far, far, -far, 2 * far - 1, False, 0),
        (-far, far, far, 2 * far - 1, False, 1),
        (0, 5, 10, 20, False, 2),
    ]
    made = spans(*rows)
    assert len(naive(rows)) == int(count_undecided(made).sum()) // 2 == 3
    assert len(pairs_to_show(made, np.arange(3), made.group, 9)) == 3


values = st.lists(st.tuples(st.integers(-5, 5), st.integers(-5, 5), st.integers(0, 2)), max_size=12)


@given(values, st.booleans())
def test_others_below_are_counted(rows, strict):
    points, queries, groups = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    orders = np.argsort(points), np.argsort(queries)
    found = count_others(points, orders[0], queries, orders[1], groups, strict)
    expected = [
        sum((p < q or (p == q and not strict)) and g != h for p, _, g in rows) for _, q, h in rows
    ]
    assert found.tolist() == expected


@given(values)
def test_rows_that_cross_are_counted(rows):
    begins, ends, _ = np.array(rows, np.int64).reshape(-1, 3).T.copy()
    found = count_crossing(begins, np.argsort(begins), ends, np.argsort(ends))
    assert found.tolist() == [sum(e <= b0 and e0 <= b for b, e, _ in rows) for b0, e0, _ in rows]


def test_kernels_refuse_what_does_not_fit():
    two, order = np.array([1, 2]), np.array([0, 1])
    zeros = np.zeros(2, np.int64)
    one = zeros[:1]
    with pytest.raises(ValueError, match="each row has a point"):
        count_others(two, order, two, order, one, False)
    with pytest.raises(IndexError, match="groups are numbered from 0"):
        count_others(two, order, two, order, order - 1, False)
    with pytest.raises(IndexError, match="no such row"):
        count_others(two, order + 1, two, order, zeros, False)
    with pytest.raises(ValueError, match="the order of rows"):
        count_others(two, order[::-1].copy(), two, order, zeros, False)
    with pytest.raises(ValueError, match="a place in both orders"):
        count_crossing(two, order, two, one)
    with pytest.raises(ValueError, match="the order of rows"):
        count_crossing(two, order, two, order[::-1].copy())
    with pytest.raises(IndexError, match="no such row"):
        count_crossing(two, order - 1, two, order)
