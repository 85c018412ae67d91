"""What a recording wrote, read by others than its own reader: Perfetto's protobuf classes.

The extension's classes are made from docs/tracetime_extension.proto itself, so that what the code
writes is checked against what the document says.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from places import ROOT

from tracetime.formats.perfetto.write.writer import TraceWriter

PROTO = ROOT / "docs" / "tracetime_extension.proto"
EXTENSION_FIELD = 9876

_TYPES = descriptor_pb2.FieldDescriptorProto
_FIELD = re.compile(r"\s*(optional|repeated) (\w+) (\w+) = (\d+)(?: \[(.*)\])?;")


def _messages() -> dict[str, Any]:
    file = descriptor_pb2.FileDescriptorProto(
        name="tracetime_extension.proto", package="tracetime", syntax="proto2"
    )
    message = None
    for line in PROTO.read_text().splitlines():
        if line.startswith("message "):
            message = file.message_type.add(name=line.split()[1])
        elif (field := _FIELD.match(line)) and message is not None:
            label, kind, name, number, options = field.groups()
            made = message.field.add(name=name, number=int(number))
            made.label = getattr(_TYPES, f"LABEL_{label.upper()}")
            if hasattr(_TYPES, f"TYPE_{kind.upper()}"):
                made.type = getattr(_TYPES, f"TYPE_{kind.upper()}")
            else:
                made.type, made.type_name = _TYPES.TYPE_MESSAGE, f".tracetime.{kind}"
            if options == "packed = true":
                made.options.packed = True
            elif options:
                made.default_value = options.removeprefix("default = ")
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    names = [one.name for one in file.message_type]
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"tracetime.{name}"))
        for name in names
    }


EXTENSION = _messages()


def split(data: bytes) -> list[bytes]:
    """The packets of a trace, each as its bytes; the trace ends with a whole one."""
    found = []
    at = 0
    while at < len(data):
        assert data[at] == 0x0A, f"no packet at byte {at}"
        size, at = _varint(data, at + 1)
        assert at + size <= len(data), f"the packet before byte {at} is cut off"
        found.append(data[at : at + size])
        at += size
    return found


def packets_of(data: bytes) -> list[Any]:
    """The packets as Perfetto's classes parse them."""
    return [pb.TracePacket.FromString(one) for one in split(data)]


def extensions_of(data: bytes) -> list[Any]:
    """The extensions of the snapshots, in file order, by the classes of the document."""
    found = []
    for one in split(data):
        for number, content in fields_of(one):
            if number == EXTENSION_FIELD:
                found.append(EXTENSION["TracetimeSnapshot"].FromString(content))
    return found


def fields_of(data: bytes) -> list[tuple[int, Any]]:
    """The fields of a message: bytes by their content, all others as None."""
    found: list[tuple[int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        content = None
        if tag & 7 == 2:
            size, at = _varint(data, at)
            content = data[at : at + size]
            at += size
        elif tag & 7 == 0:
            _, at = _varint(data, at)
        else:
            at += {1: 8, 5: 4}[tag & 7]
        found.append((tag >> 3, content))
    return found


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def names_of(data: bytes) -> Counter[str]:
    """How often each name is in the trace, as its sequences intern them.

    Fails where an event has a name that its sequence did not intern since it was last cleared.
    """
    interned: dict[int, dict[int, str]] = {}
    counts: Counter[str] = Counter()
    for packet in packets_of(data):
        sequence = packet.trusted_packet_sequence_id
        if packet.sequence_flags & 1:
            interned[sequence] = {}
        for name in packet.interned_data.event_names:
            interned[sequence][name.iid] = name.name
        if packet.track_event.name_iid:
            counts[interned[sequence][packet.track_event.name_iid]] += 1
    return counts


def waiting(writer: TraceWriter) -> int:
    """Bytes that are not in the file yet."""
    return len(writer._buffer) + writer._buffer.in_flight
