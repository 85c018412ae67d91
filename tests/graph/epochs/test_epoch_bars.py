"""Guaranteed bars are the least that epochs, rows and drifts allow."""

from __future__ import annotations

import math

import numpy as np
from exact_bounds import exact_bar, is_feasible, least_bounds
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.exact_bars import between, guaranteed_bars
from tracetime.graph.epochs.breaks import Findings, Model
from tracetime.graph.epochs.nodes import Nodes, System
from tracetime.graph.epochs.rows import OPEN, Clock, Rows

ROUNDED_NS = 12
"""Each wait and row of a path is rounded up by less than 1 ns; paths here have up to 12."""

readings = st.integers(0, 10**7)


@st.composite
def worlds(draw: st.DrawFn) -> Nodes:
    """A few clocks, and rows between them, which may contradict each other."""
    n = draw(st.integers(2, 4))
    ppm = draw(st.lists(st.sampled_from([0, 1, 50, 20_000]), min_size=n, max_size=n))
    clocks = [Clock(p * 1e-6, draw(st.sampled_from([0, 1, 1000])), back=False) for p in ppm]
    rows = []
    for _ in range(draw(st.integers(1, 7))):
        one, other = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2, unique=True))
        read = draw(readings)
        there = read + draw(st.integers(-200_000, 200_000))
        least, most = draw(
            st.sampled_from([(0, OPEN), (-OPEN, 0), (-90_000, 90_000), (0, 300_000)])
        )
        rows.append(
            between(clocks, (one, other), (np.array([read]), np.array([there])), least, most)
        )
    return Nodes(clocks, Rows.all(*rows))


def all_believed(nodes: Nodes) -> Findings:
    """A world in which nothing is wrong."""
    return Findings(nodes, (), (Model(),), np.zeros(len(nodes.one), dtype=np.int64), {}, True, 0)


@given(worlds())
def test_a_world_contradicts_itself_where_no_instants_can_be_as_its_rows_say(nodes: Nodes) -> None:
    bound = least_bounds(nodes)
    worst = min((b for i, row in enumerate(bound) if (b := row[i]) is not None), default=0)
    # Rounding may hide what is short by less.
    assume(worst >= 0 or worst < -ROUNDED_NS)
    assert (not System(nodes).contradictions()) == is_feasible(bound)


@given(worlds(), st.data())
def test_a_bar_is_the_exact_one_rounded_outwards(nodes: Nodes, data: st.DataObject) -> None:
    bound = least_bounds(nodes)
    assume(is_feasible(bound))
    present = sorted(set(nodes.clock.tolist()))
    source, target = data.draw(st.permutations(present))[:2]
    q = np.array([data.draw(readings)])
    tick = nodes.clocks[source].tick_ns
    bars = guaranteed_bars(all_believed(nodes), source, q, target)
    low = exact_bar(nodes, bound, source, int(q[0]), target)[0]
    high = exact_bar(nodes, bound, source, int(q[0]) + tick, target)[1]
    if low is None:
        assert bars.earliest[0] == -OPEN
    else:
        low -= nodes.clocks[target].tick_ns
        assert 0 <= math.floor(low) - bars.earliest[0] <= ROUNDED_NS
    if high is None:
        assert bars.latest[0] == OPEN
    else:
        assert 0 <= bars.latest[0] - math.ceil(high) <= ROUNDED_NS
