"""Half-widths that nobody declares: each reading's own, so that no bar is a sliver beside the truth."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from corpus import DATA, NO_DATA
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.undeclared import (
    BOTH,
    FAR_NS,
    NOISES,
    PAIRS,
    Got,
    Machine,
    Pair,
    asked,
    jumps,
    machine_graph,
    moved_graph,
    ramp,
)
from tracetime import ClockDomain, ClockGraph, Snapshot, diagnose, open_trace
from tracetime.graph.tube.assumed_widths import learnt
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.results import Bars

S, MS = 1_000_000_000, 1_000_000
Values = npt.NDArray[np.int64]
MONOTONIC, RAW, GPU = PAIRS


def asked_of(pair: Pair, late_ns: dict[int, int], n: int, gap_s: float = 1) -> Got:
    """Bars of exact snapshots, of which some are late."""
    t, late = np.arange(n) * int(gap_s * S), np.zeros(n, np.int64)
    late[list(late_ns)] = list(late_ns.values())
    read = np.linspace(0, (n - 1) * gap_s * S, 400).astype(np.int64)
    return asked(pair.graph(t, late), pair.src, pair.dst, read, pair.truth(read))


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.src)
@pytest.mark.parametrize(
    "late_ns",
    [
        {20: 1_900},
        {20: 5_000},
        {5: 20_000, 14: 20_000, 23: 20_000, 30: 36_000},
        {5: 2 * MS, 14: 2 * MS, 23: 2 * MS, 30: 3_600_000},
        {39: 100_000},
        {0: 100_000},
    ],
    ids=str,
)
def test_late_snapshots_leave_no_sliver(pair: Pair, late_ns: dict[int, int]) -> None:
    got = asked_of(pair, late_ns, 40)
    assert got.outside == 0
    assert got.half_ns <= 1.2 * asked_of(pair, {}, 40).half_ns
    assert got.steps == 0


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.src)
@pytest.mark.parametrize("n", [3, 4, 6, 8, 12])
@pytest.mark.parametrize("late_ns", [6_000, 100_000, 4 * MS])
def test_of_few_snapshots_any_one_may_be_late(pair: Pair, n: int, late_ns: int) -> None:
    for k in range(n):
        assert asked_of(pair, {k: late_ns}, n, 10).outside == 0


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.src)
@pytest.mark.parametrize("late_ns", [5 * MS, 45 * MS])
@pytest.mark.parametrize("k", [4, 7, 10])
@pytest.mark.parametrize("turned", [False, True])
def test_a_late_one_of_few_hides_no_step_beside_them(
    pair: Pair, late_ns: int, k: int, turned: bool
) -> None:
    t = np.arange(11) * 10 * S
    begin_ns, late = t[4] - 5 * S, np.where(np.arange(11) == k, late_ns, 0)

    def truth(read: Values) -> Values:
        return pair.truth(read) - np.where((read < begin_ns) == turned, 20 * MS, 0)

    graph = ClockGraph()
    graph.add_snapshot({pair.dst: truth(t) + late, pair.src: t})
    read = np.append(np.linspace(0, t[3], 50), np.linspace(t[4], t[9], 100)).astype(np.int64)
    assert asked(graph, pair.src, pair.dst, read, truth(read)).outside == 0


def moved_and_asked(
    pair: Pair, moved: Callable[[Values], Values], n: int, beyond_s: int, bars: Bars = "estimated"
) -> Got:
    """Bars of snapshots 10 s apart, while the offset moves; also beyond them."""
    t, late = np.arange(1, n + 1) * 10 * S, np.random.default_rng(n).integers(20, 70, n)
    graph = moved_graph(pair, t, late, moved)
    inside = [np.linspace(t[k], t[k + 1], 50) for k in (0, 1, n // 2 - 1, n - 3, n - 2)]
    ends = np.array([t[0] - beyond_s * S, t[-1] + beyond_s * S])
    read = np.concatenate([*inside, ends]).astype(np.int64)
    return asked(graph, pair.src, pair.dst, read, pair.truth(read) + moved(read), bars)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.src)
@given(
    n=st.sampled_from([3, 4, 6, 8, 9, 12, 15, 16, 20, 40]),
    in_last=st.booleans(),
    at=st.floats(0.001, 0.999),
    size_ns=st.integers(1_000, 99 * MS).flatmap(lambda ns: st.sampled_from([ns, -ns])),
)
def test_bars_hold_a_step_that_the_first_or_last_snapshot_alone_shows(
    pair: Pair, n: int, in_last: bool, at: float, size_ns: int
) -> None:
    """Or that snapshot is late: nothing tells."""
    moved = jumps([int((n - 1 if in_last else 1) * 10 * S + at * 10 * S)], [size_ns])
    for bars in BOTH:
        assert moved_and_asked(pair, moved, n, 2, bars).outside == 0


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair.src)
@pytest.mark.parametrize(
    "sizes_ns",
    [
        (4_000, 15_300_000),
        (80_500_000, 81_000),
        (-11_000, 49_000_000),
        (150_000, -50_000_000),
        (21_000_000, 26_000_000),
        (30_000_000, -3_000_000_000),
    ],
    ids=str,
)
def test_bars_hold_a_snapshot_between_two_steps_and_what_it_is_if_late(
    pair: Pair, sizes_ns: tuple[int, int]
) -> None:
    for n in (8, 12, 16, 40):
        for at in ((0.1, 0.2), (0.5, 0.5), (0.9, 0.1)):
            k = n // 2
            moved = jumps([int((k + i + x) * 10 * S) for i, x in enumerate(at)], list(sizes_ns))
            for bars in BOTH:
                assert moved_and_asked(pair, moved, n, 0, bars).outside == 0


@pytest.mark.parametrize("pair", [RAW, GPU], ids=lambda pair: pair.src)
@pytest.mark.parametrize("ppm", [50, -120, 500])
@pytest.mark.parametrize("begin_s", [0, 3, 8])
@pytest.mark.parametrize("in_last", [True, False])
def test_estimated_bars_hold_a_slew_within_the_first_or_last_gap(
    pair: Pair, ppm: int, begin_s: int, in_last: bool
) -> None:
    for n in (9, 15, 40):
        begin = ((n - 1 if in_last else 1) * 10 + begin_s) * S
        moved = ramp(begin, begin + int(1.4 * S), ppm)
        assert moved_and_asked(pair, moved, n, 0).outside == 0


@pytest.mark.parametrize("burst", [6, 8, 12, 20])
@pytest.mark.parametrize("apart_ns", [0, 1, 1_000])
@pytest.mark.parametrize("at_end", [True, False])
def test_snapshots_of_one_instant_tell_no_rate(burst: int, apart_ns: int, at_end: bool) -> None:
    spaced, together = np.arange(1, 5) * 4 * S, np.arange(burst) * apart_ns
    t = np.append(spaced, 20 * S + together) if at_end else np.append(together, spaced)
    jitter = np.random.default_rng(1).integers(-1_000, 1_000, len(t))
    read = np.linspace(t[0], t[-1], 400).astype(np.int64)
    got = asked(RAW.graph(t, jitter), RAW.src, RAW.dst, read, RAW.truth(read))
    assert (got.outside, got.steps) == (0, 0)
    assert got.half_ns <= 30_000


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("rate", "sigma"), [(1, 10_000), (30, MS), (78, 3 * MS), (100, 5 * MS)])
def test_jitter_of_a_table_is_noise_and_no_step(noise: str, rate: int, sigma: int) -> None:
    rng = np.random.default_rng(4)
    device = S + np.arange(400) * S // rate
    graph = ClockGraph()
    host = device + FAR_NS + (sigma * NOISES[noise](rng, 400)).astype(np.int64)
    graph.add_snapshot({"REALTIME": host, "com.device": device})
    read = rng.integers(device[0], device[-1], 500)
    got = asked(graph, "com.device", "REALTIME", read, read + FAR_NS)
    assert got.outside == 0
    assert got.steps == 0
    assert got.half_ns <= 4.5 * (sigma + 1_000)


def test_a_table_that_jitters_is_no_finding(tmp_path) -> None:
    rng = np.random.default_rng(4)
    device = S + np.arange(60) * 33_333_333
    host = np.maximum.accumulate(device + FAR_NS + rng.normal(0, MS, 60).astype(np.int64))
    rows = [f"{a},{b}\n" for a, b in np.stack([host + np.arange(60), device], axis=1).tolist()]
    (tmp_path / "t.csv").write_text("realtime_ns,com.device_ns\n" + "".join(rows))
    with open_trace(tmp_path / "t.csv") as trace:
        assert not [one for one in diagnose(trace) if one.severity in ("warning", "error")]


@pytest.mark.parametrize("kind", ["calm", "thermal", "step"])
def test_a_driver_that_always_reads_a_device_a_little_late_leaves_it_inside(kind: str) -> None:
    """By 1.5 us: nothing shows a lateness that all readings share."""
    outside = n = 0
    for seed in range(4):
        rng = np.random.default_rng([seed, len(kind)])
        machine = Machine(rng, kind, 620)
        taken = np.arange(1, 61) * 10 * S + rng.integers(0, S // 2, 60)
        graph = machine_graph(rng, machine, taken, False)
        t = rng.integers(taken[0], taken[-1], 300)
        read, truth = machine.read("com.example.gpu", t), machine.read("BOOTTIME", t)
        got = asked(graph, "com.example.gpu", "BOOTTIME", read, truth)
        outside, n = outside + got.outside, n + got.asked
    assert outside <= 0.016 * n


@pytest.mark.parametrize("kind", ["calm", "laptop", "pll", "slew", "chrony"])
@pytest.mark.parametrize("busy", [False, True])
def test_the_clocks_of_a_machine_stay_inside(kind: str, busy: bool) -> None:
    outside = n = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, len(kind), busy])
        machine = Machine(rng, kind, 620)
        taken = np.arange(1, 61) * 10 * S + rng.integers(0, S // 2, 60)
        graph = machine_graph(rng, machine, taken, busy)
        t = rng.integers(taken[0], taken[-1], 300)
        for clock in ("MONOTONIC", "REALTIME", "MONOTONIC_RAW"):
            got = asked(
                graph, clock, "BOOTTIME", machine.read(clock, t), machine.read("BOOTTIME", t)
            )
            outside, n = outside + got.outside, n + got.asked
    assert outside <= 0.005 * n


def test_half_widths_are_the_same_whichever_clock_was_set_back_and_in_any_order() -> None:
    """In the order of a clock that was set back, its readings are mixed up."""
    rng = np.random.default_rng(2)
    a = np.arange(60) * S
    b = a - np.where(a > 30 * S, 20 * S + 500, 0) + rng.integers(0, 300, 60)
    limits = Limits.of(100, 100)
    half = learnt(a, b - a, limits, 1_000).half_ns
    assert set(half.tolist()) == {1_000}
    assert learnt(b, a - b, limits, 1_000).half_ns.tolist() == half.tolist()
    order = rng.permutation(60)
    b[7] += 40_000
    half = learnt(a, b - a, limits, 1_000).half_ns
    assert learnt(a[order], (b - a)[order], limits, 1_000).half_ns.tolist() == half[order].tolist()


def test_a_half_width_that_is_declared_is_every_readings() -> None:
    t = np.arange(20) * S
    graph = ClockGraph()
    graph.declare(ClockDomain("MONOTONIC", assumed_half_width_ns=50_000))
    late = np.where(np.arange(20) == 7, 20_000, 0)
    graph.add_snapshot(Snapshot({"MONOTONIC": t, "BOOTTIME": t + 7 * S + late}))
    found = graph.explain(5 * S, "MONOTONIC", "BOOTTIME", policy="tube")
    assert found.steps[0].half_width_ns == 50_000


@pytest.mark.skipif(not (DATA / "clocks").is_dir(), reason=NO_DATA)
@pytest.mark.parametrize("step", [10, 50, 100])
def test_recorded_slews_stay_inside(step: int) -> None:
    """MONOTONIC_RAW while NTP slews the others, every 1, 5 and 10 s, nothing declared."""
    columns = np.genfromtxt(
        DATA / "clocks" / "slew_drift.csv", delimiter=",", names=True, dtype=np.int64
    )
    raw, boottime = (np.ascontiguousarray(columns[c]) for c in ("monotonic_raw_ns", "boottime_ns"))
    for phase in (0, step // 3, step // 2):
        graph = ClockGraph()
        pick = slice(phase, None, step)
        graph.add_snapshot({"MONOTONIC_RAW": raw[pick], "BOOTTIME": boottime[pick]})
        inside = (raw >= raw[pick][0]) & (raw <= raw[pick][-1])
        got = asked(graph, "MONOTONIC_RAW", "BOOTTIME", raw[inside], boottime[inside])
        assert got.outside <= 0.001 * got.asked
