"""Parts of a graph by themselves, over many small inputs: the same results as before."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from kept import check_kept

from tracetime import ClockDomain, ClockId, ConversionError
from tracetime.graph.decimation import decimate
from tracetime.graph.routes import SearchBudget, detour, least_error
from tracetime.graph.simultaneity import Aligned, Aligner, is_coarse
from tracetime.graph.ticks import learn_rate, nominal_ns, saturated_ns
from tracetime.graph.tube.corrections import SCALED_PPM, correction_of
from tracetime.graph.tube.joint_readings import JointReadings
from tracetime.graph.tube.lattice import EventReadings, Lattice, find_lattices
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.loops import Triangles
from tracetime.graph.tube.measurements import Read
from tracetime.graph.tube.tick_periods import Residuals, Tick
from tracetime.graph.tube.wraps import Counter, modulus_of, open_wraps, unfold_readings
from tracetime.graph.values import difference, gains

S = 1_000_000_000
APP = ClockId.parse("com.example.app")


def or_fault(call: Callable[..., Any], *args: Any) -> Any:
    try:
        return call(*args)
    except ConversionError as error:
        return f"{error.reason}: {error.message}"


def on_a_lattice(chance: Random) -> np.ndarray:
    """Readings of a clock that ticks, a few of them off, rounded or slewed."""
    period = [40.0, 63.0, 64.0, 66.0, 1_000.0, 16_000.0, S / 60, S / 32_768, 1e6 * (1 + 2e-5),
              20_833.25][int(chance.random() * 10)]  # fmt: skip
    rounding = [1, 1, 1, 10, 100][int(chance.random() * 5)]
    n = [15, 16, 17, 18, 24, 60, 200, 600][int(chance.random() * 8)]
    most = [1, 3, 40, 5_000][int(chance.random() * 4)]
    off = [0.0, 0.0, 0.04, 0.055, 0.2][int(chance.random() * 5)]
    common = [1, 1, 2, 5][int(chance.random() * 4)]
    tick, read = int(chance.random() * 10**6), []
    for _ in range(n):
        tick += (1 + int(chance.random() * most)) * common
        at = tick * period + (chance.random() * period if chance.random() < off else 0.0)
        read.append(int(at / rounding) * rounding)
    return np.unique(np.array(read, dtype=np.int64))


@pytest.mark.parametrize("group", range(20))
def test_lattices(group: int) -> None:
    results = []
    for seed in range(20):
        readings = on_a_lattice(Random(1_000 * group + seed))
        unit = [1, 1, 10, 1_000][seed % 4]
        results.append([len(readings), *map(list, find_lattices(readings, unit))])
    check_kept("lattices", str(group), results)


def hardly_on_a_lattice(chance: Random) -> np.ndarray:
    """So few readings, of so short a period, or so many off, that chance is hardly excluded."""
    n = 16 + int(chance.random() * 30)
    period = 60 * 2 ** (chance.random() * (4 if n < 24 else 1.5)) + [0.0, 0.5][n % 2]
    most = 2 + int(chance.random() * 9)
    tick, read = 0, []
    wrong = {int(chance.random() * n) for _ in range(int(chance.random() * n * 0.05) + n // 20)}
    for k in range(n):
        tick += 1 + int(chance.random() * most)
        read.append(int(tick * period) + (int(chance.random() * period) if k in wrong else 0))
    return np.unique(np.array(read, dtype=np.int64))


@pytest.mark.parametrize("group", range(25))
def test_what_is_hardly_a_lattice(group: int) -> None:
    results = []
    for seed in range(30):
        readings = hardly_on_a_lattice(Random(2_000 * group + seed))
        results.append(["", *map(list, find_lattices(readings, [1, 1, 2, 20][seed % 4]))])
    check_kept("lattices", f"hardly, {group}", results)


def test_sixteen_readings_show_a_period_of_seven_times_what_they_are_multiples_of() -> None:
    """Fifteen gaps, of which 5 % may be off: at 40 bits in all chance is excluded."""
    ticks = np.cumsum([0, 3, 5, 2, 7, 1, 4, 9, 2, 3, 8, 1, 6, 5, 2, 3])
    found = [period for period in range(120, 160) if find_lattices(ticks * period, 20)]
    assert found == list(range(140, 160))
    assert find_lattices(ticks[:15] * 1_000) == []
    assert find_lattices(ticks * 63) == []
    assert find_lattices(ticks * 64) == [Lattice(64.0, 0)]


def test_a_reading_that_is_beyond_all_measure_shows_nothing() -> None:
    ticks = np.cumsum([0, 3, 5, 2, 7, 1, 4, 9, 2, 3, 8, 1, 6, 5, 2, 3, 4])
    readings = (ticks * 1_000.5).astype(np.int64)
    (found,) = find_lattices(readings[:16])
    assert found.period == pytest.approx(1_000.5, rel=1e-4)
    assert find_lattices(np.append(readings[:15], 2**53)) == []
    (found,) = find_lattices(np.append(readings[:16], 2**53))
    assert found.period == pytest.approx(1_000.5, rel=1e-4)


def test_a_tick_shows_where_every_other_snapshot_is_elsewhere_in_the_file() -> None:
    """Of two recordings by turns, neighbours are never in order; every other one is."""
    chance, tick = Random(1), 10_000_000
    times = np.cumsum([int(S * (0.5 + chance.random())) for _ in range(90)])
    times[1::2] += 400 * S
    left = Residuals.of(times // tick * tick, times)
    assert len(left.median) == len(left.most) == 3
    assert left.scatters(tick, tick)
    assert not left.is_steady(tick)
    assert len(Residuals.of((times // tick * tick)[:39], times[:39]).median) == 1


@pytest.mark.parametrize("group", range(6))
def test_what_readings_show_of_a_tick(group: int) -> None:
    results = []
    for seed in range(12):
        chance = Random(1_000 * group + seed)
        period = [1_000.0, 16_000.0, 1e6, S / 60][seed % 4]
        n = [15, 16, 20, 40, 90][int(chance.random() * 5)]
        times = np.cumsum([int(S * (0.2 + chance.random())) for _ in range(n)])
        ticks = np.array([int(int(t / period) * period) for t in times.tolist()])
        other = times + np.array([int(chance.random() * 900) for _ in times])
        if seed % 5 == 1:
            other[n // 2 :] += S
        if seed % 5 == 2:
            ticks[n // 3] -= 5 * S
        left = Residuals.of(ticks, other)
        lattice = Lattice(period, [0, 1, 10][seed % 3])
        some = ticks[: n // 8 * 8]
        events = [
            EventReadings(some, a, b).are_uneven(lattice) for a, b in ((5, 4), (5, 5), (4, 5))
        ]
        even = EventReadings(np.arange(48) * 7_000_000 + 5, 47, 0).are_uneven(lattice)
        tick = Tick.of(lattice, [Fraction(1), Fraction(625, 12), Fraction(1, 3)][seed % 3])
        results.append([
            left.median, left.most, [left.is_steady(period * f) for f in (0.001, 0.1, 1, 2.5, 10, 400)],
            [left.scatters(period * f, period * g) for f in (0.5, 1, 2) for g in (0.3, 1, 2)],
            events, even, list(tick), lattice.steps(ticks)[:6],
        ])  # fmt: skip
    check_kept("ticks", str(group), results)


@pytest.mark.parametrize("group", range(16))
def test_unfolded_counters(group: int) -> None:
    """Wraps, resets, wrong readings, rounding, and gaps that are too long."""
    results = []
    for seed in range(16):
        chance = Random(1_000 * group + seed)
        modulus = [1 << 16, 1 << 24, 1_000_000][seed % 3]
        rate = [Fraction(1), Fraction(1000, 3), Fraction(1, 7)][seed // 3 % 3]
        wrap_ns = float(modulus * rate)
        gap = wrap_ns * [0.01, 0.3, 0.49, 0.9, 2.6, 30.0][int(chance.random() * 6)]
        drift = [0.0, 1e-4, 6e-4, 0.02][int(chance.random() * 4)]
        slack = int(wrap_ns * [0.0, 0.001, 0.02, 0.2, 0.499, 0.6][int(chance.random() * 6)])
        n = [1, 2, 3, 5, 9, 14][int(chance.random() * 6)]
        at, t, start, kind = [], 0.0, int(chance.random() * modulus), []
        for _ in range(n):
            at.append(int(t))
            t += gap * (0.3 + chance.random())
            kind.append(chance.random())
        raw, base = [], 0
        for t_ns, what in zip(at, kind, strict=True):
            if what < 0.12:
                base = -int(t_ns / rate) - start + int(chance.random() * gap / float(rate) / 9)
            wrong = int(chance.random() * modulus) if 0.12 <= what < 0.2 else 0
            late = int((chance.random() - 0.5) * slack / 2 / float(rate))
            raw.append(
                (int(t_ns * (1 + drift * 0.9) / rate) + start + base + wrong + late) % modulus
            )
        order = list(range(n))
        if seed % 4 == 1:
            chance.shuffle(order)
        readings, others = (np.array([x[k] for k in order], dtype=np.int64) for x in (raw, at))
        unfolded = or_fault(unfold_readings, APP, readings, others, modulus, rate, drift, slack)
        results.append(unfolded)
        if isinstance(unfolded, str):
            continue
        counter = Counter(modulus, np.arange(n, dtype=np.int64) * 3 + 4, unfolded)
        values_there = np.array([0, 4, 5, 7, 10, 3 * n + 9])
        values = np.array([-5, 0, modulus // 2, modulus - 1, modulus, 5 * modulus + 1])
        results.append(
            [
                list(counter.at(values_there)),
                list(counter.around(values_there)),
                list(counter.wraps_of(values)),
                list(counter.unfold(values, *counter.around(values_there))),
                open_wraps(APP, counter, rate),
                open_wraps(APP, counter, None),
            ]
        )
    check_kept("wraps", str(group), results)


def test_where_counters_wrap() -> None:
    assert [modulus_of(bits, unit) for bits, unit in ((24, 1), (24, 1_000), (63, 1), (64, 1))] == [
        1 << 24,
        1_000 << 24,
        None,
        None,
    ]
    assert modulus_of(61, 1) == 1 << 61
    assert modulus_of(60, 2) == 1 << 61
    assert modulus_of(60, 3) is None
    assert modulus_of(1, 1) == 2


@pytest.mark.parametrize("group", range(6))
def test_thinned_points(group: int) -> None:
    results = []
    for seed in range(8):
        chance = Random(1_000 * group + seed)
        n, most = 5 + int(chance.random() * 90), 3 + int(chance.random() * 40)
        gaps = [0.0, 0.05, 0.5][seed % 3]
        columns = [
            np.array(
                [
                    float("nan") if chance.random() < gaps else round(chance.random() * 50)
                    for _ in range(n)
                ]
            )
            for _ in range(1 + seed % 3)
        ]
        keep = np.array([chance.random() < [0.02, 0.3, 0.9][seed % 3] for _ in range(n)])
        results.append([n, most, decimate(most, columns), decimate(most, columns, keep)])
    assert decimate(5, [np.arange(5.0)]).tolist() == [0, 1, 2, 3, 4]
    check_kept("thinned", str(group), results)


def clocks_in(chance: Random, n: int) -> dict[ClockId, dict[ClockId, float]]:
    """Clocks, some tied to some others, with what a hop costs."""
    clocks = [ClockId(200 + k) for k in range(n)]
    tied: dict[ClockId, dict[ClockId, float]] = {clock: {} for clock in clocks}
    for k, one in enumerate(clocks):
        for other in clocks[k + 1 :]:
            if chance.random() < 2.4 / n:
                cost = float(1 + int(chance.random() * 4))
                if chance.random() < 0.1:
                    cost = float("inf")
                tied[one][other] = tied[other][one] = cost
    return tied


def ways(seed: int) -> list[Any]:
    tied = clocks_in(Random(seed), 5 + seed % 5)
    source, target = ClockId(200), ClockId(199 + len(tied) - seed % 2)

    def cost(one: ClockId, other: ClockId) -> float:
        return tied[one][other]

    def searched(known: Callable[[ClockId], list[ClockId] | None], left: int | None) -> list[Any]:
        steps = SearchBudget(left)
        path = least_error(source, target, tied.__getitem__, cost, known, steps)
        return [path, steps.left, steps.spent]

    def nothing(_: ClockId) -> None:
        return None

    def rest(here: ClockId) -> list[ClockId] | None:
        if here.clock % 3:
            return None
        return least_error(here, target, tied.__getitem__, cost, nothing, SearchBudget(None))

    round_ways = []
    for other in list(tied[source])[:2]:
        for left in (None, 500, 9):
            steps = SearchBudget(left)
            round_ways.append([detour(source, other, tied.__getitem__, steps), steps.left])
    direct = [searched(nothing, left) for left in (None, 1_000, 7)]
    return [*direct, searched(rest, 1_000), round_ways]


@pytest.mark.parametrize("group", range(8))
def test_ways(group: int) -> None:
    check_kept("ways", str(group), [ways(1_000 * group + seed) for seed in range(14)])


@pytest.mark.parametrize("group", range(8))
def test_triangles(group: int) -> None:
    results = []
    for seed in range(10):
        chance = Random(1_000 * group + seed)
        clocks = [ClockId(200 + k) for k in range(4 + seed % 4)]
        series = []
        for _ in range(2 + int(chance.random() * 4)):
            some = [clock for clock in clocks if chance.random() < 0.45]
            if len(some) > 1:
                chance.shuffle(some)
                series.append(tuple(some))
        found = Triangles(series)
        results.append(
            [
                " ".join(str(clock) for clock in found.clocks),
                *(
                    f"{src} {dst}: {' '.join(map(str, found.vias(src, dst)))} {found.closed(src, dst)}"
                    for src in found.clocks
                    for dst in found.ends(src)
                ),
            ]
        )
    check_kept("triangles", str(group), results)


def test_evidence_of_two_brackets() -> None:
    """Half-widths rounded up, for both kinds of drift."""
    found = []
    at, before = np.array([0, 1, 2, 1_001, 10**9 + 7]), np.full(5, 5 * S)
    wide = np.array([0, 1, 2, 999, 3 * 10**6 + 1])
    one, other = Read(wide, at // 9), Read(at, wide)
    numbers, boxed = np.arange(5), np.zeros(5, dtype=bool)
    for limits in (Limits(0.0, 0.0), Limits.of(100, 500), Limits(0.1, 0.0)):
        after = JointReadings(numbers, before, before + 5, one, other, boxed).offsets(limits.drift)
        ahead = JointReadings(numbers, before, before - 5, other, one, boxed).offsets(limits.drift)
        found.append([[before, *after], [before, *ahead]])
    check_kept("parts", "evidence", found)


def test_limits_of_two_clocks() -> None:
    results = []
    for drifts in ((0, 0), (100, 500), (500, 100), (32_000, 20_000)):
        for wander in ((None, None), (0.01, None), (0.01, 0.5), (None, 0)):
            for shared in (
                {},
                {"shared_oscillator": True},
                {"shared_oscillator": True, "may_differ": True, "one_rate": True},
            ):
                made = Limits.of(*drifts, wander, **shared)
                results.append([
                    made.drift, made.wander, made.wander_declared, made.rise, made.shared,
                    made.if_confirmed, made.one_rate, made.least_wander,
                    [made.spread(span) for span in (0, 1, 999, S, 3_600 * S)],
                ])  # fmt: skip
    check_kept("parts", "limits", results)


def test_ticks_as_ns() -> None:
    """Exact, rounded down, within int64; and rates from the ends of snapshots."""
    results = []
    ticks = np.array([-(2**63), -(10**12) - 1, -1, 0, 1, 2, 999, 10**15 + 7, 2**62, 2**63 - 1])
    for rate in (Fraction(1), Fraction(1, 3), Fraction(625, 12), Fraction(10**9, 32_768),
                 Fraction(2**70, 2**64 + 1), Fraction(1, 2**65), Fraction(2**40 - 1, 2**39)):  # fmt: skip
        results.append(
            [
                list(saturated_ns(ticks, rate)),
                or_fault(nominal_ns, ticks[1:7], rate),
                or_fault(nominal_ns, ticks, rate),
                nominal_ns(ticks[:0], rate),
            ]
        )
    chance = Random(5)
    for n in (0, 1, 2, 3, 9):
        counts = np.array([int(chance.random() * 10**9) for _ in range(n)], dtype=np.int64)
        for ns in (counts * 5 // 2 + 7, counts[::-1] * 3, counts * 0, counts // 10**8 * 2**40):
            results.append(str(or_fault(learn_rate, counts, ns, "the TSC")))
    check_kept("parts", "rates", results)


def test_differences_and_gains() -> None:
    far = np.array([-(2**63), -(2**62), -5, 0, 2**53 + 1, 2**62, 2**63 - 1])
    check_kept(
        "parts",
        "differences",
        [
            difference(far, far[::-1].copy()),
            difference(far, far + 0),
            gains(far, far[::-1].copy()),
            gains(far, far // 2),
        ],
    )


def test_corrections_of_two_steered_clocks() -> None:
    none = -(2**63)
    one = np.array([0, 65_536, none, -6_553_600, 131_072])
    other = np.array([0, 0, 5, 6_553_600, none])
    results = [
        correction_of(one, other),
        correction_of(other, one),
        correction_of(one, one),
        correction_of(np.full(5, none), one),
        correction_of(one * 0 + 7, other * 0 + 9),
    ]
    assert SCALED_PPM == 65_536_000_000
    check_kept("parts", "corrections", results)


@pytest.mark.parametrize("group", range(4))
def test_aligned_readings(group: int) -> None:
    results = []
    for seed in range(8):
        chance = Random(1_000 * group + seed)
        aligner, reference = Aligner(), ClockDomain("BOOTTIME", max_drift_ppm=100)
        domain = ClockDomain(
            APP, max_drift_ppm=[0, 500][seed % 2], tick_ns=[1, 10**6][seed // 2 % 2]
        )
        at = [0, 900, 10 * S, 2**63 - 9_000][seed // 4 % 2 * 2 + group % 2]
        for k in range(9):
            at += [-400, 3, 700][int(chance.random() * 3)]
            read = Aligned(
                max(0, at),
                [0, 40, -300, 5_000, -2_000][int(chance.random() * 5)],
                [-1, 0, 70][int(chance.random() * 3)],
            )
            if k == 5:
                domain = ClockDomain(APP, max_drift_ppm=900, tick_ns=domain.tick_ns)
            main = chance.random() < 0.7
            results.append(list(aligner.align(read, domain, reference, main=main)))
    check_kept("aligned", str(group), results)


def test_clocks_that_stop_for_longer_than_a_snapshot_takes() -> None:
    def coarse(**expected: Any) -> bool:
        return is_coarse(ClockDomain(APP, **expected))

    assert [coarse(tick_ns=ns) for ns in (1, 100_000, 100_001)] == [False, False, True]
    assert [coarse(ns_per_tick=Fraction(n, 7)) for n in (700_000, 700_001)] == [False, True]
    assert not coarse(ns_per_tick=None)
    assert coarse(ns_per_tick=None, tick_ns=200_000)
