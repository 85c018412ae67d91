"""What the doctor's findings are made of: a trace surveyed, number by number."""

from __future__ import annotations

from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
from building import BOOTTIME, MONOTONIC, TRACE_FILE, event, packet, pb, snapshot, trace
from reading import opened

from tracetime import ClockDomain, ClockId, UsageError
from tracetime.analysis.survey import Survey

S = 1_000_000_000
BOOT, MONO, OTHER = ClockId(BOOTTIME), ClockId(MONOTONIC), ClockId(200)
OWN, LOST, THERE = ClockId(64, 3), ClockId(201), ClockId(BOOTTIME, machine=1)


@contextmanager
def surveyed(*packets, tolerance_ns=1_000, **options):
    with opened(trace(*packets), **options) as made:
        yield Survey(made, tolerance_ns)


SMALL = [
    snapshot({BOOTTIME: 100 * S, MONOTONIC: 90 * S, 200: 7 * S}),
    event(101 * S, BOOTTIME),
    event(95 * S, MONOTONIC),
    event(92 * S, MONOTONIC),
    event(8 * S, 200),
    event(5, 201),
    event(6, 201),
    event(3 * S, BOOTTIME, machine=5),
    event(7, 64, 3),
    snapshot({BOOTTIME: 104 * S, MONOTONIC: 94 * S, 200: 11 * S}),
    event(105 * S),
    event(96 * S, MONOTONIC),
    event(4 * S, MONOTONIC),
    packet(track_event=pb.TrackEvent(type=3)),
    snapshot({BOOTTIME: 108 * S, 200: 15 * S}, 3),
    snapshot({BOOTTIME: 112 * S, MONOTONIC: 102 * S, 64: (5, 1000)}, 3),
    event(106 * S),
]


def test_a_negative_tolerance_is_refused():
    with pytest.raises(UsageError, match="tolerance_ns is -1: use 0 or more"):
        with surveyed(*SMALL, tolerance_ns=-1):
            pass
    with surveyed(*SMALL, tolerance_ns=0) as survey:
        assert survey.tolerance_ns == 0


def test_events_by_clock_and_by_why_they_have_no_time():
    with surveyed(*SMALL) as survey:
        used = {MONO: 4, BOOT: 3, THERE: 1, OWN: 1, OTHER: 1, LOST: 2}
        assert list(survey.used.items()) == list(used.items())
        assert survey.lost == {LOST: 2}
        expected = {
            clock: [
                (g.reason, g.events, g.first_packet, g.last_packet, g.low_ns, g.high_ns)
                for g in survey.groups_of(clock)
            ]
            for clock in [*used, ClockId(9)]
        }
        assert expected == {
            MONO: [("resolved", 4, 2, 12, 4 * S, 96 * S)],
            BOOT: [("resolved", 3, 1, 16, 101 * S, 106 * S)],
            THERE: [("resolved", 1, 7, 7, 3 * S, 3 * S)],
            OWN: [("resolved", 1, 8, 8, 7_000, 7_000)],
            OTHER: [("resolved", 1, 4, 4, 8 * S, 8 * S)],
            LOST: [("unknown_source_clock", 2, 5, 6, 5, 6)],
            ClockId(9): [],
        }
        assert [g.clock for g in survey.of("unknown_source_clock")] == [LOST]
        assert [g.clock for g in survey.of("resolved")] == [MONO, BOOT, THERE, OWN, OTHER]
        assert survey.of("no_path") == []
        rows = survey.of_machines_not_in
        assert [g.clock for g in survey.counted.each(rows({0}), survey.clocks)] == [THERE]
        assert LOST in {g.clock for g in survey.counted.each(rows({1}), survey.clocks)}
        assert len(rows({0, 1})) == 0
        assert len(rows(set())) == 6


def test_of_a_healthy_trace_nothing_else_is_noted():
    with surveyed(*SMALL) as survey:
        assert survey.reordered == 0
        assert survey.inconsistencies == []
        assert survey.loops_unexamined is False
        assert survey.order_unexamined is False
        assert (survey.late, survey.unexamined, survey.equated) == ({}, (), None)


def test_a_trace_without_events_has_no_groups():
    with surveyed(SMALL[0]) as survey:
        assert (survey.used, survey.lost, survey.groups_of(BOOT)) == ({}, {}, [])
        assert survey.of("resolved") == []


