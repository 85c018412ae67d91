"""Graphs in files and pickles: the same graph comes back, and nothing but a graph does."""

from __future__ import annotations

import copy
import io
import json
import multiprocessing
import os
import pickle
import zipfile
from collections.abc import Callable
from fractions import Fraction
from operator import methodcaller
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, snapshot, trace
from corpus import files
from hypothesis import given, settings
from hypothesis import strategies as st
from places import ROOT
from random_traces import nasty_trace
from reading import opened

from tracetime import (
    Bounds,
    ClockDomain,
    ClockGraph,
    ClockId,
    ConversionError,
    Reading,
    Snapshot,
    TraceError,
    TracetimeError,
    UsageError,
    open_trace,
)
from tracetime._kernels.graph import view
from tracetime._kernels.graph.engine import series_hash
from tracetime._kernels.graph.state import engine_of, state_of
from tracetime.clocks.kernel_clock import KernelClock
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.graph.graph import from_bytes, to_bytes
from tracetime.graph.storage.save import FACTS, FORMAT

DEMO = ROOT / "demo" / "demo.pftrace"
S = 10**9
LOW, HIGH = -(2**63), 2**63 - 1
KERNEL = KernelClock(-1_234_567, 10_001, -44, 16_000_000, 16_000_001, 0x40, 5, 37)

# What a graph holds, and what it answers


def content(graph: ClockGraph) -> dict[str, Any]:
    """Everything that a graph says of itself, and everything that its engine holds."""
    reads = list(graph.readings())
    clocks = [info.clock for info in graph.clocks()]
    return {
        "clocks": graph.clocks(),
        "series": graph.series(),
        "edges": graph.edges(),
        "names": graph.names,
        "declared": graph.declared,
        "trace_clock": graph.trace_clock,
        "file": graph._parts.state.file,
        "readings": [[r.clock, *(v.tolist() for v in r[1:])] for r in reads],
        "frequency": [
            graph._parts.state.measured.frequency(r.clock, r.snapshots).tolist() for r in reads
        ],
        "known": [graph._parts.state.measured.knows(clock) for clock in clocks],
        "packets": view.snapshot_packets(graph._parts.state.engine).tolist(),
        "engine": [np.asarray(part).tolist() for part in state_of(graph._parts.state.engine)],
    }


def told(ask: Callable[..., Any], *args: Any, **options: Any) -> str:
    try:
        result = ask(*args, **options)
    except TracetimeError as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(result, Bounds):
        return repr([column.to_pylist() for column in result])
    return repr(result.to_pylist() if isinstance(result, pa.Array) else result)


