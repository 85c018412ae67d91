"""Compressed, cut off, corrupt, and no traces at all: what is read, and what is said.

Perfetto's rules are in src/trace_processor/importers/proto/proto_trace_tokenizer.h (PTT) and
proto_trace_reader.cc (PTR). Where it ends an import with an error, so does the reader; a file that
is cut off is an error here, which Perfetto passes over.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from random import Random

import pyarrow as pa
import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    compressed,
    event,
    ftrace,
    packet,
    pb,
    snapshot,
    trace,
    varint,
    zstd,
)
from random_traces import nasty_trace
from reading import opened, placed, read, read_partial, rows_of
from twin import resolve

from tracetime import TraceError
from tracetime.errors import TracetimeError
from tracetime.formats.perfetto.schema import IMPORT_ERRORS

CLOCKS = snapshot({BOOTTIME: 2000, MONOTONIC: 1000})
GOOD = [CLOCKS, event(2100), event(1200, MONOTONIC)]
PLACED = {1: 2100, 2: 2200}


# Compressed packets


@pytest.mark.parametrize("codec", ["zlib", "gzip", "zstd"])
def test_compressed_packets_are_expanded_in_place(codec):
    assert placed(trace(compressed(GOOD, codec), event(2300))) == {**PLACED, 3: 2300}


def test_several_compressed_packets_of_one_codec():
    data = trace(compressed(GOOD, "zlib"), compressed([event(2300)], "gzip"))
    assert placed(data) == {**PLACED, 3: 2300}


@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_little_or_nothing_compressed(codec, size):
    """PTT: `(end - ptr) > 2`; what is left at the end is not looked at."""
    tail = {"zlib": zlib.compress, "zstd": zstd}[codec](b"\x0a" * size)
    field = "compressed_packets" if codec == "zlib" else "zstd_compressed_packets"
    assert placed(trace(*GOOD, pb.TracePacket(**{field: tail}))) == PLACED


def test_up_to_two_bytes_after_the_last_packet_are_ignored():
    content = trace(*GOOD) + b"\x0a\x00"
    assert placed(trace(pb.TracePacket(compressed_packets=zlib.compress(content)))) == PLACED


# Compressed files


def gzip_members(data: bytes) -> bytes:
    return gzip.compress(data[:20]) + gzip.compress(b"") + gzip.compress(data[20:])


def zstd_stream(data: bytes) -> bytes:
    """As `zstd` makes it from a pipe: without the size in front."""
    buffer = pa.BufferOutputStream()
    with pa.CompressedOutputStream(buffer, "zstd") as stream:
        stream.write(data)
    return bytes(buffer.getvalue())


WHOLE = {
    "gzip": gzip.compress,
    "gzip of several members": gzip_members,
    "xz": lzma.compress,
    "xz of several streams": lambda data: lzma.compress(data[:20]) + lzma.compress(data[20:]),
    "bzip2": bz2.compress,
    "bzip2 of several streams": lambda data: bz2.compress(data[:20]) + bz2.compress(data[20:]),
    "zstd": zstd,
    "zstd of several frames": lambda data: zstd(data[:20]) + zstd(data[20:]),
    "zstd of unknown size": zstd_stream,
}


@pytest.mark.parametrize("pack", WHOLE.values(), ids=WHOLE)
def test_a_compressed_file(pack):
    assert placed(pack(trace(*GOOD))) == PLACED


@pytest.mark.parametrize("pack", WHOLE.values(), ids=WHOLE)
def test_a_compressed_file_far_larger_than_a_chunk(pack):
    data = trace(CLOCKS) + trace(event(2100)) * 200_000
    with opened(pack(data)) as opened_trace:
        table = opened_trace.read_all()
    assert table["trace_time"].unique().to_pylist() == [2100]
    assert table["packet"].to_pylist() == list(range(1, 200_001))


def test_offsets_in_a_compressed_file_are_those_of_its_content():
    plain, packed = trace(*GOOD), gzip.compress(trace(*GOOD))
    with opened(plain) as one, opened(packed) as other:
        assert one.read_all() == other.read_all()


def test_a_sequences_clock_in_a_compressed_file_is_named_as_in_a_plain_one():
    """A compressed file is a container, file 0, and its trace file 1: nobody has to say so."""
    data = trace(CLOCKS, snapshot({64: 0, BOOTTIME: 7000}, seq=1), event(5, 64))
    for packed in (data, *(pack(data) for pack in PACKERS.values())):
        with opened(packed) as opened_trace:
            assert [row.trace_time for row in rows_of(opened_trace.read_all())] == [7005]
            assert opened_trace.clocks.convert(5, "64@seq1", BOOTTIME) == 7005


def test_compressed_packets_in_a_compressed_file():
    assert placed(zstd(trace(compressed(GOOD, "zlib")))) == PLACED


# Errors that end an import


def message(number: int, payload: bytes) -> bytes:
    """A field of bytes, by its number."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


