"""`ClockGraph.from_table`: the graph that `add_snapshot` makes of the same readings."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from corpus import DATA, NO_DATA
from hypothesis import given
from hypothesis import strategies as st
from saved_graphs import content

from tracetime import ClockGraph, Snapshot, UsageError

S = 10**9
CLOCKS = ("MONOTONIC", "BOOTTIME", "REALTIME")


def made_of(*snapshots):
    graph = ClockGraph()
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return graph


rows = st.lists(
    st.dictionaries(st.sampled_from(CLOCKS), st.integers(0, 2**40), min_size=1), max_size=12
)


@given(rows)
def test_a_row_is_a_snapshot_of_what_is_not_null(rows):
    columns = {name: pa.array([row.get(name) for row in rows], pa.int64()) for name in CLOCKS}
    ordered = [{name: row[name] for name in CLOCKS if name in row} for row in rows]
    graph = ClockGraph.from_table(pa.table(columns), {name: name for name in CLOCKS})
    assert content(graph) == content(made_of(*ordered))


@given(rows, st.randoms(use_true_random=False))
def test_a_row_is_a_reading_wherever_its_snapshot_has_others(rows, random):
    flat = [(number, clock, row[clock]) for number, row in enumerate(rows) for clock in row]
    # Snapshots in the order in which they first appear, and readings in theirs.
    mixed = sorted(flat, key=lambda one: random.random())
    table = pa.table(
        {
            "snapshot": pa.array([one[0] for one in mixed], pa.int32()),
            "clock": pa.array([one[1] for one in mixed], pa.string()),
            "value": pa.array([one[2] for one in mixed], pa.int64()),
        }
    )
    graph = ClockGraph.from_table(table, "value", clock="clock", snapshot="snapshot")
    order = dict.fromkeys(one[0] for one in mixed)
    expected = [{c: v for n, c, v in mixed if n == number} for number in order]
    assert content(graph) == content(made_of(*expected))


@pytest.mark.parametrize(
    "table_of", [pa.table, pd.DataFrame, pl.DataFrame, lambda c: duckdb.from_arrow(pa.table(c))]
)
def test_any_table_will_do(table_of):
    graph = ClockGraph.from_table(table_of({"a": [1, 2], "b": [5, 6]}), {"a": 3, "b": 6})
    assert graph.convert(2, 3, 6) == 6


def test_half_widths_are_numbers_or_columns():
    table = pa.table({"a": [S, 2 * S], "b": [S, 2 * S], "c": [S, 2 * S], "half": [130, 140]})
    graph = ClockGraph.from_table(
        table,
        {"a": "MONOTONIC", "b": "BOOTTIME", "c": "REALTIME"},
        reference="MONOTONIC",
        half_width_ns={"b": "half", "c": 50},
    )
    expected = made_of(
        Snapshot(
            {name: np.array([S, 2 * S]) for name in CLOCKS},
            reference="MONOTONIC",
            half_width_ns={"BOOTTIME": np.array([130, 140]), "REALTIME": 50},
        )
    )
    assert content(graph) == content(expected)


def test_half_widths_of_readings():
    table = pa.table(
        {"n": [0, 0], "c": ["MONOTONIC", "BOOTTIME"], "v": [S, S], "half": pa.array([0, 77])}
    )
    graph = ClockGraph.from_table(
        table, "v", clock="c", snapshot="n", reference="MONOTONIC", half_width_ns="half"
    )
    read = {str(one.clock): one for one in graph.readings()}
    assert read["BOOTTIME"].half_width_ns.tolist() == [77]


def test_what_was_cut_off_widens_the_half_widths():
    ns = np.arange(3) * S + 123_456
    table = pa.table(
        {
            "raw": ns,
            "wall": pa.array(ns // 1000).cast(pa.timestamp("us")),
            "seconds": (ns / 1e9).astype(np.float64),
        }
    )
    graph = ClockGraph.from_table(
        table,
        {"raw": "MONOTONIC", "wall": "REALTIME", "seconds": "BOOTTIME"},
        reference="MONOTONIC",
        half_width_ns={"wall": 100, "seconds": 100},
        float_unit="s",
    )
    read = {str(one.clock): one for one in graph.readings()}
    assert read["REALTIME"].half_width_ns.tolist() == [100 + 999] * 3
    assert read["BOOTTIME"].half_width_ns.tolist() == [101] * 3
    bar = graph.convert(ns, "MONOTONIC", "REALTIME", policy="tube", bars="guaranteed", bounds=True)
    assert (bar.earliest <= ns).all()
    assert (bar.latest >= ns).all()


def test_where_the_reference_is_null_the_first_clock_stands_in():
    table = pa.table({"r": pa.array([None], pa.int64()), "a": [S], "b": [2 * S]})
    graph = ClockGraph.from_table(
        table,
        {"r": "MONOTONIC", "a": "BOOTTIME", "b": "REALTIME"},
        reference="MONOTONIC",
        half_width_ns={"a": 5, "b": 7, "r": 0},
    )
    read = {str(one.clock): one for one in graph.readings()}
    assert read["REALTIME"].half_width_ns.tolist() == [12]


def test_a_reference_that_was_cut_off_widens_all_others():
    table = pa.table({"us": pa.array([1, 2], pa.timestamp("us")), "ns": [1500, 2500]})
    graph = ClockGraph.from_table(
        table, {"us": "MONOTONIC", "ns": "BOOTTIME"}, reference="MONOTONIC", half_width_ns={"ns": 5}
    )
    read = {str(one.clock): one for one in graph.readings()}
    assert read["BOOTTIME"].half_width_ns.tolist() == [5 + 999] * 2


@pytest.mark.parametrize(
    ("arguments", "options", "said"),
    [
        (({"z": 3},), {}, "there is no column 'z'; it has us, ns, c, n"),
        (({"us": 3, "ns": 6},), {}, "MONOTONIC is read in steps of 1000 ns"),
        (({"us": 3, "ns": 6},), {"reference": 6}, "MONOTONIC is read in steps of 1000 ns"),
        (({"ns": 3},), {"half_width_ns": {"z": 5}}, "half_width_ns names 'z'"),
        (({"ns": 3},), {"half_width_ns": 5}, "half_width_ns is a dict by column"),
        (({"ns": 3, "n": 6},), {"half_width_ns": {"n": 5}}, "give reference="),
        (("ns",), {}, "which columns have the clock and the snapshot"),
        (("ns",), {"clock": "c", "snapshot": "n"}, "column 'c' has nulls"),
        (("ns",), {"clock": "d", "snapshot": "n"}, "MONOTONIC is in a snapshot twice"),
        (("ns",), {"clock": "d", "snapshot": "n", "half_width_ns": {}}, "a column or a number"),
        (({"ns": "MONOTONICK"},), {}, "'MONOTONICK' is not a clock"),
        (({"d": 3},), {}, "not times"),
        (({},), {}, "no column of readings"),
        ((["ns"],), {}, "readings is a list: give a dict"),
        (({7: "MONOTONIC"},), {}, "the name of a column is a str"),
        (({"ns": 3},), {"reference": 6, "half_width_ns": {"ns": 5}}, "BOOTTIME, has no column"),
        (({"ns": 3},), {"reference": 3, "half_width_ns": {"ns": 1.5}}, "half_width_ns is 1.5"),
        (({"ns": 3},), {"reference": 3, "half_width_ns": {"ns": 2**70}}, "give 0 to"),
        (({"us": "TSC"},), {}, "TSC counts ticks"),
    ],
)
def test_what_is_wrong_is_told(arguments, options, said):
    table = pa.table(
        {
            "us": pa.array([1, 2], pa.timestamp("us")),
            "ns": [1500, 2500],
            "c": ["MONOTONIC", None],
            "n": [7, 7],
        }
    ).append_column("d", pa.array(["MONOTONIC"] * 2))
    with pytest.raises(UsageError, match=said):
        ClockGraph.from_table(table, *arguments, **options)


def test_a_dictionary_may_have_a_value_twice():
    """It is the value that says of which snapshot and clock a reading is, not its index."""
    table = pa.table(
        {
            "snapshot": pa.DictionaryArray.from_arrays([0, 1, 2, 3], ["a", "a", "b", "b"]),
            "clock": pa.DictionaryArray.from_arrays(
                [0, 1, 2, 3], ["MONOTONIC", "BOOTTIME", "MONOTONIC", "BOOTTIME"]
            ),
            "value": [1000, 6000, 2000, 7000],
        }
    )
    graph = ClockGraph.from_table(table, "value", clock="clock", snapshot="snapshot")
    assert graph.convert(1500, "MONOTONIC", "BOOTTIME") == 6500


def test_columns_of_parts_are_told():
    table = pa.table({"n": [[0], [0]], "c": ["MONOTONIC", "BOOTTIME"], "ns": [1, 2]})
    with pytest.raises(UsageError, match="'n' is list"):
        ClockGraph.from_table(table, "ns", clock="c", snapshot="n")


def test_what_is_no_table_is_told():
    with pytest.raises(UsageError, match="cannot read a list as a table"):
        ClockGraph.from_table([1], {"a": 3})


@pytest.mark.skipif(not (DATA / "clocks").is_dir(), reason=NO_DATA)
def test_recorded_clocks():
    """Every reading that was left out lies in the bar of those that were not."""
    import pyarrow.csv

    table = pyarrow.csv.read_csv(DATA / "clocks" / "real_drift.csv")
    graph = ClockGraph.from_table(
        table.take(list(range(0, table.num_rows, 100))),
        {"monotonic_raw_ns": "MONOTONIC_RAW", "boottime_ns": "BOOTTIME"},
        reference="MONOTONIC_RAW",
        half_width_ns={"boottime_ns": "deviation_ns"},
    )
    raw, boot, half = (
        table[name].to_numpy() for name in ("monotonic_raw_ns", "boottime_ns", "deviation_ns")
    )
    bar = graph.convert(raw, "MONOTONIC_RAW", "BOOTTIME", policy="tube", bounds=True)
    assert (bar.earliest <= boot + half).all()
    assert (bar.latest >= boot - half).all()
