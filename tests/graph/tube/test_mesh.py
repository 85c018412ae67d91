"""Meshes: bars closed over several clocks, and one fit for all their estimates."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from seeds import seeds

from tracetime import ClockGraph, ClockId, Snapshot
from tracetime.analysis.contradictions import loop_disagreements
from tracetime.clocks.domain import ClockDomain
from tracetime.graph.tube.closing import OPEN
from tracetime.graph.tube.mesh_edges import Read
from tracetime.graph.tube.meshes import Meshes

S = 1_000_000_000
SECONDS = 60


class Mesh:
    """Clocks that pairs of snapshots tie, taken for a mesh; `true` gives their readings.

    each: snapshots a pair; most: the most their half-width may be; either by pair, too. slow: the
    pair whose messages are slower one way, so that it is off by 0.8 of each half-width.
    """

    def __init__(self, seed, n, links=None, each=12, step=None, most=3_000, slow=None):
        rng = np.random.default_rng(seed)
        self.ids = [ClockId(200 + k) for k in range(n)]
        self._ppm, self._start = rng.uniform(-30, 30, n), rng.integers(0, 10**12, n)
        self._step = step
        domains = [ClockDomain(clock, max_drift_ppm=35, wander_ppm=0.1) for clock in self.ids]
        self.graph = ClockGraph(domains=domains)
        self.links = list(links or combinations(range(n), 2))
        for i, j in self.links:
            many = each[i, j] if isinstance(each, dict) else each
            at = np.sort(rng.integers(0, SECONDS * S, many))
            half = rng.integers(100, most[i, j] if isinstance(most, dict) else most, many)
            share = rng.uniform(-1, 1, many) if (i, j) != slow else np.full(many, 0.8)
            wrong = np.floor(share * half).astype(np.int64)
            self.graph.add_snapshot(
                Snapshot(
                    {self.ids[i]: self.true(i, at), self.ids[j]: self.true(j, at) + wrong},
                    reference=self.ids[i],
                    half_width_ns={self.ids[j]: half + 4},
                )
            )
        self.tubes = self.graph._graph.tubes
        self.usual = Meshes(self.tubes.pairs, self.tubes.neighbours, [])
        ordered = [(self.ids[i], self.ids[j]) for i, j in self.links]
        self.closed = Meshes(self.tubes.pairs, self.tubes.neighbours, ordered)

    def true(self, k, at):
        reading = self._start[k] + at + np.floor(self._ppm[k] * 1e-6 * at).astype(np.int64)
        if self._step is not None and self._step[0] == k:
            reading = reading + np.where(at >= self._step[1], self._step[2], 0)
        return reading

    def when(self, k, readings):
        """When a clock that does not step gives these readings."""
        return np.rint((readings - self._start[k]) / (1 + self._ppm[k] * 1e-6)).astype(np.int64)

    def convert(self, i, j, at, bars, meshes=None):
        self.tubes._meshes = self.closed if meshes is None else meshes
        return self.tubes.convert(self.true(i, at), self.ids[i], self.ids[j], bars)[0]


def instants(n=300):
    return np.random.default_rng(77).integers(-5 * S, (SECONDS + 5) * S, n)


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
@pytest.mark.parametrize("seed", seeds(8))
def test_closed_bars_hold_the_truth_and_are_never_wider(seed, bars):
    n = 3 + seed % 4
    ring = None if seed % 2 else [*pairwise(range(n)), (0, n - 1)]
    mesh, at, narrower = Mesh(seed, n, ring), instants(), 0
    for i, j in ((0, n - 1), (n - 1, 0), (1, n - 1)):
        alone, closed = (mesh.convert(i, j, at, bars, m) for m in (mesh.usual, None))
        true = mesh.true(j, at)
        assert ((closed.earliest <= true) & (true <= closed.latest)).all()
        assert (closed.earliest >= alone.earliest).all()
        assert (closed.latest <= alone.latest).all()
        assert ((closed.earliest <= closed.estimate) & (closed.estimate <= closed.latest)).all()
        narrower += int((closed.latest - closed.earliest < alone.latest - alone.earliest).sum())
    assert narrower > 0


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
@pytest.mark.parametrize("size", [-40_000_000, 3_000_000])
def test_closed_bars_hold_the_truth_where_a_clock_steps(size, bars):
    at = instants()
    for seed in range(4):
        mesh = Mesh(seed, 4, step=(2, 31 * S, size))
        for i, j in ((0, 3), (0, 1), (3, 0), (0, 2)):
            closed, true = mesh.convert(i, j, at, bars), mesh.true(j, at)
            assert ((closed.earliest <= true) & (true <= closed.latest)).all(), (seed, i, j)


@pytest.mark.parametrize("bars", ["guaranteed", "estimated"])
def test_a_step_counts_wherever_a_clock_may_have_been_read(bars):
    # Clock 1 is known within 50 ms: at an instant it may be before the step or after it.
    rng = np.random.default_rng(8)
    links = [(0, 1), (1, 2)]
    mesh = Mesh(1, 3, links, {links[0]: 12, links[1]: 6_000}, (2, 31 * S, 30_000_000))
    edges = mesh.closed.of(mesh.ids[0]).edges
    edges.at = mesh.true(0, np.linspace(30.9 * S, 31.1 * S, 1_000).astype(np.int64))
    when = mesh.when(0, edges.at)
    true = np.stack([mesh.true(k, when) for k in range(3)])
    below, above = (rng.integers(0, 50_000_000, true.shape) for _ in range(2))
    upper = edges.upper(Read(true, true - below, true + above), bars)
    assert (upper < OPEN).any()
    assert (upper >= true[None] - true[:, None] - 2).all()


def test_nothing_waits_on_clocks_across_a_step():
    mesh = Mesh(3, 4, step=(2, 31 * S, 3_000_000))
    found = mesh.closed.of(mesh.ids[0])
    steps = found.edges.steps(found.read("guaranteed"))
    place = found.clocks.index(mesh.ids[2])
    assert steps[place].any()
    # The readings between which it steps, and no others far from it.
    at = found.read("guaranteed").estimate[found.clocks.index(mesh.ids[0])]
    gaps = np.flatnonzero(steps[place])
    assert at[gaps[0]] <= mesh.true(0, 31 * S) <= at[gaps[-1] + 1]
    assert at[gaps[-1] + 1] - at[gaps[0]] < 20 * S


def test_the_bars_at_instants_are_the_closed_ones():
    mesh = Mesh(1, 4)
    found = mesh.closed.of(mesh.ids[0])
    closed, at = found.closed("guaranteed"), found.edges.at
    assert found.clocks[0] == mesh.ids[0]
    mesh.tubes._meshes = mesh.closed
    for j in (1, 2, 3):
        there = mesh.tubes.convert(at, mesh.ids[0], mesh.ids[j], "guaranteed")[0]
        # Two ns for roundings of the drift from an instant to itself.
        assert (there.latest - at <= closed.upper[0, j] + 2).all()
        assert (at - there.earliest <= closed.upper[j, 0] + 2).all()


def test_the_fit_closes_every_loop():
    mesh, at = Mesh(2, 5), instants(500)
    inside = at[(at > 5 * S) & (at < 55 * S)]
    loop_alone, loop_closed = (
        _around(mesh, inside, meshes) for meshes in (mesh.usual, mesh.closed)
    )
    assert np.median(np.abs(loop_alone)) > 50
    assert np.median(np.abs(loop_closed)) <= 5


def _around(mesh, at, meshes):
    """How far a value is from itself after a loop over three clocks."""
    mesh.tubes._meshes = meshes
    here = start = mesh.true(0, at)
    for i, j in ((0, 1), (1, 2), (2, 0)):
        here = mesh.tubes.convert(here, mesh.ids[i], mesh.ids[j], "guaranteed")[0].estimate
    return here - start


def test_the_fit_is_better_than_the_pairs():
    better = []
    for seed in range(6):
        mesh, at = Mesh(seed, 6), instants()
        errors = {
            name: np.concatenate(
                [
                    mesh.convert(i, j, at, "estimated", m).estimate - mesh.true(j, at)
                    for i, j in mesh.links
                ]
            )
            for name, m in (("pairs", mesh.usual), ("fit", mesh.closed))
        }
        better.append(np.std(errors["fit"]) / np.std(errors["pairs"]))
    assert np.median(better) < 0.75


def test_an_array_and_its_elements_convert_alike():
    mesh, at = Mesh(5, 5), instants(40)
    whole = mesh.convert(1, 4, at, "estimated")
    for k in range(len(at)):
        alone = mesh.convert(1, 4, at[k : k + 1], "estimated")
        assert [column[0] for column in alone] == [column[k] for column in whole]


def test_an_explanation_names_the_path_that_bounds_each_side():
    # A and C are read together once; B with both, often and well.
    mesh = Mesh(4, 3, each=30)
    mesh.tubes._meshes = mesh.closed
    value = int(mesh.true(0, np.array([20 * S]))[0])
    told = mesh.graph.explain(value, mesh.ids[0], mesh.ids[2], policy="tube")
    (part,) = told.meshes
    assert (part.src, part.dst, part.clocks) == (mesh.ids[0], mesh.ids[2], 3)
    assert {part.earliest[0], part.latest[0]} == {mesh.ids[0]}
    assert {part.earliest[-1], part.latest[-1]} == {mesh.ids[2]}
    for side, path in (("earliest", part.earliest), ("latest", part.latest)):
        bounds = [
            getattr(mesh.convert(0, 2, np.array([20 * S]), "estimated", m), side)[0]
            for m in (mesh.usual, mesh.closed)
        ]
        assert (bounds[0] == bounds[1]) == (path == (mesh.ids[0], mesh.ids[2]))
    assert "among 3 clocks: earliest by" in str(told)
    assert "the estimate is a fit over all of them" in str(told)


def test_two_clocks_and_graphs_without_orders_are_no_mesh():
    mesh = Mesh(1, 4)
    assert mesh.tubes.meshes() == []
    two = Meshes(mesh.tubes.pairs, mesh.tubes.neighbours, [(mesh.ids[0], mesh.ids[1])])
    assert two.of(mesh.ids[0]) is None
    at = instants(20)
    alone, same = (mesh.convert(0, 3, at, "estimated", m) for m in (mesh.usual, two))
    assert all(np.array_equal(one, other) for one, other in zip(alone, same, strict=True))


def test_a_loop_that_a_slow_way_keeps_open_is_found():
    slow = Mesh(6, 4, each=240, slow=(1, 3))
    found = loop_disagreements(slow.closed.of(slow.ids[0]))
    a, b, c, d = slow.ids
    assert {loop.clocks for loop in found} == {(a, b, d), (b, c, d)}
    by_clocks = {loop.clocks: loop for loop in found}
    # Over B to D is too far, over C alone from B to D too short.
    assert 200 < by_clocks[a, b, d].off_ns < by_clocks[a, b, d].bar_ns
    assert -by_clocks[b, c, d].bar_ns < by_clocks[b, c, d].off_ns < -200
    assert abs(found[0].off_ns) >= abs(found[1].off_ns)


@pytest.mark.parametrize("seed", seeds(5))
def test_loops_that_noise_alone_keeps_open_are_not(seed):
    mesh = Mesh(seed, 5, each=240)
    assert loop_disagreements(mesh.closed.of(mesh.ids[0])) == []
