"""Events counted by clock and status are those counted one by one."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tracetime import ClockId
from tracetime.analysis.groups import GroupCounter, Groups, places_of
from tracetime.errors import AS_IS, NO_PATH, REASONS, RESOLVED


def ints(values: Any, dtype: type = np.int64) -> np.ndarray:
    return np.array(list(values), dtype=dtype)


@given(st.lists(st.integers(-3, 3)))
@example([])
@example([2, -1, 2])
def test_each_number_has_all_its_places(numbers):
    places = {one: [k for k, n in enumerate(numbers) if n == one] for one in sorted(set(numbers))}
    found = places_of(ints(numbers))
    assert [(one, where.tolist()) for one, where in found.items()] == list(places.items())


times = st.sampled_from([-5, -1, 0, 1, 40])
batches = st.lists(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 7_281, 7_282]),
            st.sampled_from([RESOLVED, AS_IS, len(REASONS) - 1]),
            times,
            times,
        ),
        max_size=8,
    ),
    max_size=4,
)


def counted_singly(batches):
    """Groups by batch of the first and key, each as it would be counted by hand."""
    found: dict[tuple[int, int], list[Any]] = {}
    number = 0
    for batch, rows in enumerate(batches, 1):
        for clock, status, source, time in rows:
            number += 3
            below = status == RESOLVED and time < 0
            found.setdefault((clock, status), []).append((batch, number, source, time, below))
    groups = []
    for (clock, status), rows in found.items():
        batches, packets, sources, times, _ = zip(*rows, strict=True)
        negative = [number for _, number, _, _, below in rows if below]
        groups.append(
            Groups(
                key=clock * len(REASONS) + status,
                batch=batches[0],
                events=len(rows),
                first_packet=packets[0],
                last_packet=packets[-1],
                low_ns=min(sources),
                high_ns=max(sources),
                negative=len(negative),
                negative_packet=min(negative, default=0),
                least_ns=min(times),
                most_ns=max(times),
            )
        )
    return sorted(groups, key=lambda one: (one.batch, one.key))


def count(batches) -> Groups:
    counter, number = GroupCounter(), 0
    for rows in batches:
        table = ints(rows).reshape(-1, 4)
        packets = number + 3 * np.arange(1, len(rows) + 1)
        number += 3 * len(rows)
        columns = {
            "source_ns": table[:, 2],
            "trace_time": table[:, 3],
            "status": table[:, 1],
            "packet": packets.astype(np.uint64),
        }
        counter.add(columns, table[:, 0])
    return counter.take()


@given(batches)
@example([])
@example([[]])
@example([[(0, RESOLVED, 1, -1)], [(0, RESOLVED, 0, 1), (0, RESOLVED, 5, -5)]])
@example([[(0, RESOLVED, 1, 1), (7_281, 7, 1, 1), (0, RESOLVED, 0, 0), (7_281, 6, 1, 1)]])
@example([[(9, AS_IS, 1, -1)], [(9, AS_IS, 1, 1), (0, AS_IS, 1, 1)], [(4, RESOLVED, 0, -1)]])
def test_groups_of_events_are_those_counted_one_by_one(batches):
    found = count(batches)
    assert list(zip(*(column.tolist() for column in found), strict=True)) == counted_singly(batches)


def test_groups_are_the_same_however_often_they_are_merged(monkeypatch):
    """However few may wait."""
    chance = np.random.default_rng(3)
    rows = [
        [(int(k), int(s), int(t), int(t)) for k, s, t in part]
        for part in chance.integers((0, 0, -9), (5, 9, 9), (30, 12, 3))
    ]
    whole = count(rows)
    for most in (0, 1, 40):
        monkeypatch.setattr("tracetime.analysis.groups._MOST_APART", most)
        for one, other in zip(count(rows), whole, strict=True):
            assert one.tolist() == other.tolist()


def test_a_group_says_of_which_clock_and_why():
    found = count([[(1, NO_PATH, 5, 0), (0, RESOLVED, 7, -2), (1, NO_PATH, 3, 0)]])
    assert found.clock.tolist() == [0, 1]
    assert found.status.tolist() == [RESOLVED, NO_PATH]
    (one,) = found.each(ints([1]), [ClockId(6), ClockId(3)])
    assert (one.clock, one.reason, one.events) == (ClockId(3), "no_path", 2)
    assert (one.first_packet, one.last_packet, one.low_ns, one.high_ns) == (3, 9, 3, 5)
    assert (one.negative, one.negative_packet, one.least_ns, one.most_ns) == (0, 0, 0, 0)
    (one,) = found.each(ints([0]), [ClockId(6), ClockId(3)])
    assert (one.clock, one.reason) == (ClockId(6), "resolved")
    assert (one.negative, one.negative_packet, one.least_ns, one.most_ns) == (1, 6, -2, -2)
