"""Error tracks: they change nothing of the trace, and say what the tube says."""

import bz2
import errno
import gzip
import io
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    TRACE_FILE,
    event,
    packet,
    pb,
    service_event,
    snapshot,
    trace,
    zstd,
)
from corpus import files
from text_format import TextTrace

import tracetime as tt
from tracetime import UsageError
from tracetime.formats import trace_file
from tracetime.formats.perfetto.read.reader import PerfettoTrace
from tracetime.formats.trace_file import TraceFile
from tracetime.trace.open_options import OpenOptions
from tracetime.verbs.error_tracks import MOST_CLOCKS, MOST_STEPS, with_error_tracks

TRACES = files("traces/*")

# MONOTONIC loses 1 us a ms against BOOTTIME, and is read every 10 ms.
DRIFTING = [
    snapshot({BOOTTIME: 10**9 + n * 10_000_000, MONOTONIC: n * 9_990_000}, primary=BOOTTIME)
    for n in range(1, 6)
]
EVENTS = [event(n * 1_000_000, MONOTONIC) for n in range(10, 50)]


def tracks_of(path, **options):
    return content_and_tracks(path, **options)[1]


def content_and_tracks(path, **options):
    """What the UI gets, and the tracks within."""
    with tt.open_trace(path, **options) as opened:
        file, tracks = with_error_tracks(opened)
    with file:
        file.seek(0)
        content = file.read()
    parts, reached = [], 0
    for at, more in (*tracks.inserted, (tracks.end, b"")):
        parts += [content[reached:at], more]
        reached = at
    return b"".join(parts), tracks


def with_tracks(path):
    """The trace with its tracks, beside it."""
    both = path.with_name(path.name + ".tracks")
    both.write_bytes(content_and_tracks(path)[0])
    return both


def rows_of(path):
    with tt.open_trace(path) as opened:
        table = opened.read_all()
        return table, opened.trace_clock, opened.clocks.clocks(), opened.n_warnings


def plain(column):
    column = column.combine_chunks()
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def added(path, **options):
    """The packets of the tracks."""
    packets = pb.Trace.FromString(plain_content(content_and_tracks(path, **options)[0])).packet
    return [one for one in packets if one.trusted_packet_sequence_id > 1 << 31]


def plain_content(content):
    return gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content


def values_of(packets):
    """{name of a track: [(time, value)]} of counters; of spans (time, type, name)."""
    tracks = {p.track_descriptor.uuid: p.track_descriptor.name for p in packets}
    names = {one.iid: one.name for p in packets for one in p.interned_data.event_names}
    found = {}
    for one in packets:
        if one.HasField("track_event"):
            e = one.track_event
            counts = e.type == e.TYPE_COUNTER
            what = (e.counter_value,) if counts else (e.type, names.get(e.name_iid))
            found.setdefault(tracks[e.track_uuid], []).append((one.timestamp, *what))
    return found


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_every_event_of_a_real_trace_stays_where_it_is(path, tmp_path):
    content = content_and_tracks(path)[0]
    before, clock, infos, warnings = rows_of(path)
    both = tmp_path / "t"
    both.write_bytes(content)
    after, clock_after, infos_after, warnings_after = rows_of(both)
    assert (clock, infos, warnings) == (clock_after, infos_after, warnings_after)
    n = len(before)
    for name in before.column_names:
        assert plain(after[name].slice(0, n)).equals(plain(before[name])), name
    new = after.slice(n)
    assert pc.all(pc.equal(new["trace_time"], new["timestamp"])).as_py() is not False
    assert set(plain(new["status"]).to_pylist()) <= {"resolved", "as_is"}
    assert not set(new["packet_sequence"].to_pylist()) & set(before["packet_sequence"].to_pylist())