ENDS = {
    "unknown wire type of a field": (b"", b"\x0b\x00", 0),
    "header of 20 bytes": (b"", b"\xff" * 20, 1),
    "oversized field": (b"", b"\x12" + b"\xff" * 9 + b"\x01" + b"x" * 20, 1),
    "packet that is no message": (trace(b"\x43\x08\x01"), b"", 2),
    "packet that ends within a field": (trace(b"\x0a\x05\x01"), b"", 2),
    "packet that ends within a number": (trace(b"\x40\x80"), b"", 2),
    "field number 0": (trace(b"\x00\x01"), b"", 2),
    "no packet in compressed packets": (
        trace(pb.TracePacket(compressed_packets=zlib.compress(b"\x12\x03abc"))),
        b"",
        3,
    ),
    "compressed packets in compressed packets": (trace(compressed([compressed(GOOD)])), b"", 4),
    "snapshot of a sequence's clock without a sequence": (
        trace(snapshot({64: 1, BOOTTIME: 5})),
        b"",
        5,
    ),
    "timestamp in a sequence's clock without a sequence": (trace(event(5, 64, seq=None)), b"", 6),
    "incremental state without a sequence": (trace(event(5, needs_state=True, seq=None)), b"", 7),
    "CPU above 1023": (trace(packet(seq=1, ftrace_events=ftrace([5], cpu=1024))), b"", 8),
    "unknown ftrace clock": (trace(packet(seq=1, ftrace_events=ftrace([5], clock=1))), b"", 9),
    "start of a CPU's data": (
        trace(packet(seq=1, ftrace_events=ftrace(clock=2, last_read=5))),
        b"",
        10,
    ),
    "two codecs": (trace(compressed([event(2300)], "zstd")), b"", 11),
    "messages between machines that end within a round": (
        message(1, b"\x90\x06\x07" + message(107, b"\x0a\x05\x01")),
        b"",
        12,
    ),
}
"""What follows the good packets, and the error that it is."""


@pytest.mark.parametrize("case", ENDS)
def test_an_error_that_ends_an_import(case):
    """The message says byte and packet; what came before is kept where asked for."""
    bad, rest, error = ENDS[case]
    before = trace(compressed(GOOD, "zlib")) if case == "two codecs" else trace(*GOOD)
    data = before + bad + rest + trace(event(2400))
    with pytest.raises(TraceError) as info:
        read(data)
    assert info.value.message == IMPORT_ERRORS[error]
    assert (info.value.offset, info.value.packet) == (len(before), 3)
    assert str(info.value).endswith(f"(byte {len(before)}, packet 3)")

    rows, partial_error = read_partial(data)
    assert {row.packet: row.trace_time for row in rows} == PLACED
    assert str(partial_error) == str(info.value)


def test_every_import_error_has_its_case():
    assert {error for _, _, error in ENDS.values()} == set(range(len(IMPORT_ERRORS)))


@pytest.mark.parametrize("case", [c for c in ENDS if ENDS[c][0] and ENDS[c][2] not in (3, 4, 11)])
def test_an_error_within_a_compressed_packet(case):
    """The offset is the wrapper's, the packet counted in place."""
    bad, _, error = ENDS[case]
    head = trace(CLOCKS)
    wrapper = pb.TracePacket(
        compressed_packets=zlib.compress(trace(event(2100)) + bad + trace(event(1)))
    )
    with pytest.raises(TraceError) as info:
        read(head + trace(wrapper))
    assert (info.value.offset, info.value.packet) == (len(head), 2)
    assert info.value.message == IMPORT_ERRORS[error]


