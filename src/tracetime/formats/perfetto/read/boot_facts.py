"""What the beginning of a Perfetto trace says of the boot it was recorded in."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from tracetime.formats.perfetto.read.reader import PerfettoTrace

_LOOKED_AT: Final = 1 << 20
"""Bytes of the file: recorders describe the machine first."""

_PACKET, _SYSTEM_INFO, _MACHINE_ID, _EXTENSION = 1, 45, 98, 9876
_UTSNAME, _NUM_CPUS, _MACHINE_NAME, _BOOT_ID = 1, 8, 17, 9
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_BITS: Final = 64

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
    for number, packet in _fields(trace.beginning(_LOOKED_AT)):
        if number != _PACKET or not isinstance(packet, bytes):
            continue
        inside = dict(_fields(packet))
        if inside.get(_MACHINE_ID):
            continue
        info, extension = inside.get(_SYSTEM_INFO), inside.get(_EXTENSION)
        if isinstance(info, bytes) and not machine:
            machine = _machine(info)
        if isinstance(extension, bytes) and not boot_id:
            found = dict(_fields(extension)).get(_BOOT_ID)
            boot_id = found if isinstance(found, bytes) else b""
    return BootFacts(boot_id, machine)


def _machine(info: bytes) -> tuple[bytes, ...]:
    """The texts of utsname and the number of CPUs; nothing without utsname."""
    fields = dict(_fields(info))
    name = fields.get(_UTSNAME)
    if not isinstance(name, bytes):
        return ()
    texts = [value for _, value in _fields(name) if isinstance(value, bytes)]
    host = fields.get(_MACHINE_NAME)
    cpus = str(fields.get(_NUM_CPUS, "")).encode()
    return (*texts, cpus, host if isinstance(host, bytes) else b"")


def _fields(data: bytes) -> Iterator[Field]:
    """The fields of a message that are numbers or bytes; ends where it is no message."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        if wire == _VARINT:
            value, at = _varint(data, at)
            yield number, value
        elif wire == _BYTES:
            length, at = _varint(data, at)
            if at + length > len(data):
                return
            yield number, data[at : at + length]
            at += length
        elif wire in (_FIXED64, _FIXED32):
            at += 8 if wire == _FIXED64 else 4
        else:
            return


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A varint and where it ends; past the end of the data where it has none."""
    value = 0
    for n, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << 7 * n
        if byte < 0x80:
            return value & ((1 << _MOST_BITS) - 1), at + n + 1
    return 0, len(data) + 1
