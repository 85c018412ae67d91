"""Bars between machines hold over a suspend that BOOTTIME counts by whole seconds."""

from random import Random

import pytest
from seeds import seeds
from suspended_machines import MS, Machine, S, Sleep, burst, misses

from tracetime.graph.clock_graph import ClockGraph

NAMES = ["BOOTTIME", "MONOTONIC", "REALTIME"]


def world(off_ns, pause_s=10, seconds=120):
    """Machine 0 is awake; machine 1 sleeps 1 s, and counts that `off_ns` too much."""
    begin = 59_500 * MS
    machines = [Machine(0), Machine(1, [Sleep(begin, begin + S, S + off_ns)])]
    graph = ClockGraph()
    random = Random(1)
    for one in machines:
        one.snapshots(graph, [at for at in range(0, seconds * S, 10 * S) if one.awake(at)])
    for at in range(S, seconds * S, pause_s * S):
        burst(graph, *machines, "BOOTTIME", at, random)
    return graph, machines


@pytest.mark.parametrize("off_ns", [0, 1 * MS, 4 * MS, -4 * MS, 20 * MS, 500 * MS, -999 * MS])
def test_no_bar_is_carried_over_a_suspend(off_ns):
    graph, machines = world(off_ns)
    times = list(range(2 * S, 118 * S, 250 * MS))
    assert misses(graph, machines, NAMES[:1], times) == []


def random_machine(number, random, seconds):
    """A machine whose rate changes, and that may sleep."""
    sleeps, at = [], 0
    for _ in range(random.choice([0, 1, 1, 2])):
        at += random.randrange(2 * S, seconds * S // 3)
        slept = random.choice([300 * MS, S, 3 * S, 8 * S])
        off = random.choice([0, MS, -MS, 3 * MS, 7 * MS, -12 * MS, 20 * MS, 300 * MS, S])
        off = random.choice([off, random.randrange(-S, S)])
        sleeps.append(Sleep(at, at + slept, max(30 * MS, slept + off)))
        at += slept
    knees = [(0, random.uniform(-490, 490))]
    for _ in range(random.randrange(3)):
        knees.append((knees[-1][0] + random.randrange(20 * S), random.uniform(-490, 490)))
    return Machine(number, sleeps, knees, -random.randrange(10, 1000) * S)


def random_world(seed):
    random = Random(seed)
    seconds = 80
    machines = [random_machine(k, random, seconds) for k in range(random.choice([2, 2, 3]))]
    graph = ClockGraph()
    every = random.choice([S, 3 * S])
    for one in machines:
        # At even times a clock seems to tick.
        times = [at + random.randrange(50 * MS) for at in range(0, seconds * S, every)]
        one.snapshots(graph, [at for at in times if one.awake(at)])
    pairs = [(a, b) for n, a in enumerate(machines) for b in machines[:n]]
    random.shuffle(pairs)
    for one, other in pairs[: max(1, len(machines) - 1)]:
        name = random.choice(["BOOTTIME", "BOOTTIME", "MONOTONIC", "REALTIME"])
        pause = random.choice([S, 5 * S, 12 * S, 25 * S])
        at = random.randrange(S, 2 * S)
        while at < seconds * S:
            burst(graph, one, other, name, at, random)
            # Near the ends of a suspend, too.
            ends = [end for m in (one, other) for s in m.sleeps for end in (s.begin_ns, s.end_ns)]
            soon = [end for end in ends if at < end < at + pause]
            if soon and random.random() < 0.3:
                at = soon[0] + random.choice([-2 * MS, 2 * MS])
            else:
                at += random.randrange(pause // 2, pause)
    return graph, machines, every, seconds


def is_clear(machine, at, every):
    """Whether there are no two suspends between the snapshots around an instant."""
    near = [s for s in machine.sleeps if s.begin_ns - 2 * every <= at <= s.end_ns + 2 * every]
    return len(near) < 2


@pytest.mark.parametrize("seed", seeds(60))
def test_random_suspends(seed):
    graph, machines, every, seconds = random_world(seed)
    times = list(range(2 * S, (seconds - 2) * S, 300 * MS))
    times = [at for at in times if all(is_clear(m, at, every) for m in machines)]
    assert misses(graph, machines, NAMES, times) == []
