"""The clocks that rows of a trace name."""

from typing import Any

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tracetime import ClockId
from tracetime.trace.event_clocks import ClockNumbers, by_clock, distinct, machine_indexes

UINT32 = (1 << 32) - 1


def ints(values: Any, dtype: type = np.int64) -> np.ndarray:
    return np.array(list(values), dtype=dtype)


def columns(clocks, sequences, machines):
    return {
        "clock": np.array(clocks, dtype=np.uint32),
        "sequence": np.array(sequences, dtype=np.uint32),
        "machine": np.array(machines, dtype=np.uint32),
    }


def test_rows_by_clock_sequence_and_machine_in_file_order():
    made = columns([6, 64, 6, 64, 2**32 - 1, 64, 6, 3], [0, 1, 0, 2, 0, 2**32 - 1, 0, 0], [0] * 8)
    rows = np.array([0, 1, 2, 3, 4, 5, 6])
    found = {clock: group.tolist() for clock, group in by_clock(made, rows, {0: 0})}
    assert found == {
        ClockId(6): [0, 2, 6],
        ClockId(64, 1): [1],
        ClockId(64, 2): [3],
        ClockId(64, 2**32 - 1): [5],
        ClockId(2**32 - 1): [4],
    }
    assert list(by_clock(made, rows[:0], {0: 0})) == []
    on = columns([6, 6, 3, 6, 3, 6], [0, 0, 0, 0, 0, 0], [77, 5, 77, 77, 5, 9])
    found = {
        c: group.tolist() for c, group in by_clock(on, np.array([5, 4, 3, 1, 0]), {5: 1, 77: 2})
    }
    # Those of a machine that nobody names are the host's.
    assert found == {
        ClockId(6): [5],
        ClockId(3, machine=1): [4],
        ClockId(6, machine=1): [1],
        ClockId(6, machine=2): [3, 0],
    }


def test_more_clocks_than_16_bits_can_number():
    n = (1 << 16) + 1
    made = columns(np.arange(n) + 128, [0] * n, [0] * n)
    found = list(by_clock(made, np.arange(n)[::-1], {0: 0}))
    assert len(found) == n
    assert all(group.tolist() == [clock.clock - 128] for clock, group in found)


wide = st.sampled_from([0, 1, 6, 64, UINT32 - 1, UINT32])


@given(st.lists(st.tuples(wide, wide, wide), max_size=12), st.booleans())
@example([(1, 0, 0), (0, UINT32, 0)], False)
@example([(1, 0, 0), (1, 0, 1), (0, 1, 1), (0, 1, 0), (1, 0, 0)], False)
def test_each_triple_of_rows_is_there_once_in_order(rows, on_one_machine):
    if on_one_machine:
        rows = [(clock, sequence, UINT32) for clock, sequence, _ in rows]
    columns = ints(rows, np.uint32).reshape(-1, 3).T
    keys, which = distinct(*columns)
    assert keys == sorted(set(rows))
    assert [keys[k] for k in which.tolist()] == rows


def test_clocks_of_rows_follow_those_of_snapshots_batch_by_batch():
    """Machines by their index; one that the trace does not list, by its own number."""
    known = [ClockId(6), ClockId(64, 3), ClockId(6, machine=1)]
    numbers = ClockNumbers(known, [0, 77])
    columns = {
        "clock": ints([6, 64, 64, 6, 3, 6], np.uint32),
        "sequence": ints([0, 3, 4, 0, 0, 0], np.uint32),
        "machine": ints([0, 0, 0, 77, 77, 5], np.uint32),
    }
    assert numbers.of_rows(columns).tolist() == [0, 1, 5, 2, 3, 4]
    assert numbers.clocks == [*known, ClockId(3, machine=1), ClockId(6, machine=5), ClockId(64, 4)]
    assert numbers.of_rows(columns).tolist() == [0, 1, 5, 2, 3, 4]
    assert len(numbers.clocks) == 6
    assert numbers.of(6, 0, 77) == 2


def test_the_index_of_each_machine():
    assert machine_indexes([5, 77]) == {5: 0, 77: 1}
