"""Two machines, with the trace clock on the second: judged as the import treats them."""

import diagnosed
import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, pb, remote_sync, snapshot, trace
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


def test_what_was_left_behind_is_reported_with_the_clock_that_moved():
    clock, (root,), status = findings(machines())
    assert str(clock) == "BOOTTIME@machine1"
    assert (root.code, root.severity, root.events) == ("trace-clock-moved", "error", 1)
    (reported,) = root.consequences
    assert (reported.code, reported.severity) == ("machine-not-synchronised", "error")
    assert reported.title == "machine 0: nothing relates its clocks to BOOTTIME@machine1"
    assert status.count("no_path")
    assert "machine 1" in reported.why
    assert reported.fix == root.fix


@pytest.mark.parametrize("machine", [HERE, THERE])
def test_what_a_snapshot_says_twice_is_of_the_machine_that_says_it(machine):
    twice = snapshot([(BOOTTIME, START), (REALTIME, 5), (REALTIME, 6)], machine=machine)
    _, found, _ = findings(machines(twice))
    (reported,) = [finding for finding in found if finding.code == "clock-twice-in-snapshot"]
    assert [str(clock) for clock in reported.clocks] == [
        "REALTIME@machine1" if machine else "REALTIME"
    ]


def test_a_trace_clock_that_falls_is_that_of_its_machine():
    _, found, _ = findings(machines(fall=50 * S))
    (reported,) = [finding for finding in found if finding.code == "trace-clock-ran-backwards"]
    assert [str(clock) for clock in reported.clocks] == ["BOOTTIME@machine1"]


def test_a_machine_that_was_synchronised_before_trace_time_moved_is_tied():
    synced = packet(machine=THERE, remote_clock_sync=remote_sync(rounds(AHEAD)))
    first = snapshot({BOOTTIME: START, MONOTONIC: START - 5 * S})
    clock, found, status = findings(trace(first, synced) + machines())
    assert str(clock) == "BOOTTIME@machine1"
    assert "machine-not-synchronised" not in {finding.code for finding in found}
    assert set(status) == {"resolved"}


def reads(k, machine, ahead=0, clocks=(BOOTTIME, MONOTONIC), **more):
    at = START + k * S + ahead
    own = {BOOTTIME: at, MONOTONIC: at - 5 * S, REALTIME: at + 7 * S}
    return snapshot({clock: own[clock] for clock in clocks}, machine=machine, **more)


def sync(k, machine=THERE):
    return packet(machine=machine, remote_clock_sync=remote_sync(rounds(k * S + AHEAD, k * S)))


def test_events_from_before_trace_time_moved_are_one_finding():
    """Each machine's events are read in its own BOOTTIME, which was trace time then."""
    third = 8
    data = trace(
        reads(0, HERE),
        event(START + 1, BOOTTIME),
        reads(0, THERE, AHEAD),
        event(START + AHEAD + 1, BOOTTIME, machine=THERE),
        reads(0, third, 2 * AHEAD),
        event(START + 2 * AHEAD + 1, BOOTTIME, machine=third),
    )
    clock, (reported,), status = findings(data)
    assert str(clock) == "BOOTTIME@machine2"
    assert set(status) == {"resolved"}
    assert (reported.code, reported.severity, reported.consequences) == (
        "trace-clock-moved",
        "warning",
        (),
    )
    assert (reported.events, reported.packets) == (2, (2, 4))
    assert reported.title == (
        "the trace clock changed 2 times, from BOOTTIME to BOOTTIME@machine2 in the end: 2 events "
        "converted to an earlier trace clock"
    )


