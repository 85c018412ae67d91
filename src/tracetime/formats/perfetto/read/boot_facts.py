"""What the beginning of a Perfetto trace says of the boot it was recorded in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tracetime.formats.perfetto.read.reader import PerfettoTrace

LOOKED_AT: Final = 1 << 20
"""Bytes of the file: recorders describe the machine first."""

_PACKET, SYSTEM_INFO, MACHINE_ID, _EXTENSION = 1, 45, 98, 9876
UTSNAME, _NUM_CPUS, MACHINE_NAME, _BOOT_ID = 1, 8, 17, 9
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_BITS: Final = 64
SYSTEM_INFO_TAG: Final = bytes((SYSTEM_INFO << 3 & 0x7F | _BYTES | 0x80, SYSTEM_INFO >> 4))
_EXTENSION_TAG: Final = bytes(
    (_EXTENSION << 3 & 0x7F | _BYTES | 0x80, _EXTENSION >> 4 & 0x7F | 0x80, _EXTENSION >> 11)
)

Field = tuple[int, int | bytes]


class BootFacts(NamedTuple):
    """What a trace says of the machine of its first packets.

    Attributes:
        boot_id: of the boot, as Linux gives it; empty where the trace does not say.
        machine: kernel, its version, number of CPUs, host name; empty where the trace does not say.
    """

    boot_id: bytes = b""
    machine: tuple[bytes, ...] = ()


def boot_facts(trace: PerfettoTrace) -> BootFacts:
    """Return what the first megabyte of a trace says of its host."""
    boot_id = b""
    machine: tuple[bytes, ...] = ()
    for packet in packets_with(trace.beginning(LOOKED_AT), SYSTEM_INFO_TAG, _EXTENSION_TAG):
        inside = dict(fields_of(packet))
        if inside.get(MACHINE_ID):
            continue
        info, extension = inside.get(SYSTEM_INFO), inside.get(_EXTENSION)
        if isinstance(info, bytes) and not machine:
            machine = _machine(info)
        if isinstance(extension, bytes) and not boot_id:
            found = dict(fields_of(extension)).get(_BOOT_ID)
            boot_id = found if isinstance(found, bytes) else b""
    return BootFacts(boot_id, machine)


def packets_with(data: bytes, *tags: bytes) -> Iterator[bytes]:
    """The packets in which one of some tags may be: nearly all have none."""
    at, place = 0, -1
    while at < len(data):
        tag, begin, end = _field(data, at)
        if place < begin:
            place = min(_place(data, one, begin) for one in tags)
        if place >= len(data) or end > len(data):
            return
        if place < end and tag == _PACKET << 3 | _BYTES:
            yield data[begin:end]
        at = end


def _place(data: bytes, tag: bytes, begin: int) -> int:
    """Where a tag may be next; the end of the data where it is not there."""
    at = data.find(tag, begin)
    return len(data) if at < 0 else at


def _machine(info: bytes) -> tuple[bytes, ...]:
    """The texts of utsname and the number of CPUs; nothing without utsname."""
    fields = dict(fields_of(info))
    name = fields.get(UTSNAME)
    if not isinstance(name, bytes):
        return ()
    texts = [value for _, value in fields_of(name) if isinstance(value, bytes)]
    host = fields.get(MACHINE_NAME)
    cpus = str(fields.get(_NUM_CPUS, "")).encode()
    return (*texts, cpus, host if isinstance(host, bytes) else b"")


def fields_of(data: bytes) -> Iterator[Field]:
    """The fields of a message that are numbers or bytes; ends where it is no message."""
    at = 0
    while at < len(data):
        tag, begin, at = _field(data, at)
        if at > len(data):
            return
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            yield number, _varint(data, begin)[0]
        elif wire == _BYTES:
            yield number, data[begin:at]


def _field(data: bytes, at: int) -> tuple[int, int, int]:
    """The tag of a field, and where its value begins and ends; past the data where it is none."""
    tag, begin = _varint(data, at)
    wire = tag & 7
    if wire == _BYTES:
        length, begin = _varint(data, begin)
        return tag, begin, begin + length
    if wire == _VARINT:
        return tag, begin, _varint(data, begin)[1]
    if wire in (_FIXED64, _FIXED32):
        return tag, begin, begin + (8 if wire == _FIXED64 else 4)
    return tag, begin, len(data) + 1


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends; past the end of the data where it has none."""
    if at < len(data) and data[at] < 0x80:
        return data[at], at + 1
    value = 0
    for n, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return value & ((1 << _MOST_BITS) - 1), at + n + 1
    return 0, len(data) + 1
