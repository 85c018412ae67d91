"""Groups of events that another clock stamped: told by the file's order, and by who ran then."""

import json
from random import Random

import pytest
from broken_traces import CONTROLS, KINDS, MS, SENSOR, START, Recording, S, found_in, judge
from building import MONOTONIC, event, packet, snapshot, trace
from diagnosed import findings
from hypothesis import given, settings
from hypothesis import strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb
from reading import opened
from scheduling import Switch, bundle

from tracetime.clocks.known_offsets import known_offset
from tracetime.doctor.finding_events import finding_events


@pytest.mark.parametrize("name", KINDS)
def test_the_first_finding_names_the_trouble(name):
    assert judge(KINDS[name], seconds=12)[0] == "right", judge(KINDS[name], seconds=12)


@pytest.mark.parametrize("seconds", [5, 12, 40])
@pytest.mark.parametrize("name", CONTROLS)
def test_a_healthy_recording_has_no_finding(name, seconds):
    recording = Recording(Random(seconds), seconds)
    CONTROLS[name](recording)
    assert found_in(recording) == []


@settings(max_examples=8)
@given(st.integers(300 * MS, 1000 * S), st.integers(0, 2**32))
def test_any_clock_that_is_ahead_is_found_with_its_size_and_its_events(by, seed):
    recording = Recording(Random(seed), 8)
    recording.shift(SENSOR, by)
    data = recording.bytes()
    first = findings(data)[0]
    assert (first.code, first.events) == ("events-of-another-clock", 80)
    # With what follows from it, it may be an error.
    assert first.severity != "info"
    # The last event before a snapshot is a gap of events earlier than it.
    assert by - 300 * MS <= first.worst_ns <= by + 100 * MS
    with opened(data) as told:
        rows = sum(batch.num_rows for batch in finding_events(told, {1: first}))
    assert rows == 80


def test_where_the_recorder_writes_its_snapshots_last_the_order_says_nothing():
    recording = Recording(Random(1), 8)
    recording.written_last = True
    recording.shift(SENSOR, 37 * S)
    codes = [one.code for one in findings(recording.bytes())]
    assert "events-of-another-clock" not in codes


def test_two_gaps_are_needed():
    """One late snapshot is no proof."""
    readings = [{6: START + k * S, MONOTONIC: START + k * S} for k in range(3)]
    parts = [snapshot(readings[0], 1, primary=6)]
    for k in range(2):
        ahead = 37 * S if k == 0 else 0
        parts += [event(START + k * S + 1, 6, 3), event(START + k * S + ahead + 2, MONOTONIC, 2)]
        parts.append(snapshot(readings[k + 1], 1, primary=6))
    codes = {one.code for one in findings(trace(*parts))}
    assert "events-of-another-clock" not in codes


def test_a_thread_that_always_runs_says_nothing():
    parts = [snapshot({6: START, MONOTONIC: START - 5 * S}, 1, primary=6)]
    parts.append(packet(seq=2, track_descriptor=_thread(100)))
    for k in range(200):
        parts.append(bundle(0, [Switch(START + k * 10 * MS, 0, 0, 100)], compact=True))
        at = START + k * 10 * MS + 700 * MS
        parts.append(event(at, 6, 2))
    assert "threads-off-cpu" not in {one.code for one in findings(trace(*parts))}


def _thread(tid):
    from building import thread_track

    track = thread_track(uuid=2)
    track.thread.pid = track.thread.tid = tid
    return track


def launched(behind_ns, apart_ns, n=60):
    """Launches, each of a kernel that begins 1.2 ms later; MONOTONIC is behind BOOTTIME."""
    parts = [
        snapshot({6: START + k * S, MONOTONIC: START + k * S - apart_ns}, 1, primary=6)
        for k in range(3)
    ]
    for seq, later, length, behind in ((2, 0, MS, behind_ns), (4, 1_200_000, 4 * MS, 0)):
        for k in range(n):
            at = START + S // 2 + 10 * MS * k + later - behind
            for time, kind in ((at, 1), (at + length, 2)):
                name = "work" if kind == 1 else None
                one = pb.TrackEvent(type=kind, track_uuid=seq, name=name)
                parts.append(packet(time, None, seq, track_event=one))
    return trace(*parts)


@pytest.mark.parametrize("apart_ms", [12, 40, 90, 700, 5000])
def test_work_that_is_as_late_as_two_clocks_are_apart_is_told(apart_ms):
    apart = apart_ms * MS
    first = findings(launched(apart, apart))[0]
    assert (first.code, first.severity, first.events) == ("events-of-another-clock", "info", 120)
    assert "on sequence 2" in first.title
    assert first.title.endswith("behind those of sequence 4, everywhere: they match MONOTONIC")
    for healthy in (launched(0, apart), launched(apart + 30 * MS, apart)):
        assert "events-of-another-clock" not in {one.code for one in findings(healthy)}


def test_offsets_that_are_known_are_named():
    assert known_offset(36_900 * MS, 37_050 * MS) == "as TAI and UTC are"
    assert known_offset(-18_050 * MS, -17_950 * MS) == "as GPS and UTC are"
    assert "zone of 9:30 h" in known_offset(34_199 * S, 34_201 * S)
    assert "1904" in known_offset(2_082_844_799 * S, 2_082_844_801 * S)
    # What is not known well matches nothing.
    assert known_offset(10 * S, 40 * S) == ""
    assert known_offset(1_234 * S, 1_235 * S) == ""


# Chrome's JSON.

BASE = 1_735_632_360 * S
FIRST_US = 4_203_669_603_018.756


def written(far_us):
    every = [FIRST_US + 37.123 * k for k in range(60)] + far_us
    events = [
        {"ph": "X", "cat": "op", "name": "op", "pid": 7, "tid": 7, "ts": ts, "dur": 20.5}
        for ts in every
    ]
    return json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": events}).encode()


@pytest.mark.parametrize(
    ("zero", "step", "says"),
    [
        ((BASE // 1000) + FIRST_US, 400.0, "in us since 1970"),
        ((BASE // S) + FIRST_US / 1e6, 0.0004, "in s since 1970"),
        ((BASE // MS) + FIRST_US / 1e3, 0.4, "in ms since 1970"),
        (81_995_702_646.377, 400.0, "before the others: of another clock, or another run"),
        (FIRST_US + 7200e6, 400.0, "2 h 0 min after the others"),
        (FIRST_US - 37e6 * 10, 400.0, "6 min 10 s before the others"),
    ],
)
def test_events_far_from_all_others_are_told_with_their_unit(zero, step, says):
    first = findings(written([zero + step * k for k in range(6)]))[0]
    assert (first.code, first.severity, first.events) == ("odd-times", "info", 6)
    assert says in first.title


def test_a_pause_is_no_other_clock():
    assert findings(written([FIRST_US + 50e6 + 400 * k for k in range(6)])) == []
    half = [FIRST_US + 30e6 * k for k in range(40)]
    assert "odd-times" not in {one.code for one in findings(written(half))}
