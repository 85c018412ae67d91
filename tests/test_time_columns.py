"""Columns of tables as readings: exact where they are, and bounded where they were rounded."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import UsageError
from tracetime.time_columns import time_column

UNIT_NS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
LOW, HIGH = -(2**63), 2**63 - 1


def refused(column, **options):
    with pytest.raises(UsageError) as info:
        time_column(column, "ts", **options)
    return str(info.value)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.int32(), pa.int64(), pa.uint8(), pa.uint32(), pa.uint64()]
)
def test_whole_numbers_are_the_readings(kind):
    read = time_column(pa.array([1, None, 100], kind), "ts")
    assert read.values.tolist() == [1, 0, 100]
    assert read.missing.tolist() == [False, True, False]
    assert not read.is_ns
    assert read.half_width_ns is None


def test_a_slice_of_a_column_is_read_from_its_start():
    read = time_column(pa.array([9, None, 7, 8])[1:3], "ts")
    assert read.values.tolist() == [0, 7]
    assert read.missing.tolist() == [True, False]


@pytest.mark.parametrize("unit", UNIT_NS)
@pytest.mark.parametrize("zone", [None, "UTC", "Asia/Kolkata"])
def test_timestamps_count_from_their_epoch_in_every_zone(unit, zone):
    read = time_column(pa.array([-3, None, 5], pa.int64()).cast(pa.timestamp(unit, zone)), "ts")
    assert read.values.tolist() == [-3 * UNIT_NS[unit], 0, 5 * UNIT_NS[unit]]
    assert (read.is_ns, read.step_ns) == (True, UNIT_NS[unit])


def test_durations_are_read_likewise():
    read = time_column(pa.array([7], pa.duration("us")), "ts")
    assert (read.values.tolist(), read.step_ns) == ([7000], 1000)


def test_categories_and_nulls_have_their_values():
    assert time_column(pa.array([5, 5, 7]).dictionary_encode(), "ts").values.tolist() == [5, 5, 7]
    read = time_column(pa.nulls(2), "ts")
    assert read.missing.tolist() == [True, True]


@given(
    st.lists(st.floats(-4e9, 4e9) | st.none(), min_size=1),
    st.sampled_from(["s", "ms", "us", "ns"]),
    st.sampled_from([pa.float64(), pa.float32()]),
)
def test_what_a_float_was_rounded_from_is_within_its_half_width(floats, unit, kind):
    column = pa.array(floats).cast(pa.float64()).cast(kind, safe=False)
    read = time_column(column, "ts", float_unit=unit)
    dtype = np.float32 if kind == pa.float32() else np.float64
    for n, value in enumerate(column.to_pylist()):
        if value is None:
            assert read.missing[n]
            continue
        exact = Fraction(value) * UNIT_NS[unit]
        reading, half = int(read.values[n]), int(read.half_width_ns[n])
        assert abs(reading - exact) <= Fraction(1, 2) + Fraction(1, 1000)
        # Whatever rounds to this float is at most halfway to the next one.
        spacing = Fraction(float(np.spacing(np.abs(dtype(value))))) * UNIT_NS[unit]
        assert abs(reading - exact) + spacing / 2 <= half + Fraction(1, 1000)
        assert half <= spacing / 2 + 2 + Fraction(float(np.spacing(float(abs(reading)))))


def test_nan_is_null():
    read = time_column(pa.array([float("nan"), 1.0]), "ts", float_unit="s")
    assert read.missing.tolist() == [True, False]
    assert read.values.tolist() == [0, 10**9]


def test_floats_without_their_unit_are_refused():
    said = refused(pa.array([1.5]))
    assert "column 'ts' holds floats (double)" in said
    assert "--float-unit" in said


@pytest.mark.parametrize(
    ("column", "row"),
    [
        (pa.array([1, 2**63], pa.uint64()), 11),
        (pa.array([2**62], pa.timestamp("us")), 10),
        (pa.array([-(2**62)], pa.timestamp("us")), 10),
        (pa.array([0.0, 1e10]), 11),
        (pa.array([float("inf")]), 10),
    ],
)
def test_what_does_not_fit_is_named_with_its_row(column, row):
    said = refused(column, first_row=10, float_unit="s")
    assert said.startswith("column 'ts' does not fit in int64 nanoseconds: ")
    assert said.endswith(f"in row {row}")


@pytest.mark.parametrize("column", [pa.array(["1"]), pa.array([True]), pa.array([[1]])])
def test_other_types_are_refused(column):
    assert "not times" in refused(column)


def test_there_are_no_other_units():
    assert "float_unit is 'min'" in refused(pa.array([1.0]), float_unit="min")
