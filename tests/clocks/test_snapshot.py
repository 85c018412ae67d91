"""Readings and snapshots: what they take, and what they keep."""

import pickle

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime.clocks.ids import ClockId
from tracetime.clocks.snapshot import Reading, Snapshot
from tracetime.errors import UsageError

int64 = st.integers(-(2**63), 2**63 - 1)


def test_an_int_is_a_reading():
    snapshot = Snapshot({"MONOTONIC": 1000, 6: 2000, "64@seq7": Reading(5, unit_ns=1000)})
    assert dict(snapshot.readings) == {
        ClockId(3): Reading(1000),
        ClockId(6): Reading(2000),
        ClockId(64, 7): Reading(5, 1000),
    }
    assert len(snapshot) == 1


def test_the_order_is_kept():
    assert Snapshot({6: 1, 3: 2}).clocks == (ClockId(6), ClockId(3))
    assert Snapshot({6: 1, 3: 2}) != Snapshot({3: 2, 6: 1})


def test_arrays_are_a_column_of_snapshots():
    snapshot = Snapshot({"MONOTONIC": np.array([1, 2, 3]), "BOOTTIME": [4, 5, 6]})
    assert len(snapshot) == 3
    assert snapshot.readings[ClockId(6)].value.tolist() == [4, 5, 6]
    assert snapshot.readings[ClockId(6)].value.dtype == np.int64


def test_a_snapshot_keeps_values_of_its_own():
    values = np.array([1, 2, 3])
    kept = Reading(values).value
    values[0] = 9
    assert kept[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        kept[0] = 9


def test_a_snapshot_cannot_be_changed():
    snapshot = Snapshot({3: 1})
    with pytest.raises(TypeError):
        snapshot.readings[ClockId(3)] = Reading(2)
    with pytest.raises(AttributeError):
        snapshot.readings[ClockId(3)].value = 2


@given(int64, st.integers(1, 2**63 - 1), st.booleans())
def test_reading_round_trip(value, unit_ns, incremental):
    reading = Reading(value, unit_ns, incremental)
    assert (reading.value, reading.unit_ns, reading.incremental) == (value, unit_ns, incremental)
    assert pickle.loads(pickle.dumps(reading)) == reading


@given(st.lists(int64))
def test_columns_round_trip_from_every_kind_of_array(values):
    expected = Reading(np.array(values, dtype=np.int64))
    assert Reading(values) == expected
    assert Reading(pa.array(values, pa.int64())) == expected
    assert expected.value.tolist() == values
    snapshot = Snapshot({"64@seq1": Reading(values, 10, True)})
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot


@pytest.mark.parametrize(
    "value",
    [
        True,
        np.True_,
        1.0,
        np.float64(1.0),
        None,
        "1",
        b"1",
        2**63,
        -(2**63) - 1,
        np.uint64(2**63),
        [1, True],
        [1, 2.0],
        [1, 2**63],
        {1: 2},
        np.array([1.0, 2.0]),
        np.array([True, False]),
        np.array([2**63], dtype=np.uint64),
        np.array([[1, 2]]),
        np.array(["1"]),
        np.array([1], dtype="datetime64[ns]"),
        pa.array([1, None]),
    ],
)
def test_what_a_reading_refuses(value):
    with pytest.raises(UsageError):
        Reading(value)
    with pytest.raises(UsageError, match="reading of MONOTONIC"):
        Snapshot({3: value})


@pytest.mark.parametrize("unit_ns", [0, -1, 1.0, True, 2**63, None])
def test_a_unit_is_a_positive_whole_number(unit_ns):
    with pytest.raises(UsageError, match="unit_ns"):
        Reading(1, unit_ns)


def test_incremental_is_a_bool():
    with pytest.raises(UsageError, match="incremental"):
        Reading(1, 1, 1)


@pytest.mark.parametrize(
    ("readings", "message"),
    [
        ({}, "at least one clock"),
        ([3, 1], "dict"),
        ({"MONOTONIC": 1, 3: 2}, "twice"),
        ({"NOPE": 1}, "not a clock"),
        ({64: 1}, "64@seq7"),
        ({3: [1, 2], 6: [1]}, "one length"),
        ({3: [1], 6: 1}, "one length"),
    ],
)
def test_what_a_snapshot_refuses(readings, message):
    with pytest.raises(UsageError, match=message):
        Snapshot(readings)
