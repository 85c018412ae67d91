"""Slices of track events: what begins, ends and lasts, and on which track.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI),
track_event_tokenizer.cc (TET), track_event_tracker.cc (TT) and importers/common/
track_compressor.cc (TC). How slices nest: tests/kernels/test_nesting.py.
"""

from __future__ import annotations

import contextlib
import json

import pytest
from building import BOOTTIME, MONOTONIC, compressed, packet, pb, snapshot, trace
from naming import annotation, descriptor, interned, process, thread, track_event
from reading import opened
from slicing import (
    BEGIN,
    END,
    INSTANT,
    START,
    begin,
    end,
    instant,
    of_thread,
    phase,
    shape,
    slices,
    where,
)

from tracetime import TraceError, UsageError
from tracetime.trace import slices_table

MAIN = thread(7, 10, 11)
MERGE_NOT, MERGE_BY_KEY = 2, 3
EMPTY, NO_TEXT = 1, 3

# The table


def test_columns_and_types():
    data = trace(START, MAIN, begin(5, "load", 7), end(9, 7))
    with opened(data) as opened_trace:
        made = opened_trace.slices()
        assert made.schema == slices_table.SLICES_SCHEMA
        table = made.read_all()
        assert table.schema == slices_table.SLICES_SCHEMA
        assert opened_trace.slices("tube").schema == slices_table.BOUNDED_SLICES_SCHEMA
    assert table.to_pylist() == [
        {
            "id": 0,
            "ts": 5,
            "dur": 4,
            "depth": 0,
            "parent": None,
            "name": "load",
            "category": None,
            "track": 0,
            "track_name": None,
            "tid": 11,
            "thread_name": None,
            "pid": 10,
            "process_name": None,
            "args": None,
        }
    ]


def test_without_slices_there_are_no_rows():
    assert slices() == []
    with opened(trace(START)) as opened_trace:
        assert opened_trace.slices().read_all().num_rows == 0
        assert opened_trace.slices("tube").read_all().num_rows == 0


def test_rows_are_in_the_order_in_which_slices_begin_whatever_the_file_has():
    packets = [
        MAIN,
        begin(30, "c", 7),
        end(40, 7),
        begin(10, "a", 7),
        begin(20, "b", 7),
        end(25, 7),
    ]
    assert shape(*packets, end(28, 7)) == [("a", 10, 18, 0), ("b", 20, 5, 1), ("c", 30, 10, 0)]
    assert [row["parent"] for row in slices(*packets)] == [None, 0, 0]


def test_packets_inside_a_compressed_one():
    packets = [MAIN, begin(5, "a", 7), end(9, 7)]
    assert shape(compressed(packets)) == shape(*packets) == [("a", 5, 4, 0)]


def test_batches_share_one_dictionary_and_are_as_many_as_needed():
    packets = [MAIN, *(instant(i, f"n{i % 3}", 7) for i in range(70_000))]
    with opened(trace(START, *packets)) as opened_trace:
        batches = list(opened_trace.slices())
    assert [batch.num_rows for batch in batches] == [65_536, 4_464]
    assert batches[0]["name"].dictionary.to_pylist() == ["n0", "n1", "n2"]
    assert batches[1]["name"].dictionary.equals(batches[0]["name"].dictionary)
    assert batches[1]["id"][0].as_py() == 65_536


def test_slices_are_closed_before_their_end():
    with opened(trace(START, MAIN, instant(5, "a", 7))) as opened_trace:
        with contextlib.closing(opened_trace.slices()) as made:
            pass
        assert list(made) == []


def test_policy_and_bars_are_checked_before_anything_is_read():
    with opened(trace(START)) as opened_trace:
        with pytest.raises(UsageError, match="policy"):
            opened_trace.slices("best")
        with pytest.raises(UsageError, match="bars"):
            opened_trace.slices("tube", bars="wide")


def test_a_cut_off_trace_is_an_error_unless_a_part_is_wanted():
    data = trace(START, MAIN, begin(5, "a", 7), end(9, 7), begin(12, "b", 7))[:-3]
    with opened(data) as opened_trace, pytest.raises(TraceError, match="cut off"):
        opened_trace.slices().read_all()
    with opened(data, partial=True) as opened_trace:
        assert opened_trace.slices().read_all()["name"].to_pylist() == ["a"]
        assert opened_trace.truncated is not None


