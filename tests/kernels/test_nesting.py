"""How slices nest: worked examples, and the kernel beside its plain twin.

Rules follow Perfetto's src/trace_processor/importers/common/slice_tracker.cc (ST).
"""

from __future__ import annotations

from dataclasses import astuple, fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from twin.slices import Event, Slice, in_order, nested

from tracetime._kernels import slices as kernel

A, B, C = 0, 1, 2  # names
COLUMNS = [field.name for field in fields(Slice)]


def applied(events, limit=1 << 20):
    """What the kernel makes of events."""
    slices = kernel.Slices(limit)
    columns = list(zip(*events, strict=True)) or [()] * len(Event._fields)
    operation, ts, track, name, category, dur = columns
    slices.apply(
        np.array([kernel.OPERATIONS.index(one) for one in operation], np.int8),
        np.array(ts, np.int64),
        np.array(dur, np.int64),
        np.array(track, np.int32),
        np.array(category, np.int32),
        np.array(name, np.int32),
    )
    return slices


def rows(events, limit=1 << 20):
    columns = applied(events, limit).columns()
    return list(zip(*(columns[name].tolist() for name in COLUMNS), strict=True))


def times(events):
    """(ts, dur, depth, parent) of each slice, in the order in which they began."""
    made = [row[:4] for row in rows(events)]
    assert made == [astuple(one)[:4] for one in nested(events)]
    return made


def begin(ts, name=-1, **more):
    return Event("begin", ts, name=name, **more)


def end(ts, name=-1, **more):
    return Event("end", ts, name=name, **more)


def complete(ts, dur, name=-1, **more):
    return Event("complete", ts, name=name, dur=dur, **more)


# Begin and end


def test_a_slice_is_from_its_begin_to_its_end():
    assert times([begin(10), end(25)]) == [(10, 15, 0, -1)]


def test_slices_nest():
    events = [begin(10), begin(12), end(15), begin(17), end(18), end(20)]
    assert times(events) == [(10, 10, 0, -1), (12, 3, 1, 0), (17, 1, 1, 0)]


def test_a_slice_that_does_not_end_stays_open():
    assert times([begin(10), begin(12), end(15)]) == [(10, -1, 0, -1), (12, 3, 1, 0)]


def test_an_end_without_a_begin_is_nothing():
    assert times([end(5), begin(10), end(12), end(13)]) == [(10, 2, 0, -1)]
    assert applied([end(5), begin(10), end(12), end(13)]).unmatched == 2


def test_an_end_that_names_a_slice_ends_that_one():
    # ST, MatchingIncompleteSliceIndex; what is open within it stays open.
    events = [begin(10, A), begin(12, B), end(15, A)]
    assert times(events) == [(10, 5, 0, -1), (12, -1, 1, 0)]


def test_what_is_open_in_a_slice_that_ended_ends_with_it():
    # ST, MaybeCloseStack: once something comes after that end.
    events = [begin(10, A), begin(12, B), end(15, A), begin(20, C)]
    assert times(events) == [(10, 5, 0, -1), (12, 3, 1, 0), (20, -1, 0, -1)]
    assert [row[-1] for row in rows(events)] == [2, 2, -1]


def test_what_comes_at_that_end_is_still_in_it():
    events = [begin(10, A), begin(12, B), end(15, A), begin(15, C)]
    assert times(events)[2] == (15, -1, 2, 1)


def test_another_name_or_category_does_not_match():
    assert times([begin(10, A), end(12, B)]) == [(10, -1, 0, -1)]
    assert times([begin(10, A, category=1), end(12, A, category=2)]) == [(10, -1, 0, -1)]
    assert times([begin(10, A), end(12, A, category=2)]) == [(10, -1, 0, -1)]


def test_an_end_without_a_name_matches_any_and_any_name_matches_a_slice_without():
    assert times([begin(10, A, category=1), end(12)]) == [(10, 2, 0, -1)]
    assert times([begin(10), end(12, A)]) == [(10, 2, 0, -1)]


def test_of_equal_times_the_end_comes_as_it_stands():
    assert times([begin(10), end(10), begin(10), end(12)]) == [(10, 0, 0, -1), (10, 2, 0, -1)]
    assert times([begin(10), begin(10), end(10), end(12)]) == [(10, 2, 0, -1), (10, 0, 1, 0)]


def test_tracks_are_apart():
    events = [begin(10, track=3), begin(11, track=8), end(12, track=3), end(14, track=8)]
    assert times(events) == [(10, 2, 0, -1), (11, 3, 0, -1)]


# Complete events and instants


def test_complete_events_nest():
    assert times([complete(10, 10), complete(12, 3), complete(20, 1)]) == [
        (10, 10, 0, -1),
        (12, 3, 1, 0),
        (20, 1, 0, -1),
    ]


def test_a_complete_event_that_crosses_another_is_left_out():
    events = [complete(10, 10), complete(15, 10), complete(16, 2)]
    assert times(events) == [(10, 10, 0, -1), (16, 2, 1, 0)]
    assert applied(events).overlapping == 1