def test_events_are_counted_by_packets_and_by_readings():
    """Those of the trace clock are placed by nothing, and not counted."""
    lost = snapshot({BOOTTIME: 50 * S, MONOTONIC: 94 * S, 200: S})
    with surveyed(*SMALL, lost, event(96 * S, MONOTONIC), event(50 * S)) as survey:
        assert survey.count_placed([(0, None)]) == 8
        assert survey.count_placed([(0, 16)]) == 7
        assert survey.count_placed([(18, None)]) == 1
        assert survey.count_placed([]) == 0
        spans = {
            MONO: [(90 * S, 94 * S)],
            BOOT: [(0, 10**18)],
            LOST: [(0, 9)],
            OTHER: [(7 * S, 11 * S)],
        }
        assert survey.count_within(spans) == {MONO: 1, BOOT: 0, LOST: 0, OTHER: 1}
        ends = {MONO: np.array([[0, 89 * S], [94 * S + 1, 10**18]])}
        assert survey.count_within(ends) == {MONO: 4}


def on_machine(machine, at=0):
    return [
        snapshot({BOOTTIME: 100 * S + at, MONOTONIC: 90 * S + at}, machine=machine),
        event(101 * S, BOOTTIME, machine=machine),
        event(91 * S, MONOTONIC, machine=machine),
    ]


def test_events_are_placed_where_the_trace_clock_of_another_machine_reads_them():
    """What names no machine is of the first, whatever that is called."""
    for first, second in ((7, None), (7, 9), (None, 7)):
        packets = [*on_machine(first), *on_machine(second, S)]
        with surveyed(*packets) as survey:
            expected = survey.count_placed([(0, None)])
            machines = len(survey.trace.machines)
            assert expected == (3 if second == 9 or first is None else 2), machines


def test_ways_to_trace_time_and_the_clocks_beside():
    with surveyed(*SMALL) as survey:
        assert survey.trace_clock == BOOT
        ways = {clock: survey.path(clock) for clock in (BOOT, MONO, OTHER, LOST, OWN, THERE)}
        assert ways == {
            BOOT: [BOOT],
            MONO: [MONO, BOOT],
            OTHER: [OTHER, BOOT],
            LOST: None,
            OWN: [OWN, BOOT],
            THERE: [THERE, BOOT],
        }
        assert {clock: survey.reference(clock) for clock in ways} == {
            BOOT: MONO,
            MONO: BOOT,
            OTHER: BOOT,
            LOST: None,
            OWN: BOOT,
            THERE: BOOT,
        }
        assert survey.neighbours(BOOT) == [MONO, THERE, OWN, OTHER]
        assert survey.neighbours(OTHER) == [MONO, BOOT]
        assert survey.neighbours(LOST) == survey.series_of(LOST) == []
        lists = [(BOOT, MONO, OTHER), (THERE, BOOT), (BOOT, OTHER), (BOOT, MONO, OWN)]
        assert survey.series == lists
        assert survey.series_of(MONO) == [lists[0], lists[3]]
        read = zip(*(column.tolist() for column in survey.reference_readings), strict=True)
        assert dict(zip(survey.infos, read, strict=True)) == {
            clock: (len(shared), min(shared), max(shared))
            for clock in survey.infos
            for shared in [survey.together(clock, survey.reference(clock))[1].tolist()]
        }
        assert survey.by_number == {
            (3, 0): [MONO],
            (6, 0): [BOOT],
            (6, 1): [THERE],
            (64, 0): [OWN],
            (200, 0): [OTHER],
        }
        written = {clock: survey.was_written([clock]) for clock in ways}
        assert written == dict.fromkeys(ways, True) | {LOST: False, THERE: False}
        assert survey.was_written([LOST, MONO])
        assert not survey.was_written([])


def test_a_clock_that_is_alone_has_no_reference():
    with surveyed(*SMALL, snapshot([(300, 5)])) as survey:
        assert survey.reference(ClockId(300)) is None
        assert survey.reference(OTHER) == BOOT