# Events


def test_an_instant_is_a_slice_of_no_duration():
    assert shape(MAIN, begin(5, "a", 7), instant(6, "i", 7), end(9, 7)) == [
        ("a", 5, 4, 0),
        ("i", 6, 0, 1),
    ]


def test_names_and_categories_are_read_when_the_event_is():
    # Sequence state: what an iid is changes with the file.
    packets = [
        interned(names={1: "first"}, categories={1: "io", 2: "net"}),
        MAIN,
        track_event(5, type=BEGIN, name_iid=1, category_iids=[1, 2], track_uuid=7),
        interned(names={1: "second"}),
        track_event(6, type=BEGIN, name_iid=1, categories=["x"], track_uuid=7),
        track_event(7, type=BEGIN, name_iid=9, category_iids=[8], track_uuid=7),
    ]
    rows = slices(*packets)
    # TEI, ParseTrackEventCategory: a single iid that nothing defines has a name of its own.
    assert [(row["name"], row["category"]) for row in rows] == [
        ("first", "io,net"),
        ("second", "x"),
        (None, "unknown(8)"),
    ]


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ({}, None),
        ({"categories": [""]}, ""),
        ({"categories": ["", ""]}, None),
        ({"categories": ["", "x"]}, "x"),
        ({"categories": ["x", ""]}, "x,"),
        ({"category_iids": [EMPTY]}, ""),
        ({"category_iids": [NO_TEXT]}, None),
        ({"category_iids": [EMPTY, EMPTY]}, None),
        ({"category_iids": [EMPTY, 2]}, "y"),
        ({"category_iids": [2, EMPTY]}, "y,"),
        ({"category_iids": [2, NO_TEXT]}, "y,"),
        ({"category_iids": [EMPTY], "categories": [""]}, None),
        ({"category_iids": [EMPTY], "categories": ["x"]}, "x"),
        ({"category_iids": [9], "categories": [""]}, None),
        ({"category_iids": [9], "categories": ["x", ""]}, "x,"),
    ],
)
def test_an_empty_category_is_empty_and_several_empty_ones_are_none(said, category):
    # TEI, ParseTrackEventCategory: one is interned as it is, several are joined where not empty.
    (row,) = slices(
        interned(categories={EMPTY: "", 2: "y", NO_TEXT: None}),
        MAIN,
        track_event(5, type=INSTANT, name="a", track_uuid=7, **said),
    )
    assert row["category"] == category


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ({}, None),
        ({"name": ""}, ""),
        ({"name_iid": EMPTY}, ""),
        ({"name_iid": NO_TEXT}, None),
        ({"name_iid": 9}, None),
    ],
)
def test_an_empty_name_is_a_name_and_none_is_none(said, name):
    (row,) = slices(
        interned(names={EMPTY: "", NO_TEXT: None}),
        MAIN,
        track_event(5, type=INSTANT, track_uuid=7, **said),
    )
    assert row["name"] == name


def test_the_name_of_an_end_says_which_slice_ends():
    packets = [
        MAIN,
        begin(5, "a", 7),
        begin(6, "b", 7),
        track_event(9, type=END, name="a", track_uuid=7),
    ]
    assert shape(*packets) == [("a", 5, 4, 0), ("b", 6, -1, 1)]


def test_an_event_of_no_type_is_none():
    assert slices(MAIN, track_event(5, name="a", track_uuid=7)) == []


def test_counters_and_states_are_no_slices():
    counter = descriptor(8, counter=pb.CounterDescriptor())
    packets = [counter, track_event(5, type=4, counter_value=1, track_uuid=8)]
    assert slices(MAIN, *packets, track_event(6, type=5, name="s", track_uuid=9)) == []


def test_events_that_nothing_places_are_left_out():
    lost = packet(5, 64, 1, track_event=pb.TrackEvent(type=BEGIN, name="lost", track_uuid=7))
    assert shape(MAIN, lost, begin(6, "a", 7)) == [("a", 6, -1, 0)]


def test_an_event_without_a_sequence_is_none():
    stray = packet(5, track_event=pb.TrackEvent(type=BEGIN, name="a", track_uuid=7))
    assert slices(MAIN, stray) == []


