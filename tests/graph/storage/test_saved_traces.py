"""Graphs of traces come back from files."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace
from corpus import files
from graph_files import facts_of, remade
from hypothesis import example, given, settings
from hypothesis import strategies as st
from places import ROOT
from random_traces import nasty_trace
from saved_graphs import assert_same, of_trace, saved

from tracetime import (
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    open_trace,
)
from tracetime._kernels import graph as kernel
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.graph.clock_graph import from_bytes, to_bytes

DEMO = ROOT / "demo" / "demo.pftrace"
S = 10**9
KERNEL = KernelClock(-1_234_567, 10_001, -44, 16_000_000, 16_000_001, 0x40, 5, 37)


def test_the_demo_trace(tmp_path):
    domains = [ClockDomain("com.example.gpu", "com.example.gpu", assumed_half_width_ns=100)]
    with open_trace(DEMO, domains=domains) as one:
        graph, packets = one.clocks, one.snapshot_packets
    graph.save(tmp_path / "graph.npz")
    loaded = ClockGraph.load(tmp_path / "graph.npz")
    assert_same(graph, loaded)
    assert kernel.snapshot_packets(loaded._graph.state.engine).tolist() == packets.tolist()
    assert len(set(packets.tolist())) > 20
    assert loaded.discontinuities()


def test_what_a_recorded_trace_says_of_its_clocks(tmp_path):
    path = tmp_path / "out.pftrace"
    writer = TraceWriter(path)
    writer.declare(ClockDomain("dev.gpu", "dev.gpu", 52.08, Fraction(625, 12), 36, 50, 0.25, "gpu"))
    for n in range(30):
        writer.snapshot(
            Snapshot(
                {"MONOTONIC_RAW": n * S, "BOOTTIME": 7 + n * S, "dev.gpu": 19_200_000 * n},
                reference="MONOTONIC_RAW",
                half_width_ns={"BOOTTIME": 40 + n, "dev.gpu": 900 - n},
                centre_ns={"BOOTTIME": 20 - n, "dev.gpu": -3 * n},
            ),
            kernel_clock=KERNEL._replace(frequency_scaled=n * 1000) if n % 2 else None,
            main=True,
        )
    writer.close()
    with open_trace(path) as one:
        graph = one.clocks
    assert graph._graph.state.measured.knows(ClockId(6))
    loaded = saved(graph)
    assert_same(graph, loaded)
    assert loaded.names[ClockId.parse("dev.gpu")] == "dev.gpu"
    assert loaded._graph.state.measured.frequency(ClockId(6), np.array([0, 1, 2, 3]))[
        1::2
    ].tolist() == [
        1000,
        3000,
    ]
    for one_graph in (graph, loaded):
        one_graph.add_snapshot({"MONOTONIC_RAW": 31 * S, "BOOTTIME": 31 * S, "REALTIME": 0})
    assert_same(graph, loaded)


def test_snapshots_that_were_not_taken_whole():
    data = trace(
        *(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 2000 - n, REALTIME: 7}) for n in range(3)),
        snapshot([(MONOTONIC, 3000), (BOOTTIME, 3000), (MONOTONIC, 3001)]),
        snapshot({200: (1, 1000), BOOTTIME: 4000}),
        snapshot({200: (1, 1), BOOTTIME: 4000}),
        snapshot({MONOTONIC: 5000, 200: (2**62, 1000), BOOTTIME: 4000}),
        snapshot([(201, (5, 1, True))]),
        snapshot({BOOTTIME: 10, MONOTONIC: 2000, REALTIME: 7}),
        snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7),
        event(2, 64, seq=7),
    )
    graph = of_trace(data)
    loaded = saved(graph)
    assert_same(graph, loaded, 9)
    # Neither 201 nor the second unit of 200 has a reading, and both snapshots count.
    assert len(kernel.snapshot_packets(loaded._graph.state.engine)) == 10
    assert {info.clock for info in loaded.clocks() if not info.snapshots} == {ClockId(201)}
    assert [info.clock for info in loaded.clocks() if not info.monotonic] == [ClockId(3)]
    for one in (graph, loaded):
        one.add_snapshot({200: Reading(9, 1000), "BOOTTIME": 6000})
    assert_same(graph, loaded, 9)


def test_a_compressed_trace_numbers_its_one_file():
    import gzip

    data = trace(snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7), event(2, 64, seq=7))
    graph = of_trace(gzip.compress(data))
    loaded = saved(graph)
    assert (graph._graph.state.file, loaded._graph.state.file) == (1, 1)
    assert_same(graph, loaded)
    for one in (graph, loaded):
        one.add_snapshot({"64@seq7": Reading(6, 1000, True), "BOOTTIME": 6000})
    assert_same(graph, loaded)
    assert len(loaded.clocks()) == 2


def test_a_short_counter_of_another_file_than_its_name_says():
    """A file may say so, and remote clock syncs in compressed traces have such clocks."""
    graph = ClockGraph(domains=[ClockDomain(ClockId(64, 3), valid_bits=20)])
    graph.add_snapshot({"BOOTTIME": 5, "MONOTONIC": 6, "64@seq3": 9})
    facts = facts_of(to_bytes(graph)) | {"file": 7}
    loaded = from_bytes(remade(to_bytes(graph), facts))
    assert loaded.convert(6, "MONOTONIC", "BOOTTIME", policy="tube") == 5
    with pytest.raises(ConversionError, match="64@seq3"):
        loaded.convert(6, "64@seq3", "BOOTTIME", policy="tube")


def real_traces() -> list[Any]:
    # Each of those by chance is alike; the largest take long for their tubes.
    return [
        pytest.param(path, id=path.name)
        for path in files("traces/*")
        if path.stat().st_size < 4 << 20 and path.stem[-1] in "05adeghlkmnst"
    ]


@pytest.mark.parametrize("path", real_traces())
def test_the_graph_of_a_real_trace(path):
    with open_trace(path, partial=True) as one:
        graph = one.clocks
    assert_same(graph, saved(graph), 3)


@settings(max_examples=150)
@example(40_267_797)
@given(st.integers(0, 2**32))
def test_the_graph_of_any_trace(seed):
    graph = of_trace(nasty_trace(Random(seed)), partial=True)
    assert_same(graph, saved(graph), 3)
