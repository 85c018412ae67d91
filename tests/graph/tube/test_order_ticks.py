"""Ticks that no domain declares, as the readings of orders show them."""

import numpy as np
import pytest

from tracetime import ClockGraph

S = 10**9
HOST, DEVICE = "MONOTONIC", "com.example.device"


def messages(tick_ns, seed=1, n=600):
    """The graph of messages both ways, and what the device reads of an instant of the host."""
    rng = np.random.default_rng(seed)
    at = np.sort(rng.integers(0, 60 * S, n))
    later = at + 20_000 + rng.exponential(500, len(at)).astype(np.int64)

    def device(ns):
        return ns + 12_345_678 + ns * 3 // 100_000

    def read(ns):
        return device(ns) // tick_ns * tick_ns

    graph = ClockGraph(HOST)
    graph.add_order((at[::2], HOST), (read(later[::2]), DEVICE))
    graph.add_order((read(at[1::2]), DEVICE), (later[1::2], HOST))
    return graph, device


@pytest.mark.parametrize("tick_ns", [1_000, 10**6, 4 * 10**6, 15_625_000])
@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
def test_bars_hold_a_clock_that_ticks(tick_ns, bars):
    graph, device = messages(tick_ns)
    at = np.arange(0, 60 * S, 77_777_777)
    bar = graph.convert(at, HOST, DEVICE, policy="tube", bars=bars, bounds=True)
    assert (bar.earliest <= device(at)).all()
    assert (device(at) <= bar.latest).all()
    assert all(found.kind == "rate_change" for found in graph.discontinuities())
    assert np.median(bar.latest - bar.earliest) < 3 * tick_ns + 300_000


def test_it_is_told():
    graph, _ = messages(10**6)
    hop = graph.explain(S, HOST, DEVICE, policy="tube").steps[0]
    assert (hop.src_tick_ns, hop.dst_tick_ns) == (None, 10**6)
    assert "ticks by 1 ms as its readings show" in str(
        graph.explain(S, HOST, DEVICE, policy="tube")
    )


def test_readings_in_units_of_a_microsecond():
    graph, device = messages(1_000)
    bar = graph.convert(5 * S, HOST, DEVICE, policy="tube", bounds=True)
    assert bar.earliest <= device(5 * S) <= bar.latest
    assert graph.explain(S, HOST, DEVICE, policy="tube").steps[0].dst_tick_ns == 1_000


@pytest.mark.parametrize("tick_ns", [10**6, 10**7, 15_625_000])
@pytest.mark.parametrize("period_ns", [10**8, S])
def test_pings_at_even_times_show_the_tick_of_the_clock_that_sends_them(tick_ns, period_ns):
    rng = np.random.default_rng(4)
    sent = np.arange(200) * period_ns + rng.integers(0, 50_000, 200) + 7_654_321
    got = sent + 30_000 + rng.integers(0, 5_000, 200)
    graph = ClockGraph(HOST)
    back = (got + 40_000) // tick_ns * tick_ns
    graph.add_pings(DEVICE, HOST, sent // tick_ns * tick_ns, got, got + 10_000, back)
    at = rng.integers(0, int(sent[-1]), 1000)
    bar = graph.convert(
        at // tick_ns * tick_ns, DEVICE, HOST, policy="tube", bars="guaranteed", bounds=True
    )
    assert (bar.earliest <= at).all()
    assert (at <= bar.latest).all()


@pytest.mark.parametrize("hertz", [60, 90, 144])
def test_ticks_of_frames_of_a_display(hertz):
    rng = np.random.default_rng(5)
    at = np.sort(rng.integers(0, 60 * S, 300))

    def frames(ns):
        return ns * hertz // S * S // hertz

    graph = ClockGraph(HOST)
    graph.add_order((at[::2], HOST), (frames(at[::2] + 30_000), DEVICE))
    graph.add_order((frames(at[1::2]), DEVICE), (at[1::2] + 30_000, HOST))
    t = rng.integers(0, 60 * S, 1000)
    bar = graph.convert(t, HOST, DEVICE, policy="tube", bars="guaranteed", bounds=True)
    assert (bar.earliest <= t).all()
    assert (t <= bar.latest).all()
    assert graph.explain(S, HOST, DEVICE, policy="tube").steps[0].dst_tick_ns == pytest.approx(
        S / hertz, rel=1e-6
    )


def test_messages_that_are_sent_on_a_grid_are_no_tick():
    """A timer that fires every 10 ms says nothing of its clock, which is read at its instants."""
    rng = np.random.default_rng(3)
    at = np.arange(600) * 10**7
    graph = ClockGraph(HOST)
    graph.add_order((at, HOST), (at + rng.integers(20_000, 90_000, 600), DEVICE))
    hop = graph.explain(S, HOST, DEVICE, policy="tube").steps[0]
    assert (hop.src_tick_ns, hop.dst_tick_ns) == (None, None)


def test_few_readings_show_none():
    graph, _ = messages(10**6, n=14)
    assert graph.explain(S, HOST, DEVICE, policy="tube").steps[0].dst_tick_ns is None


def test_orders_of_several_pairs_show_it_together():
    graph = ClockGraph(HOST)
    rng = np.random.default_rng(5)
    for other in ("com.example.one", "com.example.two"):
        at = np.sort(rng.integers(0, 60 * S, 20))
        graph.add_order((at, other), ((at + 20_000) // 10**6 * 10**6, DEVICE))
    hop = graph.explain(S, "com.example.one", DEVICE, policy="tube").steps[0]
    assert hop.dst_tick_ns == 10**6
