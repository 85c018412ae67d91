"""Baked traces of several machines: Perfetto's rule puts the events of each where the policy does."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from baked_traces import baked, check_moves, drawn_by, placed_by_twin, rows_by, times
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    TRACE_FILE,
    android_log,
    compressed,
    event,
    ftrace,
    packet,
    pb,
    remote_sync,
    service_event,
    snapshot,
    trace,
)
from random_traces import nasty_trace
from reading import opened
from test_baked_traces import AT, COARSE, INSIDE, MONO, S, reading, snapshots

from tracetime import UsageError
from tracetime.verbs.bake import bake

REMOTE = 5
APART = 7_000_000_123


def of_remote(*packets):
    """The same packets of another machine."""
    made = [pb.TracePacket.FromString(one.SerializeToString()) for one in packets]
    for one in made:
        one.machine_id = REMOTE
    return made


def test_compressed_packets_of_another_machine():
    there = of_remote(event(MONO[0], MONOTONIC), event(AT[0], BOOTTIME))
    check(trace(*TIES["REALTIME"], compressed(there), event(AT[1], BOOTTIME)), "floor")


def synced(at: int):
    """A ping: the other machine's BOOTTIME is APART behind."""
    rounds = [
        ({BOOTTIME: at + ns - APART}, {BOOTTIME: at + ns + 50_000}) for ns in (0, 100_000, 220_000)
    ]
    return packet(remote_clock_sync=remote_sync(rounds), machine=REMOTE)


HOME = snapshots(BOOTTIME)
# With TRACE_FILE, so that they do not move trace time to themselves.
ITS_OWN = [
    snapshot({clock: reading(clock, at * S) + 11 * clock for clock in (1, 3, 4, 5, 6)} | {11: at})
    for at in (100, 110, 120)
]
MOVING = [
    snapshot({clock: reading(clock, at * S) + 11 * clock for clock in (1, 3, 4, 5, 6)}, primary=6)
    for at in (100, 110, 120)
]
# By what ties the machines, packets that come first.
TIES = {
    "BOOTTIME": [HOME[0], *of_remote(snapshot({3: reading(3, 100 * S), 5: reading(5, 100 * S)}))],
    "REALTIME": [HOME[0], event(AT[0], BOOTTIME), *of_remote(ITS_OWN[0])],
    "pings": [HOME[0], event(AT[0], BOOTTIME), synced(101 * S), *of_remote(ITS_OWN[0])],
    "the other machine's clock": [HOME[0], *of_remote(MOVING[0])],
    "nothing": [],
}


def check(data: bytes, policy: str, coarse: bool = False) -> bytes:
    """That a baked trace has the times of the policy; return it."""
    wanted = drawn_by(data, policy)
    made, summary = baked(data, policy)
    got = placed_by_twin(made)
    if coarse and summary.rounded:
        assert len(got) == len(wanted)
        off = np.abs(np.subtract(sorted(r[2] for r in got), sorted(r[2] for r in wanted)))
        assert off.max() == summary.worst_rounding_ns <= 500_000
    else:
        # A packet that was not placed goes with its items that were.
        assert (times(got) - times(wanted)).total() == summary.stamped
        assert {kind for kind, *_ in Counter(got) - Counter(wanted)} <= {"packet"}
        assert not times(wanted) - times(got)
        assert times(rows_by(made, "floor")) == times(got)
    assert baked(made, policy).data == made
    return made


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("tie", TIES)
@pytest.mark.parametrize(
    "inside",
    [one for one in INSIDE if "compressed" not in one and bytes not in map(type, INSIDE[one])],
)
def test_every_timestamp_of_both_machines_is_where_the_policy_puts_it(inside, tie, policy):
    here, there = INSIDE[inside], of_remote(*INSIDE[inside])
    more = HOME[1:] if tie != "nothing" else []
    data = trace(*TIES[tie], *there, *here, *more, *there)
    check(data, policy, coarse=inside in COARSE)


@pytest.mark.parametrize("tie", ["BOOTTIME", "REALTIME", "pings", "the other machine's clock"])
def test_events_of_both_machines_have_times(tie):
    data = trace(*TIES[tie], *of_remote(event(AT[0], BOOTTIME)), event(AT[1], BOOTTIME))
    assert len(rows_by(data, "floor")) == 2 + (tie in ("REALTIME", "pings"))


def test_trace_time_stays_where_it_is_although_a_machine_ties_clocks_of_its_own():
    log = packet(android_log=android_log([reading(REALTIME, AT[0])]), seq=1)
    data = trace(*TIES["REALTIME"], *of_remote(log), event(AT[1], BOOTTIME))
    made = check(data, "floor")
    with opened(made) as again:
        assert (again.trace_clock.clock, again.trace_clock.machine) == (BOOTTIME, 0)
        # The packet that keeps it there is no event.
        assert len(again.read_all()) == 3


def test_packets_of_another_machine_name_boottime_and_their_snapshots_go():
    data = trace(*TIES["pings"], *of_remote(event(MONO[0], MONOTONIC)))
    theirs = [p for p in pb.Trace.FromString(baked(data).data).packet if p.machine_id][1:]
    assert [p.timestamp_clock_id for p in theirs] == [BOOTTIME]
    assert not any(p.HasField("clock_snapshot") or p.HasField("remote_clock_sync") for p in theirs)


