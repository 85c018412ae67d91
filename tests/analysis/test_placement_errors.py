"""How far off events are drawn: the steps of each clock, against every single event."""

import numpy as np
import pytest

from tracetime.analysis import placement_errors
from tracetime.analysis.placement_errors import BEFORE_ZERO, PlacementErrors
from tracetime.clocks.ids import ClockId
from tracetime.errors import AMBIGUOUS_SOURCE, AS_IS, NO_PATH, RESOLVED
from tracetime.trace.event_clocks import ClockNumbers

HOME, OTHER, THIRD = ClockId(6), ClockId(3), ClockId(1)
INT64_MAX = (1 << 63) - 1


def errors_of(*batches):
    """The errors of events as (clock, drawn at, earliest, best, latest[, floor's, tube's])."""
    found = PlacementErrors(ClockNumbers([HOME, OTHER, THIRD], [0]), home=0)
    for rows in batches:
        rows = [(*row, RESOLVED, RESOLVED)[:7] for row in rows]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 7).T.copy()
        clock, drawn, low, best, high, before, after = columns
        floor = {
            "clock": clock.astype(np.uint32),
            "sequence": np.zeros(len(clock), np.uint32),
            "machine": np.zeros(len(clock), np.uint32),
            "trace_time": drawn,
            "offset": np.arange(len(clock), dtype=np.uint64) * 10,
            "status": before.astype(np.uint8),
        }
        tube = floor | {
            "trace_time": best,
            "earliest": low,
            "latest": high,
            "status": after.astype(np.uint8),
        }
        found.add(floor, tube)
    return found


def test_the_error_is_the_distance_of_the_farther_end_and_the_shift_is_signed():
    found = errors_of([(3, 1000, 900, 980, 1010), (3, 2000, 1990, 2005, 2040)])
    (one,) = found.clocks()
    assert one == (OTHER, 2, 100, -5, 20)
    steps = found.steps(OTHER, 10)
    assert (steps.time.tolist(), steps.error.tolist()) == ([1000, 2000], [100, 40])
    assert (steps.shift.tolist(), steps.offset.tolist()) == ([20, -5], [0, 10])


def test_events_outside_of_their_bar_are_farther_off_than_it_is_wide():
    (one,) = errors_of([(3, 5000, 900, 950, 1000)]).clocks()
    assert (one.most_ns, one.latest_shift_ns) == (4100, 4050)


def test_the_trace_clock_and_times_as_they_stand_have_no_error():
    found = errors_of([(6, 5, 5, 5, 5), (0, 7, 7, 7, 7, AS_IS, AS_IS)])
    assert (found.clocks(), found.others()) == ([], [])


def test_worst_clocks_come_first():
    found = errors_of([(3, 10, 5, 10, 15), (1, 10, 0, 10, 20), (1, 30, 29, 30, 31)])
    assert [(one.clock, one.events, one.most_ns) for one in found.clocks()] == [
        (THIRD, 2, 10),
        (OTHER, 1, 5),
    ]


def test_what_has_no_bar_is_told_with_its_reason():
    found = errors_of(
        [
            (3, 40, 1, 0, 0, RESOLVED, NO_PATH),
            (3, 20, 1, 0, 0, RESOLVED, NO_PATH),
            (3, 60, 60, 60, 60, AS_IS, AS_IS),
            (1, 0, 1, 0, 0, NO_PATH, NO_PATH),
            (1, -5, -9, -5, -1),
        ],
        [(3, 10, 1, 0, 0, RESOLVED, NO_PATH), (3, 30, 1, 0, 0, RESOLVED, NO_PATH)],
    )
    assert found.clocks() == []
    assert found.others() == [
        (OTHER, True, "no_path", 4, (10, 0), (40, 0)),
        (OTHER, True, "as_is", 1, (60, 20), (60, 20)),
        (THIRD, False, "no_path", 1, (0, 0), (0, 0)),
        (THIRD, False, BEFORE_ZERO, 1, (0, 0), (0, 0)),
    ]


def test_of_two_possible_times_none_is_the_best():
    found = errors_of([(3, 1000, 0, 0, 3000, RESOLVED, AMBIGUOUS_SOURCE)])
    assert found.clocks() == [(OTHER, 1, 2000, 0, 0)]


def test_the_greatest_numbers():
    low = -INT64_MAX - 1
    (one,) = errors_of([(3, INT64_MAX, low, low, INT64_MAX), (3, 0, low, INT64_MAX, 1)]).clocks()
    assert one == (OTHER, 2, INT64_MAX, -INT64_MAX, INT64_MAX)


def at(steps, time):
    """The step that holds at some times."""
    return np.searchsorted(steps.time, time, side="right") - 1


@pytest.mark.parametrize("most", [1, 7, 100])
@pytest.mark.parametrize("kept", [50, 1 << 18])
def test_no_step_understates_an_event(monkeypatch, most, kept):
    monkeypatch.setattr(placement_errors, "_KEPT", kept)
    random = np.random.default_rng(most * kept)
    batches = []
    for _ in range(6):
        drawn = random.integers(0, 10**9, 300)
        # An event far from all others costs one step, and not the detail of the rest.
        drawn[0] = random.integers(0, 1 << 62)
        low, high = drawn - random.integers(0, 900, 300), drawn + random.integers(0, 900, 300)
        clock = random.choice([1, 3, 6], 300)
        batches.append(list(zip(clock, drawn, low, (low + high) // 2, high, strict=True)))
    found = errors_of(*batches)
    assert {one.clock for one in found.clocks()} == {OTHER, THIRD}
    for one in found.clocks():
        steps = found.steps(one.clock, most)
        rows = np.array([r for batch in batches for r in batch if r[0] == one.clock.clock]).T
        _, drawn, low, best, high = rows
        error = np.maximum(high - drawn, drawn - low)
        assert one.events == len(drawn)
        assert one.most_ns == error.max() == steps.error.max()
        assert len(steps.time) <= most
        assert (np.diff(steps.time) > 0).all()
        assert np.isin(steps.time, drawn).all()
        which = at(steps, drawn)
        assert (which >= 0).all()
        assert (steps.error[which] >= error).all()
        assert (np.abs(steps.shift[which]) >= np.abs(drawn - best)).all()
        # And none is greater than its own events'.
        for k in range(len(steps.time)):
            assert steps.error[k] == error[which == k].max()


def test_steps_that_say_the_same_are_one():
    found = errors_of([(3, t, t - 5, t, t + 5) for t in range(1000)])
    assert found.steps(OTHER, 100).time.tolist() == [0]


def test_memory_does_not_grow_with_events(monkeypatch):
    monkeypatch.setattr(placement_errors, "_KEPT", 100)
    random = np.random.default_rng(1)
    found = errors_of()
    for _ in range(20):
        drawn = random.integers(0, 10**9, 101).tolist()
        more = errors_of([(3, t, t - t % 77, t, t) for t in drawn])
        found._waiting += more._waiting
        found._n_waiting += more._n_waiting
        found._settle()
        assert len(found._kept[0]) <= 100
