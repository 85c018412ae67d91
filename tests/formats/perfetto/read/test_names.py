"""What an event is: its columns, type, name and categories, and counters.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/process_tracker.cc (PT), where those are named.
"""

from __future__ import annotations

import pytest
from building import (
    BOOTTIME,
    compressed,
    event,
    packet,
    pb,
    snapshot,
    trace,
    varint,
)
from naming import (
    BEGIN,
    CLEARED,
    CLOCKS,
    COLUMNS,
    COUNTER,
    END,
    INSTANT,
    STATE,
    column,
    descriptor,
    interned,
    one,
    rows,
    track_event,
)
from reading import opened
from twin.names import TYPES

from tracetime.trace import events_table
from tracetime.trace.events_table import BOUNDED_SCHEMA, EVENTS_SCHEMA

# The columns


def test_the_columns_come_after_the_others():
    with opened(trace(CLOCKS, event(2100))) as opened_trace:
        assert opened_trace.read_all(names=True).schema == events_table.with_names(EVENTS_SCHEMA)
        table = opened_trace.read_all("tube", names=True)
        assert table.column_names == [*BOUNDED_SCHEMA.names, *COLUMNS]
        assert opened_trace.read_all().schema == EVENTS_SCHEMA


def test_what_was_there_before_stays():
    data = trace(CLOCKS, *[event(2100 + i, seq=i % 3 + 1) for i in range(50)])
    with opened(data) as opened_trace:
        plain, named = opened_trace.read_all(), opened_trace.read_all(names=True)
    assert named.select(EVENTS_SCHEMA.names).equals(plain)


def test_where_nothing_applies_there_is_null():
    row = rows(trace(CLOCKS, packet(2100, seq=1, trace_uuid=pb.TraceUuid(msb=1))))[0]
    assert {row[name] for name in COLUMNS} == {None}


# Types (TrackEvent.Type, TEI::ParsePhaseOrType)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, None),
        (BEGIN, "slice_begin"),
        (END, "slice_end"),
        (INSTANT, "instant"),
        (COUNTER, "counter"),
        (STATE, "state"),
    ],
)
def test_type(number, name):
    assert column("type", track_event(type=number)) == [name]


@pytest.mark.parametrize("phase", [key for key in TYPES if isinstance(key, str)])
def test_the_phase_of_a_legacy_event(phase):
    found = column("type", track_event(legacy={"phase": ord(phase)}))
    assert found == [TYPES[phase]]
    assert TYPES[phase] in events_table.TYPES


def test_a_phase_goes_before_a_type_but_for_counters_and_states():
    types = (BEGIN, COUNTER, STATE)
    events = [track_event(type=type, legacy={"phase": ord("X")}) for type in types]
    assert column("type", *events) == ["slice_complete", "counter", "state"]


def test_an_unknown_phase():
    assert column("type", track_event(legacy={"phase": ord("?")})) == ["unknown"]


# Names and categories (TEI::ParseTrackEventName, ::ParseTrackEventCategory)


def test_a_name_in_the_event():
    assert one(track_event(type=BEGIN, name="Frame", categories=["gfx"])) == {
        "name": "Frame",
        "category": "gfx",
        "type": "slice_begin",
    }


def test_interned_names():
    defined = interned({1: "Frame"}, {7: "gfx"})
    found = one(defined, track_event(type=BEGIN, name_iid=1, category_iids=[7]))
    assert found == {"name": "Frame", "category": "gfx", "type": "slice_begin"}


def test_the_packets_own_interned_data_counts_for_it():
    """Whatever the order of the fields."""
    data = pb.InternedData()
    data.event_names.add(iid=1, name="Frame")
    data = pb.TracePacket(interned_data=data).SerializeToString()
    body = track_event(type=BEGIN, name_iid=1, more={"cleared": True}).SerializeToString()
    assert column("name", body + data, data + body) == ["Frame", "Frame"]


def test_several_categories_are_joined_the_interned_ones_first():
    defined = interned(None, {1: "one", 2: "two"})
    made = pb.TrackEvent(type=3, categories=["three", "four"], category_iids=[1, 9, 2])
    both = one(defined, packet(2100, seq=1, track_event=made))
    assert both["category"] == "one,two,three,four"


def test_packed_categories():
    body = b"\x1a\x02\x01\x02" + b"\x48\x03"
    made = b"\x40\x64\x50\x01\x5a" + varint(len(body)) + body
    assert column("category", interned(None, {1: "one", 2: "two"}), made) == ["one,two"]


def test_what_was_not_interned_has_no_name():
    found = one(interned({1: "Frame"}), track_event(type=BEGIN, name_iid=2, category_iids=[3]))
    assert found == {"type": "slice_begin"}


