"""Traces of several machines: whose clocks are whose, and how they are related.

PTR is ProtoTraceReader (src/trace_processor/importers/proto/proto_trace_reader.cc), CT is
ClockTracker (src/trace_processor/importers/common/clock_tracker.cc).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    REALTIME,
    TRACE_FILE,
    event,
    ftrace,
    heap_dumps,
    packet,
    power_rails,
    remote_sync,
    service_event,
    snapshot,
    trace,
)
from reading import items, opened, placed, read

from tracetime import ClockId, TraceError

UNKNOWN = "unknown_source_clock"
HOST = snapshot({BOOTTIME: 2000, MONOTONIC: 1000})
# Of a machine, without moving trace time: a snapshot with TRACE_FILE sets no clock.
QUIET = {TRACE_FILE: 0}


def machine(number: int, clocks: dict[int, Any], **more: Any) -> Any:
    return snapshot(clocks, machine=number, **more)


# Scopes (ClockId::Qualify)


def test_a_machines_clocks_are_its_own():
    data = trace(
        HOST,
        machine(7, {BOOTTIME: 100, MONOTONIC: 50}),
        event(60, MONOTONIC, machine=7),
        event(1100, MONOTONIC),
    )
    assert [(row.machine, row.clock) for row in read(data)] == [(7, MONOTONIC), (0, MONOTONIC)]
    assert placed(data)[2] == 110


def test_a_machines_sequences_are_its_own():
    """sequence_state_ is a reader's, and there is a reader for each machine"""
    data = trace(
        HOST,
        packet(seq=1, cleared=True, default_clock=MONOTONIC),
        event(5, 0, needs_state=True, machine=7),
        event(1100, seq=1, needs_state=True),
    )
    assert placed(data) == {2: "skipped_incremental_state", 3: 2100}


def test_a_sequences_clock_on_two_machines():
    data = trace(
        HOST,
        snapshot({64: 0, BOOTTIME: 5000}, seq=1),
        machine(7, {64: 0, BOOTTIME: 6000, **QUIET}, seq=1),
        event(5, 64, machine=7),
        event(5, 64),
    )
    # The machine's BOOTTIME is equated with the host's at 0.
    assert placed(data) == {3: 6005, 4: 5005}


def test_a_new_machine_has_the_hosts_default_clock_of_that_moment():
    """PTR::CreateRemoteMachineReader"""
    mono = snapshot({MONOTONIC: 1000, BOOTTIME: 2000}, primary=MONOTONIC)
    data = trace(mono, event(5, machine=7), HOST, event(6, machine=7), event(7, machine=8))
    assert [row.clock for row in read(data)] == [MONOTONIC, MONOTONIC, BOOTTIME]


def test_each_machine_adds_its_own_ftrace_snapshots():
    """latest_ftrace_clock_snapshot_ts_ is the tokenizer's, one a machine"""
    bundle = ftrace([110], clock=2, snapshot=(100, 9000))
    data = trace(
        HOST, packet(seq=3, ftrace_events=bundle), packet(seq=3, machine=7, ftrace_events=bundle)
    )
    assert items(data, "ftrace_event") == [9010, 9010]


def test_the_latest_time_of_all_machines_counts():
    """sorter->max_timestamp() is everyone's"""
    rails = packet(seq=1, machine=7, power_rails=power_rails([None]))
    assert items(trace(HOST, event(5000), rails), "power_rail") == [5000]


def test_machines_are_numbered_in_order_of_appearance():
    data = trace(HOST, event(5, machine=30), event(6, machine=9), event(7, machine=30))
    with opened(data) as opened_trace:
        assert opened_trace.machines == [0, 30, 9]
        clocks = {info.clock for info in opened_trace.clocks.clocks()}
    assert {ClockId(BOOTTIME, machine=1), ClockId(BOOTTIME, machine=2)} <= clocks


# Adoption (PTR::ResolveAdoptedMachine)


def test_a_machine_ahead_of_every_host_packet_is_the_host():
    data = trace(
        machine(7, {BOOTTIME: 2000, MONOTONIC: 1000}),
        event(1100, MONOTONIC),
        event(1200, MONOTONIC, machine=7),
    )
    assert placed(data) == {1: 2100, 2: 2200}
    assert [row.machine for row in read(data)] == [0, 7]
    with opened(data) as opened_trace:
        assert opened_trace.machines == [7]
        assert opened_trace.trace_clock == ClockId(BOOTTIME)


def test_a_synchronization_marker_does_not_use_the_host():
    marker = packet(synchronization_marker=b"mark")
    data = trace(marker, machine(7, {BOOTTIME: 2000, MONOTONIC: 1000}), event(1100, MONOTONIC))
    assert placed(data) == {2: 2100}


def test_only_the_first_machine_is_adopted():
    data = trace(machine(7, {BOOTTIME: 2000, MONOTONIC: 1000}), event(5, MONOTONIC, machine=8))
    assert placed(data) == {1: UNKNOWN}


def test_after_a_host_packet_no_machine_is_adopted():
    data = trace(
        packet(seq=1), machine(7, {BOOTTIME: 2000, MONOTONIC: 1000}), event(1100, MONOTONIC)
    )
    assert placed(data) == {2: UNKNOWN}


