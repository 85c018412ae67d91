"""Timestamps and clocks as callers give them, and values that do not convert."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import graph_of, refused

from tracetime import (
    ClockId,
    Reading,
    UsageError,
)

LOW, HIGH = -(2**63), 2**63 - 1


# Scopes and units


def test_sequences_machines_and_files_keep_clocks_apart():
    graph = graph_of(
        {"64@seq1": 0, "BOOTTIME": 100},
        {"64@seq2": 0, "BOOTTIME": 200},
        {"BOOTTIME": 1000, "BOOTTIME@machine1": 5000},
        {"BOOTTIME@file1": 0, "BOOTTIME": 7},
    )
    assert graph.convert(1, "64@seq1", "BOOTTIME") == 101
    assert graph.convert(1, "64@seq2", "BOOTTIME") == 201
    assert graph.convert(1, ClockId(64, 2), "BOOTTIME@machine1") == 4201
    assert graph.convert(1, "BOOTTIME@file1", "BOOTTIME@machine1") == 4008
    refused("unknown_source_clock", graph, 1, "64@seq3", "BOOTTIME")


def test_a_sequence_scoped_clock_needs_its_sequence(suspended):
    with pytest.raises(UsageError, match="64@seq7"):
        suspended.convert(1, 64, "BOOTTIME")
    with pytest.raises(UsageError, match="64@seq7"):
        suspended.path("BOOTTIME", "64")


def test_units_are_taken_in_and_ns_come_out():
    graph = graph_of({"64@seq1": Reading(1000, unit_ns=1000), "BOOTTIME": 5_000_000})
    assert graph.convert(1001, "64@seq1", "BOOTTIME") == 5_001_000
    assert graph.convert(5_001_500, "BOOTTIME", "64@seq1") == 1_001_500
    assert graph.convert(7, "64@seq1", "64@seq1") == 7


def test_incremental_clocks_convert_absolute_values():
    graph = graph_of({"64@seq1": Reading(10, 1000, incremental=True), "BOOTTIME": 0})
    assert [graph.convert(11, "64@seq1", "BOOTTIME") for _ in range(3)] == [1000] * 3


# What timestamps may be


def test_a_scalar_for_a_scalar(suspended):
    for ts in (1104, np.int64(1104), np.uint16(1104)):
        result = suspended.convert(ts, 3, 6)
        assert (result, type(result)) == (2104, int)


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda v: np.array(v, dtype=np.uint64),
        lambda v: np.array(v, dtype=np.int16),
        lambda v: np.repeat(np.array(v), 2)[::2],
        pa.array,
        lambda v: pa.array(v, pa.uint64()),
        lambda v: pa.array([0, *v])[1:],
        lambda v: pa.chunked_array([v[:1], v[1:]]),
        pd.Index,
        pl.Series,
    ],
    ids=["list", "tuple", "int64", "uint64", "int16", "strided", "Arrow", "Arrow uint64",
         "Arrow slice", "Arrow chunks", "pandas", "polars"],
)  # fmt: skip
def test_an_array_for_an_array(suspended, make):
    result = suspended.convert(make([1104, 2000, 0]), "MONOTONIC", "BOOTTIME")
    assert isinstance(result, np.ndarray)
    assert result.dtype == np.int64
    assert result.tolist() == [2104, 3500, 1000]


@pytest.mark.parametrize(
    "empty",
    [[], np.array([], np.int64), pa.array([], pa.int64()), pa.chunked_array([], pa.int64())],
)
def test_nothing_for_nothing(suspended, empty):
    assert suspended.convert(empty, "MONOTONIC", "BOOTTIME").tolist() == []
    assert suspended.convert(empty, "MONOTONIC", "BOOTTIME", errors="mask").to_pylist() == []


def test_the_callers_array_stays_as_it_is(suspended):
    ts = np.array([1104, 2000])
    ts.setflags(write=False)
    assert suspended.convert(ts, 3, 6).tolist() == [2104, 3500]
    same = suspended.convert(ts, 3, 3)
    same[0] = 0
    assert ts.tolist() == [1104, 2000]


@pytest.mark.parametrize(
    "ts",
    [
        1.0,
        True,
        "1104",
        None,
        [1.5],
        [True],
        [None],
        np.array([1.0]),
        np.array([True]),
        np.array(5),
        np.array([[1]]),
        np.array([1], dtype="datetime64[ns]"),
        np.array([1], dtype=object),
        pa.array([1.5]),
        pa.array(["1"]),
        pa.array([1], pa.timestamp("ns")),
        2**63,
        LOW - 1,
        [0, 2**63],
        np.array([2**63], dtype=np.uint64),
        pa.array([2**63], pa.uint64()),
        pa.array([2**63, None], pa.uint64()),
        {1104: 1},
    ],
    # Without an address in memory: runs would call one test by two names.
    ids=lambda ts: str(ts) if isinstance(ts, pa.Array) else repr(ts),
)
def test_what_is_no_timestamp(suspended, ts):
    with pytest.raises(UsageError):
        suspended.convert(ts, "MONOTONIC", "BOOTTIME", errors="mask")


def test_nulls_need_a_mask(suspended):
    with pytest.raises(UsageError, match="errors='mask'"):
        suspended.convert(pa.array([1104, None]), "MONOTONIC", "BOOTTIME")


@pytest.mark.parametrize(
    "make",
    [
        pa.array,
        lambda v: pa.chunked_array([v, []], pa.int64()),
        lambda v: np.ma.array([1104, 0, 2000], mask=[False, True, False]),
    ],
    ids=["Arrow", "Arrow chunks", "masked"],
)
def test_nulls_stay_nulls(suspended, make):
    masked = suspended.convert(make([1104, None, 2000]), "MONOTONIC", "BOOTTIME", errors="mask")
    assert masked.type == pa.int64()
    assert masked.to_pylist() == [2104, None, 3500]


def test_masked_values_are_not_counted_as_errors(suspended):
    """The 0 in place of a null would overflow here; the others do not."""
    graph = graph_of({200: HIGH, "BOOTTIME": LOW})
    refused("overflow", graph, 0, 200, "BOOTTIME")
    assert graph.convert(pa.array([None], pa.int64()), 200, 6, errors="mask").to_pylist() == [None]
    assert suspended.convert(pa.nulls(2), 3, 6, errors="mask").null_count == 2


# What cannot be converted


def test_masked_errors_are_null(suspended):
    assert suspended.convert(5, "TSC", "BOOTTIME", errors="mask") is None
    assert suspended.convert([5, 6], "TSC", "BOOTTIME", errors="mask").to_pylist() == [None, None]
    assert suspended.convert([1104, HIGH], 3, 6, errors="mask").to_pylist() == [2104, None]


def test_one_overflow_does_not_touch_the_others(suspended):
    ts = [*range(1000, 1600), HIGH, *range(1000, 1600), HIGH - 1500]
    masked = suspended.convert(ts, 3, 6, errors="mask").to_pylist()
    assert masked == [*range(2000, 2600), None, *range(2000, 2600), HIGH]


def test_an_overflow_names_the_value_and_its_index(suspended):
    message = refused("overflow", suspended, [1104, HIGH], "MONOTONIC", "BOOTTIME")
    assert message == (f"MONOTONIC {HIGH} (index 1) converted to BOOTTIME does not fit in int64")
    assert "index" not in refused("overflow", suspended, HIGH, "MONOTONIC", "BOOTTIME")


@pytest.mark.parametrize("ts", [LOW, LOW + 1, -1, 0, 1, HIGH - 1, HIGH])
@pytest.mark.parametrize("target", [LOW, -1, 0, 1, HIGH])
@pytest.mark.parametrize("source", [LOW, -1, 0, 1, HIGH])
def test_the_ends_of_int64(source, target, ts):
    graph = graph_of({"MONOTONIC": source, "BOOTTIME": target})
    exact = ts + (target - source)
    fits = LOW <= target - source <= HIGH and LOW <= exact <= HIGH
    assert graph.convert(ts, 3, 6, errors="mask") == (exact if fits else None)


def test_a_value_far_from_the_only_reading():
    """Further than int64 can say: the difference of two int64."""
    graph = graph_of({"MONOTONIC": LOW + 1, "BOOTTIME": LOW})
    assert graph.convert([HIGH, 0, LOW + 1], 3, 6).tolist() == [HIGH - 1, -1, LOW]
    refused("overflow", graph, LOW, 3, 6)


def test_a_unit_that_overflows():
    graph = graph_of({"64@seq1": Reading(1, unit_ns=2**40), "BOOTTIME": 0})
    assert graph.convert(2, "64@seq1", 6) == 2**40
    refused("overflow", graph, 2**23, "64@seq1", 6)
    assert graph.convert([2, 2**23], "64@seq1", 6, errors="mask").to_pylist() == [2**40, None]


def test_a_sum_that_overflows_on_the_way():
    graph = graph_of({200: 0, 201: HIGH}, {201: 0, 202: -HIGH})
    assert graph.convert(0, 200, 202) == 0
    refused("overflow", graph, 1, 200, 202)
