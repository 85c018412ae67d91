"""The facts on the machine and its boot in the beginning of a Perfetto trace."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from tracetime.trace.abilities import UNKNOWN_MODEL, MachineFacts

LOOKED_AT: Final = 1 << 20
"""Bytes of the file: recorders describe the machine first."""

_PACKET, _SYSTEM_INFO, _CPU_INFO, _MACHINE_ID, _EXTENSION = 1, 45, 67, 98, 9876
_UTSNAME, _NUM_CPUS, _MACHINE_NAME, _BOOT_ID = 1, 8, 17, 9
_FINGERPRINT, _SOC, _MANUFACTURER = 2, 9, 14
_SYSNAME, _RELEASE, _ARCHITECTURE = 1, 3, 4
_CPU, _PROCESSOR = 1, 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MOST_BITS: Final = 64
_TAGS: Final = (b"\xea\x02", b"\x9a\x04", b"\xa2\xe9\x04")
"""Of `_SYSTEM_INFO`, `_CPU_INFO` and `_EXTENSION`, with the wire type of bytes."""
_MOST_TEXT: Final = 100
"""Characters of a text: foreign ones may be of any length."""

Field = tuple[int, int | bytes]


def machine_facts(beginning: bytes) -> MachineFacts:
    """Return the facts on the host in the first bytes of a trace."""
    info: dict[int, int | bytes] = {}
    identity: tuple[bytes, ...] = ()
    processor, boot_id = "", b""
    for packet in _candidate_packets(beginning):
        inside = dict(fields_of(packet))
        if inside.get(_MACHINE_ID):
            continue
        own = message_of(inside.get(_SYSTEM_INFO))
        info, identity = info or own, identity or _identity(own)
        processor = processor or _processor(inside.get(_CPU_INFO))
        found = message_of(inside.get(_EXTENSION)).get(_BOOT_ID)
        boot_id = boot_id or (found if isinstance(found, bytes) else b"")
    uname = message_of(info.get(_UTSNAME))
    system = " ".join(filter(None, (_text(uname, _SYSNAME), _text(uname, _ARCHITECTURE))))
    model = _android(info) or processor or system or UNKNOWN_MODEL
    return MachineFacts(
        model, _text(uname, _RELEASE), _text(info, _MACHINE_NAME), boot_id, identity
    )


def _candidate_packets(data: bytes) -> Iterator[bytes]:
    """The packets in which one of `_TAGS` may be: nearly all have none."""
    at, place = 0, -1
    while at < len(data):
        tag, begin, end = _field(data, at)
        if place < begin:
            place = min(_place(data, one, begin) for one in _TAGS)
        if place >= len(data) or end > len(data):
            return
        if place < end and tag == _PACKET << 3 | _BYTES:
            yield data[begin:end]
        at = end


def _place(data: bytes, tag: bytes, begin: int) -> int:
    """The place of the next tag; the end of the data without one."""
    at = data.find(tag, begin)
    return len(data) if at < 0 else at


def _identity(info: dict[int, int | bytes]) -> tuple[bytes, ...]:
    """The texts of utsname and the number of CPUs; nothing without utsname."""
    name = info.get(_UTSNAME)
    if not isinstance(name, bytes):
        return ()
    texts = [value for _, value in fields_of(name) if isinstance(value, bytes)]
    host = info.get(_MACHINE_NAME)
    cpus = str(info.get(_NUM_CPUS, "")).encode()
    return (*texts, cpus, host if isinstance(host, bytes) else b"")


def _android(info: dict[int, int | bytes]) -> str:
    """The device: google/oriole of google/oriole/oriole:12/..., with its system on a chip."""
    parts = _text(info, _FINGERPRINT).split("/")
    device = "/".join(parts[:2]) if len(parts) > 2 else ""
    return " ".join(filter(None, (device or _text(info, _MANUFACTURER), _text(info, _SOC))))


def _processor(info: int | bytes | None) -> str:
    """The name that most CPUs have; of as many, the first."""
    if not isinstance(info, bytes):
        return ""
    cpus = [message_of(cpu) for number, cpu in fields_of(info) if number == _CPU]
    named = Counter(name for cpu in cpus if (name := _text(cpu, _PROCESSOR)))
    return named.most_common(1)[0][0] if named else ""


def message_of(field: int | bytes | None) -> dict[int, int | bytes]:
    return dict(fields_of(field)) if isinstance(field, bytes) else {}


def _text(message: dict[int, int | bytes], number: int) -> str:
    """A field that is text, on one line."""
    value = message.get(number)
    if not isinstance(value, bytes):
        return ""
    return " ".join(value.decode(errors="backslashreplace").split())[:_MOST_TEXT]


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