# Trace time (CT::SetGlobalClock)


def test_a_machines_first_snapshot_can_move_trace_time():
    """num_conversions_ is a tracker's, and there is a tracker for each machine"""
    data = trace(HOST, event(2100), machine(7, {BOOTTIME: 100}), event(105, machine=7))
    with opened(data) as opened_trace:
        assert opened_trace.trace_clock == ClockId(BOOTTIME, machine=1)
    assert placed(data) == {1: 2100, 3: 105}


def test_it_cannot_after_that_machine_has_converted():
    data = trace(HOST, event(5, 777, machine=7), machine(7, {BOOTTIME: 100}), event(2100))
    with opened(data) as opened_trace:
        assert opened_trace.trace_clock == ClockId(BOOTTIME)


def test_the_others_follow_to_the_new_trace_time():
    """The host has been related to trace time before, when it was its own: it has no way now."""
    data = trace(
        HOST, event(2100), machine(7, {BOOTTIME: 100}), event(2200), event(1300, MONOTONIC)
    )
    assert placed(data)[1] == 2100
    assert {placed(data)[3], placed(data)[4]} == {"no_path"}


# Relating machines (CT::BridgeToTraceTime)


def test_machines_are_related_by_their_wall_clocks():
    """The trace time machine's REALTIME is the rendezvous"""
    data = trace(
        snapshot({BOOTTIME: 2000, REALTIME: 10_000}),
        machine(7, {BOOTTIME: 500, REALTIME: 10_100, **QUIET}),
        event(510, BOOTTIME, machine=7),
        event(10_100, REALTIME, machine=7),
    )
    assert placed(data) == {2: 2110, 3: 2100}
    with opened(data) as opened_trace:
        assert opened_trace.clocks.path(ClockId(BOOTTIME, machine=1), BOOTTIME) == [
            ClockId(BOOTTIME, machine=1),
            ClockId(REALTIME, machine=1),
            ClockId(REALTIME),
            ClockId(BOOTTIME),
        ]


def test_trace_time_may_be_the_wall_clock():
    data = trace(
        snapshot({REALTIME: 10_000}, primary=REALTIME),
        machine(7, {BOOTTIME: 500, REALTIME: 10_100, **QUIET}),
        event(510, BOOTTIME, machine=7),
    )
    assert placed(data) == {2: 10_110}


def test_where_a_wall_clock_is_missing_boottimes_are_equated():
    data = trace(
        HOST,
        machine(7, {BOOTTIME: 500, REALTIME: 10_100, **QUIET}),
        event(510, BOOTTIME, machine=7),
        event(10_111, REALTIME, machine=7),
    )
    assert placed(data) == {2: 510, 3: 511}


def test_across_real_clocks_nothing_is_made_up():
    data = trace(
        snapshot({MONOTONIC: 1000, BOOTTIME: 2000}, primary=MONOTONIC),
        machine(7, {BOOTTIME: 500, **QUIET}),
        event(510, BOOTTIME, machine=7),
        event(2100, BOOTTIME),
    )
    assert placed(data) == {2: "no_path", 3: 1100}


def test_a_real_relation_wins():
    """BridgeToTraceTime returns where BOOTTIME converts already"""
    rounds = [({BOOTTIME: 100}, {BOOTTIME: 1000}), ({BOOTTIME: 120}, {BOOTTIME: 1020})]
    data = trace(
        snapshot({BOOTTIME: 2000, REALTIME: 10_000}),
        packet(machine=7, remote_clock_sync=remote_sync(rounds)),
        machine(7, {REALTIME: 99_999, BOOTTIME: 105, **QUIET}),
        event(130, BOOTTIME, machine=7),
    )
    assert placed(data) == {3: 1020}


def test_machines_are_related_once():
    """deferred_clock_sync_.reset(): what comes later does not change it"""
    data = trace(
        HOST,
        event(5, BOOTTIME, machine=7),
        machine(7, {BOOTTIME: 500, REALTIME: 10_100, **QUIET}),
        snapshot({BOOTTIME: 2000, REALTIME: 10_000}),
        event(510, BOOTTIME, machine=7),
    )
    assert placed(data) == {1: 5, 4: 510}


def test_a_service_event_of_a_machine():
    data = trace(HOST, packet(5, machine=7, service_event=service_event()))
    assert placed(data) == {1: 5}


def test_a_packet_of_a_machine_is_put_aside_as_any():
    data = trace(
        HOST, event(5, 200, machine=7), event(2100), machine(7, {200: 0, BOOTTIME: 700, **QUIET})
    )
    assert [(r.packet, r.trace_time) for r in read(data)] == [(1, 705), (2, 2100)]


def test_a_heap_dump_of_a_machine_knows_every_snapshot():
    dump = packet(seq=1, machine=7, profile_packet=heap_dumps([(5, None)]))
    data = trace(HOST, dump, machine(7, {4: 0, BOOTTIME: 700, **QUIET}))
    assert items(data, "heap_dump") == [705]


