"""Two machines, with the trace clock on the second: judged as the import treats them."""

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, remote_sync, snapshot, trace
from faults import START, S
from reading import opened

from tracetime import diagnose

AHEAD = 77 * S
HERE, THERE = None, 555


def rounds(client_ahead, host_ahead=0):
    return [
        ({BOOTTIME: START + k + client_ahead}, {BOOTTIME: START + k + host_ahead})
        for k in (S, S + 1000)
    ]


def machines(*more, fall=0, primary=BOOTTIME, snapshots=10):
    """The first machine's snapshots come first; those of the second move trace time to its clock.

    fall: by how much BOOTTIME of the second is too low in all but the first two snapshots.
    """
    packets = []
    for k in range(snapshots):
        t = START + k * S
        low = fall if k > 1 else 0
        packets += [
            snapshot({BOOTTIME: t, MONOTONIC: t - 5 * S}),
            event(t - 4 * S - S // 2, MONOTONIC),
            snapshot({BOOTTIME: t + AHEAD - low, MONOTONIC: t}, machine=THERE, primary=primary),
            event(t + S // 2, MONOTONIC, machine=THERE),
            event(t + S // 2, BOOTTIME),
        ]
    return trace(*packets, *more)


def findings(data):
    with opened(data) as read:
        found = [finding for finding in diagnose(read) if finding.code != "no-realtime"]
        return read.trace_clock, found, read.read_all()["status"].to_pylist()


def test_what_was_left_behind_is_told_with_the_clock_that_moved():
    clock, (told,), status = findings(machines())
    assert str(clock) == "BOOTTIME@machine1"
    assert (told.code, told.severity) == ("machine-not-synchronised", "error")
    assert told.title == "machine 0: nothing ties its clocks to BOOTTIME@machine1"
    assert status.count("no_path")
    assert "machine 1" in told.why
    assert "primary_trace_clock" in told.fix


@pytest.mark.parametrize("machine", [HERE, THERE])
def test_what_a_snapshot_says_twice_is_of_the_machine_that_says_it(machine):
    twice = snapshot([(BOOTTIME, START), (REALTIME, 5), (REALTIME, 6)], machine=machine)
    _, found, _ = findings(machines(twice))
    (told,) = [finding for finding in found if finding.code == "clock-twice-in-snapshot"]
    assert [str(clock) for clock in told.clocks] == ["REALTIME@machine1" if machine else "REALTIME"]


def test_a_trace_clock_that_falls_is_that_of_its_machine():
    _, found, _ = findings(machines(fall=50 * S))
    (told,) = [finding for finding in found if finding.code == "trace-clock-ran-backwards"]
    assert [str(clock) for clock in told.clocks] == ["BOOTTIME@machine1"]


def test_a_machine_that_was_synchronised_before_trace_time_moved_is_tied():
    synced = packet(machine=THERE, remote_clock_sync=remote_sync(rounds(AHEAD)))
    first = snapshot({BOOTTIME: START, MONOTONIC: START - 5 * S})
    clock, found, status = findings(trace(first, synced) + machines())
    assert str(clock) == "BOOTTIME@machine1"
    assert "machine-not-synchronised" not in {finding.code for finding in found}
    assert set(status) == {"resolved"}