@pytest.mark.parametrize("field", ["compressed_packets", "zstd_compressed_packets"])
@pytest.mark.parametrize("damage", ["noise", "cut off", "followed", "empty"])
def test_compressed_packets_that_cannot_be_decompressed(field, damage):
    content = trace(event(2300)) * 50
    packed = zlib.compress(content) if field == "compressed_packets" else zstd(content)
    packed = {
        "noise": b"noise",
        "cut off": packed[:-3],
        "followed": packed + b"more",
        "empty": b"",
    }[damage]
    head = trace(*GOOD)
    with pytest.raises(TraceError, match="a compressed packet cannot be decompressed") as info:
        read(head + trace(pb.TracePacket(**{field: packed})))
    assert info.value.offset == len(head)


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_a_compressed_packet_that_ends_within_a_packet(codec):
    """PTT: 'Invalid packet size'"""
    content = trace(event(2100), event(2200))[:-3]
    field = {"zlib": "compressed_packets", "zstd": "zstd_compressed_packets"}[codec]
    wrapper = pb.TracePacket(
        **{field: zlib.compress(content) if codec == "zlib" else zstd(content)}
    )
    with pytest.raises(
        TraceError, match=r"ends in mid-packet: it is corrupt \(byte \d+, packet 2\)"
    ):
        read(trace(CLOCKS, wrapper))