# RemoteClockSync (PTR::ParseRemoteClockSync, ::CalculateClockOffsets)


class Sync(NamedTuple):
    """The client's readings of each round, and (clock, host, client) by Perfetto's mean."""

    client_rounds: list[list[tuple[int, int]]]
    instants: list[tuple[int, int, int]]


def sync(*rounds: tuple[dict[int, int], dict[int, int]]) -> Sync:
    read: dict[int, dict[ClockId, int]] = {number: {} for number in range(len(rounds))}
    data = trace(packet(seq=1), packet(machine=7, remote_clock_sync=remote_sync(rounds)))
    with opened(data) as opened_trace:
        for one in opened_trace.clocks.readings():
            for number, ns in zip(one.snapshots.tolist(), one.values_ns.tolist(), strict=True):
                read.setdefault(number, {})[one.clock] = ns
    made = Sync([], [])
    for number, values in sorted(read.items()):
        if number < len(rounds):
            made.client_rounds.append([(clock.clock, ns) for clock, ns in values.items()])
        else:
            ((host, host_ns), (_, client_ns)) = sorted(
                values.items(), key=lambda one: one[0].machine
            )
            made.instants.append((host.clock, host_ns, client_ns))
    return made


def test_two_rounds_make_two_round_trips():
    """(c1 + c2) / 2 - h1 = -885 and c2 - (h1 + h2) / 2 = -880; the mean, towards 0, is -882"""
    found = sync(({BOOTTIME: 100}, {BOOTTIME: 1000}), ({BOOTTIME: 130}, {BOOTTIME: 1020}))
    assert found.client_rounds == [[(BOOTTIME, 100)], [(BOOTTIME, 130)]]
    assert found.instants == [(BOOTTIME, 1020, 1020 - 882)]


def test_each_clock_read_in_all_four_has_its_own_offset():
    found = sync(
        ({BOOTTIME: 100, REALTIME: 5, MONOTONIC: 7}, {BOOTTIME: 1000, REALTIME: 50}),
        ({BOOTTIME: 120, REALTIME: 25, MONOTONIC: 8}, {BOOTTIME: 1020, REALTIME: 70, MONOTONIC: 9}),
    )
    assert found.instants == [(REALTIME, 70, 35), (BOOTTIME, 1020, 130)]


def test_a_reading_of_0_is_none():
    assert (
        sync(({BOOTTIME: 0}, {BOOTTIME: 1000}), ({BOOTTIME: 20}, {BOOTTIME: 1020})).instants == []
    )


@pytest.mark.parametrize(("apart", "related"), [(29_999_999_999, True), (30_000_000_000, False)])
def test_rounds_are_neighbours_within_30_seconds(apart, related):
    found = sync(
        ({BOOTTIME: 100}, {BOOTTIME: 1000}), ({BOOTTIME: 100 + apart}, {BOOTTIME: 1000 + apart})
    )
    assert bool(found.instants) == related


def test_rounds_that_go_back_are_far_apart():
    """uint64_t: update_client - ping_client"""
    assert not sync(({BOOTTIME: 100}, {BOOTTIME: 9}), ({BOOTTIME: 99}, {BOOTTIME: 9})).instants


def test_the_offset_is_the_mean_over_all_rounds_and_the_anchor_the_last():
    found = sync(
        ({BOOTTIME: 100}, {BOOTTIME: 1000}),
        ({BOOTTIME: 120}, {BOOTTIME: 1020}),
        ({BOOTTIME: 50_000_000_000}, {BOOTTIME: 50_000_001_000}),
        ({BOOTTIME: 50_000_000_020}, {BOOTTIME: 50_000_001_020}),
    )
    # -890 twice, then -990 twice
    assert found.instants == [(BOOTTIME, 50_000_001_020, 50_000_001_020 - 940)]


def test_sums_wrap_as_in_cpp():
    big = 2**63 - 1
    found = sync(({BOOTTIME: big}, {BOOTTIME: 1}), ({BOOTTIME: big}, {BOOTTIME: 3}))
    # The two client readings add up to -2 as int64.
    assert found.instants == [(BOOTTIME, 3, 3 + ((-1 - 1) + (big - 2)) // 2)]


def test_a_remote_clock_sync_relates_the_machines():
    rounds = [
        ({BOOTTIME: 100, MONOTONIC: 55}, {BOOTTIME: 1000}),
        ({BOOTTIME: 120, MONOTONIC: 75}, {BOOTTIME: 1020}),
    ]
    data = trace(
        HOST,
        packet(machine=7, remote_clock_sync=remote_sync(rounds)),
        event(130, BOOTTIME, machine=7),
        event(85, MONOTONIC, machine=7),
    )
    # The client's own rounds tie its clocks to one another.
    assert placed(data) == {2: 1020, 3: 1020}


def test_a_remote_clock_sync_that_cannot_be_parsed():
    bad = b"\x98\x06\x07" + b"\xda\x06\x03\x0a\x05\x01"  # machine 7, field 107
    with pytest.raises(
        TraceError, match=r"RemoteClockSync cannot be parsed \(byte \d+, packet 1\)"
    ):
        read(trace(HOST, bad))
