"""ClockGraph: the worked examples of Perfetto's clock-sync page, its unit cases, and the rules.

The page is docs/concepts/clock-sync.md of google/perfetto.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from corpus import OWN
from graphs import graph_of, refused
from hypothesis import given, settings
from hypothesis import strategies as st
from twin import Key, TwinGraph
from twin import Reading as TwinReading

from tracetime import (
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    UsageError,
)
from tracetime.graph import conversion

LOW, HIGH = -(2**63), 2**63 - 1
S = 10**9
HOUR = 3600 * S


def test_1104_of_monotonic_is_2104_of_boottime(suspended):
    assert suspended.convert(1104, "MONOTONIC", "BOOTTIME") == 2104


def test_the_latest_snapshot_before_counts(suspended):
    assert suspended.convert([1099, 1100, 1199, 1899, 1900, 1999, 2000], 3, 6).tolist() == [
        2099,
        2100,
        2199,
        2899,
        2900,
        2999,
        3500,
    ]


def test_before_the_first_snapshot_the_first_counts(suspended):
    assert suspended.convert(0, "MONOTONIC", "BOOTTIME") == 1000


def test_after_the_last_snapshot_the_last_counts(suspended):
    assert suspended.convert(1_000_000, "MONOTONIC", "BOOTTIME") == 1_001_500


def test_the_way_back(suspended):
    assert suspended.convert([2104, 3499, 3500], "BOOTTIME", "MONOTONIC").tolist() == [
        1104,
        2499,
        2000,
    ]


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


@settings(max_examples=400)
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


def test_a_clock_converts_to_itself_unchanged(suspended):
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


def test_paths_are_kept_but_not_without_end():
    clocks = [ClockId(64 + k % 64, 1 + k // 64) for k in range(300)]
    graph = graph_of(dict.fromkeys(["BOOTTIME", *clocks], 5))
    boottime = ClockId(6)
    graph.convert(5, clocks[0], boottime)
    floor = graph._graph.floor
    first = floor.route(clocks[0], boottime)
    assert floor.route(clocks[0], boottime) is first
    for clock in clocks[1:]:
        assert graph.convert(6, clock, boottime) == graph.convert(6, boottime, clock) == 6
        assert len(floor._routes) <= 64
        assert len(floor._routers) <= 64
    assert graph._graph.floor is floor
    assert floor.route(clocks[-1], boottime) is floor.route(clocks[-1], boottime)
    assert floor._router(boottime) is floor._router(boottime)


def test_the_tube_converts_many_values_as_it_converts_each(monkeypatch):
    """They go through it in parts: what lies between two parts is not lost."""
    graph = ClockGraph("BOOTTIME")
    ns = np.arange(10) * 10**9
    graph.add_snapshot({"BOOTTIME": ns, "MONOTONIC": ns + 7 * np.arange(10)})
    values = np.random.default_rng(1).integers(-(10**9), 11 * 10**9, 23)
    whole = graph.convert(values, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
    monkeypatch.setattr(conversion, "_AT_ONCE", 5)
    for one, other in zip(
        graph.convert(values, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True),
        whole,
        strict=True,
    ):
        assert one.tolist() == other.tolist()
    with pytest.raises(ConversionError):
        graph.convert(values, "MONOTONIC", "TSC", policy="tube")
    empty = graph.convert(values[:0], "MONOTONIC", "BOOTTIME", policy="tube")
    assert empty.tolist() == []