PACKERS = {"gzip": gzip.compress, "zstd": zstd, "xz": lzma.compress, "bzip2": bz2.compress}


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_compressed_file_that_is_cut_off_or_corrupt(pack):
    packed = pack(trace(*(event(n, 0) for n in range(3000))))
    with pytest.raises(TraceError, match="file is (cut off|corrupt)"):
        read(packed[:-20])
    noise = bytearray(packed)
    noise[len(packed) // 2 : len(packed) // 2 + 40] = bytes(40)
    with pytest.raises(TracetimeError):
        read(bytes(noise))
    with pytest.raises(TraceError, match="file is (cut off|corrupt)"):
        read(packed[:8])


def test_what_was_decompressed_of_a_damaged_file_is_kept():
    packed = gzip.compress(trace(*(event(n, 0) for n in range(3000))))
    rows, error = read_partial(packed[: len(packed) // 2])
    assert [row.trace_time for row in rows] == list(range(len(rows)))
    assert 100 < len(rows) < 3000
    assert error is not None
    assert "cut off" in error.message


@pytest.mark.parametrize("zeros", [1, 511, (1 << 20) + 1, 3 << 20])
def test_zeros_behind_a_gzip_file_are_padding(zeros):
    """As tapes and block devices leave them, however many; what else follows is the next member."""
    packed = gzip.compress(trace(*GOOD))
    assert placed(packed + bytes(zeros)) == PLACED
    assert placed(packed + gzip.compress(trace(event(2300))) + bytes(zeros)) == {**PLACED, 3: 2300}
    with pytest.raises(TraceError, match="file is corrupt"):
        read(packed + bytes(zeros) + b"x")


# Cut off


def test_a_file_cut_off_at_any_byte():
    """What came whole is kept; the error names the first packet that did not."""
    data = trace(*GOOD, compressed([event(2300), event(2400)]), event(2500))
    whole = read(data)
    ends = [len(trace(*GOOD[: n + 1])) for n in range(3)]
    ends += [len(trace(*GOOD, compressed([event(2300), event(2400)]))), len(data)]
    packets_before = {0: 0, **dict(zip(ends, (1, 2, 3, 5, 6), strict=True))}
    for size in range(1, len(data)):
        rows, error = read_partial(data[:size])
        start = max(end for end in packets_before if end <= size)
        packets = packets_before[start]
        assert rows == [row for row in whole if row.packet < packets]
        if start == size:
            assert error is None
            continue
        assert error is not None
        assert error.message.startswith("the trace is cut off in mid-packet")
        assert (error.offset, error.packet) == (start, packets)
        with pytest.raises(TraceError) as info:
            read(data[:size])
        assert str(info.value) == str(error)


@pytest.mark.parametrize("seed", range(300, 312))
def test_a_nasty_trace_cut_off_at_any_byte(seed):
    """As the twin, which like Perfetto takes the end of the file for the end of the trace."""
    data = nasty_trace(Random(seed))
    if data[:1] != b"\n":
        data = trace(*GOOD)
    for size in range(1, len(data), 3):
        rows, error = read_partial(data[:size])
        if error is None or error.message.startswith("the trace is cut off"):
            by_name = sorted(rows, key=lambda row: row[:3])
            assert by_name == sorted(resolve(data[:size]), key=lambda row: row[:3])


def test_what_is_put_aside_is_placed_with_what_was_read():
    data = trace(event(5, 200), snapshot({200: 0, 11: 7000}), event(6, 200))
    rows, error = read_partial(data[:-1])
    assert [row.trace_time for row in rows] == [7005]
    assert error is not None


def test_a_damaged_trace_tells_its_clocks():
    with opened(trace(*GOOD) + b"\x0a\x05", partial=True) as opened_trace:
        assert opened_trace.clocks.convert(1100, MONOTONIC, BOOTTIME) == 2100
        assert opened_trace.truncated is not None
    with opened(trace(*GOOD) + b"\x0a\x05") as opened_trace, pytest.raises(TraceError):
        _ = opened_trace.clocks


def test_a_false_length_costs_nothing():
    """The window grows by what the file has, not by what a length says."""
    for size in (1 << 31, 1 << 40, (1 << 62) - 1):
        rows, error = read_partial(trace(*GOOD) + b"\x0a" + varint(size) + b"short")
        assert len(rows) == 2
        assert error is not None
        assert error.packet == 3


# The expansion limit


def bomb(size: int) -> bytes:
    """A packet of `size` zeros: a trace that compresses a thousandfold."""
    return b"\x0a" + varint(size + len(varint(size)) + 1) + b"\x12" + varint(size) + bytes(size)


@pytest.mark.parametrize("pack", PACKERS.values(), ids=PACKERS)
def test_a_file_expands_up_to_the_limit(pack):
    content = bomb(3 << 20)
    packed = pack(content)
    with opened(packed, max_expansion=len(content)) as opened_trace:
        assert opened_trace.read_all().num_rows == 0
    with opened(packed, max_expansion=len(content) - 1) as opened_trace:
        with pytest.raises(
            TraceError, match=f"more than {len(content) - 1} bytes; .*--max-expansion"
        ):
            opened_trace.read_all()


@pytest.mark.parametrize("codec", ["zlib", "zstd"])
def test_packets_expand_up_to_the_limit_together(codec):
    one = trace(*(event(n, 0) for n in range(100)))
    wrapper = compressed([event(n, 0) for n in range(100)], codec)
    data = trace(wrapper, wrapper, wrapper)
    with opened(data, max_expansion=3 * len(one)) as opened_trace:
        assert opened_trace.read_all().num_rows == 300
    with opened(data, max_expansion=3 * len(one) - 1, partial=True) as opened_trace:
        assert opened_trace.read_all().num_rows == 200
        error = opened_trace.truncated
        assert error is not None
        assert (error.offset, error.packet) == (2 * len(trace(wrapper)), 200)


def test_a_second_pass_has_a_limit_of_its_own():
    content = trace(event(5, 200), *(event(n, 0) for n in range(1000)))
    with opened(gzip.compress(content), max_expansion=len(content)) as opened_trace:
        assert opened_trace.read_all().num_rows == 1001


# What is no trace


NO_TRACES = {
    "nothing": (b"", "the file is empty"),
    "JSON": (b"{}", "JSON, but of no trace"),
    "JSON array": (b"  [1]", "JSON"),
    "lz4": (b"\x04\x22\x4d\x18" + bytes(50), r"an lz4 file: .*unpack it \(lz4 -d FILE\)"),
    "CSV": (b"at,what\n5,sent\n", "text, perhaps CSV: name its columns `clock` and `timestamp`"),
    "perf.data": (b"PERFILE2" + bytes(50), "a recording of Linux perf"),
    "systrace": (b"<!DOCTYPE html>", "HTML: give the data it shows: of systrace"),
    "ELF": (b"\x7fELF\x02\x01\x01\0\0", r"a program or library \(ELF\)"),
    "zeros": (bytes(100), "begins with 00 00"),
}


@pytest.mark.parametrize("kind", NO_TRACES)
@pytest.mark.parametrize("pack", [bytes, *PACKERS.values()], ids=["plain", *PACKERS])
@pytest.mark.parametrize("partial", [False, True])
def test_what_is_no_trace(kind, pack, partial):
    """It is refused, with `partial`, too; of a packed file of nothing that is told when read."""
    content, message = NO_TRACES[kind]
    with pytest.raises(TraceError, match=message) as info:
        with opened(pack(content), partial=partial) as opened_trace:
            assert opened_trace.read_all().num_rows == 0
            if opened_trace.truncated:
                raise opened_trace.truncated
    assert info.value.offset == 0


def test_rows_before_an_error_come_before_it():
    """Without `partial`, too: an iterator has handed out its batches by then."""
    data = trace(CLOCKS) + trace(event(2100)) * 70_000 + b"\x0b\x00"
    with opened(data) as opened_trace:
        batches = opened_trace.events()
        assert next(batches).num_rows == 65_536
        with pytest.raises(TraceError):
            for _ in batches:
                pass
