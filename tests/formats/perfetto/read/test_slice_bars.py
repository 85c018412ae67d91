"""Slices by the tube: both ends with error bars, and how far off a duration can be."""

from __future__ import annotations

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, packet, pb, snapshot, trace
from naming import CLEARED, thread
from numpy.testing import assert_equal
from reading import opened

from tracetime import ClockId

MS = 1_000_000
MAIN = thread(7, 10, 11)


def event(ts, type, clock=None, name="a", track=7):
    made = pb.TrackEvent(type=type, name=name if type != 2 else None, track_uuid=track)
    return packet(ts, clock, 1, track_event=made)


def complete(ts, duration_us, clock=None):
    made = pb.TrackEvent(name="x")
    made.legacy_event.phase = ord("X")
    made.legacy_event.duration_us = duration_us
    return packet(ts, clock, 1, track_event=made)


# MONOTONIC drifts away from BOOTTIME by 10 us in 1 s; trace time is BOOTTIME.
DRIFTING = [
    packet(**CLEARED),
    *(
        snapshot({BOOTTIME: i * 1000 * MS + 1000 * i * 10, MONOTONIC: i * 1000 * MS})
        for i in range(5)
    ),
    MAIN,
]


def read(*packets, policy="tube", **options):
    with opened(trace(*DRIFTING, *packets)) as opened_trace:
        return opened_trace.slices(policy, **options).read_all().to_pylist()


def placed(*packets, policy="tube"):
    with opened(trace(*DRIFTING, *packets)) as opened_trace:
        rows = opened_trace.read_all(policy).to_pylist()
    return [row for row in rows if row["payload"] == "track_event"]


def test_both_ends_are_where_the_events_are():
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    (row,) = read(*packets)
    begin, end = placed(*packets)
    assert (row["ts"], row["earliest"], row["latest"]) == (
        begin["trace_time"],
        begin["earliest"],
        begin["latest"],
    )
    assert row["dur"] == end["trace_time"] - begin["trace_time"]
    assert (row["end_earliest"], row["end_latest"]) == (end["earliest"], end["latest"])
    assert begin["earliest"] < begin["trace_time"] < begin["latest"]


def test_the_error_of_a_duration_is_that_of_both_ends():
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    (row,) = read(*packets)
    longest = row["end_latest"] - row["earliest"]
    shortest = row["end_earliest"] - row["latest"]
    assert row["dur_error_ns"] == max(longest - row["dur"], row["dur"] - shortest)
    assert shortest < row["dur"] < longest


def test_the_tube_follows_the_drift_within_a_slice():
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    (floor,), (tube,) = read(*packets, policy="floor"), read(*packets)
    assert floor["dur"] == 1000 * MS + 10_000
    assert abs(tube["dur"] - (1000 * MS + 10_000)) <= tube["dur_error_ns"]
    assert abs(tube["ts"] - (1500 * MS + 15_000)) < abs(floor["ts"] - (1500 * MS + 15_000))


def test_on_the_trace_clock_nothing_is_uncertain():
    (row,) = read(event(1500 * MS, 1, BOOTTIME), event(2500 * MS, 2, BOOTTIME))
    assert (row["ts"], row["dur"], row["dur_error_ns"]) == (1500 * MS, 1000 * MS, 0)
    assert row["earliest"] == row["latest"] == row["ts"]
    assert row["end_earliest"] == row["end_latest"] == 2500 * MS


def test_a_slice_that_is_open_has_no_bar_at_its_end():
    (row,) = read(event(1500 * MS, 1, MONOTONIC))
    assert row["dur"] == -1
    assert row["earliest"] is not None
    assert [row[name] for name in ("end_earliest", "end_latest", "dur_error_ns")] == [None] * 3


def test_an_instant_lasts_no_time_for_certain():
    (row,) = read(event(1500 * MS, 3, MONOTONIC))
    assert (row["dur"], row["dur_error_ns"]) == (0, 0)
    assert (row["end_earliest"], row["end_latest"]) == (row["earliest"], row["latest"])


def test_a_complete_event_ends_by_its_own_clock():
    of_thread = packet(1, seq=1, thread_descriptor=pb.ThreadDescriptor(pid=10, tid=11))
    (row,) = read(of_thread, complete(1500 * MS, 1000 * 1000, MONOTONIC))
    pair = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    (other,) = read(*pair)
    for name in ("ts", "dur", "earliest", "latest", "end_earliest", "end_latest", "dur_error_ns"):
        assert row[name] == other[name], name


