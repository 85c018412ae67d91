"""Parts of a recording: their packets, renumbered, as Perfetto's protobuf classes have them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

from tracetime._kernels.perfetto.parts import Part
from tracetime._kernels.perfetto.writer import PacketBuffer

SAMPLED = {1, 3, 6, 70}


def part(n: int) -> pb.Trace:
    """Packets of three sequences, with snapshots of several sets of clocks among them."""
    trace = pb.Trace()
    for i in range(n):
        packet = trace.packet.add(trusted_packet_sequence_id=i % 3 + 1)
        if i % 4 == 0:
            clocks = [(6, 100 + i), *[[(1, i)], [(70, i)], [(300, i)]][i // 4 % 3]]
            for clock, value in clocks:
                packet.clock_snapshot.clocks.add(clock_id=clock, timestamp=value)
        else:
            packet.timestamp = i
            packet.track_event.name = "x" * i
    return trace


def joined(data: bytes, piece: int) -> tuple[Part, pb.Trace]:
    """What becomes of a part that is given in pieces of so many bytes, at least."""
    made = Part(5, SAMPLED)
    buffer = PacketBuffer(1 << 30, 0, 1 << 30)
    for take in (made.scan, lambda data: made.put(buffer, data)):
        at, size = 0, piece
        while at < len(data):
            taken = take(data[at : at + size])
            if not taken and at + size >= len(data):
                break
            at, size = at + taken, piece if taken else 2 * size
    rest = pb.Trace()
    rest.ParseFromString(buffer.take())
    return made, rest


@pytest.mark.parametrize("piece", [1, 7, 100, 10_000])
def test_the_packets_of_a_part_are_renumbered(piece):
    trace = part(50)
    data = trace.SerializeToString()
    made, rest = joined(data + b"\x0a\x50cut off", piece)
    assert (made.highest, made.done) == (8, len(data))
    for packet in trace.packet:
        packet.trusted_packet_sequence_id += 5
    assert [*rest.packet] == [p for p in trace.packet if not p.HasField("clock_snapshot")]
    kept = [
        p
        for p in trace.packet
        if not {c.clock_id for c in p.clock_snapshot.clocks} <= {1, 3, 6}
        and p.HasField("clock_snapshot")
    ]
    snapshots = pb.Trace()
    snapshots.ParseFromString(b"".join(packet for _, packet in made.snapshots))
    assert [*snapshots.packet] == kept
    assert [ns for ns, _ in made.snapshots] == [p.clock_snapshot.clocks[0].timestamp for p in kept]


def test_a_packet_that_is_malformed_keeps_its_bytes():
    packet = b"\x08\x05\x50\x02\x40\x07\x0f\xff"  # timestamp, sequence 2, and no field
    data = b"\x0a" + bytes([len(packet)]) + packet
    made = Part(5, set())
    assert made.scan(data) == len(data)
    buffer = PacketBuffer(1 << 20, 0, 1 << 20)
    made.put(buffer, data)
    assert made.highest == 7
    assert buffer.take() == b"\x0a\x08" + b"\x50\x07" + b"\x08\x05\x40\x07\x0f\xff"


@settings(max_examples=200)
@given(st.binary(max_size=200), st.integers(1, 50), st.data())
def test_foreign_bytes_do_no_harm(noise, piece, data):
    whole = part(20).SerializeToString()
    at = data.draw(st.integers(0, len(whole)))
    made = Part(5, SAMPLED)
    buffer = PacketBuffer(1 << 30, 0, 1 << 30)
    for content in (noise, whole[:at] + noise + whole[at:]):
        for start in range(0, len(content), piece):
            made.scan(content[start:])
            made.put(buffer, content[start:])
