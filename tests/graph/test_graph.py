"""ClockGraph: the worked examples of Perfetto's clock-sync page, its unit cases, and the rules.

The page is docs/concepts/clock-sync.md of google/perfetto.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from corpus import OWN
from hypothesis import given, settings
from hypothesis import strategies as st
from twin import Key, TwinGraph
from twin import Reading as TwinReading

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    UsageError,
)

LOW, HIGH = -(2**63), 2**63 - 1
S = 10**9
HOUR = 3600 * S


def graph_of(*snapshots: dict[Any, Any], trace_clock: Any = None) -> ClockGraph:
    graph = ClockGraph(trace_clock)
    for snapshot in snapshots:
        graph.add_snapshot(snapshot)
    return graph


def refused(reason: str, graph: ClockGraph, ts: Any, src: Any, dst: Any) -> str:
    """The message of a conversion that fails for that reason."""
    with pytest.raises(ConversionError) as info:
        graph.convert(ts, src, dst)
    assert info.value.reason == reason
    return str(info.value)


# The page's worked examples


@pytest.fixture
def suspended() -> ClockGraph:
    """MONOTONIC is 1000 ns behind BOOTTIME, then 1500 ns: the device slept."""
    return graph_of(
        {
            "MONOTONIC": [1000, 1100, 1200, 1900, 2000, 2100],
            "BOOTTIME": [2000, 2100, 2200, 2900, 3500, 3600],
        }
    )


@pytest.fixture
def indirect() -> ClockGraph:
    """No snapshot has both the custom clock and BOOTTIME."""
    return graph_of(
        {200: 1000, "MONOTONIC": 1100},
        {"MONOTONIC": 1200, "BOOTTIME": 5200},
        {200: 3000, "MONOTONIC": 3200},
        {"MONOTONIC": 4000, "BOOTTIME": 9000},
    )


@pytest.fixture
def daylight_saving() -> ClockGraph:
    """At 3:00 REALTIME jumps back to 2:00."""
    return graph_of(
        {"BOOTTIME": [0, HOUR, 2 * HOUR], "REALTIME": [1 * HOUR, 2 * HOUR, 2 * HOUR - 1]}
    )


def test_1104_of_monotonic_is_2104_of_boottime(suspended):
    assert suspended.convert(1104, "MONOTONIC", "BOOTTIME") == 2104


def test_the_latest_snapshot_before_counts(suspended):
    assert suspended.convert([1099, 1100, 1199, 1899, 1900, 1999, 2000], 3, 6).tolist() == [
        2099, 2100, 2199, 2899, 2900, 2999, 3500,
    ]  # fmt: skip


def test_before_the_first_snapshot_the_first_counts(suspended):
    assert suspended.convert(0, "MONOTONIC", "BOOTTIME") == 1000


def test_after_the_last_snapshot_the_last_counts(suspended):
    assert suspended.convert(1_000_000, "MONOTONIC", "BOOTTIME") == 1_001_500


def test_the_way_back(suspended):
    assert suspended.convert([2104, 3499, 3500], "BOOTTIME", "MONOTONIC").tolist() == [
        1104, 2499, 2000,
    ]  # fmt: skip


def test_3503_of_a_custom_clock_is_3703_then_7703(indirect):
    assert indirect.convert(3503, 200, "MONOTONIC") == 3703
    assert indirect.convert(3503, 200, "BOOTTIME") == 7703
    assert indirect.path(200, "BOOTTIME") == [ClockId(200), ClockId(3), ClockId(6)]


def test_daylight_saving_boottime_converts_to_realtime(daylight_saving):
    assert daylight_saving.convert(2 * HOUR + 5, "BOOTTIME", "REALTIME") == 2 * HOUR + 4


def test_daylight_saving_realtime_does_not_convert_and_says_why(daylight_saving):
    message = refused("non_monotonic_source", daylight_saving, HOUR, "REALTIME", "BOOTTIME")
    assert "REALTIME ran backwards" in message
    assert "two instants" in message


# The reference engine's unit cases


def unit_cases() -> list[Any]:
    cases = json.loads((OWN / "cases" / "clock_tracker_cases.json").read_text())
    # The clock_converter's follow another rule: tests/helpers/clock_converter.py.
    return [pytest.param(c, id=c["name"]) for c in cases if "converter" not in c]


def clock_of(name: str) -> ClockId:
    """`m1:seq2:64` and the like."""
    *scopes, base = name.split(":")
    suffixes = [f"@{s}" if s.startswith("seq") else f"@machine{s[1:]}" for s in scopes]
    return ClockId.parse(base + "".join(sorted(suffixes, reverse=True)))


@pytest.mark.parametrize("case", unit_cases())
def test_unit_case(case):
    """clock_tracker_unittest.cc, step by step: what later snapshots say is not known yet."""
    trace_clock = clock_of(case.get("trace_time", "BOOTTIME"))
    graph = ClockGraph(trace_clock)
    # An importer adds the deltas of incremental clocks up; the graph takes absolute values.
    absolute: dict[ClockId, int] = {}
    for number, step in enumerate(case["steps"]):
        if "snapshot" in step:
            readings = {
                clock_of(reading["clock"]): Reading(
                    reading["ts"], reading.get("unit", 1), reading.get("incremental", False)
                )
                for reading in step["snapshot"]
            }
            graph.add_snapshot(readings)
            for clock, reading in readings.items():
                if reading.incremental:
                    absolute[clock] = reading.value
        if "convert" in step:
            ask = step["convert"]
            source = clock_of(ask["from"])
            target = trace_clock if ask["to"] == "TRACE_TIME" else clock_of(ask["to"])
            ts = ask["ts"]
            if source in absolute:
                ts = absolute[source] = absolute[source] + ts
            got = graph.convert(ts, source, target, errors="mask")
            assert got == (None if ask["expect"] == "error" else ask["expect"]), (number, step)


# Against the twin: any snapshots, any values

ALPHABET = [Key(1), Key(3), Key(6), Key(6, machine=1), Key(64, 1), Key(64, 2), Key(200), Key(201)]


def clock_id(key: Key) -> ClockId:
    return ClockId(key.clock, key.sequence, key.machine, key.file)


values = st.one_of(
    st.integers(0, 40),
    st.integers(-(10**6), 10**6),
    st.sampled_from([LOW, LOW + 1, HIGH - 1, HIGH]),
)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_graph_converts_as_the_twin(data):
    graph, twin = ClockGraph("BOOTTIME"), TwinGraph(Key(6))
    units = {key: data.draw(st.sampled_from([1, 1, 3, 1000, 2**62])) for key in ALPHABET}
    units[Key(6)] = 1
    lists = data.draw(
        st.lists(
            st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=4, unique=True),
            min_size=1,
            max_size=4,
        )
    )
    for keys in data.draw(st.lists(st.sampled_from(lists), max_size=12)):
        readings = [TwinReading(key, data.draw(values), units[key]) for key in keys]
        try:
            graph.add_snapshot({clock_id(r.key): Reading(r.value, r.unit) for r in readings})
        except UsageError:
            continue  # the graph takes all of a snapshot or nothing
        assert twin.add_snapshot(readings)
    for _ in range(6):
        source, target = data.draw(st.sampled_from(ALPHABET)), data.draw(st.sampled_from(ALPHABET))
        for ts in data.draw(st.lists(values, max_size=4)):
            twin.cache = [None] * len(twin.cache)
            expected = twin.convert(source, ts, target)
            if expected.value is None:
                refused(expected.status, graph, ts, clock_id(source), clock_id(target))
            assert (
                graph.convert(ts, clock_id(source), clock_id(target), errors="mask")
                == expected.value
            )


def test_hops_whose_sum_leaves_int64_though_every_value_fits():
    graph = ClockGraph()
    graph.add_snapshot({"REALTIME": 0, "BOOTTIME": LOW})
    graph.add_snapshot({"MONOTONIC": 1, "REALTIME": 0})
    assert graph.convert(1, "MONOTONIC", "BOOTTIME") == LOW


# Paths


def test_no_way_and_what_to_do(suspended):
    suspended.add_snapshot({200: 1, 201: 1})
    message = refused("no_path", suspended, 5, 200, "BOOTTIME")
    assert message.startswith("the snapshots do not lead from 200 to BOOTTIME in 4 hops")
    assert "take one that has both" in message


def test_unknown_clocks_name_the_known_ones(suspended):
    assert "no snapshot has TSC: the graph has MONOTONIC, BOOTTIME" in refused(
        "unknown_source_clock", suspended, 5, "TSC", "BOOTTIME"
    )
    assert "no snapshot has TSC: the graph has MONOTONIC, BOOTTIME" in refused(
        "unknown_target_clock", suspended, 5, "BOOTTIME", "TSC"
    )
    assert "the graph has no clocks" in refused("unknown_source_clock", ClockGraph(), 5, 6, 3)


def test_of_many_clocks_twelve_are_named():
    graph = graph_of({200 + i: i for i in range(20)})
    assert "and 8 more" in refused("unknown_source_clock", graph, 5, "TSC", 200)


def test_a_clock_converts_to_itself_as_it_stands(suspended):
    assert suspended.convert(HIGH, "MONOTONIC", "MONOTONIC") == HIGH
    assert suspended.convert([5, LOW], "TSC", "TSC").tolist() == [5, LOW]
    assert suspended.path("TSC", "TSC") == [ClockId(9)]


def test_four_hops_at_most():
    graph = graph_of(*({200 + i: 10 * i, 201 + i: 10 * i + 1} for i in range(5)))
    assert graph.convert(0, 200, 204) == 4
    assert graph.path(200, 204) == [ClockId(200 + i) for i in range(5)]
    refused("no_path", graph, 0, 200, 205)


def test_the_smaller_clock_wins_among_shortest_paths():
    """perfetto-rules: edges in the order (source, target, series hash)."""
    graph = graph_of(
        {300: 0, 202: 1000},
        {202: 1000, "BOOTTIME": 0},
        {300: 0, 201: 500},
        {201: 600, "BOOTTIME": 0},
    )
    assert graph.path(300, "BOOTTIME") == [ClockId(300), ClockId(201), ClockId(6)]
    assert graph.convert(0, 300, "BOOTTIME") == -100


def test_what_the_graph_learns_changes_its_paths(suspended):
    assert suspended.convert(1104, "MONOTONIC", "BOOTTIME") == 2104
    suspended.add_snapshot({"MONOTONIC": 2200, "BOOTTIME": 3800})
    assert suspended.convert(2200, "MONOTONIC", "BOOTTIME") == 3800
    refused("unknown_source_clock", suspended, 1, "REALTIME", "MONOTONIC")
    suspended.add_snapshot({"REALTIME": 7, "MONOTONIC": 2300})
    assert suspended.path("REALTIME", "BOOTTIME") == [ClockId(1), ClockId(3), ClockId(6)]
    assert suspended.convert(8, "REALTIME", "BOOTTIME") == 2301 + 1600
    suspended.add_snapshot({"MONOTONIC": 5, "BOOTTIME": 9000})
    refused("non_monotonic_source", suspended, 1104, "MONOTONIC", "BOOTTIME")
    refused("no_path", suspended, 8, "REALTIME", "BOOTTIME")


def test_more_pairs_than_are_remembered():
    clocks = range(200, 215)
    graph = graph_of({clock: clock for clock in clocks})
    for _ in range(2):
        for source in clocks:
            for target in clocks:
                assert graph.convert(0, source, target) == target - source or source == target


def test_running_backwards_is_per_list_of_clocks():
    """clock_synchronizer.cc compares a reading with the last one of the same snapshot hash."""
    graph = graph_of({"MONOTONIC": 100, "BOOTTIME": 100}, {"MONOTONIC": 50, "REALTIME": 50})
    assert graph.convert(100, "MONOTONIC", "BOOTTIME") == 100
    graph.add_snapshot({"MONOTONIC": 49, "REALTIME": 60})
    refused("non_monotonic_source", graph, 100, "MONOTONIC", "BOOTTIME")
    assert graph.convert(100, "BOOTTIME", "MONOTONIC") == 100


def test_equal_readings_do_not_run_backwards():
    graph = graph_of({"MONOTONIC": [5, 5], "BOOTTIME": [10, 20]})
    assert graph.convert([4, 5], "MONOTONIC", "BOOTTIME").tolist() == [9, 20]


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


def test_incremental_clocks_are_asked_by_absolute_value():
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
        pd.Series,
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
    ids=repr,
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
    """The 0 that stands in for a null would overflow here; the others do not."""
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


def test_an_overflow_names_the_value_and_where_it_stands(suspended):
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


# Snapshots that are refused


def state(graph: ClockGraph) -> tuple[Any, ...]:
    return graph.series(), graph.edges(), [c for c in graph.clocks() if c.snapshots]


@pytest.mark.parametrize(
    ("snapshot", "message"),
    [
        ({"MONOTONIC": 3000, "BOOTTIME": 0}, "BOOTTIME is the trace clock, and went backwards"),
        ({"MONOTONIC": 3000, "BOOTTIME": Reading(4000, 10)}, "BOOTTIME has another unit"),
        ({"MONOTONIC": Reading(3000, 2), "BOOTTIME": 4000}, "MONOTONIC has another unit"),
        ({"REALTIME": 5, 200: Reading(1, incremental=True)}, "200 is incremental"),
        ({"REALTIME": 5, 200: Reading(2**62, 1000)}, "200 does not fit in int64"),
    ],
)
def test_a_snapshot_is_taken_whole_or_not_at_all(snapshot, message):
    graph = graph_of({"MONOTONIC": 1000, "BOOTTIME": 2000}, trace_clock="BOOTTIME")
    before = state(graph)
    with pytest.raises(UsageError, match=message):
        graph.add_snapshot(snapshot)
    assert state(graph) == before
    assert graph.convert(3000, "MONOTONIC", "BOOTTIME") == 4000
    refused("unknown_source_clock", graph, 5, "REALTIME", "BOOTTIME")
    graph.add_snapshot({"MONOTONIC": 3000, "BOOTTIME": 5000})
    assert graph.convert(3000, "MONOTONIC", "BOOTTIME") == 5000


def test_the_trace_clock_counts_nanoseconds():
    with pytest.raises(UsageError, match="BOOTTIME is the trace clock, which must count nano"):
        ClockGraph("BOOTTIME").add_snapshot({"BOOTTIME": Reading(1, 1000), "MONOTONIC": 1})


def test_of_arrays_the_snapshots_before_the_refused_one_stay():
    graph = ClockGraph("BOOTTIME")
    with pytest.raises(UsageError, match="^snapshot 2 of 4: BOOTTIME is the trace clock"):
        graph.add_snapshot({"MONOTONIC": [1, 2, 3, 4], "BOOTTIME": [10, 20, 15, 40]})
    assert graph.series() == [((ClockId(3), ClockId(6)), 2)]
    assert graph.convert([1, 2, 3, 4], 3, 6).tolist() == [10, 20, 21, 22]


def test_widths_of_refused_snapshots_are_not_those_of_later_ones():
    graph = ClockGraph("BOOTTIME")
    column = Snapshot(
        {"BOOTTIME": [10, 20, 5, 30], "MONOTONIC": [1, 2, 3, 4]},
        reference="BOOTTIME",
        half_width_ns={"MONOTONIC": [7, 8, 9, 10]},
        centre_ns={"MONOTONIC": [1, 2, 3, 4]},
        frequency_scaled_ppm={"MONOTONIC": [5, 6, 7, 8]},
    )
    with pytest.raises(UsageError):
        graph.add_snapshot(column)
    graph.add_snapshot({"BOOTTIME": [40, 50], "MONOTONIC": [10, 20]})
    boottime, monotonic = graph.readings()
    assert boottime.half_width_ns.tolist() == [0, 0, -1, -1]
    assert monotonic.half_width_ns.tolist() == [7, 8, -1, -1]
    assert monotonic.centre_ns.tolist() == [1, 2, 0, 0]
    recorded = graph._parts.state.measured.frequency(ClockId(3), monotonic.snapshots)
    assert recorded.tolist() == [5, 6, LOW, LOW]


def test_arrays_are_as_many_snapshots_in_order(suspended):
    one_by_one = ClockGraph()
    for monotonic, boottime in zip(
        [1000, 1100, 1200, 1900, 2000, 2100], [2000, 2100, 2200, 2900, 3500, 3600], strict=True
    ):
        one_by_one.add_snapshot(Snapshot({"MONOTONIC": monotonic, "BOOTTIME": boottime}))
    assert state(one_by_one) == state(suspended)


def test_no_snapshot_at_all_adds_nothing():
    graph = graph_of({"MONOTONIC": [], "BOOTTIME": []})
    assert state(graph) == ([], [], [])
    refused("unknown_source_clock", graph, 1, "MONOTONIC", "BOOTTIME")


@pytest.mark.parametrize(
    "snapshot", [{}, {64: 1}, {"MONOTONIC": 1, 3: 2}, [("MONOTONIC", 1)], None]
)
def test_what_is_no_snapshot(snapshot):
    with pytest.raises(UsageError):
        ClockGraph().add_snapshot(snapshot)


# What the graph tells


def test_the_clocks_of_a_graph(daylight_saving):
    daylight_saving.add_snapshot(
        {"64@seq1": Reading(5, 1000, incremental=True), "BOOTTIME": 3 * HOUR}
    )
    clocks = daylight_saving.clocks()
    assert [info.clock for info in clocks] == [ClockId(1), ClockId(6), ClockId(64, 1)]
    assert clocks[0] == (ClockId(1), 1, False, False, 3, HOUR, 2 * HOUR - 1)
    assert clocks[1] == (ClockId(6), 1, False, True, 4, 0, 3 * HOUR)
    assert clocks[2] == (ClockId(64, 1), 1000, True, True, 1, 5000, 5000)


def test_the_series_of_a_graph_are_ordered_lists():
    graph = graph_of({3: 1, 6: 1}, {6: 2, 3: 2}, {3: 3, 6: 3}, {3: 4})
    three, six = ClockId(3), ClockId(6)
    assert graph.series() == [((three, six), 2), ((six, three), 1), ((three,), 1)]


def test_the_edges_of_a_graph(daylight_saving):
    boottime, realtime, monotonic = ClockId(6), ClockId(1), ClockId(3)
    assert daylight_saving.edges() == [(boottime, realtime, 3)]
    daylight_saving.add_snapshot({"MONOTONIC": 1, "BOOTTIME": 3 * HOUR})
    assert daylight_saving.edges() == [
        (monotonic, boottime, 1), (boottime, realtime, 3), (boottime, monotonic, 1),
    ]  # fmt: skip


def test_the_trace_clock_of_a_graph():
    assert ClockGraph().trace_clock is None
    assert ClockGraph("MONOTONIC").trace_clock == ClockId(3)


def test_a_graph_shows_its_clocks(suspended):
    assert repr(suspended) == "<ClockGraph of 2 clocks: MONOTONIC, BOOTTIME>"


# One conversion explained


def test_explain_says_which_snapshot_was_taken(suspended):
    explained = suspended.explain(1104, "MONOTONIC", "BOOTTIME")
    assert explained.result == 2104
    (step,) = explained.steps
    assert (step.src, step.dst) == (ClockId(3), ClockId(6))
    assert (step.snapshot_index, step.snapshots, step.extrapolated) == (1, 6, "")
    assert (step.snapshot_src_ns, step.snapshot_dst_ns) == (1100, 2100)
    assert (step.value_ns_before, step.value_ns_after) == (1104, 2104)
    assert str(explained) == (
        "MONOTONIC 1104 -> BOOTTIME 2104 ns\n"
        "  1. MONOTONIC 1104 ns -> BOOTTIME 2104 ns: +1000 ns, from snapshot 2 of 6 "
        "(MONOTONIC 1100, BOOTTIME 2100)"
    )


@pytest.mark.parametrize(
    ("ts", "side", "told"),
    [
        (999, "before first", "\n  1 ns before the first snapshot of MONOTONIC and BOOTTIME"),
        (1000, "", ""),
        (2099, "", ""),
        (2100, "", ""),
        (2107, "after last", "\n  7 ns after the last snapshot of MONOTONIC and BOOTTIME"),
    ],
)
def test_explain_says_where_there_is_no_snapshot_on_one_side(suspended, ts, side, told):
    explained = suspended.explain(ts, "MONOTONIC", "BOOTTIME")
    assert explained.steps[0].extrapolated == side
    said = ": nothing says what was there" if told else ""
    assert str(explained).endswith(f"){told}{said}")


def test_explain_over_two_hops_and_with_a_unit(indirect):
    indirect.add_snapshot({"64@seq1": Reading(4, 1000), 200: 3503})
    explained = indirect.explain(4, "64@seq1", "BOOTTIME")
    assert [step.value_ns_after for step in explained.steps] == [3503, 3703, 7703]
    assert explained.unit_ns == 1000
    assert "  4 x 1000 ns = 4000 ns\n" in str(explained)
    assert explained.result == indirect.convert(4, "64@seq1", "BOOTTIME") == 7703


def test_explain_a_clock_to_itself(suspended):
    explained = suspended.explain(5, "MONOTONIC", "MONOTONIC")
    assert (explained.result, explained.steps) == (5, [])
    assert "the value stands as it is" in str(explained)


def test_clocks_of_a_hash_go_by_their_names():
    gpu, nic = "com.example.gpu", "com.example.nic"
    graph = graph_of(*({gpu: S * k + 10, "BOOTTIME": S * k} for k in (1, 2, 3)))
    graph.declare(ClockDomain(gpu))
    assert repr(graph) == "<ClockGraph of 2 clocks: BOOTTIME, com.example.gpu>"
    for policy in ("floor", "tube"):
        told = str(graph.explain(11, gpu, "BOOTTIME", policy=policy))
        assert told.startswith("com.example.gpu 11 -> BOOTTIME") and "0x" not in told
    assert "0x" not in str(graph.explain(11, gpu, gpu, policy="tube"))
    told = refused("overflow", graph, LOW, gpu, "BOOTTIME")
    assert told.startswith(f"com.example.gpu {LOW} converted to BOOTTIME does not fit")
    assert refused("unknown_target_clock", graph, 5, gpu, nic).endswith(
        f"{ClockId.parse(nic)}: the graph has BOOTTIME, com.example.gpu"
    )
    for policy in ("floor", "tube"):
        with pytest.raises(ConversionError, match="no snapshot has com.example.nic"):
            graph.declare(ClockDomain(nic))
            graph.path(nic, "BOOTTIME", policy)


def test_explain_fails_as_convert_does(suspended, daylight_saving):
    with pytest.raises(ConversionError) as info:
        daylight_saving.explain(5, "REALTIME", "BOOTTIME")
    assert info.value.reason == "non_monotonic_source"
    with pytest.raises(UsageError, match="one timestamp"):
        suspended.explain([1104], "MONOTONIC", "BOOTTIME")


@given(st.integers(LOW, HIGH), st.lists(st.tuples(values, values), min_size=1, max_size=6))
def test_explain_comes_to_what_convert_gives(ts, snapshots):
    graph = graph_of(
        {"MONOTONIC": sorted(s[0] for s in snapshots), "BOOTTIME": [s[1] for s in snapshots]}
    )
    expected = graph.convert(ts, 3, 6, errors="mask")
    if expected is not None:
        explained = graph.explain(ts, 3, 6)
        assert explained.result == explained.steps[-1].value_ns_after == expected


@pytest.mark.parametrize("call", ["convert", "explain", "path"])
def test_another_policy(suspended, call):
    arguments = ("MONOTONIC", "BOOTTIME") if call == "path" else (5, "MONOTONIC", "BOOTTIME")
    with pytest.raises(UsageError, match="no policy 'nearest'"):
        getattr(suspended, call)(*arguments, policy="nearest")


def test_another_way_with_errors(suspended):
    with pytest.raises(UsageError, match="'raise' or 'mask'"):
        suspended.convert(5, 3, 6, errors="ignore")


def test_converting_does_not_change_the_graph(suspended):
    before = state(suspended)
    suspended.convert([1104, 5], "MONOTONIC", "BOOTTIME")
    suspended.convert(5, "TSC", "PERF", errors="mask")
    assert state(suspended) == before


def test_paths_are_kept_but_not_without_end():
    clocks = [ClockId(64 + k % 64, 1 + k // 64) for k in range(300)]
    graph = graph_of(dict.fromkeys(["BOOTTIME", *clocks], 5))
    boottime = ClockId(6)
    graph.convert(5, clocks[0], boottime)
    floor = graph._parts.floor
    first = floor.route(clocks[0], boottime)
    assert floor.route(clocks[0], boottime) is first
    for clock in clocks[1:]:
        assert graph.convert(6, clock, boottime) == graph.convert(6, boottime, clock) == 6
        assert len(floor._routes) <= 64
        assert len(floor._routers) <= 64
    assert graph._parts.floor is floor
    assert floor.route(clocks[-1], boottime) is floor.route(clocks[-1], boottime)
    assert floor._router(boottime) is floor._router(boottime)
