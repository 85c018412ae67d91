"""Small CTF 1.8 traces: metadata in TSDL, and packets of a layout that they describe."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from pathlib import Path

MAGIC = 0xC1FC1FC1
HEADER = struct.Struct("<I16sI")
CONTEXT = struct.Struct("<6QI")
EVENT = struct.Struct("<IQ")
OWN = struct.Struct("<ii16s")
PACKET_BITS = 8 * (HEADER.size + CONTEXT.size)

UINTS = "\n".join(
    f"typealias integer {{ size = {bits}; align = 8; signed = false; {more}}} := {name};"
    for bits, name, more in (
        (8, "u8", ""),
        (32, "u32", ""),
        (64, "u64", ""),
        (64, "stamp", "map = clock.{clock}.value; "),
    )
)
SINTS = "typealias integer { size = 32; align = 8; signed = true; } := s32;"
NAMED = "typealias integer { size = 8; align = 8; signed = true; encoding = UTF8; } := text;"


@dataclass(frozen=True)
class Clock:
    """A clock as metadata describe it."""

    name: str = "monotonic"
    uuid: str = "11111111-1111-4111-8111-111111111111"
    freq: int = 1_000_000_000
    precision: int | None = None
    offset_s: int = 1_700_000_000
    offset: int = 0

    def text(self) -> str:
        values = {
            "name": self.name,
            "uuid": f'"{self.uuid}"' if self.uuid else None,
            "freq": self.freq,
            "precision": self.precision,
            "offset_s": self.offset_s,
            "offset": self.offset,
        }
        inside = " ".join(f"{key} = {value};" for key, value in values.items() if value is not None)
        return f"clock {{ {inside} }};"


@dataclass(frozen=True)
class Event:
    """An event: its clock's cycles, its class's number, and its payload: a number and a text."""

    cycles: int
    kind: int = 0
    number: int = 7
    text: str = "a"

    def bytes(self, own: tuple[int, int, str] | None) -> bytes:
        data = EVENT.pack(self.kind, self.cycles)
        if own is not None:
            tid, pid, name = own
            data += OWN.pack(tid, pid, name.encode())
        return data + struct.pack("<Q", self.number) + self.text.encode() + b"\0"


@dataclass(frozen=True)
class Packet:
    """A packet of a stream. discarded: how many events its stream has lost until its end."""

    events: list[Event]
    cpu: int = 0
    discarded: int = 0
    number: int = 0
    own: tuple[int, int, str] | None = None

    def bytes(self, trace_uuid: bytes) -> bytes:
        body = b"".join(event.bytes(self.own) for event in self.events)
        times = [event.cycles for event in self.events]
        bits = PACKET_BITS + 8 * len(body)
        context = CONTEXT.pack(
            min(times), max(times), bits, bits, self.discarded, self.number, self.cpu
        )
        return HEADER.pack(MAGIC, trace_uuid, 0) + context + body


LTTNG = {"hostname": "left", "domain": "kernel", "tracer_name": "lttng-modules"}
NAMES = ("sched_switch", "net:packet")


@dataclass(frozen=True)
class Trace:
    """A CTF trace: streams are lists of packets, by the name of their file."""

    streams: dict[str, list[Packet]]
    clock: Clock = Clock()
    environment: dict[str, str | int] = field(default_factory=lambda: dict(LTTNG))
    uuid: str = "22222222-2222-4222-8222-222222222222"
    names: tuple[str, ...] = NAMES
    own: bool = False
    """Whether events have a context: vtid, vpid and procname."""

    @property
    def files(self) -> tuple[str, ...]:
        """The names of its files."""
        return ("metadata", *self.streams)

    def metadata(self) -> str:
        env = " ".join(
            f'{name} = "{value}";' if isinstance(value, str) else f"{name} = {value};"
            for name, value in self.environment.items()
        )
        own = "event.context := struct { s32 _vtid; s32 _vpid; text _procname[16]; };"
        events = "\n".join(
            f'event {{ name = "{name}"; id = {number}; stream_id = 0; '
            "fields := struct { u64 _number; string _text; }; };"
            for number, name in enumerate(self.names)
        )
        return f"""/* CTF 1.8 */
{self.clock.text()}
{UINTS.replace("{clock}", self.clock.name)}
{SINTS}
{NAMED}
trace {{ major = 1; minor = 8; byte_order = le; uuid = "{self.uuid}";
  packet.header := struct {{ u32 magic; u8 uuid[16]; u32 stream_id; }}; }};
env {{ {env} }};
stream {{ id = 0;
  packet.context := struct {{ stamp timestamp_begin; stamp timestamp_end; u64 content_size;
    u64 packet_size; u64 events_discarded; u64 packet_seq_num; u32 cpu_id; }};
  event.header := struct {{ u32 id; stamp timestamp; }};
  {own if self.own else ""} }};
{events}
"""

    def write(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "metadata").write_text(self.metadata())
        uuid = bytes.fromhex(self.uuid.replace("-", ""))
        for name, packets in self.streams.items():
            (folder / name).write_bytes(b"".join(packet.bytes(uuid) for packet in packets))
        return folder


def simple(*cycles: int, **more: object) -> Trace:
    """A trace of one packet, with events at these cycles."""
    packet = Packet([Event(at) for at in cycles])
    return Trace({"channel0_0": [packet]}, **more)
