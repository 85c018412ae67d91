"""Meshes of clocks that exchange messages: bars closed, estimates fitted."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from message_meshes import MessageMesh
from message_worlds import S
from seeds import seeds

from tracetime.analysis.contradictions import loop_disagreements
from tracetime.graph.tube.meshes import Meshes

INT64 = np.iinfo(np.int64)


def converted(mesh, i, j, at, bars="estimated", alone=False):
    tubes = mesh.graph._graph.tubes
    kept = tubes._meshes
    if alone:
        tubes._meshes = Meshes(tubes.pairs, tubes.neighbours, [])
    there = tubes.convert(mesh.true(i, at), mesh.ids[i], mesh.ids[j], bars)[0]
    tubes._meshes = kept
    return there


def rms(values):
    return float(np.sqrt(np.mean(np.square(values, dtype=np.float64))))


def inside(n=500, seconds=60):
    return np.sort(np.random.default_rng(4).uniform(2 * S, (seconds - 2) * S, n))


def errors(mesh, at, alone):
    found = [
        converted(mesh, i, j, at, alone=alone).estimate - mesh.true(j, at) for i, j in mesh.links
    ]
    return rms(found)


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
def test_two_one_way_hops_that_close_a_loop_close_the_bar(bars):
    # Messages go from A to B, from B to C and from C to A, never back.
    mesh = MessageMesh(1, 3, silent=[(1, 0), (2, 1), (0, 2)])
    at = inside()
    for i, j in ((0, 1), (1, 2), (0, 2), (2, 1)):
        alone, closed = (converted(mesh, i, j, at, bars, alone) for alone in (True, False))
        true = mesh.true(j, at)
        assert ((alone.earliest == INT64.min) | (alone.latest == INT64.max)).all()
        assert ((closed.earliest <= true) & (true <= closed.latest)).all()
        # Three ways of 20 us, little more.
        assert np.median(closed.latest - closed.earliest) < 90_000
        assert not closed.status.any()
        assert rms(closed.estimate - true) < rms(alone.estimate - true) / 3


def test_an_explanation_names_the_loop_that_closes_a_bar():
    mesh = MessageMesh(1, 3, silent=[(1, 0), (2, 1), (0, 2)])
    a, b, c = mesh.ids
    value = int(mesh.true(0, [30 * S])[0])
    told = mesh.graph.explain(value, a, b, policy="tube")
    (part,) = told.meshes
    assert part.earliest == (a, c, b)
    assert part.latest == (a, b)
    assert f"earliest by {a} -> {c} -> {b}" in str(told)


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
def test_a_path_that_no_way_back_closes_stays_open(bars):
    mesh = MessageMesh(2, 4, rate=10, links=[(0, 1), (1, 2), (2, 3)], silent=[(1, 0)])
    at = inside()
    there, true = converted(mesh, 0, 3, at, bars), mesh.true(3, at)
    assert (there.earliest == INT64.min).all()
    assert (true <= there.latest).all()
    assert there.status.all()


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
@pytest.mark.parametrize("seed", seeds(6))
def test_sparse_meshes_hold_the_truth_and_narrow_their_bars(seed, bars):
    n = 4 + seed % 3
    links = [*pairwise(range(n)), (0, n - 1), *([(0, 2)] if seed % 2 else [])]
    mesh, at = MessageMesh(seed, n, rate=4, links=links), inside()
    narrower = 0
    for i, j in ((0, n - 1), (1, n - 1), (n - 1, 1)):
        alone, closed = (converted(mesh, i, j, at, bars, alone) for alone in (True, False))
        true = mesh.true(j, at)
        assert ((closed.earliest <= true) & (true <= closed.latest)).all()
        assert (closed.latest - closed.earliest <= alone.latest - alone.earliest).all()
        narrower += int((closed.latest - closed.earliest < alone.latest - alone.earliest).sum())
    assert bars == "estimated" or narrower > 0


def test_least_squares_takes_off_asymmetries():
    mesh, at = MessageMesh(3, 8, rate=40, asymmetry_ns=2_500), inside()
    # In a full mesh of 8, half of them is left: sqrt(2 / n).
    assert errors(mesh, at, alone=False) < 0.65 * errors(mesh, at, alone=True)


def test_least_squares_takes_off_noise():
    mesh, at = MessageMesh(3, 8, rate=40), inside()
    assert errors(mesh, at, alone=False) < 0.85 * errors(mesh, at, alone=True)


def test_a_slow_way_keeps_loops_open():
    meshes = [MessageMesh(3, 4, asymmetry_ns=asymmetry) for asymmetry in (0.0, 4_000.0)]
    found = [loop_disagreements(m.graph._graph.tubes.meshes()[0]) for m in meshes]
    assert found[0] == []
    assert found[1]
    more, number = meshes[1].more_ns, meshes[1].ids.index
    for loop in found[1]:
        a, b, c = map(number, loop.clocks)
        assert abs(loop.off_ns - (more[a, b] + more[b, c] - more[a, c])) < 1_000
        assert abs(loop.off_ns) < loop.bar_ns


def test_an_order_that_is_added_counts_from_then_on():
    mesh = MessageMesh(1, 3, rate=10)
    at = inside(50)
    before = converted(mesh, 0, 2, at)
    a, c = mesh.ids[0], mesh.ids[2]
    fast = mesh.true(0, at), mesh.true(2, at + 100)
    mesh.graph.add_order((fast[0], a), (fast[1], c))
    after = converted(mesh, 0, 2, at)
    assert np.median(after.latest - before.latest) < -10_000


def test_of_many_clocks_the_ways_over_one_more_are_compared():
    # Two clocks that each exchange messages with all others, and with each other.
    n = 22
    links = [(0, k) for k in range(1, n)] + [(1, k) for k in range(2, n)]
    mesh, at = MessageMesh(5, n, rate=2, links=links), inside()
    assert mesh.graph._graph.tubes.meshes() == []
    narrower = 0
    for i, j in ((0, 1), (4, 9), (9, 0)):
        alone, closed = (converted(mesh, i, j, at, "guaranteed", alone) for alone in (True, False))
        true = mesh.true(j, at)
        assert ((closed.earliest <= true) & (true <= closed.latest)).all()
        assert (closed.latest - closed.earliest <= alone.latest - alone.earliest).all()
        narrower += int((closed.latest - closed.earliest < alone.latest - alone.earliest).sum())
    assert narrower > len(at)
    value = int(mesh.true(4, at[:1])[0])
    told = mesh.graph.explain(value, mesh.ids[4], mesh.ids[9], policy="tube")
    (part,) = told.meshes
    assert part.clocks == n
    assert {part.earliest[1], part.latest[1]} <= {mesh.ids[0], mesh.ids[1]}
    assert "a fit over" not in str(told)


def test_the_instants_leave_no_long_gap_however_many_pairs_there_are():
    mesh = MessageMesh(1, 12, rate=30)
    (found,) = mesh.graph._graph.tubes.meshes()
    at = found.edges.at
    assert np.diff(at).max() < (at[-1] - at[0]) / 50


def test_estimated_bars_that_miss_each_other_leave_the_path_its_say():
    # B and C are 90 us off against what A says of both.
    mesh = MessageMesh(1, 3, rate=20, links=[(0, 1), (0, 2)])
    sent = np.linspace(S, 59 * S, 600)
    for i, j, wrong in ((1, 2, -90_000), (2, 1, 90_000)):
        got = mesh.true(j, sent + 20_000) + wrong
        mesh.graph.add_order((mesh.true(i, sent), mesh.ids[i]), (got, mesh.ids[j]))
    at = inside()
    for bars in ("estimated", "guaranteed"):
        alone, closed = (converted(mesh, 0, 2, at, bars, alone) for alone in (True, False))
        (found,) = mesh.graph._graph.tubes.meshes()
        assert found.closed(bars) is None
        assert np.array_equal(alone.earliest, closed.earliest)
        assert np.array_equal(alone.latest, closed.latest)
        assert ((closed.earliest <= closed.estimate) & (closed.estimate <= closed.latest)).all()


def test_messages_of_one_direction_are_left_out_where_a_clock_steps():
    mesh = MessageMesh(2, 4, rate=20, links=[(0, 1), (0, 2), (1, 2), (0, 3), (1, 3)])
    sent = np.linspace(S, 59 * S, 600)
    a, c, d = mesh.ids[0], mesh.ids[2], mesh.ids[3]
    mesh.graph.add_order((mesh.true(2, sent), c), (mesh.true(3, sent + 20_000), d))
    (found,) = mesh.graph._graph.tubes.meshes()
    assert {c, d} in [{found.clocks[e.one], found.clocks[e.other]} for e in found.edges.edges]
    # D steps by 5 ms after 61 s, as A sees and C does not.
    late = np.linspace(61 * S, 70 * S, 50)
    mesh.graph.add_order((mesh.true(0, late), a), (mesh.true(3, late + 20_000) + 5_000_000, d))
    back = mesh.true(0, late + 30_000)
    mesh.graph.add_order((mesh.true(3, late + 10_000) + 5_000_000, d), (back, a))
    (found,) = mesh.graph._graph.tubes.meshes()
    assert {c, d} not in [{found.clocks[e.one], found.clocks[e.other]} for e in found.edges.edges]


def test_a_pair_of_many_messages_weighs_more_than_one_of_few():
    # A and C exchange 2 a second, both with B 200: the fit goes over B.
    rate = {(0, 1): 200.0, (1, 2): 200.0, (0, 2): 2.0}
    mesh, at = MessageMesh(4, 3, rate=rate, links=list(rate)), inside()
    true = mesh.true(2, at)
    fitted = converted(mesh, 0, 2, at).estimate
    assert rms(fitted - true) < 30
    direct = mesh.graph._graph.tubes.pair(mesh.ids[0], mesh.ids[2]).tube
    assert rms(direct.convert(mesh.true(0, at)).estimate - true) > 2 * rms(fitted - true)
