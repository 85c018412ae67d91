"""What the doctor says of events that have no trace time stays what it was."""

from __future__ import annotations

from itertools import product

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    event,
    packet,
    remote_sync,
    snapshot,
    trace,
)
from faults import GPU, NIC, START, S
from kept import check_kept
from reading import opened
from test_kept_doctor import lines

from tracetime import diagnose

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

AUX = 0xB103_0405
HOST, CLIENT, THIRD = None, 555, 8


def reported(data: bytes) -> list[str]:
    with opened(data, partial=True) as read:
        return list(lines(diagnose(read), ""))


def tied(machine: int | None = HOST, ahead: int = 0, *more: int) -> bytes:
    clocks = [BOOTTIME, MONOTONIC, *more]
    return snapshot({c: START + ahead + k for k, c in enumerate(clocks)}, machine=machine)


@pytest.mark.parametrize("events", [1, 2, 12])
def test_clocks_that_are_tied_to_nothing(events):
    """One finding a number, however many sequences use it."""
    found = {}
    for clocks, sequences in product(([NIC], [NIC, GPU], [64], [64, 65], [NIC, 64]), (1, 2, 3)):
        packets = [tied()]
        for sequence in range(1, sequences + 1):
            packets.append(snapshot(dict.fromkeys(clocks, 9 * S), sequence))
        for k in range(events):
            clock = clocks[k % len(clocks)]
            packets.append(event(9 * S + k, clock, 1 + k % sequences))
        found[f"{clocks} {sequences}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"tied to nothing {events}", found)


@pytest.mark.parametrize("events", [1, 3, 12])
def test_clocks_that_no_snapshot_has(events):
    found = {}
    for clocks in ([NIC], [NIC, GPU, AUX], [64], [127], [128], [64, NIC], [63, 65], [7]):
        for sequences, with_snapshot in product((1, 2), (True, False)):
            packets = [tied()] if with_snapshot else []
            for k in range(events):
                clock = clocks[k % len(clocks)]
                packets.append(event(9 * S + k, clock, 1 + k % sequences))
            found[f"{clocks} {sequences} {with_snapshot}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"no snapshot {events}", found)


@pytest.mark.parametrize("others", [1, 2, 5, 6])
def test_a_number_that_other_sequences_have(others):
    found = {}
    for clock, used, machine in product((64, 127), ([9], [9, 10], [1, 9]), (HOST, CLIENT)):
        packets = [
            snapshot({BOOTTIME: START, clock: 5}, sequence) for sequence in range(1, others + 1)
        ]
        packets += [
            event(5 + k, clock, sequence, machine=machine) for k, sequence in enumerate(used)
        ]
        found[f"{clock} {used} {machine}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"other sequences {others}", found)


@pytest.mark.parametrize("primary", [None, BOOTTIME, MONOTONIC])
def test_a_trace_clock_that_no_snapshot_has(primary):
    found = {}
    for clocks in ([NIC, GPU], [REALTIME, NIC], [MONOTONIC, NIC], [BOOTTIME]):
        for used in ([], [NIC], [NIC, GPU, NIC], [REALTIME, NIC, None]):
            packets = [snapshot(dict.fromkeys(clocks, 9 * S), primary=primary)]
            packets += [event(9 * S + k, clock) for k, clock in enumerate(used)]
            found[f"{clocks} {used}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"trace clock {primary}", found)


@pytest.mark.parametrize("events", [1, 2, 11])
def test_times_that_do_not_fit(events):
    found = {}
    most = 2**63 - 1
    for ahead, clocks in product((S, -S), ([NIC], [NIC, GPU])):
        readings = {BOOTTIME: START, **dict.fromkeys(clocks, START + ahead)}
        packets = [snapshot(readings), event(START + 5, NIC)]
        packets += [event(most - k, clocks[k % len(clocks)]) for k in range(events)]
        found[f"{ahead} {clocks}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"overflow {events}", found)


def synced(machine: int, ahead: int) -> bytes:
    rounds = [
        (
            {BOOTTIME: START + k + ahead, REALTIME: 9 * START + k + ahead},
            {BOOTTIME: START + k, REALTIME: 9 * START + k},
        )
        for k in (S, S + 1000)
    ]
    return packet(machine=machine, remote_clock_sync=remote_sync(rounds))


@pytest.mark.parametrize("moves", [False, True])
@pytest.mark.parametrize("links", ["none", "one", "both", "late"])
def test_machines_that_nothing_ties(links, moves):
    """By messages, by nothing, or only before trace time moved to another machine's clock."""
    found = {}
    for used in product((0, 1, 3), repeat=2):
        for clocks in ([BOOTTIME], [NIC], [BOOTTIME, NIC, 64, MONOTONIC], [REALTIME]):
            packets = [tied()]
            if links in ("one", "both"):
                packets.append(synced(CLIENT, 77 * S))
            if links == "both":
                packets.append(synced(THIRD, -40 * S))
            if moves:
                packets.append(event(START + 1, MONOTONIC))
            primary = BOOTTIME if moves else None
            for machine, ahead in ((CLIENT, 77 * S), (THIRD, -40 * S)):
                packets.append(
                    snapshot(
                        {BOOTTIME: START + ahead, MONOTONIC: START, NIC: 5 * S, 64: 9},
                        1,
                        primary,
                        machine=machine,
                    )
                )
            for machine, n in zip((CLIENT, THIRD), used, strict=True):
                for k in range(n):
                    clock = clocks[k % len(clocks)]
                    packets.append(event(START + k, clock, 1 + k % 2, machine=machine))
            packets += [event(START + 5, MONOTONIC), event(5, AUX)]
            if links == "late":
                packets.append(synced(CLIENT, 77 * S))
            found[f"{used} {clocks}"] = reported(trace(*packets))
    check_kept("doctor_lost", f"machines {links} {moves}", found)


@pytest.mark.parametrize("ring", [2, 3, 4])
def test_machines_that_are_tied_by_way_of_others(ring):
    """Each snapshot lists clocks of the machine it is of; messages tie each to the host alone."""
    found = {}
    numbers = [HOST, CLIENT, THIRD, 21, 34][: ring + 1]
    for left_out in range(1, ring + 1):
        packets = [tied(machine, k * S) for k, machine in enumerate(numbers)]
        for k, machine in enumerate(numbers):
            if k and k != left_out:
                packets.append(synced(machine, k * S))
        packets += [event(START + k * S, BOOTTIME, machine=m) for k, m in enumerate(numbers)]
        packets += [event(START + k * S, NIC, machine=m) for k, m in enumerate(numbers)]
        found[str(left_out)] = reported(trace(*packets))
    check_kept("doctor_lost", f"ring {ring}", found)
