"""What the table of events says, and how a file is read.

Each rule names the place in Perfetto's sources that it follows: PTR is ProtoTraceReader
(src/trace_processor/importers/proto/proto_trace_reader.cc), CT is ClockTracker
(src/trace_processor/importers/common/clock_tracker.cc), CS is ClockSynchronizer
(src/trace_processor/util/clock_synchronizer.cc).
"""

from __future__ import annotations

import io
import os
import threading
from random import Random

import pyarrow as pa
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    TRACE_FILE,
    compressed,
    event,
    packet,
    pb,
    power_rails,
    snapshot,
    trace,
)
from random_traces import nasty_trace
from reading import opened, placed, read, rows_of

from tracetime import ClockId, UsageError, open_trace
from tracetime.formats.perfetto.read import reader, wire

# BOOTTIME = MONOTONIC + 1000 = REALTIME - 10^6
CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000, REALTIME: 1_002_000})


# What the table says


def test_a_row_has_its_packets_facts():
    one = event(7, 64, seq=5)
    data = trace(CLOCKS, snapshot({64: 0, BOOTTIME: 5000}, seq=5), one)
    with opened(data) as opened_trace:
        (row,) = opened_trace.read_all().to_pylist()
    assert row == {
        "packet": 2,
        "kind": "packet",
        "item": 0,
        "payload": "track_event",
        "packet_sequence": 5,
        "sequence": 5,
        "machine": 0,
        "clock": 64,
        "timestamp": 7,
        "trace_time": 5007,
        "status": "resolved",
        "offset": len(data) - len(one.SerializeToString()) - 2,
    }


def test_a_payload_that_the_schema_does_not_know():
    unknown = packet(5, 0).SerializeToString() + b"\xa2\xe2\x04\x01x"  # field 9876, bytes
    rows = read(trace(unknown, packet(6), packet(7, trace_config=pb.TraceConfig())))
    assert [row.payload for row in rows] == ["unknown", "", "trace_config"]


def test_packets_in_a_compressed_packet_are_counted_in_place():
    first, second = trace(CLOCKS), trace(compressed([event(2100), event(2200)]))
    with opened(first + second + trace(event(2300))) as opened_trace:
        table = opened_trace.read_all()
    assert table["packet"].to_pylist() == [1, 2, 3]
    assert table["trace_time"].to_pylist() == [2100, 2200, 2300]
    wrapper, after = len(first), len(first) + len(second)
    assert table["offset"].to_pylist() == [wrapper, wrapper, after]


def test_an_empty_packet_is_counted():
    assert placed(trace(CLOCKS, b"", event(2100))) == {2: 2100}


def test_fields_of_a_trace_that_are_no_packets_are_passed_over():
    """ProtoTraceTokenizer::Tokenize: 'Other field. Skip.'"""
    others = b"\x12\x03abc" + b"\x18\x96\x01" + b"\x25abcd" + b"\x29abcdefgh"
    data = trace(CLOCKS) + others + trace(event(2100))
    assert placed(data) == {1: 2100}


# How a file is read


SAMPLES = {
    "plain": trace(CLOCKS, *(event(2000 + n) for n in range(200))),
    "put aside": trace(*(event(n, 200) for n in range(40)), snapshot({200: 0, TRACE_FILE: 9})),
    "compressed": trace(CLOCKS, compressed([event(2000 + n) for n in range(60)], "zstd"), event(1)),
    "large packet": trace(
        CLOCKS, packet(2100, trace_uuid=pb.TraceUuid()), b"\x92\x01\xe8\x07" + b"x" * 1000, event(5)
    ),
} | {f"nasty {seed}": nasty_trace(Random(seed)) for seed in range(200, 260)}


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES)
def test_where_a_window_ends_changes_nothing(data, monkeypatch):
    def outcome():
        with opened(data, partial=True) as opened_trace:
            rows = opened_trace.read_all().to_pylist()
            error = opened_trace.truncated
            return rows, error and (error.message, error.offset, error.packet)

    whole = outcome()
    for size in (64, 65, 97, 1):
        monkeypatch.setattr(wire, "WINDOW", size)
        assert outcome() == whole, size


