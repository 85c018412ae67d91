"""Which slices Chrome's JSON makes, rule by rule.

Rules follow Perfetto's src/trace_processor/importers/json: json_trace_tokenizer.cc (T) and
json_trace_parser.cc (P).
"""

from __future__ import annotations

import pytest
from json_slicing import Raw, document, event, shape, slices, where, who
from reading import opened

A, B = "a", "b"


# Begin and end


def test_a_slice_is_from_its_begin_to_its_end():
    assert shape(event("B", 1, A), event("E", 3, A)) == [(A, 1000, 2000, 0)]


def test_events_are_taken_in_order_of_time():
    assert shape(event("E", 3), event("B", 1, A)) == [(A, 1000, 2000, 0)]


def test_an_end_needs_neither_name_nor_category():
    assert shape(event("B", 1, A, cat="c"), event("E", 3)) == [(A, 1000, 2000, 0)]


@pytest.mark.parametrize("other", [{"name": B}, {"name": A, "cat": "d"}, {"tid": 2}, {"pid": 2}])
def test_an_end_of_something_else_ends_nothing(other):
    fields = {"name": None} | other
    assert shape(event("B", 1, A, cat="c"), event("E", 3, **fields)) == [(A, 1000, -1, 0)]


def test_a_slice_without_a_name_has_one():
    assert shape(event("B", 1)) == [("[No name]", 1000, -1, 0)]
    assert shape(event("X", 1, dur=1)) == [("[No name]", 1000, 1000, 0)]


def test_of_one_time_begins_come_in_file_order():
    begins = [event("B", 1, A), event("B", 1, B)]
    assert [name for name, *_ in shape(*begins)] == [A, B]


def test_of_one_time_an_end_comes_first_where_there_are_complete_events():
    # T, SlowOperatorLess: without any, the begin of B is ended at once.
    pair = [event("B", 1, A), event("B", 5, B), event("E", 5)]
    assert shape(*pair) == [(A, 1000, -1, 0), (B, 5000, 0, 1)]
    assert shape(event("X", 0, "x", dur=1), *pair)[1:] == [(A, 1000, 4000, 0), (B, 5000, -1, 0)]


def test_what_lies_before_all_that_is_out_of_order_stays_as_it_is():
    # Its first event is no complete one: the queue is in order up to 5 us.
    pair = [event("B", 1, A), event("E", 1)]
    assert shape(*pair, event("X", 6, "x", dur=1)) == [(A, 1000, 0, 0), ("x", 6000, 1000, 0)]
    late = event("X", 0, "x", dur=1)
    assert shape(*pair, late) == [("x", 0, 1000, 0), (A, 1000, -1, 0)]


# Complete events


def test_complete_events_nest():
    assert shape(event("X", 1, A, dur=9), event("X", 2, B, dur=3)) == [
        (A, 1000, 9000, 0),
        (B, 2000, 3000, 1),
    ]


def test_of_one_time_the_longest_complete_event_is_outside():
    assert shape(event("X", 1, A, dur=2), event("X", 1, B, dur=5)) == [
        (B, 1000, 5000, 0),
        (A, 1000, 2000, 1),
    ]


def test_a_complete_event_that_crosses_another_goes_on_a_track_beside_it():
    crossing = [event("X", 0, "a", dur=10), event("X", 5, "b", dur=10)]
    assert shape(*crossing) == [("a", 0, 10000, 0), ("b", 5000, 10000, 0)]
    assert where(*crossing) == [(0, None, 1, 1), (1, None, 1, 1)]


def test_what_fits_on_a_track_beside_stays_on_it():
    events = [
        event("X", 0, "a", dur=10),
        event("X", 5, "b", dur=10),
        event("X", 6, "c", dur=8),  # within b
        event("X", 7, "d", dur=13),  # crosses both
        event("X", 15, "e", dur=9),  # after b, and crosses d: on the thread's own track
        event("X", 16, "f", dur=10),
    ]
    assert [track for track, *_ in where(*events)] == [0, 1, 1, 2, 0, 1]
    assert [depth for *_, depth in shape(*events)] == [0, 0, 1, 0, 0, 0]


def test_what_begins_where_another_ends_follows_it_on_a_track_beside():
    spans = [(0, 10), (5, 10), (12, 6), (15, 10)]
    events = [event("X", ts, dur=dur) for ts, dur in spans]
    assert [track for track, *_ in where(*events)] == [0, 1, 0, 1]


def test_threads_have_tracks_beside_of_their_own():
    events = [event("X", at, tid=tid, dur=10) for at in (0, 5) for tid in (1, 2)]
    assert [(track, tid) for track, _, _, tid in where(*events)] == [(0, 1), (1, 2), (2, 1), (3, 2)]


def test_a_complete_event_needs_a_duration():
    assert shape(event("X", 1, A), event("X", 2, B, dur=-1)) == []


def test_a_thousand_tracks_beside_that_of_a_thread_are_the_most():
    events = [event("X", i, dur=5000) for i in range(1100)]
    assert len(slices(document(*events))) == 1025


# Instants