def test_the_bounds_of_ftrace_buffers_are_of_one_machine_each():
    at = [reading(MONOTONIC_RAW, one) for one in AT]
    bundle = ftrace(at, clock=4, last_read=at[0] - 10, previous_end=at[0] - 20)
    one = packet(seq=1, ftrace_events=bundle)
    data = trace(HOME[0], event(AT[0], BOOTTIME), *of_remote(ITS_OWN[0], one), one)
    made = baked(data, strip=True).data
    bundles = [p.ftrace_events for p in pb.Trace.FromString(made).packet[-2:]]
    assert len(bundles) == 2
    for made in bundles:
        assert made.event[0].timestamp - made.last_read_event_timestamp == 10
        assert made.event[0].timestamp - made.previous_bundle_end_timestamp == 20


def test_machines_that_take_turns_keep_their_own_sequences():
    turns = []
    for ns in range(50):
        turns += [event(AT[0] + ns, BOOTTIME), *of_remote(event(AT[0] - ns, BOOTTIME))]
    data = trace(*TIES["REALTIME"], *turns, *HOME[1:], *of_remote(*ITS_OWN[1:]))
    for policy in ("floor", "tube"):
        check(data, policy)


def test_a_machine_before_every_host_packet_is_the_host_and_stays_it():
    data = trace(*of_remote(ITS_OWN[0], event(AT[0], BOOTTIME)), event(AT[1], BOOTTIME))
    with opened(data) as before, opened(check(data, "floor")) as after:
        assert before.machines == after.machines == [REMOTE]


def test_a_service_event_of_another_machine_is_placed_by_its_boottime():
    ended = packet(AT[1], service_event=service_event())
    check(trace(*TIES["REALTIME"], *of_remote(ended)), "floor")


def test_a_machine_that_nothing_measured_stays_where_floor_puts_it():
    data = trace(*HOME, *of_remote(event(AT[0], BOOTTIME)), event(MONO[1], MONOTONIC))
    (_, _, here), *others = rows_by(data, "tube")
    assert not others
    made, summary = baked(data, "tube")
    assert summary.as_floor == 1
    assert [time for *_, time in rows_by(made, "floor")] == [AT[0], here]


@pytest.mark.parametrize("clock", [MONOTONIC, REALTIME])
def test_machines_that_cannot_name_the_trace_clock_are_refused_by_floor(clock):
    data = trace(snapshots(clock)[0], event(MONO[0], MONOTONIC), *of_remote(ITS_OWN[0]))
    with pytest.raises(UsageError, match=r"2 machines on .* only where .*; the tube policy puts"):
        baked(data)


@pytest.mark.parametrize("clock", [MONOTONIC, REALTIME])
def test_the_tube_puts_machines_on_boottime(clock):
    there = of_remote(*ITS_OWN, event(AT[1], BOOTTIME))
    log = packet(seq=1, android_log=android_log([reading(REALTIME, AT[1])]))
    # Ahead of the snapshots a value without a clock is trace time.
    first = event(reading(clock, AT[0]))
    data = trace(first, *snapshots(clock), event(MONO[0], MONOTONIC), *there, log)
    made, summary = baked(data, "tube")
    assert str(summary.trace_clock) == "BOOTTIME"
    # REALTIME of two machines is equated, not measured.
    assert (summary.as_floor, summary.unresolved) == (1, 0)
    raw, here, theirs, logged = [time for *_, time in placed_by_twin(made)]
    assert np.abs(np.subtract([raw, here, logged], [AT[0], AT[0], AT[1]])).max() <= 1
    by_floor = rows_by(data, "floor")[2][2]
    with opened(data) as source:
        assert theirs == source.clocks.convert(by_floor, clock, BOOTTIME, policy="tube")
    with opened(made) as again:
        assert str(again.trace_clock) == "BOOTTIME"
    assert baked(made, "tube").data == made


def test_machines_without_snapshots_of_boottime_are_refused_by_the_tube():
    first = [snapshot({MONOTONIC: at, REALTIME: at}, primary=MONOTONIC) for at in (5, 50, 500)]
    data = trace(*first, event(60, MONOTONIC), *of_remote(ITS_OWN[0]))
    with pytest.raises(UsageError, match=r"bake a trace whose snapshots have both clocks"):
        baked(data, "tube")


def test_a_machine_whose_first_packet_ends_the_import(tmp_path):
    """The output has no packet of it, and is baked again as it is."""
    # A sequence's clock, of none.
    last = of_remote(packet(5, 64, seq=None))
    out = tmp_path / "out.pftrace"
    with opened(trace(*HOME, event(AT[0], BOOTTIME), *last), partial=True) as cut:
        assert bake(cut, out, policy="floor").truncated is not None
        assert cut.machines == [0, REMOTE]
    with opened(out.read_bytes()) as made:
        assert made.machines == [0, REMOTE]
        assert not any(p.machine_id for p in pb.Trace.FromString(out.read_bytes()).packet)
    assert baked(out.read_bytes()).data == out.read_bytes()


def test_machines_without_a_trace_clock_stay_as_they_are():
    data = trace(event(5), *of_remote(event(7), event(9, TRACE_FILE)))
    check(data, "floor")


@pytest.mark.parametrize("policy", ["floor", "tube"])
@pytest.mark.parametrize("seed", [100326, 100330, 101636, 101861, 102384])
def test_random_traces_of_several_machines_differ_only_as_the_summary_says(seed, policy):
    data = nasty_trace(Random(seed))
    made = baked(data, policy)
    check_moves(drawn_by(data, policy), made)
    assert baked(made.data, policy).data == made.data
