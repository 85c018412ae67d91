"""Merged traces: the bars of their events are those of the sources, by what the file carries."""

from __future__ import annotations

import json
import struct
import zlib
from collections import Counter

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, event, snapshot, trace
from hypothesis import given
from hypothesis import strategies as st
from merge_worlds import kineto_ranks, set_back, two_recordings
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace as Proto

import tracetime as tt
from tracetime._kernels.perfetto.checks import CarriedLog, from_planes, knot_offsets
from tracetime.formats.perfetto.carried import (
    HEAD,
    NO_CLOCK,
    decode_block,
    decode_head,
    encode_block,
)
from tracetime.merging.merged_traces import MergedTraces
from tracetime.merging.placing import FilePlacing, target_of

ENDS = ["name", "ts", "dur", "earliest", "latest", "end_earliest", "end_latest", "dur_error_ns"]
BARS = ["earliest", "latest"]
S = 1_000_000_000


def rows_of(table, names):
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def source_slices(paths, bars, **options):
    """The slices of files as the graph of all places them."""
    found = Counter()
    with MergedTraces(paths, **options) as traces:
        for file in traces.files:
            file.trace.placing = FilePlacing(traces, file.number, target_of(traces))
            found += rows_of(file.trace.slices("tube", bars=bars).read_all(), ENDS)
    return found


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    """Four ranks, the clock of the third of which is set back in the middle, and their merge."""
    folder = tmp_path_factory.mktemp("ranks")
    paths = kineto_ranks(folder, 3).paths
    set_back(paths[2], 214e6)
    tt.merge(paths, out=folder / "m.pftrace")
    return paths, folder / "m.pftrace"


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_slices_of_merged_ranks_have_the_bars_of_their_sources(ranks, bars):
    paths, out = ranks
    with tt.open_trace(out) as merged:
        found = rows_of(merged.slices("tube", bars=bars).read_all(), ENDS)
    wanted = source_slices(paths, bars)
    if bars == "guaranteed":
        # The file has one place for each event, the estimate.
        names = [k for k, name in enumerate(ENDS) if name not in ("ts", "dur", "dur_error_ns")]
        found, wanted = (
            Counter(tuple(row[k] for k in names) for row in some.elements())
            for some in (found, wanted)
        )
    assert found == wanted
    assert all(None not in row for row in found)


