"""When to calibrate again: the interval against the target."""

from __future__ import annotations

from random import Random

import pytest
from simulated import GPU, Clock, Machine, usual_clocks

from tracetime import ClockDomain, ClockId, Snapshot, UsageError
from tracetime.capture.schedule import LONGEST_NS, SHORTEST_NS, Schedule

S = 10**9


def run(machine: Machine, schedule: Schedule, n: int) -> list[int]:
    """The intervals that come of n snapshots, each taken when the schedule says."""
    found = []
    for _ in range(n):
        schedule.observe(machine.sample().snapshot)
        found.append(schedule.interval_ns)
        machine.now_ns += schedule.interval_ns
    return found


def two(wander_ppm: float | None = None, rate_ppb: int = 12_000, **more: object) -> list[Clock]:
    return [
        Clock(ClockDomain("MONOTONIC_RAW")),
        Clock(
            ClockDomain("a.b", max_drift_ppm=100, wander_ppm=wander_ppm, **more), rate_ppb=rate_ppb
        ),
    ]


def test_without_a_target_the_interval_stays():
    machine = Machine(two())
    assert set(run(machine, Schedule(machine.domains, interval_ns=300 * S), 20)) == {300 * S}


def test_clocks_of_one_oscillator_are_left_alone_for_long():
    machine = Machine(usual_clocks()[:4])
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=1_000)
    found = run(machine, schedule, 30)
    assert found[-1] == LONGEST_NS
    # It takes its time to trust them.
    assert all(later <= 2 * earlier for earlier, later in zip(found, found[1:], strict=False))


@pytest.mark.parametrize("target_ns", [200, 1_000, 10_000, 100_000])
def test_declared_wander_and_half_width_set_the_interval(target_ns):
    machine = Machine(two(wander_ppm=2.0))
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=target_ns)
    found = run(machine, schedule, 60)
    # h + w T / 2 is the target: 2 ppm of it, and 0.5 of the reference, which declares none.
    for interval_ns in found[-10:]:
        wanted = 2 * (target_ns - 40) / 2.5e-6
        assert interval_ns == LONGEST_NS or 0.9 * wanted < interval_ns < 1.1 * wanted


def test_a_wander_that_is_measured_makes_it_shorter_and_passes():
    machine = Machine(two(), half_ns=20)
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=2_000)
    calm = run(machine, schedule, 40)[-1]
    clock = machine.clocks[ClockId.parse("a.b")]
    random = Random(5)
    restless = []
    for _ in range(40):
        # The rate changes by up to 5 ppm, at the clock's present reading.
        before = clock.ns(machine.now_ns)
        clock.rate_ppb = 12_000 + random.randint(-5_000, 5_000)
        clock.offset_ns += before - clock.ns(machine.now_ns)
        restless += run(machine, schedule, 1)
    assert min(restless) < calm / 3
    assert abs(run(machine, schedule, 80)[-1] - calm) < calm / 50


def test_the_interval_keeps_its_limits():
    machine = Machine(two(wander_ppm=500))
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=200)
    assert run(machine, schedule, 10)[-1] == SHORTEST_NS
    schedule = Schedule(
        machine.domains, interval_ns=S, target_error_ns=200, shortest_ns=S // 2, longest_ns=2 * S
    )
    assert schedule.interval_ns == S
    assert run(machine, schedule, 10)[-1] == S // 2


def test_a_clock_too_coarse_for_the_target_does_not_set_it():
    clocks = [*two(wander_ppm=1), Clock(ClockDomain("MONOTONIC_COARSE"))]
    machine = Machine(clocks, half_ns=40)
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=1_000)
    assert not schedule.out_of_reach
    for _ in range(20):
        taken = machine.sample().snapshot
        halves = dict(taken.half_width_ns) | {ClockId(4): 2_000_000}
        schedule.observe(
            Snapshot(
                dict(taken.readings),
                reference=taken.reference,
                half_width_ns=halves,
                centre_ns=dict(taken.centre_ns),
            )
        )
        machine.now_ns += schedule.interval_ns
    assert schedule.out_of_reach == {ClockId(4)}
    assert schedule.interval_ns > S
    # One bad reading of another clock, as of a busy machine, is none that it cannot reach.
    halves = dict.fromkeys(taken.half_width_ns, 5000)
    schedule.observe(
        Snapshot(dict(taken.readings), reference=taken.reference, half_width_ns=halves)
    )
    assert schedule.out_of_reach == {ClockId(4)}


def test_a_step_is_no_wander():
    machine = Machine(two(wander_ppm=0.5))
    schedule = Schedule(machine.domains, interval_ns=S, target_error_ns=5_000)
    calm = run(machine, schedule, 40)[-1]
    machine.clocks[ClockId.parse("a.b")].steps.append((machine.now_ns, 10**12))
    found = run(machine, schedule, 30)
    assert abs(found[-1] - calm) < calm / 50
    # The drift is not known for a moment.
    assert min(found) < calm


def test_a_counter_is_read_before_it_wraps():
    """A 32-bit counter of 1 ns wraps every 4.3 s."""
    clocks = two(valid_bits=32)
    machine = Machine(clocks)
    schedule = Schedule(machine.domains, interval_ns=60 * S)
    assert schedule.interval_ns == (1 << 32) // 4
    machine = Machine(usual_clocks())
    assert Schedule(machine.domains, interval_ns=3_600 * S).interval_ns == int(
        (1 << 36) * machine.domains[ClockId.parse(GPU)].ns_per_tick / 4
    )


@pytest.mark.parametrize("interval_ns", [0, -1, 999_999])
def test_an_interval_that_is_none_is_refused(interval_ns):
    with pytest.raises(UsageError, match="interval"):
        Schedule({}, interval_ns=interval_ns)
