"""What the doctor says of rates stays what it was: at each limit, just below it and just above."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product

import pytest
from building import (
    BOOTTIME,
    MONOTONIC,
    MONOTONIC_COARSE,
    MONOTONIC_RAW,
    REALTIME,
    Packet,
    event,
    snapshot,
    trace,
)
from faults import GPU, NIC, SEQUENCE, START, TSC, S
from kept import check_kept
from reading import opened
from test_kept_doctor import lines

from tracetime import ClockDomain, diagnose

# What the doctor says at each of its limits; the other tests say why.
pytestmark = pytest.mark.sweep

AUX, DEV = 0xB103_0405, 0xB203_0405
STARTS = {BOOTTIME: START, MONOTONIC: START - 9 * S, REALTIME: 17 * 10**8 * S}


def reported(data: bytes, tolerance_ns: int = 1_000_000, *domains: ClockDomain) -> list[str]:
    with opened(data, domains=list(domains)) as read:
        return list(lines(diagnose(read, tolerance_ns), ""))


def gaining(
    ppb: Mapping[int, int],
    *,
    neighbour: int = BOOTTIME,
    n: int = 4,
    gap_ns: int = S,
    used: Sequence[int] = (),
    more: Sequence[Packet] = (),
    apart: bool = False,
) -> bytes:
    """Clocks that gain so many ns a second on one that is read with them.

    apart: each in snapshots of its own.
    """
    packets = []
    primary = neighbour if neighbour in STARTS else None
    for k in range(n):
        t = k * gap_ns
        base = {neighbour: STARTS.get(neighbour, 3 * S) + t}
        read = {
            clock: STARTS.get(clock, 7 * S) + t + t // S * gain + t % S * gain // S
            for clock, gain in ppb.items()
        }
        if apart:
            packets += [snapshot(base | {clock: at}, primary=primary) for clock, at in read.items()]
        else:
            packets.append(snapshot(base | read, primary=primary))
    packets += [event(STARTS.get(clock, 7 * S) + 5, clock, SEQUENCE) for clock in used]
    return trace(*packets, *more)


def around(value: int) -> list[int]:
    return [value - 1, value, value + 1]


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(
    ("clock", "neighbour", "limit_ppm"),
    [
        (NIC, BOOTTIME, 600),
        (NIC, GPU, 200),
        (REALTIME, BOOTTIME, 500),
        (REALTIME, MONOTONIC, 500),
        (MONOTONIC_RAW, BOOTTIME, 600),
        (MONOTONIC_COARSE, MONOTONIC, 500),
    ],
)
def test_how_far_two_healthy_clocks_drift(clock, neighbour, limit_ppm, used):
    found = {
        str(gain): reported(gaining({clock: gain}, neighbour=neighbour, used=[clock] * used))
        for size in around(limit_ppm * 1_000)
        for gain in (size, -size)
    }
    check_kept("doctor_rates", f"healthy {clock} {neighbour} {used}", found)


DECLARED = {
    "NIC 50": ClockDomain(NIC, max_drift_ppm=50),
    "NIC 1000": ClockDomain(NIC, max_drift_ppm=1_000),
    "NIC steered": ClockDomain(NIC, disciplined=True),
    "NIC free 700": ClockDomain(NIC, disciplined=False, max_drift_ppm=700),
    "BOOTTIME free 150": ClockDomain(BOOTTIME, disciplined=False, max_drift_ppm=150),
    "BOOTTIME 900": ClockDomain(BOOTTIME, max_drift_ppm=900),
    "GPU 900": ClockDomain(GPU, max_drift_ppm=900),
}


@pytest.mark.parametrize("which", DECLARED)
def test_what_is_declared_of_a_clock_says_how_far_it_drifts(which):
    limits = [150, 200, 500, 550, 600, 650, 700, 900, 1_000, 1_100, 1_500]
    found = {
        str(gain): reported(gaining({NIC: gain}, used=[NIC]), 1_000_000, DECLARED[which])
        for limit in limits
        for gain in (limit * 1_000, limit * 1_000 + 1)
    }
    check_kept("doctor_rates", f"declared {which}", found)


GAINS = {
    "two apart by 500": {NIC: 1_000_000, GPU: 1_500_000},
    "two apart by more": {NIC: 1_000_000, GPU: 1_500_001},
    "two of three": {NIC: 1_000_000, GPU: 1_400_000, AUX: 0},
    "two of four": {NIC: 1_000_000, GPU: 1_400_000, AUX: 0, DEV: 5},
    "three of four": {NIC: -1_000_000, GPU: -1_400_000, AUX: -1_300_000, DEV: 5},
    "three of five": {NIC: 700_000, GPU: 900_000, AUX: 800_000, DEV: 0, MONOTONIC_RAW: 0},
    "two that part": {NIC: 1_000_000, GPU: -1_000_000},
    "one": {NIC: -900_000},
    "one of other units": {NIC: -900_000, GPU: 10_000_000, AUX: -900_000, DEV: 9_999_999},
}


@pytest.mark.parametrize("which", GAINS)
def test_whether_one_clock_drifts_or_those_next_to_it(which):
    found = {}
    for neighbour, used in product((BOOTTIME, REALTIME), ([], [NIC], [NIC, GPU, GPU, BOOTTIME])):
        data = gaining(GAINS[which], neighbour=neighbour, used=used)
        found[f"{neighbour} {len(used)}"] = reported(data)
        found[f"{neighbour} {len(used)} apart"] = reported(
            gaining(GAINS[which], neighbour=neighbour, used=used, apart=True)
        )
    check_kept("doctor_rates", f"together {which}", found)


@pytest.mark.parametrize("clock", [NIC, MONOTONIC, TSC, 7, 8])
def test_from_one_in_a_hundred_on_it_is_another_unit(clock):
    found = {}
    for size in [*around(10_000_000), 500_000_000, S]:
        for gain, used in product((size, -size), (0, 3)):
            # One that stands still, and its events.
            if gain < -S:
                continue
            data = gaining({clock: gain}, used=[clock] * used)
            found[f"{gain} {used}"] = reported(data)
    check_kept("doctor_rates", f"units {clock}", found)


@pytest.mark.parametrize("rate", [Fraction(3, 2), Fraction(1, 2), Fraction(0), Fraction(5)])
def test_a_wrong_unit_misplaces_by_the_longest_way_from_a_snapshot(rate):
    """Between snapshots, before the first and after the last; as far as the tolerance, and not."""
    found = {}
    for before_s, after_s, gaps in (
        (0, 0, (1, 1, 1)),
        (4, 0, (1, 3, 1)),
        (2, 9, (1, 1, 1)),
        (2, 2, (8, 1, 1)),
    ):
        times = [sum(gaps[:k]) * S for k in range(4)]
        packets = [snapshot({BOOTTIME: START + t, NIC: 50 * S + int(t * rate)}) for t in times]
        last = 50 * S + int(times[-1] * rate)
        data = trace(
            *packets,
            event(50 * S - before_s * S, NIC, SEQUENCE),
            event(last + after_s * S, NIC, SEQUENCE),
            event(last, NIC, 99),
        )
        every = reported(data)
        found[f"{before_s} {after_s} {gaps}"] = every
        worst = next(int(one.split(" | ")[4]) for one in every if "units" in one or "still" in one)
        for tolerance_ns in around(worst)[:2]:
            found[f"{before_s} {after_s} {gaps} {tolerance_ns}"] = reported(data, tolerance_ns)
    check_kept("doctor_rates", f"misplaced {rate}", found)


def ticks(steps: Sequence[int], gaps: Sequence[int], *, used: bool, clock: int = TSC) -> bytes:
    """A counter that goes on by so many ticks in so many ns."""
    packets = [
        snapshot({BOOTTIME: START + sum(gaps[:k]), clock: 5 * S + sum(steps[:k])})
        for k in range(len(steps) + 1)
    ]
    return trace(*packets, *([event(5 * S + 7, clock)] if used else []))


@pytest.mark.parametrize("used", [False, True])
def test_the_tsc_in_few_snapshots(used):
    found = {}
    for steps, gaps in (
        # 100 us more or less, by one gap or two.
        ((199_999,), (100_000,)),
        ((200_000,), (100_000,)),
        ((200_001,), (100_000,)),
        ((900_001,), (1_000_000,)),
        ((900_000,), (1_000_000,)),
        ((899_999,), (1_000_000,)),
        # A fifth faster or slower.
        ((1_200_000,), (1_000_000,)),
        ((1_199_999,), (1_000_000,)),
        ((1_200_001,), (1_000_000,)),
        ((800_000,), (1_000_000,)),
        ((800_001,), (1_000_000,)),
        ((799_999,), (1_000_000,)),
        # Two gaps that agree, or that do not.
        ((2_000_000, 2_000_000), (1_000_000, 1_000_000)),
        ((2_095_000, 2_000_000), (1_000_000, 1_000_000)),
        ((2_100_000, 1_900_000), (1_000_000, 1_000_000)),
        ((2_100_001, 1_899_999), (1_000_000, 1_000_000)),
        ((2_200_000, 2_000_000), (1_000_000, 1_000_000)),
        ((2_220_000, 2_000_000), (1_000_000, 1_000_000)),
        ((4_000_000, 1_000_000), (2_000_000, 500_000)),
        ((1_500_000, 4_000_000), (1_000_000, 1_000_000)),
        # What does not go on.
        ((2_000_000, 2_000_000), (1_000_000, 0)),
        ((0,), (1_000_000,)),
        ((0, 0), (1_000_000, 7)),
        ((2_000_000,), (0,)),
        ((300_000,), (1,)),
        ((2_000_000, 2_000_000), (1_000_000, -500_000)),
    ):
        found[f"{steps} {gaps}"] = reported(ticks(steps, gaps, used=used))
    found["declared"] = reported(
        ticks((2_000_000,), (1_000_000,), used=used), 1_000_000, ClockDomain(TSC)
    )
    for steps in ((350_000, 250_000) * 3, (360_000, 240_000) * 3, (365_100, 235_000) * 3):
        # Too uneven for most gaps to agree on a rate.
        uneven = [1_000_000 + step for step in steps]
        found[f"{steps}"] = reported(ticks(uneven, (1_000_000,) * 6, used=used))
    for gap_ns, step in ((1_000_000, 3_000_000), (0, 3_000_000), (-1_000_000, -3_000_000)):
        # Beside a clock that is not the trace clock, and may fall.
        pairs = [{TSC: 5 * S + k * step, NIC: 9 * S + k * gap_ns} for k in range(2)]
        found[f"beside NIC {gap_ns}"] = reported(
            trace(*map(snapshot, pairs), snapshot({BOOTTIME: START, NIC: 9 * S}))
        )
    found["once"] = reported(ticks((), (), used=used))
    found["other"] = reported(ticks((2_000_000,), (1_000_000,), used=used, clock=NIC))
    alone = [snapshot({TSC: 5 * S + k * 3 * S}) for k in range(3)]
    found["alone"] = reported(trace(*alone, snapshot({BOOTTIME: START}), event(5 * S, TSC)))
    check_kept("doctor_rates", f"tsc {used}", found)


@pytest.mark.parametrize("n", [2, 3, 4, 6])
@pytest.mark.parametrize("clock", [NIC, TSC])
def test_how_long_and_how_often_a_clock_is_read_for_its_rate(clock, n):
    found = {}
    for gap_ns in (1_000_000, S // (n - 1) - 1, S // (n - 1) + 1, S):
        for gain in (900_000, 10_000_000, 50_000_000, 500_000_000):
            length = gap_ns * (n - 1)
            found[f"{gap_ns} {gain}"] = reported(gaining({clock: gain}, n=n, gap_ns=gap_ns))
            # As short as shows another unit: 100 us more or less.
            exact = -(-100_000 * S // gain) // (n - 1)
            if gain >= 10_000_000 and length > exact:
                for short in (exact, exact - 1_000):
                    found[f"{short} {gain} short"] = reported(
                        gaining({clock: gain}, n=n, gap_ns=short, used=[clock])
                    )
    check_kept("doctor_rates", f"length {clock} {n}", found)


def uneven(steps: Sequence[int], gap_ns: int = S) -> bytes:
    """NIC goes on by so much in each gap of BOOTTIME."""
    packets, nic = [], 7 * S
    for k, step in enumerate([*steps, 0]):
        packets.append(snapshot({BOOTTIME: START + k * gap_ns, NIC: nic}))
        nic += step
    return trace(*packets, event(7 * S + 5, NIC))


@pytest.mark.parametrize("gain", [1_000_000, 100_000_000, -50_000_000])
def test_how_far_gaps_agree_and_how_many_have_to(gain):
    """By a tenth of the rate, or 2 us; four of five."""
    found = {}
    slack = max(abs(gain) // 10, 2_000)
    for off in (slack, slack + 1, -slack, -slack - 1):
        for count in (1, 2):
            steps = [S + gain] * (5 - count) + [S + gain + off] * count
            found[f"{off} {count}"] = reported(uneven(steps))
            found[f"{off} {count} of 10"] = reported(uneven([*steps, *[S + gain] * 5]))
    check_kept("doctor_rates", f"agree {gain}", found)


@pytest.mark.parametrize("fall", [S, S + 1, 2 * S, 5 * S])
def test_what_falls_in_most_gaps_has_no_rate(fall):
    found = {}
    for falls in range(5):
        steps = [S - fall] * falls + [S] * (5 - falls)
        found[str(falls)] = reported(uneven(steps))
    check_kept("doctor_rates", f"falls {fall}", found)


@pytest.mark.parametrize("ticking", [1, 4_000_000])
@pytest.mark.parametrize("behind", [False, True])
def test_snapshots_too_sparse_for_the_drift_between_them(behind, ticking):
    """A gap more or less than the tolerance, next to an outlier or a jump, and of other clocks."""
    found = {}
    for gain in (999_999, 1_000_000, 1_000_001, 1_300_000, -1_000_000, -1_000_001):
        for gaps in ((1, 1, 1, 1), (2, 1, 1, 3), (1, 1, 5, 1), (10, 10, 10, 10)):
            for used in ([], [NIC], [AUX], [AUX, AUX, NIC]):
                packets, at = [], 0
                for k in range(5):
                    nic = 77 * S + (at * S + at * gain // 10) // ticking * ticking
                    packets.append(snapshot({BOOTTIME: START + at * S, NIC: nic}))
                    if behind:
                        packets.append(snapshot({NIC: nic, AUX: nic + 5}))
                    at += gaps[k] if k < 4 else 0
                packets += [
                    event(77 * S + at * S // 2 + k, clock, SEQUENCE) for k, clock in enumerate(used)
                ]
                found[f"{gain} {gaps} {used}"] = reported(trace(*packets), 100_000)
    check_kept("doctor_rates", f"sparse {behind} {ticking}", found)


@pytest.mark.parametrize("off", [0, 1, 4, 8])
def test_drift_next_to_a_jump_is_reported_of_the_other_gaps(off):
    found = {}
    for jump, lasts in product((0, 50_000_000, -50_000_000, 5 * S), (1, 3, 99)):
        packets = []
        for k in range(9):
            away = jump if off <= k < off + lasts else 0
            nic = 77 * S + k * 10 * S + k * 200_000 + away
            packets.append(snapshot({BOOTTIME: START + k * 10 * S, NIC: nic}))
            packets.append(event(nic + 9 * S, NIC, SEQUENCE))
        found[f"{jump} {lasts}"] = reported(trace(*packets), 150_000)
    check_kept("doctor_rates", f"beside {off}", found)


@pytest.mark.parametrize("changes", [1, 2, 3])
def test_rates_that_change(changes):
    found = {}
    for ppm in (-90, -40, 40, 90, 400):
        packets, nic = [], 77 * S
        for k in range(60):
            packets.append(snapshot({BOOTTIME: START + k * S, NIC: nic, MONOTONIC: START + k * S}))
            nic += S + (ppm * 1_000 if k // 12 % 2 and k // 12 < 2 * changes else 0)
        found[str(ppm)] = reported(trace(*packets, event(77 * S, NIC)))
    check_kept("doctor_rates", f"changes {changes}", found)


@pytest.mark.parametrize("tick_ns", [1, 2, 3])
def test_a_tick_is_no_drift(tick_ns):
    """The tick of a clock is allowed on top of the tolerance, where that is more than 1 ns."""
    found = {}
    for gain in range(100_000, 100_005):
        data = gaining({NIC: gain}, used=[NIC], gap_ns=S)
        found[str(gain)] = reported(data, 100_000, ClockDomain(NIC, tick_ns=tick_ns))
    check_kept("doctor_rates", f"tick {tick_ns}", found)
