"""Clocks that a program put on another one: they stay there until orders contradict it."""

import numpy as np
import pytest

from tracetime import ClockDomain, ClockGraph

GPU = "com.example.gpu"
AT = 1_712_195_495_000_000_000
HALF = 100_000


def readings(seed):
    """Calls, kernels that begin 5 us after them or more, and calls that wait for the end of some."""
    rng = np.random.default_rng(seed)
    calls = AT + np.sort(rng.integers(0, 10**9, 400))
    kernels = calls + 5_000 + rng.exponential(30_000, 400).astype(np.int64)
    return calls, kernels, kernels[::40] + 10_000, kernels[::40] + 19_000


def graph_of(shift, host, *, waits=False, snapshots=True):
    calls, kernels, ends, waited = readings(abs(shift) % 97)
    graph = ClockGraph(host)
    graph.declare(ClockDomain(GPU, max_drift_ppm=20, assumed_half_width_ns=HALF, is_placed=True))
    if snapshots:
        at = np.linspace(AT, AT + 10**9, 16).astype(np.int64)
        graph.add_snapshot({GPU: at, host: at})
    graph.add_order((calls, host), (kernels + shift, GPU))
    if waits:
        graph.add_order((ends + shift, GPU), (waited, host))
    return graph, kernels


HOSTS = pytest.mark.parametrize("host", ["REALTIME", "com.example.host"])


@HOSTS
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("shift", [0, 4_900, 5_000, -4_900, -5_000])
def test_without_a_contradiction_they_are_where_they_were_put(host, waits, bars, shift):
    graph, kernels = graph_of(shift, host, waits=waits)
    found = graph.convert(kernels + shift, GPU, host, policy="tube", bars=bars, bounds=True)
    assert (found.estimate == kernels + shift).all()
    assert ((found.earliest <= kernels) & (kernels <= found.latest)).all()
    back = graph.convert(kernels + shift, host, GPU, policy="tube", bars=bars)
    assert (back == kernels + shift).all()


@HOSTS
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("shift", [-50_000, -90_000])
def test_within_the_half_width_they_move_by_the_least_and_the_bar_is_what_both_allow(
    host, waits, shift
):
    graph, kernels = graph_of(shift, host, waits=waits)
    found = graph.convert(kernels + shift, GPU, host, policy="tube", bounds=True)
    moved = np.unique(found.estimate - kernels - shift)
    assert len(moved) == 1
    assert -shift - 10_000 < moved[0] < -shift
    assert ((found.earliest <= kernels) & (kernels <= found.latest)).all()
    assert (found.latest <= kernels + shift + HALF + 20_000).all()


@HOSTS
def test_what_waits_for_them_moves_them_back(host):
    graph, kernels = graph_of(50_000, host, waits=True)
    found = graph.convert(kernels + 50_000, GPU, host, policy="tube", bounds=True)
    assert np.unique(found.estimate - kernels) == pytest.approx([9_000], abs=10)
    assert ((found.earliest <= kernels) & (kernels <= found.latest)).all()


@HOSTS
@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("bars", ["estimated", "guaranteed"])
@pytest.mark.parametrize("shift", [-1_000_000, -20_000_000])
def test_without_snapshots_an_open_side_stays_open(host, waits, bars, shift):
    graph, kernels = graph_of(shift, host, waits=waits, snapshots=False)
    found = graph.convert(
        kernels + shift, GPU, host, policy="tube", bars=bars, bounds=True, errors="mask"
    )
    estimate = found.estimate.to_numpy()
    assert len(np.unique(estimate - kernels)) == 1
    assert (abs(estimate - kernels) <= 20_000).all()
    assert (found.earliest.to_numpy() <= kernels).all()
    assert found.latest.null_count == (0 if waits else len(kernels))
    if waits:
        assert (kernels <= found.latest.to_numpy()).all()


def test_a_saved_graph_says_so(tmp_path):
    graph, kernels = graph_of(-20_000_000, "REALTIME", snapshots=False)
    graph.save(tmp_path / "graph.npz")
    loaded = ClockGraph.load(tmp_path / "graph.npz")
    one, other = (
        made.convert(kernels - 20_000_000, GPU, "REALTIME", policy="tube")
        for made in (graph, loaded)
    )
    assert (one == other).all()