def test_batches_have_the_requested_size(monkeypatch):
    data = trace(CLOCKS, *(event(2000 + n) for n in range(100)))
    monkeypatch.setattr(reader, "BATCH_ROWS", 30)
    with opened(data) as opened_trace:
        batches = list(opened_trace.events())
    assert [batch.num_rows for batch in batches] == [30, 30, 30, 10]
    assert rows_of(opened_table(batches)) == read(data)


def opened_table(batches):
    return pa.Table.from_batches(batches)


def test_a_packet_of_many_items_may_make_a_larger_batch(monkeypatch):
    monkeypatch.setattr(reader, "BATCH_ROWS", 4)
    data = trace(CLOCKS, packet(seq=1, power_rails=power_rails([1] * 50)), event(5))
    with opened(data) as opened_trace:
        assert [batch.num_rows for batch in opened_trace.events()] == [50, 1]


def test_a_trace_can_be_read_again():
    with opened(SAMPLES["put aside"]) as opened_trace:
        first = opened_trace.read_all()
        assert opened_trace.read_all() == first
        assert opened_trace.clocks.convert(5, 200, TRACE_FILE) == 14


def test_the_clocks_are_known_without_reading_events():
    with opened(trace(CLOCKS, event(5))) as opened_trace:
        assert opened_trace.trace_clock == ClockId(BOOTTIME)
        assert opened_trace.clocks.convert(1100, MONOTONIC, BOOTTIME) == 2100
        assert opened_trace.machines == [0]
        assert opened_trace.clocks is opened_trace.clocks


def test_the_graph_has_every_snapshot_of_the_file():
    """Unlike `events`, which know what had been read."""
    data = trace(
        CLOCKS, event(1100, MONOTONIC), snapshot({BOOTTIME: 5000, MONOTONIC: 1050, REALTIME: 10**7})
    )
    with opened(data) as opened_trace:
        assert opened_trace.clocks.convert(1100, MONOTONIC, BOOTTIME) == 5050
        assert rows_of(opened_trace.read_all())[0].trace_time == 2100


def test_progress_is_the_position_in_the_file(monkeypatch):
    monkeypatch.setattr(wire, "WINDOW", 64)
    positions: list[int] = []
    data = SAMPLES["plain"]
    with opened(data) as opened_trace:
        for _ in opened_trace.events(progress=positions.append):
            pass
        assert opened_trace.size == len(data)
    assert positions == sorted(positions)
    assert positions[0] > 0
    assert positions[-1] == len(data)


def test_a_pipe_is_read():
    receiving, sending = os.pipe()

    def send():
        with os.fdopen(sending, "wb") as file:
            file.write(SAMPLES["put aside"])

    thread = threading.Thread(target=send)
    thread.start()
    with open_trace(f"/dev/fd/{receiving}") as opened_trace:
        thread.join()
        assert opened_trace.read_all().num_rows == 40
        assert opened_trace.read_all().num_rows == 40
    os.close(receiving)


def test_standard_input_is_read(monkeypatch):
    class Stdin:
        buffer = io.BytesIO(SAMPLES["put aside"])

    monkeypatch.setattr("sys.stdin", Stdin)
    with open_trace("-") as opened_trace:
        assert (opened_trace.path, opened_trace.size) == ("-", len(SAMPLES["put aside"]))
        assert opened_trace.read_all().num_rows == 40


def test_a_file_that_cannot_be_read(tmp_path):
    with pytest.raises(UsageError, match="cannot read"):
        open_trace(tmp_path / "nowhere.pftrace")


def test_requests_that_are_refused(tmp_path):
    with opened(SAMPLES["plain"]) as opened_trace:
        with pytest.raises(UsageError, match="no policy 'nearest'"):
            opened_trace.events(policy="nearest")
    with pytest.raises(UsageError, match="max_expansion"):
        open_trace(tmp_path / "t", max_expansion=-1)


def test_rules_for_the_other_clocks_of_the_kernel():
    """A coarse and a raw clock are clocks as any."""
    data = trace(
        snapshot({MONOTONIC_COARSE: 1, MONOTONIC_RAW: 2, BOOTTIME: 100}),
        event(5, MONOTONIC_COARSE),
        event(5, MONOTONIC_RAW),
    )
    assert placed(data) == {1: 104, 2: 103}
