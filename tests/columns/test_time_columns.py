"""Columns of tables as readings: exact where they are, and bounded where they were rounded."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import UsageError
from tracetime.columns.time_columns import WrittenUnits, refuse_beyond, time_column

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
    assert (read.is_ns, read.resolution_ns) == (True, UNIT_NS[unit])


def test_durations_are_read_likewise():
    read = time_column(pa.array([7], pa.duration("us")), "ts")
    assert (read.values.tolist(), read.resolution_ns) == ([7000], 1000)


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
    ("column", "beyond"),
    [
        (pa.array([1, 2**63, None], pa.uint64()), {1: HIGH}),
        (pa.array([5, 2**62], pa.timestamp("us")), {1: HIGH}),
        (pa.array([-(2**62), 5], pa.timestamp("us")), {0: LOW}),
        (pa.array([0.0, 1e10, -1e10, None]), {1: HIGH, 2: LOW}),
        (pa.array([float("inf"), float("nan"), float("-inf")]), {0: HIGH, 2: LOW}),
    ],
)
def test_a_time_beyond_int64_ns_is_marked_and_the_others_are_read(column, beyond):
    read = time_column(column, "ts", float_unit="s")
    assert np.flatnonzero(read.is_beyond()).tolist() == list(beyond)
    assert {n: read.values[n] for n in beyond} == beyond
    assert read.resolution_ns == UNIT_NS[getattr(column.type, "unit", "ns")]
    with pytest.raises(UsageError, match="does not fit in int64 nanoseconds in row 1"):
        refuse_beyond(read, "ts", 10)


def test_what_a_sentinel_is_multiple_of_says_nothing_of_the_unit():
    """The end of time in ns is no whole ms."""
    column = pa.array([5_000_000, 2**63 - 1], pa.int64()).cast(pa.timestamp("us"))
    assert time_column(column, "ts").resolution_ns == UNIT_NS["s"]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_before_their_epoch_times_may_have_been_cut_off_towards_zero(unit):
    """C++ cuts -0.5 s to 0, floor to -1 s: who wrote a file does not say."""
    values = np.array([-7 * UNIT_NS[unit] - 1, -1, 0, 1, 7 * UNIT_NS[unit] + 1])
    for cut in (values // UNIT_NS[unit], (values / UNIT_NS[unit]).astype(np.int64)):
        read = time_column(pa.array(cut).cast(pa.timestamp(unit)), "ts")
        before, after = read.margins_ns()
        assert (read.values - before <= values).all()
        assert (values <= read.values + after).all()
    assert before[-1] == 0


def test_few_rows_may_be_whole_ms_by_chance():
    units = WrittenUnits()
    first = time_column(pa.array([10**9], pa.timestamp("ns")), "ts")
    assert units.read("ts", first).resolution_ns == 10**9
    assert (
        units.read(
            "ts", time_column(pa.array([5 * 10**6 + 1000]).cast(pa.timestamp("ns")), "ts")
        ).resolution_ns
        == 1000
    )
    assert units.read("ts", first).resolution_ns == 1000
    assert units.read("other", first).resolution_ns == 10**9


@pytest.mark.parametrize("column", [pa.array(["1"]), pa.array([True]), pa.array([[1]])])
def test_other_types_are_refused(column):
    assert "not times" in refused(column)


def test_there_are_no_other_units():
    assert "float_unit is 'min'" in refused(pa.array([1.0]), float_unit="min")