@pytest.mark.parametrize(
    "path", [p for p in TRACES if p.name.startswith(("chromium_small", "random_010"))],
    ids=lambda path: path.name,
)  # fmt: skip
def test_tracks_say_what_the_tube_says(path):
    tracks = tracks_of(path)
    values = values_of(added(path))
    with tt.open_trace(path) as opened:
        floor, tube = opened.read_all(), opened.read_all("tube")
        names = {one.clock: opened.clocks.name(one.clock) for one in tracks.clocks}
    for one in tracks.clocks:
        rows = pc.and_(
            pc.and_(
                pc.equal(floor["clock"], one.clock.clock),
                pc.equal(floor["sequence"], one.clock.sequence),
            ),
            pc.and_(
                pc.equal(floor["status"].cast(pa.string()), "resolved"), tube["earliest"].is_valid()
            ),
        )
        drawn = floor.filter(rows)["trace_time"].to_numpy()
        low, high = (tube.filter(rows)[end].to_numpy() for end in ("earliest", "latest"))
        error = np.maximum(np.abs(high - drawn), np.abs(drawn - low))
        time, value = np.array(values[f"tracetime: error of {names[one.clock]} (ns)"]).T
        assert one.events == len(drawn)
        assert len(time) <= MOST_STEPS
        shown = value[np.searchsorted(time, drawn, side="right") - 1]
        assert (time.min() <= drawn).all()
        assert (shown >= error).all()
        assert value.max() == error.max() == one.most_ns


def test_the_packets_as_a_reader_sees_them(written):
    path = written([trace(*DRIFTING, *EVENTS)])
    packets = added(path)
    first = packets[0]
    assert first.sequence_flags == 1
    assert first.trace_packet_defaults.timestamp_clock_id == BOOTTIME
    assert {p.trusted_packet_sequence_id for p in packets} == {(1 << 32) - 1}
    assert not any(p.HasField("clock_snapshot") for p in packets)
    group, *others = [p.track_descriptor for p in packets if p.HasField("track_descriptor")]
    assert group.name == "tracetime"
    assert [(one.name, one.parent_uuid, one.counter.unit_name) for one in others] == [
        (f"tracetime: {what} of MONOTONIC (ns)", group.uuid, "ns") for what in ("error", "shift")
    ]
    values = values_of(packets)
    # Between two snapshots floor is late by all that BOOTTIME gained since the last one.
    assert min(value for _, value in values["tracetime: shift of MONOTONIC (ns)"]) < -8000
    assert all(value > 0 for _, value in values["tracetime: error of MONOTONIC (ns)"])


def test_times_are_in_the_trace_clock_whatever_the_default_is(written):
    both = {BOOTTIME: 10**9, MONOTONIC: 5}
    first, last = snapshot(both, primary=MONOTONIC), snapshot(both, primary=BOOTTIME)
    path = written([trace(first, event(10**9 + 1, BOOTTIME), last, event(10**9 + 2))])
    table, clock, *_ = rows_of(with_tracks(path))
    assert str(clock) == "MONOTONIC"
    assert table["trace_time"].to_pylist() == [6, 7, 6]
    assert table["clock"].to_pylist() == [BOOTTIME, BOOTTIME, MONOTONIC]


def test_numbers_of_tracks_are_no_traces_own(written):
    path = written([trace(*DRIFTING, *EVENTS)])
    uuids = set()
    for _ in range(3):
        found = {p.track_descriptor.uuid for p in added(path)} - {0}
        assert min(found) >= 1 << 62
        assert not found & uuids
        uuids |= found


def test_the_sequence_is_one_that_no_packet_has(written):
    last = (1 << 32) - 1
    path = written([trace(*DRIFTING, *EVENTS, event(1, MONOTONIC, seq=last))])
    numbers = [one.trusted_packet_sequence_id for one in added(path)]
    assert numbers.count(last) == 1
    assert set(numbers) == {last, last - 1}


@pytest.mark.parametrize(
    "pack",
    [gzip.compress, lzma.compress, bz2.compress, zstd],
    ids=["gzip", "xz", "bzip2", "zstd"],
)
@pytest.mark.parametrize(
    "content",
    [trace(*DRIFTING, *EVENTS), trace(event(5, BOOTTIME), event(6, TRACE_FILE))],
    ids=["snapshots", "none"],
)
def test_compressed_traces_are_decompressed(written, pack, content):
    path = written([pack(content)])
    got, tracks = content_and_tracks(path)
    assert tracks.clocks
    # What was within another file stays so: Perfetto numbers files.
    assert gzip.decompress(got).startswith(content)
    before, after = rows_of(path)[0], rows_of(with_tracks(path))[0]
    columns = ["clock", "timestamp", "trace_time", "packet_sequence", "packet"]
    assert after.slice(0, len(before)).select(columns).equals(before.select(columns))
    new = after.slice(len(before))
    assert len(new)
    assert new["trace_time"].to_pylist() == new["timestamp"].to_pylist()


