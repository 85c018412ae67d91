"""The kernels' numbers against the schema of the `perfetto` package and against Python's names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from places import ROOT
from recorded import EXTENSION, EXTENSION_FIELD

from tools import write_messages
from tracetime.clocks.ids import BUILTIN_IDS
from tracetime.errors import REASONS
from tracetime.formats.perfetto import schema
from tracetime.formats.perfetto.read import wire
from tracetime.graph import arguments
from tracetime.trace import events_table

KERNELS = ROOT / "src" / "tracetime" / "_kernels"


def numbers_in(file: str | Path) -> dict[str, int]:
    """Every NAME = number of a kernel's declarations."""
    text = (KERNELS / file).read_text()
    return {name: int(n) for name, n in re.findall(r"^    ([A-Z0-9_]+) = (\d+)", text, re.M)}


def enum_in(file: str, prefix: str) -> list[str]:
    """The names of an enum without their prefix, by number, which must run from 0."""
    found = {n: name for name, n in numbers_in(file).items() if name.startswith(prefix)}
    assert sorted(found) == list(range(len(found)))
    return [found[n].removeprefix(prefix).lower() for n in range(len(found))]


FIELDS = numbers_in("perfetto/messages.pxd")


def test_the_messages_are_as_the_tool_writes_them():
    """After a change of its table: python tools/write_messages.py."""
    assert (KERNELS / "perfetto" / "messages.pxd").read_text() == write_messages.page()


PACKAGED = [one for one in write_messages.MESSAGES if not one.name.startswith("FrameTimeline")]
"""The messages that the package or the extension's document knows: numbers of others are the table's."""


@pytest.mark.parametrize("message", PACKAGED, ids=lambda message: message.prefix + message.view)
def test_a_field_number_is_the_schemas(message):
    """By the descriptors that the tool does not read: those of the extension's own classes."""
    *outer, last = message.name.split(".")
    owner = pb
    for name in outer:
        owner = getattr(owner, name)
    made = getattr(owner, last, None) or EXTENSION[message.name]
    fields = {field.name: field.number for field in made.DESCRIPTOR.fields} | OWN
    words = [word.partition("=")[0] for word in f"{message.read} {message.named}".split()]
    numbers = {name: FIELDS[f"{message.prefix}_{name.upper()}"] for name in words}
    assert numbers == {name: fields[name] for name in words}


OWN = {
    "tracetime_snapshot": EXTENSION_FIELD,
    "frame_timeline_event": 76,
}
"""Fields of packets that the package does not know."""


def test_no_field_number_stands_in_the_code():
    """House rule 6: one place per fact."""
    sources = {".pyx", ".pxd", ".pxi"}
    files = [file for file in (KERNELS / "perfetto").rglob("*") if file.suffix in sources]
    assert len(files) > 20
    for file in files:
        text = file.read_text()
        assert re.findall(r"\.number == \d+|load_(?:bytes|number)\([^,()]+, \d", text) == [], file
        if file.name != "messages.pxd":
            assert not FIELDS.keys() & numbers_in(file.relative_to(KERNELS)).keys(), file


def test_every_field_of_the_table_is_used():
    files = [file for file in KERNELS.rglob("*") if file.suffix in {".pyx", ".pxd", ".pxi"}]
    text = "\n".join(file.read_text() for file in files if file.name != "messages.pxd")
    used = set(re.findall(r"\b[A-Z][A-Z0-9_]+\b", text))
    read = {
        f"{message.prefix}_{name.upper()}"
        for message in write_messages.MESSAGES
        for name in message.read.split()
        if re.search(rf"\b(?:n_|packed_|has_)?{name}\b", text)
    }
    frames = {f"PACKET_{name.upper()}" for name in ("trusted_uid", "trusted_pid")}
    assert FIELDS.keys() - used - read - frames == set()


def test_kinds():
    assert enum_in("perfetto/importer.pxd", "KIND_") == [kind.name for kind in schema.KINDS]


