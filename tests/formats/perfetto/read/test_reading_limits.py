"""Reading trace files: windows, limits and messages, each from both sides."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import tracemalloc
import zlib
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, compressed, event, snapshot, trace, zstd
from reading import opened, read

from tracetime import ClockDomain, ClockId, Snapshot, TraceError, UsageError, open_trace
from tracetime._kernels.graph import series_hash
from tracetime.formats import trace_file
from tracetime.formats.perfetto.read import reader, wire
from tracetime.formats.perfetto.read.wire import MAX_PACKET, Window, reader_of
from tracetime.formats.perfetto.schema import KINDS, process_types, vocabulary
from tracetime.formats.perfetto.write.snapshots import SnapshotOrders, filler_name
from tracetime.formats.perfetto.write.writer import TraceWriter
from tracetime.formats.trace_file import Budget, TraceFile, inflate, unzstd
from tracetime.trace.events_table import NAMES_SCHEMA, record_batch, with_names
from tracetime.trace.open_options import OpenOptions

S = 10**9


# Budgets and streams


def test_a_budget_is_spent_to_its_last_byte():
    budget = Budget(10)
    budget.spend(4)
    budget.spend(6, 5, 6)
    assert (budget.limit, budget.left) == (10, 0)
    with pytest.raises(TraceError) as raised:
        budget.spend(1, 7, 8)
    assert (raised.value.offset, raised.value.packet) == (7, 8)
    assert raised.value.message == (
        "decompressing yields more than 10 bytes; if the trace really is that large, raise the "
        "limit (max_expansion, --max-expansion)"
    )


@pytest.mark.parametrize("chunk", [1, 2, 7, 100, 1 << 20])
@pytest.mark.parametrize("pack", [zlib.compress, gzip.compress])
def test_what_is_inflated_comes_in_pieces_of_a_chunk_at_most(pack, chunk):
    content = bytes(range(256)) * 5
    pieces = list(inflate(pack(content), chunk))
    assert b"".join(pieces) == content
    assert max(map(len, pieces)) <= chunk
    assert all(pieces)


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
def test_what_cannot_be_inflated_says_why(chunk):
    packed = zlib.compress(b"content" * 9)
    for n in range(1, len(packed)):
        with pytest.raises(zlib.error, match="^the compressed data is cut off$"):
            list(inflate(packed[:n], chunk))
    for more in (b"\0", b"x" * 20, packed):
        with pytest.raises(zlib.error, match="^bytes follow the compressed data$"):
            list(inflate(packed + more, chunk))
    with pytest.raises(zlib.error):
        list(inflate(b"no zlib", chunk))
    with pytest.raises(zlib.error, match="cut off"):
        list(inflate(b"", chunk))


def test_zstd_frames_follow_one_another_and_there_is_at_least_one():
    packed = zstd(b"one") + zstd(b"two")
    assert b"".join(unzstd(packed)) == b"onetwo"
    assert list(unzstd(packed, 2)) == [b"on", b"et", b"wo"]
    with pytest.raises(OSError, match="^there is no zstd frame$"):
        list(unzstd(b""))


def test_pieces_fill_a_buffer_as_far_as_one_goes():
    read_into = reader_of(iter([b"", b"abcde", b"", b"fg"]))
    into = bytearray(3)
    with memoryview(into) as view:
        assert [read_into(view), bytes(into)] == [3, b"abc"]
        assert [read_into(view), bytes(into[:2])] == [2, b"de"]
        assert [read_into(view), bytes(into[:2])] == [2, b"fg"]
        assert [read_into(view), read_into(view)] == [0, 0]


# Windows


def window(data, size):
    """A window on a stream, and how it is read: all that fits."""
    stream = io.BytesIO(data)

    def fill(into):
        found = stream.read(len(into))
        into[: len(found)] = found
        return len(found)

    return Window(fill, size)


def test_a_window_moves_on_and_grows_while_the_stream_fills_it():
    made = window(bytes(range(20)), 8)
    assert made.refill()
    assert (made.start, made.end, made.offset) == (0, 8, 0)
    made.start = 5
    assert made.refill()
    assert (made.start, made.end, made.offset) == (0, 8, 5)
    assert made.data == bytes(range(5, 13))
    # Nothing of it was read: it grows to twice its size.
    assert made.refill()
    assert (made.start, made.end, made.offset, len(made.data)) == (0, 15, 5, 16)
    assert made.data[:15] == bytes(range(5, 20))
    made.start = 15
    assert not made.refill()
    assert (made.start, made.end, made.offset) == (0, 0, 20)


def test_a_packet_may_be_as_large_as_perfetto_lets_it_be():
    assert MAX_PACKET == 256 * 1024 * 1024
    made = window(bytes(9), 4)
    made.refill()
    made.offset = 7
    assert made.refill(MAX_PACKET)
    made.start = made.end = 0
    made = window(bytes(9), 4)
    made.refill()
    made.offset = 7
    with pytest.raises(TraceError) as raised:
        made.refill(MAX_PACKET + 1)
    assert raised.value.offset == 7
    assert raised.value.message == (
        "a packet of more than 268435456 bytes, Perfetto's own limit: the trace is corrupt from "
        "here on"
    )


def test_a_window_is_no_larger_than_a_packet_may_be(monkeypatch):
    monkeypatch.setattr(wire, "MAX_PACKET", 10)
    made = window(bytes(30), 4)
    made.refill()
    assert made.refill()
    assert len(made.data) == 8
    assert made.refill()
    assert (len(made.data), made.end) == (10, 10)
    with pytest.raises(TraceError, match="more than 10 bytes"):
        made.refill()


def test_a_window_grows_piece_by_piece(monkeypatch):
    monkeypatch.setattr(wire, "WINDOW", 3)
    made = window(bytes(range(30)), 8)
    made.refill()
    assert made.refill()
    assert made.data == bytes(range(16))


def test_windows_are_of_4_mib():
    assert wire.WINDOW == 4 * 1024 * 1024
    assert trace_file.CHUNK == 1024 * 1024


@pytest.mark.parametrize(
    ("content", "is_compressed"),
    [
        (gzip.compress(b"\n\0", mtime=0), True),
        (zstd(b"\n\0"), True),
        (b"\x1f\x8a" + bytes(9), False),
        (b"\x28\xb5\x2f\xfc" + bytes(9), False),
        (b"\x1f", False),
        (b"", False),
    ],
)
def test_a_compressed_file_is_known_by_its_first_bytes(tmp_path, content, is_compressed):
    path = tmp_path / "trace"
    path.write_bytes(content)
    file = TraceFile(path)
    assert (file.compressed, file.size, file.path) == (is_compressed, len(content), str(path))
    file.check_open()
    file.close()
    with pytest.raises(UsageError) as raised:
        file.check_open()
    assert str(raised.value) == f"the trace {str(path)!r} is closed"


@pytest.mark.parametrize("packed", [bytes, gzip.compress, bz2.compress, zstd])
def test_who_still_reads_a_closed_trace_is_told(tmp_path, packed):
    path = tmp_path / "trace"
    path.write_bytes(packed(os.urandom(4 << 20)))
    file = TraceFile(path)
    pieces = file.chunks(Budget(1 << 30))
    next(pieces)
    file.close()
    with pytest.raises(UsageError, match="is closed"):
        list(pieces)
    with pytest.raises(UsageError, match="is closed"):
        file.read(memoryview(bytearray(1)), 0)


def test_a_file_is_read_from_any_place(tmp_path):
    path = tmp_path / "trace"
    path.write_bytes(bytes(range(100)))
    file = TraceFile(path)
    into = bytearray(30)
    with memoryview(into) as view:
        assert (file.read(view, 50), bytes(into)) == (30, bytes(range(50, 80)))
        assert (file.read(view, 90), bytes(into[:10])) == (10, bytes(range(90, 100)))
        assert file.read(view, 100) == 0
    file.close()


def test_a_file_that_gives_a_few_bytes_at_a_time_is_read_whole(tmp_path, monkeypatch):
    path = tmp_path / "trace"
    path.write_bytes(bytes(range(100)))
    file = TraceFile(path)
    real = os.preadv
    monkeypatch.setattr(os, "preadv", lambda fd, into, at: real(fd, [into[0][:7]], at))
    into = bytearray(30)
    with memoryview(into) as view:
        assert (file.read(view, 5), bytes(into)) == (30, bytes(range(5, 35)))
    file.close()


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path, "No such file or directory"),
        (lambda path: f"{path}\0", "embedded null byte"),
    ],
)
def test_why_a_file_cannot_be_read(tmp_path, make, reason):
    path = make(tmp_path / "nowhere")
    with pytest.raises(UsageError) as raised:
        open_trace(path)
    assert str(raised.value) == f"cannot read {str(path)!r}: {reason}"


def test_without_standard_input_there_is_nothing_to_read(monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(UsageError, match="^there is no standard input to read$"):
        open_trace("-")


def pieces_of(path, limit=1 << 30):
    file = TraceFile(path)
    try:
        return list(file.chunks(Budget(limit)))
    finally:
        file.close()


@pytest.mark.parametrize("chunk", [1, 3, 1 << 20])
@pytest.mark.parametrize("zeros", [0, 1, 5])
def test_members_of_a_gzip_file_are_read_one_after_the_other(tmp_path, monkeypatch, chunk, zeros):
    monkeypatch.setattr(trace_file, "CHUNK", chunk)
    path = tmp_path / "trace.gz"
    packed = gzip.compress(b"one") + gzip.compress(b"two" * 9)
    path.write_bytes(packed + bytes(zeros))
    found = pieces_of(path)
    assert b"".join(piece for piece, _ in found) == b"one" + b"two" * 9
    reached = [at for _, at in found]
    assert reached == sorted(reached)
    assert 0 < reached[-1] <= len(packed) + zeros
    with pytest.raises(TraceError, match="more than 29 bytes"):
        pieces_of(path, 29)
    assert pieces_of(path, 30)


@pytest.mark.parametrize(
    ("pack", "damage", "offset", "message"),
    [
        (gzip.compress, lambda data: data[:-1], 7, "the gzip file is cut off: get a whole copy"),
        (gzip.compress, lambda data: data + b"\0x", 7, "the gzip file is corrupt: "),
        (
            gzip.compress,
            lambda data: data[:2] + b"\xff" + data[3:],
            0,
            "the gzip file is corrupt: ",
        ),
        (zstd, lambda data: data[:-1], None, "the zstd file is corrupt: "),
        (zstd, lambda data: data + b"xxxxxxxx", None, "the zstd file is corrupt: "),
    ],
)
def test_a_damaged_compressed_file_is_reported_with_what_it_gave(
    tmp_path, pack, damage, offset, message
):
    path = tmp_path / "trace"
    path.write_bytes(damage(pack(b"\ncontent"[:7])))
    with pytest.raises(TraceError) as raised:
        pieces_of(path)
    assert raised.value.message.startswith(message)
    if offset is not None:
        assert raised.value.offset == offset


def test_rows_of_compressed_packets_are_of_the_packets_place():
    events = [event(n, 0) for n in range(5)]
    wrapper = compressed(events)
    data = trace(events[0], wrapper, events[0])
    with opened(data) as made:
        table = made.read_all()
    assert len(table) == 7
    at = len(trace(events[0]))
    assert table["offset"].to_pylist() == [0, *[at] * 5, at + len(trace(wrapper))]


def test_a_window_is_what_a_file_or_a_compressed_packet_usually_expands_to(monkeypatch):
    sizes = []
    real = wire.Window

    def spy(read, size):
        sizes.append(size)
        return real(read, size)

    monkeypatch.setattr(wire, "Window", spy)
    small = compressed([event(1, 0)])
    large = compressed([event(k * 7_919**3 % 10**15, 0) for k in range(400)])
    data = trace(small, large)
    read(data)
    assert sizes[0] == 16 * len(data) < wire.WINDOW
    payload = len(zlib.compress(trace(*[event(k * 7_919**3 % 10**15, 0) for k in range(400)])))
    assert payload > 256
    assert sizes[1] == 4_096
    assert sizes[2] == pytest.approx(16 * payload, rel=0.1)


# Readings of a trace


@pytest.mark.parametrize(
    ("limit", "least"), [("max_expansion", 0), ("max_clocks", 1), ("max_tubes", 1)]
)
def test_limits_have_a_least(tmp_path, limit, least):
    path = tmp_path / "trace"
    path.write_bytes(trace(event(1, 0)))
    open_trace(path, **{limit: least}).close()
    with pytest.raises(UsageError, match=rf"^{limit} is a number of .*, {least} or more$"):
        open_trace(path, **{limit: least - 1})


def test_default_limits():
    most = OpenOptions()
    assert (most.max_expansion, most.max_clocks, most.max_tubes) == (4 * 2**30, 16_384, 3_000)
    assert (reader.BATCH_ROWS, reader.NAMES_LIMIT) == (65_536, 64 * 2**20)


def test_clocks_are_counted_up_to_the_limit():
    data = trace(snapshot({BOOTTIME: 5} | {200 + n: 5 for n in range(3)}))
    # With the file's own time.
    with opened(data, max_clocks=5) as made:
        assert len(made.clocks.clocks()) == 4
    with opened(data, max_clocks=3) as made, pytest.raises(TraceError) as raised:
        made.read_all()
    assert raised.value.message == (
        "snapshots name more than 3 clocks, or lists of clocks; if they really are that many, raise "
        "the limit (max_clocks, --max-clocks)"
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstd])
def test_what_a_recording_says_of_a_sequences_clock_is_of_the_same_clock_in_a_copy(tmp_path, pack):
    path = tmp_path / "out.pftrace"
    writer = TraceWriter(path)
    writer.declare(ClockDomain(64, "mine", ns_per_tick=2, wander_ppm=0.25))
    writer.snapshot(Snapshot({"64@seq1": 5, BOOTTIME: 9}))
    writer.close()
    with opened(pack(path.read_bytes())) as made:
        assert made.recorded_domains[ClockId(64, 1)].wander_ppm == 0.25
        assert made.clocks.domain("64@seq1").wander_ppm == 0.25
        assert {clock.file for clock in made.recorded_domains} == {0}


def test_a_trace_clock_named_late_is_reported_with_its_packet():
    first = snapshot({BOOTTIME: 5, MONOTONIC: 5}, primary=BOOTTIME)
    late = snapshot({BOOTTIME: 6, MONOTONIC: 6}, primary=MONOTONIC)
    with opened(trace(first, event(5, MONOTONIC), late)) as made:
        assert made.late_trace_clock == (2, ClockId(MONOTONIC))
    with opened(trace(first, event(5, MONOTONIC), first)) as made:
        assert made.late_trace_clock is None


def test_in_a_notebook_a_trace_shows_its_clocks():
    with opened(trace(snapshot({BOOTTIME: 5, MONOTONIC: 5}), event(5))) as made:
        html = made._repr_html_()
        assert html.startswith(f"<p>{made.path}</p><p>trace time is BOOTTIME</p><div>")
    with opened(b"\n\x05x") as made:
        assert made._repr_html_().startswith(f"<p>{made.path}: ")


@pytest.mark.parametrize("names", [False, True])
def test_batches_and_their_table_have_the_same_columns(names):
    with opened(trace(snapshot({BOOTTIME: 5, MONOTONIC: 5}), event(5))) as made:
        for policy in ("floor", "tube"):
            table = made.read_all(policy, names=names)
            (batch,) = made.events(policy, names=names)
            assert table.schema.names == batch.schema.names
            assert ("name" in table.schema.names) == names


# What the numbers of a table stand for


def test_a_payload_without_a_number_is_none():
    index, names = vocabulary().payload_index, vocabulary().payloads
    assert (index.dtype, len(index)) == (np.int16, 65_536)
    assert index[0] == -1
    assert names[index[6]].as_py() == "clock_snapshot"
    assert names[index[900]].as_py() == "for_testing"
    assert names[index[65_535]].as_py() == names[0].as_py() == "unknown"
    assert len(set(index.tolist())) == len(names) + 1


def test_processes_have_perfettos_types():
    types = process_types()
    assert types[0] == types[4] == ""
    assert types[1:4] == ("Browser", "Renderer", "Utility")
    assert "PpapiPlugin" in types


def columns(n=3, **more):
    zeros = {
        "packet": np.uint64,
        "kind": np.uint8,
        "item": np.uint32,
        "payload": np.uint16,
        "packet_sequence": np.uint32,
        "sequence": np.uint32,
        "machine": np.uint32,
        "clock": np.uint32,
        "timestamp": np.int64,
        "trace_time": np.int64,
        "status": np.uint8,
        "offset": np.uint64,
    }
    return {name: np.zeros(n, dtype=kind) for name, kind in zeros.items()} | more


def test_columns_become_a_batch():
    made = record_batch(
        columns(
            kind=np.array([0, 1, len(KINDS) - 1], dtype=np.uint8),
            payload=np.array([0, 6, 60_000], dtype=np.uint16),
            status=np.array([0, 1, 2], dtype=np.uint8),
            trace_time=np.array([5, 6, 7]),
        ),
        vocabulary(),
    )
    assert made["kind"].to_pylist() == ["packet", "ftrace_event", "etw_event"]
    assert made["payload"].to_pylist() == [None, "clock_snapshot", "unknown"]
    assert made["payload"].indices.to_pylist()[0] is None
    assert made["status"].to_pylist() == ["resolved", "as_is", "unknown_source_clock"]
    assert made["trace_time"].to_pylist() == [5, 6, None]
    # Under a null stands 0, for readers that look there.
    assert np.frombuffer(made["payload"].indices.buffers()[1], np.int16)[0] == 0


def test_bounds_are_null_where_the_earliest_is_after_the_latest():
    from tracetime.trace.events_table import BOUNDED_SCHEMA

    made = record_batch(
        columns(earliest=np.array([5, 6, 7]), latest=np.array([6, 6, 6])),
        vocabulary(),
        BOUNDED_SCHEMA,
    )
    assert made["earliest"].to_pylist() == [5, 6, None]
    assert made["latest"].to_pylist() == [6, 6, None]


def test_names_come_after_the_columns_of_the_table():
    schema = with_names(pa.schema([pa.field("x", pa.int8())]))
    assert schema.names == ["x", *NAMES_SCHEMA.names]


# Orders


CLOCKS = [ClockId(number) for number in (BOOTTIME, MONOTONIC, 5, REALTIME)]


def hashes(clocks):
    """In a trace file, and in a compressed one, where a sequence's clocks are of file 1."""
    return tuple(
        series_hash([(c.clock, c.sequence, file * c.is_sequence_scoped, 0) for c in clocks])
        for file in (0, 1)
    )