def test_instants_have_a_thread_or_a_process_or_none():
    events = [event(phase, 1, A, s=scope) for phase in "iIR" for scope in ("t", "p", "g")]
    assert where(*events) == 3 * [(0, None, 1, 1), (1, None, 1, None), (2, None, None, None)]
    assert {dur for _, _, dur, _ in shape(*events)} == {0}


@pytest.mark.parametrize("scope", [None, "x", "", 5])
def test_an_instant_of_no_known_scope_is_on_its_thread(scope):
    assert where(event("i", 1, A, s=scope)) == [(0, None, 1, 1)]


def test_instants_without_owner_are_nothing():
    assert shape(event("i", 1, A, tid=None)) == []
    assert shape(event("i", 1, A, pid=None, s="p")) == []


def test_an_instant_without_a_name_has_one_on_a_thread_only():
    made = shape(event("i", 1), event("i", 2, s="p"), event("i", 3, s="g"))
    assert [name for name, *_ in made] == ["[No name]", None, None]


# Asynchronous events


def test_ids_match_begins_and_ends():
    made = slices(
        document(
            event("b", 1, A, cat="c", id=1),
            event("b", 2, A, cat="c", id="0x2"),
            event("e", 5, A, cat="c", id=1),
            event("e", 9, A, cat="c", id="0x2"),
        )
    )
    assert [(row["ts"], row["dur"], row["track"]) for row in made] == [
        (1000, 4000, 0),
        (2000, 7000, 1),
    ]
    assert {(row["track_name"], row["tid"], row["pid"]) for row in made} == {(A, None, None)}


def test_a_text_is_another_id_than_the_number_it_looks_like():
    events = [event("b", 1, A, cat="c", id=1), event("e", 5, A, cat="c", id="1")]
    assert shape(*events) == [(A, 1000, -1, 0)]


def test_ids_are_of_their_category():
    events = [event("b", 1, A, cat="c", id=1), event("e", 5, A, cat="d", id=1)]
    assert shape(*events) == [(A, 1000, -1, 0)]


def test_a_local_id_is_of_its_process():
    events = [
        event(phase, ts, A, cat="c", pid=pid, id2={"local": "x"})
        for pid in (1, 2)
        for ts, phase in ((pid, "b"), (4 * pid, "e"))
    ]
    assert where(*events) == [(0, A, 1, None), (1, A, 2, None)]
    assert [dur for _, _, dur, _ in shape(*events)] == [3000, 6000]


def test_a_global_id_matches_across_processes():
    begin, end = ({"pid": pid, "id2": {"global": "x"}} for pid in (1, 2))
    assert shape(event("b", 1, A, **begin), event("e", 5, A, **end)) == [(A, 1000, 4000, 0)]


def test_id_is_taken_before_id2():
    begin = event("b", 1, A, id=5, id2={"local": 6})
    assert shape(begin, event("e", 3, A, id2={"local": 6})) == [(A, 1000, -1, 0)]
    assert shape(begin, event("e", 3, A, id=5)) == [(A, 1000, 2000, 0)]


@pytest.mark.parametrize("fields", [{}, {"id": Raw("1.5")}, {"id": 5, "pid": None}])
def test_asynchronous_events_need_an_id_and_a_process(fields):
    assert shape(event("b", 1, A, **fields)) == []


def test_asynchronous_instants_have_no_name_of_their_own():
    made = shape(event("n", 1, A, id=1), event("n", 2, id=1))
    assert made == [(A, 1000, 0, 0), (None, 2000, 0, 0)]


def test_a_lane_is_used_again_once_its_slice_has_ended():
    def pair(id, ts):
        return [event("b", ts, A, id=id), event("e", ts + 5, A, id=id)]

    assert [track for track, *_ in where(*pair(1, 0), *pair(2, 3), *pair(3, 6))] == [0, 1, 0]


# Phases without slices


@pytest.mark.parametrize("phase", [*"CMPNODcvsStfFTp()", "", None])
def test_other_phases_make_no_slices(phase):
    assert shape(event(phase, 1, A, id=1, dur=2, args={"v": 1})) == []


def test_the_first_letter_is_the_phase():
    assert shape(event("Begin", 1, A), event("E", 2)) == [(A, 1000, 1000, 0)]


# Times


def test_floor_rounds_fractions_as_doubles():
    # T, CoerceToTs: near 1.7e15 us doubles are 0.25 us apart, and near 1.7e18 ns 256 ns.
    made = slices(document(event("X", Raw("1712195495406752.797"), A, dur=Raw("0.987"))))
    assert [(row["ts"], row["dur"]) for row in made] == [(1712195495406752768, 987)]


def test_the_tube_has_the_times_of_the_text():
    text = document(event("X", Raw("1712195495406752.797"), A, dur=Raw("0.987")))
    (row,) = slices(text, "tube")
    assert (row["ts"], row["dur"], row["dur_error_ns"]) == (1712195495406752797, 987, 0)
    assert row["earliest"] == row["latest"] == 1712195495406752797
    assert row["end_earliest"] == row["end_latest"] == 1712195495406753784
    assert row["clock"] == row["end_clock"] == "org.chromium.trace"


