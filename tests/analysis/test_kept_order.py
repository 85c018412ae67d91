"""The order of the file, kept where error bars allow it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime._kernels.common.columns import Sequences
from tracetime.verbs.event_baking.tube_times import KeptOrder

TRACK_EVENT = 11


def columns(floor, tube, half, sequences=None, kinds=None, machines=None):
    n = len(floor)
    by_floor = {
        "kind": np.array(kinds or [0] * n, np.int8),
        "payload": np.full(n, TRACK_EVENT, np.uint16),
        "status": np.zeros(n, np.int8),
        "machine": np.array(machines or [0] * n, np.uint32),
        "packet_sequence": np.array(sequences or [1] * n, np.uint32),
        "trace_time": np.array(floor, np.int64),
    }
    estimate = np.array(tube, np.int64)
    by_tube = {
        **by_floor,
        "trace_time": estimate,
        "earliest": estimate - half,
        "latest": estimate + half,
    }
    return by_floor, by_tube


def kept(order, *given):
    return order.keep(*columns(*given))["trace_time"].tolist()


def test_an_event_within_its_bar_is_not_before_the_one_before_it():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [10, 20, 30], [11, 9, 31], 5) == [11, 11, 31]
    assert (order.kept, order.reversed) == (1, 0)


def test_an_event_whose_bar_excludes_it_stays():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [10, 20, 30], [11, 9, 31], 1) == [11, 9, 31]
    assert (order.kept, order.reversed) == (0, 1)


def test_what_floor_reverses_stays_reversed():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [20, 10], [20, 10], 50) == [20, 10]
    assert (order.kept, order.reversed) == (0, 0)


def test_sequences_and_other_rows_do_not_matter_to_each_other():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [10, 20, 30], [11, 9, 10], 5, [1, 2, 1]) == [11, 9, 11]
    assert kept(order, [40, 50], [41, 39], 5, [3, 3], [0, 1]) == [41, 39]


def test_sequences_of_two_machines_do_not_matter_to_each_other():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [10, 20], [11, 9], 5, [1, 1], None, [0, 7]) == [11, 9]
    assert kept(order, [30], [8], 5, [1], None, [7]) == [9]


def test_the_order_goes_on_in_the_next_batch():
    order = KeptOrder(TRACK_EVENT)
    assert kept(order, [10], [15], 5) == [15]
    assert kept(order, [20], [12], 5) == [15]
    assert kept(order, [], [], 5) == []


def kept_row_by_row(rows, state):
    """What the kernel does, a row at a time: (sequence, floor, estimate, latest)."""
    estimates, moved, reversed_ = [], 0, 0
    for sequence, floor, estimate, latest in rows:
        last_floor, reached = state.get(sequence, (-(1 << 63), -(1 << 63)))
        if floor >= last_floor:
            if estimate < reached:
                if reached <= latest:
                    estimate, moved = reached, moved + 1
                else:
                    reversed_ += 1
            state[sequence] = floor, max(reached, estimate)
        estimates.append(estimate)
    return estimates, moved, reversed_


ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 30), st.integers(0, 30)), max_size=40)


@given(st.lists(ROWS, max_size=3), st.integers(0, 10))
def test_many_sequences_and_batches_are_as_row_by_row(batches, half):
    order, state, moved, reversed_ = KeptOrder(TRACK_EVENT), {}, 0, 0
    for batch in batches:
        sequences, floor, tube = ([row[k] for row in batch] for k in range(3))
        made = order.keep(*columns(floor, tube, half, sequences or None))["trace_time"]
        rows = [(*row, row[2] + half) for row in batch]
        expected, more, worse = kept_row_by_row(rows, state)
        moved, reversed_ = moved + more, reversed_ + worse
        assert made.tolist() == expected
    assert (order.kept, order.reversed) == (moved, reversed_)


def test_columns_of_different_lengths_are_refused():
    short, long = np.zeros(1, np.int64), np.zeros(2, np.int64)
    which, numbers = np.ones(2, np.uint8), np.zeros(2, np.uint32)
    with pytest.raises(ValueError, match="one length"):
        Sequences(0).keep(which, numbers, numbers, long, short, long.copy())