def test_events_that_need_lost_state_are_skipped():
    lost = begin(5, "a", 7, more={"needs_state": True})
    assert slices(packet(seq=1, dropped=1), lost) == []


def test_a_difference_of_thread_time_needs_a_reference():
    # TET: without a thread descriptor since the state was cleared, such an event is dropped.
    with_time = begin(5, "a", 7, thread_time_delta_us=1)
    assert slices(descriptor(7), with_time) == []
    assert slices(MAIN, packet(seq=1, cleared=True), with_time) == []
    assert shape(MAIN, with_time) == [("a", 5, -1, 0)]


def test_an_event_whose_extra_counters_are_unknown_is_dropped():
    # TET, AddExtraCounterValues.
    known = descriptor(8, counter=pb.CounterDescriptor())
    with_counter = begin(5, "a", 7, extra_counter_values=[1], extra_counter_track_uuids=[8])
    assert slices(MAIN, with_counter) == []
    assert shape(MAIN, known, with_counter) == [("a", 5, -1, 0)]
    assert slices(MAIN, with_counter, known) == []
    too_many = begin(5, "a", 7, extra_counter_values=[1, 2], extra_counter_track_uuids=[8])
    assert slices(MAIN, known, too_many) == []
    defaults = packet(seq=1)
    defaults.trace_packet_defaults.track_event_defaults.extra_counter_track_uuids.append(8)
    assert shape(MAIN, known, defaults, begin(5, "a", 7, extra_counter_values=[1])) == [
        ("a", 5, -1, 0)
    ]
    assert slices(MAIN, known, begin(5, "a", 7, extra_counter_values=[1])) == []


def test_counters_are_those_of_the_defaults_at_hand():
    def defaults(*uuids):
        made = packet(seq=1)
        made.trace_packet_defaults.track_event_defaults.extra_counter_track_uuids.extend(uuids)
        return made

    def events(ts):
        return [instant(ts + i, f"{i}", 7, extra_counter_values=[1] * i) for i in (1, 2)]

    known = descriptor(8, counter=pb.CounterDescriptor())
    packets = [MAIN, known, defaults(8), *events(5), *events(10), defaults(99), *events(15)]
    assert [row[:2] for row in shape(*packets, defaults(8, 8), *events(20))] == [
        ("1", 6),
        ("1", 11),
        ("1", 21),
        ("2", 22),
    ]


def test_events_wait_for_a_snapshot_that_places_them():
    early = packet(
        1000, MONOTONIC, 1, track_event=pb.TrackEvent(type=BEGIN, name="a", track_uuid=7)
    )
    late = snapshot({BOOTTIME: 5000, MONOTONIC: 900})
    assert shape(snapshot({BOOTTIME: 1}), MAIN, early, late) == [("a", 5100, -1, 0)]


# Arguments


def test_arguments_are_those_of_both_ends():
    packets = [
        MAIN,
        begin(5, "a", 7, debug_annotations=[annotation(1, name="x"), annotation("t", name="y")]),
        end(9, 7, debug_annotations=[annotation(2.5, name="z")]),
        begin(10, "b", 7),
        end(11, 7, debug_annotations=[annotation(True, name="only")]),
        begin(12, "c", 7),
    ]
    texts = [row["args"] for row in slices(*packets)]
    assert [text and json.loads(text) for text in texts] == [
        {"x": 1, "y": "t", "z": 2.5},
        {"only": True},
        None,
    ]


def test_arguments_of_an_instant_are_there_once():
    (row,) = slices(MAIN, instant(5, "a", 7, debug_annotations=[annotation(1, name="x")]))
    assert row["args"] == '{"x":1}'


def test_arguments_need_not_be_read():
    packets = [MAIN, begin(5, "a", 7, debug_annotations=[annotation(1, name="x")])]
    assert [row["args"] for row in slices(*packets, args=False)] == [None]


def test_much_text_makes_smaller_batches():
    long = [annotation("x" * 60_000, name="x")]
    packets = [MAIN, *(instant(i, "n", 7, debug_annotations=long) for i in range(600))]
    with opened(trace(START, *packets)) as opened_trace:
        batches = list(opened_trace.slices())
    assert sum(batch.num_rows for batch in batches) == 600
    assert 1 < len(batches) < 600
    assert all(batch.validate(full=True) is None for batch in batches)
    assert {
        len(json.loads(text)["x"]) for batch in batches for text in batch["args"].to_pylist()
    } == {60_000}


