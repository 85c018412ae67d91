"""`convert_table`: every column of times of any table, as `ClockGraph.convert` has each value."""

import subprocess
import sys
from fractions import Fraction
from functools import partial

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from graphs import graph_of
from hypothesis import given
from hypothesis import strategies as st
from samples import CLOCK_SYNC

import tracetime as tt
from tracetime import ClockDomain, ClockGraph, Snapshot, UsageError, convert_table
from tracetime.columns.time_columns import time_column

S = 10**9
LOW, HIGH = -(2**63), 2**63 - 1
SIDES = ("earliest", "latest")
CLOCKS = ("BOOTTIME", "MONOTONIC", "REALTIME", "com.example.gpu")


def drifting(n=20):
    """BOOTTIME, and MONOTONIC 5 us ahead and 3 ppm fast."""
    graph = ClockGraph("BOOTTIME")
    ns = np.arange(n) * S
    graph.add_snapshot({"BOOTTIME": ns, "MONOTONIC": ns + 5000 + np.arange(n) * 3000})
    return graph


TABLES = {
    "arrow": pa.table,
    "batch": pa.RecordBatch.from_pydict,
    "pandas": lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda columns: pl.from_arrow(pa.table(columns)),
    "duckdb": lambda columns: duckdb.from_arrow(pa.table(columns)),
}


@st.composite
def worlds(draw):
    """A graph, timestamps of one of its clocks, and where to."""
    graph, at = ClockGraph(), 0
    for _ in range(draw(st.integers(1, 6))):
        at += draw(st.integers(1, 10 * S))
        read = draw(st.lists(st.sampled_from(CLOCKS), min_size=2, unique=True))
        graph.add_snapshot({clock: at + draw(st.integers(-5000, 5000)) for clock in read})
    known = [info.clock for info in graph.clocks()]
    times = draw(
        st.lists(st.none() | st.integers(-S, 60 * S) | st.integers(LOW, HIGH), max_size=20)
    )
    return graph, draw(st.sampled_from(CLOCKS)), draw(st.sampled_from(known)), times


def test_an_open_trace_stands_for_its_clocks(tmp_path):
    path = tmp_path / "t.pftrace"
    path.write_bytes(CLOCK_SYNC)
    table = pa.table({"ts": [1104, 2050]})
    with tt.open_trace(path) as trace:
        made = convert_table(table, trace, {"ts": "MONOTONIC"})
        assert made.equals(convert_table(table, trace.clocks, {"ts": "MONOTONIC"}))
        assert tt.TableConverter(table, trace, {"ts": "MONOTONIC"})(table).num_rows == 2


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
@given(worlds())
def test_any_table_converts_as_the_graph_does(make, world):
    graph, src, dst, times = world
    table = make({"ts": pa.array(times, pa.int64()), "other": pa.array(range(len(times)))})
    by_floor = convert_table(table, graph, {"ts": src}, to=dst)
    bounded = convert_table(table, graph, {"ts": src}, to=dst, policy="tube", bounds=True)
    for n, value in enumerate(times):
        alone = pa.array([value], pa.int64())
        for converted, policy in ((by_floor, "floor"), (bounded, "tube")):
            row = converted.slice(n, 1).to_pylist()[0]
            assert (row["ts"], row["other"]) == (value, n)
            if value is None:
                assert row["ts_time"] is row["ts_time_status"] is None
                continue
            try:
                expected = graph.convert(alone, src, dst, policy=policy, errors="mask")[0].as_py()
                graph.convert(value, src, dst, policy=policy)
            except tt.ConversionError as error:
                expected, reason = None, error.reason
            else:
                reason = "resolved"
            assert row["ts_time"] == expected
            # Far beyond snapshots that contradict each other nothing may bound a side.
            is_open = policy == "tube" and row["ts_time_status"] == "one_sided"
            assert row["ts_time_status"] == reason or (is_open and reason == "resolved")
        if value is not None and row["ts_time_status"] in (
            "resolved",
            "one_sided",
            "ambiguous_source",
        ):
            sides = graph.convert(alone, src, dst, policy="tube", bounds=True, errors="mask")
            assert (row["ts_time_earliest"], row["ts_time_latest"]) == tuple(
                side[0].as_py() for side in sides[1:]
            )