def test_each_sequence_has_its_own():
    packets = [
        interned({1: "of one"}, seq=1),
        interned({1: "of two"}, seq=2),
        track_event(seq=1, type=INSTANT, name_iid=1),
        track_event(seq=2, type=INSTANT, name_iid=1),
        track_event(seq=3, type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == ["of one", "of two", None]


def test_and_so_has_each_machine():
    packets = [
        interned({1: "of the host"}),
        interned({1: "of another"}, machine=5),
        track_event(type=INSTANT, name_iid=1),
        track_event(type=INSTANT, name_iid=1, more={"machine": 5}),
    ]
    assert column("name", *packets) == ["of the host", "of another"]


def test_clearing_the_state_ends_what_was_interned():
    """PacketSequenceStateGeneration::OnIncrementalStateCleared"""
    packets = [
        interned({1: "first", 2: "gone"}),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "second"}),
        track_event(type=INSTANT, name_iid=1),
        track_event(type=INSTANT, name_iid=2),
        packet(**CLEARED),
        track_event(type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == ["first", "second", None, None]


def test_within_a_generation_the_first_stays():
    """IncrementalState::InternMessage"""
    packets = [interned({1: "first"}), interned({1: "second", 2: "more"}, cleared=False)]
    events = [track_event(type=INSTANT, name_iid=iid) for iid in (1, 2)]
    assert column("name", *packets, *events) == ["first", "more"]


def test_lost_packets_end_it_until_the_state_is_cleared():
    """ProtoTraceReader::ParseInternedData"""
    packets = [
        interned({1: "before"}),
        packet(seq=1, dropped=1),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "in between"}, cleared=False),
        track_event(type=INSTANT, name_iid=1),
        interned({1: "after"}),
        track_event(type=INSTANT, name_iid=1),
    ]
    assert column("name", *packets) == [None, None, "after"]


def test_skipped_packets_keep_their_names():
    skipped = track_event(type=BEGIN, name="Frame", name_iid=None, more={"needs_state": True})
    row = rows(trace(CLOCKS, skipped))[0]
    assert row["status"] == "skipped_incremental_state"
    assert (row["name"], row["type"]) == ("Frame", "slice_begin")


def test_a_legacy_event_may_have_the_name():
    legacy = {"phase": ord("B"), "name_iid": 1}
    assert column(
        "name",
        interned({1: "old", 2: "new"}),
        track_event(legacy=legacy),
        track_event(legacy=legacy, name_iid=2),
    ) == ["old", "new"]


def test_a_row_for_a_legacy_timestamp_is_named_like_its_packet():
    args = [pb.DebugAnnotation(name="n", int_value=1)]
    made = track_event(type=INSTANT, name="both", timestamp_absolute_us=3, debug_annotations=args)
    found = rows(trace(CLOCKS, made, track_event(type=INSTANT, name="next")))
    assert [row["kind"] for row in found] == ["packet", "track_event_legacy", "packet"]
    assert [row["name"] for row in found] == ["both", "both", "next"]
    assert [row["args"] for row in found] == ['{"n":1}', '{"n":1}', None]


def test_names_are_there_for_events_put_aside():
    """Their clock is known at the end of the file only; their names were known here."""
    late = [
        interned({1: "first"}),
        packet(5, 64, 1, track_event=pb.TrackEvent(type=3, name_iid=1)),
        interned({1: "second"}),
        snapshot({64: 0, BOOTTIME: 5000}, seq=1),
    ]
    (row,) = rows(trace(CLOCKS, *late))
    assert (row["trace_time"], row["name"]) == (5005, "first")


def test_names_in_compressed_packets():
    inner = [interned({1: "inside"}), track_event(type=INSTANT, name_iid=1)]
    outside = track_event(type=INSTANT, name_iid=1)
    assert column("name", compressed(inner), outside) == ["inside", "inside"]


# Counters


def test_counters():
    made = [
        track_event(type=COUNTER, counter_value=-5),
        track_event(type=COUNTER, double_counter_value=0.5),
        track_event(type=COUNTER),
        track_event(type=INSTANT, counter_value=5),
    ]
    assert column("value", *made) == [-5.0, 0.5, None, None]


def test_counter_tracks_have_the_name_of_their_type():
    packets = [
        descriptor(1, counter=pb.CounterDescriptor(type=1)),
        descriptor(2, counter=pb.CounterDescriptor(type=2)),
        descriptor(3, name="mine", counter=pb.CounterDescriptor(type=1)),
    ]
    events = [track_event(type=COUNTER, counter_value=1, track_uuid=uuid) for uuid in (1, 2, 3)]
    found = column("track_name", *packets, *events)
    assert found == ["thread_time", "thread_instruction_count", "mine"]
