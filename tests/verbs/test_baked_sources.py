"""What a baked trace says of its source: clocks, findings, and the bars of its events."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from baked_traces import baked
from building import android_log, event, ftrace, packet, pb, remote_sync, snapshot, trace
from corpus import files
from hypothesis import given, settings
from random_traces import traces
from reading import opened

import tracetime as tt
from tracetime._kernels.perfetto.packets import carries_readings
from tracetime.errors import TraceError, UsageError
from tracetime.graph.clock_graph import inner
from tracetime.trace.error_bars import ErrorBars
from tracetime.trace.events_table import record_batch, schema_of
from tracetime.verbs.bake import bake

REALTIME, MONOTONIC, BOOTTIME = 1, 3, 6
S = 1_000_000_000
TRACES = [path for path in files("traces/*") if "multi_device" not in path.name]
DRIFT = 1_000
"""ns by which MONOTONIC gains on BOOTTIME from one snapshot to the next."""


def two_clocks() -> bytes:
    """Events of MONOTONIC between snapshots that put it 5 s ahead of BOOTTIME."""
    return trace(
        *(
            packet
            for k in range(1, 6)
            for packet in (
                snapshot({BOOTTIME: k * S, MONOTONIC: (k + 5) * S + k * DRIFT}),
                event((k + 5) * S + S // 3, MONOTONIC),
                event(k * S + S // 2, BOOTTIME),
            )
        )
    )


def rows(table, names):
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=repr)


BARS = ("clock", "timestamp", "earliest", "latest", "status")
READ = ("clock", "earliest", "latest")


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_baking_a_baked_trace_changes_nothing(policy):
    made = baked(two_clocks(), policy).data
    assert carries_readings(made[:512])
    assert baked(made, "tube").data == made


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_bars_of_its_events_are_those_of_the_source(policy):
    data = two_clocks()
    with opened(data) as source, opened(baked(data, policy).data) as again:
        wanted, got = source.read_all("tube"), again.read_all("tube")
        assert rows(got, BARS) == rows(wanted, BARS)
        assert got["earliest"].null_count == 0
        times = source.read_all(policy)["trace_time"]
        assert got["trace_time"] == times
        assert again.read_all("floor")["trace_time"] == times


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_bars_of_its_slices_are_those_of_the_source(policy, tmp_path):
    out = tmp_path / "out.pftrace"
    with tt.open_trace("demo/demo.pftrace") as source:
        bake(source, out, policy=policy)
        wanted = source.slices("tube").read_all()
        times = source.slices(policy).read_all()["ts"]
    with tt.open_trace(out) as again:
        got = again.slices("tube").read_all()
        plain = again.slices("floor").read_all()
    ends = ("name", "clock", "end_clock", "earliest", "latest", "end_earliest", "end_latest")
    for name in ends:
        assert got[name].to_pylist() == wanted[name].to_pylist()
    assert got["earliest"].null_count == 0
    assert got["ts"] == plain["ts"] == times


def test_its_clocks_are_those_of_the_source():
    data = two_clocks()
    with opened(data) as source, opened(baked(data).data) as again:
        assert again.clocks.clocks() == source.clocks.clocks()
        there = again.clocks.convert(7 * S, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)
        assert there == source.clocks.convert(
            7 * S, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True
        )


def test_the_doctor_finds_what_its_clocks_did_as_in_the_source():
    with tt.open_trace("demo/demo.pftrace") as source:
        data = baked(Path("demo/demo.pftrace").read_bytes(), "tube").data
        with opened(data) as again:
            wanted, got = found(source), found(again)
    for code in ("realtime-set-back", "clock-without-snapshot"):
        assert got[code].title == wanted[code].title


def found(trace_of):
    return {finding.code: finding for finding in tt.diagnose(trace_of)}


def test_no_other_reader_sees_the_snapshots_of_the_source():
    for one in pb.Trace.FromString(baked(two_clocks(), "tube").data).packet:
        clocks = {clock.clock_id for clock in one.clock_snapshot.clocks}
        assert not clocks & {MONOTONIC}


def without_mark(data: bytes) -> bytes:
    """The trace without a promise in its first packet that others say what clocks read."""
    assert data[2:].startswith(b"\xa2\xe9\x04\x04\x40\x02\x50\x02")
    return b"\x0a\x06\xa2\xe9\x04\x02\x40\x02" + data[2 + data[1] :]


def test_a_trace_that_only_has_the_mark_has_no_bars():
    made = without_mark(baked(two_clocks(), "tube").data)
    with opened(made) as again:
        assert again.baked_by == "tube"
        assert again.read_all("tube")["earliest"].null_count == 10
        assert not again.warnings
        assert again.read_all("tube")["trace_time"] == again.read_all("floor")["trace_time"]


def test_its_graph_stays_without_bars_when_it_is_saved(tmp_path):
    with opened(without_mark(baked(two_clocks(), "tube").data)) as again:
        again.clocks.save(tmp_path / "graph")
    with pytest.raises(tt.ConversionError):
        tt.ClockGraph.load(tmp_path / "graph").convert(5, "REALTIME", "BOOTTIME", policy="tube")


def changed(data: bytes) -> bytes:
    """The trace with another timestamp in one packet."""
    packets = pb.Trace.FromString(data)
    one = next(p for p in packets.packet if p.timestamp_clock_id == BOOTTIME and p.timestamp % S)
    old = one.SerializeToString()
    one.timestamp += 1
    made = data.replace(old, one.SerializeToString())
    assert made != data
    return made


def test_a_packet_that_was_changed_since_makes_bars_null_and_is_told():
    with opened(changed(baked(two_clocks(), "tube").data)) as again:
        table = again.read_all("tube")
        assert table["earliest"].null_count == len(table)
        assert again.n_warnings == 1
        assert "no bars of 10 events: something has changed" in again.warnings[0].message


def two_machines() -> bytes:
    """Events of BOOTTIME and REALTIME, which trace time is, and of another machine."""
    rounds = [({REALTIME: 10**18 + k * S}, {REALTIME: 10**18 + k * S + 5}) for k in (1, 2)]
    return trace(
        snapshot({BOOTTIME: S, REALTIME: 10**18 + S}, primary=REALTIME),
        packet(machine=1, remote_clock_sync=remote_sync(rounds)),
        packet(seq=1, ftrace_events=ftrace([3 * S])),
        packet(seq=1, android_log=android_log([10**18 + 4 * S])),
        event(5 * S, BOOTTIME, machine=1),
    )


def test_bars_of_machines_that_the_tube_puts_on_boottime_are_bars_of_boottime():
    data = two_machines()
    made = baked(data, "tube").data
    check_source(data, made)
    wall = 10**18 + 4 * S
    with opened(made) as again:
        there = again.clocks.convert(wall, "REALTIME", "BOOTTIME", policy="tube", bounds=True)
        table = again.read_all("tube").filter(pc.is_valid(again.read_all("tube")["earliest"]))
        names = ("timestamp", "trace_time", "earliest", "latest")
        assert rows(table, names) == [(wall, *there), (3 * S,) * 4]
        assert there.earliest < there.estimate < there.latest


@settings(max_examples=30)
@given(traces())
def test_bars_of_the_events_of_any_trace_are_those_of_its_source(data):
    for policy in ("floor", "tube"):
        try:
            made = baked(data, policy).data
        except (TraceError, UsageError):
            continue
        check_source(data, made)


def check_source(data: bytes, made: bytes) -> None:
    """That events have the bars of the source, and all that are where those allow have one."""
    with opened(data) as source, opened(made) as again:
        assert not [one for one in again.warnings if "no bars" in one.message]
        wanted = Counter(rows(on_clock(source, again.trace_clock), READ))
        table = again.read_all("tube")
        with_bar = table.filter(pc.is_valid(pc.coalesce(table["earliest"], table["latest"])))
        assert not Counter(rows(with_bar, READ)) - wanted
        resolved = table.filter(pc.equal(table["status"], "resolved"))
        assert resolved["earliest"].null_count == 0


def on_clock(source, clock):
    """The events by the tube, on another clock than trace time maybe.

    The tube puts machines on BOOTTIME whose trace clock is another: readings of BOOTTIME are exact
    there, and those of the trace clock are not.
    """
    bars = ErrorBars(inner(source.clocks), clock, source.machines, "estimated", {})
    placed, schema = map(bars.place, source.columns()), schema_of("tube")
    return pa.Table.from_batches(
        (record_batch(columns, source.vocabulary, schema) for columns in placed), schema
    )


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_real_traces_say_what_their_source_says(path: Path, tmp_path):
    out = tmp_path / "out.pftrace"
    with tt.open_trace(path) as source:
        bake(source, out)
        with tt.open_trace(out) as again:
            assert again.clocks.clocks() == source.clocks.clocks()
            assert again.machines == source.machines
            wanted, got = source.read_all("tube"), again.read_all("tube")
            assert again.read_all("floor")["trace_time"] == got["trace_time"]
            bars = got.filter(pc.is_valid(pc.coalesce(got["earliest"], got["latest"])))
            assert not Counter(rows(bars, READ)) - Counter(rows(wanted, READ))
            resolved = got.filter(pc.equal(got["status"], "resolved"))
            assert resolved["earliest"].null_count == 0