def test_a_full_disk_is_reported(written, monkeypatch):
    class Full(io.BytesIO):
        def write(self, data):
            raise OSError(errno.ENOSPC, "No space left on device")

    path = written([gzip.compress(trace(*DRIFTING, *EVENTS))])
    monkeypatch.setattr(trace_file.tempfile, "TemporaryFile", Full)
    with pytest.raises(UsageError, match="cannot decompress .*: No space left"):
        tracks_of(path)


def test_many_clocks(written):
    clocks = range(200, 200 + MOST_CLOCKS + 7)
    both = {BOOTTIME: 10**9} | {clock: 10**6 * clock for clock in clocks}
    # The farther an event is from the snapshot, the less is known.
    events = [event(10**6 * clock + 10**6 * (clock - 199), clock) for clock in clocks]
    path = written([trace(snapshot(both), *events)])
    tracks = tracks_of(path)
    assert [one.clock.clock for one in tracks.clocks] == sorted(clocks, reverse=True)[:MOST_CLOCKS]
    assert [one.clock.clock for one in tracks.left_out] == list(range(206, 199, -1))
    assert len(values_of(added(path))) == MOST_CLOCKS


def test_what_has_no_error_bar_is_a_span(written):
    # Perfetto takes times of Chrome as they stand where MONOTONIC leads nowhere.
    chrome = [packet(ns, MONOTONIC, 1, chrome_events=pb.ChromeEventBundle()) for ns in (9, 6)]
    path = written([trace(snapshot({BOOTTIME: 5}), *chrome, event(7, 888))])
    tracks = tracks_of(path)
    assert [(str(o.clock), o.drawn, o.reason, o.events) for o in tracks.others] == [
        ("MONOTONIC", True, "as_is", 2),
        ("888", False, "unknown_source_clock", 1),
    ]
    said = "2 events without an error bar: as_is"
    assert values_of(added(path)) == {
        "tracetime: no error bar of MONOTONIC": [(6, 1, said), (9, 2, None)]
    }


def in_parts(parts, events):
    """A trace that was written while it was recorded: after each part its buffers were read."""
    found = []
    for k in range(parts):
        start = 1 + k * events
        found += DRIFTING[k : k + 1]
        found += [event((start + n) * 1_000_000, MONOTONIC) for n in range(events)]
        # What has no time of its own takes the latest.
        found += [packet(seq=1, battery=pb.BatteryCounters())]
        ns = 10**9 + (start + events) * 1_000_000
        found += [packet(ns, service_event=service_event(flushed=True)) for _ in range(2)]
        found.append(packet(ns, service_event=service_event(read=True)))
    return trace(*found)


def dropped_by_the_sorter(content):
    """The times that Perfetto drops (TraceSorter), of packets with trace time or MONOTONIC's."""
    pending, dropped, latest, mark, flushes = [], [], 0, 0, 0
    packets = pb.Trace.FromString(content).packet

    def extract(end):
        nonlocal latest
        pending.sort()
        while pending and pending[0][1] < end:
            time, _ = pending.pop(0)
            if time < latest:
                dropped.append(time)
            latest = max(latest, time)

    for k, one in enumerate(packets):
        if one.HasField("service_event"):
            flushes += one.service_event.all_data_sources_flushed
            if one.service_event.read_tracing_buffers_completed and flushes >= 2:
                extract(mark)
                mark, flushes = k, 0
        elif one.HasField("track_event"):
            shift = 10**9 if one.timestamp_clock_id == MONOTONIC else 0
            pending.append((one.timestamp + shift, k))
    extract(len(packets))
    return dropped


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_what_was_written_while_it_was_recorded_has_its_values_in_between(written, pack):
    recorded = in_parts(5, 10)
    path = written([pack(recorded)])
    before = rows_of(path)[0]
    content = plain_content(content_and_tracks(path)[0])
    assert len(values_of(added(path))) == 2
    assert dropped_by_the_sorter(recorded) == []
    assert dropped_by_the_sorter(content) == []
    # At the end of the file most would be late.
    assert len(dropped_by_the_sorter(recorded + trace(*added(path)))) > 10
    after = rows_of(with_tracks(path))[0]
    own = pc.greater(after["packet_sequence"], 1 << 31)
    columns = ["clock", "timestamp", "trace_time", "packet_sequence", "item"]
    assert after.filter(pc.invert(own)).select(columns).equals(before.select(columns))
    new = after.filter(own)
    assert new["trace_time"].to_pylist() == new["timestamp"].to_pylist()
    assert len(new) == sum(map(len, values_of(added(path)).values()))