def test_a_complete_event_may_end_with_another():
    events = [complete(10, 10), complete(15, 5), complete(18, 2)]
    assert times(events) == [(10, 10, 0, -1), (15, 5, 1, 0), (18, 2, 2, 1)]


def test_a_begin_may_cross_a_complete_event():
    events = [complete(10, 10), begin(15), end(25)]
    # It is cut at the end of what it began in.
    assert times(events) == [(10, 10, 0, -1), (15, 5, 1, 0)]
    assert [row[-1] for row in rows(events)] == [0, 0]


def test_instants_stand_on_each_other():
    assert times([complete(10, 0), complete(10, 0), complete(10, 5)]) == [
        (10, 0, 0, -1),
        (10, 0, 1, 0),
        (10, 5, 0, -1),
    ]


def test_an_instant_at_the_end_of_a_slice_is_behind_it():
    assert times([complete(10, 5), complete(15, 0)]) == [(10, 5, 0, -1), (15, 0, 0, -1)]


def test_a_duration_below_zero_is_none():
    assert times([complete(10, -1), complete(11, -5), complete(12, 1)]) == [(12, 1, 0, -1)]


# Saturating begins


def test_of_saturating_begins_the_first_one_counts():
    # ST, BeginLegacyUnnestable.
    events = [
        Event("begin_saturating", 10, name=A),
        Event("begin_saturating", 12, name=A),
        end(15),
        end(16),
        Event("begin_saturating", 20, name=A),
    ]
    assert times(events) == [(10, 5, 0, -1), (20, -1, 0, -1)]


# Limits


def test_no_slice_is_deeper_than_512():
    events = [begin(i) for i in range(600)] + [end(1000 + i) for i in range(600)]
    made = times(events)
    assert len(made) == 512
    assert max(depth for _, _, depth, _ in made) == 511
    assert applied(events).too_deep == 88


def test_what_there_is_no_room_for_is_counted():
    slices = applied([complete(i, 1) for i in range(10)], limit=4)
    assert len(slices) == 4
    assert slices.left_out == 6


def test_times_at_the_ends_of_int64():
    huge = (1 << 63) - 1
    assert rows([complete(huge - 1, huge), complete(huge, 0)])[0][:2] == (huge - 1, huge)
    assert rows([begin(-huge), end(huge)])[0][1] == huge


def test_columns_of_other_lengths_are_refused():
    slices = kernel.Slices(10)
    one, none = np.zeros(1, np.int64), np.zeros(0, np.int32)
    with pytest.raises(IndexError, match="as many values"):
        slices.apply(np.zeros(1, np.int8), one, one, none, none, none)
    two = np.full(1, -2, np.int32)
    with pytest.raises(IndexError, match="numbered from 0"):
        slices.apply(np.zeros(1, np.int8), one, one, two, two, two)


# Beside the twin

names = st.integers(-1, 2)
happenings = st.builds(
    Event,
    st.sampled_from(["begin", "begin", "end", "end", "complete"]),
    st.integers(0, 3),
    track=st.integers(0, 2),
    name=names,
    category=names,
    dur=st.sampled_from([0, 0, 1, 2, 5, 30, -1]),
)
saturating = happenings.map(
    lambda event: event._replace(
        track=9, operation="begin_saturating" if event.operation != "end" else "end"
    )
)


def in_time(steps):
    """Events whose ts is how long after the one before they are."""
    ts, made = 0, []
    for event in steps:
        ts += event.ts
        made.append(event._replace(ts=ts))
    return made


@given(st.lists(happenings | saturating, max_size=60).map(in_time))
def test_the_kernel_nests_as_its_twin(events):
    assert rows(events) == [astuple(one) for one in nested(events)]


@given(st.lists(happenings, max_size=60).map(in_time))
def test_closed_slices_lie_within_their_parents(events):
    made = nested(events)
    for one in made:
        if one.parent >= 0:
            above = made[one.parent]
            assert one.depth == above.depth + 1
            assert one.track == above.track
            assert above.ts <= one.ts


# The order of events


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), max_size=40).map(
        lambda pairs: tuple(zip(*pairs, strict=True)) or ((), ())
    )
)
def test_events_are_ordered_as_by_the_twin(columns):
    ts, queues = columns
    made = kernel.in_order(np.array(ts, np.int64), np.array(queues, np.int32), 5)
    assert made.tolist() == in_order(ts, queues)


def test_of_equal_times_the_lower_queue_is_first_unless_another_is_at_it():
    # 4 of queue 1 is emitted with 3, before the 4 of queue 0.
    made = kernel.in_order(np.array([4, 3, 4], np.int64), np.array([0, 1, 1], np.int32), 2)
    assert made.tolist() == [1, 2, 0]
    made = kernel.in_order(np.array([4, 4], np.int64), np.array([1, 0], np.int32), 2)
    assert made.tolist() == [1, 0]


def test_queues_that_are_none_are_refused():
    with pytest.raises(IndexError, match="numbered from 0"):
        kernel.in_order(np.zeros(1, np.int64), np.ones(1, np.int32), 1)
    with pytest.raises(IndexError, match="has a queue"):
        kernel.in_order(np.zeros(2, np.int64), np.ones(1, np.int32), 1)