def answers(graph: ClockGraph, most: int = 5) -> list[str]:
    """What a graph makes of some values of some clocks, by either policy; and what it finds."""
    infos = graph.clocks()[:most]
    found = []
    for source in infos:
        edges = {source.first_ns or 0, source.last_ns or 0}
        values = sorted({edge + more for edge in edges for more in (-S, 0, 77, S)})
        values = [value // source.unit_ns for value in values if LOW <= value <= HIGH]
        for target in infos:
            pair = source.clock, target.clock
            found.append(told(graph.convert, values, *pair, errors="mask"))
            found.append(told(graph.path, *pair))
            found.append(told(graph.explain, values[0], *pair))
            for bars in ("estimated", "guaranteed"):
                options = {"policy": "tube", "bars": bars, "bounds": True, "errors": "mask"}
                found.append(told(graph.convert, values, *pair, **options))
            found.append(told(graph.explain, values[-1], *pair, policy="tube"))
    found.append(told(graph.discontinuities))
    found.append(told(graph.inconsistencies))
    return found


def assert_same(graph: ClockGraph, other: ClockGraph, most: int = 5) -> None:
    assert content(other) == content(graph)
    assert answers(other, most) == answers(graph, most)


def saved(graph: ClockGraph) -> ClockGraph:
    return from_bytes(to_bytes(graph))


# Worked examples


@pytest.fixture
def indirect() -> ClockGraph:
    """The page's: no snapshot has both the custom clock and BOOTTIME."""
    graph = ClockGraph("BOOTTIME")
    for one in (
        {200: 1000, "MONOTONIC": 1100},
        {"MONOTONIC": 1200, "BOOTTIME": 5200},
        {200: 3000, "MONOTONIC": 3200},
        {"MONOTONIC": 4000, "BOOTTIME": 9000},
    ):
        graph.add_snapshot(one)
    return graph


@pytest.fixture
def measured() -> ClockGraph:
    """Two clocks, one of them steered, whose readings have half-widths and centres."""
    n = np.arange(40, dtype=np.int64)
    graph = ClockGraph("BOOTTIME", [ClockDomain("TSC", "tsc", ns_per_tick=Fraction(125, 24))])
    graph.add_snapshot({"MONOTONIC": 1, "BOOTTIME": 2})
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC_RAW": n * S, "BOOTTIME": n * S + 7 * n + 500, "TSC": n * 192_000_000},
            reference="MONOTONIC_RAW",
            half_width_ns={"BOOTTIME": 40 + n, "TSC": 900 - n},
            centre_ns={"BOOTTIME": 20 - n, "TSC": -3 * n},
            frequency_scaled_ppm={"BOOTTIME": 65_536 * (n // 10)},
        )
    )
    graph.add_snapshot({"MONOTONIC": 50 * S, "BOOTTIME": 50 * S})
    return graph


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
    assert graph._parts.state.measured.frequency(ClockId(6), np.array([0, 1, 15, 41])).tolist() == [
        LOW, 0, 65_536, LOW,
    ]  # fmt: skip


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


# Graphs of traces


def of_trace(data: bytes, **options: Any) -> ClockGraph:
    with opened(data, **options) as one:
        return one.clocks


def test_the_demo_trace(tmp_path):
    domains = [ClockDomain("com.example.gpu", "com.example.gpu", assumed_half_width_ns=100)]
    with open_trace(DEMO, domains=domains) as one:
        graph, packets = one.clocks, one.snapshot_packets
    graph.save(tmp_path / "graph.npz")
    loaded = ClockGraph.load(tmp_path / "graph.npz")
    assert_same(graph, loaded)
    assert view.snapshot_packets(loaded._parts.state.engine).tolist() == packets.tolist()
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
    assert graph._parts.state.measured.knows(ClockId(6))
    loaded = saved(graph)
    assert_same(graph, loaded)
    assert loaded.names[ClockId.parse("dev.gpu")] == "dev.gpu"
    assert loaded._parts.state.measured.frequency(ClockId(6), np.array([0, 1, 2, 3]))[
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
    assert len(view.snapshot_packets(loaded._parts.state.engine)) == 10
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
    assert (graph._parts.state.file, loaded._parts.state.file) == (1, 1)
    assert_same(graph, loaded)
    for one in (graph, loaded):
        one.add_snapshot({"64@seq7": Reading(6, 1000, True), "BOOTTIME": 6000})
    assert_same(graph, loaded)
    assert len(loaded.clocks()) == 2


def test_a_short_counter_of_another_file_than_its_name_stands_for():
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


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_the_graph_of_any_trace(seed):
    graph = of_trace(nasty_trace(Random(seed)), partial=True)
    assert_same(graph, saved(graph), 3)


# Any graph

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


def feed(graph: ClockGraph, fed: list[Snapshot]) -> list[str]:
    return [told(graph.add_snapshot, one) for one in fed]


@settings(max_examples=200, deadline=None)
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


# Files


def test_the_file_is_one_that_others_read(measured, tmp_path):
    measured.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as file:
        facts = json.loads(file[FACTS])
        columns = {name: file[name] for name in file.files if name != FACTS}
    assert list(columns) == [
        "snapshot", "clock", "reading_ns", "centre_ns", "half_width_ns", "frequency_scaled_ppm",
    ]  # fmt: skip
    ids = [clock["id"] for clock in facts["clocks"]]
    for read in measured.readings():
        clock = ids.index(str(read.clock))
        here = (columns["clock"] == clock) & np.isin(columns["snapshot"], read.snapshots)
        assert columns["reading_ns"][here].tolist() == read.values_ns.tolist()
        assert columns["half_width_ns"][here].tolist() == read.half_width_ns.tolist()


def test_what_nothing_is_said_of_takes_no_room(indirect, tmp_path):
    indirect.save(tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as file:
        assert file.files == [FACTS, "snapshot", "clock", "reading_ns"]


def test_a_file_that_is_there_is_replaced_and_keeps_its_mode(indirect, measured, tmp_path):
    path, link = tmp_path / "graph.npz", tmp_path / "link"
    indirect.save(str(path))
    path.chmod(0o640)
    link.symlink_to(path)
    measured.save(link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    assert content(ClockGraph.load(path)) == content(measured)
    assert sorted(tmp_path.iterdir()) == [path, link]


@pytest.mark.parametrize("where", ["", "none/graph.npz", "file/graph.npz", "a\0b", "x" * 300])
def test_a_file_that_cannot_be_written(indirect, tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot write"):
        indirect.save(tmp_path / where)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_fails_half_way_leaves_the_file_as_it_was(indirect, tmp_path, monkeypatch):
    path = tmp_path / "graph.npz"
    indirect.save(path)
    before = path.read_bytes()

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tracetime.graph.storage.save._write", fail)
    with pytest.raises(UsageError, match="No space left"):
        indirect.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("where", ["", "none.arrow", "file/graph.npz", "a\0b"])
def test_a_file_that_cannot_be_read(tmp_path, where):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot read"):
        ClockGraph.load(tmp_path / where)


def test_a_device_or_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in ("/dev/zero", tmp_path / "pipe"):
        with pytest.raises(UsageError, match=f"cannot read '{path}': it is not a file"):
            ClockGraph.load(path)


# Files that are none, cut off, damaged or made up


@pytest.fixture(scope="module")
def example() -> bytes:
    """A file with something of everything."""
    graph = of_trace(
        trace(
            *(snapshot({BOOTTIME: 1000 + n, MONOTONIC: 2000 - n}) for n in range(3)),
            snapshot([(201, (5, 1, True))]),
            snapshot({64: (5, 1000, True), BOOTTIME: 5000}, seq=7),
            snapshot({BOOTTIME: 6000, REALTIME: 7}),
        )
    )
    graph.add_snapshot(
        Snapshot(
            {"BOOTTIME": 7000, "TSC": 7},
            reference="BOOTTIME",
            half_width_ns={"TSC": 5},
            centre_ns={"TSC": 6},
            frequency_scaled_ppm={"BOOTTIME": 3},
        )
    )
    graph.declare(ClockDomain("TSC", "tsc", 1.5, Fraction(125, 24), 36, 50, 0.25, "x", False, 9))
    graph.declare(ClockDomain("BOOTTIME"))
    return to_bytes(graph)


def members_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: list[tuple[str, bytes]], compression: int = zipfile.ZIP_STORED) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, content in members:
            member = zipfile.ZipInfo(name)
            member.compress_type = compression
            with archive.open(member, "w", force_zip64=name != FACTS) as file:
                file.write(content)
    return sink.getvalue()


def array(values: Any, kind: str = "<i8") -> bytes:
    sink = io.BytesIO()
    np.lib.format.write_array(sink, np.array(values, kind), version=(1, 0))
    return sink.getvalue()


def remade(data: bytes, facts: Any = None, **columns: bytes | None) -> bytes:
    """The file with other facts (an object, or bytes), or other columns."""
    members = members_of(data)
    if facts is not None:
        members[FACTS] = facts if isinstance(facts, bytes) else json.dumps(facts).encode()
    for name, content in columns.items():
        if content is None:
            del members[f"{name}.npy"]
        else:
            members[f"{name}.npy"] = content
    return zipped(list(members.items()))


def facts_of(data: bytes) -> dict[str, Any]:
    return json.loads(members_of(data)[FACTS])


def column_of(data: bytes, name: str) -> list[int]:
    return np.load(io.BytesIO(members_of(data)[f"{name}.npy"])).tolist()


def refused(path: Path, data: bytes, match: str) -> None:
    path.write_bytes(data)
    with pytest.raises(TraceError, match=match) as info:
        ClockGraph.load(path)
    assert repr(str(path)) in str(info.value)


def survives(data: bytes) -> ClockGraph | None:
    """A graph, or a TraceError, and whatever graph it is can be asked."""
    try:
        graph = from_bytes(data)
    except TraceError:
        return None
    answers(graph, 2)
    content(graph)
    feed(graph, [Snapshot({"BOOTTIME": 9000, "TSC": 9}), Snapshot({"64@seq7": 1, "MONOTONIC": 2})])
    answers(graph, 2)
    return graph


def test_the_example_itself_is_whole(example):
    assert to_bytes(from_bytes(example)) == example
    assert to_bytes(from_bytes(remade(example))) == example


def test_what_is_no_graph(tmp_path, example):
    path = tmp_path / "graph.npz"
    refused(path, b"", "ClockGraph.save did not write it; open_trace opens traces")
    refused(path, DEMO.read_bytes(), "did not write it; open_trace opens traces")
    refused(path, b"PK\3\4", "it is cut off or damaged: File is not a zip file; get a whole copy")
    facts = FACTS, members_of(example)[FACTS]
    for members in ([("a.npy", array([1]))], [facts]):
        refused(path, zipped(members), "a zip file, but ClockGraph.save did not write it")
    with pytest.warns(UserWarning, match="Duplicate"):
        twice = zipped([*members_of(example).items(), facts])
    refused(path, twice, "a zip file, but ClockGraph.save did not write it")
    refused(path, remade(example, reading_ns=None), "but ClockGraph.save did not write it")
    refused(path, remade(example, more=array([1] * 12)), "but ClockGraph.save did not write it")


def test_columns_that_are_none(tmp_path, example):
    path, whole = tmp_path / "graph.npz", array([0] * 12)
    for column, match in (
        (array([0] * 12, "<u8"), "half_width_ns in it is no array of int64"),
        (array([0] * 12, ">i8"), "half_width_ns in it is no array of int64"),
        (array([0] * 12, "<f8"), "half_width_ns in it is no array of int64"),
        (array([[0] * 12]), "half_width_ns in it is no array of int64"),
        (array(5), "half_width_ns in it is no array of int64"),
        (b"", "half_width_ns in it is no array of int64"),
        (whole[:100], "half_width_ns in it is no array of int64"),
        (whole[:-1], "half_width_ns in it is no array of 12 values"),
        (whole + b"0", "half_width_ns in it is no array of 12 values"),
        (whole.replace(b"(12,)", b"(99,)"), "half_width_ns in it is no array of 99 values"),
        (
            whole.replace(b"(12,), }" + b" " * 17, b"(1" + b"0" * 17 + b",), } "),
            "no array of 10{17} v",
        ),
        (array([0] * 13), "its columns are not equally long"),
    ):
        refused(path, remade(example, half_width_ns=column), match)


def test_of_a_later_version(tmp_path, example):
    path = tmp_path / "graph.npz"
    later = facts_of(example) | {"format": FORMAT + 1}
    refused(
        path, remade(example, later), f"it has format {FORMAT + 1}, of tracetime '.*', .*: upgrade"
    )


def test_compressed_columns_are_not_expanded(tmp_path, example):
    """A few kB would become as much memory as somebody likes."""
    members = list(members_of(example).items())
    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(tmp_path / "graph.npz", zipped(members, compression), "is compressed")


def test_members_that_overlap_are_not_read(tmp_path, example):
    """One stretch of a file under several names would become several times as much."""
    members = list(members_of(example).items())
    large = zipped([(name, content * 1000) for name, content in members])
    with zipfile.ZipFile(io.BytesIO(large)) as archive:
        first = archive.infolist()[0]
        sink = io.BytesIO(large[: first.file_size + 100])
    with zipfile.ZipFile(sink, "a") as archive:
        for name, _ in members:
            twin = copy.copy(first)
            twin.filename = name
            archive.filelist.append(twin)
            archive.NameToInfo[name] = twin
        archive._didModify = True
    refused(tmp_path / "graph.npz", sink.getvalue(), "compressed|damaged")


def test_every_cut_is_told(example):
    for n in range(len(example)):
        with pytest.raises(TraceError):
            from_bytes(example[:n])


def test_no_flipped_byte_does_more_than_damage(example):
    changed = 0
    for n in range(len(example)):
        damaged = bytearray(example)
        damaged[n] ^= 1 << n % 8
        try:
            changed += to_bytes(from_bytes(bytes(damaged))) != example
        except TraceError:
            changed += 1
    assert changed > len(example) // 2


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_damage_is_an_error_or_another_graph(example, data):
    damaged = bytearray(example)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(example) - 1))] = data.draw(st.integers(0, 255))
    survives(bytes(damaged))


WRONG: list[Any] = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63 - 1, 2**63, 2**70, -(2**70), 1.5, 1e300, "", "x",
    "1/0", "9" * 5000, [], {}, [[]], [None], [1.5], [True], ["1"], [2**70], [[1, 2]], [[1, 2, 3], [4]],
    [[[[]]]], [{}], {"clocks": 5}, [-1], [99], [0, 0],
]  # fmt: skip


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where in a JSON value anything stands."""
    inner = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    return [at, *(place for key, one in inner for place in places(one, (*at, key)))]


def put(value: Any, at: tuple[Any, ...], other: Any) -> Any:
    if not at:
        return other
    made = copy.copy(value)
    made[at[0]] = put(value[at[0]], at[1:], other)
    return made


def test_no_fact_of_another_type_or_out_of_range_does_harm(example):
    facts = facts_of(example)
    for at in places(facts)[1:]:
        was = facts
        for key in at:
            was = was[key]
        for wrong in WRONG:
            taken = survives(remade(example, put(facts, at, wrong)))
            # Two are for people; a graph may have no trace clock, a clock no name, a width 0.0.
            if not {"id", "tracetime", "trace_clock", "domains"} & set(at):
                assert taken is None or type(wrong) is type(was), (at, wrong)


def test_no_fact_may_be_missing(example):
    facts = facts_of(example)
    for at in places(facts):
        holder = facts
        for key in at[:-1]:
            holder = holder[key]
        if at and isinstance(holder, dict) and at[-1] not in ("id", "tracetime"):
            less = {key: value for key, value in holder.items() if key != at[-1]}
            with pytest.raises(TraceError):
                from_bytes(remade(example, put(facts, at[:-1], less)))


def with_facts(**changes: Any) -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Facts changed where a path, its keys joined by `__`, says."""

    def change(facts: dict[str, Any]) -> dict[str, Any]:
        for name, value in changes.items():
            at = tuple(int(key) if key.isdigit() else key for key in name.split("__"))
            facts = put(facts, at, value)
        return facts

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (with_facts(clocks__1__clock=2**32), "clock 1 has a number that does not fit in uint32"),
        (with_facts(clocks__1__sequence=3), "clock 1 has a sequence, which only"),
        (with_facts(clocks__1__incremental=True), "clock 1 is incremental, and of no sequence"),
        (with_facts(clocks__1__unit_ns=0), "clock 1 has a unit of 0 ns"),
        (with_facts(clocks__1__seen=False), "clock 1 has readings, and no snapshot names it"),
        (with_facts(clocks__2__clock=6), "clock 2 stands there twice"),
        (with_facts(clocks__0__unit_ns=5), "clock 0 has a unit or is incremental, and has no"),
        (with_facts(clocks__1__seen=1), "has no bool as 'seen'"),
        (with_facts(columns__0__0=99), "its rows are not of the clocks"),
        (with_facts(columns__0__0=-1), "its rows are not of the clocks"),
        (with_facts(columns__0__1=2**32), "column 0 has a hash that does not fit"),
        (with_facts(columns__0__1=5), "snapshot 0 has two lists of clocks"),
        (with_facts(columns__0__2=2**40), "its columns do not have the 12 readings"),
        (with_facts(columns__0__2=-1), "its columns do not have the 12 readings"),
        (with_facts(series__0__clocks=[]), "series 0 has 0 clocks"),
        (with_facts(series__0__clocks=[1, 99]), "series 0 has clock 99, which is not there"),
        (with_facts(series__0__clocks=[1, -1]), "series 0 has clock -1, which is not there"),
        (with_facts(series__0__clocks=[1, 1]), "series 0 has clock 1 twice"),
        (with_facts(series__0__clocks=[2, 1]), "series 0 has a clock without readings"),
        (with_facts(series__0__snapshots=0), "series 0 has 0 snapshots"),
        (with_facts(series__0__snapshots=4), "series 0 has more snapshots than its clocks"),
        (with_facts(series__0__snapshots=2**62), "more than are left"),
        (with_facts(backwards=[]), "1 clocks ran backwards, and 0 are listed"),
        (with_facts(backwards=[1]), "clock 1 is listed, and did not run backwards"),
        (with_facts(backwards=[99]), "clock 99 is listed"),
        (with_facts(backwards=[2, 2]), "1 clocks ran backwards, and 2 are listed"),
        (with_facts(snapshots=2**32), "too few readings for them"),
        (with_facts(snapshots=2), "readings of more"),
        (with_facts(without_readings=[]), "too few readings|others than it says"),
        (with_facts(without_readings=[[2, 0]]), "the snapshots without readings are others"),
        (with_facts(without_readings=[[99, 0]]), "the snapshots without readings are others"),
        (with_facts(without_readings=[[3, -1]]), "the snapshots without readings are others"),
        (with_facts(next_packet=-1), "'next_packet' out of range"),
        (with_facts(file=2**32), "'file' out of range"),
        (with_facts(format=0), "'format' out of range"),
        (with_facts(format="1"), "has no int as 'format'"),
        (with_facts(trace_clock__sequence=5), "its trace_clock"),
        (with_facts(domains__0__id__clock=6), "declares BOOTTIME twice"),
        (with_facts(domains__0__ns_per_tick="1e999999999/1"), "one of its domains"),
        (with_facts(domains__0__ns_per_tick="1/0"), "one of its domains"),
        (with_facts(domains__0__valid_bits=65), "valid_bits of TSC"),
        (with_facts(domains__0__disciplined="no"), "disciplined of TSC"),
    ],
)  # fmt: skip
def test_facts_that_no_graph_has(tmp_path, example, change, match):
    refused(tmp_path / "graph.npz", remade(example, change(facts_of(example))), match)


