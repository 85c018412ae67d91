"""Names within limits, and names of random events against the twin.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/process_tracker.cc (PT), where those are named.
"""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from building import (
    event,
    packet,
    pb,
    trace,
    varint,
)
from hypothesis import example, given, settings
from hypothesis import strategies as st
from naming import (
    CLOCKS,
    INSTANT,
    annotation,
    descriptor,
    interned,
    rows,
    track_event,
)
from reading import opened
from twin.names import Named, names_of

from tracetime import TraceError
from tracetime._kernels.perfetto.names import Directory, Names
from tracetime.formats.perfetto.read import reader
from tracetime.trace import events_table
from tracetime.trace.events_table import EVENTS_SCHEMA

# Limits


def test_sequences_not_used_for_longest_lose_their_names(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    packets = [interned({1: f"{'x' * 3000} {seq}"}, seq=seq) for seq in range(1, 21)]
    events = [track_event(seq=seq, type=INSTANT, name_iid=1) for seq in (1, 19, 20)]
    data = trace(CLOCKS, *packets, *events)
    assert [row["name"] is not None for row in rows(data)] == [False, True, True]
    with opened(data) as opened_trace:
        events = opened_trace.events(names=True)
        assert list(events)
        assert 0 < events.names_left_out < 20


def test_one_sequence_keeps_what_there_is_room_for(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    defined = interned({iid: f"{'x' * 3000} {iid}" for iid in range(1, 51)})
    events = [track_event(type=INSTANT, name_iid=iid) for iid in (1, 50)]
    assert [row["name"] is not None for row in rows(trace(CLOCKS, defined, *events))] == [
        True,
        False,
    ]


def test_descriptors_beyond_the_limit_are_left_out(monkeypatch):
    monkeypatch.setattr(reader, "NAMES_LIMIT", 40_000)
    packets = [descriptor(uuid, name=f"{'x' * 3000} {uuid}") for uuid in range(1, 51)]
    events = [track_event(type=INSTANT, track_uuid=uuid) for uuid in (1, 50)]
    with opened(trace(CLOCKS, *packets, *events)) as opened_trace:
        events = opened_trace.events(names=True)
        found = [name for batch in events for name in batch["track_name"].to_pylist()]
        assert found[0] is not None and found[1] is None
        assert events.names_left_out > 0


def test_a_batch_ends_where_it_holds_much_text():
    """Every row refers to 8 kB that are there once; who writes them out has bounded memory."""
    packets = [interned({1: "x" * 8192})]
    packets += [track_event(type=INSTANT, name_iid=1)] * 20_000
    with opened(trace(CLOCKS, *packets)) as opened_trace:
        batches = list(opened_trace.events(names=True))
    assert [batch.num_rows for batch in batches][:2] == [4096, 4096]
    assert sum(batch.num_rows for batch in batches) == 20_000
    assert all(len(batch["name"].dictionary) == 1 for batch in batches)


def test_a_dictionary_has_each_string_once():
    packets = [interned({1: "same", 2: "same"}, seq=seq) for seq in (1, 2)]
    events = [track_event(seq=seq, type=INSTANT, name_iid=iid) for seq in (1, 2) for iid in (1, 2)]
    with opened(trace(CLOCKS, *packets, *events)) as opened_trace:
        (batch,) = opened_trace.events(names=True)
    assert batch["name"].dictionary.to_pylist() == ["same"]


def test_two_readings_at_once():
    data = trace(
        CLOCKS,
        *[
            part
            for i in range(200)
            for part in (interned({1: f"name {i}"}), track_event(type=INSTANT, name_iid=1))
        ],
    )
    with opened(data) as opened_trace:
        first, second = (opened_trace.events(names=True) for _ in range(2))
        found = [[row["name"] for row in next(part).to_pylist()] for part in (first, second)]
    assert found[0] == found[1] == [f"name {i}" for i in range(200)]


def test_a_directory_is_needed():
    with pytest.raises(TypeError):
        Names(None, {}, 0)
    with pytest.raises(ValueError, match="negative"):
        Names(Directory((), 0), {-1: "x"}, 0)


# By chance, against the twin

TEXTS = st.text(max_size=4)
IIDS = st.integers(0, 3)
SCALARS = st.one_of(
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    TEXTS,
)
VALUES = st.recursive(
    st.one_of(st.none(), SCALARS),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3),
        st.dictionaries(TEXTS, inner, min_size=1, max_size=3),
    ),
    max_leaves=8,
)
ANNOTATIONS = st.one_of(
    st.builds(lambda value, name: annotation(value, name=name), VALUES, TEXTS),
    st.builds(lambda value, iid: annotation(value, name_iid=iid), VALUES, IIDS),
    st.builds(lambda a, b: pb.DebugAnnotation(name_iid=a, string_value_iid=b), IIDS, IIDS),
    st.builds(
        lambda t: pb.DebugAnnotation(name="j", legacy_json_value=t),
        st.text('[]{}",:1e. \\u', max_size=8),
    ),
)
EVENTS = st.builds(
    lambda kind, name, iid, categories, iids, uuid, phase, found: pb.TrackEvent(
        type=kind,
        **({"name_iid": iid} if iid is not None else {} if name is None else {"name": name}),
        categories=categories,
        category_iids=iids,
        track_uuid=uuid,
        debug_annotations=found,
        legacy_event=None if phase is None else pb.TrackEvent.LegacyEvent(phase=phase),
    ),
    st.integers(0, 5),
    st.one_of(st.none(), TEXTS),
    st.one_of(st.none(), IIDS),
    st.lists(TEXTS, max_size=2),
    st.lists(IIDS, max_size=2),
    st.one_of(st.none(), st.integers(0, 3)),
    st.one_of(st.none(), st.sampled_from("BEXiCbn?").map(ord)),
    st.lists(ANNOTATIONS, max_size=3),
)
SEQUENCES = st.integers(1, 2)
ENTRIES = st.dictionaries(IIDS, TEXTS, max_size=3)
PACKETS = st.one_of(
    st.builds(lambda made, seq: packet(2100, seq=seq, track_event=made), EVENTS, SEQUENCES),
    st.builds(
        lambda a, b, c, d, seq, cleared: interned(
            a, b, c, {k: v.encode() for k, v in d.items()}, seq=seq, cleared=cleared
        ),
        ENTRIES,
        ENTRIES,
        ENTRIES,
        ENTRIES,
        SEQUENCES,
        st.booleans(),
    ),
    st.builds(lambda seq: packet(seq=seq, dropped=1), SEQUENCES),
    st.builds(
        lambda seq, uuid: packet(
            seq=seq,
            trace_packet_defaults=pb.TracePacketDefaults(
                track_event_defaults=pb.TrackEventDefaults(track_uuid=uuid)
            ),
        ),
        SEQUENCES,
        st.one_of(st.none(), st.integers(0, 3)),
    ),
)


