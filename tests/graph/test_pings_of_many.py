"""Pings of one clock with many others, added at once: as if those of each were added alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracetime import ClockDomain, ClockGraph, ClockId, UsageError
from tracetime.graph.adding import add_pings_of_many

HERE = ClockId(6)


def there(machine):
    return ClockId(6, machine=machine)


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(0, 9), st.integers(0, 9)), min_size=1),
    st.sampled_from([None, 1, 3]),
)
def test_all_at_once_is_as_one_by_one(pings, known):
    """known: a machine with an order before, whose pair is the other way round."""
    machines = sorted({machine for machine, _, _ in pings})
    which = np.array([machines.index(machine) for machine, _, _ in pings])
    at = np.arange(len(pings)) * 100
    kept, away = (np.array([ping[k] for ping in pings]) for k in (1, 2))
    times = np.array([at, at + 5, at + 5 + kept, at + away])
    graphs = ClockGraph(), ClockGraph()
    for graph in graphs:
        if known is not None:
            graph.add_order((7, there(known)), (9, HERE))
    add_pings_of_many(graphs[0]._graph, HERE, [there(k) for k in machines], which, times)
    for k, machine in enumerate(machines):
        graphs[1].add_pings(HERE, there(machine), *times[:, which == k])
    one, other = (graph._graph.state.orders for graph in graphs)
    assert one.pairs() == other.pairs()
    assert len(one) == len(other)
    for made, alone in zip(one.columns(), other.columns(), strict=True):
        assert made.tolist() == alone.tolist()


def test_a_clock_that_wraps_is_refused():
    graph = ClockGraph(domains=[ClockDomain(there(1), valid_bits=32)])
    with pytest.raises(UsageError, match="wraps, for it has 32 bits"):
        add_pings_of_many(graph._graph, HERE, [there(1)], np.zeros(1, int), np.ones((4, 1), int))
