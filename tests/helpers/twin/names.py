"""What track events are, read with the `perfetto` package's protobuf classes: the plain twin.

Interning by sequence is done here, in dictionaries; nothing is limited.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import TracePacket, TrackEvent

CLEARED = 1
TYPES = {
    **dict(enumerate(("slice_begin", "slice_end", "instant", "counter", "state"), start=1)),
    **dict.fromkeys("Ii", "instant"),
    **dict.fromkeys("bS", "async_begin"),
    **dict.fromkeys("eF", "async_end"),
    **dict.fromkeys("Tp", "async_step"),
    **dict.fromkeys("vV", "memory_dump"),
    "B": "slice_begin",
    "E": "slice_end",
    "X": "slice_complete",
    "C": "counter",
    "n": "async_instant",
    "s": "flow_begin",
    "t": "flow_step",
    "f": "flow_end",
    "P": "sample",
    "M": "metadata",
    "N": "object_created",
    "O": "object_snapshot",
    "D": "object_deleted",
    "R": "mark",
    "c": "clock_sync",
    "(": "context_begin",
    ")": "context_end",
}


class Named(NamedTuple):
    name: str | None
    category: str | None
    type: str | None
    value: float | None
    track: int | None
    args: Any


class Sequence:
    def __init__(self) -> None:
        self.valid = False
        self.clear()

    def clear(self) -> None:
        self.defaults: int | None = None
        self.forget()

    def forget(self) -> None:
        self.names: dict[int, str] = {}
        self.categories: dict[int, str] = {}
        self.arg_names: dict[int, str] = {}
        self.strings: dict[int, bytes] = {}

    def learn(self, packet: TracePacket) -> None:
        if packet.incremental_state_cleared or packet.sequence_flags & CLEARED:
            self.valid = True
            self.clear()
        elif packet.previous_packet_dropped:
            self.valid = False
            self.forget()
        if self.valid and packet.HasField("interned_data"):
            interned = packet.interned_data
            for one in interned.event_names:
                self.names.setdefault(one.iid, name_of(one))
            for one in interned.event_categories:
                self.categories.setdefault(one.iid, name_of(one))
            for one in interned.debug_annotation_names:
                self.arg_names.setdefault(one.iid, text(one.name))
            for one in interned.debug_annotation_string_values:
                self.strings.setdefault(one.iid, one.str)
        if packet.HasField("trace_packet_defaults"):
            defaults = packet.trace_packet_defaults.track_event_defaults
            self.defaults = defaults.track_uuid if defaults.HasField("track_uuid") else None

    def name(self, event: TrackEvent) -> Named:
        legacy = event.legacy_event
        iid = event.name_iid or legacy.name_iid
        name = self.names.get(iid) if iid else text(event.name) if event.HasField("name") else None
        known = [self.categories[i] for i in event.category_iids if i in self.categories]
        categories = [*known, *map(text, event.categories)]
        kind = TYPES.get(event.type)
        if legacy.HasField("phase") and kind not in ("counter", "state"):
            kind = TYPES.get(chr(legacy.phase), "unknown")
        value = None
        if kind == "counter" and event.WhichOneof("counter_value_field"):
            value = float(getattr(event, event.WhichOneof("counter_value_field")))
        track = event.track_uuid if event.HasField("track_uuid") else self.defaults
        args = self.members(event.debug_annotations)
        # One that is interned without a text is none; of several it is an empty one.
        category = (
            ",".join(one or "" for one in categories) if len(categories) != 1 else categories[0]
        )
        return Named(name, category if categories else None, kind, value, track, args or None)

    def members(self, annotations: Any) -> dict[str, Any]:
        made = {}
        for one in annotations:
            if one.name_iid:
                key = self.arg_names.get(one.name_iid)
            else:
                key = text(one.name) if one.HasField("name") else None
            if key is not None:
                made[key] = self.value(one)
        return made

    def value(self, one: Any) -> Any:
        if one.dict_entries:
            return self.members(one.dict_entries)
        if one.array_values:
            return [self.value(item) for item in one.array_values]
        which = one.WhichOneof("value")
        if which is None:
            return None
        value = getattr(one, which)
        if which == "pointer_value":
            return hex(value)
        if which == "string_value_iid":
            found = self.strings.get(value)
            return None if found is None else text(found)
        if which == "legacy_json_value":
            return as_json(value)
        return nested(value) if which == "nested_value" else plain(value)


def name_of(one) -> str | None:
    """The name of what is interned."""
    return text(one.name) if one.HasField("name") else None


def text(value: str | bytes) -> str:
    """A string; the classes give bytes where it is no UTF-8."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return text(value)
    if isinstance(value, float) and not math.isfinite(value):
        return {True: "NaN", False: "Infinity" if value > 0 else "-Infinity"}[math.isnan(value)]
    return value


def as_json(content: str | bytes) -> Any:
    """JSON of the standard, else the text: no NaN, no half of a surrogate pair."""

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    if isinstance(content, bytes):
        return text(content)
    try:
        value = json.loads(content, parse_constant=refuse)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        return content
    return value


def nested(value: Any) -> Any:
    if value.nested_type == 1:
        values = [nested(one) for one in value.dict_values]
        values += [None] * (len(value.dict_keys) - len(values))
        return dict(zip(map(text, value.dict_keys), values, strict=False))
    if value.nested_type == 2:
        return [nested(one) for one in value.array_values]
    for field in ("int_value", "bool_value", "double_value", "string_value"):
        if value.HasField(field):
            return plain(getattr(value, field))
    return None


def names_of(packets: Iterator[TracePacket] | list[TracePacket]) -> Iterator[tuple[int, Named]]:
    """What each packet with a track event is, by its number."""
    sequences: dict[tuple[int, int], Sequence] = {}
    for number, packet in enumerate(packets):
        key = (packet.machine_id, packet.trusted_packet_sequence_id)
        sequence = sequences.setdefault(key, Sequence())
        if packet.HasField("trusted_packet_sequence_id"):
            sequence.learn(packet)
        if packet.HasField("track_event"):
            yield number, sequence.name(packet.track_event)
