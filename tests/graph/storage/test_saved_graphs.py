"""A graph that was saved or pickled comes back, and goes on."""

from __future__ import annotations

import copy
import multiprocessing
import pickle
from fractions import Fraction
from operator import methodcaller

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_graphs import assert_same, content, feed, saved

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    Reading,
    Snapshot,
    TraceError,
    UsageError,
)
from tracetime._kernels.graph import series_hash
from tracetime.graph.clock_graph import from_bytes

S = 10**9
LOW, HIGH = -(2**63), 2**63 - 1


def test_the_pages_example_answers_as_before(indirect, tmp_path):
    indirect.save(tmp_path / "graph.npz")
    graph = ClockGraph.load(tmp_path / "graph.npz")
    assert graph.convert(3503, 200, "BOOTTIME") == 7703
    assert graph.path(200, "BOOTTIME") == [ClockId(200), ClockId(3), ClockId(6)]
    assert graph.trace_clock == ClockId(6)
    assert_same(indirect, graph)


def test_half_widths_centres_and_frequencies_come_back(measured):
    graph = saved(measured)
    assert_same(measured, graph)
    raw, boottime, tsc = list(graph.readings())[2:5]
    assert boottime.half_width_ns.tolist() == [40 + n for n in range(40)]
    assert tsc.centre_ns.tolist() == [-3 * n for n in range(40)]
    assert raw.half_width_ns.tolist() == [0] * 40
    assert graph._graph.state.measured.frequency(ClockId(6), np.array([0, 1, 15, 41])).tolist() == [
        LOW,
        0,
        65_536,
        LOW,
    ]


def test_half_widths_of_a_clock_in_several_lists_of_clocks():
    graph = ClockGraph()
    for n in range(6):
        readings = {"BOOTTIME": n * S, ("MONOTONIC", "REALTIME")[n % 2]: n * S}
        half = {"BOOTTIME": 10 * n + 1}
        graph.add_snapshot(
            Snapshot(
                readings,
                reference="BOOTTIME",
                half_width_ns=half,
                frequency_scaled_ppm={"BOOTTIME": n},
            )
        )
    assert_same(graph, saved(graph))


def test_a_graph_without_snapshots():
    graph = ClockGraph("BOOTTIME", [ClockDomain("TSC")])
    assert_same(graph, saved(graph))
    assert_same(ClockGraph(), saved(ClockGraph()))


def test_a_loaded_graph_goes_on(measured):
    graph = saved(measured)
    more = Snapshot(
        {"MONOTONIC_RAW": [60 * S, 61 * S], "BOOTTIME": [60 * S, 61 * S], "TSC": [5, 6]},
        reference="BOOTTIME",
        half_width_ns={"TSC": [1, 2]},
        frequency_scaled_ppm={"BOOTTIME": [3, 4]},
    )
    for one in (measured, graph):
        one.convert(0, "MONOTONIC", "BOOTTIME")
        one.add_snapshot(more)
        with pytest.raises(UsageError, match="BOOTTIME is the trace clock, and went backwards"):
            one.add_snapshot({"MONOTONIC": 99 * S, "BOOTTIME": 1})
        with pytest.raises(UsageError, match="another unit"):
            one.add_snapshot({"MONOTONIC": Reading(1, 5), 200: 1})
        one.add_snapshot({"MONOTONIC": 1, 200: 1})
        one.declare(ClockDomain("BOOTTIME", "later"))
    assert_same(measured, graph)
    assert_same(measured, saved(graph))


def test_a_loaded_graph_is_another_graph(indirect):
    before = content(indirect)
    graph = saved(indirect)
    graph.add_snapshot({200: 1, 201: 2})
    graph.declare(ClockDomain(200, "x"))
    assert content(indirect) == before


def test_every_field_of_a_domain_comes_back():
    domains = [
        ClockDomain(
            "64@seq7@machine2@file1", "süß \ud800", 52.083333333333336, Fraction(10**18 + 7, 3**30), 36,
            0.1, 1e-9, "gpu", False, 1 << 58,
        ),
        ClockDomain(64, None, 5e-324, None, 1, 32_000, 0, disciplined=True),
        ClockDomain(2**32 - 1, ""),
        ClockDomain("com.example.gpu", ns_per_tick=5e-324),
    ]  # fmt: skip
    graph = saved(ClockGraph(None, domains))
    assert list(graph.declared.values()) == domains
    assert [type(d.ns_per_tick) for d in graph.declared.values()][:2] == [Fraction, type(None)]


