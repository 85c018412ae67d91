"""Make a trace of any size from a real one: repeated, with timestamps and sequence ids shifted.

    python -m benchmarks.large TRACE OUT --size 2GB [--deferred]

The values that shift are padded varints, so that each repetition only patches bytes. With
--deferred every ClockSnapshot is at the end of the file, and so every packet that needs one is
deferred.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TracePacket

SEQUENCE_SHIFT = 1_000_000
_SEQUENCE_BYTES = 5
_TIME_BYTES = 10
_INCREMENTAL_CLOCK = 64


class Template:
    """Packets as bytes, with the places of the values that shift between repetitions."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.places: dict[str, list[tuple[int, int]]] = {"sequence": [], "ns": [], "us": []}

    def add(self, packet: TracePacket, relative: bool) -> None:
        """Append a packet; `relative` says that its timestamp is a delta."""
        rest = TracePacket()
        rest.CopyFrom(packet)
        rest.ClearField("trusted_packet_sequence_id")
        body = bytearray()
        marks: list[tuple[str, int, int]] = []
        if packet.HasField("timestamp") and not relative:
            rest.ClearField("timestamp")
            body += b"\x40"
            marks.append(("ns", len(body), packet.timestamp))
            body += padded(packet.timestamp, _TIME_BYTES)
        body += b"\x50"
        marks.append(("sequence", len(body), packet.trusted_packet_sequence_id))
        body += padded(packet.trusted_packet_sequence_id, _SEQUENCE_BYTES)
        if packet.HasField("clock_snapshot"):
            rest.ClearField("clock_snapshot")
            snapshot = bytearray()
            at: list[tuple[str, int, int]] = []
            for clock in packet.clock_snapshot.clocks:
                bare = type(clock)()
                bare.CopyFrom(clock)
                bare.ClearField("timestamp")
                message = b"\x10" + padded(clock.timestamp, _TIME_BYTES) + bare.SerializeToString()
                snapshot += b"\x0a" + bytes([len(message)]) + b"\x10"
                kind = "us" if clock.clock_id == _INCREMENTAL_CLOCK else "ns"
                at.append((kind, len(snapshot), clock.timestamp))
                snapshot += message[1:]
            if packet.clock_snapshot.primary_trace_clock:
                snapshot += b"\x10" + varint(packet.clock_snapshot.primary_trace_clock)
            body += b"\x32" + varint(len(snapshot))
            marks += [(kind, len(body) + place, value) for kind, place, value in at]
            body += snapshot
        body += rest.SerializeToString()
        self.data += b"\x0a" + varint(len(body))
        for kind, place, value in marks:
            self.places[kind].append((len(self.data) + place, value))
        self.data += body

    def repetitions(self, duration_ns: int) -> Iterator[bytes]:
        """Yield the packets again and again, each time `duration_ns` later."""
        data = np.frombuffer(bytes(self.data), np.uint8).copy()
        tables = {
            kind: (
                np.array([place for place, _ in marks], np.int64),
                np.array([value for _, value in marks], np.uint64),
            )
            for kind, marks in self.places.items()
        }
        shifts = {"sequence": SEQUENCE_SHIFT, "ns": duration_ns, "us": duration_ns // 1000}
        number = 0
        while True:
            for kind, (places, values) in tables.items():
                patch(
                    data,
                    places,
                    values + np.uint64(number * shifts[kind]),
                    _SEQUENCE_BYTES if kind == "sequence" else _TIME_BYTES,
                )
            yield data.tobytes()
            number += 1


def varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def padded(value: int, size: int) -> bytes:
    """A varint of exactly `size` bytes."""
    return bytes((value >> 7 * i) & 0x7F | (0x80 if i + 1 < size else 0) for i in range(size))


def patch(data: np.ndarray, places: np.ndarray, values: np.ndarray, size: int) -> None:
    """Write values as padded varints at places of data."""
    for i in range(size):
        byte = (values >> np.uint64(7 * i)) & np.uint64(0x7F)
        data[places + i] = byte | (0x80 if i + 1 < size else 0)


def make(trace: Path, out: Path, size: int, deferred: bool = False) -> None:
    """Write a trace of about `size` bytes."""
    packets = Trace.FromString(trace.read_bytes()).packet
    defaults: dict[int, int] = {}
    body, snapshots = Template(), Template()
    times = []
    primary = next(
        p.clock_snapshot.primary_trace_clock or 6 for p in packets if p.HasField("clock_snapshot")
    )
    for packet in packets:
        sequence = packet.trusted_packet_sequence_id
        if packet.HasField("trace_packet_defaults"):
            defaults[sequence] = packet.trace_packet_defaults.timestamp_clock_id
        clock = packet.timestamp_clock_id or defaults.get(sequence, 0)
        relative = clock == _INCREMENTAL_CLOCK
        if packet.HasField("timestamp") and not relative:
            times.append(packet.timestamp)
        if deferred and packet.HasField("clock_snapshot"):
            late = TracePacket(trusted_packet_sequence_id=sequence)
            late.clock_snapshot.CopyFrom(packet.clock_snapshot)
            snapshots.add(late, relative=False)
            packet.ClearField("clock_snapshot")
        body.add(packet, relative)
    duration_ns = max(times) - min(times) + 1_000_000_000
    with out.open("wb") as file:
        if deferred:
            first = TracePacket()
            first.clock_snapshot.primary_trace_clock = primary
            file.write(Trace(packet=[first]).SerializeToString())
        number = 0
        for repetition in body.repetitions(duration_ns):
            if number and file.tell() >= size:
                break
            file.write(repetition)
            number += 1
        if deferred:
            for _, repetition in zip(
                range(number), snapshots.repetitions(duration_ns), strict=False
            ):
                file.write(repetition)


def parse_size(text: str) -> int:
    units = {"KB": 10**3, "MB": 10**6, "GB": 10**9}
    return int(float(text[:-2]) * units[text[-2:].upper()])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("trace", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=parse_size, default=2 * 10**9)
    parser.add_argument("--deferred", action="store_true")
    arguments = parser.parse_args()
    make(arguments.trace, arguments.out, arguments.size, arguments.deferred)


if __name__ == "__main__":
    main()
