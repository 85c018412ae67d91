"""Clocks that are set back while they exchange messages: no bar misses, no message is wrong."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from set_back_worlds import S, SetClock, SetWorld, missed_ns

import tracetime as tt
from tracetime import ClockDomain, ClockGraph, ConversionError

A, B, C = "com.example.a", "com.example.b", "com.example.c"
BEGINS = 10**15


def clocks(*sets: list[tuple[float, float]]) -> list[SetClock]:
    named = zip((A, B, C), sets, (10, -30, 40), strict=False)
    return [
        SetClock(name, [(at * S, size * S) for at, size in moved], ppm, BEGINS + 777 * ppm)
        for name, moved, ppm in named
    ]


def kinds(graph: ClockGraph) -> list[str]:
    return sorted(found.kind for found in graph.discontinuities())


def check(world: SetWorld, seed: int = 1) -> ClockGraph:
    """Every bar of a world holds what was read."""
    rng = np.random.default_rng(seed)
    graph, t = world.graph(rng), world.instants(rng)
    for src, dst in permutations(world.clocks, 2):
        for bars in ("guaranteed", "estimated"):
            missed, _ = missed_ns(graph, src, dst, t, bars)
            assert not missed.any(), (src.name, dst.name, bars, missed.max())
    return graph


@pytest.mark.parametrize("rate", [10, 100, pytest.param(1000, marks=pytest.mark.sweep)])
@pytest.mark.parametrize("size", [0.001, 0.005, 0.05, 0.5, 3, 20])
def test_the_abscissa_is_set_back(size: float, rate: float) -> None:
    graph = check(SetWorld(clocks([(30, -size)], []), rate=rate))
    assert kinds(graph) == ["step"]


@pytest.mark.parametrize("shuffled", [False, True])
def test_a_reading_that_the_abscissa_had_twice_is_ambiguous(shuffled: bool) -> None:
    """In whatever order messages are added."""
    world = SetWorld(clocks([(30, -0.5)], []), shuffled=shuffled)
    rng = np.random.default_rng(3)
    graph, (a, b) = world.graph(rng), world.clocks
    t = np.array([29.6, 29.9, 30.1, 30.4]) * S
    with pytest.raises(ConversionError) as caught:
        graph.convert(a.read(t), A, B, policy="tube")
    assert caught.value.reason == "ambiguous_source"
    missed, each = missed_ns(graph, a, b, t, "guaranteed")
    assert not missed.any() and not each.any()
    (found,) = graph.discontinuities()
    assert (str(found.src), str(found.dst)) == (str(graph.clock(B)), str(graph.clock(A)))
    assert -0.501 * S < found.size_ns[0] < -0.5 * S < found.size_ns[1] < -0.499 * S


@pytest.mark.parametrize("size", [0.5, 20, 60])
def test_a_set_back_of_a_minute_and_of_the_wall_clock(size: float) -> None:
    world = SetWorld(
        [
            SetClock("REALTIME", [(80 * S, -size * S)], 5, BEGINS),
            SetClock("REALTIME@machine1", (), -5, BEGINS + 1),
        ],
        seconds=200,
    )
    rng = np.random.default_rng(4)
    graph = tt.ClockGraph()
    for src, dst in permutations(world.clocks, 2):
        world._send(graph, rng, src, dst, 1.0)
    for src, dst in permutations(world.clocks, 2):
        missed, _ = missed_ns(graph, src, dst, world.instants(rng), "guaranteed")
        assert not missed.any()
    assert kinds(graph) == ["step"]


@pytest.mark.parametrize("size", [0.5, 3])
@pytest.mark.parametrize(
    ("a", "b"),
    [
        ([(15, -1)], [(45, -0.7)]),
        ([(15, -1), (20, -1)], [(45, -1)]),
        ([(15, -1), (20, 1)], [(45, -1)]),
        ([(10, -1), (30, -1)], [(20, -1), (40, -1)]),
        ([(30, -1)], [(30.3, -0.7)]),
        ([(30, -1)], [(30.3, 0.7)]),
    ],
)
def test_both_clocks_are_set_back(
    size: float, a: list[tuple[float, float]], b: list[tuple[float, float]]
) -> None:
    one, other = ([(at, moved * size) for at, moved in sets] for sets in (a, b))
    graph = check(SetWorld(clocks(one, other)))
    assert "wrong_order" not in kinds(graph)


def test_both_clocks_are_set_back_by_a_third_of_the_recording() -> None:
    graph = check(SetWorld(clocks([(20, -20)], [(40, -14)])))
    assert "wrong_order" not in kinds(graph)
    # Readings of a clock that are of one instant convert as ever.
    graph = check(SetWorld(clocks([(50, -20)], [(150, -14)]), seconds=200))
    bar = graph.convert(BEGINS + 100 * S, A, B, policy="tube", bounds=True)
    assert bar.latest - bar.earliest < 200_000


@pytest.mark.parametrize("sets", [([(30, -0.5)], []), ([(20, -0.5)], [(40, -0.5)])])
def test_few_messages_go_back(sets: tuple[list[tuple[float, float]], ...]) -> None:
    check(SetWorld(clocks(*sets), share_back=0.02))


@pytest.mark.parametrize("sets", [([(30, -3)], []), ([(15, -3)], [(40, -3)])])
def test_mixed_with_snapshots(sets: tuple[list[tuple[float, float]], ...]) -> None:
    graph = check(SetWorld(clocks(*sets), snapshots=20))
    assert not {"wrong_order", "outlier"} & set(kinds(graph))


@pytest.mark.parametrize("size", [0.001, 0.02, 0.5, 3])
@pytest.mark.parametrize(
    "at",
    [
        (30, None, None),
        (None, 30, None),
        (15, 30, None),
        pytest.param((15, 30, 45), marks=pytest.mark.sweep),
    ],
)
def test_a_mesh_of_three(at: tuple[int | None, ...], size: float) -> None:
    sets = [[] if when is None else [(when, -size)] for when in at]
    check(SetWorld(clocks(*sets)))


@pytest.mark.parametrize("size", [0.001, 0.5, 3])
@pytest.mark.parametrize("moved", [0, 1])
def test_a_clock_that_is_set_forward_is_the_other_one_still(size: float, moved: int) -> None:
    sets = [[], []]
    sets[moved] = [(30, size)]
    world = SetWorld(clocks(*sets))
    graph = check(world)
    (found,) = graph.discontinuities()
    assert str(found.src) == str(graph.clock(A))
    # Beyond the messages beside it, nothing is ambiguous.
    rng = np.random.default_rng(5)
    t = world.instants(rng)
    t = t[np.abs(t - 30 * S) > (1.1 * size + 0.2) * S]
    for src, dst in permutations(world.clocks, 2):
        got = graph.convert(src.read(t), src.name, dst.name, policy="tube", bounds=True)
        near = (t > 0) & (t < 60 * S)
        assert (got.latest - got.earliest)[near].max() < 100_000


def test_no_order_is_of_one_instant() -> None:
    """Both clocks go back and forth until nothing is left."""
    back = [(at, -1.0) for at in range(1, 60)]
    graph = SetWorld(clocks(back, [(at + 0.4, -1.0) for at, _ in back])).graph(
        np.random.default_rng(1)
    )
    try:
        bar = graph.convert(BEGINS, A, B, policy="tube", bounds=True, errors="mask")
    except ConversionError as error:
        assert "were set back so often" in str(error)
    else:
        assert bar.estimate is None


@pytest.mark.parametrize("seed", [1, 5, 8])
def test_a_least_delay_that_is_false_breaks_nothing(seed):
    rng = np.random.default_rng(seed)
    one, other = "com.example.a", "com.example.b"
    domains = [ClockDomain(c, max_drift_ppm=66.66, oscillator=c) for c in (one, other)]
    graph = ClockGraph(domains=domains)
    for before, after in ((one, other), (other, one)):
        sent = np.sort(rng.integers(0, 60 * 10**9, 1000))
        got = sent + 20_000 + rng.exponential(20_000, 1000).astype(np.int64)
        graph.add_order((sent, before), (got, after), min_delay_ns=60_000)
    graph.convert(10**9, one, other, policy="tube")
    assert graph.discontinuities()


@pytest.mark.parametrize("named", [(A, B), (B, A)])
@pytest.mark.parametrize("off_s", [-1e6, -100, -40, -20, 20, 40, 100, 1e6])
def test_one_order_that_is_wrong_by_more_than_all_of_them_last_is_told(named, off_s):
    """Its clock may also have been set there and back: nothing is left in that time to tell."""
    rng, (one, other) = np.random.default_rng(3), named
    graph, n = ClockGraph(), 300
    for way, (before, after) in enumerate((named, named[::-1])):
        sent = BEGINS + (60 * S // n) * np.arange(n) + way * S // 20
        got = sent + 50_000 + rng.exponential(20_000, n).astype(np.int64)
        if (before == other) == (off_s > 0):
            (sent if before == other else got)[n // 2] += int(off_s * S)
        graph.add_order((sent, before), (got, after))
    (found,) = graph.discontinuities()
    assert found.kind in ("wrong_order", "possible_step")
    assert found.orders
    t = BEGINS + np.arange(0, 60 * S, S // 7)
    bar = graph.convert(t, one, other, policy="tube", bounds=True, bars="guaranteed", errors="mask")
    earliest, latest = bar.earliest.fill_null(0).to_numpy(), bar.latest.fill_null(2**62).to_numpy()
    assert ((earliest <= t) & (t <= latest)).all()
