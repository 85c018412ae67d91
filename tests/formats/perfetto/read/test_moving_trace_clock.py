"""Trace time that goes from machine to machine: each time all paths lead elsewhere."""

from __future__ import annotations

from random import Random

import pytest
from building import BOOTTIME, MONOTONIC, REALTIME, event, packet, remote_sync, snapshot, trace
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import opened, placed
from test_differential import check

from fuzz import costly

CLOCKS = (REALTIME, MONOTONIC, 5, BOOTTIME, 200, 201, 202)


def moving_trace(rng: Random) -> bytes:
    """Few events, and those late: until a machine has one, its snapshots move trace time."""

    def readings(clocks: list[int], least: int = 1) -> dict[int, int]:
        return {clock: rng.randrange(least, 10 ** rng.randint(1, 12)) for clock in clocks}

    def some_clocks() -> list[int]:
        return rng.sample(CLOCKS, rng.randint(1, 5))

    packets = [snapshot(readings([BOOTTIME, REALTIME]))]
    for k in range(60):
        machine = rng.randint(0, 4)
        kind = rng.random()
        if kind < 0.7:
            primary = rng.choice([0, 0, *CLOCKS])
            packets.append(snapshot(readings(some_clocks()), machine=machine, primary=primary))
        elif kind < 0.9:
            clocks = some_clocks()
            rounds = [(readings(clocks), readings(clocks)) for _ in range(2)]
            packets.append(packet(machine=machine, remote_clock_sync=remote_sync(rounds)))
        elif k > 30:
            clock = rng.choice(CLOCKS)
            packets.append(event(rng.randrange(10**10), clock, machine=machine))
    packets += [event(10**6, clock, machine=m) for clock in CLOCKS for m in range(5)]
    return trace(*packets)


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_paths_are_the_twins_wherever_trace_time_goes(rng):
    check(moving_trace(rng))


def many(n: int) -> bytes:
    return b"".join(costly.machines(n)) + trace(event(costly.START + 7, BOOTTIME, machine=n))


def test_trace_time_that_goes_through_very_many_machines():
    """Each machine's clocks are tied to no other's: looking at all of them again would be n^2."""
    n = 30_000
    with opened(many(n), max_clocks=1 << 17) as t:
        assert t.trace_clock.machine == n
        assert len(t.trace_clock_moves) == 100
    assert placed(many(300))[301] == costly.START + 7


def walls(n: int) -> bytes:
    """n machines, each of which has an event: their wall clocks tie them to the host's."""
    packets = [costly.snapshot([(BOOTTIME, 100), (REALTIME, 1000)])]
    for i in range(1, n + 1):
        clocks = [(BOOTTIME, i), (REALTIME, 1000), (costly.TRACE_FILE, 0)]
        packets += [costly.snapshot(clocks, machine=i), costly.event(i + 5, BOOTTIME, machine=i)]
    return b"".join(packets)


def test_very_many_machines_that_are_tied_by_their_wall_clocks():
    n = 20_000
    with opened(walls(n), max_clocks=1 << 17) as t:
        times = t.read_all()["trace_time"].to_pylist()
    assert times == [105] * n


@pytest.mark.parametrize("last_first", [False, True])
def test_the_best_of_very_many_clocks_is_searched_once(last_first):
    """As near as each other, in falling order: each is better than the one before."""
    clocks = [(60_000 - i, 10**6 + i) for i in range(50_000)]
    snapshots = [costly.snapshot(clocks), costly.snapshot([*clocks, (BOOTTIME, 10**6)])]
    far = costly.snapshot([(70_000, 5), *clocks[:1]])
    if last_first:
        snapshots.reverse()
    data = b"".join([far, *snapshots, costly.event(7, 70_000)])
    with opened(data, max_clocks=1 << 17) as t:
        assert t.read_all()["trace_time"].to_pylist() == [10**6 + 2]
