"""Spans that share out tracks: worked examples, and random ones against the plain twin."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twin import lanes as twin

from tracetime._kernels.slices import in_lanes

LAST = (1 << 63) - 1


def nested(spans, have_parents=True):
    columns = list(zip(*spans, strict=True)) or [[]] * 4
    kinds = (np.int64, np.int64, np.int32, np.int64)
    arrays = [np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return [one.tolist() for one in in_lanes(*arrays, have_parents)]


def test_children_are_on_the_lane_of_their_parent():
    spans = [(0, 10, 0, -1), (1, 5, 0, 0), (2, 3, 0, 1), (6, 8, 0, 0)]
    assert nested(spans) == [[0, 0, 0, 0], [0, 1, 2, 1], [-1, 0, 1, 0]]


def test_siblings_that_overlap_are_on_lanes_of_their_own():
    spans = [(0, 10, 0, -1), (1, 5, 0, 0), (2, 6, 0, 0), (5, 9, 0, 0), (6, 7, 0, 2)]
    assert nested(spans) == [[0, 0, 1, 0, 1], [0, 1, 0, 1, 0], [-1, 0, -1, 0, -1]]


def test_a_child_that_ends_after_its_parent_is_beside_it():
    assert nested([(0, 10, 0, -1), (1, 11, 0, 0)]) == [[0, 1], [0, 0], [-1, -1]]


def test_a_child_at_the_end_of_its_parent_is_within_it():
    assert nested([(0, 10, 0, -1), (10, 10, 0, 0)]) == [[0, 0], [0, 1], [-1, 0]]
    assert nested([(0, 10, 0, -1), (10, 12, 0, -1)])[0] == [0, 0]


def test_what_is_no_child_is_not_within():
    spans = [(0, 10, 0, -1), (1, 5, 0, -1)]
    assert nested(spans)[0] == [0, 1]
    assert nested(spans, have_parents=False) == [[0, 0], [0, 1], [-1, 0]]


def test_groups_share_no_lane():
    spans = [(0, 10, 1, -1), (1, 5, 0, 0), (11, 12, 1, -1), (11, 12, 0, -1)]
    assert nested(spans)[0] == [0, 1, 0, 1]


def test_what_never_ends_keeps_its_lane():
    spans = [(0, LAST, 0, -1), (5, LAST, 0, 0), (6, 7, 0, -1)]
    assert nested(spans)[0] == [0, 0, 1]


def test_parents_that_come_later_are_not_waited_for():
    assert nested(
        [(0, 4, 0, 1), (0, 4, 0, -1), (5, 6, 0, 5), (5, 6, 0, -1), (6, 6, 0, 5), (7, 8, 0, 5)]
    )[0]


def test_many_that_overlap_take_a_lane_each():
    spans = [(k, 1_000, 0, -1) for k in range(200)]
    assert nested(spans)[0] == list(range(200))


def test_what_is_no_span_is_refused():
    for spans in ([(0, 1, -1, -1)], [(0, 1, 0, 1)], [(0, 1, 0, -2)]):
        with pytest.raises(IndexError):
            nested(spans)
    ones = np.ones(1, np.int64)
    with pytest.raises(IndexError):
        in_lanes(ones, ones, np.ones(2, np.int32), -ones, True)


@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.integers(0, 6), st.integers(0, 2), st.integers(-1, 30)),
        max_size=30,
    ),
    st.booleans(),
)
def test_random_spans_are_as_in_the_twin(given_spans, have_parents):
    spans = [
        (begin, begin + lasted, group, parent if parent < len(given_spans) else -1)
        for begin, lasted, group, parent in given_spans
    ]
    spans.sort(key=lambda one: (one[0], -one[1]))
    assert nested(spans, have_parents) == twin.in_lanes(spans, have_parents)
