"""The order of the file, kept where error bars allow it."""

import numpy as np

from tracetime.analysis.kept_order import KeptOrder

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