# Tracks of descriptors


def test_a_thread_has_one_track_whatever_describes_it():
    assert where(MAIN, begin(5, "a", 7), end(6, 7), instant(8, "b", 7)) == [
        (0, None, 10, 11),
        (0, None, 10, 11),
    ]


def test_a_separate_track_of_a_thread():
    own = descriptor(
        8,
        name="own",
        thread=pb.ThreadDescriptor(pid=10, tid=12),
        disallow_merging_with_system_tracks=True,
    )
    assert where(MAIN, own, begin(5, "a", 7), begin(6, "b", 8)) == [
        (0, None, 10, 11),
        (1, "own", 10, 12),
    ]


def test_a_track_of_a_process():
    assert where(process(8, 10, name="p"), instant(5, "a", 8)) == [(0, None, 10, None)]
    named = descriptor(8, name="main", process=pb.ProcessDescriptor(pid=10))
    assert where(named, instant(5, "a", 8)) == [(0, "main", 10, None)]


def test_a_track_within_another_belongs_to_whom_that_belongs():
    packets = [MAIN, descriptor(8, parent_uuid=7, name="child"), descriptor(9, parent_uuid=8)]
    assert where(*packets, instant(5, "a", 8), instant(6, "b", 9)) == [
        (0, "child", 10, 11),
        (1, "b", 10, 11),
    ]


def test_a_track_without_parent_is_nobodys():
    assert where(descriptor(8, name="gpu"), instant(5, "a", 8)) == [(0, "gpu", None, None)]


def test_a_track_that_nothing_describes_is_called_after_its_first_event():
    # TT, ResolveDescriptorTrackImpl.
    assert where(instant(5, "a", 99), instant(6, "b", 99)) == [
        (0, "a", None, None),
        (0, "a", None, None),
    ]


def test_events_without_a_track_are_on_the_default_one():
    assert where(instant(5, "a"), instant(6, "b")) == [(0, "Default Track", None, None)] * 2


def test_track_0_is_the_default_one_even_where_the_sequence_has_a_thread():
    # TEI, ParseInitialTrackAssociation: an explicit 0 with a type is no legacy event.
    thread_of_sequence = of_thread(10, 11)
    assert where(thread_of_sequence, instant(5, "a")) == [(0, None, 10, 11)]
    assert where(thread_of_sequence, instant(5, "a", 0)) == [(0, "Default Track", None, None)]
    untyped = phase("I", 5, "a")
    untyped.track_event.track_uuid = 0
    assert where(thread_of_sequence, untyped) == [(0, None, 10, 11)]


def test_the_defaults_of_a_sequence_name_its_track():
    defaults = packet(seq=1)
    defaults.trace_packet_defaults.track_event_defaults.track_uuid = 7
    assert where(MAIN, defaults, instant(5, "a")) == [(0, None, 10, 11)]
    gone = packet(seq=1, cleared=True)
    assert where(MAIN, defaults, gone, instant(5, "a"))[0][1:] == (None, 10, 11)
    assert where(descriptor(8), defaults, gone, instant(5, "a"))[0][1] == "Default Track"


def test_a_descriptor_behind_the_events_counts():
    assert where(begin(5, "a", 7), MAIN) == [(0, None, 10, 11)]


def test_the_first_parent_stays_and_the_first_name():
    # TT, ReserveDescriptorTrack: a track that is said to be another one stays what it was.
    packets = [MAIN, process(5, 10), descriptor(8, parent_uuid=7, name="x")]
    again = [descriptor(8, parent_uuid=5, name="y"), descriptor(8, parent_uuid=7, name="z")]
    assert where(*packets, *again, instant(5, "a", 8)) == [(0, "x", 10, 11)]
    unmerged = [
        descriptor(8, parent_uuid=7, name=name, sibling_merge_behavior=MERGE_NOT) for name in "xz"
    ]
    assert where(MAIN, *unmerged, instant(5, "a", 8)) == [(0, "z", 10, 11)]