def test_each_row_may_name_its_clock():
    graph = graph_of({"BOOTTIME": 1000, "MONOTONIC": 400, "com.example.gpu": 7}, trace_clock=6)
    table = pa.table(
        {
            "ts": [401, 8, 5, 402, 9, 6],
            "clock": ["MONOTONIC", "com.example.gpu", None, "MONOTONIC", "", "com.unknown"],
            "number": pa.array([3, 6, 6, 3, None, 77], pa.uint32()),
        }
    )
    by_name = convert_table(table, graph, {"ts": "@clock"})
    assert by_name["ts_time"].to_pylist() == [1001, 1001, None, 1002, None, None]
    assert by_name["ts_time_status"].to_pylist() == [
        *("resolved", "resolved", "unknown_source_clock", "resolved"),
        *("unknown_source_clock", "unknown_source_clock"),
    ]
    encoded = table.set_column(1, "clock", table["clock"].dictionary_encode())
    assert convert_table(encoded, graph, {"ts": "@clock"})["ts_time"] == by_name["ts_time"]


def test_clocks_may_be_named_by_number():
    graph = graph_of({"BOOTTIME": 1000, "MONOTONIC": 400}, trace_clock=6)
    table = pa.table({"ts": [401, 402], "clock": pa.array([3, 6], pa.uint32())})
    assert convert_table(table, graph, {"ts": "@clock"})["ts_time"].to_pylist() == [1001, 402]


def test_a_row_that_names_no_clock_has_no_time_and_the_others_have():
    graph = graph_of({"BOOTTIME": 1000, "MONOTONIC": 400}, trace_clock=6)
    table = pa.table({"ts": [1, 2, 3], "clock": ["MONOTONIC", "MONOTONICK", "BOOTTIME"]})
    for options in ({}, {"policy": "tube", "bounds": True}):
        rows = convert_table(table, graph, {"ts": "@clock"}, **options)
        assert rows["ts_time"].to_pylist() == [601, None, 3]
        assert rows["ts_time_status"].to_pylist() == [
            "resolved",
            "unknown_source_clock",
            "resolved",
        ]
    floats = table.set_column(1, "clock", pa.array([1.5] * 3))
    with pytest.raises(UsageError, match="row 0 of column 'clock' is float"):
        convert_table(floats, graph, {"ts": "@clock"})


