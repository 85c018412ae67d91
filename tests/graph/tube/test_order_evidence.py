"""What orders say of two clocks: each row of the table, ticks, rates, and worlds of known truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from message_worlds import Clocks, Model

from tracetime import ClockDomain, ClockGraph, ConversionError, Reading, Snapshot
from tracetime.clocks.ids import ClockId
from tracetime.graph.tube.evidence import OPEN_HIGH, OPEN_LOW
from tracetime.graph.tube.order_evidence import OrderBounds, Scale, bounds_of
from tracetime.graph.tube.orders import Orders

HOST, DEVICE, OTHER = "MONOTONIC_RAW", "a.device", "an.other"
A, B, C = (ClockId.parse(name) for name in (HOST, DEVICE, OTHER))
S = 10**9
NS = Scale(Fraction(1), 1)
FASTEST, DRIFT = 1e-4, 2e-4
# A's tick of 1 ns and what the offset moves meanwhile, and B's tick: less than their sum.
LATE = 1 + 1 + 7 - 1


def _bounds(
    a_first: bool, a: int, b: int, least: int = 0, most: int | None = None, a_scale: Scale = NS
) -> tuple[int, int, int]:
    """Where an order of two clocks stands, and what it says."""
    orders = Orders()
    here, there = np.array([a]), np.array([b])
    if a_first:
        orders.add(A, B, here, there, least, most)
    else:
        orders.add(B, A, there, here, least, most)
    found = orders.of(A, B)
    assert found is not None
    bounds: OrderBounds = bounds_of(found, a_scale, Scale(Fraction(1), 7), FASTEST, DRIFT)
    return bounds.a_ns.item(), bounds.low.item(), bounds.high.item()


def test_a_message_from_a_to_b_bounds_the_offset_from_above() -> None:
    assert _bounds(True, 1_000, 5_000) == (1_000, OPEN_LOW, 4_000 + LATE)


def test_a_message_from_b_to_a_bounds_it_from_below() -> None:
    assert _bounds(False, 1_000, 5_000) == (1_000, 4_000 - LATE, OPEN_HIGH)


def test_a_least_delay_brings_the_bound_closer_by_less_than_it() -> None:
    # A clock that is slow by 100 ppm counts 99,994.9 ns of 100,005.
    assert _bounds(True, 0, 200_000, 100_005) == (0, OPEN_LOW, 200_000 - 99_994 + LATE)
    assert _bounds(False, 0, -200_000, 100_005) == (0, -200_000 + 99_994 - LATE, OPEN_HIGH)
    assert _bounds(True, 0, 100, 5) == (0, OPEN_LOW, 100 - 4 + LATE)


def test_a_greatest_delay_bounds_the_other_side() -> None:
    # A clock that is fast by 200 ppm counts 100,019.2 ns of 99,999.
    assert _bounds(True, 0, 9, 0, 99_999) == (0, 9 - 100_019 - LATE, 9 + LATE)
    assert _bounds(False, 0, 9, 0, 99_999) == (0, 9 - LATE, 9 + 100_019 + LATE)


def test_a_coarse_clock_moves_while_its_tick_lasts() -> None:
    coarse = Scale(Fraction(1), 4_000_000)
    moved = math.ceil(4_000_000 * DRIFT)
    late = 4_000_000 + moved + 7 - 1
    assert _bounds(False, 0, 9, a_scale=coarse) == (0, 9 - late, OPEN_HIGH)
    assert _bounds(True, 0, 9, a_scale=coarse) == (0, OPEN_LOW, 9 + late)


def test_a_counter_may_be_late_by_its_unit_and_the_rounding_of_ns() -> None:
    scale = Scale.of(Fraction(125, 24), 1)
    assert scale.tick_ns == 6 + 1
    assert _bounds(False, 24, 125, a_scale=scale) == (125, -7 - 1 - 7 + 1, OPEN_HIGH)


def test_orders_a_century_apart_are_left_out() -> None:
    orders = Orders()
    orders.add(A, B, np.array([-(2**63), 1, 0]), np.array([2**63 - 1, 2, 2**61]), 0)
    found = orders.of(A, B)
    assert found is not None
    bounds = bounds_of(found, NS, NS, FASTEST, DRIFT)
    assert bounds.orders.numbers.tolist() == [1]
    assert bounds.a_ns.tolist() == [1]


def _exact(**more: float) -> dict[str, float]:
    return {"max_drift_ppm": 0, "wander_ppm": 0} | more


def _bars(graph: ClockGraph, ts: int, src: str = HOST, dst: str = DEVICE) -> tuple[int, int]:
    bar = graph.convert(ts, src, dst, policy="tube", bars="guaranteed", bounds=True)
    return bar.earliest, bar.latest


@pytest.fixture
def graph() -> ClockGraph:
    """Clocks without drift: a message each way, 20 ns and 30 ns on the way or longer."""
    graph = ClockGraph(domains=[ClockDomain(name, **_exact()) for name in (HOST, DEVICE, OTHER)])
    graph.add_order(before=(1_000, HOST), after=(5_020, DEVICE))
    graph.add_order(before=(5_100, DEVICE), after=(1_130, HOST))
    return graph


def test_messages_both_ways_close_the_bar(graph: ClockGraph) -> None:
    # 2 ns of ticks and rounding on each side.
    assert _bars(graph, 1_000) == (4_970 - 2, 5_020 + 2)
    assert _bars(graph, 7_000) == (10_970 - 2, 11_020 + 2)
    earliest, latest = _bars(graph, 5_000, DEVICE, HOST)
    assert earliest <= 980 - 2
    assert latest >= 1_030 + 2
    estimate = graph.convert(1_000, HOST, DEVICE, policy="tube")
    assert 4_968 <= estimate <= 5_022


def test_a_clock_with_orders_alone_is_on_paths(graph: ClockGraph) -> None:
    graph.add_snapshot(Snapshot({"BOOTTIME": [0, S], HOST: [7, 7 + S]}))
    assert graph.path("BOOTTIME", DEVICE, policy="tube") == [ClockId.parse("BOOTTIME"), A, B]
    assert graph.convert(1_000, "BOOTTIME", DEVICE, policy="tube") > 0
    with pytest.raises(ConversionError, match="no snapshot has"):
        graph.convert(1_000, "BOOTTIME", DEVICE)
    with pytest.raises(ConversionError, match="no snapshot has"):
        graph.convert(1_000, HOST, OTHER, policy="tube")


def test_messages_between_machines_tie_them() -> None:
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": [0, S], "MONOTONIC": [5, 5 + S]})
    graph.add_snapshot({"BOOTTIME@machine2": [0, S], "MONOTONIC@machine2": [5, 5 + S]})
    with pytest.raises(ConversionError, match="of two machines"):
        graph.convert(0, "MONOTONIC", "MONOTONIC@machine2", policy="tube")
    graph.add_pings("BOOTTIME", "BOOTTIME@machine2", 100, 7_150, 7_180, 260)
    bar = graph.convert(105, "MONOTONIC", "MONOTONIC@machine2", policy="tube", bounds=True)
    assert bar.earliest < 7_130 < bar.latest


def test_orders_join_snapshots() -> None:
    graph = ClockGraph(domains=[ClockDomain(name, **_exact()) for name in (HOST, DEVICE)])
    graph.add_snapshot(
        Snapshot({HOST: 0, DEVICE: 4_000}, reference=HOST, half_width_ns={DEVICE: 500})
    )
    wide = _bars(graph, 1_000)
    assert wide == (4_500, 5_500)
    graph.add_order((1_000, HOST), (5_020, DEVICE))
    assert _bars(graph, 1_000) == (4_500, 5_022)


def test_a_greatest_delay_makes_a_snapshot_of_an_order() -> None:
    graph = ClockGraph(domains=[ClockDomain(name, **_exact()) for name in (HOST, DEVICE)])
    graph.add_order((1_000, HOST), (5_020, DEVICE), min_delay_ns=10, max_delay_ns=50)
    assert _bars(graph, 1_000) == (4_970 - 2, 5_010 + 2)


def test_of_an_unknown_rate_orders_alone_do_not_do() -> None:
    graph = ClockGraph()
    graph.add_order((1_000, HOST), (5_020, "TSC"))
    with pytest.raises(ConversionError, match="rate of TSC is unknown, and orders alone do not"):
        graph.convert(1_000, HOST, "TSC", policy="tube")
    graph.declare(ClockDomain("TSC", ns_per_tick=Fraction(1, 2)))
    graph.add_order((5_100, "TSC"), (1_130, HOST))
    assert 4_000 < graph.convert(1_000, HOST, "TSC", policy="tube") < 6_000


def test_a_clock_that_is_declared_to_wrap_later(graph: ClockGraph) -> None:
    graph.declare(ClockDomain(DEVICE, valid_bits=32))
    with pytest.raises(ConversionError, match="wraps, and has orders: .* unwrap its readings"):
        graph.convert(1_000, HOST, DEVICE, policy="tube")


def test_a_clock_with_a_unit() -> None:
    """Raw readings of a clock that counts microseconds, as `convert` takes them."""
    graph = ClockGraph()
    graph.add_snapshot({"BOOTTIME": [0, S], "64@seq3": Reading([0, S // 1_000], unit_ns=1_000)})
    graph.add_order((500, "64@seq3"), (520_000, HOST))
    graph.add_order((530_000, HOST), (560, "64@seq3"))
    bar = graph.convert(540, "64@seq3", HOST, policy="tube", bounds=True)
    assert bar.earliest <= 540_000 <= bar.latest
    assert bar.latest - bar.earliest < 100_000


def test_the_orders_that_set_a_bar_are_named(graph: ClockGraph) -> None:
    graph.add_order((2 * S, HOST), (2 * S + 9_000, DEVICE))
    graph.declare(ClockDomain(DEVICE, name=DEVICE, **_exact()))
    hop = graph.explain(5_000, HOST, DEVICE, policy="tube").steps[0]
    assert (hop.snapshots, hop.half_width_ns, hop.orders) == (0, None, 3)
    assert hop.earliest_by == (1, B, 5_100, A, 1_130, 5_000 - 1_130)
    assert hop.latest_by == (0, A, 1_000, B, 5_020, 4_000)
    back = graph.explain(9_000, DEVICE, HOST, policy="tube").steps[0]
    assert (back.earliest_by.number, back.latest_by.number) == (0, 1)
    said = str(graph.explain(5_000, HOST, DEVICE, policy="tube"))
    assert ": 3 orders, drift within" in said
    assert "latest: order 0, MONOTONIC_RAW 1000 before a.device 5020, 4 us before the value" in said
    assert (
        "earliest: order 1, a.device 5100 before MONOTONIC_RAW 1130, 3.87 us before the value"
        in said
    )


def test_a_snapshot_that_sets_a_bar_is_not_named() -> None:
    graph = ClockGraph(domains=[ClockDomain(name, **_exact()) for name in (HOST, DEVICE)])
    graph.add_snapshot(
        Snapshot({HOST: 0, DEVICE: 4_000}, reference=HOST, half_width_ns={DEVICE: 500})
    )
    graph.add_order((1_000, HOST), (5_020, DEVICE))
    hop = graph.explain(2_000, HOST, DEVICE, policy="tube").steps[0]
    assert hop.earliest_by is None
    assert hop.latest_by is not None
    assert (hop.snapshots, hop.half_width_ns, hop.orders) == (1, 500.0, 1)


@settings(max_examples=60)
@given(data=st.data())
def test_the_truth_is_inside_guaranteed_bars(data: st.DataObject) -> None:
    """Clocks of exact rational rates within their limits, and messages of any delay."""
    ppm = [data.draw(st.integers(-100, 100)) for _ in range(2)]
    rates = [1 + Fraction(p, 1_000_000) for p in ppm]
    starts = data.draw(st.tuples(*[st.integers(-(10**18), 10**18)] * 2))

    def read(which: int, at: Fraction | int) -> int:
        return math.floor(starts[which] + at * rates[which])

    domains = [ClockDomain(name, max_drift_ppm=100) for name in (HOST, DEVICE)]
    graph = ClockGraph(domains=domains)
    names = HOST, DEVICE
    for way in (0, 1):
        for _ in range(data.draw(st.integers(1, 6))):
            sent = data.draw(st.integers(0, 600 * S))
            delay = data.draw(st.integers(0, 10**6) | st.integers(0, 10 * S))
            least = data.draw(st.integers(0, delay))
            most = data.draw(st.none() | st.integers(delay, 20 * S))
            graph.add_order(
                (read(way, sent), names[way]),
                (read(1 - way, sent + delay), names[1 - way]),
                min_delay_ns=least,
                max_delay_ns=most,
            )
    at = [data.draw(st.integers(-S, 601 * S)) for _ in range(8)]
    for way in (0, 1):
        values = [read(way, t) for t in at]
        truth = np.array([read(1 - way, t) for t in at])
        ends = (names[way], names[1 - way])
        bar = graph.convert(values, *ends, policy="tube", bars="guaranteed", bounds=True)
        assert (bar.earliest <= truth).all()
        assert (truth <= bar.latest).all()


@pytest.mark.parametrize("ticks", [(1, 1_000_000), (1_000_000, 1), (1_000_000, 16_000)])
def test_bars_hold_every_reading_while_a_coarse_clock_stands(ticks: tuple[int, int]) -> None:
    # Delays of 20 us: far less than a tick.
    model = Model(50, Clocks(seconds=20), tick_a_ns=ticks[0], tick_b_ns=ticks[1])
    world = model.world(1)
    graph = ClockGraph(
        domains=[
            ClockDomain(name, max_drift_ppm=100, tick_ns=tick)
            for name, tick in zip((HOST, DEVICE), ticks, strict=True)
        ]
    )
    graph.add_order(before=(world.there.sent, HOST), after=(world.there.got, DEVICE))
    graph.add_order(before=(world.back.sent, DEVICE), after=(world.back.got, HOST))
    t = np.random.default_rng(2).uniform(0, 20 * S, 1_000)
    reads = [
        (np.floor(at / tick) * tick).astype(np.int64)
        for at, tick in zip((t, t + world.offset(t)), ticks, strict=True)
    ]
    for one, other in ((0, 1), (1, 0)):
        ends = ((HOST, DEVICE)[one], (HOST, DEVICE)[other])
        bar = graph.convert(reads[one], *ends, policy="tube", bars="guaranteed", bounds=True)
        assert (bar.earliest <= reads[other]).all()
        assert (reads[other] <= bar.latest).all()


def test_ticks_beyond_int64_ns_are_left_out() -> None:
    orders = Orders()
    orders.add(A, B, np.array([2**62, 10]), np.array([2**63 - 1, 10_000]), 0)
    found = orders.of(A, B)
    assert found is not None
    bounds = bounds_of(found, Scale.of(Fraction(1_000), 1), NS, FASTEST, DRIFT)
    assert bounds.a_ns.tolist() == [10_000]


def test_a_wrong_order_is_found_and_binds_nothing() -> None:
    """Messages both ways, of which one is matched with the wrong receipt."""
    graph = ClockGraph()
    sent = np.arange(40) * S
    graph.add_order((sent, HOST), (sent + 7_020, DEVICE))
    graph.add_order((sent + 500 + 7_000, DEVICE), (sent + 530, HOST))
    graph.add_order((20 * S + 100, HOST), (20 * S + 100 - 10_000_000, DEVICE))
    (wrong,) = graph.discontinuities()
    assert (wrong.kind, wrong.snapshots, wrong.orders) == ("wrong_order", (), (80,))
    for bars in ("estimated", "guaranteed"):
        hop = graph.explain(20 * S + 100, HOST, DEVICE, policy="tube", bars=bars).steps[0]
        assert hop.earliest < 20 * S + 7_100 < hop.latest
        named = [hop.earliest_by, hop.latest_by]
        assert all(order is not None and order.number != 80 for order in named)


def test_discontinuities_of_a_pair_are_given_once() -> None:
    """A pair with snapshots and orders, whose wall clock is set forward by a second."""
    graph = ClockGraph()
    at = np.arange(20) * S
    wall = at + np.where(at < 10 * S, 0, S)
    graph.add_snapshot(
        Snapshot(
            {"MONOTONIC": at, "REALTIME": wall},
            reference="MONOTONIC",
            half_width_ns={"REALTIME": np.full(20, 50)},
        )
    )
    graph.add_order((5 * S, "MONOTONIC"), (5 * S + 20_000, "REALTIME"))
    assert [found.kind for found in graph.discontinuities()] == ["step"]