def test_the_tube_nests_as_floor():
    text = document(
        event("X", Raw("1712195495406752.001"), A, dur=Raw("0.900")),
        event("X", Raw("1712195495406752.200"), B, dur=Raw("0.700")),
    )
    floor, tube = slices(text), slices(text, "tube")
    # Rounded they cross; by their text B lies within A.
    assert [row["depth"] for row in floor] == [row["depth"] for row in tube] == [0, 0]
    assert [row["track"] for row in floor] == [row["track"] for row in tube] == [0, 1]
    assert [row["ts"] % 1000 for row in floor] == [0, 256]
    assert [row["ts"] % 1000 for row in tube] == [1, 200]


def test_open_slices_have_no_bar_of_their_end():
    (row,) = slices(document(event("B", 1, A)), "tube")
    assert (row["dur"], row["latest"], row["end_latest"], row["end_clock"]) == (
        -1,
        1999,
        None,
        None,
    )


def test_a_time_may_be_a_text():
    assert shape(event("X", "1.5", A, dur="2")) == [(A, 1500, 2000, 0)]


@pytest.mark.parametrize("ts", [None, "x", Raw("null"), -1, Raw("1e30")])
def test_events_without_a_time_make_no_slices_and_are_counted(ts):
    with opened(document(event("X", ts, A, dur=1), event("M", None, A)).encode()) as trace:
        made = trace.slices()
        assert made.read_all().num_rows == 0
        assert made.unresolved == 1


# Owners


def test_metadata_names_threads_and_processes_for_the_whole_file():
    names = [
        event("M", name="process_name", args={"name": "browser"}),
        event("M", name="thread_name", args={"labels": 1, "name": "main"}),
        event("M", name="process_labels", args={"name": "other"}),
    ]
    assert who(event("i", 1), *names) == [("browser", "main")]


def test_the_latest_name_counts():
    names = [event("M", ts, "thread_name", args={"name": n}) for ts, n in ((5, "b"), (2, "a"))]
    assert who(event("i", 1), *names) == [(None, "b")]
    assert who(event("i", 1), names[0], event("M", 9, "thread_name", args={"name": ""})) == [
        (None, "b")
    ]


def test_without_a_thread_an_event_is_on_the_main_one():
    assert where(event("B", 1, A, pid=7, tid=None)) == [(0, None, 7, 7)]
    assert where(event("B", 1, A, pid=7, tid=0)) == [(0, None, 7, 7)]


def test_numbers_beyond_32_bits_are_0():
    assert where(event("B", 1, A, pid=-5, tid=1 << 32)) == [(0, None, 0, 0)]
    assert where(event("B", 1, A, pid=Raw("7.9"), tid=3)) == [(0, None, 7, 3)]


def test_threads_of_two_processes_with_one_tid_are_two():
    assert where(event("i", 1, pid=1, tid=5), event("i", 2, pid=2, tid=5)) == [
        (0, None, 1, 5),
        (1, None, 2, 5),
    ]


def test_a_text_as_pid_or_tid_is_the_name():
    assert who(event("i", 1, pid="Spans", tid="Profiler")) == [("Spans", "Profiler")]


def test_a_text_has_the_number_of_its_place_among_the_texts():
    # P: trace_processor keeps each text once, 5 bytes apart, after 54,001 bytes of its own.
    events = [
        event("i", 1, "four", pid=1, tid="tea", cat="é"),
        event("i", 1, "four", pid="pot", tid="tea"),
    ]
    assert [(row["pid"], row["tid"]) for row in slices(document(*events))] == [
        (1, 54001 + 4 + 5),
        (54001 + 4 + 5 + 3 + 5 + 2 + 5, 54001 + 4 + 5),
    ]


def test_the_main_thread_of_a_process_with_a_text_is_its_number():
    assert where(event("B", 1, A, pid="p", tid=None)) == [(0, None, 54001 + 6, 54001 + 6)]


# Arguments


def test_arguments_are_those_of_both_ends_as_they_are_written():
    made = slices(
        document(
            event("B", 1, A, args=Raw('{"x": 1.50, "y": [1,\n2]}')),
            event("E", 2, args=Raw('{ "y": 3 }')),
            event("B", 3, A, args={}),
            event("E", 4, args={"z": "é"}),
            event("B", 5, A, args=Raw("{ }")),
            event("E", 6),
            event("X", 7, A, dur=1, args=5),
        )
    )
    assert [row["args"] for row in made] == [
        '{"x": 1.50, "y": [1,\n2], "y": 3 }',
        '{"z": "\\u00e9"}',
        None,
        None,
    ]


def test_without_arguments_the_column_is_null():
    text = document(event("X", 1, A, dur=1, args={"x": 1}))
    assert [row["args"] for row in slices(text, args=False)] == [None]


# Both kinds of documents


def test_an_array_is_read_as_an_object():
    assert len(slices("[" + event("X", 1, A, dur=1) + ",")) == 1


def test_escapes_in_names_are_text():
    assert shape(event("X", 1, "tab\t\u00e9\U0001f600", dur=1))[0][0] == "tab\té😀"