def assert_as_the_twin(packets):
    with opened(trace(*packets)) as opened_trace:
        table = opened_trace.read_all(names=True)
    table.validate(full=True)
    expected = dict(names_of(packets))
    for row in table.to_pylist():
        found = Named(*(row[name] for name in Named._fields))
        if found.args is not None:
            found = found._replace(args=json.loads(found.args))
        assert repr(found) == repr(expected[row["packet"]])


@settings(max_examples=300)
@given(st.lists(PACKETS, max_size=12))
def test_by_chance_events_are_what_the_twin_reads(packets):
    assert_as_the_twin([CLOCKS, *packets])


@settings(max_examples=300)
@given(st.lists(PACKETS, min_size=1, max_size=4), st.data())
def test_broken_bytes_give_sound_batches(packets, data):
    """Whatever the bytes are: rows with valid text and JSON, or an error that says what is wrong."""
    content = bytearray(trace(CLOCKS, interned({1: "a"}, {1: "b"}, {1: "c"}, {1: b"d"}), *packets))
    start = len(trace(CLOCKS))
    for _ in range(data.draw(st.integers(1, 6))):
        content[data.draw(st.integers(start, len(content) - 1))] = data.draw(st.integers(0, 255))
    with opened(bytes(content), partial=True) as opened_trace:
        batches = list(opened_trace.events(names=True))
        for batch in batches:
            batch.validate(full=True)
            for text in batch["args"].to_pylist():
                assert text is None or isinstance(json.loads(text), dict)
        plain = opened_trace.read_all()
        named = pa.Table.from_batches(batches, schema=events_table.with_names(EVENTS_SCHEMA))
        assert named.select(EVENTS_SCHEMA.names).equals(plain.combine_chunks())


@given(st.binary(max_size=60), st.sampled_from((1, 2, 11, 12, 39, 43, 44, 59, 60, 66, 95)))
@example(b"\x08\x80\x08", 1)
def test_broken_messages(content, number):
    """Sound rows, or the error of a CPU that there cannot be, which ends the import."""
    body = varint(number << 3 | 2) + varint(len(content)) + content
    made = trace(CLOCKS, b"\x40\xb4\x10\x50\x01\x68\x01" + body, event(2100))
    try:
        rows(made)
    except TraceError as error:
        assert number == 1 and "CPU above 1023" in error.message
