"""What error bars leave open about the slices of a trace."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
from building import BOOTTIME, MONOTONIC, REALTIME, packet, pb, snapshot, trace
from naming import CLEARED, thread
from reading import opened

from tracetime import ClockId
from tracetime.analysis.undecided_overlaps import meetings, undecided_overlaps
from tracetime.graph.clock_graph import inner

MS = 1_000_000
OWN = 64
TRACKS = [packet(**CLEARED), thread(7, 10, 11), thread(8, 10, 12)]
TIED = [
    snapshot({BOOTTIME: i * 100 * MS, MONOTONIC: i * 100 * MS - i * 700, REALTIME: i * 100 * MS})
    for i in range(1, 8)
]


def event(ts, type, clock, track, name="a", sequence=1):
    made = pb.TrackEvent(type=type, name=name if type != 2 else None, track_uuid=track)
    return packet(ts, clock, sequence, track_event=made)


def slice_(begin, end, clock, track=7, name="a", sequence=1):
    """A slice in ns from 150 ms on."""
    return [
        event(150 * MS + begin, 1, clock, track, name, sequence),
        event(150 * MS + end, 2, clock, track, sequence=sequence),
    ]


def found(*packets, most=5):
    with opened(trace(*TRACKS, *packets)) as opened_trace:
        ends = opened_trace.slice_ends()
        return None if ends is None else undecided_overlaps(ends, opened_trace.trace_clock, most)


# MONOTONIC is 1,050 ns behind at 150 ms, and known to about 1 us.
def test_certain_overlap():
    made = found(*TIED, *slice_(0, 90_000, BOOTTIME), *slice_(50_000, 200_000, MONOTONIC, 8))
    assert (made.compared, made.undecided, made.affected, made.places) == (2, 0, 0, [])


def test_certainly_apart():
    made = found(*TIED, *slice_(0, 90_000, BOOTTIME), *slice_(95_000, 200_000, MONOTONIC, 8))
    assert (made.compared, made.undecided, made.affected) == (2, 0, 0)


def test_undecided():
    made = found(*TIED, *slice_(0, 90_000, BOOTTIME), *slice_(88_900, 200_000, MONOTONIC, 8))
    assert (made.compared, made.left_out, made.undecided, made.affected) == (2, 0, 1, 2)
    assert made.by_clock == {ClockId(BOOTTIME): (1, 1), ClockId(MONOTONIC): (1, 1)}
    (place,) = made.places
    assert [str(side.clock) for side in (place.one, place.other)] == ["BOOTTIME", "MONOTONIC"]
    assert place.one.end == (150 * MS + 90_000,) * 3
    low, high = place.window
    assert (low, high) == (place.other.begin.earliest, 150 * MS + 90_000)
    assert low < 150 * MS + 90_000 - 50 < high
    assert place.at_stake == (high - low, high - low)


def test_slices_of_one_clock_are_decided_by_it():
    made = found(
        *TIED,
        *slice_(0, 90_000, MONOTONIC),
        *slice_(90_000, 200_000, MONOTONIC, 8),
        *slice_(-900_000, -800_000, BOOTTIME),
    )
    assert (made.compared, made.undecided) == (3, 0)


def test_of_one_clock_nothing_is_read():
    assert found(*TIED, *slice_(0, 90_000, MONOTONIC), *slice_(0, 200_000, MONOTONIC, 8)) is None


def test_two_instants_do_not_overlap_and_one_within_a_slice_does():
    instants = [event(150 * MS, 3, BOOTTIME, 7), event(150 * MS, 3, MONOTONIC, 8)]
    assert found(*TIED, *instants).undecided == 0
    around = slice_(-80_000, 80_000, MONOTONIC, 8)
    assert found(*TIED, instants[0], *around).undecided == 0
    at_its_end = event(150 * MS + 81_050, 3, BOOTTIME, 7)
    assert found(*TIED, at_its_end, *around).undecided == 1


def test_open_slices_and_those_without_a_bar_are_left_out():
    still_open = event(150 * MS, 1, BOOTTIME, 8)
    unplaced = slice_(0, 90_000, 200)
    made = found(*TIED, *slice_(0, 90_000, MONOTONIC), still_open, *unplaced)
    assert (made.compared, made.left_out, made.undecided) == (1, 1, 0)


def loose(k):
    """BOOTTIME less MONOTONIC, which is off by up to 1 ms, as their snapshots differ by that."""
    return k * 100 * MS + (k % 2) * MS


def test_an_error_that_both_clocks_share_does_not_count():
    packets = []
    for sequence in (1, 2):
        cleared = sequence != 1
        packets += [
            snapshot({OWN: k * 100 * MS, MONOTONIC: k * 100 * MS}, sequence, cleared=cleared)
            for k in range(1, 8)
        ]
    packets += [snapshot({MONOTONIC: k * 100 * MS + 1, BOOTTIME: loose(k)}, 1) for k in range(1, 8)]
    packets += slice_(0, 90_000, OWN)
    packets += slice_(95_000, 200_000, OWN, 8, sequence=2)
    with opened(trace(*TRACKS, *packets)) as opened_trace:
        assert opened_trace.trace_clock == ClockId(BOOTTIME)
        one, other = opened_trace.slices("tube").read_all().to_pylist()
        assert one["end_latest"] > other["earliest"] + 100_000
        ends = opened_trace.slice_ends()
        made = undecided_overlaps(ends, opened_trace.trace_clock, 5)
    assert (made.compared, made.undecided) == (2, 0)


def test_a_slice_from_one_clock_to_another_is_compared_with_all():
    mixed = [event(150 * MS, 1, BOOTTIME, 7), event(150 * MS + 90_000, 2, MONOTONIC, 7)]
    same = slice_(90_000, 200_000, MONOTONIC, 8)
    assert found(*TIED, *mixed, *same).undecided == 1


def test_the_longest_doubt_comes_first():
    packets = []
    for k, name in enumerate(("short", "long", "middling")):
        length = (300, 90_000, 700)[k]
        begin = k * 1_000_000
        packets += slice_(begin, begin + length, BOOTTIME, 7, name)
        packets += slice_(begin - 60_000, begin - 1_050 + 400, MONOTONIC, 8, name)
    with opened(trace(*TRACKS, *TIED, *packets)) as opened_trace:
        ends = opened_trace.slice_ends()
        made = undecided_overlaps(ends, opened_trace.trace_clock, 2)
        rows = np.array([side.row for place in made.places for side in place[:2]])
        names = ends.table(rows)["name"].to_pylist()
    assert made.undecided == 3
    assert len(made.places) == 2
    assert set(names[:2]) == {"long"}
    assert set(names[2:]) == {"middling"}


def test_a_clock_that_was_set_back_decides_nothing():
    back = [
        snapshot({BOOTTIME: k * 100 * MS, REALTIME: k * 100 * MS - 50 * MS * (k > 3)})
        for k in range(1, 8)
    ]
    # REALTIME read 290 ms twice.
    slices = [
        event(at * MS, type, REALTIME, track)
        for track, begin, end in ((7, 280, 285), (8, 290, 295))
        for at, type in ((begin, 1), (end, 2))
    ]
    made = found(*back, *slices, *slice_(0, 90_000, BOOTTIME))
    assert (made.compared, made.undecided) == (3, 1)
    earlier = [
        event(at * MS, type, REALTIME, track)
        for track, begin, end in ((7, 180, 185), (8, 190, 195))
        for at, type in ((begin, 1), (end, 2))
    ]
    assert found(*back, *earlier, *slice_(0, 90_000, BOOTTIME)).undecided == 0


def test_clocks_meet_where_their_paths_do():
    readings = [
        snapshot({OWN: k, MONOTONIC: k}, 1, cleared=k == 1) for k in (MS, 2 * MS, 3 * MS)
    ] + [snapshot({MONOTONIC: k, BOOTTIME: k}, 1) for k in (MS, 2 * MS, 3 * MS)]
    with opened(trace(*readings)) as opened_trace:
        clocks = [ClockId(OWN, 1), ClockId(MONOTONIC), ClockId(BOOTTIME), ClockId(777)]
        first, last = meetings(inner(opened_trace.clocks), ClockId(BOOTTIME), clocks)
    assert (first.on, last.on) == (ClockId(MONOTONIC), ClockId(BOOTTIME))
    assert [x >= 0 for x in first.through.tolist()] == [True, True, False, False, False]
    assert last.through[0] == last.through[1] != last.through[2]
    begins, ends = np.array([0, 1, 2, 3, 0, 0]), np.array([0, 1, 2, 3, 1, -1])
    rows, group = first.members(begins, ends)
    assert (rows.tolist(), len(set(group.tolist()))) == ([0, 1, 4], 3)
    rows, group = last.members(begins, ends)
    assert (rows.tolist(), len(set(group.tolist()))) == ([0, 1, 2, 4], 2)


def mixed(begin, clock, end, end_clock, track=7):
    """A slice whose ends two clocks read, in ns from 150 ms on."""
    return [
        event(150 * MS + begin, 1, clock, track),
        event(150 * MS + end, 2, end_clock, track),
    ]


def test_a_slice_does_not_begin_after_its_end_nor_end_before_its_begin():
    # Its end is exact: it has begun by then, whatever the bar of its begin says.
    late = mixed(-1_050, MONOTONIC, 100, BOOTTIME)
    assert found(*TIED, *late, *slice_(-50_000, 500, BOOTTIME, 8)).undecided == 0
    early = mixed(0, BOOTTIME, -690, MONOTONIC)
    assert found(*TIED, *early, *slice_(-200, 50_000, BOOTTIME, 8)).undecided == 0


def test_the_same_reading_of_two_clocks_is_no_instant():
    lasting = mixed(0, BOOTTIME, 0, MONOTONIC)
    within_its_end = event(150 * MS + 1_100, 3, BOOTTIME, 8)
    assert found(*TIED, *lasting, within_its_end).undecided == 1


def test_nor_does_a_trace_clock_that_was_set_back():
    def about(at):
        back = [
            snapshot(
                {BOOTTIME: k * 100 * MS, REALTIME: k * 100 * MS - 50 * MS * (k > 3)},
                primary=REALTIME,
            )
            for k in range(1, 8)
        ]
        slices = [
            event(when * MS, type, REALTIME, track)
            for track, begin in ((7, at), (8, at + 10))
            for when, type in ((begin, 1), (begin + 5, 2))
        ]
        return found(*back, *slices, *slice_(0, 90_000, BOOTTIME))

    assert about(180).undecided == 0
    assert about(280).undecided == 1


def test_slices_that_end_before_they_begin_are_left_out():
    with opened(trace(*TRACKS, *TIED, *slice_(0, 90_000, MONOTONIC))) as opened_trace:
        graph = inner(opened_trace.clocks)
    begins, ends = np.array([100, 0]), np.array([50, 200])

    def place(on, rows, bars):
        return [
            {
                "trace_time": at[rows],
                "earliest": at[rows] - 10,
                "latest": at[rows] + 10,
            }
            for at in (begins, ends)
        ]

    made = undecided_overlaps(
        SimpleNamespace(
            graph=graph,
            clocks=[ClockId(MONOTONIC), ClockId(BOOTTIME)],
            begin_clock=np.array([0, 1], np.int32),
            end_clock=np.array([0, 1], np.int32),
            begins={"source_ns": begins},
            ends={"source_ns": ends},
            place=place,
        ),
        ClockId(BOOTTIME),
        5,
    )
    assert (made.compared, made.left_out, made.undecided) == (1, 1, 0)