@pytest.mark.parametrize(
    ("name", "row", "value", "match"),
    [
        ("snapshot", 2, 99, "readings of more"),
        ("snapshot", 2, 1, "a snapshot has come in two packets"),
        ("snapshot", 0, 2, "a snapshot has come in two packets"),
        ("clock", 0, 2, "its rows are not of the clocks"),
        ("clock", 0, 2**32 - 1, "its rows are not of the clocks"),
        ("reading_ns", 1, -5, "2 clocks ran backwards, and 1 are listed"),
        ("packet", 0, 77, "a snapshot has come in two packets"),
        ("half_width_ns", 0, -2, "a half-width is negative"),
        ("frequency_scaled_ppm", 0, 6_553_600_001, "off by more than 10 %"),
        ("frequency_scaled_ppm", 0, LOW + 1, "off by more than 10 %"),
    ],
)
def test_rows_that_no_graph_has(tmp_path, example, name, row, value, match):
    values = column_of(example, name)
    values[row] = value
    kind = {"snapshot": "<u4", "clock": "<u4", "packet": "<u8"}.get(name, "<i8")
    refused(tmp_path / "graph.npz", remade(example, **{name: array(values, kind)}), match)


@pytest.mark.parametrize("facts", [b"", b"\xff", b"[]", b"null", b"[" * 100_000, b"NaN", b"{"])
def test_metadata_that_is_no_json(tmp_path, example, facts):
    refused(
        tmp_path / "graph.npz",
        remade(example, facts),
        "graph.json in it is no JSON|it lacks 'format'",
    )


def test_the_kernel_takes_no_arrays_that_do_not_fit(example):
    """Whoever calls it, and whatever the file was checked for before."""
    state = state_of(from_bytes(example)._parts.state.engine)
    for changed in (
        state._replace(clocks=state.clocks[:, :3].copy()),
        state._replace(columns=state.columns[:, :2].copy()),
        state._replace(snapshots=state.snapshots[:-1].copy()),
        state._replace(columns=np.concatenate([state.columns, state.columns[:1] * [1, 1, 0]])),
        state._replace(columns=state.columns[:-1].copy()),
        state._replace(members=state.members[:-1].copy()),
        state._replace(members=np.append(state.members, 1)),
        state._replace(series=np.concatenate([state.series, state.series[:1]])),
        state._replace(packets=state.packets[:-1].copy()),
        state._replace(columns=np.array([[HIGH, 0, 0]])),
        state._replace(columns=np.array([[1, 0, HIGH]])),
        state._replace(backwards=np.array([HIGH])),
        state._replace(members=state.members + HIGH - 20),
        state._replace(series=state.series * [HIGH // 20, 1]),
    ):
        with pytest.raises((ValueError, IndexError)):
            engine_of(changed)