def test_snapshots_of_two_clocks_and_the_nearest_of_them():
    with surveyed(*SMALL) as survey:
        both = [column.tolist() for column in survey.together(MONO, BOOT)]
        numbers, ours, theirs = [0, 2, 4], [90 * S, 94 * S, 102 * S], [100 * S, 104 * S, 112 * S]
        assert both == [numbers, ours, theirs]
        assert [column.tolist() for column in survey.together(BOOT, MONO)] == [
            numbers,
            theirs,
            ours,
        ]
        assert [column.tolist() for column in survey.unfolded(MONO, BOOT)] == both
        at = [0, 92 * S - 1, 92 * S, 92 * S + 1, 98 * S, 98 * S + 1, 10**18]
        assert [survey.nearest(MONO, BOOT, one) for one in at] == [
            [0],
            [0],
            [0],
            [2],
            [2],
            [4],
            [4],
        ]
        assert survey.packets_of([0, 2, 4]) == [0, 9, 15]
        assert survey.packets_of([]) == []


@pytest.mark.parametrize(("ns_per_tick", "near"), [(Fraction(1, 3), []), (2, []), (1, [2])])
def test_a_clock_of_ticks_is_near_to_no_reading_in_ns(ns_per_tick, near):
    declared = [ClockDomain("MONOTONIC", ns_per_tick=ns_per_tick)]
    with surveyed(*SMALL, domains=declared) as survey:
        assert survey.nearest(MONO, BOOT, 95 * S) == near


def test_clocks_whose_rates_can_be_measured_have_three_snapshots():
    with surveyed(*SMALL) as survey:
        assert {
            c: (r.reference, r.rate, r.snapshots.tolist()) for c, r in survey.rates.items()
        } == {
            MONO: (BOOT, 0.0, [0, 2, 4]),
            BOOT: (MONO, 0.0, [0, 2, 4]),
            OTHER: (BOOT, 0.0, [0, 2, 3]),
        }
    with surveyed(*SMALL[:10]) as survey:
        assert survey.rates == {}


def test_ticks_are_units_at_least_and_what_is_declared_or_shown():
    with surveyed(*SMALL) as survey:
        ticks = [survey.tick_ns(clock) for clock in (BOOT, OWN, LOST)]
        assert ticks == [1, 1_000, 1]
        assert survey.visible_tick_ns(BOOT) is None
        assert survey.visible_tick_ns(LOST) is None
    declared = {"200": ClockDomain("200", tick_ns=50), "64": ClockDomain("64@seq3", tick_ns=40)}
    with surveyed(*SMALL, domains=list(declared.values())) as survey:
        assert survey.tick_ns(OTHER) == 50
        assert survey.tick_ns(OWN) == 1_000
        assert set(survey.declared) == {OTHER, OWN}


@pytest.mark.parametrize(("events", "may"), [(12, False), (13, True)])
def test_sixteen_readings_in_snapshots_and_events_may_show_a_tick(events, may):
    more = [event(95 * S + k, MONOTONIC) for k in range(events - 4)]
    with surveyed(*SMALL, *more) as survey:
        assert survey.infos[MONO].snapshots == 3
        assert survey.used[MONO] == events
        assert survey.may_show_tick(MONO) == may
        assert not survey.may_show_tick(LOST)


def ticking(n):
    at, packets = 100 * S, []
    for k in range(n):
        at += (3 + k * k % 7) * 4_000_000
        packets.append(snapshot({BOOTTIME: at + 1_234_567 * (k % 3), 200: at}))
    return packets


def test_a_tick_that_readings_show_counts():
    with surveyed(*ticking(40)) as survey:
        assert survey.visible_tick_ns(OTHER) == 4_000_000
        assert survey.tick_ns(OTHER) == 4_000_000
        assert survey.tick_ns(BOOT) < 4_000_000


@pytest.mark.parametrize(
    ("packets", "has"),
    [
        ([event(5)], False),
        ([snapshot({BOOTTIME: 0, TRACE_FILE: 0})], False),
        ([snapshot({BOOTTIME: 5, TRACE_FILE: 5})], True),
        ([snapshot({BOOTTIME: at, TRACE_FILE: at}) for at in (0, 5)], True),
        ([snapshot({BOOTTIME: 0, MONOTONIC: 0})], True),
    ],
)
def test_what_perfetto_adds_itself_is_no_snapshot(packets, has):
    with surveyed(*packets) as survey:
        assert survey.has_snapshots == has


