"""Dates and times as timestamps of wall clocks, exact to the nanosecond."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import graph_of
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockGraph, Reading, UsageError
from tracetime.clocks.wall_time import format_wall_time

AT = 1_700_000_001_000_000_005
TEXT = "2023-11-14T22:13:21.000000005"
GRAPH = graph_of({"REALTIME": AT - 5, "BOOTTIME": 1000})


@pytest.mark.parametrize(
    "ts",
    [
        TEXT,
        TEXT + "Z",
        "2023-11-15T00:13:21.000000005+02:00",
        np.datetime64(TEXT),
        pd.Timestamp(TEXT),
        pd.Timestamp(TEXT, tz="UTC").tz_convert("Europe/Paris"),
    ],
)
def test_one_time_for_one(ts):
    assert GRAPH.convert(ts, "REALTIME", "BOOTTIME") == 1005
    assert GRAPH.explain(ts, "REALTIME", "BOOTTIME").result == 1005
    assert GRAPH.order((ts, "REALTIME"), (AT + 1, "REALTIME"), margin=True) == (-1, 1, 1)


@pytest.mark.parametrize(
    "ts",
    [
        datetime(2023, 11, 14, 22, 13, 21),
        datetime(2023, 11, 14, 22, 13, 21, tzinfo=UTC),
        datetime(2023, 11, 15, 0, 13, 21, tzinfo=timezone(timedelta(hours=2))),
        np.datetime64("2023-11-14T22:13:21", "s"),
        pd.Timestamp("2023-11-14T22:13:21").as_unit("s"),
    ],
)
def test_coarser_ones_are_exact_and_utc_without_a_zone(ts):
    assert GRAPH.convert(ts, "REALTIME", "BOOTTIME") == 1000


def test_a_date_is_its_midnight():
    day = int(np.datetime64("2023-11-14", "ns").astype(np.int64))
    for ts in (date(2023, 11, 14), np.datetime64("2023-11-14")):
        assert GRAPH.convert(ts, "REALTIME", "REALTIME") == day
    for dates in (pa.array([date(2023, 11, 14)]), pa.array([day // 10**6], pa.date64())):
        assert GRAPH.convert(dates, "REALTIME", "REALTIME").tolist() == [day]


@pytest.mark.parametrize(
    "make",
    [
        list,
        np.array,
        lambda texts: np.array(texts, "datetime64[ns]"),
        lambda texts: np.array([pd.Timestamp(text) for text in texts], dtype=object),
        pa.array,
        lambda texts: pa.array(np.array(texts, "datetime64[ns]")),
        lambda texts: pa.chunked_array([pa.array([AT, AT], pa.timestamp("ns", "Europe/Paris"))]),
        pd.DatetimeIndex,
        lambda texts: pl.Series([AT, AT]).cast(pl.Datetime("ns")),
        pl.Series,
    ],
    ids=["texts", "array of texts", "datetime64", "objects", "Arrow texts", "Arrow timestamps",
         "Arrow chunks", "DatetimeIndex", "polars", "polars texts"],
)  # fmt: skip
def test_arrays_of_times(make):
    found = GRAPH.convert(make([TEXT, TEXT]), "REALTIME", "BOOTTIME")
    assert isinstance(found, np.ndarray)
    assert found.tolist() == [1005, 1005]


@pytest.mark.parametrize(
    "ts",
    [
        [pd.Timestamp(TEXT), pd.NaT],
        [TEXT, None],
        np.array([TEXT, "NaT"], "datetime64[ns]"),
        np.ma.array(np.array([TEXT, TEXT], "datetime64[ns]"), mask=[False, True]),
        pa.array([AT, None], pa.timestamp("ns")),
        pd.DatetimeIndex([TEXT, None]),
    ],
    ids=["list", "texts", "datetime64", "masked", "Arrow", "pandas"],
)
def test_what_is_no_time_is_masked(ts):
    found = GRAPH.convert(ts, "REALTIME", "BOOTTIME", errors="mask")
    assert found.to_pylist() == [1005, None]
    order, least, most = GRAPH.order(
        (ts, "REALTIME"), (AT - 5, "REALTIME"), margin=True, errors="mask"
    )
    assert (order.to_pylist(), least.to_pylist(), most.to_pylist()) == (
        [1, None], [-5, None], [-5, None],
    )  # fmt: skip
    for call in (
        lambda: GRAPH.convert(ts, "REALTIME", "BOOTTIME"),
        lambda: GRAPH.order((ts, "REALTIME"), (0, "BOOTTIME")),
    ):
        with pytest.raises(UsageError, match="errors='mask'"):
            call()


def test_one_that_is_no_time_is_none():
    assert GRAPH.convert(pd.NaT, "REALTIME", "BOOTTIME", errors="mask") is None
    assert GRAPH.order((np.datetime64("NaT"), "REALTIME"), (0, "REALTIME"), errors="mask") is None


def test_a_series_keeps_its_index():
    times = pd.Series(pd.to_datetime([TEXT, None]), index=["a", "b"], name="when")
    found = GRAPH.convert(times, "REALTIME", "BOOTTIME", errors="mask")
    pd.testing.assert_series_equal(
        found, pd.Series([1005, None], index=["a", "b"], name="when", dtype="Int64")
    )
    numbers = pd.Series([AT, AT + 1], index=[7, 3])
    found = GRAPH.convert(numbers, "REALTIME", "BOOTTIME")
    pd.testing.assert_series_equal(found, pd.Series([1005, 1006], index=[7, 3]))
    order = GRAPH.order((AT, "REALTIME"), (numbers, "REALTIME"))
    pd.testing.assert_series_equal(order, pd.Series([0, -1], index=[7, 3], dtype="int8"))
    bar = GRAPH.convert(numbers, "REALTIME", "BOOTTIME", policy="tube", bounds=True)
    assert [list(side.index) for side in bar] == [[7, 3]] * 3


def test_times_of_objects_keep_their_nanoseconds():
    times = pd.Series([pd.Timestamp(TEXT), pd.NaT], dtype=object)
    found = GRAPH.convert(times, "REALTIME", "BOOTTIME", errors="mask")
    assert found.iloc[0] == 1005
    assert found.isna().tolist() == [False, True]


@given(st.integers(-(2**63) + 1, 2**63 - 1))
def test_every_ns_is_exact(ns):
    for ts in (np.datetime64(ns, "ns"), format_wall_time(ns)):
        assert GRAPH.convert(ts, "REALTIME", "REALTIME") == ns


@pytest.mark.parametrize("clock", ["BOOTTIME", "64@seq1", "com.example.device"])
@pytest.mark.parametrize(
    "ts", [TEXT, np.datetime64(TEXT), date(2023, 11, 14), [TEXT], pa.array([5], pa.timestamp("us"))]
)
def test_dates_and_times_are_of_wall_clocks(ts, clock):
    for call in (
        lambda: GRAPH.convert(ts, clock, "REALTIME"),
        lambda: GRAPH.order((ts, clock), (ts, "REALTIME")),
        lambda: GRAPH.explain(ts, clock, "REALTIME"),
    ):
        with pytest.raises(UsageError, match="readings of REALTIME, not of"):
            call()


@pytest.mark.parametrize(
    ("ts", "message"),
    [
        ("12.5s", "no date and time"),
        ("2026-02-30T00:00:00", "no day"),
        (np.array(["2023-11"], "datetime64[M]"), r"datetime64\[M\]"),
        (np.array([5], "datetime64[ps]"), r"datetime64\[ps\]"),
        (np.array(["3000-01-01"], "datetime64[s]"), "int64"),
        (datetime(1500, 1, 1), "int64"),
        (["3000-01-01T00:00:00"], "int64"),
        ([TEXT, 5], "no date and time"),
        (np.array([[AT]], "datetime64[ns]"), "one dimension"),
        (pd.Series([timedelta(seconds=1)]), "whole numbers"),
    ],
)
def test_what_is_no_time_of_a_wall_clock(ts, message):
    with pytest.raises(UsageError, match=message):
        GRAPH.convert(ts, "REALTIME", "BOOTTIME")


def test_a_time_between_two_readings_is_refused():
    graph = graph_of({"REALTIME": Reading(1_700_000_000, unit_ns=10**9), "BOOTTIME": 1000})
    assert graph.convert("2023-11-14T22:13:21", "REALTIME", "BOOTTIME") == 1_000_001_000
    with pytest.raises(UsageError, match="between two readings"):
        graph.convert(TEXT, "REALTIME", "BOOTTIME")


def test_evidence_may_be_times():
    graph = ClockGraph()
    for sign in (1, -1):
        ends = ([TEXT], "REALTIME"), ([2000 + sign], "BOOTTIME")
        graph.add_order(*ends[::sign])
    bar = graph.convert(AT, "REALTIME", "BOOTTIME", policy="tube", bounds=True)
    assert (bar.earliest <= 2000 <= bar.latest, bar.latest - bar.earliest < 10) == (True, True)
    with pytest.raises(UsageError, match="delays are whole numbers"):
        graph.add_order((TEXT, "REALTIME"), (5, "BOOTTIME"), min_delay_ns=TEXT)
