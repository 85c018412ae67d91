"""Recordings of machines that slept, with their exchanges with peers."""

from __future__ import annotations

from random import Random

from building import event, trace
from suspended_machines import MS, US, Machine, S, Sleep

from tracetime._kernels.perfetto.packets import boot_packet, snapshot_packet
from tracetime.hosts.recording import exchange_packet, machine_packets
from tracetime.hosts.rounds import Exchange, Round

BOOTTIME, MONOTONIC = 6, 3
END_S = 120
SLEEP_BEGINS, SLEEP_ENDS = 59_500 * MS, 60_500 * MS


def boot(machine):
    return bytes([65 + machine.number]) * 16


def sleeper(off_ns):
    """Machine 1, which sleeps 1 s and counts that `off_ns` too much."""
    return Machine(1, [Sleep(SLEEP_BEGINS, SLEEP_ENDS, S + off_ns)])


def exchange(one, other, at_ns, random):
    """Two rounds of machine `one` with another, from a true time on."""
    rounds, at = [], at_ns
    for _ in range(2):
        times = [at]
        for _ in range(3):
            times.append(times[-1] + random.randrange(5 * US, 90 * US))
        who = (one, other, other, one)
        rounds.append(Round(*(m.boottime_ns(t) for m, t in zip(who, times, strict=True))))
        at = times[-1] + 10 * US
    first, second = rounds
    return Exchange(
        first.replied_ns, first.returned_ns, second.received_ns, second.returned_ns, tuple(rounds)
    )


def file_of(machine, peers=(), *, monotonic=True, between=(0, END_S)):
    """What a machine records: an event a second, and exchanges with peers.

    peers: (other machine, true times in s): an epoch each, and a machine of the file.
    """
    begin, end = (s * S for s in between)
    random = Random(machine.number)
    data = boot_packet(boot(machine))
    for at in range(begin, end, 5 * S):
        read = [(BOOTTIME, machine.boottime_ns(at), 1)]
        if monotonic:
            read.append((MONOTONIC, machine.monotonic_ns(at), 1))
        if machine.awake(at):
            data += snapshot_packet(1, BOOTTIME, read, b"")
    for number, (other, times) in enumerate(peers, 1):
        data += machine_packets(number, f"peer {other.number}", boot(other))
        for at in times:
            data += exchange_packet(number, exchange(machine, other, round(at * S), random))
    events = [at for at in range(begin, end, S) if machine.awake(at)]
    return data + trace(*(event(machine.boottime_ns(at), BOOTTIME) for at in events))
