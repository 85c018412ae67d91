"""Slices of legacy events: phases, overrides, ids and their tracks.

Rules follow Perfetto's src/trace_processor/importers/proto/track_event_event_importer.h (TEI) and
importers/common/track_compressor.cc (TC).
"""

from __future__ import annotations

from building import packet, pb
from hypothesis import given
from hypothesis import strategies as st
from naming import thread
from slicing import instant, of_thread, phase, shape, slices, where

MAIN = thread(7, 10, 11)


def test_legacy_begin_end_and_complete_are_of_the_sequences_thread():
    packets = [
        of_thread(10, 11),
        phase("B", 5, "a"),
        phase("X", 6, "x", duration_us=1),
        phase("E", 3000),
    ]
    assert shape(*packets) == [("a", 5, 2995, 0), ("x", 6, 1000, 1)]
    assert where(*packets) == [(0, None, 10, 11)] * 2


def test_legacy_begin_without_a_thread_is_nothing():
    # TEI, ParseThreadBeginEvent.
    assert slices(phase("B", 5, "a"), phase("X", 6, "x", duration_us=1)) == []


def test_a_negative_duration_is_no_slice():
    assert slices(of_thread(10, 11), phase("X", 6, "x", duration_us=-1)) == []


def test_another_thread_or_process_than_the_sequences():
    packets = [of_thread(10, 11), phase("B", 5, "a", tid_override=12)]
    packets.append(phase("B", 6, "b", pid_override=20, tid_override=21))
    assert [row[2:] for row in where(*packets)] == [(10, 12), (20, 21)]


def test_a_process_without_a_thread_has_a_synthetic_one():
    # TEI, CreateSyntheticTid(-1, pid).
    assert where(phase("B", 5, "a", pid_override=20)) == [(0, None, 20, -1)]


def test_thread_0_is_the_idle_one_and_has_no_slices():
    assert slices(of_thread(10, 11), phase("B", 5, "a", tid_override=0)) == []


def test_threads_of_a_sandbox_are_distinguished_by_their_process():
    one = thread(7, 10, 1, chrome_thread=pb.ChromeThreadDescriptor(is_sandboxed_tid=True))
    two = thread(8, 20, 1, chrome_thread=pb.ChromeThreadDescriptor(is_sandboxed_tid=True))
    made = where(one, two, instant(5, "a", 7), instant(6, "b", 8))
    assert [row[2:] for row in made] == [(10, 10 << 32 | 1), (20, 20 << 32 | 1)]


def test_another_thread_of_a_sandbox_is_in_it_too():
    # TEI: the override of a synthetic tid is synthetic.
    one = thread(7, 10, 1, chrome_thread=pb.ChromeThreadDescriptor(is_sandboxed_tid=True))
    assert where(one, phase("B", 5, "a", tid_override=2)) == [(0, None, 10, 10 << 32 | 2)]


SCOPE_GLOBAL, SCOPE_PROCESS, SCOPE_THREAD = 1, 2, 3


def test_scopes_of_legacy_instants():
    packets = [
        of_thread(10, 11),
        *(
            phase("I", 5 + scope, "i", instant_event_scope=scope)
            for scope in (SCOPE_GLOBAL, SCOPE_PROCESS, SCOPE_THREAD)
        ),
    ]
    assert where(*packets) == [
        (0, None, None, None),
        (1, None, 10, None),
        (2, None, 10, 11),
    ]
    without = [
        phase("I", 5, "i", instant_event_scope=scope) for scope in (SCOPE_PROCESS, SCOPE_THREAD)
    ]
    assert slices(*without) == []


def test_asynchronous_events_are_matched_by_id():
    packets = [
        phase("b", 5, "a", unscoped_id=1),
        phase("b", 6, "a", unscoped_id=2),
        phase("e", 7, "a", unscoped_id=1),
        phase("n", 8, "i", unscoped_id=2),
        phase("e", 9, "a", unscoped_id=2),
    ]
    assert shape(*packets) == [("a", 5, 2, 0), ("a", 6, 3, 0), ("i", 8, 0, 1)]
    assert [row[:2] for row in where(*packets)] == [(0, "a"), (1, "a"), (1, "a")]


def test_an_asynchronous_event_without_id_is_none():
    assert slices(phase("b", 5, "a")) == []


def test_local_ids_are_those_of_a_process():
    packets = [of_thread(10, 11, seq=1), of_thread(20, 21, seq=2)]
    events = [phase("b", 5 + seq, "a", seq=seq, local_id=1) for seq in (1, 2)]
    assert where(packet(seq=2, cleared=True), *packets, *events) == [
        (0, "a", 10, None),
        (1, "a", 20, None),
    ]
    assert slices(phase("b", 5, "a", local_id=1)) == []


def test_categories_and_scopes_tell_ids_apart():
    # TEI, ParseTrackAssociationInternal.
    def two(**second):
        first = phase("b", 5, "a", unscoped_id=1, categories=["x"])
        return [row[0] for row in where(first, phase("b", 6, "a", unscoped_id=1, **second))]

    assert two(categories=["x"]) == [0, 0]
    assert two(categories=["y"]) == [0, 1]
    assert two(categories=["x"], id_scope="s") == [0, 1]


def test_the_older_kind_is_matched_by_name_and_its_steps_are_instants():
    packets = [
        phase("S", 5, "a", unscoped_id=1),
        phase("T", 6, "a", unscoped_id=1),
        phase("p", 7, "a", unscoped_id=1),
        phase("F", 8, "a", unscoped_id=1),
    ]
    assert shape(*packets) == [("a", 5, 3, 0), ("a", 6, 0, 1), ("a", 7, 0, 1)]


def test_the_track_of_an_id_is_called_by_its_first_name():
    # TC, InternLegacyAsyncTrack.
    packets = [phase("b", 5, "outer", unscoped_id=1), phase("b", 6, "inner", unscoped_id=1)]
    assert [(row[0], row[1]) for row in where(*packets)] == [(0, "outer"), (0, "outer")]


def test_flows_marks_and_objects():
    packets = [
        of_thread(10, 11),
        phase("s", 5, "f", unscoped_id=1),
        phase("N", 6, "o", unscoped_id=1),
    ]
    assert slices(*packets) == []
    assert shape(*packets, phase("R", 7, "mark")) == [("mark", 7, 0, 0)]


def lanes(steps):
    """The track of each begin, as TC finds it: the id's own, else the first that is free."""
    tracks, found = [], []
    for letter, id in steps:
        own = [track for track in tracks if track[0] == id]
        free = [track for track in tracks if track[1] == 0]
        if not own and not free:
            tracks.append([id, 0])
        track = (own or free or tracks[-1:])[0]
        track[0] = id
        if letter == "b":
            track[1] += 1
            found.append(next(i for i, one in enumerate(tracks) if one is track))
        elif track[1]:
            track[1] -= 1
    return found


@given(st.lists(st.tuples(st.sampled_from("bbe"), st.integers(0, 9)), max_size=40))
def test_ids_share_tracks_as_by_the_plain_rule(steps):
    packets = [phase(letter, i, "a", unscoped_id=id) for i, (letter, id) in enumerate(steps)]
    expected = lanes(steps)
    numbers = list(dict.fromkeys(expected))
    # Tracks are numbered by their first event: an end alone makes one, too.
    made = [row[0] for row in where(*packets)]
    assert made == [numbers.index(track) for track in expected]
