"""What a baked trace says of its source: clocks, findings, and the bars of its events."""

from __future__ import annotations

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
from tracetime._kernels.perfetto.bake import Unbaker
from tracetime._kernels.perfetto.packets import carries_source
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


def unbaked(data: bytes) -> bytes:
    made, taken, _ = Unbaker().feed(data)
    assert taken == len(data)
    return made


def rows(table, names):
    return sorted(zip(*(table[name].to_pylist() for name in names), strict=True), key=repr)


BARS = ("clock", "timestamp", "earliest", "latest", "status")


@pytest.mark.parametrize("policy", ["floor", "tube"])
def test_the_packets_of_the_source_are_in_the_file(policy):
    data = two_clocks()
    made = baked(data, policy).data
    assert carries_source(made[:512])
    assert unbaked(made) == data
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
        assert found(again) == found(source)


def found(trace_of):
    return [finding.to_dict() for finding in tt.diagnose(trace_of)]


def test_no_other_reader_sees_the_snapshots_of_the_source():
    for one in pb.Trace.FromString(baked(two_clocks(), "tube").data).packet:
        clocks = {clock.clock_id for clock in one.clock_snapshot.clocks}
        assert not clocks & {MONOTONIC}


def without_mark(data: bytes) -> bytes:
    """The trace as an earlier version wrote it: its first packet does not promise sources."""
    assert data[2:].startswith(b"\xa2\xe9\x04\x04\x40\x02\x50\x01")
    return b"\x0a\x06\xa2\xe9\x04\x02\x40\x02" + data[2 + data[1] :]


def test_a_trace_that_only_has_the_mark_has_no_bars():
    made = without_mark(baked(two_clocks(), "tube").data)
    with opened(made) as again:
        assert again.source is again
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
    """The trace with another timestamp in one packet that says what it was."""
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
        assert "a packet has changed since it was baked" in again.warnings[0].message
        with pytest.raises(tt.ConversionError):
            again.clocks.convert(7 * S, "MONOTONIC", "BOOTTIME", policy="tube", bounds=True)


HEAD = b"\x0a\x08\xa2\xe9\x04\x04\x40\x02\x50\x01"


def with_record(record: bytes) -> bytes:
    field = b"\xaa\xe9\x04" + bytes([len(record)]) + record
    packet = b"\x40\x05" + field
    return HEAD + b"\x0a" + bytes([len(packet)]) + packet


@pytest.mark.parametrize(
    "record", [b"", b"\x00", b"\x00\x00\x00", b"\x29\x03\x00", b"\x29\x01", b"\x29\x01\x02\xff"]
)
def test_a_record_that_makes_no_sense_is_refused(record):
    with pytest.raises(ValueError, match="a packet"):
        Unbaker().feed(with_record(record))


def test_a_packet_may_be_any_bytes_with_those_of_its_source():
    made = with_record(bytes([checksum_of(b"\x40\x05")]) + b"\x01\x01\x07")
    assert unbaked(made) == b"\x0a\x02\x40\x07"


def checksum_of(data: bytes) -> int:
    h = 2166136261
    for byte in data:
        h = (h ^ byte) * 16777619 % (1 << 32)
    return (h ^ h >> 8 ^ h >> 16 ^ h >> 24) & 0xFF


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
        assert again.source is not again
        there = again.clocks.convert(wall, "REALTIME", "BOOTTIME", policy="tube", bounds=True)
        table = again.read_all("tube").filter(pc.is_valid(again.read_all("tube")["earliest"]))
        names = ("timestamp", "trace_time", "earliest", "latest")
        assert rows(table, names) == [(wall, *there), (3 * S,) * 4]
        assert there.earliest < there.estimate < there.latest


@settings(max_examples=60)
@given(traces())
def test_the_source_of_any_trace_is_that_trace(data):
    try:
        made = baked(data, "tube").data
    except (TraceError, UsageError):
        return
    check_source(data, made)


def check_source(data: bytes, made: bytes) -> None:
    with opened(data) as source, opened(made) as again:
        if again.source is again:
            # Machines whose trace time moved.
            assert again.warnings
            assert len(source.machines) > 1
            return
        for policy in ("floor", "tube"):
            wanted, got = source.read_all(policy), again.source.read_all(policy)
            assert same_but_place(got) == same_but_place(wanted)
        bars = set(rows(on_clock(source, again.trace_clock), BARS))
        for row in rows(again.read_all("tube"), BARS):
            assert row in bars or row[2] is None


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


def same_but_place(table):
    return table.drop_columns([name for name in ("packet", "offset") if name in table.column_names])


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name.partition(".")[0])
def test_real_traces_say_what_their_source_says(path: Path, tmp_path):
    out = tmp_path / "out.pftrace"
    with tt.open_trace(path) as source:
        bake(source, out)
        with tt.open_trace(out) as again:
            assert again.source is not again
            assert again.clocks.clocks() == source.clocks.clocks()
            assert found(again) == found(source)
            wanted, got = source.read_all("tube"), again.read_all("tube")
            assert again.read_all("floor")["trace_time"] == got["trace_time"]
            if len(wanted) == len(got):
                # What only floor places has the bar of its reading, where that allows it, or none.
                as_floor = pc.and_(pc.is_null(wanted["trace_time"]), pc.is_valid(got["trace_time"]))
                allowed = pc.and_(as_floor, pc.is_valid(got["earliest"]))
                for name in ("earliest", "latest"):
                    assert got.filter(allowed)[name] == wanted.filter(allowed)[name]
                there = got.filter(allowed)
                assert pc.all(pc.less_equal(there["earliest"], there["trace_time"])).as_py() in (
                    True,
                    None,
                )
                for name in ("clock", "timestamp"):
                    assert got[name] == wanted[name]
                for name in ("earliest", "latest", "status"):
                    placed = [table.filter(pc.invert(as_floor))[name] for table in (got, wanted)]
                    assert placed[0] == placed[1]
            else:
                assert got["earliest"].null_count < len(got)