@pytest.mark.parametrize(
    ("packets", "trace_clock", "equated"),
    [
        ([], TRACE_FILE, None),
        ([snapshot({BOOTTIME: 0, TRACE_FILE: 0})], TRACE_FILE, BOOT),
        ([event(5, TRACE_FILE)], TRACE_FILE, BOOT),
        ([snapshot({BOOTTIME: 7, TRACE_FILE: 7})], TRACE_FILE, None),
        ([snapshot({BOOTTIME: at, TRACE_FILE: at}) for at in (0, 5)], TRACE_FILE, None),
        ([snapshot({BOOTTIME: 7, MONOTONIC: 3})], BOOTTIME, None),
        ([snapshot({200: 7, TRACE_FILE: 3}, primary=TRACE_FILE)], TRACE_FILE, None),
    ],
)
def test_the_time_of_the_file_is_boottime_by_rule_alone(packets, trace_clock, equated):
    with surveyed(*packets, event(5)) as survey:
        assert survey.trace_clock == ClockId(trace_clock)
        assert survey.equated == equated
        assert (survey.strays is None) == (equated is not None or not packets)


@pytest.mark.parametrize(
    ("gain_ns", "tolerance_ns", "expected"),
    [
        (5_000, 4_999, {OTHER: (3, 5_000)}),
        (5_000, 5_000, {}),
        (5_000, 0, {OTHER: (3, 5_000)}),
        (0, 0, {}),
    ],
)
def test_events_that_later_snapshots_would_place_elsewhere(gain_ns, tolerance_ns, expected):
    packets = [
        snapshot({BOOTTIME: 100 * S, 200: 50 * S}),
        *(event(60 * S + k, 200) for k in range(3)),
        snapshot({BOOTTIME: 108 * S, 200: 58 * S + gain_ns}),
        event(59 * S + gain_ns, 200),
        event(51 * S, 200),
    ]
    with surveyed(*packets, tolerance_ns=tolerance_ns) as survey:
        assert survey.trace.late_snapshots is not None
        assert survey.late == expected


def test_a_tick_of_a_coarse_clock_is_healthy():
    def packets(gain):
        return [
            snapshot({BOOTTIME: 100 * S, 200: (50_000_000, 1_000)}),
            *(event(60_000_000 + k, 200) for k in range(3)),
            snapshot({BOOTTIME: 108 * S, 200: (58_000_000 + gain, 1_000)}),
        ]

    for gain, expected in ((1, {}), (2, {}), (3, {OTHER: (3, 3_000)})):
        with surveyed(*packets(gain), tolerance_ns=1_000) as survey:
            assert survey.late == expected
    with surveyed(*packets(2), tolerance_ns=999) as survey:
        assert survey.late == {OTHER: (3, 2_000)}


def moving(n):
    """Clocks that jump against BOOTTIME; clock 200 + k has k events."""
    clocks = [200 + k for k in range(n)]
    packets = [
        snapshot(
            {BOOTTIME: 100 * S + k * S} | {c: 50 * S + k * S + (k > 1) * c * S for c in clocks}
        )
        for k in range(4)
    ]
    return [*packets, *(event(50 * S, 200 + k) for k in range(n) for _ in range(k))]


@pytest.mark.parametrize(("most", "left"), [(1, [200, 201]), (2, [200]), (3, []), (None, [])])
def test_the_clocks_with_most_events_are_examined(most, left):
    options = {} if most is None else {"max_tubes": most}
    with surveyed(*moving(3), tolerance_ns=10**6, **options) as survey:
        assert survey.most_examined == (most or 500)
        assert survey.unexamined == tuple(map(ClockId, left))
        assert {d.dst.clock for d in survey.discontinuities} == {200, 201, 202} - set(left)
        # BOOTTIME is a clock, too.
        assert survey.order_unexamined == (most in (1, 2, 3))


def test_the_last_packet_that_moved_trace_time_late():
    first = [snapshot({MONOTONIC: 90 * S, 200: 5 * S}), event(6 * S, 200)]
    then = [snapshot({BOOTTIME: 100 * S, MONOTONIC: 92 * S}), event(7 * S, 200)]
    with surveyed(*then, *first) as survey:
        assert survey.moved_at == -1
    with surveyed(*first, *then) as survey:
        moves = survey.trace.trace_clock_moves
        assert survey.moved_at == max([m.packet for m in moves if m.is_late], default=-1)