def test_sequences_machines_files_units_and_increments():
    graph = ClockGraph()
    graph.add_snapshot({"64@seq7": Reading(5, 1000, True), "BOOTTIME": 3, "MONOTONIC@machine2": 4})
    graph.add_snapshot({"64@seq7@file3": 6, "64@seq8": Reading(-7, 2**40), "BOOTTIME": 3})
    graph.add_snapshot({"64@seq7": Reading(9, 1000, True), "BOOTTIME": 8, "MONOTONIC@machine2": 1})
    assert_same(graph, saved(graph))


def test_the_ends_of_int64():
    graph = ClockGraph()
    graph.add_snapshot({200: [LOW, LOW, HIGH], 201: [HIGH, LOW, 0]})
    assert_same(graph, saved(graph))


def test_lists_of_clocks_whose_hashes_collide_share_columns():
    one, other, third = (ClockId(9521), ClockId(6)), (ClockId(13925), ClockId(6)), (ClockId(5),)
    assert series_hash([(c.clock, 0, 0, 0) for c in one]) == series_hash(
        [(c.clock, 0, 0, 0) for c in other]
    )
    graph = ClockGraph()
    for n in range(6):
        graph.add_snapshot({clock: n * S + i * n for i, clock in enumerate((one, other)[n % 2])})
        graph.add_snapshot({third[0]: n, one[0]: n})
    boottime = [r for r in graph.readings() if r.clock == ClockId(6)]
    assert [len(r.snapshots) for r in boottime] == [6]
    assert_same(graph, saved(graph))


# Pickles


def test_a_pickle_is_the_same_graph(measured):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert_same(measured, pickle.loads(pickle.dumps(measured, protocol)))
    assert_same(measured, copy.deepcopy(measured))
    assert_same(measured, copy.copy(measured))


def test_another_process_converts_with_it(indirect):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(methodcaller("convert", 3503, 200, 6), [indirect]) == [7703]


def test_a_pickle_that_holds_no_graph():
    with pytest.raises(TraceError, match="cannot make a clock graph of these bytes"):
        from_bytes(b"ARROW1")


CLOCKS = [ClockId.parse(text) for text in (
    "REALTIME", "MONOTONIC", "BOOTTIME", "BOOTTIME@machine1", "64@seq1", "64@seq2@file1", "TSC",
    "200", "201",
)]  # fmt: skip
VALUES = st.integers(0, 9) | st.integers(-(10**12), 10**12) | st.sampled_from([LOW, LOW + 1, HIGH])
WIDTHS = st.integers(0, 1000) | st.integers(0, HIGH)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    clocks = draw(st.lists(st.sampled_from(CLOCKS), min_size=1, max_size=4, unique=True))
    n = draw(st.integers(0, 4))

    def column(values: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(values, min_size=n, max_size=n))

    unit = draw(st.sampled_from([1, 1, 1, 1000]))
    incremental = draw(st.sampled_from([False, False, True]))
    readings = {
        clock: Reading(column(VALUES), unit if clock.clock in (64, 200) else 1, incremental)
        if clock.clock in (64, 200)
        else column(VALUES)
        for clock in clocks
    }
    if draw(st.booleans()):
        return Snapshot(readings)
    some = st.lists(st.sampled_from(clocks), unique=True)
    frequencies = {c: column(st.integers(-6_553_600_000, 6_553_600_000)) for c in draw(some)}
    if draw(st.booleans()):
        return Snapshot(readings, frequency_scaled_ppm=frequencies)
    return Snapshot(
        readings,
        reference=draw(st.sampled_from(clocks)),
        half_width_ns={c: column(WIDTHS) for c in draw(some)},
        centre_ns={c: column(VALUES) for c in draw(some)},
        frequency_scaled_ppm=frequencies,
    )


domains = st.builds(
    ClockDomain,
    st.sampled_from(CLOCKS),
    name=st.none() | st.text(),
    tick_ns=st.none() | st.floats(1e-300, 1e17),
    ns_per_tick=st.none() | st.fractions(Fraction(1, 1000), 1000),
    valid_bits=st.integers(1, 64),
    max_drift_ppm=st.none() | st.floats(0, 32_000),
    wander_ppm=st.none() | st.floats(0, 5_000),
    oscillator=st.none() | st.text(),
    disciplined=st.none() | st.booleans(),
    assumed_half_width_ns=st.none() | st.integers(0, 1 << 58),
)


@settings(max_examples=200)
@given(
    st.none() | st.sampled_from(CLOCKS),
    st.lists(domains, max_size=3),
    st.lists(snapshots(), max_size=8),
    st.lists(snapshots(), max_size=4),
)
def test_any_graph_comes_back_and_goes_on(trace_clock, declared, fed, more):
    graph = ClockGraph(trace_clock, declared)
    feed(graph, fed)
    loaded = saved(graph)
    assert_same(graph, loaded, 3)
    assert feed(loaded, more) == feed(graph, more)
    assert content(loaded) == content(graph)
    assert content(saved(loaded)) == content(graph)