def test_texts_and_types():
    numbers = numbers_in("perfetto/names.pxd")
    assert [numbers[f"TEXT_{name.upper()}"] for name in events_table.TEXTS] == list(range(5))
    types = {name: n for name, n in numbers.items() if name.startswith("TYPE_")}
    assert [types.pop(f"TYPE_{name.upper()}") for name in events_table.TYPES] == list(range(24))
    assert types == {}
    # The first ones are TrackEvent.Type's.
    first = [f"TYPE_{name.upper()}" for name in events_table.TYPES[:5]]
    assert [pb.TrackEvent.Type.Value(name) for name in first] == [1, 2, 3, 4, 5]


def test_what_a_row_has():
    numbers = numbers_in("perfetto/names.pxd")
    has = {name: n for name, n in numbers.items() if name.startswith("HAS_")}
    assert len(has) == 6
    assert has == {name: getattr(events_table, name) for name in has}


def test_statuses():
    """A bar that is open on one side is no failure: kernels leave that status to their callers."""
    numbers = numbers_in("graph.pxd")
    statuses = {name.upper(): i for i, name in enumerate(REASONS) if name != "one_sided"}
    assert statuses.items() <= numbers.items()


def test_snapshot_faults():
    assert len(enum_in("graph.pxd", "FAULT_")) == len(arguments.SNAPSHOT_FAULTS)


def test_import_errors():
    assert len(enum_in("perfetto/importer.pxd", "ERROR_")) == len(schema.IMPORT_ERRORS)


def test_stops():
    names = enum_in("perfetto/importer.pxd", "STOP_")
    assert [getattr(wire, f"_{name.upper()}") for name in names] == list(range(len(names)))


def test_codecs():
    assert enum_in("perfetto/packet.pxd", "CODEC_") == ["none", "zlib", "zstd"]
    assert wire._ZLIB == 1


def test_the_most_hops():
    assert numbers_in("graph.pxd")["MAX_HOPS"] == arguments.MAX_HOPS == 4


def test_builtin_clocks():
    numbers = numbers_in("perfetto/clock_ids.pxd")
    assert {name: numbers[name] for name in numbers if name in BUILTIN_IDS} == {
        name: BUILTIN_IDS[name]
        for name in (
            "REALTIME",
            "REALTIME_COARSE",
            "MONOTONIC",
            "MONOTONIC_COARSE",
            "MONOTONIC_RAW",
            "BOOTTIME",
            "TRACE_FILE",
        )
    }


def test_flags():
    numbers = numbers_in("perfetto/packet.pxd")
    flags = pb.TracePacket.SequenceFlags
    assert numbers["FLAG_INCREMENTAL_STATE_CLEARED"] == flags.Value("SEQ_INCREMENTAL_STATE_CLEARED")
    assert numbers["FLAG_NEEDS_INCREMENTAL_STATE"] == flags.Value("SEQ_NEEDS_INCREMENTAL_STATE")


def test_every_payload_has_its_name():
    index, names = schema.vocabulary().payload_index, schema.vocabulary().payloads
    names = names.to_pylist()
    by_number = {
        field.number: field.name
        for field in pb.TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields
    }
    assert {n: names[index[n]] for n in by_number} == by_number
    assert index[0] == -1
    assert names[index[9876]] == schema.UNKNOWN_PAYLOAD


def test_payloads_have_the_names_that_perfetto_gives_them():
    """A field that is not there comes with a newer package: run tools/write_payload_names.py."""
    fields = pb.TracePacket.DESCRIPTOR.oneofs_by_name["data"].fields
    assert dict(schema.PAYLOAD_NAMES) == {field.number: field.name for field in fields}
    index, names = schema.vocabulary().payload_index, schema.vocabulary().payloads
    assert {n: names[int(index[n])].as_py() for n in schema.PAYLOAD_NAMES} == schema.PAYLOAD_NAMES
    assert (int(index[0]), names[int(index[65535])].as_py()) == (-1, schema.UNKNOWN_PAYLOAD)
