"""What the doctor finds of several machines, of what recorders say and of very many clocks stays what
it was."""

from __future__ import annotations

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_RAW,
    REALTIME,
    event,
    packet,
    pb,
    snapshot,
    trace,
)
from faults import GPU, NIC, START, Model, S
from kept import check_kept
from reading import opened
from relay import MS, US, Relay, running
from simulated import recorded_trace
from test_doctor_machines import machines
from test_kept_doctor import lines, reported

from tracetime import diagnose

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep


@pytest.mark.parametrize("there_ns", [200 * US, MS, 2 * MS, 30 * MS])
def test_machines_that_exchange_messages(there_ns):
    found = {}
    for back_ns in (there_ns // 10, there_ns):
        for ppm in (-17, 400):
            for syncs in (1, 3, 8):
                relay = Relay((there_ns, there_ns // 8), (back_ns, back_ns // 8))
                relay.client[BOOTTIME] = running(ppm, 77 * S)
                data = relay.trace(
                    *(relay.sync(S + k * 20 * S) for k in range(syncs)),
                    snapshots=[k * 10 * S for k in range(5)],
                    events=[S, 20 * S, 50 * S] if syncs != 3 else [],
                )
                found[f"{back_ns} {ppm} {syncs}"] = reported(data)
    check_kept("doctor_machines", f"messages {there_ns}", found)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_messages_that_bound_nothing(n):
    found = {}
    for fell in range(n):
        for events in ([], [S, 30 * S]):
            for good in (0, 1):
                relay = Relay()
                rounds = relay.rounds(5 * S, n)
                rounds[fell][0][BOOTTIME] -= 40 * S
                bad = packet(machine=555, remote_clock_sync=_sync(rounds))
                more = [relay.sync(9 * S)] * good
                found[f"{fell} {len(events)} {good}"] = reported(
                    relay.trace(bad, *more, events=events)
                )
    check_kept("doctor_machines", f"no bound {n}", found)


def _sync(rounds):
    from building import remote_sync

    return remote_sync(rounds)


@pytest.mark.parametrize("primary", [BOOTTIME, MONOTONIC, REALTIME])
def test_trace_time_that_moves_to_another_machine(primary):
    found = {}
    for fall in (0, 500_000, 2_000_000, 3 * S):
        for snapshots in (1, 2, 3, 10):
            found[f"{fall} {snapshots}"] = reported(
                machines(fall=fall, primary=primary, snapshots=snapshots)
            )
    check_kept("doctor_machines", f"moves {primary}", found)


@pytest.mark.parametrize("machine", [None, 7])
def test_two_machines_taken_for_one(machine):
    found = {}
    for ahead in (-3 * S, 900_000, 1_000_001, 50 * S):
        for turns in (1, 2, 5):
            packets = []
            for k in range(12):
                other = k // turns % 2
                packets.append(
                    snapshot(
                        {
                            BOOTTIME: START + k * S + other * ahead,
                            REALTIME: 9 * S + k * S + 3 * other * ahead,
                        },
                        machine=None if other else machine,
                    )
                )
                packets.append(event(START + k * S, BOOTTIME, machine=machine))
            found[f"{ahead} {turns}"] = reported(trace(*packets))
    check_kept("doctor_machines", f"mixed {machine}", found)


SIGNS = {
    "uuid": lambda: packet(trace_uuid=pb.TraceUuid(msb=1, lsb=2)),
    "config": lambda: packet(trace_config=pb.TraceConfig()),
    "system": lambda: packet(system_info=pb.SystemInfo()),
    "stats": lambda: packet(trace_stats=pb.TraceStats()),
    "marker": lambda: packet(synchronization_marker=b"x" * 16),
}


@pytest.mark.parametrize(
    "signs",
    [
        ["uuid"],
        ["uuid", "config", "system"],
        ["marker", "uuid", "config"],
        ["config", "uuid"],
        ["system", "stats"],
        ["stats"],
        ["marker"],
    ],
)
@pytest.mark.parametrize("times", [2, 6])
def test_what_recorders_say_when_they_begin(signs, times):
    found = {}
    for before in (True, False):
        for end in ((), ("stats",), ("stats", "marker")):
            packets = []
            for k in range(times):
                begun = [SIGNS[sign]() for sign in signs]
                tied = snapshot({BOOTTIME: START + k * S, NIC: 7 * S + k * S})
                packets += [tied, *begun] if before else [*begun, tied]
                packets.append(event(START + k * S + 5))
                packets += [SIGNS[sign]() for sign in end]
            found[f"{before} {' '.join(end)}"] = reported(trace(*packets))
    check_kept("doctor_machines", f"begun {' '.join(signs)} {times}", found)


def many(n: int) -> bytes:
    """Clocks that move against BOOTTIME by seconds, each with as many events as its number."""
    clocks = [0xA000_0000 + k for k in range(n)]
    packets = []
    for k in range(4):
        packets.append(
            snapshot(
                {BOOTTIME: START + k * S}
                | {clock: (7 + i) * S + k * S + (k > 1) * i * S for i, clock in enumerate(clocks)}
            )
        )
    for i, clock in enumerate(clocks):
        packets += [event((7 + i) * S + j, clock) for j in range(i % 4)]
    return trace(*packets)


@pytest.mark.parametrize("most", [1, 2, 5])
def test_more_clocks_than_may_be_looked_at(most):
    found = {}
    for n in (1, 2, 5, 6, 7):
        with opened(many(n), max_tubes=most) as made:
            found[str(n)] = list(lines(diagnose(made), ""))
    check_kept("doctor_machines", f"many {most}", found)


@pytest.mark.parametrize("seed", range(3))
def test_recordings_of_tracetimes_own(seed):
    check_kept("doctor_machines", f"recorded {seed}", reported(recorded_trace(seed)))


@pytest.mark.parametrize("order", range(4))
def test_paths_over_several_clocks_and_clocks_that_disagree(order):
    found = {}
    for hops in (2, 3, 4):
        for gap in (0, 900_000, 1_100_000, 5 * S):
            chain = [BOOTTIME, MONOTONIC_RAW, NIC, GPU, 0xB000_0001][: hops + 1]
            packets = []
            for k in range(6):
                t = START + k * S
                pairs = [
                    snapshot({one: t + i * S, other: t + (i + 1) * S})
                    for i, (one, other) in enumerate(zip(chain, chain[1:], strict=False))
                ]
                packets += pairs[order % len(pairs) :] + pairs[: order % len(pairs)]
                if gap:
                    packets.append(snapshot({chain[0]: t, chain[2]: t + 2 * S + gap}))
                packets.append(event(t + hops * S + 5, chain[-1]))
            found[f"{hops} {gap}"] = reported(trace(*packets))
    check_kept("doctor_machines", f"paths {order}", found)


@pytest.mark.parametrize("clock", [2, 4, GPU, 64])
def test_clocks_that_step_by_ticks(clock):
    found = {}
    for tick in (1_000, 4_000_000, 10_000_000):
        for used in (True, False):
            model = Model()
            model.n = 40
            unit = model.units.pop(clock, 1)
            model.reads[clock] = lambda t, tick=tick, unit=unit: (
                (t - START + 5 * S) // tick * tick // unit * unit
            )
            model.event_clocks = [BOOTTIME, clock] if used else [BOOTTIME]
            found[f"{tick} {used}"] = reported(model.build())
    check_kept("doctor_machines", f"ticks {clock}", found)


def test_of_very_many_machines_those_with_the_most_events_are_looked_at():
    """64 of them; of as many events those that come first."""
    relay = Relay(seed=5)
    packets = [snapshot({BOOTTIME: 1000 * S, MONOTONIC: 900 * S})]
    for k in range(66):
        made = packet(machine=1000 + k, remote_clock_sync=_sync(relay.rounds((k + 1) * S)))
        packets.append(made)
        packets += [event(77 * S + k * S + i, BOOTTIME, machine=1000 + k) for i in range(k % 3)]
    check_kept("doctor_machines", "very many", reported(trace(*packets)))