def test_events_of_a_merged_recording_have_the_bars_of_their_source(tmp_path):
    paths, options = two_recordings(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    with MergedTraces(paths, **options) as traces:
        file = traces.files[0]
        file.trace.placing = FilePlacing(traces, 0, target_of(traces))
        wanted = rows_of(file.trace.read_all("tube"), BARS)
    with tt.open_trace(tmp_path / "m.pftrace") as merged:
        assert not merged.warnings
        found = rows_of(merged.read_all("tube"), BARS)
    assert not wanted - found
    assert (found - wanted).total() == 100  # the begins and ends of the other file
    assert (None, None) not in found


def test_a_merged_file_has_the_clocks_of_its_sources_by_file(ranks):
    _, out = ranks
    with tt.open_trace(out) as merged:
        graph = merged.clocks
        clocks = [tt.ClockId(1, machine=machine) for machine in range(4)]
        assert [graph.name(clock) for clock in clocks] == [
            f"REALTIME of rank{n}.json (rank {n})" for n in range(4)
        ]
        assert graph.path(clocks[1], clocks[0], policy="tube") == [clocks[1], clocks[0]]


def test_findings_of_a_merged_file_name_its_files(ranks):
    _, out = ranks
    with tt.open_trace(out) as merged:
        findings = [one.with_names(merged.clocks.names) for one in tt.diagnose(merged)]
    texts = "\n".join(f"{one.title} {one.why}" for one in findings)
    assert "REALTIME of rank2.json (rank 2) and REALTIME of rank3.json (rank 3)" in texts
    assert "REALTIME of rank0.json (rank 0) and REALTIME of rank2.json (rank 2)" in texts
    assert "@machine" not in texts
    # The file says where its events are: no machine is apart.
    assert {one.code for one in findings} <= {"step-between-machines", "slow-messages"}


def test_a_clock_of_a_merged_file_is_known_by_the_name_that_is_printed(ranks):
    _, out = ranks
    with tt.open_trace(out) as merged:
        clock = merged.clocks.clock("REALTIME of rank1.json (rank 1)", known=True)
        assert clock == tt.ClockId(1, machine=1)
        told = str(merged.clocks.explain(5 * S, clock, merged.trace_clock, policy="tube"))
    assert told.startswith("REALTIME of rank1.json (rank 1) 5000000000 -> REALTIME of rank0.json")
    assert "@machine" not in told


def test_baking_a_merged_file_keeps_its_bars(tmp_path, ranks):
    _, out = ranks
    with tt.open_trace(out) as merged:
        wanted = rows_of(merged.read_all("tube"), BARS)
        tt.bake(merged, tmp_path / "baked.pftrace")
    with tt.open_trace(tmp_path / "baked.pftrace") as baked:
        assert rows_of(baked.read_all("tube"), BARS) == wanted


def reads_of_last_half(path):
    """What a rank's clock reads at the ends of the events of the second half of its file."""
    events = json.loads(path.read_text())["traceEvents"]
    return [
        round(1e3 * event["ts"]) + end * round(1e3 * event["dur"])
        for event in events[len(events) // 2 :]
        for end in (0, 1)
    ]


def merged_again(folder, out):
    """A merged file, merged with one more."""
    (folder / "b.json").write_text(
        json.dumps([{"ph": "X", "name": "a", "ts": 1, "dur": 10, "pid": 9, "tid": 9}])
    )
    sync = [f"{out.name}:REALTIME=b.json:0xf7110476+5s+-1ms"]
    tt.merge([out, folder / "b.json"], out=folder / "again.pftrace", sync=sync)
    return folder / "again.pftrace"


def test_merging_a_merged_file_keeps_its_bars(tmp_path):
    tt.merge(kineto_ranks(tmp_path, 3).paths, out=tmp_path / "m.pftrace")
    with tt.open_trace(tmp_path / "m.pftrace") as merged:
        wanted = rows_of(merged.read_all("tube"), BARS)
    with tt.open_trace(merged_again(tmp_path, tmp_path / "m.pftrace")) as again:
        found = rows_of(again.read_all("tube"), BARS)
    assert not wanted - found
    assert (found - wanted).total() == 2
    assert (None, None) not in found


def test_merging_a_merged_file_of_a_clock_set_back_keeps_its_bars_true(tmp_path):
    # Beside a break bars are exact at some readings of all clocks alone, and one more clock has
    # others: bars between them are as true, and a little wider or narrower.
    world = kineto_ranks(tmp_path, 3)
    set_back(world.paths[2], 214e6)
    tt.merge(world.paths, out=tmp_path / "m.pftrace")
    with tt.open_trace(merged_again(tmp_path, tmp_path / "m.pftrace")) as again:
        table = again.read_all("tube")
    for rank in range(4):
        own = table.filter(np.asarray(table["machine"]) == rank)
        reads, earliest, latest = (
            own[name].to_numpy().astype(np.int64) for name in ("timestamp", "earliest", "latest")
        )
        if rank == 2:
            reads = reads + 214_000_000 * np.isin(reads, reads_of_last_half(world.paths[2]))
        true = world.on_first(rank, reads)
        assert len(own) > 1000
        assert ((earliest <= true) & (true <= latest)).all()


@pytest.mark.parametrize("back_ns", [0, 214e6])
def test_a_bake_of_another_format_has_the_bars_of_its_source(tmp_path, back_ns):
    path = kineto_ranks(tmp_path, 3).paths[2]
    set_back(path, back_ns)
    with tt.open_trace(path) as source:
        wanted = rows_of(source.slices("tube").read_all(), ENDS[3:-1])
        tt.bake(source, tmp_path / "baked.pftrace")
    with tt.open_trace(tmp_path / "baked.pftrace") as baked:
        assert not baked.read_all("tube")["earliest"].null_count
        found = rows_of(baked.slices("tube").read_all(), ENDS[3:-1])
    for source_row, row in zip(sorted(wanted.elements()), sorted(found.elements()), strict=True):
        outwards = np.subtract(source_row, row) * [1, -1, 1, -1]
        assert (outwards >= 0).all()
        assert (outwards <= 2).all()


def split(data):
    """The packets of a file, each with its tag and length."""
    found, at = [], 0
    while at < len(data):
        size, shift, end = 0, 0, at + 1
        while True:
            size |= (data[end] & 0x7F) << shift
            shift, end = shift + 7, end + 1
            if data[end - 1] < 0x80:
                break
        found.append(data[at : end + size])
        at = end + size
    return found


def at(packet):
    return Proto.FromString(packet).packet[0].timestamp


def later(packets, k):
    made = Proto.FromString(packets[k])
    made.packet[0].timestamp += 1_000
    packets[k] = made.SerializeToString()


def exchange(packets, k):
    other = next(n for n in range(k + 1, len(packets)) if at(packets[n]) > at(packets[k]))
    packets[k], packets[other] = packets[other], packets[k]


def exchange_of_one_time(packets, k):
    one, other = [n for n in range(k, len(packets)) if at(packets[n]) == at(packets[k])][:2]
    packets[one], packets[other] = packets[other], packets[one]


def twice(packets, k):
    packets.insert(k, packets[k])


def gone(packets, k):
    del packets[k]


@pytest.fixture
def of_two_clocks(tmp_path):
    """A merged file in which events of two clocks are in one sequence, at the same times."""
    paths, options = two_recordings(tmp_path)
    packets = [snapshot({MONOTONIC: k * S, BOOTTIME: 5 * S + k * S}) for k in range(8)]
    for k in range(700):
        for clock, time in ((MONOTONIC, k * 10_000_000), (BOOTTIME, 5 * S + k * 10_000_000)):
            packets.append(event(time, clock))
            packets[-1].track_event.name = f"on {clock}"
    paths[0].write_bytes(trace(*packets))
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    return tmp_path / "m.pftrace"


@pytest.mark.parametrize("change", [later, exchange, exchange_of_one_time, twice, gone])
def test_events_that_something_has_changed_have_no_bar_and_a_warning(of_two_clocks, change):
    with tt.open_trace(of_two_clocks) as merged:
        table = merged.read_all("tube")
        widths = np.subtract(*(table[name].to_numpy() for name in ("latest", "earliest")))
        assert len(np.unique(widths)) > 2
        before = rows_of(table, ["trace_time", "clock", *BARS])
    packets = split(of_two_clocks.read_bytes())
    change(packets, next(n for n, p in enumerate(packets) if at(p) == 6 * S))
    of_two_clocks.write_bytes(b"".join(packets))
    with tt.open_trace(of_two_clocks) as cut:
        table = cut.read_all("tube")
        assert "something has changed the file" in str(cut.warnings[0])
    left = rows_of(table.filter(table["earliest"].is_valid()), ["trace_time", "clock", *BARS])
    assert not left - before
    assert 0 < left.total() < before.total()


def test_a_merged_file_without_its_beginning_has_no_bars(of_two_clocks):
    packets = split(of_two_clocks.read_bytes())
    of_two_clocks.write_bytes(b"".join(packets[100:]))
    with tt.open_trace(of_two_clocks) as cut:
        table = cut.read_all("tube")
    assert 0 < len(table) == table["earliest"].null_count


def test_files_that_were_joined_have_no_bars(tmp_path):
    paths, options = two_recordings(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    data = (tmp_path / "m.pftrace").read_bytes()
    (tmp_path / "x.pftrace").write_bytes(data + data)
    with tt.open_trace(tmp_path / "x.pftrace") as joined:
        assert joined.read_all("tube")["earliest"].null_count == len(joined.read_all())
        assert "joined from several" in str(joined.warnings[0])


def test_of_a_file_that_was_cut_off_what_is_left_has_its_bars(tmp_path, ranks):
    _, out = ranks
    data = out.read_bytes()
    (tmp_path / "x.pftrace").write_bytes(data[: len(data) * 9 // 10])
    with tt.open_trace(tmp_path / "x.pftrace", partial=True) as cut:
        bars = cut.read_all("tube")["earliest"]
    assert 0 < bars.null_count < len(bars)


def test_what_a_merged_file_carries_is_little(tmp_path):
    paths, options = two_recordings(tmp_path)
    events = [
        {"ph": "X", "name": "load", "ts": 1000 + 100 * k, "dur": 10, "pid": 1, "tid": 1}
        for k in range(40_000)
    ]
    paths[1].write_text(json.dumps(events))
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    size = (tmp_path / "m.pftrace").stat().st_size
    made = Proto.FromString((tmp_path / "m.pftrace").read_bytes())
    for packet in made.packet:
        packet.DiscardUnknownFields()
    bare = len(made.SerializeToString())
    assert size - bare < 0.02 * size


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.integers(-(2**62), 2**62),
            st.integers(-(2**62), 2**62),
            st.integers(-1, 1),
        ),
        min_size=1,
        max_size=200,
    )
)
def test_any_readings_come_back_as_they_were(rows):
    sequence, times, source_ns, clock = (
        np.array(column, np.int64) for column in zip(*rows, strict=True)
    )
    n = len(rows)
    columns = {
        "kind": np.zeros(n, np.uint8),
        "payload": np.full(n, 11, np.uint16),
        "packet_sequence": sequence.astype(np.uint32),
        "source_ns": source_ns,
    }
    block = decode_block(encode_block(columns, np.arange(n), clock, times))
    assert block is not None
    for (_, _, nth), (start, count, _) in block.groups.items():
        appeared = list(dict.fromkeys(sequence.tolist()))
        rows_of_group = np.flatnonzero(sequence == appeared[nth])
        places = np.arange(start, start + count)
        known = clock[rows_of_group] != NO_CLOCK
        np.testing.assert_array_equal(block.clock[places], clock[rows_of_group])
        found = block.readings(places, times[rows_of_group])
        np.testing.assert_array_equal(found[known], source_ns[rows_of_group][known])


@given(st.binary(max_size=200))
def test_bytes_that_are_no_block_are_none(data):
    assert decode_block(b"\x01" + data) is None


def heads_of(path):
    """The graphs that a file carries."""
    log = CarriedLog()
    with tt.open_trace(path) as merged:
        for _ in merged.packets.observed(log):
            pass
    return log.heads


def test_a_graph_that_something_has_changed_is_a_graph_or_none(tmp_path):
    paths, options = two_recordings(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    [head] = heads_of(tmp_path / "m.pftrace")
    content = bytearray(zlib.decompress(head[1:]))
    found = 0
    for place in range(0, len(content), 7):
        for value in (0, 0x22, 0x39, 0x7F, 0xFF):
            made = content.copy()
            made[place] = value
            decoded = decode_head(HEAD + zlib.compress(made, 0))
            found += decoded is not None and len(decoded.graph.clocks())
    assert found
    for facts in ("[]", "{}", "7", "[" * 100_000, '{"graph": 1, "columns": []}'):
        text = facts.encode()
        assert decode_head(HEAD + zlib.compress(struct.pack("<I", len(text)) + text)) is None


def test_an_event_of_a_machine_that_the_file_does_not_know_has_no_bar(tmp_path):
    paths, options = two_recordings(tmp_path)
    tt.merge(paths, out=tmp_path / "m.pftrace", **options)
    one = event(5, BOOTTIME, 9)
    one.machine_id = 2**32 - 1
    with (tmp_path / "m.pftrace").open("ab") as file:
        file.write(trace(one))
    with tt.open_trace(tmp_path / "m.pftrace") as merged:
        assert merged.read_all("tube")["earliest"].null_count == 1
        assert "no bars of 1 events" in str(merged.warnings[0])


def test_knots_of_no_rows_say_nothing():
    nothing = np.zeros(0, np.int64)
    clock, times = np.zeros(3, np.int64), np.arange(3)
    assert knot_offsets((nothing, nothing, nothing), clock, times).tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="of one length"):
        knot_offsets((times, nothing, times), clock, times)
    with pytest.raises(ValueError, match="of one length"):
        knot_offsets((times, times, times), clock[:2], times)
    with pytest.raises(ValueError, match="eight planes"):
        from_planes(np.zeros((7, 3), np.uint8))