@pytest.mark.parametrize(
    "path", [p for p in TRACES if p.name.startswith(("chromium_small", "random_"))],
    ids=lambda path: path.name,
)  # fmt: skip
def test_values_in_between_change_nothing_of_a_real_trace(path, tmp_path, monkeypatch):
    monkeypatch.setattr(PerfettoTrace, "is_sorted_in_parts", True)
    both = tmp_path / "t"
    both.write_bytes(content_and_tracks(path)[0])
    before, after = rows_of(path)[0], rows_of(both)[0]
    own = pc.greater(after["packet_sequence"], 1 << 31)
    columns = ["clock", "timestamp", "trace_time", "packet_sequence", "item", "machine"]
    assert after.filter(pc.invert(own)).select(columns).equals(before.select(columns))
    new = after.filter(own)
    assert new["trace_time"].equals(new["timestamp"])


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("cut", [5, 40])
def test_a_trace_that_is_cut_off_has_tracks_of_what_is_there(written, pack, cut):
    whole = trace(*DRIFTING, *EVENTS)
    # Of the compressed one the end is lost, too, and with it all that marks its end.
    path = written([pack(whole[:-cut])[: None if pack is bytes else -8]])
    content, tracks = content_and_tracks(path, partial=True)
    assert tracks.truncated is not None
    packets = pb.Trace.FromString(plain_content(content)).packet
    ours = [one for one in packets if one.trusted_packet_sequence_id > 1 << 31]
    read = len(packets) - len(ours)
    assert trace(*packets[:read]) == whole[: len(trace(*packets[:read]))]
    assert read > len(DRIFTING) + len(EVENTS) - 7
    assert tracks.clocks[0].events == read - len(DRIFTING)
    assert len(values_of(ours)) == 2


def test_a_trace_of_another_format(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("text trace\n")
    with pytest.raises(UsageError, match="no Perfetto trace"):
        with_error_tracks(TextTrace(TraceFile(path), OpenOptions()))


def test_where_nothing_is_off_nothing_is_added(written):
    path = written([trace(snapshot({BOOTTIME: 5, MONOTONIC: 6}), event(7, BOOTTIME), event(9))])
    assert tracks_of(path) == ([], path.stat().st_size, [], [], [], None)


@pytest.mark.parametrize("alone", [False, True])
def test_several_machines(written, alone):
    # The first snapshot of another machine moves trace time to its own clock.
    both = {BOOTTIME: 1000, MONOTONIC: 70, REALTIME: 900}
    host = [] if alone else [snapshot(both), event(80, MONOTONIC), event(1009, BOOTTIME)]
    guest = [event(ns, clock, machine=7) for ns, clock in ((80, MONOTONIC), (1008, BOOTTIME))]
    path = written([trace(*host, snapshot(both, machine=7), *guest)])
    before, clock, *_ = rows_of(path)
    assert clock.machine == (0 if alone else 1)
    after = rows_of(with_tracks(path))[0]
    columns = ["clock", "timestamp", "trace_time", "packet_sequence", "machine"]
    assert after.slice(0, len(before)).select(columns).equals(before.select(columns))
    new = after.slice(len(before))
    assert len(new) == (1 if alone else 5)
    assert new["trace_time"].to_pylist() == new["timestamp"].to_pylist()
    assert set(new["machine"].to_pylist()) == {0 if alone else 7}
