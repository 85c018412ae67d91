"""What the beginning of a Perfetto trace says of the kind of machine it was recorded on."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

from tracetime.formats.perfetto.read.boot_facts import (
    LOOKED_AT,
    MACHINE_ID,
    MACHINE_NAME,
    SYSTEM_INFO,
    SYSTEM_INFO_TAG,
    UTSNAME,
    fields_of,
    packets_with,
)
from tracetime.formats.perfetto.read.reader import PerfettoTrace

UNKNOWN: Final = "unknown"
"""The model of a machine that a trace does not tell."""

_CPU_INFO: Final = 67
_CPU_INFO_TAG: Final = bytes(((_CPU_INFO << 3 & 0x7F) | 2 | 0x80, _CPU_INFO >> 4))
_FINGERPRINT, _SOC, _MANUFACTURER = 2, 9, 14
_SYSNAME, _RELEASE, _ARCHITECTURE = 1, 3, 4
_CPU, _PROCESSOR = 1, 1
_MOST_TEXT: Final = 100
"""Characters of a text: foreign ones may be of any length."""


class MachineFacts(NamedTuple):
    """The first machine of a trace.

    Attributes:
        model: of an Android device its maker, product and system on a chip; else the CPU that most
            of its CPUs are; else the system and the architecture; else `UNKNOWN`.
        kernel: its release; empty where the trace does not say.
        host: its name; empty where the trace does not say.
    """

    model: str = UNKNOWN
    kernel: str = ""
    host: str = ""


def machine_facts(trace: PerfettoTrace) -> MachineFacts:
    """Return what the first megabyte of a trace says of its machine."""
    info: dict[int, int | bytes] = {}
    processor = ""
    for packet in packets_with(trace.beginning(LOOKED_AT), SYSTEM_INFO_TAG, _CPU_INFO_TAG):
        inside = dict(fields_of(packet))
        if inside.get(MACHINE_ID):
            continue
        info = info or _message(inside.get(SYSTEM_INFO))
        processor = processor or _processor(inside.get(_CPU_INFO))
    uname = _message(info.get(UTSNAME))
    system = " ".join(filter(None, (_text(uname, _SYSNAME), _text(uname, _ARCHITECTURE))))
    model = _android(info) or processor or system or UNKNOWN
    return MachineFacts(model, _text(uname, _RELEASE), _text(info, MACHINE_NAME))


def _android(info: dict[int, int | bytes]) -> str:
    """The device: google/oriole of google/oriole/oriole:12/..., with its system on a chip."""
    parts = _text(info, _FINGERPRINT).split("/")
    device = "/".join(parts[:2]) if len(parts) > 2 else ""
    return " ".join(filter(None, (device or _text(info, _MANUFACTURER), _text(info, _SOC))))


def _processor(info: int | bytes | None) -> str:
    """What most CPUs are; of as many, what comes first."""
    if not isinstance(info, bytes):
        return ""
    cpus = [_message(cpu) for number, cpu in fields_of(info) if number == _CPU]
    named = Counter(name for cpu in cpus if (name := _text(cpu, _PROCESSOR)))
    return named.most_common(1)[0][0] if named else ""


def _message(field: int | bytes | None) -> dict[int, int | bytes]:
    return dict(fields_of(field)) if isinstance(field, bytes) else {}


def _text(message: dict[int, int | bytes], number: int) -> str:
    """A field that is text, on one line."""
    value = message.get(number)
    if not isinstance(value, bytes):
        return ""
    return " ".join(value.decode(errors="backslashreplace").split())[:_MOST_TEXT]