def test_how_far_events_from_before_trace_time_moved_are_off():
    """The first event is placed by the host's clock, the other by one that is 77 s ahead."""
    data = trace(
        reads(0, HERE),
        sync(0),
        event(START + S // 2, BOOTTIME),
        reads(0, THERE, AHEAD),
        event(START + AHEAD + S, BOOTTIME, machine=THERE),
    )
    _, found, status = findings(data)
    reported = found[0]
    assert set(status) == {"resolved"}
    assert (reported.code, reported.severity, reported.events) == ("trace-clock-moved", "error", 1)
    assert abs(reported.worst_ns - AHEAD) < 2000
    assert reported.title.endswith("1 event from before off by up to 1 min 17 s")


def test_what_is_said_of_trace_time_that_moved_mends_it():
    later = START + 2 * S
    data = trace(
        reads(0, HERE),
        event(START + S, BOOTTIME),
        sync(0),
        event(later + AHEAD, BOOTTIME, machine=THERE),
        reads(2, THERE, AHEAD),
        event(later + 1, BOOTTIME),
        event(later + AHEAD + 1, BOOTTIME, machine=THERE),
    )
    clock, found, status = findings(data)
    assert str(clock) == "BOOTTIME"
    assert set(status) == {"resolved"}
    assert found == []


def test_trace_time_that_moves_before_any_event_harms_none():
    data = trace(
        reads(0, HERE),
        reads(0, THERE, AHEAD),
        reads(0, HERE),
        event(START + 9, BOOTTIME),
    )
    clock, found, _ = findings(data)
    assert str(clock) == "BOOTTIME"
    assert found == []


def test_messages_of_the_trace_clocks_own_machine_are_no_fault_of_a_snapshot():
    syncs = [sync(k) for k in range(10)]
    clock, (reported,), _ = findings(machines(*syncs))
    assert str(clock) == "BOOTTIME@machine1"
    assert (reported.code, reported.severity) == ("trace-clock-moved", "error")
    assert [finding.code for finding in reported.consequences] == ["machine-not-synchronised"]
    assert "10 RemoteClockSync readings" in reported.why


def test_messages_of_the_trace_clocks_own_machine_harm_none_where_it_has_all_events():
    data = trace(
        reads(0, HERE),
        reads(0, THERE, AHEAD),
        sync(0),
        event(START + AHEAD + S, BOOTTIME, machine=THERE),
    )
    clock, found, status = findings(data)
    assert (str(clock), status) == ("BOOTTIME@machine1", ["resolved"])
    assert {finding.severity for finding in found} == {"info"}


def test_very_many_messages_hide_no_fault():
    twice = snapshot([(BOOTTIME, START), (REALTIME, 5), (REALTIME, 6)])
    _, found, _ = findings(machines(*[sync(k) for k in range(120)], twice))
    (reported,) = [finding for finding in found if finding.code == "clock-twice-in-snapshot"]
    assert [str(clock) for clock in reported.clocks] == ["REALTIME"]
    assert "1 snapshot rejected" in reported.title


def test_a_message_that_reads_a_clock_twice_is_reported():
    """That one is the client's own fault."""
    round_ = ([(BOOTTIME, START + AHEAD), (BOOTTIME, START + AHEAD)], {BOOTTIME: START})
    own = packet(machine=THERE, remote_clock_sync=remote_sync([round_]))
    _, found, _ = findings(machines(own))
    assert "clock-twice-in-snapshot" in {finding.code for finding in found}


def test_messages_of_a_third_machine_are_reported_with_the_clock_that_moved():
    """Perfetto takes the host's readings in them for those of the trace clock's machine."""
    clock, found, _ = findings(machines(sync(9, machine=8)))
    assert str(clock) == "BOOTTIME@machine1"
    assert found[0].code == "trace-clock-moved"
    assert "1 RemoteClockSync reading" in found[0].why


def interleaved(first, second, clocks=(BOOTTIME, MONOTONIC), begin=()):
    packets = [*begin]
    for k in range(10):
        at = START + k * S + S // 2
        packets += [
            reads(k, first, AHEAD, clocks),
            event(at + AHEAD, BOOTTIME, machine=first),
            reads(k, second, 0, clocks),
            event(at, BOOTTIME, machine=second),
        ]
    return trace(*packets)


@pytest.mark.parametrize("clocks", [(BOOTTIME,), (BOOTTIME, MONOTONIC, REALTIME)])
def test_a_machine_that_is_taken_for_the_host_is_reported(clocks):
    """The first packet names a machine, so what names none counts as that machine's."""
    clock, found, _ = findings(interleaved(THERE, HERE, clocks))
    reported = found[0]
    assert str(clock) == "BOOTTIME"
    assert [finding.code for finding in found if finding.severity != "info"] == ["machines-mixed"]
    assert "machine_id 555" in reported.title
    assert reported.packets == (2,)
    assert "names no machine" in reported.fix


def test_each_of_two_machines_that_are_read_as_one_may_say_what_it_is():
    system = [packet(machine=m, system_info=pb.SystemInfo()) for m in (THERE, HERE)]
    _, found, _ = findings(interleaved(THERE, HERE, begin=system))
    assert found[0].code == "machines-mixed"


def test_what_the_finding_says_mends_it():
    plain = interleaved(THERE, HERE)
    assert "machines-mixed" in codes(plain)
    assert "machines-mixed" not in codes(trace(packet(seq=1)) + plain)
    assert "machines-mixed" in codes(trace(packet(synchronization_marker=b"mark")) + plain)
    assert "machines-mixed" not in codes(interleaved(THERE, 8))


def codes(data):
    return {finding.code for finding in findings(data)[1]}


def test_two_recordings_of_which_one_names_its_machine_are_joined():
    named = [reads(k, THERE, AHEAD) for k in range(10)]
    plain = [reads(k, HERE) for k in range(10)]
    _, found, _ = findings(trace(*named, *plain))
    assert found[0].code in ("recordings-joined", "file-out-of-order")


def test_a_machine_that_every_packet_names_may_be_out_of_order():
    packets = [reads(k, THERE) for k in (*range(5, 10), *range(5))]
    _, found, _ = findings(trace(*packets))
    assert found[0].code == "file-out-of-order"


@pytest.mark.parametrize("trace_clock_here", [True, False])
def test_events_behind_a_trace_clock_that_fell_are_counted_whichever_machine_has_it(
    trace_clock_here,
):
    """What is read in it is placed by itself; BOOTTIME of the other machine is another clock."""
    packets = [reads(0, HERE, clocks=(BOOTTIME,)), sync(-2), reads(0, THERE, AHEAD, (BOOTTIME,))]
    if trace_clock_here:
        packets.append(reads(0, HERE, clocks=(BOOTTIME,)))
    for k in range(1, 9):
        both = [(HERE, 0), (THERE, AHEAD)]
        for machine, ahead in both if trace_clock_here else both[::-1]:
            at = START + k * S + ahead
            if (machine == HERE) == trace_clock_here:
                fell = at - (50 * S if k > 1 else 0)
                packets += [
                    snapshot({BOOTTIME: fell, MONOTONIC: at - 100 * S}, machine=machine),
                    event(at - 100 * S, MONOTONIC, machine=machine),
                ]
            packets.append(event(at, BOOTTIME, machine=machine))
    clock, found, status = findings(trace(*packets))
    assert str(clock) == ("BOOTTIME" if trace_clock_here else "BOOTTIME@machine1")
    assert set(status) == {"resolved"}
    (reported,) = [f for f in found if f.code == "trace-clock-ran-backwards"]
    assert reported.clocks == (clock,)
    # Of snapshots 2 to 8, which are lost: an event in MONOTONIC, and one in the other's BOOTTIME.
    assert (reported.severity, reported.events) == ("error", 14)


def two_machines(synchronised: bool) -> bytes:
    """The other machine's clocks are 77 s ahead, its REALTIME is 5 minutes ahead."""
    rounds = [
        (
            {BOOTTIME: START + k + 77 * S, REALTIME: 7 * START + k + 300 * S},
            {BOOTTIME: START + k, REALTIME: 7 * START + k},
        )
        for k in (S, 2 * S)
    ]
    packets = []
    for k in range(5):
        t = START + k * S
        here = {BOOTTIME: t, MONOTONIC: t - 5 * S, REALTIME: 7 * START + k * S}
        there = {BOOTTIME: t + 77 * S, MONOTONIC: t, REALTIME: 7 * START + (300 + k) * S}
        packets.append(snapshot(here))
        if synchronised and not k:
            # Ahead of the machine's own snapshot, which moves trace time to its own clock.
            packets.append(packet(machine=555, remote_clock_sync=remote_sync(rounds)))
            packets.append(event(there[BOOTTIME], BOOTTIME, machine=555))
        packets += [
            snapshot(there, machine=555),
            event(t - 4 * S, MONOTONIC),
            event(t + S, MONOTONIC, machine=555),
        ]
    return trace(*packets)


def test_machines_that_only_a_rule_ties_are_reported_although_each_has_snapshots():
    found = diagnosed.findings(two_machines(False))
    assert found[0].code == "machine-not-synchronised"
    assert found[0].severity == "warning"
    codes = [finding.code for finding in diagnosed.every(diagnosed.findings(two_machines(True)))]
    assert "machine-not-synchronised" not in codes