def test_a_bar_holds_all_of_the_microsecond_that_was_cut_off():
    graph = drifting()
    ns = np.arange(S, 10 * S, 123_456_789)
    stamps = pa.array(ns // 1000).cast(pa.timestamp("us", "UTC"))
    rows = convert_table(
        pa.table({"ts": stamps}),
        graph,
        {"ts": "MONOTONIC"},
        policy="tube",
        bounds=True,
    )
    exact = graph.convert(ns, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    earliest, latest = (rows[f"ts_time_{side}"].to_numpy() for side in ("earliest", "latest"))
    assert (earliest <= exact.earliest).all()
    assert (latest >= exact.latest).all()
    assert (latest - earliest <= exact.latest - exact.earliest + 1010).all()
    assert (latest - earliest >= 999).all()


def test_a_bar_holds_what_a_float_was_rounded_from():
    graph = drifting()
    ns = np.arange(S, 10 * S, 123_456_789)
    table = pa.table({"ts": (ns / 1e9).astype(np.float32)})
    rows = convert_table(
        table, graph, {"ts": "MONOTONIC"}, policy="tube", bounds=True, float_unit="s"
    )
    exact = graph.convert(ns, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    assert (rows["ts_time_earliest"].to_numpy() <= exact.earliest).all()
    assert (rows["ts_time_latest"].to_numpy() >= exact.latest).all()


@pytest.mark.parametrize("step", [-2 * S, 2 * S])
def test_a_bar_holds_a_target_that_was_set_within_the_millisecond(step):
    """Set back, it reads more just before than at either end, and less just after."""
    graph = ClockGraph("MONOTONIC")
    ms, at = 10**6, 10 * S + 500_000
    ns = np.concatenate([np.arange(10) * S, [at - 100, at + 100], np.arange(11, 20) * S])
    graph.add_snapshot({"MONOTONIC": ns, "REALTIME": ns + 100 * S + np.where(ns > at, step, 0)})
    every = np.arange(10 * S - ms, 10 * S + 2 * ms, 50)
    exact = graph.convert(every, "MONOTONIC", "REALTIME", policy="tube", bounds=True)
    table = pa.table({"ts": pa.array(every // ms).cast(pa.timestamp("ms"))})
    rows = convert_table(
        table, graph, {"ts": "MONOTONIC"}, to="REALTIME", policy="tube", bounds=True
    )
    earliest, latest = (rows[f"ts_time_{side}"].to_numpy() for side in ("earliest", "latest"))
    assert (earliest <= exact.earliest).all()
    assert (latest >= exact.latest).all()
    # No wider than the step, and some milliseconds.
    assert (latest - earliest <= abs(step) + 4 * ms).all()
    calm = (every < 10 * S) | (every >= 10 * S + ms)
    assert (latest - earliest)[calm].max() < 2 * ms


def set_at(*steps):
    """MONOTONIC in order, and REALTIME set at instants by so much: snapshots at and between them."""
    at = np.array([when for when, _ in steps])
    ns = np.unique(np.concatenate([np.arange(0, 200) * S // 10, at - 1, at]))
    wall = 1_700_000_000 * S + ns + sum(np.where(ns >= when, by, 0) for when, by in steps)
    graph = ClockGraph("MONOTONIC")
    graph.add_snapshot(
        Snapshot({"MONOTONIC": ns, "REALTIME": wall}, reference="MONOTONIC", half_width_ns={1: 0})
    )
    return graph


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize(
    "steps",
    [
        [(5 * S + 8 * S // 10, -79 * S // 100)],
        [(5 * S + 2 * S // 10, 79 * S // 100)],
        [(5 * S + 3 * S // 10, -3600 * S), (5 * S + 7 * S // 10, 3600 * S)],
        [(5 * S + 3 * S // 10, 3600 * S), (5 * S + 7 * S // 10, -3600 * S)],
    ],
)
def test_a_bar_holds_all_of_a_second_in_which_the_target_was_set(steps, bars):
    graph = set_at(*steps)
    table = pa.table({"ts": pa.array(range(2, 18), pa.duration("s"))})
    rows = convert_table(
        table, graph, {"ts": "MONOTONIC"}, to="REALTIME", policy="tube", bars=bars, bounds=True
    )
    earliest, latest = (rows[f"ts_time_{side}"].to_numpy() for side in ("earliest", "latest"))
    for second in range(2, 18):
        ns = second * S + np.arange(0, 1000) * 10**6
        wall = 1_700_000_000 * S + ns + sum(np.where(ns >= when, by, 0) for when, by in steps)
        assert earliest[second - 2] <= wall.min()
        assert latest[second - 2] >= wall.max()
        if second != 5:
            assert latest[second - 2] - earliest[second - 2] < S + S // 100


def test_a_text_of_milliseconds_holds_all_of_the_millisecond():
    """CSV is read as ns, however many digits there are."""
    graph = drifting()
    stamps = pa.array([5_123_000_000, 6_001_000_000]).cast(pa.timestamp("ns"))
    rows = convert_table(
        pa.table({"ts": stamps}), graph, {"ts": "MONOTONIC"}, policy="tube", bounds=True
    )
    last = graph.convert(5_123_999_999, "MONOTONIC", "BOOTTIME", policy="tube")
    assert rows["ts_time_latest"][0].as_py() >= last


def test_floats_of_seconds_that_were_rounded_twice():
    graph = ClockGraph("MONOTONIC")
    ns = np.arange(20) * S
    wall = ns + 1_700_000_000 * S
    graph.add_snapshot(
        Snapshot({"MONOTONIC": ns, "REALTIME": wall}, reference="MONOTONIC", half_width_ns={1: 0})
    )
    at = np.random.default_rng(1).integers(S, 18 * S, 2000) + 1_700_000_000 * S
    for seconds in (at.astype(np.float64) / 1e9, at / 10**9, at * 1e-9):
        rows = convert_table(
            pa.table({"ts": seconds}),
            graph,
            {"ts": "REALTIME"},
            policy="tube",
            bounds=True,
            float_unit="s",
        )
        truth = at - 1_700_000_000 * S
        assert (rows["ts_time_earliest"].to_numpy() <= truth).all()
        assert (rows["ts_time_latest"].to_numpy() >= truth).all()


@pytest.mark.parametrize("clock", ["com.example.counter", "@clock"])
def test_times_and_floor_of_a_clock_of_another_rate_are_refused(clock):
    domain = ClockDomain("com.example.counter", ns_per_tick=Fraction(1000, 24))
    graph = ClockGraph("MONOTONIC", [domain])
    ns = np.arange(20) * S
    graph.add_snapshot({"MONOTONIC": ns, "com.example.counter": ns * 24 // 1000})
    table = pa.table(
        {"ts": pa.array([5 * S], pa.timestamp("ns")), "clock": ["com.example.counter"]}
    )
    with pytest.raises(UsageError, match="counts ticks: give the ticks"):
        convert_table(table, graph, {"ts": clock}, policy="tube")
    back = pa.table({"ts": [5 * S], "clock": ["MONOTONIC"]})
    source = "MONOTONIC" if clock[0] != "@" else clock
    with pytest.raises(UsageError, match="counts ticks"):
        convert_table(back, graph, {"ts": source}, to="com.example.counter")


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.struct([("a", pa.string())])])
def test_a_column_of_clocks_has_no_parts(kind):
    table = pa.table({"ts": [1], "clock": pa.array([None], kind)})
    with pytest.raises(UsageError, match="a column of clocks is"):
        convert_table(table, drifting(), {"ts": "@clock"})


def test_numbers_as_names_of_columns_come_back_to_pandas_as_texts():
    frame = convert_table(pd.DataFrame({0: [S]}), drifting(), {"0": "MONOTONIC"}).to_pandas()
    assert [*frame] == ["0", "0_time", "0_time_status"]


def test_a_bar_that_ends_beyond_int64_is_open():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": HIGH, "MONOTONIC": HIGH - 900})
    stamps = pa.array([HIGH // 1000 - 1]).cast(pa.timestamp("us"))
    rows = convert_table(
        pa.table({"ts": stamps}), graph, {"ts": "MONOTONIC"}, policy="tube", bounds=True
    ).to_pylist()[0]
    assert rows["ts_time"] == (HIGH // 1000 - 1) * 1000 + 900
    assert (rows["ts_time_status"], rows["ts_time_latest"]) == ("one_sided", None)


def test_open_sides_are_null():
    graph = ClockGraph("MONOTONIC")
    graph.add_order((np.arange(5) * S, "MONOTONIC"), (np.arange(5) * S + 90, "com.example.gpu"))
    table = pa.table({"ts": [S, 2 * S]})
    rows = convert_table(table, graph, {"ts": "com.example.gpu"}, policy="tube", bounds=True)
    assert rows["ts_time_status"].to_pylist() == ["one_sided"] * 2
    sides = [rows[f"ts_time_{side}"].null_count for side in ("earliest", "latest")]
    assert sorted(sides) == [0, 2]
    assert rows["ts_time"].null_count == 0


def test_a_reader_stays_one():
    graph, taken = drifting(), []
    schema = pa.schema([("ts", pa.int64())])

    def batches():
        for n in range(3):
            taken.append(n)
            yield pa.RecordBatch.from_arrays([pa.array([n * S])], schema=schema)

    reader = pa.RecordBatchReader.from_batches(schema, batches())
    converted = convert_table(reader, graph, {"ts": "MONOTONIC"})
    assert isinstance(converted, pa.RecordBatchReader)
    assert taken == []
    converted.read_next_batch()
    assert taken == [0]
    assert converted.read_all().num_rows == 2


def test_columns_keep_their_place_and_new_ones_follow():
    table = pd.DataFrame({"a": [1], "ts": [S], "b": ["x"]}, index=[7])
    rows = convert_table(
        table, drifting(), {"ts": "MONOTONIC", "a": "MONOTONIC"}, names={"ts": "when"}
    )
    frame = rows.to_pandas()
    assert [*frame] == ["a", "ts", "b", "when", "when_status", "a_time", "a_time_status"]
    assert frame.index.tolist() == [7]


def test_whole_numbers_stay_whole_in_pandas():
    table = pd.DataFrame({"ts": pd.array([S, None, 2**60], dtype="Int64")})
    frame = convert_table(table, drifting(), {"ts": "MONOTONIC"}).to_pandas()
    assert str(frame["ts_time"].dtype) == "Int64"
    expected = drifting().convert(2**60, "MONOTONIC", "BOOTTIME")
    assert [frame["ts_time"][0], frame["ts_time"][2]] == [
        drifting().convert(S, "MONOTONIC", "BOOTTIME"),
        expected,
    ]


def test_an_empty_table_has_the_columns():
    rows = convert_table(
        pa.table({"ts": pa.array([], pa.int64())}), drifting(), {"ts": "MONOTONIC"}
    )
    assert rows.num_rows == 0
    assert rows.column_names == ["ts", "ts_time", "ts_time_status"]


@pytest.mark.parametrize("options", [{}, {"policy": "tube", "bounds": True}])
@pytest.mark.parametrize(
    "column",
    [
        pa.array([S, 2**63, None], pa.uint64()),
        pa.array([10**6, 253402214400 * 10**6, None]).cast(pa.timestamp("us")),
        pa.array([1.0, float("inf"), None]),
    ],
)
@pytest.mark.parametrize("clock", ["MONOTONIC", "BOOTTIME"])
def test_a_time_beyond_int64_overflows_and_the_others_convert(column, options, clock):
    table = pa.table({"ts": column})
    rows = convert_table(table, drifting(), {"ts": clock}, float_unit="s", **options)
    time = rows["ts_time"].to_pylist()
    assert S - 10_000 < time[0] <= S
    assert time[1:] == [None, None]
    assert rows["ts_time_status"].to_pylist() == ["resolved", "overflow", None]
    if options:
        assert rows["ts_time_earliest"].to_pylist()[1:] == [None, None]
    assert rows["ts"].to_pylist() == column.to_pylist()


def test_a_snapshot_beyond_int64_is_refused():
    readings = pa.table({"MONOTONIC": pa.array([1, 2**63], pa.uint64()), "BOOTTIME": [5, 6]})
    with pytest.raises(UsageError, match="does not fit in int64 nanoseconds in row 1"):
        ClockGraph.from_table(readings, {"MONOTONIC": "MONOTONIC", "BOOTTIME": "BOOTTIME"})


def test_the_bar_of_a_clocks_own_time_is_what_was_cut_off():
    """No nanosecond more: nothing is converted."""
    us = pa.array([-5, 0, 7], pa.timestamp("us"))
    ns = pa.array([1500, None, 2000], pa.int64()).cast(pa.timestamp("ns"))
    own = pa.table({"us": us, "ns": ns, "float": pa.array([1e-3, None, None])})
    rows = convert_table(
        own,
        drifting(),
        dict.fromkeys(own.column_names, "BOOTTIME"),
        policy="tube",
        bounds=True,
        float_unit="s",
    )
    bars = {
        name: list(zip(*(rows[f"{name}_time_{side}"].to_pylist() for side in SIDES), strict=True))
        for name in own.column_names
    }
    assert bars["us"] == [(-5999, -4001), (-999, 999), (7000, 7999)]
    assert bars["ns"] == [(1500, 1500), (None, None), (2000, 2000)]
    low, high = bars["float"][0]
    assert (low + high) // 2 == 10**6
    assert high - low <= 6


def test_whole_ms_of_one_batch_are_no_ms_of_the_column():
    """However a table is cut into batches, its bars are the same."""
    ts = pa.array([0, 5 * 10**6, 7 * 10**6, 8_000_123], pa.int64()).cast(pa.timestamp("ns"))
    whole = pa.table({"ts": ts})
    cut = pa.Table.from_batches([whole.slice(n, 1).to_batches()[0] for n in range(4)])
    convert = partial(
        convert_table, graph=drifting(), columns={"ts": "MONOTONIC"}, policy="tube", bounds=True
    )
    assert convert(cut).equals(convert(whole))
    # A reader is read once: the first rows may be whole ms by chance.
    read = convert(cut.to_reader()).read_all()
    assert read["ts_time_latest"].to_pylist()[3] == convert(whole)["ts_time_latest"].to_pylist()[3]
    assert read["ts_time_latest"].to_pylist()[1] > convert(whole)["ts_time_latest"].to_pylist()[1]


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({}, {}, "no column to convert"),
        ({"tz": "MONOTONIC"}, {}, "there is no column 'tz'; it has ts, other"),
        ({"ts": "@clok"}, {}, "there is no column 'clok'"),
        ({"ts": "MONOTONICK"}, {}, "'MONOTONICK' is not a clock"),
        ({"ts": "MONOTONIC"}, {"to": "com.unknown"}, "no snapshot has com.unknown"),
        ({"ts": "MONOTONIC"}, {"names": {"ts": "other"}}, "a column 'other' already"),
        ({"ts": "MONOTONIC"}, {"bounds": True}, "only the tube has bounds"),
        ({"ts": "MONOTONIC"}, {"policy": "ceiling"}, "policy"),
        ({"ts": "MONOTONIC"}, {"policy": "tube", "bars": "sure"}, "bars"),
        ({"twice": "MONOTONIC"}, {}, "there are 2 columns 'twice'"),
    ],
)
def test_what_cannot_be_converted_is_told(columns, options, said):
    table = pa.table([[1], [2], [3], [4]], names=["ts", "other", "twice", "twice"])
    with pytest.raises(tt.TracetimeError, match=said):
        convert_table(table, drifting(), columns, **options)


def test_a_graph_without_a_trace_clock_needs_a_target():
    graph = graph_of({"BOOTTIME": 1000, "MONOTONIC": 400})
    table = pa.table({"ts": [401]})
    with pytest.raises(UsageError, match="say which clock to convert to"):
        convert_table(table, graph, {"ts": "MONOTONIC"})
    rows = convert_table(table, graph, {"ts": "MONOTONIC"}, to="BOOTTIME")
    assert rows["ts_time"].to_pylist() == [1001]


def test_what_is_no_table_is_told():
    with pytest.raises(UsageError, match="cannot read a dict as a table"):
        convert_table({"ts": [1]}, drifting(), {"ts": "MONOTONIC"})


def test_times_of_a_clock_that_counts_units_are_refused():
    graph = ClockGraph("BOOTTIME")
    graph.add_snapshot({"BOOTTIME": 1000, "64@seq1": tt.Reading(1, unit_ns=1000)})
    stamps = pa.table({"ts": pa.array([5], pa.timestamp("us"))})
    with pytest.raises(UsageError, match="counts ticks: give the ticks"):
        convert_table(stamps, graph, {"ts": "64@seq1"})
    rows = convert_table(pa.table({"ts": [5]}), graph, {"ts": "64@seq1"})
    assert rows["ts_time"].to_pylist() == [5000]


def test_floor_does_not_convert_into_ticks():
    graph = ClockGraph("BOOTTIME", [ClockDomain.of_kind(tt.ClockId(9))])
    graph.add_snapshot({"BOOTTIME": 1000, 9: 7})
    with pytest.raises(UsageError, match="counts ticks"):
        convert_table(pa.table({"ts": [1]}), graph, {"ts": "BOOTTIME"}, to=9)


FOREIGN = {
    "a Series": (pd.Series([1], name="ts"), "it is one column: to_frame"),
    "a Series of polars": (pl.Series("ts", [1]), "it is one column: to_frame"),
    "a ChunkedArray": (pa.chunked_array([[1]]), "it is one column: pyarrow.table"),
    "a LazyFrame": (pl.LazyFrame({"ts": [1]}), "collect() it first"),
    "whole numbers of 128 bits": (
        pl.DataFrame({"ts": pl.Series([1], dtype=pl.Int128)}),
        "cast or leave out what Arrow does not hold",
    ),
    "objects": (pd.DataFrame({"ts": [1, 2], "o": [1, "a"]}), "of Arrow: .*cast or leave out"),
    "a name twice": (pd.DataFrame([[1, 2]], columns=["ts", "ts"]), "Duplicate column names"),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_tables_that_arrow_cannot_take_are_told(name):
    table, said = FOREIGN[name]
    with pytest.raises(UsageError, match=said.replace("(", r"\(").replace(")", r"\)")):
        convert_table(table, drifting(), {"ts": "MONOTONIC"})
    with pytest.raises(UsageError):
        ClockGraph.from_table(table, {"ts": "MONOTONIC"})


@pytest.mark.parametrize(
    ("columns", "names", "said"),
    [
        (["ts"], None, "columns is a list: give a dict"),
        (None, None, "columns is a NoneType"),
        ({1: "MONOTONIC"}, None, "the name of a column is a str, not 1"),
        ({"\ud800": "MONOTONIC"}, None, "cannot be written in UTF-8"),
        ({"ts": "@\ud800"}, None, "cannot be written in UTF-8"),
        ({"ts": "MONOTONIC"}, ["x"], "names is a list: give a dict"),
        ({"ts": "MONOTONIC"}, {"ts": 3}, "the name of a column is a str, not 3"),
        ({"ts": "MONOTONIC"}, {"ts": "\ud800"}, "cannot be written in UTF-8"),
        (
            {"ts": "MONOTONIC"},
            {"tss": "x"},
            "names has 'tss', which is not converted: did you mean ts",
        ),
    ],
)
def test_arguments_of_another_type_are_told(columns, names, said):
    with pytest.raises(UsageError, match=said):
        convert_table(pa.table({"ts": [1]}), drifting(), columns, names=names)


def test_a_trace_is_no_graph():
    with pytest.raises(UsageError, match="a NoneType is no graph of clocks"):
        convert_table(pa.table({"ts": [1]}), None, {"ts": "MONOTONIC"})


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.date32(), "cast a date to timestamp"),
        (pa.time64("ns"), "add the date"),
        (pa.decimal128(9, 0), "multiply decimals by the ns of their unit"),
        (pa.string(), "cast text"),
    ],
)
def test_types_that_are_no_times_say_what_makes_them(kind, said):
    with pytest.raises(UsageError, match=said):
        convert_table(pa.table({"ts": pa.nulls(1, kind)}), drifting(), {"ts": "MONOTONIC"})


def test_a_header_with_other_separators_is_told():
    with pytest.raises(UsageError, match="separated by commas, not by ';'"):
        convert_table(pa.table({"ts;what": ["1;a"]}), drifting(), {"ts": "MONOTONIC"})


def test_new_columns_name_their_clock():
    converted = convert_table(
        pa.table({"ts": [1]}), drifting(), {"ts": "MONOTONIC"}, policy="tube", bounds=True
    )
    clocks = {field.name: field.metadata for field in converted.schema}
    on_boottime = {b"tracetime.clock": b"BOOTTIME"}
    assert clocks == {
        "ts": None,
        "ts_time": on_boottime,
        "ts_time_status": None,
        "ts_time_earliest": on_boottime,
        "ts_time_latest": on_boottime,
    }


MEMORY = """
import resource, sys
import numpy as np, pyarrow as pa
import tracetime as tt

graph = tt.ClockGraph("BOOTTIME")
graph.add_snapshot({"BOOTTIME": [0, 10**9], "MONOTONIC": [5, 10**9 + 5]})
schema = pa.schema([("ts", pa.int64())])
column = pa.array(np.arange(1 << 20))
batches = (pa.RecordBatch.from_arrays([column], schema=schema) for _ in range(int(sys.argv[1])))
reader = pa.RecordBatchReader.from_batches(schema, batches)
for batch in tt.convert_table(reader, graph, {"ts": "MONOTONIC"}):
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.sweep
def test_memory_does_not_grow_with_the_table():
    few, many = (
        int(subprocess.check_output([sys.executable, "-c", MEMORY, str(n)])) for n in (4, 64)
    )
    # 60 more batches of 8 MiB would be 480 MiB.
    assert many - few < 60 << 10


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["1000", "1,001", "1002"], "Row 1 has '1,001'"),
        (
            ["2026-01-01T00:00:00Z", "2026-01-01 00:00:00", "2026-01-01T02:00:00+02:00"],
            "Row 1 has '2026-01-01 00:00:00'",
        ),
        ([None, "soon"], "Row 1 has 'soon'"),
    ],
)
def test_text_of_a_csv_is_told_by_its_row(values, expected):
    table = pa.table({"ts": pa.array(values)})
    with pytest.raises(UsageError, match="in a CSV, write whole numbers") as raised:
        time_column(table["ts"].combine_chunks(), "ts")
    assert expected in str(raised.value)