@pytest.mark.parametrize("clock", [MONOTONIC, BOOTTIME])
def test_an_end_beyond_64_bits_has_no_bar(clock):
    of_thread = packet(1, seq=1, thread_descriptor=pb.ThreadDescriptor(pid=10, tid=11))
    (row,) = read(of_thread, complete(1500 * MS, (1 << 63) // 1000, clock))
    assert row["earliest"] is not None
    assert [row[name] for name in ("end_earliest", "end_latest", "dur_error_ns")] == [None] * 3


def test_what_a_slice_ends_with_is_its_end_too():
    # The inner one is cut at the end of the outer one.
    packets = [
        event(1100 * MS, 1, MONOTONIC, "outer"),
        event(1200 * MS, 1, MONOTONIC, "inner"),
        packet(
            1300 * MS, MONOTONIC, 1, track_event=pb.TrackEvent(type=2, name="outer", track_uuid=7)
        ),
        event(1400 * MS, 3, MONOTONIC, "next"),
    ]
    outer, inner, _ = read(*packets)
    assert inner["end_earliest"] == outer["end_earliest"] is not None
    assert inner["ts"] + inner["dur"] == outer["ts"] + outer["dur"]


def test_events_that_name_no_clock_have_no_bars():
    (row,) = read(
        packet(5, seq=2, cleared=True),
        packet(6, 200, 2, track_event=pb.TrackEvent(type=1, name="lost", track_uuid=7)),
        event(1500 * MS, 3, MONOTONIC),
    )
    assert row["name"] == "a"
    with opened(trace(packet(**CLEARED), MAIN, event(5, 1), event(9, 2))) as opened_trace:
        (row,) = opened_trace.slices("tube").read_all().to_pylist()
    assert (row["ts"], row["dur"]) == (5, 4)
    assert [row[name] for name in ("earliest", "latest", "dur_error_ns")] == [None] * 3


@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_guaranteed_bars_hold_the_estimated_ones(bars):
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    (row,), (wide,) = read(*packets, bars=bars), read(*packets, bars="guaranteed")
    assert wide["earliest"] <= row["earliest"] <= row["latest"] <= wide["latest"]


def test_both_ends_name_their_clock():
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, BOOTTIME)]
    (row,) = read(*packets)
    assert (row["clock"], row["end_clock"]) == ("MONOTONIC", "BOOTTIME")
    (row,) = read(event(1500 * MS, 1, MONOTONIC))
    assert (row["clock"], row["end_clock"]) == ("MONOTONIC", None)
    with opened(trace(packet(**CLEARED), MAIN, event(5, 1), event(9, 2))) as opened_trace:
        (row,) = opened_trace.slices("tube").read_all().to_pylist()
    assert (row["clock"], row["end_clock"]) == (None, None)


def test_both_ends_on_another_clock():
    packets = [event(1500 * MS, 1, MONOTONIC), event(2500 * MS, 2, MONOTONIC)]
    boottime = [event(1700 * MS, 3, BOOTTIME, "i")]
    with opened(trace(*DRIFTING, *packets, *boottime)) as opened_trace:
        ends = opened_trace.slice_ends()
        clocks, begins = ends.clocks, ends.begin_clock
        begun, ended = ends.place(ClockId(MONOTONIC))
        assert ends.table(np.array([1])).column("name").to_pylist() == ["i"]
    assert [str(clocks[number]) for number in begins] == ["MONOTONIC", "BOOTTIME"]
    assert ends.ended.tolist() == [True, True]
    for end, at in ((begun, 1500 * MS), (ended, 2500 * MS)):
        assert [end[name][0] for name in ("trace_time", "earliest", "latest")] == [at] * 3
    assert begun["earliest"][1] < begun["latest"][1]


def test_parts_are_placed_as_the_whole_is(monkeypatch):
    packets = [event((1500 + k) * MS, k % 2 + 1, MONOTONIC) for k in range(10)]
    with opened(trace(*DRIFTING, *packets, event(1700 * MS, 3, BOOTTIME))) as opened_trace:
        ends = opened_trace.slice_ends()
        whole = ends.place(ClockId(BOOTTIME))
        monkeypatch.setattr("tracetime.trace.slice_ends._AT_ONCE", 2)
        assert_equal(ends.place(ClockId(BOOTTIME)), whole)
        rows = np.array([4, 0, 3])
        some = ends.place(ClockId(BOOTTIME), rows)
    assert_equal(some, [{name: at[rows] for name, at in end.items()} for end in whole])


def test_ends_of_one_clock_are_not_read():
    with opened(trace(*DRIFTING, event(1500 * MS, 1, MONOTONIC))) as opened_trace:
        assert opened_trace.slice_ends() is None
