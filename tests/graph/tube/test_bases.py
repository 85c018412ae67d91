"""Clocks of a base tick alike: any change of their offset is a jump, however small."""

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph, Snapshot
from tracetime.graph.tube.evidence import Evidence
from tracetime.graph.tube.limits import Limits
from tracetime.graph.tube.tube import Tube

S, MS, US = 10**9, 10**6, 10**3
KERNEL = Limits.of(500, 500, shared_oscillator=True, one_rate=True)
WALL = Limits.of(500, 500, shared_oscillator=True, may_differ=True, one_rate=True)


def kinds(made: Tube) -> list[str]:
    return [found.kind for found in made.discontinuities]


def offsets(n: int, jumps: dict[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """Readings every 10 s, and an offset that jumps before some of them."""
    at = np.arange(n, dtype=np.int64) * 10 * S
    steps = np.zeros(n, dtype=np.int64)
    steps[list(jumps)] = list(jumps.values())
    return at, np.cumsum(steps)


@pytest.mark.parametrize("slept", [300, 50 * US, 5 * MS])
@pytest.mark.parametrize("before", [1, 2, 10, 19])
def test_a_sleep_is_seen_however_short(slept, before):
    """Half-widths of 100 ns: what changes by more than 200 is a jump."""
    at, offset = offsets(20, {before: slept})
    graph = ClockGraph()
    snapshot = {"MONOTONIC": at, "BOOTTIME": at + offset + 9 * S}
    half = {"BOOTTIME": np.full(20, 100)}
    graph.add_snapshot(Snapshot(snapshot, reference="MONOTONIC", half_width_ns=half))
    (found,) = graph.discontinuities()
    assert found.kind == "suspend"
    least, most = found.size_ns
    assert least <= slept <= most
    assert most - least < 500


def test_guaranteed_bars_keep_the_drift_that_the_clocks_declare():
    at, offset = offsets(20, {10: 5 * MS})
    made = Tube(Evidence.of(at, offset, 100), KERNEL)
    bar = made.convert(np.array([45 * S]), bars="guaranteed")
    assert int(bar.latest[0] - bar.earliest[0]) > 5 * MS


def test_the_estimate_up_to_a_jump_is_that_of_the_earlier_side():
    at, offset = offsets(20, {10: 5 * MS})
    made = Tube(Evidence.of(at, offset, 100), KERNEL)
    points = np.array([91 * S, 99 * S, 100 * S])
    assert np.abs(made.convert(points).estimate - points - [0, 0, 5 * MS]).max() < 10


def test_a_late_snapshot_is_an_outlier():
    at, offset = offsets(20, {10: 50 * US, 11: -50 * US})
    assert kinds(Tube(Evidence.of(at, offset, 100), KERNEL)) == ["outlier"]


def test_clocks_that_contradict_it_often_are_no_base():
    """macOS slews REALTIME alone: its offset from the others changes all the time."""
    at = np.arange(40, dtype=np.int64) * 10 * S
    made = Tube(Evidence.of(at, at // 100_000, 100), WALL)
    assert kinds(made) == []
    assert made.gaps_apart == 39


@pytest.mark.parametrize(
    ("ppm", "jumps", "expected"),
    [(0, {}, 0), (0, {10: 5 * MS}, 0), (0, {4: MS, 11: -MS, 17: MS}, 0), (20, {}, 39), (3, {}, 39),
     (20, {10: 3600 * S}, 38)],
)  # fmt: skip
def test_explain_says_how_many_gaps_contradict_that_clocks_tick_alike(ppm, jumps, expected):
    at, offset = offsets(40, jumps)
    graph = ClockGraph()
    wall = at + offset + at * ppm // 1_000_000
    half = {"REALTIME": np.full(40, 100)}
    snapshot = Snapshot(
        {"BOOTTIME": at, "REALTIME": wall}, reference="BOOTTIME", half_width_ns=half
    )
    graph.add_snapshot(snapshot)
    told = graph.explain(55 * S, "BOOTTIME", "REALTIME", policy="tube")
    (step,) = told.steps
    assert step.gaps_apart == expected
    says = f"{expected} of 39 gaps show that they do not tick alike" in str(told)
    assert says == bool(expected)


@pytest.mark.parametrize(("n", "expected"), [(7, []), (18, ["step"])])
def test_a_wall_clock_is_of_a_base_where_eight_snapshots_confirm_it(n, expected):
    at, offset = offsets(n, {n // 2: MS})
    found = kinds(Tube(Evidence.of(at, offset, 100), WALL))
    assert [kind for kind in found if kind == "step"] == expected


def test_without_half_widths_a_jump_is_from_a_level_to_another():
    at, offset = offsets(40, {20: 5 * MS})
    made = Tube(Evidence.of(at, offset, 1000, assumed=True), KERNEL)
    assert kinds(made) == ["step"]


@pytest.mark.parametrize("ms", [5, 10, 16])
def test_without_half_widths_bars_hold_a_step_of_a_wall_clock(ms):
    """In 10 s the limits allow 10 ms, so no bar is a tenth as wide as the step."""
    at = np.arange(40, dtype=np.int64) * 10 * S

    def wall(x):
        return x + 1_700_000_000 * S + np.where(x > 203 * S, ms * MS, 0)

    graph = ClockGraph()
    graph.add_snapshot({"MONOTONIC": at, "REALTIME": wall(at)})
    points = np.arange(195 * S, 215 * S, S // 20)
    for bars in ("estimated", "guaranteed"):
        back = graph.convert(
            wall(points), "REALTIME", "MONOTONIC", policy="tube", bounds=True, bars=bars
        )
        assert (back.earliest <= points).all()
        assert (points <= back.latest).all()
    assert [one.kind for one in graph.discontinuities()] == ["step"]


@pytest.mark.parametrize("half", [None, 2 * MS])
@pytest.mark.parametrize("tick", [MS, 4 * MS, 10 * MS])
def test_the_tick_of_a_coarse_clock_is_no_jump(tick, half):
    """It lags by up to a tick, for some snapshots by less and for some by more."""
    at = np.arange(60, dtype=np.int64) * 10 * S
    lag = np.repeat([0, tick - 1, tick // 3], 20)
    made = Tube(Evidence.of(at, -lag, half or tick, assumed=half is None), KERNEL)
    graph = ClockGraph(domains=[ClockDomain("MONOTONIC_COARSE", tick_ns=tick)])
    graph.add_snapshot({"BOOTTIME": at + 5 * S, "MONOTONIC_COARSE": at - lag})
    assert "suspend" not in [found.kind for found in graph.discontinuities()]
    assert half is not None or kinds(made) == []


def test_without_half_widths_late_readings_are_no_jumps():
    at = np.arange(40, dtype=np.int64) * 10 * S
    late = np.zeros(40, dtype=np.int64)
    late[[9, 10, 30, 39]] = 40 * US, 70 * US, 90 * US, 20 * US
    made = Tube(Evidence.of(at, late, 1000, assumed=True), KERNEL)
    assert "step" not in kinds(made)


@pytest.mark.parametrize("assumed", [False, True])
def test_a_base_without_jumps_stays_whole(assumed):
    at = np.arange(100, dtype=np.int64) * 10 * S
    noise = np.random.default_rng(3).integers(-90, 91, 100)
    made = Tube(Evidence.of(at, noise, 100, assumed=assumed), KERNEL)
    assert kinds(made) == []


@pytest.mark.parametrize("seed", range(4))
def test_a_slew_of_one_clock_within_wide_half_widths_is_no_step(seed: int) -> None:
    rng = np.random.default_rng(seed)
    t = np.arange(60) * 10**9
    late = [rng.integers(1 - half, half, 60) for half in (100_000, 300_000)]
    readings = {
        "BOOTTIME": t,
        "MONOTONIC": t - 5 * 10**9 + late[0],
        "REALTIME": 10**18 + t + t // 50_000 + late[1],
    }
    graph = ClockGraph()
    graph.add_snapshot(
        Snapshot(
            readings,
            reference="BOOTTIME",
            half_width_ns={"MONOTONIC": 100_000, "REALTIME": 300_000},
        )
    )
    kinds = {one.kind for one in graph.discontinuities()}
    assert not kinds & {"step", "possible_step", "outlier"}
