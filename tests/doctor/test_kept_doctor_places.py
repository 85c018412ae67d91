"""What the doctor says of events beyond snapshots, and of how snapshots are written, stays what it
was: at each limit and beside it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import product

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    TRACE_FILE,
    event,
    packet,
    remote_sync,
    snapshot,
    trace,
)
from faults import GPU, NIC, SEQUENCE, START, TSC, S
from kept import check_kept
from reading import opened
from test_doctor_machines import AHEAD, THERE, machines, rounds
from test_kept_doctor import lines

from tracetime import ClockDomain, diagnose

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

REALTIME_COARSE = 2
AUX = 0xB103_0405


def reported(data: bytes, tolerance_ns: int = 1_000_000, **options) -> list[str]:
    with opened(data, partial=True, **options) as read:
        return list(lines(diagnose(read, tolerance_ns), ""))


def around(value: int) -> list[int]:
    return [value - 1, value, value + 1]


def beside(clock: int, n: int = 4, ppm: int = 0, zero: int = 7 * S, gap_ns: int = S) -> list:
    return [
        snapshot(
            {BOOTTIME: START + k * gap_ns, clock: zero + k * gap_ns * (10**6 + ppm) // 10**6},
            SEQUENCE,
        )
        for k in range(n)
    ]


# Events beyond the snapshots


@pytest.mark.parametrize("clock", [NIC, MONOTONIC, 64, TSC, BOOTTIME, TRACE_FILE])
@pytest.mark.parametrize("max_tubes", [3000, 1])
def test_events_before_the_first_and_after_the_last_snapshot(clock, max_tubes):
    """From a second on; some are within."""
    found = {}
    zero = START if clock == BOOTTIME else 7000 * S
    packets = beside(clock, zero=zero) if clock != BOOTTIME else beside(NIC)
    # Two tubes are one too many.
    packets += beside(GPU)
    for before, after in [
        *product((0, S), around(S)),
        *product(around(S), (0, 3 * S)),
        (500 * S, 900 * S),
    ]:
        last = zero + 3 * S
        data = trace(
            *packets,
            event(zero - before, clock, SEQUENCE),
            event(zero - 1, clock, SEQUENCE),
            event(zero, clock, SEQUENCE),
            event(zero + S // 2, clock, SEQUENCE),
            event(last, clock, SEQUENCE),
            event(last + 1, clock, SEQUENCE),
            event(last + after, clock, SEQUENCE),
            event(last + after // 2, clock, SEQUENCE),
            event(5, GPU, SEQUENCE),
        )
        found[f"{before} {after}"] = reported(data, 100_000, max_tubes=max_tubes)
    check_kept("doctor_places", f"beyond {clock} {max_tubes}", found)


@pytest.mark.parametrize("ppm", [0, 40, -300, 5_000])
@pytest.mark.parametrize("n", [1, 2, 4])
def test_how_far_floor_is_off_beyond_the_snapshots(n, ppm):
    """By the tube, or by the rate or the limits where there may be no more tubes."""
    found = {}
    for max_tubes, away_s in product((3000, 1), (2, 30, 400)):
        data = trace(
            *beside(NIC, n, ppm),
            *beside(GPU, n, 5),
            *beside(AUX, 2),
            event(7 * S + (n - 1 + away_s) * S, NIC, SEQUENCE),
            event(7 * S + (n - 1 + away_s) * S, GPU, SEQUENCE),
        )
        every = reported(data, 1_000, max_tubes=max_tubes)
        found[f"{max_tubes} {away_s}"] = every
        sizes = {int(one.split(" | ")[4]) for one in every if " used-after" in one}
        for size in sorted(sizes):
            for tolerance_ns in around(size)[:2]:
                found[f"{max_tubes} {away_s} {tolerance_ns}"] = reported(
                    data, tolerance_ns, max_tubes=max_tubes
                )
    check_kept("doctor_places", f"off {n} {ppm}", found)


@pytest.mark.parametrize("max_tubes", [3000, 1])
def test_the_least_that_floor_is_off_decides_how_severe_it_is(max_tubes):
    """A tenth less than what the rate makes it, or the near end of its bar."""
    found = {}
    data = trace(
        *beside(NIC, 6, 50),
        *beside(GPU, 6, 50),
        event(7 * S + 405 * S, NIC, SEQUENCE),
        event(7 * S + 305 * S, GPU, SEQUENCE),
    )
    for tolerance_ns in [
        *range(10_000_000, 24_000_000, 500_000),
        *around(18_000_000),
        *around(22_000_000),
        *around(13_500_000),
        *around(16_500_000),
    ]:
        found[str(tolerance_ns)] = reported(data, tolerance_ns, max_tubes=max_tubes)
    check_kept("doctor_places", f"least {max_tubes}", found)


@pytest.mark.parametrize("most", [0, 1, 2, 4, 5])
def test_events_of_so_many_clocks_are_placed_by_the_tube(most, monkeypatch):
    """Those that have the most; for others the rate shows how far off floor is."""
    # The package has a function of that name.
    placement = import_module("tracetime.doctor.placement")
    assert placement._MOST_BY_TUBE == 200
    monkeypatch.setattr(placement, "_MOST_BY_TUBE", most)
    clocks = [0xA000_0000 + k for k in range(5)]
    packets = []
    for k in range(4):
        readings = {c: 7 * S + k * S + k * 10_000 * (1 + i) for i, c in enumerate(clocks)}
        packets.append(snapshot({BOOTTIME: START + k * S} | readings))
    for clock, events in zip(clocks, (2, 5, 1, 5, 3), strict=True):
        packets += [event(7 * S + 100 * S, clock)] * events
    check_kept("doctor_places", f"by tube {most}", reported(trace(*packets), 1_000))


@pytest.mark.parametrize("away_s", [-1000, -5, 20, 5000])
def test_events_beyond_the_snapshots_of_another_machine(away_s):
    """The machine of the trace clock, and the one that it is compared with."""
    found = {}
    synced = packet(machine=THERE, remote_clock_sync=remote_sync(rounds(AHEAD)))
    first = snapshot({BOOTTIME: START, MONOTONIC: START - 5 * S})
    for tie, machine in product((trace(first, synced), trace(first)), (None, THERE)):
        for clock in (BOOTTIME, MONOTONIC):
            zero = (START + AHEAD if clock == BOOTTIME else START) if machine else START
            far = trace(event(zero + away_s * S, clock, machine=machine))
            found[f"{len(tie)} {machine} {clock}"] = reported(tie + machines() + far, 1_000)
    check_kept("doctor_places", f"another machine {away_s}", found)


def test_a_clock_whose_rate_nobody_can_know_is_not_judged():
    """One snapshot does not say what its ticks last."""
    found = {}
    for n, max_tubes in product((1, 2, 4), (3000, 1)):
        data = trace(*beside(GPU, 3), *beside(NIC, n), event(500 * S, NIC), event(500 * S, GPU))
        domains = [ClockDomain(NIC, ns_per_tick=None)]
        found[f"{n} {max_tubes}"] = reported(data, 1_000, domains=domains, max_tubes=max_tubes)
    check_kept("doctor_places", "no rate", found)


@pytest.mark.parametrize("clock", [MONOTONIC, NIC, REALTIME])
def test_events_before_the_zero_of_trace_time(clock):
    found = {}
    for behind in ([], [0], [1], [0, 1], [5, 900 * S, 30 * S], [900 * S, 1]):
        for primary in (BOOTTIME, MONOTONIC):
            packets = [
                snapshot({BOOTTIME: 50 * S + k * S, clock: 7000 * S + k * S}, primary=primary)
                for k in range(3)
            ]
            zero = 7000 * S if clock == primary else 7000 * S - 50 * S
            packets += [event(max(zero - by, 0), clock) for by in behind]
            packets += [event(7000 * S + 5, NIC)] if clock != NIC else []
            found[f"{behind} {primary}"] = reported(trace(*packets))
    check_kept("doctor_places", f"negative {clock}", found)


@pytest.mark.parametrize("count", [1, 2, 12])
def test_events_whose_state_was_lost(count):
    found = {}
    for sequences, clocks in product((1, 2), ([BOOTTIME], [BOOTTIME, NIC], [AUX])):
        packets = [*beside(NIC)]
        for k in range(count):
            packets.append(
                event(
                    START + k,
                    clocks[k % len(clocks)],
                    1 + k % sequences,
                    needs_state=True,
                    dropped=int(k == 0),
                )
            )
        packets.append(event(START, BOOTTIME, 1, cleared=True))
        packets.append(event(START + 1, BOOTTIME, 1, needs_state=True))
        found[f"{sequences} {clocks}"] = reported(trace(*packets))
    check_kept("doctor_places", f"state {count}", found)


@pytest.mark.parametrize("late", [1, 2, 5])
def test_snapshots_that_come_after_events_from_after_them(late):
    found = {}
    for ppm, steps in product((0, 300, 3_000), (0, 5_000_000, -5_000_000)):
        packets = []
        for k in range(12):
            t = k * S
            nic = 70 * S + t + t * ppm // 10**6 + (steps if k > 5 else 0)
            gpu = 90 * S + t + (steps // 2 if k > 5 else 0)
            made = snapshot({BOOTTIME: START + t, NIC: nic, GPU: gpu})
            events = [event(nic + S // 2, NIC), event(gpu + S // 2, GPU), event(START + t)]
            packets.append([made, *events] if k != 6 else [None, *events])
        # The seventh comes as many intervals later.
        behind = snapshot({BOOTTIME: START + 6 * S, NIC: 76 * S + steps, GPU: 96 * S + steps // 2})
        order = [one for k in range(12) for one in (*packets[k], behind if k == 6 + late else None)]
        found[f"{ppm} {steps}"] = reported(trace(*(one for one in order if one is not None)))
    check_kept("doctor_places", f"late {late}", found)


# How snapshots are written


def with_faults(kinds: Sequence[str], n: int, total: int = 10) -> bytes:
    """In each snapshot from the second on, one of these faults, n in all."""
    packets = []
    for k in range(total):
        readings = [(BOOTTIME, START + k * S), (NIC, 7 * S + k * S), (AUX, 9 * S + k * S)]
        kind = kinds[k % len(kinds)] if 2 <= k < 2 + n else ""
        if kind == "unit":
            readings[1] = (NIC, (7 * S + k * S, 1000))
        elif kind == "other unit":
            readings[2] = (AUX, (9 * S + k * S, 7))
        elif kind == "incremental":
            readings[1] = (NIC, (7 * S + k * S, 1, True))
        elif kind == "twice":
            readings.append((NIC, 5))
        elif kind == "fell":
            readings[0] = (BOOTTIME, START - (k + 1) * S)
        elif kind == "overflow":
            readings[1] = (NIC, (1 << 62, 1))
            readings[2] = (AUX, (1 << 63, 1))
        elif kind == "trace clock":
            readings[0] = (BOOTTIME, (START // 1000 + k, 1000))
        packets.append(snapshot(readings, SEQUENCE))
        packets += [event(7 * S + k * S + 5, NIC), event(9 * S + k * S + 5, AUX)]
    return trace(*packets)


KINDS = ["unit", "incremental", "twice", "fell", "overflow", "trace clock"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_fault_of_snapshots_is_counted(kind):
    found = {str(n): reported(with_faults([kind], n)) for n in (1, 2, 8)}
    found["and units"] = reported(with_faults([kind, "other unit"], 4))
    found["and a fall"] = reported(with_faults([kind, "fell"], 8))
    # A hundred are kept.
    for n in (99, 100, 101, 130):
        found[f"of {n}"] = reported(with_faults([kind], n, 140))
    for n in (101, 130):
        found[f"of {n} with others"] = reported(with_faults([kind, "other unit"], n, 140))
    check_kept("doctor_places", f"fault {kind}", found)


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME])
@pytest.mark.parametrize("unit", [1, 2, 1000])
def test_a_trace_clock_that_never_counted_ns(clock, unit):
    packets = [
        snapshot({clock: (START // unit + k, unit), NIC: 7 * S + k}, primary=clock)
        for k in range(3)
    ]
    data = trace(*packets, event(7 * S, NIC), event(START // unit, clock))
    check_kept("doctor_places", f"unit {clock} {unit}", reported(data))


@pytest.mark.parametrize("clock", [BOOTTIME, MONOTONIC, MONOTONIC_RAW, REALTIME])
def test_a_trace_clock_that_falls(clock):
    """By the tolerance or less no harm is done; events count from one lost snapshot to the next."""
    found = {}
    for fall in (500_000, *around(1_000_000), 5 * S, 100 * S):
        for lost in (
            [4],
            [4, 5],
            [4, 5, 6, 9],
            [4, 6, 8],
            [7, 8, 9],
            [9],
            [8, 9],
            [1, 9],
            [2, 5, 6],
            [2, 4, 5, 6, 8, 9],
        ):
            packets = []
            for k in range(10):
                # Behind the reading before it by so much.
                at = START + k * S - (S + fall if k in lost else 0)
                packets.append(snapshot({clock: at, NIC: 7 * S + k * S}, primary=clock))
                packets += [event(7 * S + k * S + 5, NIC), event(at + 5, clock)]
            found[f"{fall} {lost}"] = reported(trace(*packets))
    check_kept("doctor_places", f"falls {clock}", found)


@pytest.mark.parametrize("sequences", [1, 2, 3, 7])
def test_a_fault_of_one_number_on_several_sequences(sequences):
    packets = [snapshot({BOOTTIME: START})]
    for unit in (1000, 7):
        for sequence in range(1, sequences + 1):
            packets.append(snapshot({BOOTTIME: START, 64: (5, unit)}, sequence))
    packets += [event(6, 64, sequence) for sequence in range(1, sequences + 1)]
    check_kept("doctor_places", f"fault on {sequences}", reported(trace(*packets)))


@pytest.mark.parametrize("clock", [127, 128, 129, 0x7FFF_FFFF, 0x8000_0000])
def test_numbers_that_anyone_may_choose(clock):
    found = {}
    for events, more in product((0, 2), ([], [200], [200, 300])):
        readings = {BOOTTIME: START, clock: 7 * S} | dict.fromkeys(more, 9 * S)
        packets = [snapshot(readings, SEQUENCE)]
        packets += [event(7 * S + k, clock, SEQUENCE) for k in range(events)]
        packets += [event(9 * S + k, one, 3 + k) for k, one in enumerate(more)]
        # One that no snapshot has.
        packets += [event(5, 400, SEQUENCE)] if more else []
        found[f"{events} {more}"] = reported(trace(*packets))
    check_kept("doctor_places", f"ad hoc {clock}", found)


@pytest.mark.parametrize("name", [REALTIME, MONOTONIC, BOOTTIME])
def test_a_trace_clock_named_after_the_first_event(name):
    found = {}
    for first in (None, BOOTTIME, MONOTONIC):
        readings = {BOOTTIME: START, MONOTONIC: START - S, REALTIME: 17 * START}
        for times in (1, 2):
            later = [snapshot(readings, primary=name)] * times
            found[f"{first} {times}"] = reported(
                trace(snapshot(readings, primary=first), event(START + 5), *later, event(START + 6))
            )
    check_kept("doctor_places", f"named late {name}", found)


@pytest.mark.parametrize("used", [[], [NIC], [NIC, GPU, GPU, BOOTTIME], [AUX]])
def test_paths_that_differ_by_about_the_tolerance(used):
    """The direct way and the one over another clock; and two such loops."""
    found = {}
    for gap in (0, 50_000, 900_000, 1_100_000, 3_000_000, 3_200_000, 5 * S):
        for reverse in (False, True):
            packets = []
            for k in range(4):
                t = k * S
                pairs = [
                    snapshot({BOOTTIME: START + t, NIC: 7 * S + t}),
                    snapshot({NIC: 7 * S + t, GPU: 9 * S + t}),
                    snapshot({BOOTTIME: START + t, GPU: 9 * S + t + gap}),
                    snapshot({NIC: 7 * S + t, AUX: 11 * S + t}),
                    snapshot({GPU: 9 * S + t, AUX: 11 * S + t + gap // 2 * 3}),
                ]
                packets += reversed(pairs) if reverse else pairs
            starts = {NIC: 7 * S, GPU: 9 * S, AUX: 11 * S, BOOTTIME: START}
            packets += [event(starts[clock] + k, clock) for k, clock in enumerate(used)]
            every = reported(trace(*packets))
            found[f"{gap} {reverse}"] = every
            sizes = {int(one.split(" | ")[4]) for one in every if "paths-disagree" in one}
            for size in sorted(sizes):
                found[f"{gap} {reverse} by {size}"] = reported(trace(*packets), size)
                found[f"{gap} {reverse} by less"] = reported(trace(*packets), size - 1)
    check_kept("doctor_places", f"loops {used}", found)


@pytest.mark.parametrize("used", [0, 1, 3])
def test_paths_of_several_hops(used):
    found = {}
    for hops in (1, 2, 3, 4, 5):
        chain = [BOOTTIME, NIC, GPU, AUX, 0xB200_0001, 0xB300_0001][: hops + 1]
        packets = [
            snapshot({one: START + k * S, other: START + k * S})
            for k in range(3)
            for one, other in zip(chain, chain[1:], strict=False)
        ]
        packets += [event(START + k, chain[-1], 1 + k) for k in range(used)]
        found[str(hops)] = reported(trace(*packets))
    check_kept("doctor_places", f"hops {used}", found)


def test_what_is_missing():
    found = {}
    for name, packets in {
        "nothing": [event(5)],
        "events that name a clock": [event(5, BOOTTIME), event(6, NIC), event(7)],
        "events that name none": [event(5, None), event(6, None)],
        "another clock": [event(5, NIC)],
        "no realtime": [snapshot({BOOTTIME: START, MONOTONIC: 5}), event(START)],
        "realtime": [snapshot({BOOTTIME: START, REALTIME: 5}), event(START)],
        "coarse realtime": [snapshot({BOOTTIME: START, REALTIME_COARSE: 5}), event(START)],
        "boottime at 0": [snapshot({BOOTTIME: 0})],
        "at fault": [snapshot([(NIC, 5), (NIC, 6)]), event(5, NIC)],
    }.items():
        found[name] = reported(trace(*packets))
    check_kept("doctor_places", "missing", found)


@pytest.mark.parametrize("clocks", [[REALTIME_COARSE], [MONOTONIC_COARSE], [2, 4], [4, MONOTONIC]])
def test_coarse_clocks_and_what_they_step_by(clocks):
    found = {}
    for tick_ns, used in product((None, 1_000_000, 10_000_000.5), (0, 1, 2)):
        readings = {clock: 8_000_000 * 1000 * clock for clock in clocks}
        packets = [
            snapshot({BOOTTIME: START + k * S} | {c: at + k * S for c, at in readings.items()})
            for k in range(3)
        ]
        packets += [event(readings[c] + k, c) for k in range(used) for c in clocks[: k + 1]]
        domains = [] if tick_ns is None else [ClockDomain(clocks[0], tick_ns=tick_ns)]
        found[f"{tick_ns} {used}"] = reported(trace(*packets), domains=domains)
    check_kept("doctor_places", f"coarse {clocks}", found)


@pytest.mark.parametrize("n", [20, 40])
def test_clocks_that_show_their_ticks(n):
    found = {}
    for ticks in (
        {NIC: 10_000_000},
        {NIC: 1_000, GPU: 4_000_000},
        {GPU: 4_000_000, NIC: 7_000_000},
    ):
        for used in ([], [NIC], [GPU], [GPU, NIC, NIC]):
            packets = []
            for k in range(n):
                t = k * S + k * k * 12_345_679 % 300_000_007
                read = {c: (7 * S + t) // tick * tick for c, tick in ticks.items()}
                packets.append(snapshot({BOOTTIME: START + t} | read))
            packets += [event(7 * S + 40_000_000 * k, c) for k, c in enumerate(used)]
            found[f"{ticks} {used}"] = reported(trace(*packets))
    check_kept("doctor_places", f"shown {n}", found)


@pytest.mark.parametrize("cut", [1, 3, 10, 10_000])
def test_what_cannot_be_read_on(cut):
    found = {}
    for begin, more in product(
        ([], [*beside(NIC), event(7 * S, NIC)]), (b"", b"\x0b", b"\x0a\xff")
    ):
        data = trace(*begin, event(START + 5), event(START + 6))
        found[f"{len(begin)} {more}"] = reported(data[: max(len(data) - cut, 1)] + more)
    for name, last in {
        "event": event(5, 64, None),
        "snapshot": snapshot({64: 5}, None),
        "on 3": event(5, 64, 3),
    }.items():
        found[f"64 {name}"] = reported(trace(*beside(NIC), last, event(START + 6)))
    check_kept("doctor_places", f"cut {cut}", found)