def test_a_descriptor_with_another_way_to_merge_is_ignored():
    other = on(8, name="late", sibling_merge_behavior=MERGE_NOT)
    assert where(MAIN, on(8), other, instant(5, "a", 8)) == [(0, "a", 10, 11)]
    keyed = [
        on(8, name=name, sibling_merge_behavior=MERGE_BY_KEY, sibling_merge_key=key)
        for name, key in ((None, "k"), ("late", "l"))
    ]
    assert where(MAIN, *keyed, instant(5, "a", 8)) == [(0, "a", 10, 11)]


def test_tracks_in_a_circle_or_too_deep_have_no_slices():
    circle = [descriptor(8, parent_uuid=9), descriptor(9, parent_uuid=8)]
    assert slices(*circle, instant(5, "a", 8)) == []
    assert slices(descriptor(8, parent_uuid=77), instant(5, "a", 8)) == []
    chain = [descriptor(1000 + i, parent_uuid=1000 + i - 1 if i else 0) for i in range(120)]
    assert len(slices(*chain, instant(5, "a", 1098))) == 1
    assert slices(*chain, instant(5, "a", 1100)) == []


# Siblings that are merged


def on(uuid, parent=7, name=None, **fields):
    return descriptor(uuid, parent_uuid=parent, name=name, **fields)


def test_siblings_of_one_name_share_a_track_when_they_do_not_overlap():
    # TC, GetOrCreateTrackForCookie.
    packets = [MAIN, on(8, name="work"), on(9, name="work")]
    apart = [begin(5, "a", 8), end(6, 8), begin(7, "b", 9), end(8, 9)]
    assert [row[0] for row in where(*packets, *apart)] == [0, 0]
    overlapping = [begin(5, "a", 8), begin(6, "b", 9), end(7, 8), end(8, 9)]
    assert [row[0] for row in where(*packets, *overlapping)] == [0, 1]
    assert shape(*packets, *overlapping) == [("a", 5, 2, 0), ("b", 6, 2, 0)]


def test_the_first_free_track_is_taken():
    packets = [MAIN, *(on(uuid, name="work") for uuid in (21, 22, 23, 24))]
    events = [begin(5, "a", 21), begin(6, "b", 22), begin(7, "c", 23)]
    events += [end(8, 22), end(9, 21), begin(10, "d", 24)]
    assert [row[0] for row in where(*packets, *events)] == [0, 1, 2, 0]


def test_a_track_goes_back_to_where_it_was_as_long_as_nobody_took_that():
    packets = [MAIN, on(21, name="work"), on(22, name="work")]
    events = [begin(5, "a", 21), begin(6, "b", 22), end(7, 21), end(8, 22), begin(9, "c", 22)]
    assert [row[0] for row in where(*packets, *events)] == [0, 1, 1]


def test_siblings_of_other_names_or_parents_do_not_share():
    packets = [MAIN, thread(6, 10, 12), on(8, name="x"), on(9, name="y"), on(10, 6, name="x")]
    events = [instant(5, "a", 8), instant(6, "b", 9), instant(7, "c", 10)]
    assert [row[0] for row in where(*packets, *events)] == [0, 1, 2]


def test_siblings_that_are_not_merged():
    more = {"name": "work", "sibling_merge_behavior": MERGE_NOT}
    packets = [MAIN, on(8, **more), on(9, **more)]
    assert [row[:2] for row in where(*packets, instant(5, "a", 8), instant(6, "b", 9))] == [
        (0, "work"),
        (1, "work"),
    ]


@pytest.mark.parametrize(
    ("keys", "tracks"),
    [
        ([{"sibling_merge_key": "k"}, {"sibling_merge_key": "k"}], [0, 0]),
        ([{"sibling_merge_key": "k"}, {"sibling_merge_key": "l"}], [0, 1]),
        ([{"sibling_merge_key_int": 3}, {"sibling_merge_key_int": 3}], [0, 0]),
        ([{"sibling_merge_key_int": 3}, {"sibling_merge_key_int": 4}], [0, 1]),
    ],
)
def test_siblings_merged_by_a_key(keys, tracks):
    packets = [
        on(8 + i, name=f"n{i}", sibling_merge_behavior=MERGE_BY_KEY, **key)
        for i, key in enumerate(keys)
    ]
    made = where(MAIN, *packets, instant(5, "a", 8), instant(6, "b", 9))
    assert [row[0] for row in made] == tracks