def test_the_sampled_clocks_begin_in_the_middle_of_what_their_orders_can_be():
    """Less a sixteenth at the bottom, which is kept for what follows."""
    fitting = sorted(h for o in permutations(CLOCKS) if (h := hashes(o)[0]) >= 1 << 28)
    first = SnapshotOrders().next(dict.fromkeys(CLOCKS, 5), main=True)
    assert first.hashes[0] == fitting[len(fitting) // 2]
    assert hashes(first.clocks) == first.hashes
    assert first.filler is None


def test_after_a_step_back_the_highest_of_the_lower_half_follows():
    orders = SnapshotOrders()
    last = orders.next(dict.fromkeys(CLOCKS, 50), main=True).hashes[0]
    for ns in (40, 30):
        fitting = [h for o in permutations(CLOCKS) if last // 2 <= (h := hashes(o)[0]) < last]
        order = orders.next(dict.fromkeys(CLOCKS, ns), main=True)
        assert order.hashes[0] == max(fitting)
        last = order.hashes[0]


@pytest.mark.parametrize("number", [64, 65, 70, 71, 80, 99, 127])
def test_with_a_sequences_clock_both_hashes_fall(number):
    """In a compressed copy of the file such a clock is another: its hash must fall there, too."""
    clocks = [ClockId(number, 1), ClockId(BOOTTIME), ClockId(MONOTONIC)]
    orders, last = SnapshotOrders(), (1 << 32, 1 << 32)
    for ns in range(8, 0, -1):
        order = orders.next(dict.fromkeys(clocks, ns), main=True)
        assert order.hashes == hashes(order.clocks)
        assert order.hashes[0] < last[0]
        assert order.hashes[1] < last[1]
        last = order.hashes


def test_one_clock_alone_goes_back_with_fillers_by_its_side():
    orders, last = SnapshotOrders(), 1 << 32
    for ns in range(30, 0, -1):
        order = orders.next({ClockId(BOOTTIME): ns}, main=True)
        assert order.hashes[0] < last
        last = order.hashes[0]
        if ns < 30:
            assert order.filler in order.clocks
            assert order.filler.scope == "global"
    assert filler_name(7) == "dev.tracetime.series.7"


def test_what_the_user_ties_in_is_above_the_sampled_clocks_or_below_where_it_shares_no_pair():
    orders = SnapshotOrders()
    main = orders.next(dict.fromkeys(CLOCKS, 5), main=True)
    own = ClockId(64, 1)
    tied = orders.next({own: 5, CLOCKS[0]: 5, CLOCKS[1]: 5}, main=False)
    assert min(tied.hashes) > max(main.hashes)
    # The sampled clocks, given by the user, are the sampled clocks.
    assert orders.next(dict.fromkeys(CLOCKS, 6), main=False) == main


def test_seven_clocks_have_the_orders_of_their_first_six():
    clocks = [ClockId(number) for number in (1, 2, 3, 4, 5, 6, 200, 201)]
    orders = SnapshotOrders()
    for ns in (9, 8, 7):
        order = orders.next(dict.fromkeys(clocks, ns), main=True)
        assert order.clocks[6:] == tuple(clocks[6:])


def test_a_trace_that_was_read_keeps_no_room_for_rows() -> None:
    data = trace(snapshot({BOOTTIME: 5}), event(6, BOOTTIME))
    with opened(data) as first:
        first.read_all()  # what is imported for it
    tracemalloc.start()
    try:
        with opened(data) as read_trace:
            assert [len(columns["packet"]) for columns in read_trace.columns()] == [1]
            kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000
